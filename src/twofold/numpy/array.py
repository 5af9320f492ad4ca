"""``ndarray``, the array of ``twofold.np``: NumPy's semantics on a cell.

Indexing, operators and other methods are attached by `indexing`, `operators` and `methods`.

Differences from NumPy that follow from using cells: the memory of an array that is not a view is always in row-major order, and NumPy's
scalars are 0-d arrays here. These behave like scalars: they are hashed and formatted by value, and ``total += x`` creates a new one,
except of an array that the program has made without axes (see `views.changeable`).
"""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from operator import index
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np

from ..calls.host_calls import is_recorded
from ..device import Device, interned
from ..dtype import ITEMSIZE, NAME_OF, NUMPY, dtype_name, numpy_dtype
from ..errors import DTypeError, ParameterError, ShapeError
from ..imperative.array import Array, adopted, apply_op
from ..imperative.cell import PLAIN, is_view, wrap, writable
from ..imperative.element import Absent, ElementMixin, elements_of
from ..imperative.invoke import host_of
from ..imperative.strided_view import StridedView, strided_view
from ..imperative.transfer import on_device
from ..imperative.views import CHANGEABLE, changeable, memory_while_unrecorded, ready_memory, view_of
from ..ndarray.array import NDArray, NDArrayType
from ..ndarray.types import ArrayLike, Casting, DTypeLike, Index, Order, Shape
from ..opdef import BoundOp, filled_shape, integers, normalized_axes, order_of_axes, swapped_axes
from ..ops import primitive_arithmetic, primitive_shape
from ..signal_handlers import unless_signalled
from .bound_views import permute_to, reshape_to
from .memory_flags import Flags


class ndarrayType(NDArrayType):
    """The class of `ndarray`: a call makes an array as NumPy's does. The package itself makes arrays without it, which takes no time."""

    #: `constructor.made`
    _made: Callable[..., Any]

    def __call__(cls, *args: Any, **options: Any) -> Any:
        """A new array, or one over given memory. The class of ``mx.np`` derives from `NDArray` too, and is called as that."""
        return super().__call__(*args, **options) if issubclass(cls, NDArray) else cls._made(cls, *args, **options)


ndarrayType.__name__ = ndarrayType.__qualname__ = "type"


