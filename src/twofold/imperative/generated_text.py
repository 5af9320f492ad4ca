"""Text that generated functions share: it unpacks NumPy's arrays and packs results. A call would cost a frame for each operation.

In a template, a line that consists of ``{array}``, ``{scalar}``, ``{result}`` or ``{view}`` stands for the text that puts a result into a
new array, and one such as ``{b of other}`` for that which gets the content ``b`` of ``other``, a root or a view. The code is run where
``plain``, ``native``, ``tls``, ``settings``, ``gaps``, ``contiguous`` and the classes ``cls``, ``element`` and ``view`` have these names.
"""

import re
from textwrap import indent

_ARRAY = """if v.__class__ is plain:
    r = cls()
    r._content = v
    return r
"""
#: The same for a class whose results without axes are such arrays: NumPy returns scalars.
_ARRAY_OF_ANY_SIZE = """r = cls()
r._content = v if v.__class__ is plain else array(v)
return r
"""
_SCALAR = """if v.__class__ in native:
    r = element()
    r._raw = v
    return r
"""
#: A view that shows ``r``, NumPy's view of the content ``of`` of the root ``base``.
_VIEW = """w = view()
w._base = {base}
w._under = self
w._key = {key}
w._of = of
w._seen = r
w._steps = w._gradient = None
return w
"""
#: What `array.ViewMixin._operand` returns, without a frame for small parts of ready memory.
_CONTENT = """if {x}.__class__ is view and (of := {x}._of) is not None and of is {x}._base._content and ({a} := {x}._seen).size < {small} \\
        and (of.__class__ is plain or ({a}.size < settings.defer_elements
        and ((entry := of.entry) is None or not entry.node.tracked or tls.tape is None))):
    {copied}{a} = contiguous({a})
else:
    {a} = {x}._operand
"""
#: Whether others see the memory of a Value ``of``, so that it cannot be written in place, or it is tracked: inlined from `Value.exclusive`.
SHARED = "of.entry is not None or of.producer is not None or not ((b := of.sharing) is None or (b.__class__ is ref and b() is None))"
_TEXTS = {"array": _ARRAY, "scalar": _SCALAR, "result": _ARRAY + _SCALAR, "view": _VIEW}
_PLACE = re.compile(r"^( *)\{(?:(array|scalar|result|view)|(\w+) of (\w+))\}\n", re.MULTILINE)


def complete(template: str, is_exact: bool = False, has_no_elements: bool = False) -> str:
    """A template with the shared texts in their places.

    Parameters
    ----------
    template
        The template.
    is_exact
        Whether the code may read vectors with gaps between their elements as they are, since its results do not depend on where they lie.
    has_no_elements
        Whether NumPy's scalars become arrays without axes, of the class itself; the code then runs where ``array`` is NumPy's `asarray`.
    """
    texts = _TEXTS | {"result": _ARRAY_OF_ANY_SIZE} if has_no_elements else _TEXTS
    # NumPy's `ascontiguousarray` would give an array without axes one
    copied = f"if {{a}}.ndim{' > 1' if is_exact else ''}:\n        "
    small = "(gaps if {a}.ndim > 1 else settings.defer_elements)" if is_exact else "gaps"

    content = _CONTENT.replace("{copied}", copied).replace("{small}", small)

    def text(found: re.Match[str]) -> str:
        given = content.format(a=found[3], x=found[4]) if found[2] is None else texts[found[2]]
        return indent(given, found[1])

    return _PLACE.sub(text, template)
