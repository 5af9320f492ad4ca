"""``xp`` over CuPy arrays: every primitive, by kernels of our own.

CuPy's functions are used only where results and dtypes are NumPy's in all cases. Results are contiguous unless they are views.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial, partialmethod
from typing import Any, ClassVar

import cupy
import numpy as np

from twofold.backend.convolution import in_either_order
from twofold.backend.kernel import ELEMENTWISE, Array, ArrayType, KernelStep, OperandType, Params, Ref, RowProgram
from twofold.backend.namespace import PortableNamespace, checked_places
from twofold.dtype import HALVES, NUMPY, WEAK, float_of, promote, ufunc_result
from twofold.errors import DTypeError

from . import convolution, products, sparse_products, views
from .checks import Checks, RepeatedCheck
from .col2im import fold
from .dry_run import DataDependent, in_dry_run
from .gathers import Selection, as_places, gather, scatter, selection
from .kernels import elementwise
from .library import runtime
from .memory import Memory
from .operands import computed_in, constant, dtype_of, is_array, is_constant
from .philox import random_bits
from .reductions import arg_extremum, around, reduce_middle, reduced_axes, result_dtype, runs_of
from .scans import scan
from .sorting import argsort_rows, write_iota
from .streams import Streams, current_device, entered


class CupyNamespace(PortableNamespace):
    """The primitives over CuPy arrays; the core adds the names derived from them."""

    #: Set by the adapter in a subclass of its own.
    memory: ClassVar[Memory]
    streams: ClassVar[Streams]
    checks: ClassVar[Checks]

    def __getattr__(self, name: str) -> Any:
        """The element-wise primitives by kernels, others by their references."""
        if name not in ELEMENTWISE:
            return super().__getattr__(name)
        # cached, so that `__getattr__` is called once for each name
        found = vars(self)[name] = partial(self.apply, name=name)
        return found

    def __init_subclass__(cls) -> None:
        """Wrap the members of an adapter's namespace so that each call runs in a stream, even when the caller has not entered one."""
        for name in [n for n in dir(CupyNamespace) if not n.startswith("_") and callable(getattr(CupyNamespace, n))]:
            if name not in _INNER:
                setattr(cls, name, _in_stream(vars(CupyNamespace).get(name) or getattr(CupyNamespace, name), cls.streams))

    def clip(self, x, low, high):
        return self.apply(x, low, high, name="clip")

    def dtype_of(self, x: Array) -> str:
        """The name of the dtype; ``weakf`` or ``weaki`` for a Python scalar."""
        return dtype_of(x)

    def empty(self, shape: tuple[int, ...], dtype: str) -> cupy.ndarray:
        """A new array on the current device."""
        return self.memory.empty(shape, NUMPY[dtype])

    # element-wise

    def apply(self, *operands: Array, name: str, **params: Any) -> cupy.ndarray:
        """An element-wise primitive by its kernel; Python scalars take the dtype of the other operands."""
        dtypes = [dtype_of(x) for x in operands]
        result, weak = _dtypes(name, tuple(dtypes), params)
        arrays = [constant(x, (), weak if d in WEAK else d) if not is_array(x) else x for x, d in zip(operands, dtypes, strict=True)]
        types = tuple(ArrayType(a.shape, dtype_of(a)) for a in arrays)
        shape, kernel = _kernel(name, tuple(params.items()), types, result)
        out = self.empty(shape, result)
        kernel(*arrays, out)
        return out

    def on_device(self, x: Array) -> cupy.ndarray:
        """An operand as an array on the device; a constant is materialized."""
        return self.contiguous(x) if is_constant(x) else x

    def packed(self, x: Array, dtype: str | None = None) -> cupy.ndarray:
        """An operand as a contiguous array, in a dtype if one is given; the same object if it already is one."""
        if dtype is not None and dtype_of(x) != dtype:
            return self.astype(x, dtype=dtype)
        return x if not is_constant(x) and x._c_contiguous else self.contiguous(x)

    def contiguous(self, x):
        return self.apply(x, name="stop_gradient")

    def write(self, target: cupy.ndarray, value: Array) -> None:
        """Write a value into an array or a view, broadcast and cast."""
        value = value if is_array(value) else np.asarray(value).astype(target.dtype)
        types = (ArrayType(value.shape, dtype_of(value)),)
        _, kernel = _kernel("astype", (("dtype", dtype_of(target)),), types, dtype_of(target), target.shape)
        kernel(value, target)

    def on_host(self, function: Callable[..., object], *operands: Array) -> Array:
        if in_dry_run():
            raise DataDependent
        arrays = [a.get() if isinstance(a, cupy.ndarray) else np.asarray(a) if is_constant(a) else a for a in operands]
        with np.errstate(all="ignore"):  # as for everything that GPUs compute
            found = function(*arrays)
        return [self._from_host(part) for part in found] if isinstance(found, (tuple, list)) else self._from_host(found)

    def _from_host(self, value: Any) -> cupy.ndarray:
        array = np.asarray(value, order="C")
        out = self.empty(array.shape, dtype_of(array))
        out.set(array, stream=cupy.cuda.get_current_stream())
        return out

    # shapes

    def reshape(self, x, *, shape):
        return views.reshaped(x, tuple(shape), self.contiguous)

    def permute_dims(self, x, *, axes):
        return x.transpose(axes)

    def broadcast_to(self, x, *, shape):
        return views.broadcast(x, shape)

    def slice(self, x, *, key):
        return x[tuple(slice(*k) for k in key)]

    def slice_update(self, x, value, *, key):
        out = self.contiguous(x)
        self.write(self.slice(out, key=key), value)
        return out

    def concat(self, *arrays, axis):
        shape = list(arrays[0].shape)
        at = axis % len(shape)
        shape[at] = sum(a.shape[at] for a in arrays)
        out = self.empty(tuple(shape), promote(*map(dtype_of, arrays)))
        begin = 0
        for a in arrays:
            end = begin + a.shape[at]
            self.write(out[(*[slice(None)] * at, slice(begin, end))], a)
            begin = end
        return out

    def pad(self, x, *, width, value=0.0):
        out = self.full(shape=tuple(n + a + b for n, (a, b) in zip(x.shape, width, strict=True)), value=value, dtype=dtype_of(x))
        self.write(out[tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, width, strict=True))], x)
        return out

    def unfold(self, x, *, kernel, stride, dilate):
        return views.windows(self.on_device(x), kernel, stride, dilate)

    def fold(self, x, *, size, kernel, stride, dilate):
        out = self.empty((*x.shape[: len(x.shape) - 2 * len(kernel)], *size), dtype_of(x))
        fold(self.packed(x), out, kernel, stride, dilate)
        return out

    def full(self, *, shape, value, dtype):
        return self.contiguous(constant(value, shape, dtype))

    def iota(self, *, size, dtype):
        places = self.empty((size,), "int64")
        write_iota(places)
        return self._cast(places, dtype)

    # reductions and scans

    def reduction(self, x: Array, *, name: str, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> cupy.ndarray:
        """A reduction over some axes, or all of them."""
        axes, shape = reduced_axes(x.shape, axis, keepdims)
        out = self.empty(shape, result_dtype(name, dtype_of(x)))
        x, runs = self.packed(x), runs_of(axes)
        while runs:
            # the last run first: its elements are next to one another; what is left of it stays as accumulated until the end
            run = runs.pop()
            sizes = tuple(1 if k in run else n for k, n in enumerate(x.shape))
            into = self.empty(sizes, computed_in(dtype_of(out))) if runs else out
            reduce_middle(self.memory, name, x, *around(x.shape, run), into)
            x = into
        return out

    def index_of_extremum(self, x: Array, *, name: str, axis: int | None = None, keepdims: bool = False) -> cupy.ndarray:
        """The index of the first extremum along an axis, or in the flattened array."""
        axes, shape = reduced_axes(x.shape, axis, keepdims)
        out = self.empty(shape, "int64")
        arg_extremum(self.memory, name, self.packed(x), *around(x.shape, axes), out)
        return out

    def cumulative(self, x: Array, *, name: str, axis: int) -> cupy.ndarray:
        """A running sum or product along an axis."""
        dtype = result_dtype(name, dtype_of(x))
        last, back = _move_axis_last(len(x.shape), axis)
        moved = self.packed(self.permute_dims(x, axes=last))
        out = self.empty(moved.shape, dtype)
        scan(self.memory, name, _rows(moved), _rows(out))
        return self.packed(self.permute_dims(out, axes=back))

    def argsort(self, x, *, axis, descending=False, first=None):
        last, back = _move_axis_last(len(x.shape), axis)
        moved = self.packed(self.permute_dims(x, axes=last))
        places = argsort_rows(self.memory, _rows(moved), descending=descending)
        return self.packed(self.permute_dims(places.reshape(moved.shape)[..., :first], axes=back))

    def sort(self, x, *, axis, descending=False):
        return self.take_along_axis(x, self.argsort(x, axis=axis, descending=descending), axis=axis)

    # products

    def matmul(self, lhs, rhs):
        dtype = promote(dtype_of(lhs), dtype_of(rhs))
        a, b = (self._cast(self.on_device(x), dtype) for x in (lhs, rhs))
        # vectors become matrices with one row or column, which the result then loses
        a = a.reshape(1, -1) if lhs.ndim == 1 else a
        b = b.reshape(-1, 1) if rhs.ndim == 1 else b
        shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
        out = self.empty(shape, dtype)
        stream = self.streams.current(runtime.getDevice())
        products.matmul(stream, a, b, out, self.contiguous)
        gone = [*([-2] if lhs.ndim == 1 else []), *([-1] if rhs.ndim == 1 else [])]
        return out.reshape(tuple(n for k, n in enumerate(shape, -len(shape)) if k not in gone)) if gone else out

    def _cast(self, x: cupy.ndarray, dtype: str) -> cupy.ndarray:
        return x if dtype_of(x) == dtype else self.astype(x, dtype=dtype)

    def einsum(self, *arrays, subscripts):
        dtype = promote(*map(dtype_of, arrays))
        inner = "float32" if dtype in HALVES else dtype
        found = products.einsum(self, subscripts, [self._cast(self.on_device(a), inner) for a in arrays])
        return self._cast(found, dtype)

    def csr_matmul(self, data, indices, indptr, dense):
        return sparse_products.csr_matmul(self, data, indices, indptr, dense)

    def csr_transposed_matmul(self, data, indices, indptr, dense, *, columns):
        return sparse_products.csr_transposed_matmul(self, data, indices, indptr, dense, columns)

    def csr_sampled_matmul(self, indices, indptr, a, b):
        return sparse_products.csr_sampled_matmul(self, indices, indptr, a, b)

    def stored_rows(self, values, places, numbers):
        return sparse_products.stored_rows(self, values, places)

    def stored_rows_sum(self, rows, places, numbers, *, count):
        return sparse_products.stored_rows_sum(self, rows, places, count)

    # convolution

    @in_either_order()
    def convolve(self, data, weight, *, stride, dilate, pad, groups):
        return convolution.convolve(self, data, weight, stride, dilate, pad, groups)

    @in_either_order()
    def convolve_data(self, result, weight, *, size, stride, dilate, pad, groups):
        return convolution.convolve_data(self, result, weight, size, stride, dilate, pad, groups)

    @in_either_order(images=(0, 1), gives_image=False)
    def convolve_weight(self, data, result, *, kernel, stride, dilate, pad, groups):
        return convolution.convolve_weight(self, data, result, kernel, stride, dilate, pad, groups)

    # gathers

    def take(self, x, index, *, axis):
        at = axis % len(x.shape)
        return self.index(x, index, key=tuple(0 if k == at else None for k in range(len(x.shape))))

    def take_along_axis(self, x, index, *, axis):
        at, x, index = axis % len(x.shape), self.on_device(x), self._as_index(index)
        own = views.strides_of(x)
        other = np.broadcast_shapes(*[tuple(1 if k == at else n for k, n in enumerate(a.shape)) for a in (x, index)])
        shape = tuple(index.shape[at] if k == at else n for k, n in enumerate(other))
        # broadcast axes do not step; neither does the array along the axis that is taken, where the index gives the place
        over = tuple(0 if n == 1 else s for n, s in zip(index.shape, views.strides_of(index), strict=True))
        strides = tuple(0 if k == at or n == 1 else s for k, (n, s) in enumerate(zip(x.shape, own, strict=True)))
        out = self.empty(shape, dtype_of(x))
        gather(x, [index], Selection(shape, strides, ((over, own[at], x.shape[at]),), 0, 0), out)
        return out

    def _as_index(self, index: Array) -> cupy.ndarray:
        return as_places(self.on_device(index), lambda a, dtype: self.astype(a, dtype=dtype))

    def index(self, x, *arrays, key):
        x, (places, key) = self.on_device(x), self._by_axis(arrays, key)
        chosen = selection(x.shape, views.strides_of(x), places, key)
        out = self.empty(chosen.shape, dtype_of(x))
        gather(x, places, chosen, out)
        return out

    def index_add(self, x, value, *arrays, key):
        return self._scattered(x, value, arrays, key, adds=True)

    def index_update(self, x, value, *arrays, key):
        return self._scattered(x, value, arrays, key, adds=False)

    def _scattered(self, x: Array, value: Any, arrays: Sequence[Array], key: Any, *, adds: bool) -> cupy.ndarray:
        out = self.contiguous(x)
        value = value if is_array(value) else constant(value, (), dtype_of(out))
        places, key = self._by_axis(arrays, key)
        scatter(self.memory, out, self.on_device(value), places, key, adds=adds)
        return out

    def _by_axis(self, arrays: Sequence[Array], key: Any) -> tuple[list[cupy.ndarray], tuple[int | None, ...]]:
        """Index arrays in the order of the axes that they index, and the key renumbered to match."""
        places = [self._as_index(arrays[k]) for k in key if k is not None]
        numbers = iter(range(len(places)))
        return places, tuple(None if k is None else next(numbers) for k in key)

    def checked_index(self, index, *, size, negative):
        index = self.packed(index)
        if size == 0:  # there is no valid index to continue with: check on the host, and raise at once
            return self.on_host(lambda places: checked_places(places, size, negative), index)
        out = self.empty(index.shape, dtype_of(index))
        note = self.checks.launch_check(index, out, size, negative)
        stream = entered()
        if stream is None or stream.checks is None:
            self.checks.watch(note, self.streams.current(runtime.getDevice()), out)
        else:  # during a capture: the check is repeated after each launch of the graph
            stream.checks.append(RepeatedCheck(self.checks, note, self.streams.of(stream.device)))
        return out

    def random_bits(self, key, *, shape):
        out = self.empty(shape, "uint64")
        random_bits(self.packed(key), out)
        return out


#: Members that issue nothing, and those that only others call, within a stream.
_INNER = ("dtype_of", "is_by_reference", "empty", "on_device", "packed")


def _in_stream(member: Any, streams: Streams) -> Any:
    """A member that enters the compute stream of its first array's device if the caller has not entered a stream."""

    def run(self: Any, *args: Any, **params: Any) -> Any:
        function = member.__get__(self)
        if entered() is not None:
            return function(*args, **params)
        with streams.of(device_of_first(args)):
            return function(*args, **params)

    return run


def device_of_first(args: Sequence[Array]) -> int:
    """The device of the first array among operands, lists included; the current device without arrays."""
    for a in args:
        for x in a if isinstance(a, (list, tuple)) else (a,):
            if isinstance(x, cupy.ndarray):
                return x.device.id
    return current_device()


def _rows(x: cupy.ndarray) -> cupy.ndarray:
    """A contiguous array as (rows, n), with n its last axis."""
    n = x.shape[-1] if x.ndim else 1
    return x.reshape(x.size // n if n else 0, n)


def _move_axis_last(ndim: int, axis: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The permutation that moves an axis to the end, and its inverse."""
    if ndim == 0:
        return (), ()
    order = (*[k for k in range(ndim) if k != axis % ndim], axis % ndim)
    return order, tuple(int(k) for k in np.argsort(order))


@lru_cache(4096)
def _dtypes_of(name: str, dtypes: tuple[str, ...], dtype: str | None) -> tuple[str, str]:
    """The result dtype of an element-wise primitive, and the dtype that Python scalars among its operands take."""
    known = ELEMENTWISE[name]
    if name == "clip":
        return dtypes[0], dtypes[0]
    common = promote(*(dtypes[1:] if known.result == "tail" else dtypes))
    if known.result == "ufunc" and known.ufunc is not None:
        return ufunc_result(known.ufunc, *dtypes), common
    if known.result == "dtype":
        assert dtype is not None
        return dtype, common
    if known.result == "float":
        return float_of(dtypes[0]), common
    return {"bool": "bool", "tail": common, "first": common}[known.result], common


def _dtypes(name: str, dtypes: tuple[str, ...], params: Params) -> tuple[str, str]:
    if not {*dtypes} <= _COMPUTED:
        raise DTypeError(f"{name}: not supported on GPUs for these dtypes", ", ".join(dtypes), "cast the operands, or use mx.cpu()")
    return _dtypes_of(name, dtypes, params.get("dtype"))


_COMPUTED = {*NUMPY, *WEAK} - {"complex64", "complex128"}


@lru_cache(4096)
def _kernel(
    name: str, params: tuple[tuple[str, Any], ...], types: tuple[ArrayType, ...], result: str, into: tuple[int, ...] | None = None
) -> tuple[tuple[int, ...], Callable[..., None]]:
    """The result shape of an element-wise primitive, and its kernel."""
    shape = np.broadcast_shapes(*[t.shape for t in types]) if into is None else into
    return shape, elementwise(single_step_program(name, params, types, ArrayType(shape, result)))


def typed_operands(name: str, inputs: Sequence[OperandType], output: ArrayType) -> list[ArrayType]:
    """The operand types of an element-wise primitive in a program, Python scalars with the dtype that they take."""
    dtypes = [t.dtype for t in inputs]
    if not WEAK.keys() & set(dtypes):
        return [ArrayType(t.shape, t.dtype) for t in inputs]
    if name == "clip":
        weak = dtypes[0] if dtypes[0] not in WEAK else output.dtype
    else:
        weak = output.dtype if ELEMENTWISE[name].result == "tail" else promote(*dtypes)
    return [ArrayType(t.shape, weak if t.dtype in WEAK else t.dtype) for t in inputs]


def single_step_program(name: str, params: tuple[tuple[str, Any], ...], types: Sequence[ArrayType], output: ArrayType) -> RowProgram:
    """A program with one element-wise primitive as its only step."""
    known = ELEMENTWISE[name]
    refs = tuple(Ref("in", k) for k in range(len(types)))
    step = KernelStep(name, known.ufunc, known.c, refs, output.dtype, output.dtype, params)
    return RowProgram(name, output.shape, tuple(types), (step,), (0,))


for _name in ("sum", "prod", "max", "min", "any", "all"):
    setattr(CupyNamespace, _name, partialmethod(CupyNamespace.reduction, name=_name))
for _name in ("argmax", "argmin"):
    setattr(CupyNamespace, _name, partialmethod(CupyNamespace.index_of_extremum, name=_name))
for _name in ("sum", "prod"):
    setattr(CupyNamespace, f"cumulative_{_name}", partialmethod(CupyNamespace.cumulative, name=_name))
