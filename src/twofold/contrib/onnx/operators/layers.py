"""Layers of networks: convolutions, pooling, normalization, softmax, products, dropout, resizing."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import FormatError
from ....symbol.symbol import Symbol
from ..folding import LARGEST
from ..op_reader import reads, reads_rows, unsupported
from ..values import Graph, Tensor
from .functions import NP, F, Symbols

Ints = list[int]
#: The most parts of a graph that windows of one node stand for: real ones have some dozens.
_MOST_PARTS = 1 << 12

# windows


def _pads(graph: Graph, x: Tensor, kernel: Ints, strides: Ints, dilations: Ints, pads: Ints | None, auto_pad: str) -> Ints:
    """Padding before each axis, then after each."""
    if auto_pad in ("", "NOTSET"):
        return list(pads) if pads else [0] * (2 * len(kernel))
    if auto_pad == "VALID":
        return [0] * (2 * len(kernel))
    front, back = [], []
    for k, (size, stride, dilation) in enumerate(zip(kernel, strides, dilations, strict=True)):
        n = x.size(k + 2)
        total = max(0, (-(-n // stride) - 1) * stride + dilation * (size - 1) + 1 - n)
        # UPPER puts the odd element after the axis, LOWER before it.
        half = total // 2 if auto_pad == "SAME_UPPER" else total - total // 2
        front, back = [*front, half], [*back, total - half]
    return front + back


def _padded(x: Symbol, front: Ints, back: Ints, value: float = 0.0) -> Symbol:
    width = [0, 0, 0, 0, *[n for pair in zip(front, back, strict=True) for n in pair]]
    pairs = tuple(zip(width[::2], width[1::2], strict=True))
    return NP.pad(x.as_np_ndarray(), pairs, "constant", constant_values=value) if any(width) else x


def _halves(pads: Ints) -> tuple[Ints, Ints]:
    return pads[: len(pads) // 2], pads[len(pads) // 2 :]


@reads
def Conv(graph, x, w, b=None, *, kernel_shape=None, strides=None, pads=None, dilations=None, group=1, auto_pad="NOTSET"):
    """A convolution."""
    kernel = list(kernel_shape or w.known_sizes[2:])
    strides, dilations = strides or [1] * len(kernel), dilations or [1] * len(kernel)
    front, back = _halves(_pads(graph, x, kernel, strides, dilations, pads, auto_pad))
    data = x.symbol
    # MXNet pads both sides equally, so other padding becomes a separate node
    if front != back:
        data, front = _padded(data, front, back), [0] * len(front)
    options = {"kernel": tuple(kernel), "stride": tuple(strides), "dilate": tuple(dilations), "pad": tuple(front), "num_group": group}
    bias = () if b is None else (b.symbol,)
    return F.Convolution(data, w.symbol, *bias, num_filter=w.size(0), no_bias=b is None, name=graph.label, **options)


@reads
def ConvTranspose(
    graph, x, w, b=None, *, kernel_shape=None, strides=None, pads=None, dilations=None, group=1, auto_pad="NOTSET", output_padding=None,
    output_shape=None,
):  # fmt: skip
    """The transpose of a convolution."""
    kernel = list(kernel_shape or w.known_sizes[2:])
    strides, dilations = strides or [1] * len(kernel), dilations or [1] * len(kernel)
    extra = output_padding or [0] * len(kernel)
    full = [
        s * (x.size(k + 2) - 1) + d * (n - 1) + 1 + e for k, (n, s, d, e) in enumerate(zip(kernel, strides, dilations, extra, strict=True))
    ]
    if output_shape is None and auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        output_shape = [x.size(k + 2) * s for k, s in enumerate(strides)]
    if output_shape:
        output_shape = output_shape[-len(kernel) :]
        beyond = [f - o for f, o in zip(full, output_shape, strict=True)]
        # Elements of the transpose outside the wanted shape are cut off, on the sides where a convolution would pad.
        front = [n - n // 2 if auto_pad != "SAME_UPPER" else n // 2 for n in beyond]
        back = [n - a for n, a in zip(beyond, front, strict=True)]
    else:
        front, back = _halves(pads or [0] * (2 * len(kernel)))
    options = {"kernel": tuple(kernel), "stride": tuple(strides), "dilate": tuple(dilations), "num_group": group}
    bias = () if b is None else (b.symbol,)
    arrays = (x.symbol, w.symbol, *bias)
    options |= {"num_filter": w.size(1) * group, "no_bias": b is None, "name": graph.label}
    if front == back and all(0 <= e < s for e, s in zip(extra, strides, strict=True)):
        return F.Deconvolution(*arrays, pad=tuple(front), adj=tuple(extra), **options)
    if min(front + back) < 0 or any(extra):
        raise unsupported(graph, "this padding of the result is not supported", f"{front}, {back}, output_padding {extra}")
    out = F.Deconvolution(*arrays, **options)
    cut = [(a, f - z) for a, z, f in zip(front, back, full, strict=True)]
    return F.slice(out, begin=(None, None, *[a for a, _ in cut]), end=(None, None, *[z for _, z in cut]))


# pooling


def _window(
    graph: Graph, x: Tensor, kernel: Ints, strides: Ints | None, dilations: Ints | None, pads: Ints | None, auto_pad: str, ceil_mode: int
) -> tuple[Ints, ...]:
    """(strides, padding before, after): with ``ceil_mode`` the padding after the axis reaches as far as the last window."""
    strides, dilations = strides or [1] * len(kernel), dilations or [1] * len(kernel)
    if min([*kernel, *strides, *dilations], default=1) < 1:
        raise FormatError(f"{graph.place}: windows, their strides and dilations must be positive", f"{kernel}, {strides}, {dilations}")
    front, back = _halves(_pads(graph, x, kernel, strides, dilations, pads, auto_pad))
    # with rounding up, the last window may extend beyond the padding: extend the axis to its end
    extra = [0] * len(kernel)
    if ceil_mode:
        reach = [d * (n - 1) + 1 for n, d in zip(kernel, dilations, strict=True)]
        for k, (n, s) in enumerate(zip(reach, strides, strict=True)):
            room = x.size(k + 2) + front[k] + back[k] - n
            count = -(-room // s) + 1
            if (count - 1) * s >= x.size(k + 2) + front[k]:  # a window that begins in the padding after the axis is left out
                count -= 1
            extra[k] = (count - 1) * s + n - x.size(k + 2) - front[k] - back[k]
    return strides, front, back, [max(0, e) for e in extra]


def _check_windows(graph: Graph, sizes: Ints, kernel: Ints, dilations: Ints, parts: int) -> None:
    """Raise FormatError if windows do not fit a padded operand of the given spatial sizes, or stand for too much of a graph."""
    reach = [d * (n - 1) + 1 for n, d in zip(kernel, dilations, strict=True)]
    if any(n > size for n, size in zip(reach, sizes, strict=True)):
        raise FormatError(f"{graph.place}: a window is larger than its padded operand", f"{reach} of {list(sizes)}")
    if parts > _MOST_PARTS or math.prod(sizes) > LARGEST:
        raise FormatError(f"{graph.place}: the windows are too large", f"kernel {list(kernel)} on {list(sizes)}")


def _by_slices(
    graph: Graph, x: Symbol, sizes: Ints, kernel: Ints, strides: Ints, dilations: Ints, reduce: Callable[[Symbol, Symbol], Symbol]
) -> Symbol:
    """Windows of a padded operand of the given spatial sizes, reduced axis by axis: element 0 of all windows, element 1, and so on."""
    _check_windows(graph, sizes, kernel, dilations, sum(kernel))
    for k, (size, n, s, d) in enumerate(zip(sizes, kernel, strides, dilations, strict=True)):
        count = (size - d * (n - 1) - 1) // s + 1
        parts = []
        for at in range(0, n * d, d):
            begin, end, step = [None] * (k + 2) + [at], [None] * (k + 2) + [at + (count - 1) * s + 1], [None] * (k + 2) + [s]
            parts.append(F.slice(x, begin=tuple(begin), end=tuple(end), step=tuple(step)).as_np_ndarray())
        x = parts[0]
        for part in parts[1:]:
            x = reduce(x, part)
    return x


def _sum_of_windows(
    graph: Graph, x: Tensor, data: Symbol, kernel: Ints, strides: Ints, dilations: Ints | None, front: Ints, back: Ints
) -> Symbol:
    """The sum of each window of an operand of ``x``'s shape, padded with zeros."""
    if dilations is None or set(dilations) == {1}:
        return F.Pooling(_padded(data, front, back), kernel=tuple(kernel), stride=tuple(strides), pool_type="sum").as_np_ndarray()
    sizes = [x.size(k + 2) + a + b for k, (a, b) in enumerate(zip(front, back, strict=True))]
    return _by_slices(graph, _padded(data, front, back), sizes, kernel, strides, dilations, lambda a, b: a + b)


