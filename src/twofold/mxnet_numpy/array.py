"""``ndarray`` of MXNet's NumPy dialect: NumPy's shapes with MXNet's dtypes, views and errors.

It differs from ``twofold.np.ndarray``, which it derives from, as the real one differs from NumPy's: integers stay integers, only parts that
are contiguous in memory are views, reshaped and transposed arrays are copies, elements are arrays without axes.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..calls import items
from ..calls.host_calls import is_recorded
from ..device import Device
from ..dtype import INTEGERS, dtype_name, is_float
from ..errors import DTypeError, NotSupported, ParameterError
from ..imperative.cell import Cell, wrap
from ..imperative.index_rules import Rules
from ..imperative.indexing import is_contiguous
from ..imperative.invoke import host_of, invoke
from ..imperative.views import view_of
from ..ndarray.array import NDArray
from ..ndarray.derived import Derived, derivable
from ..ndarray.indexing import MXNetIndexer
from ..ndarray.types import Casting, DTypeLike, Order
from ..numpy.array import ndarray as numpy_array
from ..numpy.indexing import INDEXER as NUMPY_INDEXER
from ..opdef import BoundOp, filled_shape
from ..opdef.conventions import legacy_scalar
from ..ops import primitive_arithmetic, primitive_shape


def _places(item: object) -> np.ndarray:
    """An item of an index as a NumPy array of bools or integers: this dialect's arrays of indices are float32 by default."""
    if isinstance(item, ndarray) and is_float(item._dtype):
        return host_of(item).astype(np.int64)
    return NUMPY_INDEXER.rules.places(item)


def _value(value: Any, x: Any) -> Any:
    """The value of an assignment. Numbers wrap around in arrays of integers, as in the rest of MXNet; NumPy raises.

    Raises
    ------
    ParameterError
        If it is infinite or NaN and the array holds integers.
    """
    if x._dtype in INTEGERS and isinstance(value, (int, float, np.bool, np.number, list, tuple)) and not is_recorded(value):
        host = np.asarray(value)
        if not host.ndim and host.dtype.kind in "biufO":
            return legacy_scalar(host.item(), x._dtype)
        value = host  # NumPy's arrays wrap around
    return NUMPY_INDEXER.rules.value(value, x)


INDEXER = MXNetIndexer(Rules((), is_contiguous, NUMPY_INDEXER.rules.is_basic, _places, _value, ellipsis_separates=True, takes_whole=True))


# As in MXNet a script may ask whether an array is an `NDArray`; its methods are replaced, or refused (`methods`).
_Base: Any = numpy_array if TYPE_CHECKING else NDArray


