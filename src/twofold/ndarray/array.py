"""``NDArray``, the array of ``mx.nd``: MXNet's semantics on a cell. Operators are attached by `operators`, functions by `namespace`."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from ..device import Device, current_device
from ..dtype import NUMPY, dtype_name
from ..errors import DTypeError, ParameterError, ShapeError
from ..imperative.array import Array, ViewMixin, from_host
from ..imperative.cell import wrap
from ..imperative.invoke import host_of, invoke
from ..op.registry import OPS
from ..op.shapes import reshape_codes
from . import indexing


class NDArray(Array):
    """An array of `mx.nd`: float32 by default, equal dtypes in operations, at least one axis."""

    __slots__ = ()
    _legacy: ClassVar[bool] = True
    __array_priority__ = 1000.0

    @property
    def dtype(self) -> type:
        """NumPy's scalar class of the dtype."""
        return NUMPY[self._dtype].type

    @property
    def stype(self) -> str:
        """Storage type: ``"default"`` (dense)."""
        return "default"

    @property
    def T(self) -> "NDArray":
        """The array with its axes reversed, copied."""
        return _apply("permute_dims", self, axes=tuple(range(self.ndim))[::-1])

    # conversion

    def astype(self, dtype: Any, copy: bool = True) -> "NDArray":
        """The array in another dtype; itself if it has it and ``copy`` is false."""
        name = dtype_name(dtype)
        if name == self._dtype:
            return self.copy() if copy else self
        return _apply("astype", self, dtype=name)

    def copy(self) -> "NDArray":
        """A copy on the same device."""
        return _apply("contiguous", self)

    def copyto(self, other: "NDArray | Device") -> "NDArray":
        """Copy into another array, or to a new array on a device.

        Raises
        ------
        ShapeError
            If the other array's shape differs.
        """
        if isinstance(other, Device):
            return from_host(NDArray, host_of(self), other)
        if not isinstance(other, NDArray):
            raise DTypeError("copyto: the target is neither an array nor a context", type(other).__name__, "give an NDArray or a Context")
        if other.shape != self.shape:
            raise ShapeError("copyto: shapes differ", f"{self.shape} into {other.shape}", "make an array of the same shape")
        other[:] = self if other.context is self.context else from_host(NDArray, host_of(self), other.context)
        return other

    def as_in_context(self, context: Device) -> "NDArray":
        """The array itself if it is on that device, else a copy there."""
        return self if context is self.context else self.copyto(context)

    as_in_ctx = to_device = as_in_context

    def reshape(self, *shape: Any, **options: Any) -> "NDArray":
        """The same memory in another shape, with MXNet's codes 0, -1, -2, -3, -4 and ``reverse``."""
        given = options.pop("shape", None)
        reverse = bool(options.pop("reverse", False))
        if options:
            raise ParameterError("reshape: unknown argument", ", ".join(options), "give shape and reverse")
        codes = given if given is not None else shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        target = reshape_codes(self.shape, (codes,) if isinstance(codes, int) else tuple(codes), reverse)
        return self._view(OPS["reshape"].sig(shape=target))

    def _view(self, *chain: Any) -> "NDArray":
        """A view of this array, or of the array that it is a view of."""
        out = object.__new__(NDArrayView)
        out._base, out._chain = self, chain
        return out

    # Python's protocols

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator["NDArray"]:
        return (self[k] for k in range(len(self)))

    def __bool__(self) -> bool:
        size = self.size
        if size != 1:
            raise ParameterError("The truth value of an NDArray with multiple elements is ambiguous", f"shape {self.shape}", "compare, then reduce")
        return bool(self.asscalar())

    def __float__(self) -> float:
        return float(self.asscalar())

    def __int__(self) -> int:
        return int(self.asscalar())

    def __index__(self) -> int:
        if self._dtype.startswith(("int", "uint")):
            return int(self.asscalar())
        raise DTypeError("only integer arrays can be an index", self._dtype, "cast it with astype('int32')")

    def __hash__(self) -> int:
        return id(self) >> 4

    def __getitem__(self, key: Any) -> "NDArray":
        return indexing.get(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        indexing.put(self, key, value)

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"\n{self.asnumpy()}\n<{type(self).__name__.removesuffix('View')} {shape} @{self.context}>"

    __str__ = __repr__


class NDArrayView(ViewMixin, NDArray):
    """A view of an `NDArray`."""

    __slots__ = ("_base", "_chain")
    _root: ClassVar[Any] = NDArray

    def _view(self, *chain: Any) -> NDArray:
        out = object.__new__(NDArrayView)
        out._base, out._chain = self._base, (*self._chain, *chain)
        return out


def _apply(name: str, array: NDArray, **params: Any) -> NDArray:
    return wrap(NDArray, invoke(OPS[name].sig(True, **params), (array,))[0])


def array(source: Any, ctx: Device | None = None, dtype: Any = None) -> NDArray:
    """A new array from anything array-like.

    Parameters
    ----------
    source
        An array, a number, or nested lists of numbers.
    ctx
        The device; the current one if None.
    dtype
        float32 if None, or the source's own if it is an `NDArray`.
    """
    if isinstance(source, Array):
        host = host_of(source)
        dtype = source._dtype if dtype is None else dtype
    else:
        host = np.asarray(source)
        dtype = "float32" if dtype is None else dtype
    host = host.astype(NUMPY[dtype_name(dtype)])
    return from_host(NDArray, host.reshape(1) if host.ndim == 0 else host, Device(ctx) if ctx is not None else current_device())

