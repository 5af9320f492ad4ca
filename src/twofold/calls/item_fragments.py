"""Fragments of ``__getitem__`` and ``__setitem__`` (`items`): tests of contents, and the ways in which the templates return."""

# pyright: reportPossiblyUnboundVariable=false, reportOptionalMemberAccess=false
# Fragments share variables with their callers, and tests that hold in a caller hold in them: a checker sees neither.

from typing import Any

from ..assembly import FREE, Function, fragment
from ..device import CPU
from ..dtype import INTEGERS
from ..dtype import NUMPY as DTYPES
from ..imperative.cell import PLAIN, Value, content_of, operand_of
from ..imperative.guards import is_differentiated
from ..imperative.tape import tls
from ..imperative.views import RESHAPED, constant_view, views_are_constant
from ..imperative.write import recorded_part
from ..ops import primitive_shape
from .contents import cls, contiguous, element, elements, native, new_array, return_small, return_view

#: The general functions: for other kinds of indices and values, while recording, on other devices, for pending, shared and large contents,
#: and for errors that say what to do.
get: Function = FREE
put: Function = FREE
reshaped: Function = FREE
raveled: Function = FREE
#: NumPy's index for a list or tuple with single elements and arrays in it; None if the general function has rules for an item in it.
host_key: Function = FREE
#: The view operations of an index.
basic: Function = FREE
#: Known beforehand: which rules apply. NumPy's: integers for all axes give a scalar, and an array of indices or a mask gives a copy.
#: MXNet's: a single element is a view of shape (1,), and elements that are not adjacent in memory are copied. The rules of MXNet's NumPy:
#: single elements have no axes, parts that are not adjacent are copied, the general function makes other copies.
by_numpy: bool = FREE
is_dialect: bool = FREE

#: The classes of NumPy's integers, which select as Python's do; its bools are masks.
INTEGER_SCALARS = frozenset(DTYPES[name].type for name in INTEGERS)
#: The classes of items of lists that are indices or masks, and of the items of tuples that NumPy takes unchanged.
PLACES = frozenset({int, bool})
PLACES_OR_SLICES = INTEGER_SCALARS | {int, slice}
ELLIPSIS: tuple[Any, ...] = (...,)
reshape_to = primitive_shape.reshape.bind


@fragment
def is_elsewhere(x, owner, of, v):
    """Whether the elements of a view (then ``of`` is None), or of a content that is not plain, cannot be read in place now.

    Otherwise this sets the caller's variables: ``v`` is NumPy's array of them, ``of`` the content that they belong to, and ``owner`` the
    array that has it. An owner with another content has outdated the view's elements.
    """
    return (
        ((of := x._of) is None or of is not (owner := x._base)._held or (v := x._seen) is None)
        if of is None
        else of.__class__ is not Value or (v := of.data).__class__ is not PLAIN or of.device is not CPU
    )


@fragment
def is_recorded(of):
    """Whether a read of a content is an operation on the tape."""
    return of.__class__ is not PLAIN and is_differentiated(of) and tls.tape is not None


@fragment
def return_whole(self, is_whole):
    """Return the array itself for ``x[:]`` and ``x[()]``, as MXNet does."""
    if not by_numpy and is_whole:
        return self


@fragment
def return_fresh(r):
    """Return a new array with the selection of an index with arrays, which is already a copy."""
    if r.ndim > 1:
        r = contiguous(r)
    return_small(r)


@fragment
def return_shown(self, owner, r, key, of):
    """Return a view that shows ``r``."""
    if views_are_constant(of):
        return constant_view(cls, r, owner, self, key, of)
    return_view(r, owner, self, key, of)


@fragment
def return_recorded_part(self, of, chain, r, copied):
    """Return the part of a recorded content that view operations give, if its entry on the tape can be made here."""
    part = recorded_part(of, (*self._chain, *chain) if self._held is None else chain, r, copied)
    if part is not None:
        c = new_array()
        c._held = part
        return c


@fragment
def return_element_at(v, key, of):
    """Return the element at two integers, the commonest of tuples."""
    if by_numpy and len(key) == 2:
        first, last = key
        if first.__class__ is int and last.__class__ is int:
            r = v[key]
            if r.__class__ in native and not is_recorded(of):
                return r


