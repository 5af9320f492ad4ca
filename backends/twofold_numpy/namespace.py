"""``xp`` over NumPy arrays: every primitive, most of them NumPy's own functions.

Sums use the same fixed tree in every mode of execution, see `tree_sum`.
"""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any

import numpy as np

from twofold.backend.forks import IMPORTING
from twofold.backend.kernel import ELEMENTWISE, REFERENCES, Array
from twofold.backend.namespace import Referenced, array_key, checked_places
from twofold.dtype import BFLOAT16, NAME_OF, NUMPY, scalar_dtype

from . import bfloat16_products, integer_products, sparse_products, window_reductions
from .column_sums import column_sums, positions, split
from .copies import packed
from .lapack import LIBRARY
from .products import is_small, multiply
from .scatter import add_at
from .sorting import comparable, first_places, stable_order
from .special import FUNCTIONS

#: Elements of a block, both of the summation tree and of fused kernels, so that a fused sum has the bits of a separate one.
BLOCK = 65_536
#: If the product of two operands' sizes is less, their matrix product is small, whatever their shapes. This cheap test comes first.
SMALL_SIZES = 1 << 24
_shape, _dtype = attrgetter("shape"), attrgetter("dtype")
#: The most products of which NumPy makes a sum by Einstein's convention in one loop.
SMALL_SUM = 1 << 12
#: The axes of a reduction.
Axes = int | tuple[int, ...] | None
#: The ufunc reductions behind ``np.sum`` and the like, without their Python front ends: (array, axis, dtype, out, keepdims).
_SUM: Any = np.add.reduce
_PRODUCT: Any = np.multiply.reduce
_MAX: Any = np.maximum.reduce
_MIN: Any = np.minimum.reduce


@lru_cache(256)  # to find the order of contractions takes ten times as long as small ones
def _contraction(subscripts: str, *shapes: tuple[int, ...]) -> Callable[..., np.ndarray]:
    """The function of arrays of these shapes for subscripts of einsum."""
    sizes: dict[str, int] = {}
    for term, shape in zip(subscripts.partition("->")[0].split(","), shapes, strict=True):
        for letter, n in zip(term, shape, strict=True):
            sizes[letter] = max(n, sizes.get(letter, 0))
    if math.prod(sizes.values()) <= SMALL_SUM:  # without an order of contractions, whose calls take longer
        # without NumPy's search for arrays of other libraries
        return partial(getattr(np.einsum, "_implementation", np.einsum), subscripts, order="C")
    with IMPORTING:  # at the first call, since it imports numpy.random too
        from opt_einsum import contract_expression

        from . import contractions

    library: Any = contractions.__name__
    return partial(contract_expression(subscripts, *shapes), backend=library)


def contiguous(a: Array) -> np.ndarray:
    """The operand, C-contiguous: NumPy's sums depend on the memory layout, and results must not."""
    return a if a.flags.c_contiguous else packed(a)


def tree_sum(a: np.ndarray, axis: Axes = None, keepdims: bool = False, out: np.ndarray | None = None) -> np.ndarray:
    """Sum over axes by a fixed tree: NumPy's pairwise summation inside blocks of `BLOCK` elements, then the blocks' sums in order.

    The reduced elements are cut into blocks only if the reduced axes are trailing (the rows of a row program). A sum per channel reduces
    the batch axis first, so that it is the same with channels first and channels last.
    """
    a = contiguous(a)
    dtype = a.dtype
    if dtype.itemsize == 2 and dtype.kind in "fV":  # 16-bit floats are a storage format: add in float32, round once
        wide = tree_sum(a.astype(np.float32), axis, keepdims).astype(dtype)
        return wide if out is None else _store(out, wide)
    sizes = split(a.shape, axis) if axis is not None else None
    columns = None if sizes is None or axis is None else column_sums(a, sizes, axis, keepdims, out)
    if columns is not None:
        return columns
    if a.size <= BLOCK:
        return _SUM(a, axis, None, out, keepdims)
    axes = _trailing_axes(a, axis)
    if axes is None and a.shape[0] > 1 and _reduces_to_channels(a, axis):
        return tree_sum(_SUM(a, 0, None, None, True), axis, keepdims, out)
    if axes is None:
        return _SUM(a, axis, None, out, keepdims)
    lead, row = a.shape[: a.ndim - axes], math.prod(a.shape[a.ndim - axes :])
    if row <= BLOCK:
        return _SUM(a, axis, None, out, keepdims)
    rows = a.reshape(-1, row)
    whole = row // BLOCK * BLOCK
    # one call for all whole blocks: each row of the last axis is summed pairwise by itself
    partial = np.add.reduce(rows[:, :whole].reshape(len(rows), -1, BLOCK), 2)
    if whole < row:
        partial = np.concatenate([partial, np.add.reduce(rows[:, whole:], 1, keepdims=True)], 1)
    total = np.add.reduce(partial, 1).reshape(lead + (1,) * axes if keepdims else lead)
    return total if out is None else _store(out, total)