def _maxima_with_places(
    graph: Graph, x: Tensor, kernel: Ints, strides: Ints, dilations: Ints, front: Ints, back: Ints, by_columns: int
) -> Symbols:
    """The maximum of each window, and its place (int64), counted through the whole array (through its columns if ``by_columns``)."""
    sizes, axes = x.known_sizes, range(len(kernel))
    padded = [n + a + b for n, a, b in zip(sizes[2:], front, back, strict=True)]
    _check_windows(graph, padded, kernel, dilations, math.prod(kernel))
    lowest = -float("inf") if x.is_float else float(np.iinfo(str(x.dtype)).min)
    count = math.prod(sizes[2:])
    places = np.arange(count).reshape(sizes[2:], order="F" if by_columns else "C")
    places = np.pad(places, list(zip(front, back, strict=True)))
    data = _padded(x.symbol, front, back, lowest)
    room = [places.shape[k] - dilations[k] * (kernel[k] - 1) - 1 for k in axes]
    best: Any = None
    place: Any = None
    for at in np.ndindex(*kernel):
        begin = [at[k] * dilations[k] for k in axes]
        end = [begin[k] + room[k] + 1 for k in axes]
        part = F.slice(data, begin=(None, None, *begin), end=(None, None, *end), step=(None, None, *strides)).as_np_ndarray()
        here = graph.constant(places[tuple(slice(*each) for each in zip(begin, end, strides, strict=True))], "int64").np
        if best is None:
            best, place = part, NP.zeros_like(part).astype("int64") + here
        else:
            is_better = NP.greater(part, best)
            best, place = NP.where(is_better, part, best), NP.where(is_better, here, place)
    # places so far count within one channel; ONNX counts through the whole array
    first = np.arange(math.prod(sizes[:2])).reshape(*sizes[:2], *[1] * len(kernel)) * count
    return best, place + graph.constant(first, "int64").np