class ndarray(Array, metaclass=ndarrayType):  # NumPy's name
    """An array of ``twofold.np``: NumPy's promotion, views and results, on any device, with gradients."""

    __slots__ = ()
    _legacy: ClassVar[bool] = False
    #: Whether symbols have the same functions, so that computations on such arrays can be traced.
    _traceable: ClassVar[bool] = False
    __array_priority__ = 1000.0
    # members that `indexing`, `operators` and `methods` attach
    if TYPE_CHECKING:
        # of calls (`constructor`)
        def __init__(
            self,
            shape: Shape,
            dtype: DTypeLike = ...,
            buffer: object = ...,
            offset: int = 0,
            strides: Shape | None = None,
            order: Order = None,
        ) -> None: ...
        def __getitem__(self, index: Index, /) -> "ndarray": ...
        def __setitem__(self, index: Index, value: ArrayLike, /) -> None: ...
        def _applied(self, *args: object, **options: object) -> "ndarray": ...

        all = any = argpartition = choose = compress = conj = conjugate = cumprod = cumsum = diagonal = searchsorted = std = _applied
        trace = var = _applied

    @property
    def dtype(self) -> np.dtype:
        """The data type."""
        return NUMPY[self._dtype]

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return ITEMSIZE[self._dtype]

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def base(self) -> "Array | None":
        """The array that owns the memory of this view; None if the array owns its memory."""
        return self._base if is_view(self) else None

    @property
    def _strided(self) -> StridedView:
        """The positions of the elements in the root's memory."""
        return strided_view(self._base.shape, self._chain) if is_view(self) else strided_view(self.shape, ())

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis."""
        v = self._held
        return v.strides if v.__class__ is PLAIN else tuple(s * self.itemsize for s in self._strided.strides)

    @property
    def flags(self) -> Flags:
        """NumPy's record of the memory layout; as for any view, ``owndata`` is false."""
        if self._held.__class__ is PLAIN:
            return Flags(self._held.view())
        # only shape and strides count: a one-element dummy stands for memory that may be on a device or not computed yet
        writeable = not is_view(self) or writable(self._base, self._chain) is not None
        return Flags(np.lib.stride_tricks.as_strided(np.empty(1, self.dtype), self.shape, self.strides, writeable=writeable))

    @property
    def T(self) -> "ndarray":
        """A view with the axes reversed."""
        return self._reversed()

    @property
    def mT(self) -> "ndarray":
        """A view with the last two axes swapped."""
        if self.ndim < 2:
            raise ShapeError("matrix transpose with ndim < 2 is undefined", f"shape {self.shape}", "pass a matrix")
        return self.swapaxes(-1, -2)

    def astype(self, dtype: DTypeLike, order: Order = "K", casting: Casting = "unsafe", subok: bool = True, copy: bool = True) -> "ndarray":
        """The array cast to a dtype.

        Parameters
        ----------
        dtype
            The new dtype.
        order, subok
            Have no effect: arrays are in row-major order, and there is one class.
        casting
            Which casts are allowed, as for ``numpy.can_cast``.
        copy
            If false, an array that already has the dtype is returned unchanged.

        Returns
        -------
        ndarray
            A NumPy array if the dtype is not supported here (text, objects, dates).

        Raises
        ------
        DTypeError
            If the cast is not allowed.
        """
        kind = numpy_dtype(dtype)
        if kind not in NAME_OF:
            host: Any = host_of(self)
            return host.astype(kind, casting=casting)
        name = dtype_name(dtype)
        if not np.can_cast(self.dtype, NUMPY[name], casting):
            raise DTypeError(f"Cannot cast array data from {self.dtype} to {NUMPY[name]}", f"casting={casting!r}", "allow another casting")
        if name == self._dtype:
            return self.copy() if copy else self
        found = apply_op(primitive_arithmetic.astype, self, cls=ndarray, dtype=name)
        return changeable(found) if getattr(self, "_key", None) is CHANGEABLE else found

    def copy(self, order: Order = "C") -> "ndarray":
        """A copy on the same device, in row-major order; ``order`` has no effect."""
        found = apply_op(primitive_shape.contiguous, self, cls=ndarray)
        return changeable(found) if getattr(self, "_key", None) is CHANGEABLE else found

    def flatten(self, order: Order = "C") -> "ndarray":
        """A copy with one axis; ``order`` as in `reshape`."""
        flat = self.ravel(order)
        return flat.copy() if is_view(flat) else flat

    def as_in_ctx(self, ctx: Device) -> Self:
        """The array itself if it is on the device, else a copy there."""
        return self if self.context == ctx else wrap(self._ordinary, on_device(self, interned(ctx)))

    as_in_context = as_in_ctx

    def to_device(self, device: Device | str, stream: None = None) -> "ndarray":
        """As `as_in_ctx`, by the array API's name; ``stream`` must be None."""
        if stream is not None:
            raise ParameterError("to_device: streams cannot be chosen", repr(stream), "omit stream")
        return self.as_in_ctx(interned(device))

    def copyto(self, other: Any) -> Any:
        """Copy into another array, of the same shape (else a ShapeError), or into a new array on a device; returns that array."""
        if isinstance(other, Device):
            return wrap(self._ordinary, on_device(self, other))
        if other.shape != self.shape:
            raise ShapeError("copyto: shapes differ", f"{self.shape} into {other.shape}", "pass an array of the same shape")
        other[...] = self
        return other

    def as_np_ndarray(self) -> "ndarray":
        """The array itself."""
        return self

    def as_nd_ndarray(self) -> NDArray:
        """A view of the array as an array of ``mx.nd``: it shares memory, and gradients flow through it."""
        # ``mx.nd`` has no 0-d arrays: a single element has shape (1,)
        chain = () if self.shape else (reshape_to((1,)),)
        return view_of(NDArray, self, chain, is_alias=True)

    def _view(self, *chain: BoundOp) -> "ndarray":
        """A view of this array, or of the array that it is a view of."""
        return view_of(ndarray, self, chain)

    def view(self, dtype: DTypeLike = None, type: None = None) -> "ndarray":
        """A view of the whole array.

        Raises
        ------
        ParameterError
            If a different dtype is requested.
        """
        if dtype is ndarray or type is ndarray:  # NumPy's way to leave a class derived from it
            return self._view()
        if isinstance(dtype, ndarrayType) or isinstance(type, ndarrayType):
            todo = "keep the array in an attribute of an object, or run the script by `python -m twofold run --numpy`"
            raise ParameterError("view: an array does not become one of a derived class", repr(dtype or type), todo)
        if (is_shape := isinstance(dtype, (int, tuple))) or type is not None or (dtype is not None and dtype_name(dtype) != self._dtype):
            what = "a shape is no dtype" if is_shape else "memory cannot be reinterpreted as another type"
            todo = "use reshape for a view of another shape" if is_shape else "use astype, or view of asnumpy()"
            raise ParameterError(f"view: {what}", repr(dtype or type), todo)
        return self._view()

    def reshape(self, *shape: Shape, order: Order = "C", copy: bool | None = None) -> "ndarray":
        """The elements in a new shape: a view if the memory layout allows it, else a copy.

        Parameters
        ----------
        *shape
            Sizes, or one tuple of sizes; one of them may be -1.
        order
            The order in which elements are read and placed: ``"C"`` (last axis fastest), ``"F"`` (first), or ``"A"``, that of the memory.
        copy
            Always copy (True), never (False: an error if a copy is needed), or only if needed (None).

        Raises
        ------
        ShapeError
            If the sizes do not match the number of elements.
        ParameterError
            If a copy is needed but not allowed.
        """
        given: Any = shape[0] if len(shape) == 1 and not isinstance(shape[0], (int, np.integer)) else shape
        sizes = tuple([n.__index__() for n in given])
        bound_op = reshape_to(filled_shape(sizes, self.size, "reshape") if -1 in sizes or math.prod(sizes) != self.size else sizes)
        if order == "F" or (order == "A" and is_view(self) and self._strided.is_column_major):  # the reversed axes in row-major order
            return self.transpose().reshape(bound_op.params["shape"][::-1], copy=copy).transpose()
        # a root is row-major, so every shape is a view of it; the strides of a view may not allow one
        fits = not is_view(self) or self._strided.reshaped(bound_op.params["shape"]) is not None
        if not fits and copy is False:
            raise ParameterError("reshape: a view of that shape is not possible", f"{self.shape} as {sizes}", "allow a copy")
        return (self.copy() if copy or not fits else self)._view(bound_op)

    def ravel(self, order: Order = "C") -> "ndarray":
        """The elements along one axis: a view if they are adjacent in memory, else a copy."""
        if order in ("A", "K") and is_view(self):
            return self._permuted_view(self._strided.axes_in(order)).ravel()
        memory = ready_memory(self) if order == "C" and is_view(self) else None
        if memory is not None and (seen := self._seen) is not None and not seen.flags.c_contiguous:
            return adopted(ndarray, np.ascontiguousarray(memory).reshape(-1))
        flat = self.reshape(-1, order=order)
        if not is_view(self) or not is_view(flat) or flat.size < 2 or flat.strides[0] == flat.itemsize:
            return flat
        return flat.copy()  # NumPy's `ravel` returns adjacent elements, `reshape` also views with gaps between them

    def transpose(self, *axes: int | Sequence[int] | None) -> "ndarray":
        """A view with the axes in the given order, reversed by default."""
        given: Any = axes[0] if len(axes) == 1 else axes or None
        return self._permuted_view(
            None if given is None else order_of_axes(self.ndim, *(map(index, given) if given.__class__ is tuple else integers(given)))
        )

    def _permuted_view(self, order: tuple[int, ...] | None) -> "ndarray":
        if order is None:  # a derived class may have another `T`
            return self.T if self.__class__ is ndarray else self._reversed()
        found = view_of(ndarray, self, (permute_to(order),))
        # what the first read would find; `_of` is read before and written after what belongs to it (see `views`)
        of = self._of if self._held is None else self._held
        data = of if of.__class__ is PLAIN else memory_while_unrecorded(of)
        if data.__class__ is PLAIN and (self._held is of or self._gradient is None):
            found._seen = (self._seen if self._held is None else data).transpose(order)
            found._of = of
        return found

    def _reversed(self) -> "ndarray":
        return self._permuted_view(tuple(range(self.ndim))[::-1])

    def swapaxes(self, axis1: int, axis2: int) -> "ndarray":
        """A view with two axes swapped."""
        return self._permuted_view(swapped_axes(self.ndim, index(axis1), index(axis2)))

    def squeeze(self, axis: int | Sequence[int] | None = None) -> "ndarray":
        """A view without axes of size 1 (the given ones, or all)."""
        shape = self.shape
        if axis is None:
            return self.reshape(tuple([n for n in shape if n != 1]))
        v: Any = self._seen if self._held is None and self._of is not None else self._held
        if v.__class__ is PLAIN:
            try:
                return self.reshape(v.squeeze(axis).shape)
            except unless_signalled((TypeError, ValueError)):
                pass
        gone = normalized_axes(axis, len(shape))
        if any(shape[k] != 1 for k in gone):
            what = "cannot select an axis to squeeze out which has size not equal to one"
            raise ShapeError(what, f"axis {axis} of shape {shape}", "name axes of size 1")
        return self.reshape(tuple(n for k, n in enumerate(shape) if k not in gone))

    # Python's protocols

    def __len__(self) -> int:
        v: Any = self._seen if self._held is None and self._of is not None else self._held
        shape = v.shape if v.__class__ is PLAIN else self.shape
        if not shape:
            raise DTypeError("len() of unsized object", "a 0-d array", "reshape it")
        return shape[0]

    def __iter__(self) -> Iterator["ndarray"]:
        v: Any = self._held
        if v is None:
            if self._of.__class__ is PLAIN and self._seen.ndim == 1:
                return elements_of(self, self._base, self._of, self._seen)
        elif v.__class__ is PLAIN and v.ndim == 1:
            return elements_of(self, self, v, v)
        if not self.shape:
            raise DTypeError("iteration over a 0-d array", None, "reshape it")
        return map(self.__getitem__, range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __bool__(self) -> bool:
        return bool(host_of(self))

    def __float__(self) -> float:
        return float(host_of(self))

    def __int__(self) -> int:
        return int(host_of(self))

    def __complex__(self) -> complex:
        return complex(host_of(self))

    def __index__(self) -> int:
        return host_of(self).__index__()

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.item()) if digits is None else self.round(digits)

    def __trunc__(self) -> int:
        return math.trunc(self.item())

    def __hash__(self) -> int:
        # 0-d arrays take the place of NumPy's scalars, which can be keys of dictionaries and members of sets
        if self.shape:
            raise DTypeError("unhashable type: 'ndarray'", f"shape {self.shape}", "use a tuple of numbers, or id()")
        if is_recorded(self):  # a table keyed by the number, as those of parameters are, would lose the gradient silently
            raise DTypeError("unhashable type: 'ndarray'", "a recorded array", "use its number, x.item()")
        return hash(self.item())

    def __format__(self, spec: str) -> str:
        return format(self.item() if not self.shape else host_of(self), spec)

    def __copy__(self) -> "ndarray":
        found = self.copy()
        return changeable(found) if is_view(self) and not self.shape else found

    def __deepcopy__(self, memo: dict[int, object]) -> "ndarray":
        return self.__copy__()

    def __repr__(self) -> str:
        text = np.array_repr(host_of(self))
        return text if self.context.is_host else f"{text[:-1]}, ctx={self.context})"

    def __str__(self) -> str:
        return str(host_of(self))

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """The module of the array's functions."""
        return sys.modules[__name__.rpartition(".")[0]]

    def fill(self, value: ArrayLike) -> None:
        """Set every element to a value."""
        v = self._held
        if v.__class__ is PLAIN and value.__class__ is float and v.dtype.kind == "f":
            v.fill(value)
        else:
            self[...] = value