def _store(out: np.ndarray, value: np.ndarray) -> np.ndarray:
    out[...] = value
    return out


def _trailing_axes(a: np.ndarray, axis: Axes) -> int | None:
    """The number of reduced axes if they are exactly the trailing ones, else None."""
    if axis is None:
        return a.ndim
    axes = sorted(positions(axis, a.ndim))
    return len(axes) if axes == list(range(a.ndim - len(axes), a.ndim)) else None


def _reduces_to_channels(a: np.ndarray, axis: Axes) -> bool:
    """Whether all axes but the second one are reduced."""
    return isinstance(axis, tuple) and a.ndim > 2 and sorted(positions(axis, a.ndim)) == [0, *range(2, a.ndim)]


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Large products in pieces, 16-bit floats in float32, others by ``matmul``: in one function, which imperative code calls."""
    if a.itemsize == 2 or b.itemsize == 2:
        found = bfloat16_products.matmul(a, b) if a.dtype == b.dtype == BFLOAT16 else None
        return _product_in_float32(a, b) if found is None else found.astype(BFLOAT16)
    if a.size * b.size > SMALL_SIZES and a.dtype == b.dtype and not is_small(a.shape, b.shape):
        return multiply(a, b)
    return np.matmul(a, b)


def _in_float32(function: Callable[..., Array]) -> Callable[..., Array]:
    """A matrix product that computes 16-bit floats in float32 and rounds once."""

    def run(*arrays: Array, **params: object) -> Array:
        if arrays[0].itemsize <= 2:
            common = np.result_type(*arrays)
            if common.itemsize == 2 and common.kind in "fV":
                return function(*[a.astype(np.float32) for a in arrays], **params).astype(common)
        return function(*arrays, **params)

    return run


@_in_float32
def _product_in_float32(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    large = a.itemsize != 2 and a.dtype == b.dtype and not is_small(a.shape, b.shape)
    return multiply(a, b) if large else np.matmul(a, b)


def _convolution(name: str) -> Callable[..., Array]:
    """A convolution primitive, which imports the algorithms at its first call: that keeps them out of ``import twofold``."""

    def run(*arrays: Array, **params: object) -> Array:
        with IMPORTING:
            from . import convolution

        return getattr(convolution, name)(*arrays, **params)

    return run


class NumpyNamespace(Referenced):
    """The primitives on NumPy arrays; the core adds the names derived from them."""

    def __getattr__(self, name: str) -> Any:
        """An element-wise primitive by its ufunc, any other by its reference; cached."""
        declared = ELEMENTWISE.get(name)
        if declared is None or declared.ufunc is None:
            return super().__getattr__(name)
        found = vars(self)[name] = self.by_ufunc(declared.ufunc)
        return found

    @staticmethod
    def by_ufunc(name: str) -> Callable[..., Array]:
        """The function of an element-wise primitive: NumPy's ufunc itself, so that a call costs no Python frame."""
        return getattr(np, name)

    @staticmethod
    def by_reference(name, *operands, **params):
        """The reference itself; results in row-major order."""
        found = REFERENCES[name].function(LIBRARY, *operands, **params)
        if isinstance(found, (tuple, list)):
            return [np.asarray(part, order="C") for part in found]
        return np.asarray(found, order="C")

    def dtype_of(self, x: Array) -> str:
        """The dtype's name; ``weakf`` and ``weaki`` for Python scalars."""
        return NAME_OF[x.dtype] if isinstance(x, (np.ndarray, np.generic)) else scalar_dtype(x)

    # shapes
    @staticmethod
    def reshape(x, *, shape):
        return x.reshape(shape)

    @staticmethod
    def permute_dims(x, *, axes):
        return np.transpose(x, axes)

    broadcast_to = staticmethod(np.broadcast_to)

    @staticmethod
    def slice(x, *, key):
        return x[tuple(slice(*k) for k in key) or ...]  # an ellipsis keeps 0-d arrays arrays

    @staticmethod
    def slice_update(x, value, *, key):
        out = np.array(x)
        out[tuple(slice(*k) for k in key)] = value
        return out

    @staticmethod
    def concat(*arrays, axis):
        return np.concatenate(arrays, axis)

    @staticmethod
    def pad(x, *, width, value=0.0):
        out = np.full([n + a + b for n, (a, b) in zip(x.shape, width, strict=True)], value, x.dtype)
        out[tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, width, strict=True))] = x
        return out

    @staticmethod
    def unfold(x, *, kernel, stride, dilate):
        n = len(kernel)
        lead, tail = x.shape[: x.ndim - n], x.shape[x.ndim - n :]
        steps = x.strides[x.ndim - n :]
        # the number of windows whose last tap is inside
        out = tuple((s - d * (k - 1) - 1) // t + 1 for s, k, t, d in zip(tail, kernel, stride, dilate, strict=True))
        strides = (
            *x.strides[: x.ndim - n],
            *(s * t for s, t in zip(steps, stride, strict=True)),
            *(s * d for s, d in zip(steps, dilate, strict=True)),
        )
        return np.lib.stride_tricks.as_strided(x, (*lead, *out, *kernel), strides, writeable=False)

    @staticmethod
    def fold(x, *, size, kernel, stride, dilate):
        n = len(kernel)
        out_size = x.shape[x.ndim - 2 * n : x.ndim - n]
        out = np.zeros((*x.shape[: x.ndim - 2 * n], *size), x.dtype)
        # windows overlap, so one place of the kernel is added at a time: there, no two windows write the same element
        for place in np.ndindex(*kernel):
            where = tuple(slice(p * d, p * d + (o - 1) * s + 1, s) for p, d, s, o in zip(place, dilate, stride, out_size, strict=True))
            out[(..., *where)] += x[(..., *place)]
        return out

    @staticmethod
    def contiguous(x):
        return np.array(x, order="C") if x.flags.c_contiguous else packed(x)

    @staticmethod
    def full(*, shape, value, dtype):
        if value == 0 and not np.signbit(value):  # the system hands out zeros when they are first touched
            return np.zeros(shape, NUMPY[dtype])
        return np.full(shape, value, NUMPY[dtype])

    @staticmethod
    def iota(*, size, dtype):
        return np.arange(size).astype(NUMPY[dtype])

    # reductions and scans
    sum = staticmethod(tree_sum)

    @staticmethod
    def prod(x, *, axis=None, keepdims=False):
        return _PRODUCT(contiguous(x), axis, None, None, keepdims)

    @staticmethod
    def max(x, *, axis=None, keepdims=False):
        return _MAX(x, axis, None, None, keepdims)

    @staticmethod
    def min(x, *, axis=None, keepdims=False):
        return _MIN(x, axis, None, None, keepdims)

    any, all = staticmethod(np.any), staticmethod(np.all)

    # methods if they take fewer calls than NumPy's functions, which are Python
    @staticmethod
    def argmax(x, *, axis=None, keepdims=False):
        return x.argmax(axis, keepdims=keepdims)

    @staticmethod
    def argmin(x, *, axis=None, keepdims=False):
        return x.argmin(axis, keepdims=keepdims)

    @staticmethod
    def cumulative_sum(x, *, axis):
        return x.cumsum(axis)

    @staticmethod
    def cumulative_prod(x, *, axis):
        return x.cumprod(axis)

    @staticmethod
    def argsort(x, *, axis, descending=False, first=None):
        if first is not None and (found := first_places(x, axis, first, descending)) is not None:
            return found
        # flipped twice: a reversed ascending sort alone would reverse the order of equal elements
        order = x.shape[axis] - 1 - np.flip(stable_order(np.flip(x, axis), axis), axis) if descending else stable_order(x, axis)
        return order if first is None else order[(*[slice(None)] * (axis % x.ndim), slice(first))]

    @staticmethod
    def sort(x, *, axis, descending=False):
        found = np.sort(comparable(x), axis).astype(x.dtype, copy=False)
        return np.flip(found, axis) if descending else found

    # products
    matmul = staticmethod(_product)

    @staticmethod
    @_in_float32
    def einsum(*arrays, subscripts):
        if len(set(map(_dtype, arrays))) > 1:  # products of some of the arrays alone would be of their dtype
            kind = np.result_type(*arrays)
            arrays = [a.astype(kind, copy=False) for a in arrays]
        out = _contraction(subscripts, *map(_shape, arrays))(*arrays)
        return np.array(out) if len(arrays) == 1 else out  # with one operand it may be a view

    convolve = staticmethod(_convolution("convolve"))
    convolve_packed = staticmethod(_convolution("convolve_packed"))
    convolve_data = staticmethod(_convolution("convolve_data"))
    convolve_weight = staticmethod(_convolution("convolve_weight"))

    @staticmethod
    def integer_matmul(rows, weight):
        return integer_products.matmul(NumpyNamespace(), rows, weight)

    @staticmethod
    def integer_convolve(data, weight, **params):
        return integer_products.convolve(NumpyNamespace(), data, weight, **params)

    # windows
    window_max = staticmethod(partial(window_reductions.compute, "window_max"))
    window_sum = staticmethod(partial(window_reductions.compute, "window_sum"))
    window_max_transposed = staticmethod(partial(window_reductions.compute, "window_max_transposed"))
    window_sum_transposed = staticmethod(partial(window_reductions.compute, "window_sum_transposed"))

    # gathers
    take, take_along_axis = staticmethod(np.take), staticmethod(np.take_along_axis)

    @staticmethod
    def index(x, *arrays, key):
        if len(arrays) == 1:
            return x[arrays[0]] if key[0] == 0 else x.take(arrays[0], key.index(0))
        return x[array_key(arrays, key)]

    @staticmethod
    def index_add(x, value, *arrays, key):
        out = np.array(x)
        add_at(out, array_key(arrays, key), value)
        return out

    @staticmethod
    def index_update(x, value, *arrays, key):
        out = np.array(x)
        out[array_key(arrays, key)] = value
        return out

    checked_index = staticmethod(checked_places)

    # products of csr matrices

    @staticmethod
    def csr_matmul(data, indices, indptr, dense):
        return sparse_products.csr_matmul(data, indices, indptr, dense)

    @staticmethod
    def csr_transposed_matmul(data, indices, indptr, dense, *, columns):
        return sparse_products.csr_transposed_matmul(data, indices, indptr, dense, columns)

    @staticmethod
    def random_bits(key, *, shape):
        try:
            generator = _PHILOX.pop()
        except IndexError:
            generator = np.random.Philox(0)
        # an empty buffer: the first word drawn is that of the counter itself
        state: Any = {"bit_generator": "Philox", "state": {"counter": key[:4], "key": key[4:]}, **_FRESH}
        generator.state = state
        words = generator.random_raw(math.prod(shape))
        _PHILOX.append(generator)
        return words.reshape(shape)

    # element-wise functions that are not ufuncs
    where = staticmethod(np.where)
    clip = staticmethod(np.clip)

    @staticmethod
    def astype(x, *, dtype):
        return np.asarray(x).astype(NUMPY[dtype])

    @staticmethod
    def stop_gradient(x):
        return x


for _name, _function in FUNCTIONS.items():
    setattr(NumpyNamespace, _name, staticmethod(_function))


#: A free list of generators, and the remainder of a fresh one's state: setting the state takes a quarter of the time of a new generator.
_PHILOX: "list[np.random.Philox]" = []
_FRESH = {"buffer": np.zeros(4, np.uint64), "buffer_pos": 4, "has_uint32": 0, "uinteger": 0}
