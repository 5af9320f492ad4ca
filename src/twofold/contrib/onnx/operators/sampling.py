"""Values at places between elements, Fourier transforms, and pooling of regions."""

import itertools
import math

import numpy as np

from ....symbol.symbol import Symbol
from ..op_reader import reads, unsupported
from .functions import NP, F, as_dtype, slice_at, sliced

# samples at a grid of places


def _reflected(at: Symbol, low: float, high: float) -> Symbol:
    """Places beyond an edge, mirrored at it."""
    span = high - low
    if span <= 0:
        return NP.zeros_like(at)
    # repeated mirroring gives an axis a period of twice its span
    rest = NP.mod(NP.absolute(at - low), 2 * span)
    return NP.where(NP.greater(rest, span), 2 * span - rest, rest) + low


def _inside(at: Symbol, size: int, mode: str, align_corners: int) -> Symbol:
    """Places within an axis, as the padding mode has it; those that stay outside count as zeros."""
    if mode == "border":
        return NP.minimum(NP.maximum(at, 0.0), float(size - 1))
    if mode == "reflection":
        # the edge is the center of the last element, or the element's outer side
        low, high = (0.0, float(size - 1)) if align_corners else (-0.5, size - 0.5)
        return _reflected(at, low, high)
    return at


def _cubic_weights(share: Symbol) -> list[Symbol]:
    """The weights of four neighbors, by Keys' kernel with a = -0.75."""
    a = -0.75

    def far(d: Symbol) -> Symbol:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    def near(d: Symbol) -> Symbol:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    return [far(share + 1.0), near(share), near(1.0 - share), far(2.0 - share)]


def _taps(at: Symbol, mode: str) -> list[tuple[Symbol, Symbol | float]]:
    """The elements of an axis that a place is computed from, with their weights."""
    if mode == "nearest":
        return [(NP.around(at), 1.0)]
    first = NP.floor(at)
    share = at - first
    if mode == "cubic":
        return [(first + float(k - 1), weight) for k, weight in enumerate(_cubic_weights(share))]
    return [(first, 1.0 - share), (first + 1.0, share)]


@reads
def GridSample(graph, x, grid, *, align_corners=0, mode="linear", padding_mode="zeros"):
    """The operand (n, c, d…) at places (n, …, d) between -1 and 1."""
    sizes, shape = x.known_sizes, grid.known_sizes
    count, spatial = shape[-1], sizes[2:]
    kind = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    axes = []
    for k, size in enumerate(spatial):
        # The grid gives x before y, that is, the last axis of the operand first.
        part = slice_at(grid.symbol, -1, count - 1 - k)
        # -1 and 1 are the centers of the outermost elements, or the outer sides of these elements.
        at = (part + 1.0) * ((size - 1) / 2) if align_corners else (part + 1.0) * (size / 2) - 0.5
        # a cubic sample takes its weights from the unclipped place; only its four neighbors are moved inside, below
        at = at if kind == "cubic" else _inside(at, size, padding_mode, align_corners)
        axes.append(_taps(at, kind))
    # channels come last, so that one gather fetches all of them; the sample's number is the first index of each place
    last = NP.transpose(x.np, (0, *range(2, len(sizes)), 1))
    number = np.broadcast_to(np.arange(shape[0]).reshape([-1, *[1] * (len(shape) - 2)]), shape[:-1]).copy()
    samples = graph.constant(number, "int64").np
    total: Symbol | None = None
    # a corner for each combination of the axes' elements: in an image 4 for linear samples, 16 for cubic ones
    for corner in itertools.product(*axes):
        weight: Symbol | None = None
        places = [samples]
        for (place, share), size in zip(corner, spatial, strict=True):
            inner = _inside(place, size, padding_mode, align_corners)
            clipped = NP.minimum(NP.maximum(NP.around(inner), 0.0), float(size - 1))
            # a neighbor outside has a valid index all the same, for the gather, and the weight 0
            valid = as_dtype(NP.equal(clipped, NP.around(inner)), str(x.dtype))
            share = valid * share
            weight = share if weight is None else weight * share
            places.append(as_dtype(clipped, "int64"))
        found = F.gather_nd(last, NP.stack(places, axis=0)).as_np_ndarray() * NP.expand_dims(weight, -1)
        total = found if total is None else total + found
    return NP.transpose(total, (0, len(shape) - 1, *range(1, len(shape) - 1)))


# Fourier transforms


