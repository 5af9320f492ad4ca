"""Sorting and selection: sort, argsort, topk; and the random permutation of _shuffle."""

import math
from typing import Literal

from ..errors import ParameterError
from ..opdef import DType, normalized_axis, op
from .primitive_gather import put_along_axis


def flattened(xp, data, axis, name):
    """The array and the axis to sort along; with None the array is flattened."""
    if axis is None:
        return xp.reshape(data, shape=(math.prod(data.shape),)), 0
    return data, normalized_axis(axis, len(data.shape), f"{name}: axis")


@op("sort", "_npi_sort", method=True, output_names=("output0", "output1"), workspaces=1)
def sort_axis(xp, data, *, axis: int | None = -1, is_ascend: bool = True):
    """The elements sorted along an axis (flattened if None)."""
    x, at = flattened(xp, data, axis, "sort")
    return xp.sort(x, axis=at, descending=not is_ascend)


@sort_axis.shown
def _(xp, data, **params):
    return argsort_axis.rule(xp, data, dtype="int32", **params)


@op("argsort", "_npi_argsort", method=True, differentiable=False)
def argsort_axis(xp, data, *, axis: int | None = -1, is_ascend: bool = True, dtype: DType = "float32"):
    """The indices that sort along an axis (flattened if None); the sort is stable."""
    x, at = flattened(xp, data, axis, "argsort")
    return xp.astype(xp.argsort(x, axis=at, descending=not is_ascend), dtype=dtype)


for _op in (sort_axis, argsort_axis):
    _op.sample(lambda draw: draw(draw.real((2, 3, 4), distinct=True), axis=1))
    _op.sample(lambda draw: draw(draw.real((3, 4), distinct=True), axis=None, is_ascend=False))


def topk_outputs(ret_typ, **_):
    """The number of results of `topk`."""
    return 2 if ret_typ == "both" else 1


@op("topk", "_npx_topk", outputs=topk_outputs, method=True, workspaces=("ret_typ", "indices", "value"))
def topk(
    xp,
    data,
    *,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: Literal["both", "indices", "mask", "value"] = "indices",
    is_ascend: bool = False,
    dtype: DType = "float32",
):
    """The ``k`` largest elements along an axis (flattened if None), all if k < 1; the smallest with ``is_ascend``.

    ``ret_typ`` selects their values, their indices (in ``dtype``), both, or a mask with ones at them in the shape of ``data``.
    """
    x, at = flattened(xp, data, axis, "topk")
    size = x.shape[at]
    if k > size:
        raise ParameterError("topk: k is larger than the size of the axis", f"k={k} of size {size}", "pass at most the size")
    first = xp.argsort(x, axis=at, descending=not is_ascend, first=k if 0 < k < size else None)
    if ret_typ == "mask":
        ones = xp.full(shape=first.shape, value=1, dtype=xp.dtype_of(data))
        return xp.reshape(put_along_axis(xp, ones, first, at, size), shape=data.shape)
    if ret_typ == "indices":
        return xp.astype(first, dtype=dtype)
    # gathered and not sorted once more: the gradient of a gather is a scatter to the same places
    value = xp.take_along_axis(x, first, axis=at)
    return value if ret_typ == "value" else (value, xp.astype(first, dtype=dtype))


@topk.shown
def _(xp, data, *, ret_typ, dtype, **params):
    return topk.rule(xp, data, ret_typ="indices", dtype="int32", **params) if ret_typ == "value" else ()


topk.dtypes(lambda dtypes, *, ret_typ, dtype, **_: {"both": [*dtypes, dtype], "indices": [dtype]}.get(ret_typ, dtypes))


@topk.sample
def _(draw):
    x = draw.real((3, 4), distinct=True)
    kinds = [draw(x, k=2, ret_typ=kind, gradient=kind in ("value", "both")) for kind in ("value", "indices", "mask", "both")]
    return [*kinds, draw(x, k=3, axis=None, ret_typ="value", is_ascend=True)]


@op("_shuffle", "_npi_shuffle", "shuffle", random=True, keeps_shape=True)
def shuffle(xp, data, rng):
    """The slices along the first axis in random order, that of one random word per slice."""
    count = data.shape[0]
    words = xp.random_bits(rng, shape=(count,))
    # The lowest bits of a word are replaced by the slice's number: the sorted words contain the order, and sorting takes a third of the
    # time of `argsort`. Of a million slices 44 random bits are left, so that two equal ones, whose slices keep their order, are rare.
    lowest = (1 << max(count - 1, 0).bit_length()) - 1
    keys = words - xp.bitwise_and(words, lowest) + xp.iota(size=count, dtype="uint64")
    return xp.take(data, xp.astype(xp.bitwise_and(xp.sort(keys, axis=0), lowest), dtype="int64"), axis=0)


shuffle.sample(lambda draw: draw(draw.real((5, 2)), gradient=False))
