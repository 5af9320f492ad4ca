"""``__getitem__`` and ``__setitem__``: NumPy's own indexing of ready memory, in one frame. Everything else goes to `Indexer`.

The size of the piece decides, never the size of the array: elements and small pieces of a large ready array are read
and written at once. A view remembers its elements (``_seen``) and the content that they belong to (``_of``), and they are valid while
its base has that content. Its view operations (``_chain``) are worked out only on demand.

While recording, views of tracked arrays are made in the same way, since only reading one is an operation. Copies of their elements, and
writes to them, are recorded. Views of tracked arrays that are made while nothing is recorded are constants.
"""

# pyright: reportPossiblyUnboundVariable=false, reportOptionalMemberAccess=false
# Fragments share variables with their callers, and tests that hold in a caller hold in them: a checker sees neither.

from typing import Any, NamedTuple

from ..assembly import Function, assembled, attach_method
from ..imperative.cell import PLAIN
from ..imperative.concurrent_writes import writes_in_place
from ..imperative.guards import is_replaced, is_watched
from ..imperative.views import AXES_REVERSED, views_are_constant
from ..signal_handlers import unless_signalled
from .contents import element, elements, return_element, return_view
from .item_fragments import (
    ELLIPSIS,
    INTEGER_SCALARS,
    PLACES,
    PLACES_OR_SLICES,
    by_numpy,
    get,
    host_key,
    is_dialect,
    is_elsewhere,
    is_recorded,
    put,
    raveled,
    reshaped,
    return_by_array,
    return_element_at,
    return_reshaped,
    return_selected,
    return_unless_placed,
    return_unless_placed_by_array,
    return_unless_source,
    return_whole,
)
from .specialise import class_names


def getitem(self, key):
    """Read elements."""
    # NumPy's array ``v`` of the elements, the content ``of`` that they belong to, and the array ``owner`` that has it
    owner = self
    v = of = self._held
    if of.__class__ is not PLAIN and is_elsewhere(self, owner, of, v):
        return get(self, key)
    kind = key.__class__
    try:
        if kind is int:
            # MXNet's element is a view of shape (1,), so a slice, which for -1 ends at None, not at 0; that of its dialect has no axes
            r = v[key] if by_numpy or v.ndim != 1 else v[key : key + 1 or None] if not is_dialect else v[key, ...]
        elif kind is slice:
            return_whole(self, key.start is None is key.stop and (key.step is None or key.step == 1))
            r = v[key]
        elif kind is tuple:
            return_whole(self, not key)
            return_element_at(v, key, of)
            if elements and not key and not v.ndim:
                only = v[key]
                if not is_recorded(of):
                    return_element(only)
                return get(self, key)
            key = key or ELLIPSIS if by_numpy else key  # as the array API has it, `x[()]` is an array, on its device
            # An item other than a number or slice (or None, by NumPy's rules) may be an element or array, which NumPy needs as NumPy's.
            for last in key:
                if last.__class__ is not int and last.__class__ is not slice and (not by_numpy or last is not None):
                    if not by_numpy:
                        return get(self, key)
                    if len(key) == 2:  # one of the two is an element: use NumPy's integer instead
                        first, last = key
                        first, last = first._raw if first.__class__ is element else first, last._raw if last.__class__ is element else last
                        if first.__class__ in PLACES_OR_SLICES and last.__class__ in PLACES_OR_SLICES:
                            key = first, last
                            break
                    if is_recorded(of) or (at := host_key(key)) is None:
                        return get(self, key)
                    # no kind: with arrays in the index the result may be a copy, which `return_selected` finds out
                    key, kind = at, None
                    break
            if by_numpy:
                r = v[key]
            # With an ellipsis NumPy gives a view without axes in place of a scalar; MXNet's older rules keep an axis of size 1.
            elif is_dialect:
                r = v[(*key, ...)]
            else:
                r = v[key] if len(key) != v.ndim or slice in map(type, key) else v[(*key[:-1], slice(key[-1], key[-1] + 1 or None))]
        elif not by_numpy:
            return get(self, key)
        # An integer element selects as a number does; a bool is a mask, which the general function handles.
        elif kind is element or key is None or kind in INTEGER_SCALARS:
            key = key._raw if kind is element else key
            if key is not None and key.__class__ not in INTEGER_SCALARS:
                return get(self, key)
            r = v[key]
        else:
            return_by_array(self, key, kind, v, of)
    except unless_signalled((IndexError, ValueError, TypeError)):  # the general function raises an error that says what to do
        return get(self, key)
    return_selected(self, owner, r, key, kind, v, of)
    return get(self, key)


def setitem(self, key, value):
    """Write elements."""
    # 1. The value to write: a number, or NumPy's array of a ready value.
    kind = value.__class__
    source: Any = None
    return_unless_source(self, key, value, kind, source)
    # 2. The memory to write, which nothing else may watch: a write on a tape is an operation, and saved or shared values must stay.
    owner = self
    v = of = self._held
    if of.__class__ is not PLAIN and (is_elsewhere(self, owner, of, v) or (of.__class__ is not PLAIN and is_watched(of))):
        return put(self, key, value)
    # 3. Where: NumPy's index ``at``, which differs from the key if that has single elements or arrays in it.
    at = key
    kind = key.__class__
    if kind is tuple:
        for k in key:
            if k.__class__ is not int and k.__class__ is not slice:
                return_unless_placed(self, key, value, at)
                if is_replaced(of, owner):
                    return put(self, key, value)
                break
    elif kind is not int and kind is not slice:
        return_unless_placed_by_array(self, key, value, kind, at)
        if is_replaced(of, owner):
            return put(self, key, value)
    # MXNet's rules are NumPy's only for floats (integers out of range are converted, where NumPy raises), and for a number or an array of
    # the same dtype, unless the key may select a single element, which has an axis for MXNet.
    if not by_numpy and (
        v.dtype.kind != "f" or (source is not value and (kind is tuple or source.dtype is not v.dtype or (kind is int and v.ndim == 1)))
    ):
        return put(self, key, value)
    try:
        v[at] = source
    except unless_signalled((IndexError, ValueError, TypeError, OverflowError)):
        put(self, key, value)


