"""The functions of the dialect on arrays: how operators are applied, and the functions that need the values of arrays."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..calls.general import Calls
from ..calls.host_calls import by_numpy, is_recorded, map_nested, refuse_cut, stacked
from ..device import CPU, current_device, interned
from ..dtype import NAME_OF
from ..errors import ParameterError, WrongArgument
from ..imperative.array import Array, adopted, from_host
from ..imperative.cell import PLAIN
from ..imperative.invoke import host_of
from ..ndarray.array import NDArray
from ..ndarray.types import DeviceLike, DTypeLike, Shape
from ..numpy import shapes
from ..numpy.array import ndarray as numpy_array
from ..opdef import Op
from ..opdef.frontend import function_of, named
from .array import ndarray
from .elementwise import Elementwise
from .front import FRONTS, Unsupported
from .linear import Products
from .order_statistics import OrderStatistics
from .rearranging import Shapes, number_or_places
from .short_creation import ShortCreation, short_array


class _Calls(Calls):
    """The entry points of operators for this dialect: MXNet's convention for scalars and dtypes, NumPy's for shapes."""

    def _by_legacy(self, op: Op) -> bool:
        return op.elementwise


CALLS = _Calls(ndarray)


@cache
def _function(op: Op) -> Callable[..., Any]:
    """The generated function of an operator. It caches given parameters, since parsing takes longer than a small operation."""
    return function_of(op, op.name, CALLS.call, __name__, fast=CALLS.fast)


class ArrayFunctions(Elementwise[ndarray], OrderStatistics[ndarray], Shapes[ndarray], ShortCreation, Products[ndarray]):
    """The functions of ``mx.np``."""

    def __reduce__(self) -> str:
        return "FUNCTIONS"  # a method in a pickle, such as ``mx.np.stack``, names its object

    def apply(self, op: Op, arrays: Sequence[Any], params: Mapping[str, Any] | None = None, out: Any = None, name: str = "") -> Any:
        """The result of an operator, or the list of its results."""
        for a in arrays:
            if a.__class__ in FRONTS:  # a block that calls functions of ``mx.np`` is traced
                return FRONTS[a.__class__].apply(op, arrays, params, out, name)
        if not params or "ctx" not in params:
            return _function(op)(*arrays, out=out, **(params or {}))
        given = {k: v for k, v in params.items() if k in op.params or k == "ctx"}
        if op.arrays and any(a is not None for a in arrays):
            given.pop("ctx")  # the result is where the arrays are
        return CALLS.call(op, arrays, given, out)

    def is_array(self, value: object) -> bool:
        """Whether a value is an array of the dialect."""
        return isinstance(value, ndarray)

    def operand(self, value: object) -> ndarray:
        """A value as an array; lists and NumPy's arrays are converted, as NumPy does."""
        if isinstance(value, ndarray) or value.__class__ in FRONTS:
            return value
        if isinstance(value, NDArray):
            what = "a numpy operator which can only accept MXNet numpy ndarrays, while received a legacy ndarray"
            raise Unsupported(what, repr(value)[:60], "convert it with as_np_ndarray()")
        if value is None or isinstance(value, str):
            raise Unsupported(f"type {type(value)} not supported", repr(value)[:60], "pass an array or a number")
        return self.array(value)

    def known_elements(self, value: object) -> np.ndarray | None:
        """The elements of an operand if they are at hand: computed, and in the memory of the host."""
        if not isinstance(value, ndarray):
            return np.asarray(value)
        content = value._content
        return content if content.__class__ is PLAIN else None

    def context_name(self, ctx: DeviceLike) -> DeviceLike:
        """A device as a parameter of creating operators."""
        return ctx

    # arrays from values

    def array(self, object: Any, dtype: Any = None, ctx: DeviceLike = None, device: DeviceLike = None) -> ndarray:
        """An array from values: float32 for numbers and lists, the dtype of an array or of NumPy's array.

        Parameters
        ----------
        object
            An array, a number, or nested sequences.
        dtype
            The dtype.
        ctx, device
            The device; the current one if None.

        Raises
        ------
        ParameterError
            For an array of ``mx.nd``.
        """
        kind = object.__class__
        if (kind is list or kind is np.ndarray) and ctx is None and device is None and (found := short_array(object, dtype)) is not None:
            return found
        given = device if ctx is None else ctx
        where = current_device() if given is None else interned(given)
        # the dialect's class derives from `NDArray` too: the flag tells the two apart
        if isinstance(object, NDArray) and object._legacy:
            what = "If you're trying to create a mxnet.numpy.ndarray from mx.nd.NDArray, please use the zero-copy as_np_ndarray function."
            raise ParameterError(what, repr(object)[:60], "call as_np_ndarray()")
        if isinstance(object, numpy_array):
            found = object.astype(object.dtype if dtype is None else dtype)
            return converted(found).as_in_ctx(object.context if ctx is None and device is None else where)
        if isinstance(object, (list, tuple)) and is_recorded(object):
            found = stacked(object, ndarray, lambda item: self.operand(item).astype(dtype or "float32", copy=False))
            return found.as_in_ctx(where)
        kind = dtype if dtype is not None else None if isinstance(object, (np.ndarray, np.generic)) else np.float32
        items = map_nested(object, lambda v: host_of(v) if isinstance(v, Array) else v) if isinstance(object, (list, tuple)) else object
        try:
            host = np.array(items, dtype=kind)
        except (TypeError, ValueError) as error:
            raise WrongArgument(f"array: {error}", repr(object)[:60], "pass numbers") from None
        # `ascontiguousarray` gives a 0-d array an axis; remove it
        return from_host(ndarray, np.ascontiguousarray(host).reshape(host.shape), where)

    def empty(self, shape: Shape, dtype: DTypeLike = None, order: str = "C", ctx: DeviceLike = None, device: DeviceLike = None) -> ndarray:
        """An array of a shape, filled with zeros."""
        return self.zeros(shape, dtype, order, ctx, device)

    def _cast(self, x: ndarray, dtype: DTypeLike) -> ndarray:
        return x.astype(dtype, copy=False)

    def _size(self, x: ndarray, axis: int) -> int | None:
        return x.shape[axis]

    def _ndim(self, x: ndarray) -> int:
        return x.ndim

    def _filled_like(self, obj: ndarray, arr: ndarray, number: float | None) -> ndarray:
        return self.full(obj.shape, number, arr.dtype)

    def _slice_of(self, x: ndarray, axis: int, number: object) -> ndarray:
        shape = list(x.shape)
        shape[axis] = 1
        return self.full(tuple(shape), number, x.dtype)

    # what depends on values

    def nonzero(self, a: object) -> tuple[ndarray, ...]:
        """The places of the elements that are not 0, an array (int64) for each axis."""
        x = self.operand(a)
        return tuple(adopted(ndarray, np.ascontiguousarray(k), x.context) for k in np.nonzero(host_of(x)))

    def split(self, ary: object, indices_or_sections: Any, axis: int = 0) -> list[ndarray]:
        """The parts of an array along an axis: of equal size, or from indices on.

        Raises
        ------
        ParameterError
            If the sections are not equal.
        """
        x, indices_or_sections = self.operand(ary), number_or_places(indices_or_sections)
        if isinstance(indices_or_sections, int) and x.shape[axis] % indices_or_sections:  # as in MXNet, 0 divides nothing
            size = f"{x.shape[axis]} into {indices_or_sections}"
            raise ParameterError("array split does not result in an equal division", size, "pass a divisor of the size")
        if not isinstance(indices_or_sections, int) and len(indices_or_sections) and list(indices_or_sections)[-1] > x.shape[axis]:
            indices_or_sections = [min(k, x.shape[axis]) for k in indices_or_sections]
        return super().split(x, indices_or_sections, axis)

    def _delete_places(self, arr: object, obj: object, axis: int | None) -> ndarray:
        x = self.operand(arr)
        x, at = (self.ravel(x), 0) if axis is None else (x, axis)
        gone = np.asarray(host_of(obj) if isinstance(obj, Array) else obj)
        # places may be floats, the dialect's default dtype
        gone = gone if gone.dtype == bool else gone.astype(np.int64)
        kept = np.delete(np.arange(x.shape[at]), gone)
        return self.take(x, from_host(ndarray, kept, x.context), at)

    def unique(self, *args: Any, **options: Any) -> ndarray | tuple[ndarray, ...]:
        """The sorted distinct elements; a tuple if other results were requested too."""
        found = super().unique(*args, **options)
        return tuple(found) if isinstance(found, list) else found

    def histogram(
        self, a: object, bins: Any = 10, range: Any = None, normed: object = None, weights: object = None, density: object = None
    ) -> list[ndarray]:
        """Counts (int64) of values in bins, and the bins' edges.

        Raises
        ------
        ParameterError
            For normed, weighted or density histograms, as in MXNet.
        """
        if normed or weights is not None or density:
            raise ParameterError("histogram: only counts are supported", f"normed={normed}, density={density}", "divide the counts")
        x = self.operand(a)
        counts, edges = np.histogram(host_of(x), host_of(bins) if isinstance(bins, Array) else bins, range)
        return [from_host(ndarray, counts, x.context), from_host(ndarray, edges.astype(np.float32), x.context)]

    def unravel_index(self, indices: object, shape: Shape, order: str = "C") -> tuple[ndarray | np.intp, ...]:
        """The coordinates of places in a flattened array, an array for each axis, in the dtype of the places if they are integers."""
        if self.number(indices) is not None:
            return np.unravel_index(int(indices), shape, order)  # type: ignore[call-overload]  # any text; NumPy raises
        places = host_of(self.operand(indices))
        kind = places.dtype if places.dtype.kind in "iu" else np.dtype(np.int64)
        found = np.unravel_index(places.astype(np.int64), shape, order)  # type: ignore[call-overload]
        return tuple(from_host(ndarray, np.asarray(k, kind, order="C")) for k in found)

    def _rows(self, found: Sequence[ndarray]) -> tuple[ndarray, ...]:
        return tuple(found)

    def meshgrid(self, *xi: object, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[ndarray]:
        """Coordinate matrices from vectors; with ``sparse`` arrays that broadcast to them. They are new arrays even without ``copy``."""
        if indexing not in ("xy", "ij"):
            raise ParameterError("meshgrid: unknown indexing", repr(indexing), "pass 'xy' or 'ij'")
        vectors = self.operands(xi)
        shape = tuple(v.size for v in vectors)
        # with "xy" the first vector runs along the second axis, as the x coordinates of a picture do
        order = (1, 0, *range(2, len(shape))) if indexing == "xy" and len(shape) > 1 else tuple(range(len(shape)))
        full = tuple(shape[k] for k in order)
        found = [v.reshape([-1 if order[j] == k else 1 for j in range(len(shape))]) for k, v in enumerate(vectors)]
        return found if sparse else [self.broadcast_to(v, full) for v in found]

    def broadcast_arrays(self, *args: object) -> list[ndarray]:
        """Arrays broadcast to their common shape."""
        arrays = self.operands(args)
        shape = np.broadcast_shapes(*[a.shape for a in arrays])
        return [self.broadcast_to(a, shape) for a in arrays]

    # questions

    def shape(self, a: object) -> tuple[int, ...]:
        """The shape of an array."""
        return self.operand(a).shape

    def may_share_memory(self, a: Array, b: Array, max_work: int | None = None) -> bool:
        """Whether two arrays have an element's memory in common; ``max_work`` has no effect, since the answer is exact."""
        return shapes.shares_memory(a, b)

    shares_memory = may_share_memory

    # for random

    def _vectors_shape(self, mean: ndarray, cov: ndarray, size: Shape | None) -> Shape:
        shape = () if size is None else (size,) if isinstance(size, int) else tuple(size)
        return (*shape, *np.broadcast_shapes(mean.shape[:-1], cov.shape[:-2]), mean.shape[-1])

    def _shuffled(self, x: ndarray, op: Op) -> None:
        x[...] = self.apply(op, (x,))


def converted(array: numpy_array) -> ndarray:
    """An array of ``twofold.np`` as one of the dialect, with the same content and record."""
    if isinstance(array, ndarray):
        return array
    found = object.__new__(ndarray)
    found._held = array._content
    return found


def host_result(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The result of a NumPy function on the host, with arrays of the dialect instead of NumPy's; numbers stay numbers.

    Raises
    ------
    AutogradError
        If floating-point results are computed from recorded arrays.
    """
    device = next((a.context for a in args if isinstance(a, Array)), CPU)

    def array_of(item: Any) -> Any:
        if item.__class__ is not np.ndarray or item.dtype not in NAME_OF:
            return item
        return adopted(ndarray, np.array(item, order="C"), device)

    found = by_numpy(function, args, options)
    # newer NumPys return tuples with names
    found = map_nested(tuple(found) if isinstance(found, tuple) else found, array_of)
    refuse_cut(getattr(function, "__name__", "a function of NumPy"), args, found)
    return found


def on_host(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The NumPy function of this name, as a function of the dialect: see `host_result`."""

    @named(name, f"NumPy's ``{name}``, computed on the host, without a gradient.\n\n{function.__doc__ or ''}")
    def call(*args: Any, **options: Any) -> Any:
        return host_result(function, args, options)

    return call


FUNCTIONS = ArrayFunctions()
