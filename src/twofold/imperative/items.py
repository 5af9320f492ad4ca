"""Generated ``__getitem__`` and ``__setitem__``: NumPy's own indexing of ready memory, in one frame. All else goes to `Indexer`.

What decides is the size of the piece, never that of the array it is cut from: elements and small pieces of a large ready array are read
and written at once. A view remembers its elements (``_seen``) and the content that they belong to (``_of``), and they are valid while
its base has that content. Its view operations (``_chain``) are worked out only on demand.

While recording, views of tracked arrays are made in the same way, since only reading one is an operation. Copies of their elements, and
writes to them, are recorded.
"""

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from ..config import SETTINGS
from ..device import CPU
from ..dtype import INTEGERS, NUMPY
from ..generated_methods import attach_method
from ..ops import primitive_shape
from .array import AXES_REVERSED, RESHAPED
from .cell import PLAIN, Value
from .dispatch import IS_SMALL
from .fast import native
from .generated_text import SHARED, complete
from .tape import tls
from .write import recorded_part

#: The classes of NumPy's integers, which select as Python's do; its bools are masks.
INTEGER_SCALARS = frozenset(NUMPY[name].type for name in INTEGERS)
#: The classes of items of lists that are indices or masks.
PLACES = frozenset({int, bool})
#: Where the elements of a root are: ``v`` is NumPy's array, and ``of`` the content that it belongs to.
_ROOT = """
    v = of = self._content
    if of.__class__ is not plain:
        if of.__class__ is not Value or (v := of.data).__class__ is not plain or of.device is not cpu{shared}:
            return {general}"""
#: The same for a view, unless its base has another content by now.
_VIEW = """
    of = self._of
    if of is not self._base._content{own}:
        return {general}
    v = self._seen"""
#: Whether a read of the content has to be recorded: `dispatch.is_tracked`.
_TRACKED = "of.__class__ is not plain and (entry := of.entry) is not None and entry.node.tracked and tls.tape is not None"

_GET = """
def __getitem__(self, key):{where}
    kind = key.__class__
    try:
        if kind is int:
            r = {integer}
        elif kind is slice:
            r = v[key]
        elif kind is tuple:
            last = None
            for last in key:
                if last.__class__ is not int and last.__class__ is not slice{new_axes}:
                    {other_items}
            r = {items}
        else:
            {by_array}
    except (IndexError, ValueError, TypeError):
        return get(self, key)
    if r.__class__ is plain:
        {copied}
        {view}
    if r.__class__ in native:
        if not ({tracked}):
            c = element()
            c._raw = r
            return c
        part = recorded_part(of, {chain}basic(v.shape, key).chain{end}, r)
        if part is not None:
            c = cls()
            c._content = part
            return c
    return get(self, key)
"""

_SET = """
def __setitem__(self, key, value):
    kind = value.__class__
    if kind is element:
        source = value._raw
    elif kind is float or kind is int:
        source = value
    elif kind is view or kind is cls:
        if kind is cls:
            shown = None
        elif value._under is self and value._key is key:  # ``self[key] += y`` has updated that very part
            return
        else:
            shown = value._of
        if shown is not None and shown is value._base._content and (shown.__class__ is plain or tls.tape is None):
            source = value._seen
        else:
            source = value._operand
            if source.__class__ is Value and tls.tape is None and source.device is cpu:
                source = source.data
            if source.__class__ is not plain:
                return put(self, key, value)
    else:
        return put(self, key, value){where}
    at = key
    kind = key.__class__
    if kind is tuple:
        for k in key:
            if k.__class__ is not int and k.__class__ is not slice:
                {other_items}
    elif kind is not int and kind is not slice:
        {by_array}
    {refused}try:
        v[at] = source
    except (IndexError, ValueError, TypeError, OverflowError):
        put(self, key, value)
"""

_RESHAPE = """
def reshape(self, *shape, {options}):{where}
    if {special}{gaps}:
        return {general}
    {codes}try:
        r = v.reshape(*shape)
    except (ValueError, TypeError):
        return {general}
    if not r.ndim or r.base is not (v if v.base is None else v.base):
        {copied}
        if r.ndim and ({tracked}):
            part = recorded_part(of, {chain}(reshape_to(shape=r.shape),){end}, r, True)
            if part is not None:
                c = cls()
                c._content = part
                return c
        return {general}
    {view}
"""

_TRANSPOSE = """
def T(self):{where}
    if not v.ndim:
        return {general}
    r = v.T
    {view}
"""

