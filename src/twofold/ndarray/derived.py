"""The bases of classes that programs derive from arrays. Their views are of the program's class, as in MXNet; other results are not."""

from typing import Any, ClassVar

import numpy as np

from ..imperative.array import from_host
from ..imperative.views import view_of
from ..opdef import BoundOp
from ..ops import primitive_math
from .array import DERIVABLE, NDArray, shown_by
from .types import Index, Shape

_Array: Any = object  # whose methods are those of the array class beside it


class Derived(_Array):
    """What the bases of programs' classes have beside a class of arrays: Python calls their constructors."""

    __slots__ = ()
    #: The class of results.
    _kind: ClassVar[type[NDArray]] = NDArray

    def __init__(self, handle: object = None, writable: bool = True) -> None:
        """An array on the memory of a handle, or of an array; without either, an array without elements."""
        found = handle if isinstance(handle, NDArray) else self._of_handle(handle, writable)
        shown_by(self, from_host(NDArray, np.empty(0, np.float32)) if found is None else found)

    def __getitem__(self, key: Index, /) -> NDArray:
        return self._indexer.get(self, key)

    def _view(self, *chain: BoundOp) -> Any:
        return type(self)(handle=view_of(self._kind, self, chain), writable=True)

    def detach(self) -> NDArray:
        """The same array without its recorded history."""
        return view_of(self._kind, self, (primitive_math.stop_gradient.bind(),))


class _Derived(Derived, NDArray):
    """The base of classes that programs derive from `NDArray`."""

    __slots__ = ()

    def reshape(self, *shape: Shape, **options: object) -> NDArray:
        """A view of the array in another shape, see `NDArray.reshape`."""
        return type(self)(handle=super().reshape(*shape, **options), writable=True)


def derivable(base: type[NDArray], cls: type[Derived]) -> None:
    """Let one class stand for another among the bases of programs' classes."""
    cls.__name__ = cls.__qualname__ = base.__name__
    DERIVABLE[base] = cls


derivable(NDArray, _Derived)