class ndarray(numpy_array, _Base):  # NumPy's name
    """An array of MXNet's ``mx.np``: float32 by default, on any device, with gradients."""

    __slots__ = ()
    _indexer: ClassVar[Any] = INDEXER
    _traceable: ClassVar[bool] = True

    if TYPE_CHECKING:  # attached by `methods`, as they call functions that are defined over this class
        reshape: Callable[..., "ndarray"]
        transpose: Callable[..., "ndarray"]

    @property
    def stype(self) -> str:
        """Storage type: ``"default"`` (dense)."""
        return "default"

    @property
    def T(self) -> "ndarray":
        """A copy with the axes reversed."""
        return self.transpose()

    def _zeros_in(self, stype: str) -> Cell:
        # not `NDArray`'s, which comes first in the order of bases and would make a sparse array
        return numpy_array._zeros_in(self, stype)

    # indexing

    def __getitem__(self, key: object) -> "ndarray":
        """Basic indices of contiguous memory give views, all others copies.

        Raises
        ------
        IndexingError
            If the key is not an index.
        """
        return INDEXER.get(self, key)

    def __setitem__(self, key: object, value: object) -> None:
        INDEXER.put(self, key, value)

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(len(self))) if self.shape else super().__iter__()  # elements are arrays here

    def _view(self, *chain: BoundOp) -> "ndarray":
        """A view of this array, or of the array that it is a view of."""
        return view_of(ndarray, self, chain)

    # copies

    def astype(self, dtype: DTypeLike, order: Order = "K", casting: Casting = "unsafe", subok: bool = True, copy: bool = True) -> "ndarray":
        """The array cast to a dtype; itself if it has that dtype and ``copy`` is false.

        Raises
        ------
        ParameterError
            For an order or casting other than the defaults, as in MXNet.
        """
        if order not in ("K", "A", "C") or casting != "unsafe" or not subok:
            given = f"order={order!r}, casting={casting!r}, subok={subok}"
            raise ParameterError("astype: only the default order and casting are supported", given, "leave them out")
        name = "float32" if dtype is None else dtype_name(dtype)
        if name == self._dtype:
            return self.copy() if copy else self
        return wrap(ndarray, invoke(primitive_arithmetic.astype.bind(dtype=name), (self,))[0])

    def copyto(self, other: Any) -> Any:
        """Copy into another array, or into a new array on a device; returns that array, but False, with a warning, for this one."""
        if other is self:
            warnings.warn("copyto: an array is copied to itself", RuntimeWarning, stacklevel=2)
            return False
        return super().copyto(other)

    def copy(self, order: Order = "C") -> "ndarray":
        """A copy on the same device.

        Raises
        ------
        ParameterError
            For an order other than ``"C"``.
        """
        if order != "C":
            raise NotSupported("copy: arrays are in row-major order", f"order={order!r}", "leave order out")
        return wrap(ndarray, invoke(primitive_shape.contiguous.bind(), (self,))[0])

    def as_in_context(self, context: Device) -> "ndarray":
        """`as_in_ctx` by its older name."""
        return self.as_in_ctx(context)

    def tostype(self, stype: str) -> "ndarray":
        """A copy in a storage type, which must be ``"default"``.

        Raises
        ------
        ParameterError
            For another one.
        """
        if stype != "default":
            raise ParameterError("tostype: arrays of mx.np are dense", repr(stype), "convert with as_nd_ndarray() first")
        return self.copy()

    # shapes

    def reshape_view(self, *shape: Any, order: Order = "C") -> "ndarray":
        """A view in a new shape, in which -1 infers a size.

        Raises
        ------
        ParameterError
            For an order other than ``"C"``.
        """
        if order != "C":
            raise NotSupported("reshape_view: arrays are in row-major order", f"order={order!r}", "leave order out")
        given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return self._view(primitive_shape.reshape.bind(shape=filled_shape(tuple(given), self.size, "reshape_view")))

    def slice_assign(self, rhs: Any, begin: Any, end: Any, step: Any) -> "ndarray":
        """Assign an array to ``self[begin:end:step, …]`` and return this array."""
        self[tuple(slice(b, e, s) for b, e, s in zip(begin, end, step or [None] * len(begin), strict=True))] = rhs
        return self

    def slice_assign_scalar(self, value: float, begin: object, end: object, step: object) -> "ndarray":
        """Assign a number to ``self[begin:end:step, …]`` and return this array."""
        return self.slice_assign(value, begin, end, step)

    # Python's protocols

    def __bool__(self) -> bool:
        if self.size != 1:
            if self.size == 0:
                return False
            what = "The truth value of an ndarray with multiple elements is ambiguous."
            raise ParameterError(what, f"shape {self.shape}", "compare, then reduce")
        return bool(self.item())

    def __float__(self) -> float:
        return float(self._only("float"))

    def __int__(self) -> int:
        return int(self._only("int"))

    def _only(self, what: str) -> Any:
        """The element of an array of size 1.

        Raises
        ------
        DTypeError
            If it has another size.
        """
        if self.size != 1:
            raise DTypeError("only size-1 arrays can be converted to Python scalars", f"shape {self.shape} to {what}", "index it first")
        return self.item()

    def __complex__(self) -> complex:
        return complex(self._only("complex"))

    def __hash__(self) -> int:
        return id(self) >> 4  # by identity, since `==` compares elements; objects lie 16 bytes apart

    def __repr__(self) -> str:
        text = repr_of(self.asnumpy())
        return text if self.context.is_host else f"{text[:-1]}, ctx={self.context})"

    def __str__(self) -> str:
        return str(self.asnumpy())

    def __format__(self, spec: str) -> str:
        if not self.shape:
            return format(self.item() if spec else str(self), spec)
        if spec:
            raise DTypeError("Cannot format mxnet.numpy.ndarray with format_spec", repr(spec), "format x.asnumpy() or its elements")
        return str(self)


_SHAPE = re.compile(r",\s*shape=\([\d, ]*\)")


def repr_of(array: np.ndarray) -> str:
    """A NumPy array as MXNet's shows itself: with its dtype unless that is float32 or bool."""
    text = repr(array)
    # newer NumPys add the shape of an abbreviated array
    text = _SHAPE.sub("", text) if array.size else text
    if array.dtype == np.float32:
        at = text.rfind("dtype=")
        return text if at < 0 else text[: text[:at].rstrip().rindex(",")] + ")"
    return text if "dtype=" in text or array.dtype == bool else f"{text[:-1]}, dtype={array.dtype})"


class _Derived(Derived, ndarray):
    """The base of classes that programs derive from `ndarray`."""

    __slots__ = ()
    _kind = ndarray


derivable(ndarray, _Derived)
ndarray._ordinary = ndarray
items.attach(ndarray, None, INDEXER.get, INDEXER.put, items.DIALECT)