#: The result of an index with arrays.
_FRESH = f"""r = contiguous(r)
{{margin}}c = cls()
{{margin}}c._content = r if {IS_SMALL.format("r")} else Value(r)
{{margin}}return c"""
#: NumPy's rules: integers for all axes give a scalar, and an array of indices or a mask gives a copy.
_NUMPY_GET = {"integer": "v[key]", "items": "v[key]", "new_axes": " and last is not None"}
#: Two items, one of them an element: NumPy's integer in its place.
_PAIR = """if len(key) == 2:
                        first, last = key
                        first = first._raw if first.__class__ is element else first
                        last = last._raw if last.__class__ is element else last
                        if first.__class__ in places_or_slices and last.__class__ in places_or_slices:
                            {at} = first, last
                            break
                    """
_NUMPY_GET["other_items"] = (
    _PAIR.format(at="key")
    + f"""if ({_TRACKED}) or (at := host_key(key)) is None:
                        return get(self, key)
                    key, kind = at, None
                    break"""
)
_NUMPY_GET["copied"] = f"""if kind is None and r.base is not (v if v.base is None else v.base):
            {_FRESH.format(margin=" " * 12)}"""
_NUMPY_GET["by_array"] = f"""if kind is element:
                key = key._raw
                if key.__class__ not in integers:
                    return get(self, key)
                r = v[key]
            elif key is None:
                r = v[key]
            else:
                if {_TRACKED}:
                    return get(self, key)
                if kind is list:
                    at = key if places.issuperset(map(type, key)) else host_key(key)
                elif kind is not cls and kind is not view or (at := key._content).__class__ is not plain or not at.ndim:
                    at = None
                if at is None:
                    return get(self, key)
                r = v[at]
                {_FRESH.format(margin=" " * 16)}"""
_NUMPY_SET = {"refused": ""}
_NUMPY_SET["other_items"] = (
    _PAIR.format(at="at").replace("\n    ", "\n")
    + """if (at := host_key(key)) is None:
                    return put(self, key, value)
                break"""
)
_NUMPY_SET["by_array"] = """if kind is list:
            if not places.issuperset(map(type, key)) and (at := host_key(key)) is None:
                return put(self, key, value)
        elif kind is element:
            at = key._raw
            if at.__class__ not in integers:
                return put(self, key, value)
        elif kind is not cls and kind is not view or (at := key._content).__class__ is not plain or not at.ndim:
            return put(self, key, value)"""
_NUMPY_RESHAPE = {
    "copied": f"""if r.ndim and not ({_TRACKED}):
            {_FRESH.format(margin=" " * 12)}"""
}
_NUMPY_RESHAPE |= {"options": 'order="C", copy=None', "special": 'order != "C" or copy is not None', "codes": ""}
_NUMPY_RESHAPE["general"] = "reshape(self, *shape, order=order, copy=copy)"
#: MXNet's: a single element is a view of shape (1,), and what is not adjacent in memory is copied.
_LEGACY_GET = {
    "new_axes": "",
    "other_items": "return get(self, key)",
    "integer": "v[key] if v.ndim != 1 else v[key : key + 1 or None]",
    "items": "v[key] if len(key) != v.ndim or slice in map(type, key) else v[(*key[:-1], slice(last, last + 1 or None))]",
    "copied": """if not r.size or not r.flags.c_contiguous:
            return get(self, key)""",
    "by_array": "return get(self, key)",
}
_LEGACY_SET = {
    "by_array": "return put(self, key, value)",
    "other_items": "return put(self, key, value)",
    "refused": """if v.dtype.kind != "f" or (source is not value and (kind is tuple or source.dtype is not v.dtype or (kind is int and v.ndim == 1))):
        return put(self, key, value)
    """,  # noqa: E501
}
_LEGACY_RESHAPE = {"copied": "", "options": "**options", "special": "options", "general": "reshape(self, *shape, **options)"}
_LEGACY_RESHAPE["codes"] = """for n in shape[0] if len(shape) == 1 and shape[0].__class__ is tuple else shape:
        if n.__class__ is not int or (n < 1 and n != -1):
            return {general}
    """.format(**_LEGACY_RESHAPE)
#: MXNet's NumPy dialect: single elements have no axes, what is not adjacent in memory is copied, other copies are the general way's.
_DIALECT_GET = _LEGACY_GET | {
    "integer": "v[key] if v.ndim != 1 else v[key, ...]",
    "items": "v[(*key, ...)]",
    "copied": f"""if not r.size or not r.flags.c_contiguous:
            if not r.size or ({_TRACKED}):
                return get(self, key)
            {_FRESH.format(margin=" " * 12)}""",
}