def reshape(self, *shape, order="C", copy=None):
    """By NumPy's rules."""
    owner = self
    v = of = self._held
    if of.__class__ is not PLAIN and is_elsewhere(self, owner, of, v):
        return reshaped(self, *shape, order=order, copy=copy)
    if order != "C" or copy is not None:
        return reshaped(self, *shape, order=order, copy=copy)
    try:
        r = v.reshape(*shape)
    except unless_signalled((ValueError, TypeError)):
        return reshaped(self, *shape, order=order, copy=copy)
    return_reshaped(self, owner, v, of, r)
    return reshaped(self, *shape, order=order, copy=copy)


def ravel(self, order="C"):
    """By NumPy's rules."""
    owner = self
    v = of = self._held
    if of.__class__ is not PLAIN and is_elsewhere(self, owner, of, v):
        return raveled(self, order)
    if order == "C":
        r = v.ravel()
        return_reshaped(self, owner, v, of, r)
    return raveled(self, order)


def reshape_by_codes(self, *shape, **options):
    """By MXNet's rules, with codes for sizes that are copied, merged or split; elements that are not adjacent in memory are copied."""
    owner = self
    v = of = self._held
    if of.__class__ is not PLAIN and is_elsewhere(self, owner, of, v):
        return reshaped(self, *shape, **options)
    if options or (owner is not self and not v.flags.c_contiguous):
        return reshaped(self, *shape, **options)
    for n in shape[0] if len(shape) == 1 and shape[0].__class__ is tuple else shape:
        if n.__class__ is not int or (n < 1 and n != -1):
            return reshaped(self, *shape, **options)
    try:
        r = v.reshape(*shape)
    except unless_signalled((ValueError, TypeError)):
        return reshaped(self, *shape, **options)
    return_reshaped(self, owner, v, of, r)
    return reshaped(self, *shape, **options)


def T(self):
    """The array with its axes reversed."""
    owner = self
    v = of = self._held
    if of.__class__ is not PLAIN and is_elsewhere(self, owner, of, v):
        return self._reversed()
    if not v.ndim:
        return self._reversed()
    r = v.T
    # what takes the array of a transpose in its place does not ask whether that one is a constant
    if views_are_constant(of):
        return self._reversed()
    return_view(r, owner, self, AXES_REVERSED, of)


# ------------------------------------------------------------------------------------------------------------ methods


class ItemRules(NamedTuple):
    """What the methods of a class are made of."""

    by_numpy: bool
    is_dialect: bool
    #: The template of ``reshape``; None if the class gives no views of that kind.
    reshape: Function | None
    transposes: bool


NUMPY = ItemRules(True, False, reshape, True)
LEGACY = ItemRules(False, False, reshape_by_codes, False)
DIALECT = ItemRules(False, True, None, False)


def _host_keys(cls: type, element: type | None) -> Function:
    """The function that makes NumPy's index of one with single elements and arrays among its items."""

    def host_key(key: Any) -> Any:
        """The list or tuple; None if it contains something else, for which the general function has rules."""
        items = []
        for item in key:
            kind = item.__class__
            if kind is element:
                if item._raw.__class__ not in INTEGER_SCALARS:
                    return None
                item = item._raw.item()
            elif kind is cls:
                item = item._held if item._held is not None else item._content
                if item.__class__ is not PLAIN or not item.ndim:
                    return None
            elif kind is list:
                if not PLACES.issuperset(map(type, item)):
                    return None
            elif kind in INTEGER_SCALARS:
                item = item.item()
            elif kind is not int and kind is not slice and kind is not range and item is not None:
                return None
            items.append(item)
        return items if key.__class__ is list else tuple(items)

    return host_key


def attach(cls: Any, element: type | None, get: Function, put: Function, rules: ItemRules) -> None:
    """Give an array class its ``__getitem__`` and ``__setitem__``, and put a short path before ``reshape``.

    Parameters
    ----------
    cls
        The class.
    element
        The class of single elements (see `imperative.element`), or None if they are views too, as in ``mx.nd``.
    get, put
        The general ways.
    rules
        The rules of the class.
    """
    given = {**class_names(cls, element), "get": get, "put": put}
    given |= {
        "host_key": _host_keys(cls, element),
        "basic": cls._indexer.basic,
        "reshaped": vars(cls).get("reshape"),
        "raveled": vars(cls).get("ravel"),
    }
    templates: dict[str, Function | None] = {"__getitem__": getitem, "__setitem__": setitem, "reshape": rules.reshape}
    templates["ravel"], templates["T"] = (ravel, T) if rules.transposes else (None, None)
    for name, template in templates.items():
        # the template's docstring is for readers of this file; users see that of the method which it replaces
        doc = getattr(vars(cls).get(name), "__doc__", None)
        if template is None:
            continue
        known = {"by_numpy": rules.by_numpy, "is_dialect": rules.is_dialect}
        method = assembled(template, given, elements=element is not None, **known)
        method.__doc__ = doc
        attach_method(cls, name, writes_in_place(method) if template is setitem else method)
        if name == "T":
            setattr(cls, name, property(method))