class ndarrayElement(ElementMixin, ndarray):
    """A single element: an array without axes that holds NumPy's scalar. It becomes an `ndarray` if more than its value is needed."""

    __slots__ = ()
    _ordinary: ClassVar[Any] = ndarray
    #: NumPy's scalars leave an operator to an operand of higher priority that has no ufuncs of its own; ufuncs convert that to a scalar.
    __array_ufunc__ = Absent("__array_ufunc__")

    def __bool__(self) -> bool:
        return bool(self._raw)

    def __float__(self) -> float:
        return float(self._raw)

    def __int__(self) -> int:
        return int(self._raw)

    def __complex__(self) -> complex:
        return complex(self._raw)

    def __index__(self) -> int:
        return index(self._raw)

    def __hash__(self) -> int:
        return hash(self._raw)

    def __round__(self, digits: int | None = None) -> Any:
        return round(self._raw) if digits is None else element_of(round(self._raw, digits))

    def __format__(self, spec: str) -> str:
        return format(self._raw.item(), spec)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """NumPy's conversion protocol."""
        return ndarray.__array__(self, dtype, copy) if copy is False else np.array(self._raw, dtype)

    def item(self, *index: int) -> Any:
        """The element as a Python scalar."""
        return self._raw.item(*index)


def element_of(scalar: object) -> ndarray:
    """A single element that holds NumPy's scalar."""
    element = ndarrayElement.__new__(ndarrayElement)
    element._raw = scalar
    return element


#: The ``out`` argument: an array to write the result to, or None.
Out: TypeAlias = ndarray | None
ndarray._ordinary = ndarray