@reads
def MaxPool(graph, x, *, kernel_shape, strides=None, pads=None, dilations=None, auto_pad="NOTSET", ceil_mode=0, storage_order=0):
    """The maximum of each window, and its place in the whole array."""
    strides, front, back, extra = _window(graph, x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    back = [b + e for b, e in zip(back, extra, strict=True)]
    if graph.outputs > 1:
        spread = dilations or [1] * len(strides)
        return _maxima_with_places(graph, x, list(kernel_shape), strides, spread, front, back, storage_order)
    if not x.is_float or (dilations is not None and set(dilations) != {1}):
        lowest = -float("inf") if x.is_float else float(np.iinfo(str(x.dtype)).min)
        sizes = [x.size(k + 2) + a + b for k, (a, b) in enumerate(zip(front, back, strict=True))]
        spread = dilations or [1] * len(strides)
        return _by_slices(graph, _padded(x.symbol, front, back, lowest), sizes, kernel_shape, strides, spread, NP.maximum)
    data = x.symbol
    if front != back:
        # The lowest finite number of the dtype: padding must never be the maximum.
        low = -65504.0 if x.dtype == "float16" else -3.4028234663852886e38
        data, front = _padded(data, front, back, low), [0] * len(front)
    return F.Pooling(data, kernel=tuple(kernel_shape), stride=tuple(strides), pad=tuple(front), pool_type="max", name=graph.label)


@reads
def AveragePool(graph, x, *, kernel_shape, strides=None, pads=None, dilations=None, auto_pad="NOTSET", ceil_mode=0, count_include_pad=0):
    """The mean of each window."""
    strides, front, back, extra = _window(graph, x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    options = {"kernel": tuple(kernel_shape), "stride": tuple(strides)}
    if front == back and not any(extra) and (dilations is None or set(dilations) == {1}):
        counted = bool(count_include_pad)
        return F.Pooling(x.symbol, pad=tuple(front), pool_type="avg", count_include_pad=counted, name=graph.label, **options)
    sums = _sum_of_windows(graph, x, x.symbol, kernel_shape, strides, dilations, front, [b + e for b, e in zip(back, extra, strict=True)])
    spread = dilations or [1] * len(kernel_shape)
    sizes = [x.size(k + 2) for k in range(len(kernel_shape))]
    _check_windows(graph, [n + a + b + e for n, a, b, e in zip(sizes, front, back, extra, strict=True)], kernel_shape, spread, 1)
    ones = np.ones(sizes, np.float32)
    if count_include_pad:
        ones = np.pad(ones, list(zip(front, back, strict=True)), constant_values=1)
        front, back = [0] * len(front), [0] * len(back)
    ones = np.pad(ones, [(a, b + e) for a, b, e in zip(front, back, extra, strict=True)])
    # Each sum is divided by the number of elements that count in its window. The counts depend on shapes only, so NumPy computes them here:
    # it sums the windows of an array of ones, which the padding surrounds by zeros.
    reach = tuple(d * (n - 1) + 1 for n, d in zip(kernel_shape, spread, strict=True))
    windows = np.lib.stride_tricks.sliding_window_view(ones, reach)[tuple(slice(None, None, s) for s in strides)]
    windows = windows[(..., *[slice(None, None, d) for d in spread])]
    counts = windows.sum(axis=tuple(range(-len(kernel_shape), 0)))
    return sums / graph.constant(counts[None, None], str(x.dtype or "float32")).np


@reads
def LpPool(graph, x, *, kernel_shape, strides=None, pads=None, dilations=None, auto_pad="NOTSET", ceil_mode=0, p=2):
    """The p-norm of each window."""
    strides, front, back, extra = _window(graph, x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    powers = NP.power(NP.absolute(x.np), float(p))
    sums = _sum_of_windows(graph, x, powers, kernel_shape, strides, dilations, front, [b + e for b, e in zip(back, extra, strict=True)])
    return NP.power(sums, 1 / p)


def _global(graph: Graph, x: Tensor, kind: str, **options: object) -> Symbol:
    return F.Pooling(x.symbol, kernel=(1,) * (x.ndim - 2), global_pool=True, pool_type=kind, name=graph.label, **options)


reads_rows({"GlobalMaxPool": "max", "GlobalAveragePool": "avg"}, lambda kind: lambda graph, x: _global(graph, x, kind), "X")


@reads
def GlobalLpPool(graph, x, *, p=2):
    """The p-norm over all positions."""
    if p not in (1, 2, 3):
        raise unsupported(graph, "norms of this order are not supported", p)
    positive = Tensor(graph, x.name, NP.absolute(x.np), None, x.shape, x.dtype, x.roots)
    return _global(graph, positive, "lp", p_value=p)


# products


@reads
def Gemm(graph, a, b, c=None, *, alpha=1.0, beta=1.0, transA=0, transB=0):
    """Alpha A B + beta C."""
    if (
        alpha == 1
        and beta == 1
        and not transA
        and b.array is not None
        and a.is_float
        and (c is None or (c.array is not None and c.array.ndim == 1))
    ):
        # the weight of a dense layer of MXNet is (outputs, inputs)
        weight = b if transB else Tensor(graph, b.name, array=np.ascontiguousarray(b.array.T))
        if c is None or c.size(0) == weight.size(0):
            bias = () if c is None else (c.symbol,)
            options = {"num_hidden": weight.size(0), "no_bias": c is None, "flatten": False}
            return F.FullyConnected(a.symbol, weight.symbol, *bias, name=graph.label, **options)
    lhs = a.np if not transA else NP.transpose(a.np, (1, 0))
    rhs = b.np if not transB else NP.transpose(b.np, (1, 0))
    out = _product(lhs, rhs, a, alpha)
    if c is None or beta == 0:
        return out
    return out + (c.np if beta == 1 else c.np * beta)


def _product(lhs: Symbol, rhs: Symbol, like: Tensor, alpha: float) -> Symbol:
    out = NP.matmul(lhs, rhs)
    if alpha == 1:
        return out
    return out * (alpha if like.is_float else int(alpha))


@reads
def MatMul(graph, a, b):
    """The product of matrices, the other axes broadcast."""
    return NP.matmul(a.np, b.np)


@reads
def Einsum(graph, *data, equation):
    """A sum of products over axes named by letters."""
    terms = equation.replace(" ", "")
    # a sum over all axes has one element here, and no axes in ONNX
    found = NP.einsum(terms, *[t.np for t in data])
    # Without an arrow the result keeps the letters that occur once, as in NumPy.
    kept = terms.partition("->")[2] if "->" in terms else [c for c in terms if c not in ",." and terms.count(c) == 1]
    return found if kept or "." in terms else NP.reshape(found, ())


@reads
def Det(graph, x):
    """Determinants."""
    found = NP.linalg.det(x.np)
    return NP.reshape(found, ()) if x.ndim == 2 else found


# normalization


def _with_batch_statistics(x: Tensor, scale: Tensor, b: Tensor, mean: Tensor, var: Tensor, epsilon: float, momentum: float) -> Symbols:
    """(each channel normalized by the batch's own statistics, the running mean, the running variance)."""
    axes, column = tuple(k for k in range(x.ndim) if k != 1), (1, -1, *[1] * (x.ndim - 2))
    own = NP.mean(x.np, axis=axes)
    centred = x.np - NP.reshape(own, column)
    spread = NP.mean(centred * centred, axis=axes)
    out = centred / NP.sqrt(NP.reshape(spread, column) + epsilon) * NP.reshape(scale.np, column) + NP.reshape(b.np, column)
    return out, mean.np * momentum + own * (1 - momentum), var.np * momentum + spread * (1 - momentum)


@reads
def BatchNormalization(graph, x, scale, b, mean, var, *, epsilon=1e-5, momentum=0.9, training_mode=0, spatial=1):
    """Each channel normalized by its running statistics."""
    if training_mode or graph.outputs > 1:
        return _with_batch_statistics(x, scale, b, mean, var, epsilon, momentum)
    if len({t.dtype for t in (x, scale, b, mean, var)}) > 1:
        raise unsupported(graph, "the operands have different dtypes", ", ".join(str(t.dtype) for t in (x, scale, mean)))
    arrays = (x.symbol, scale.symbol, b.symbol, mean.symbol, var.symbol)
    return F.BatchNorm(*arrays, eps=epsilon, momentum=momentum, fix_gamma=False, use_global_stats=False, name=graph.label)


@reads
def InstanceNormalization(graph, x, scale, b, *, epsilon=1e-5):
    """Each channel of each sample normalized."""
    return F.InstanceNorm(x.symbol, scale.symbol, b.symbol, eps=epsilon, name=graph.label)


@reads
def LayerNormalization(graph, x, scale, b=None, *, axis=-1, epsilon=1e-5, stash_type=1):
    """The elements from an axis on normalized jointly."""
    axes = tuple(range(x.axis(axis), x.ndim))
    if axes == (x.ndim - 1,) and scale.shape is not None and len(scale.shape) == 1 and b is not None and graph.outputs == 1:
        return F.LayerNorm(x.symbol, scale.symbol, b.symbol, axis=-1, eps=epsilon, name=graph.label)
    mean = NP.mean(x.np, axis=axes, keepdims=True)
    centred = x.np - mean
    rate = 1.0 / NP.sqrt(NP.mean(centred * centred, axis=axes, keepdims=True) + epsilon)
    out = centred * rate * scale.np
    return out if b is None else out + b.np, mean, rate


@reads
def LRN(graph, x, *, alpha=1e-4, beta=0.75, bias=1.0, size):
    """Normalization by neighboring channels."""
    if size % 2 == 0:
        raise unsupported(graph, "an even number of channels is not supported", size)
    return F.LRN(x.symbol, alpha=alpha, beta=beta, knorm=bias, nsize=size, name=graph.label)


@reads
def LpNormalization(graph, x, *, axis=-1, p=2):
    """Divided by the norm along an axis; zeros stay."""
    at = x.axis(axis)
    total = NP.sum(NP.absolute(x.np), axis=at, keepdims=True) if p == 1 else NP.sqrt(NP.sum(x.np * x.np, axis=at, keepdims=True))
    return x.np / NP.where(NP.equal(total, 0.0), NP.ones_like(total), total)


@reads
def MeanVarianceNormalization(graph, x, *, axes=(0, 2, 3)):
    """Mean 0 and variance 1 over axes."""
    over = x.axes(axes)
    centred = x.np - NP.mean(x.np, axis=over, keepdims=True)
    return centred / (NP.sqrt(NP.mean(centred * centred, axis=over, keepdims=True)) + 1e-9)


@reads
def Dropout(graph, x, ratio=None, training_mode=None, *, seed=None):
    """The operand: outside training nothing is dropped. The symbol gets a layer that drops elements in training."""
    if training_mode is not None and training_mode.constant.any() and (ratio is None or ratio.number):
        raise unsupported(graph, "only the form for inference is supported", "training_mode=True")
    # ONNX's default.
    share = 0.5 if ratio is None else ratio.number
    mask = np.ones(x.known_sizes, bool) if graph.outputs > 1 else None
    return F.Dropout(x.symbol, p=share, name=graph.label) if 0 <= share < 1 else x, mask


# softmax


def _along(graph: Graph, x: Tensor, axis: int | None, function: Callable[..., Symbol]) -> Symbol:
    """A function along an axis; before version 13 along all from it on."""
    if graph.opset >= 13:
        return function(x.symbol, axis=-1 if axis is None else axis)
    # older versions merge the axes from this one on
    at = x.axis(1 if axis is None else axis)
    if at == x.ndim - 1:
        return function(x.symbol, axis=-1)
    sizes = x.known_sizes
    rows = F.reshape(x.symbol, shape=(math.prod(sizes[:at]), math.prod(sizes[at:])))
    return F.reshape(function(rows, axis=-1), shape=sizes)


@reads
def Softmax(graph, x, *, axis=None):
    """exp(x), divided by its sum along an axis."""
    return _along(graph, x, axis, F.softmax)


@reads
def LogSoftmax(graph, x, *, axis=None):
    """The logarithm of the softmax."""
    return _along(graph, x, axis, F.log_softmax)


@reads
def Hardmax(graph, x, *, axis=None):
    """One at the first maximum along an axis, else zero."""

    def first(symbol: Symbol, axis: int) -> Symbol:
        size = x.size(axis) if graph.opset >= 13 else math.prod(x.known_sizes[x.axis(1 if axis is None else axis) :])
        place = NP.argmax(symbol.as_np_ndarray(), axis=axis, keepdims=True)
        at = axis % x.ndim
        # Numbers along the axis, which broadcast: the number of the maximum's place becomes 1.
        column = np.arange(size).reshape([-1 if k == at else 1 for k in range(x.ndim)])
        return NP.equal(place, graph.constant(column, "int64").np).astype(str(x.dtype))

    return _along(graph, x, axis, first)
