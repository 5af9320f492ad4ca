"""``x.flat``: the elements of an array in row-major order."""

from collections.abc import Iterator
from typing import Any, ClassVar

from ..imperative.cell import is_view
from ..imperative.views import view_of
from ..ops.primitive_shape import broadcast_to
from .array import ndarray


class flatiter(ndarray):
    """A vector over the elements of an array, and an iterator that gives one after the other. Parts of it are copies, as of NumPy's."""

    #: The elements that are left, once one has been asked for.
    _rest: ClassVar[Iterator[Any] | None] = None

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return found.copy() if isinstance(found, ndarray) and is_view(found) else found

    def __iter__(self) -> Iterator[Any]:
        rest = self._rest
        if rest is None:
            vars(self)["_rest"] = rest = super().__iter__()
        return rest

    def __next__(self) -> Any:
        return next(iter(self))


def flat_of(x: ndarray) -> flatiter:
    """The elements in row-major order: a view if the memory layout allows it, else a read-only copy; parts of it are copies."""
    if not is_view(x) or x._strided.reshaped((x.size,)) is not None:
        return view_of(flatiter, x.reshape(-1), ())
    # writes to a copy would not reach this array: a broadcast view refuses them
    return view_of(flatiter, x.copy().reshape(-1)._view(broadcast_to.bind(shape=(x.size,))), ())
