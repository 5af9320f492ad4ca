"""Text that generated functions share: how NumPy's result gets into a new array. A call in its place would be a frame for each operation.

In a template, a line that consists of ``{array}``, ``{scalar}``, ``{result}`` or ``{view}`` stands for such a text. The code is run where
``plain``, ``native``, ``new`` and the classes ``cls``, ``element`` and ``view`` have these names.
"""

import re
from textwrap import indent

_ARRAY = """if v.__class__ is plain:
    r = new(cls)
    r._v = v
    return r
"""
_SCALAR = """if v.__class__ in native:
    r = new(element)
    r._raw = v
    return r
"""
#: A view that shows ``r``, NumPy's view of the content ``of`` of the root ``base``.
_VIEW = """w = new(view)
w._base = {base}
w._under = self
w._key = {key}
w._of = of
w._seen = r
w._steps = w._g = None
return w
"""
_TEXTS = {"array": _ARRAY, "scalar": _SCALAR, "result": _ARRAY + _SCALAR, "view": _VIEW}
_PLACE = re.compile(r"^( *)\{(array|scalar|result|view)\}\n", re.MULTILINE)


def complete(template: str) -> str:
    """A template with the shared texts in their places."""
    return _PLACE.sub(lambda found: indent(_TEXTS[found[2]], found[1]), template)
