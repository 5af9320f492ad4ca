"""``x.flat``: the elements of an array in row-major order."""

from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..imperative.cell import PLAIN, is_view
from ..imperative.element import NATIVE
from ..imperative.views import RESHAPED
from .array import ndarray
from .bound_views import broadcast_to

AnyView = TypeVar("AnyView", bound=ndarray)


class flatiter(ndarray):  # NumPy's name
    """A vector over the elements of an array, and an iterator that gives one after the other. Parts of it are copies, as of NumPy's."""

    #: The elements that are left, once one has been asked for.
    _rest: ClassVar[Iterator[Any] | None] = None
    #: The array whose elements these are.
    _array: ndarray

    def __getitem__(self, key: Any) -> Any:
        # an element of ready memory, without three calls
        if (
            key.__class__ is int
            and self._of.__class__ is PLAIN
            and self._of is self._base._held
            and -self._seen.size <= key < self._seen.size
        ):
            found = self._seen[key]
            if found.__class__ in NATIVE:
                return found
        array = self._array
        if self._is_copy and key.__class__ is int and -array.size <= key < array.size:
            return array[np.unravel_index(key % array.size, array.shape)]
        found = ndarray.__getitem__(self._current, key)
        return found.copy() if isinstance(found, ndarray) and is_view(found) else found

    @property
    def _is_copy(self) -> bool:
        """Whether the elements lie scattered in the array's memory, so that these here were copied from it."""
        return self._base is not self._array and self._base is not self._array._base

    @property
    def _current(self) -> "flatiter":
        """The elements as they are now."""
        return flat_of(self._array) if self._is_copy else self

    @property
    def _operand(self) -> object:
        """What operators read."""
        return whole_of(self)._operand

    @property
    def _content(self) -> object:
        return whole_of(self)._content

    def __iter__(self) -> Iterator[Any]:
        rest = self._rest
        if rest is None:
            array = self._array
            is_ready = self._is_copy and array._of.__class__ is PLAIN and array._of is array._base._held
            # not over `self`, which would hold itself
            vars(self)["_rest"] = rest = iter(array._seen.flat if is_ready else whole_of(self))
        return rest

    def __next__(self) -> Any:
        return next(iter(self))


def flat_of(x: ndarray) -> flatiter:
    """The elements in row-major order: a view if the memory layout allows it, else a copy; parts of it are copies. Writes reach ``x``."""
    v = x._held
    if v.__class__ is PLAIN and x.__class__ is ndarray:  # as `x.reshape(-1)`, without an array between
        flat = object.__new__(flatiter)
        flat._held = flat._gradient = flat._steps = None
        flat._base, flat._under, flat._key, flat._seen = x, x, RESHAPED, v.reshape(-1)
        flat._of = v
        flat._array = x
        return flat
    if not is_view(x) or x._strided.reshaped((x.size,)) is not None:
        flat = x.reshape(-1)
    else:
        # what is made of a copy cannot be written: that would not reach this array
        flat = x.copy().reshape(-1)._view(broadcast_to((x.size,)))
    found = _alike(flatiter, flat)
    found._array = x
    return found


def whole_of(flat: ndarray) -> ndarray:
    """The elements as an array like any other."""
    return _alike(ndarray, flat._current)


def _alike(cls: type[AnyView], x: Any) -> AnyView:
    """A view of what another one shows."""
    found: Any = object.__new__(cls)
    found._held = found._gradient = None
    found._base, found._under, found._key, found._steps = x._base, x._under, x._key, x._steps
    found._seen = x._seen
    found._of = x._of  # last, as wherever both are set
    return found
