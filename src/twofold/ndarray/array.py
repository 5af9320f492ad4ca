"""``NDArray``, the array of ``mx.nd``: MXNet's semantics on a cell. `operators` and `methods` attach its operators and other methods."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from ..device import Device
from ..dtype import NUMPY, dtype_name
from ..errors import DTypeError, ParameterError, ShapeError
from ..extension_points import LOADERS
from ..imperative.array import Array, ViewMixin, view_of
from ..imperative.cell import wrap
from ..imperative.invoke import invoke
from ..imperative.transfer import on_device
from ..opdef.shapes import reshape_codes
from ..opdef.spec import Op, Sig
from ..ops import primitive_arithmetic, primitive_shape
from . import indexing
from .types import ArrayLike, DTypeLike, Index, Shape

#: Cache of reshapes: (shape, codes, reverse) to the view operation. Makes a repeated reshape two look-ups.
_RESHAPES: dict[Any, Any] = {}
_MAX_RESHAPES = 4096


class NDArray(Array):
    """An array of `mx.nd`: float32 by default, operands of equal dtype, results with at least one axis."""

    __slots__ = ()
    _legacy: ClassVar[bool] = True
    __array_priority__ = 1000.0
    # attached by `interop`
    __array_ufunc__: Any
    __array_function__: Any

    @property
    def dtype(self) -> type:
        """The dtype as NumPy's scalar class."""
        return NUMPY[self._dtype].type  # as in MXNet, not an instance of ``np.dtype``

    @property
    def stype(self) -> str:
        """Storage type: ``"default"`` (dense)."""
        return "default"

    @property
    def writable(self) -> bool:
        """Whether the array can be written to: always True."""
        return True

    @property
    def T(self) -> "NDArray":
        """A copy with the axes reversed; the array itself if it has fewer than two axes."""
        return self if self.ndim < 2 else _apply(primitive_shape.permute_dims, self, axes=tuple(range(self.ndim))[::-1])

    # copies

    def astype(self, dtype: DTypeLike, copy: bool = True) -> "NDArray":
        """The array cast to a dtype (float32 if None); the array itself if it has that dtype and ``copy`` is false."""
        name = "float32" if dtype is None else dtype_name(dtype)
        if name == self._dtype:
            return self.copy() if copy else self
        return _apply(primitive_arithmetic.astype, self, dtype=name)

    def copy(self) -> "NDArray":
        """A copy on the same device."""
        return _apply(primitive_shape.contiguous, self)

    def copyto(self, other: "NDArray | Device") -> Any:
        """Copy into another array, casting to its dtype, or into a new array on a device. Recorded like any operation.

        Returns
        -------
        NDArray
            The array written to; False if it is this one.

        Raises
        ------
        ShapeError
            If the other array's shape differs.
        DTypeError
            If the target is neither an array nor a context.
        """
        if isinstance(other, Device):
            return wrap(NDArray, on_device(self, other))
        if not isinstance(other, NDArray):
            raise DTypeError("copyto: the target is neither an array nor a context", type(other).__name__, "pass an NDArray or a Context")
        if other is self:  # MXNet warns and returns False too
            warnings.warn("copyto: an array is copied to itself", RuntimeWarning, stacklevel=2)
            return False
        if other.shape != self.shape:
            raise ShapeError("copyto: shapes differ", f"{self.shape} into {other.shape}", "pass an array of the same shape")
        other[:] = self
        return other

    def as_in_context(self, context: Device) -> "NDArray":
        """The array itself if it is on the device, else a copy there."""
        return self if context is self.context else self.copyto(context)

    as_in_ctx = to_device = as_in_context

    def as_nd_ndarray(self) -> "NDArray":
        """The array itself."""
        return self

    def as_np_ndarray(self) -> Array:
        """A view of the array as an array of ``mx.np``: it shares memory, and gradients flow through it."""
        # ``mx.np`` is built on this package, so its class is not imported but found through a hook
        return view_of(LOADERS["numpy", "ndarrayView"](), self, ())

    def tostype(self, stype: str) -> "NDArray":
        """A copy in a storage type. Only ``"default"`` is supported.

        Raises
        ------
        ParameterError
            If the storage type is another one.
        """
        if stype != "default":
            raise ParameterError("tostype: storage type is not supported", repr(stype), "use 'default'")
        return self.copy()

    def to_dlpack_for_read(self) -> object:
        """A DLPack capsule for reading the array's memory. The array must outlive its use."""
        return self.__dlpack__()

    def to_dlpack_for_write(self) -> object:
        """A DLPack capsule for writing to the array's memory."""
        return self.__dlpack__()

    # shapes

    def reshape(self, *shape: Shape, **options: Any) -> "NDArray":
        """A view of the array in another shape.

        Parameters
        ----------
        *shape
            Sizes, or one tuple of sizes. Special codes: 0 keeps a size, -1 infers it, -2 keeps all remaining ones, -3 merges two,
            -4 splits one into the two sizes that follow.
        **options
            ``shape`` instead of positional sizes; ``reverse=True`` reads the codes from the right.

        Raises
        ------
        ShapeError
            If the sizes do not match the number of elements.
        """
        codes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        reverse = False
        if options:
            codes, reverse = options.pop("shape", codes), bool(options.pop("reverse", False))
            if options:
                raise DTypeError("reshape: unknown keywords", ", ".join(options), "the keywords are 'shape' and 'reverse'")
        if codes == () and not (shape or self.size == 1):
            raise ParameterError("reshape: Shape must be provided", None, "pass the sizes")
        return self._view(_reshape_sig(self.shape, codes, reverse))

    def expand_dims(self, axis: int, inplace: bool = False) -> "NDArray":
        """The array with a new axis of size 1 at position ``axis``; with ``inplace`` a view."""
        ndim = self.ndim + 1
        if not -ndim <= axis < ndim:
            raise ShapeError(
                "expand_dims: the axis is out of range", f"{axis} for {self.ndim} dimensions", f"pass one from {-ndim} to {ndim - 1}"
            )
        shape = list(self.shape)
        shape.insert(axis % ndim, 1)
        return self._reshaped(tuple(shape), inplace)

    def flatten(self, inplace: bool = False) -> "NDArray":
        """The array in two dimensions, (first size, product of the others); with ``inplace`` a view."""
        rows = self.shape[:1] or (1,)
        # an empty first axis is no divisor
        return self._reshaped((*rows, self.size // rows[0] if rows[0] else 0), inplace)

    def squeeze(self, axis: int | Sequence[int] | None = None, inplace: bool = False) -> "NDArray":
        """The array without axes of size 1 (the given ones, or all); with ``inplace`` a view."""
        ndim = self.ndim
        given = [k for k, n in enumerate(self.shape) if n == 1] if axis is None else [axis] if isinstance(axis, int) else list(axis)
        for a in given:
            if not -ndim <= a < ndim or self.shape[a] != 1:
                raise ShapeError("squeeze: the axis is not of size 1", f"axis {a} of shape {self.shape}", "name axes of size 1")
        removed = {a % ndim for a in given}
        # at least one axis remains: MXNet has no 0-d arrays
        return self._reshaped(tuple(n for k, n in enumerate(self.shape) if k not in removed) or (1,), inplace)

    def broadcast_to(self, shape: Sequence[int]) -> "NDArray":
        """The array broadcast to a shape, in which 0 keeps a size."""
        wide = (1,) * (len(shape) - self.ndim) + self.shape
        target = tuple(n if m == 0 else m for n, m in zip(wide, shape, strict=False))
        if len(wide) != len(shape) or any(n not in (1, m) for n, m in zip(wide, target, strict=True)):
            raise ShapeError("broadcast_to: shapes do not match", f"{self.shape} to {tuple(shape)}", "only axes of size 1 can be broadcast")
        return _apply(primitive_shape.broadcast_to, self, shape=target)

    def broadcast_like(self, other: "NDArray") -> "NDArray":
        """The array broadcast to the shape of another one."""
        return self.broadcast_to(other.shape)

    def slice_assign(self, rhs: "NDArray", begin: Sequence[int | None], end: Sequence[int | None], step: Sequence[int | None]) -> "NDArray":
        """Assign an array to ``self[begin:end:step, …]`` and return this array."""
        self[_key(begin, end, step)] = rhs
        return self

    def slice_assign_scalar(
        self, value: float, begin: Sequence[int | None], end: Sequence[int | None], step: Sequence[int | None]
    ) -> "NDArray":
        """Assign a number to ``self[begin:end:step, …]`` and return this array."""
        self[_key(begin, end, step)] = value
        return self

    def _reshaped(self, shape: tuple[int, ...], inplace: bool) -> "NDArray":
        view = self._view(primitive_shape.reshape.sig(shape=shape))
        return view if inplace else view.copy()

    def _view(self, *chain: Sig) -> "NDArray":
        """A view of this array or, if it is a view itself, of its base."""
        return view_of(NDArrayView, self, chain)

    # Python protocols

    def __len__(self) -> int:
        if not self.shape:
            raise DTypeError("len: a 0-d array has no length", "shape ()", "reshape it to (1,)")
        return self.shape[0]

    def __iter__(self) -> Iterator["NDArray"]:
        return (self[k] for k in range(len(self)))

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ParameterError(
                "The truth value of an NDArray with multiple elements is ambiguous", f"shape {self.shape}", "compare, then reduce"
            )
        return bool(self.asscalar())

    def __float__(self) -> float:
        return float(self.asscalar())

    def __int__(self) -> int:
        return int(self.asscalar())

    def __complex__(self) -> complex:
        return complex(self.asscalar())

    def __index__(self) -> int:
        if self._dtype.startswith(("int", "uint")):
            return int(self.asscalar())
        raise DTypeError("only integer arrays can be an index", self._dtype, "cast it with astype('int32')")

    def __hash__(self) -> int:
        return id(self) >> 4  # by identity, since `==` compares elements; objects lie 16 bytes apart

    def __getitem__(self, key: Index) -> "NDArray":
        return indexing.get(self, key)

    def __setitem__(self, key: Index, value: ArrayLike) -> None:
        indexing.put(self, key, value)

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"\n{self.asnumpy()}\n<{type(self).__name__.removesuffix('View')} {shape} @{self.context}>"

    __str__ = __repr__


class NDArrayView(ViewMixin, NDArray):
    """A view of an `NDArray`."""

    __slots__ = ("_base", "_chain")
    _root: ClassVar[Any] = NDArray


def _apply(op: Op, array: NDArray, **params: Any) -> NDArray:
    return wrap(NDArray, invoke(op.sig(True, **params), (array,))[0])


def _reshape_sig(shape: tuple[int, ...], codes: Any, reverse: bool) -> Any:
    """The view operation of a reshape with special codes.

    Raises
    ------
    DTypeError
        If the codes are not integers.
    """
    # a list is no key of a dictionary; other codes are: a single size, or an object with ``__index__``
    key = shape, tuple(codes) if isinstance(codes, (tuple, list)) else codes, reverse
    found = _RESHAPES.get(key)
    if found is None:
        try:
            sizes = tuple(int(c.__index__()) for c in (codes if isinstance(codes, (tuple, list)) else (codes,)))
        except AttributeError:
            raise DTypeError("reshape: a shape must consist of integers", repr(codes), "pass sizes") from None
        found = primitive_shape.reshape.sig(shape=reshape_codes(shape, sizes, reverse))
        if len(_RESHAPES) >= _MAX_RESHAPES:  # shapes that differ on every call must not grow it without bound
            _RESHAPES.clear()
        _RESHAPES[key] = found
    return found


def _key(begin: Sequence[int | None], end: Sequence[int | None], step: Sequence[int | None]) -> tuple[slice, ...]:
    return tuple(slice(b, e, s) for b, e, s in zip(begin, end, step or [None] * len(begin), strict=True))