@fragment
def return_by_array(self, key, kind, v, of):
    """Return the elements at a list or array of indices, or where a mask is true."""
    if is_recorded(of):
        return get(self, key)
    if kind is list:
        at = key if PLACES.issuperset(map(type, key)) else host_key(key)
    elif kind is not cls or (at := content_of(key)).__class__ is not PLAIN or not at.ndim:
        at = None
    if at is None:
        return get(self, key)
    r = v[at]
    return_fresh(r)


@fragment
def return_selected(self, owner, r, key, kind, v, of):
    """Return what NumPy has selected: a view that shows it, or a new array or element."""
    if r.__class__ is PLAIN:
        if by_numpy:
            # an index with arrays has selected a copy; the base of a selection by slices is the array, or the array that owns its memory
            if kind is None and r.base is not (v if v.base is None else v.base):
                return_fresh(r)
        elif not r.size or not r.flags.c_contiguous:
            if not is_dialect or not r.size or is_recorded(of):
                return get(self, key)
            r = contiguous(r)
            return_fresh(r)
        return_shown(self, owner, r, key, of)
    if elements and r.__class__ in native:
        if not is_recorded(of):
            return r
        # NumPy has copied the element; the tape records it as the view operations that would select it
        chain = basic(v.shape, key).chain
        return_recorded_part(self, of, chain, r, False)


@fragment
def return_unless_placed(self, key, value, at):
    """Put NumPy's index in place of ``at`` for a tuple with other items than numbers and slices, or call the general function."""
    if not by_numpy:
        return put(self, key, value)
    first = last = None
    if len(key) == 2:
        first, last = key
        first = first._raw if first.__class__ is element else first
        last = last._raw if last.__class__ is element else last
    at = (first, last) if first.__class__ in PLACES_OR_SLICES and last.__class__ in PLACES_OR_SLICES else host_key(key)
    if at is None:
        return put(self, key, value)


@fragment
def return_unless_placed_by_array(self, key, value, kind, at):
    """The same for an ellipsis, a list, an element or an array."""
    if not by_numpy:
        return put(self, key, value)
    if key is ...:
        pass
    elif kind is list:
        if not PLACES.issuperset(map(type, key)) and (at := host_key(key)) is None:
            return put(self, key, value)
    elif kind is element:
        # a total that is an integer selects as Python's int does
        at = key._raw
        if at.__class__ not in INTEGER_SCALARS:
            return put(self, key, value)
    elif kind not in INTEGER_SCALARS and (kind is not cls or (at := content_of(key)).__class__ is not PLAIN or not at.ndim):
        return put(self, key, value)


@fragment
def return_unless_source(self, key, value, kind, source):
    """Put NumPy's array, or a number, in place of ``source`` for the value of a write, or call the general function."""
    if kind is float or kind is int or kind in native:
        source = value
    elif elements and kind is element:
        source = value._raw
    elif kind is cls:
        if value._held is not None:
            shown = None
        elif value._under is self and value._key is key:  # ``self[key] += y`` has updated that very part
            return None
        else:
            shown = value._of
        if shown is not None and shown is value._base._held and (shown.__class__ is PLAIN or tls.tape is None):
            source = value._seen
        else:
            source = operand_of(value)
            if source.__class__ is Value and tls.tape is None and source.device is CPU:
                source = source.data
            if source.__class__ is not PLAIN:
                return put(self, key, value)
        # Another part of this array: along a single axis NumPy reads elements that it has just written, unless the steps are equal.
        if value._held is None and value._base is (self._base if self._held is None else self):
            at = value._key if value._under is self else None
            if at.__class__ is not key.__class__ or (at.__class__ is not int and (at.__class__ is not slice or at.step != key.step)):
                source = source.copy()
        elif self._held is None and value is self._base:
            source = source.copy()
    else:
        return put(self, key, value)


@fragment
def return_reshaped(self, owner, v, of, r):
    """Return a reshaped array: a view if it shares the memory, otherwise a copy unless the general function has rules for it."""
    # the base of a view is the array that owns the memory, never another view
    if r.ndim and r.base is (v if v.base is None else v.base):
        return_shown(self, owner, r, RESHAPED, of)
    elif r.ndim:
        if is_recorded(of):
            chain = (reshape_to(shape=r.shape),)
            return_recorded_part(self, of, chain, r, True)
        elif by_numpy:
            return_fresh(r)
