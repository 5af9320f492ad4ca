"""``x.flat``: the elements of an array in row-major order."""

from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar

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
        found = super().__getitem__(key)
        return found.copy() if isinstance(found, ndarray) and is_view(found) else found

    def __iter__(self) -> Iterator[Any]:
        rest = self._rest
        if rest is None:
            # not over `self`, which would hold itself
            vars(self)["_rest"] = rest = iter(whole_of(self))
        return rest

    def __next__(self) -> Any:
        return next(iter(self))


def flat_of(x: ndarray) -> flatiter:
    """The elements in row-major order: a view if the memory layout allows it, else a read-only copy; parts of it are copies."""
    v = x._held
    if v.__class__ is PLAIN and x.__class__ is ndarray:  # as `x.reshape(-1)`, without an array between
        flat = object.__new__(flatiter)
        flat._held = flat._gradient = flat._steps = None
        flat._base, flat._under, flat._key, flat._seen = x, x, RESHAPED, v.reshape(-1)
        flat._of = v
        return flat
    if not is_view(x) or x._strided.reshaped((x.size,)) is not None:
        flat = x.reshape(-1)
    else:
        # writes to a copy would not reach this array: a broadcast view refuses them
        flat = x.copy().reshape(-1)._view(broadcast_to((x.size,)))
    return _alike(flatiter, flat)


def whole_of(flat: ndarray) -> ndarray:
    """The elements as an array like any other."""
    return _alike(ndarray, flat)


def _alike(cls: type[AnyView], x: Any) -> AnyView:
    """A view of what another one shows."""
    found: Any = object.__new__(cls)
    found._held = found._gradient = None
    found._base, found._under, found._key, found._steps = x._base, x._under, x._key, x._steps
    found._seen = x._seen
    found._of = x._of  # last, as wherever both are set
    return found