@reads
def DFT(graph, x, dft_length=None, axis=None, *, inverse=0, onesided=0):
    """The discrete Fourier transform along an axis of real (…, 1) or complex (…, 2) numbers, as products with its matrix."""
    ndim = x.ndim
    at = x.axis((1 if graph.opset < 20 else -2) if axis is None else axis.integer)
    size = x.size(at)
    length = size if dft_length is None else dft_length.integer
    if inverse and onesided:
        raise unsupported(graph, "the inverse of a one-sided transform is not supported")
    if not 0 < length <= 1 << 14:
        raise unsupported(graph, "a transform of this length is not supported", length)
    rows, number = min(size, length), length // 2 + 1 if onesided else length
    angle = 2 * math.pi * np.outer(np.arange(rows), np.arange(number)) / length
    scale = 1 / length if inverse else 1.0
    # e^(-ia) = cos a - i sin a, and the inverse has the other sign
    cosine, sine = np.cos(angle) * scale, np.sin(angle) * scale * (1 if inverse else -1)
    dtype = str(x.dtype)
    matrices = [graph.constant(m, dtype).np for m in (cosine, sine)]
    order = [*[k for k in range(ndim - 1) if k != at], at]
    parts = []
    for k in range(x.size(-1)):
        part = slice_at(x.symbol, -1, k)
        part = NP.transpose(part, tuple(order)) if ndim > 1 else part
        parts.append(sliced(part, -1, 0, rows))  # a shorter transform cuts; a longer one pads with zeros, which no product needs
    real, imaginary = (NP.matmul(parts[0], m) for m in matrices)
    if len(parts) == 2:
        real, imaginary = real - NP.matmul(parts[1], matrices[1]), imaginary + NP.matmul(parts[1], matrices[0])
    # The inverse permutation of `order`.
    back = tuple(sorted(range(ndim - 1), key=order.__getitem__))
    return NP.stack([NP.transpose(part, back) for part in (real, imaginary)], axis=-1)


# regions


@reads
def MaxRoiPool(graph, x, rois, *, pooled_shape, spatial_scale=1.0):
    """Maxima of the cells of regions."""
    return F.ROIPooling(x.symbol, rois.symbol, pooled_size=tuple(pooled_shape), spatial_scale=spatial_scale)


@reads
def RoiAlign(
    graph, x, rois, batch_indices, *, mode="avg", output_height=1, output_width=1, sampling_ratio=0, spatial_scale=1.0,
    coordinate_transformation_mode="half_pixel",
):  # fmt: skip
    """Means of samples in the cells of regions."""
    if mode != "avg":
        raise unsupported(graph, "only means are supported", mode)
    numbered = NP.concatenate([NP.expand_dims(as_dtype(batch_indices.symbol, str(rois.dtype)), 1), rois.np], axis=1)
    # ONNX's 0 and MXNet's -1 mean the same: the size of a cell decides the number of samples
    options = {"pooled_size": (output_height, output_width), "spatial_scale": spatial_scale, "sample_ratio": sampling_ratio or -1}
    # the half-pixel shift came with version 16; in older models coordinates are those of the pixels' corners
    aligned = coordinate_transformation_mode == "half_pixel" and graph.opset >= 16
    return F.contrib.ROIAlign(x.symbol, numbered, aligned=aligned, **options)


@reads
def DeformConv(
    graph, x, w, offset, b=None, mask=None, *, kernel_shape=None, strides=None, pads=None, dilations=None, group=1, offset_group=1
):  # fmt: skip
    """A convolution whose windows are deformed by offsets, and weighted by a mask."""
    kernel = list(kernel_shape or w.known_sizes[2:])
    pads = pads or [0] * (2 * len(kernel))
    if len(kernel) != 2 or pads[:2] != pads[2:]:
        raise unsupported(graph, "only images with equal padding on both sides are supported", f"kernel {kernel}, pads {pads}")
    options = {"kernel": tuple(kernel), "stride": tuple(strides or (1, 1)), "dilate": tuple(dilations or (1, 1)), "pad": tuple(pads[:2])}
    options |= {"num_filter": w.size(0), "num_group": group, "num_deformable_group": offset_group, "no_bias": b is None}
    if mask is None:  # all of it counts; the operator without a mask extends the last row and column
        size = math.prod(kernel) * offset_group
        weights = NP.ones_like(sliced(offset.symbol, 1, 0, size))
    else:
        weights = mask.symbol
    bias = () if b is None else (b.symbol,)
    return F.contrib.ModulatedDeformableConvolution(x.symbol, offset.symbol, weights, w.symbol, *bias, name=graph.label, **options)


@reads
def Col2Im(graph, x, image_shape, block_shape, *, dilations=None, pads=None, strides=None):
    """Blocks summed into an image, the transpose of cutting it into blocks."""
    size, kernel = image_shape.integers, block_shape.integers
    pads = pads or [0] * (2 * len(kernel))
    if len(kernel) != 2 or pads[:2] != pads[2:]:
        raise unsupported(graph, "only images with equal padding on both sides are supported", f"blocks {kernel}, pads {pads}")
    options = {"stride": tuple(strides or (1, 1)), "dilate": tuple(dilations or (1, 1)), "pad": tuple(pads[:2])}
    return F.col2im(x.symbol, output_size=tuple(size), kernel=tuple(kernel), **options)