class Texts(NamedTuple):
    """What a class's rules put into the templates; a method whose result is never a view has none."""

    get: dict[str, str]
    put: dict[str, str]
    reshape: dict[str, str] | None
    transposes: bool


NUMPY_TEXTS = Texts(_NUMPY_GET, _NUMPY_SET, _NUMPY_RESHAPE, True)
LEGACY_TEXTS = Texts(_LEGACY_GET, _LEGACY_SET, _LEGACY_RESHAPE, False)
DIALECT_TEXTS = Texts(_DIALECT_GET, _LEGACY_SET, None, False)


def _host_keys(cls: type, view: type, element: type | None) -> Callable[[Any], Any]:
    """The function that makes NumPy's index of one with single elements and arrays among its items."""

    def host_key(key: Any) -> Any:
        """The list or tuple; None if there is something else in it, for which the general way has rules."""
        items = []
        for item in key:
            kind = item.__class__
            if kind is element:
                if item._raw.__class__ not in INTEGER_SCALARS:
                    return None
                item = item._raw.item()
            elif kind is cls or kind is view:
                item = item._content
                if item.__class__ is not PLAIN or not item.ndim:
                    return None
            elif kind is list:
                if not PLACES.issuperset(map(type, item)):
                    return None
            elif kind is not int and kind is not slice and kind is not range and item is not None:
                return None
            items.append(item)
        return items if key.__class__ is list else tuple(items)

    return host_key


def attach(
    cls: Any, view: type, element: type | None, get: Callable[[Any, Any], Any], put: Callable[[Any, Any, Any], None], texts: Texts
) -> None:
    """Give an array class and the class of its views their ``__getitem__`` and ``__setitem__``, and put a short path before ``reshape``.

    Parameters
    ----------
    cls, view
        The classes.
    element
        The class of single elements (see `element`), or None if they are views too, as in ``mx.nd``.
    get, put
        What is called where NumPy cannot work on the memory at once: for other kinds of indices and values, while recording, on other
        devices, for pending, shared and large contents, and to raise an error that says what to do.
    texts
        The rules of the class.
    """
    env: dict[str, Any] = {
        "__name__": __name__, "plain": PLAIN, "cls": cls, "view": view, "element": element,
        "native": native(element), "integers": INTEGER_SCALARS, "places": PLACES,
        "places_or_slices": INTEGER_SCALARS | {int, slice},
        "Value": Value, "ref": ref, "cpu": CPU, "tls": tls, "settings": SETTINGS, "contiguous": np.ascontiguousarray,
        "get": get, "put": put, "host_key": _host_keys(cls, view, element),
    }  # fmt: skip
    env |= {"reshape": vars(cls).get("reshape"), "reshaped": RESHAPED, "transposed": AXES_REVERSED}
    env |= {"recorded_part": recorded_part, "basic": cls._indexer.basic, "reshape_to": primitive_shape.reshape.bind}
    shared = {"shared": f" or {SHARED}", "own": f" or (of.__class__ is not plain and ({SHARED}))"}
    always = {"shared": "", "own": "", "tracked": _TRACKED}
    methods: list[tuple[str, dict[str, str]]] = [
        (_GET, {"key": "key", "general": "get(self, key)", **always, **texts.get}),
        (_SET, {"general": "put(self, key, value)", **shared, **texts.put}),
    ]
    if texts.reshape is not None:
        methods.append((_RESHAPE, always | {"key": "reshaped"} | texts.reshape))
    if texts.transposes:
        methods.append((_TRANSPOSE, always | {"key": "transposed", "general": "self.transpose()"}))
    for owner, where, base, chain, end in ((cls, _ROOT, "self", "", ""), (view, _VIEW, "self._base", "(*self._chain, *", ")")):
        for text, rules in methods:
            found: dict[str, Any] = {}
            # `mx.nd` copies by an operation, as the general way does
            gaps = "" if owner is cls or element is not None else " or not v.flags.c_contiguous"
            exec(complete(text).format(where=where.format(**rules), base=base, gaps=gaps, chain=chain, end=end, **rules), env, found)
            for name, method in found.items():
                method.__doc__ = getattr(vars(cls).get(name), "__doc__", None)
                attach_method(owner, name, method)
                if name == "T":
                    setattr(owner, name, property(method))
