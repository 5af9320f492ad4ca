"""Reductions, scans, sorting and searches along axes."""

from collections.abc import Callable

import numpy as np

from ....symbol.symbol import Symbol
from ..op_reader import OP_READERS, OpReader, Rule, reads, unsupported
from ..values import Graph, Tensor
from .functions import NP, F, as_dtype, sliced


def _axes(x: Tensor, axes: Tensor | None, noop: int) -> tuple[int, ...] | None:
    """The axes to reduce, None for none at all."""
    if axes is None or axes.constant.size == 0:
        return None if noop else tuple(range(x.ndim))
    return x.axes(axes.integers)


def _sum(x: Symbol, axes: tuple[int, ...], keepdims: bool) -> Symbol:
    return NP.sum(x, axis=axes, keepdims=keepdims)


def _log_sum_exp(x: Symbol, axes: tuple[int, ...], keepdims: bool) -> Symbol:
    # the largest element is subtracted first, so that no exponential overflows
    top = NP.max(x, axis=axes, keepdims=True)
    total = NP.log(NP.sum(NP.exp(x - top), axis=axes, keepdims=True)) + top
    return total if keepdims else NP.squeeze(total, axes)


def _product(x: Symbol, axes: tuple[int, ...], keepdims: bool) -> Symbol:
    # one axis at a time, the last one first, so that the others keep their numbers
    for axis in sorted(axes, reverse=True):
        x = NP.prod(x, axis=axis, keepdims=keepdims)
    return x


#: Reductions: the function over axes, and without axes the functions of the elements (before) and of the result (after).
_REDUCTIONS: dict[str, Callable[[Symbol, tuple[int, ...], bool], Symbol]] = {
    "ReduceSum": _sum,
    "ReduceMean": lambda x, axes, keepdims: NP.mean(x, axis=axes, keepdims=keepdims),
    "ReduceMax": lambda x, axes, keepdims: NP.max(x, axis=axes, keepdims=keepdims),
    "ReduceMin": lambda x, axes, keepdims: NP.min(x, axis=axes, keepdims=keepdims),
    "ReduceProd": _product,
    "ReduceL1": lambda x, axes, keepdims: _sum(NP.absolute(x), axes, keepdims),
    "ReduceL2": lambda x, axes, keepdims: NP.sqrt(_sum(x * x, axes, keepdims)),
    "ReduceSumSquare": lambda x, axes, keepdims: _sum(x * x, axes, keepdims),
    "ReduceLogSum": lambda x, axes, keepdims: NP.log(_sum(x, axes, keepdims)),
    "ReduceLogSumExp": _log_sum_exp,
}


#: Reductions that have no result for no elements in NumPy: whether ONNX has the lowest number there, or the highest.
_OF_NOTHING = {"ReduceMax": "min", "ReduceLogSumExp": "min", "ReduceMin": "max"}


def _of_nothing(graph: Graph, name: str, data: Tensor, over: tuple[int, ...], keepdims: int) -> np.ndarray:
    """A reduction over axes without elements."""
    kind = np.dtype(str(data.dtype))
    if kind.kind == "b":
        value: float = _OF_NOTHING[name] == "max"
    elif kind.kind == "f":
        value = np.inf if _OF_NOTHING[name] == "max" else -np.inf
    else:
        value = getattr(np.iinfo(kind), _OF_NOTHING[name])
    shape = [1 if k in over else n for k, n in enumerate(data.known_sizes) if keepdims or k not in over]
    return np.full(shape, value, kind)


@reads
def CumProd(graph, x, axis, *, exclusive=0, reverse=0):
    """Products of the elements so far along an axis, one by one."""
    at = x.axis(axis.integer)
    if x.size(at) > 1024:
        raise unsupported(graph, "a product of this many elements is not supported", x.size(at))
    data = NP.flip(x.np, at) if reverse else x.np
    parts: list[Symbol] = [sliced(data, at, k, k + 1) for k in range(x.size(at))]
    if exclusive:
        # Exclusive: each product leaves out the element in its own place.
        parts = [NP.ones_like(parts[0]), *parts[:-1]]
    for k in range(1, len(parts)):
        parts[k] = parts[k - 1] * parts[k]
    total = NP.concatenate(parts, axis=at) if len(parts) > 1 else parts[0]
    return NP.flip(total, at) if reverse else total


def _reduction(name: str) -> Rule:
    function = _REDUCTIONS[name]

    def rule(graph: Graph, data: Tensor, axes: Tensor | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> object:
        over = _axes(data, axes, noop_with_empty_axes)
        if over is None:
            over = ()
        if over == () and name in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"):
            return data
        if over == ():
            column = NP.expand_dims(data.np, 0)  # a reduction over no axes still maps each element
            return NP.squeeze(function(column, (0,), True), 0)
        if name in _OF_NOTHING and data.shape is not None and any(data.sizes[a] == 0 for a in over):
            return _of_nothing(graph, name, data, over, keepdims)
        if data.dtype == "bool" and name in ("ReduceMax", "ReduceMin"):
            return as_dtype(function(as_dtype(data.symbol, "int32"), over, bool(keepdims)), "bool")
        found = function(data.np, over, bool(keepdims))
        return found if data.is_float else as_dtype(found, str(data.dtype))

    return rule


OP_READERS.update({
    name: OpReader(_reduction(name), ("data", "axes"), frozenset({"keepdims", "noop_with_empty_axes"}), False) for name in _REDUCTIONS
})  # fmt: skip


def _place(name: str, x: Tensor, axis: int, keepdims: int, last: int) -> Symbol:
    at = x.axis(axis)
    # the last maximum is the first one from the other end
    data = NP.flip(x.np, at) if last else x.np
    found = as_dtype(getattr(NP, name)(data, axis=at, keepdims=bool(keepdims)), "int64")
    return (x.size(at) - 1) - found if last else found


@reads
def ArgMax(graph, data, *, axis=0, keepdims=1, select_last_index=0):
    """The place of the first (or last) maximum along an axis."""
    return _place("argmax", data, axis, keepdims, select_last_index)


@reads
def ArgMin(graph, data, *, axis=0, keepdims=1, select_last_index=0):
    """The place of the first (or last) minimum along an axis."""
    return _place("argmin", data, axis, keepdims, select_last_index)


@reads
def CumSum(graph, x, axis, *, exclusive=0, reverse=0):
    """Sums of the elements so far along an axis."""
    at = x.axis(axis.integer)
    data = NP.flip(x.np, at) if reverse else x.np
    total = NP.cumsum(data, axis=at)
    if exclusive:
        total = total - data
    return NP.flip(total, at) if reverse else total


@reads
def TopK(graph, x, k, *, axis=-1, largest=1, sorted=1):
    """The largest or smallest elements along an axis, and their places."""
    at, count = x.axis(axis), k.integer
    if count < 1:
        raise unsupported(graph, "k must be at least 1", count)
    if x.dtype not in (None, "float32", "float64", "float16"):
        # places of integers are found in float64, which orders all of them up to 2^53
        wide = as_dtype(x.symbol, "float64")
        place = as_dtype(F.topk(wide, axis=at, k=count, ret_typ="indices", is_ascend=not largest, dtype="int64"), "int64")
        value = F.topk(x.symbol, axis=at, k=count, ret_typ="value", is_ascend=not largest)
        return value, place
    found = F.topk(x.symbol, axis=at, k=count, ret_typ="both", is_ascend=not largest, dtype="int64")
    return found[0], found[1]
