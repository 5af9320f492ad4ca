"""Images of other sizes: Resize and Upsample, as products of matrices along each axis."""

import math
from typing import Any

import numpy as np

from ....symbol.symbol import Symbol
from ..op_reader import reads, unsupported
from ..values import Graph, Tensor
from .functions import NP


def _places(place: str, size: int, count: int, scale: float, roi: tuple[float, float]) -> np.ndarray:
    """The places of the result's elements in the operand, whose own are at 0, 1 and so on."""
    k = np.arange(count, dtype=np.float64)
    length = scale * size
    if place == "align_corners":
        return k * (size - 1) / (length - 1) if length > 1 else np.zeros(count)
    if place == "asymmetric":
        return k / scale
    if place == "pytorch_half_pixel":
        return (k + 0.5) / scale - 0.5 if count > 1 else np.zeros(count)
    if place == "half_pixel_symmetric":
        shift = size / 2 * (1 - count / length)
        return shift + (k + 0.5) / scale - 0.5
    if place == "tf_crop_and_resize":
        start, end = roi
        step = (end - start) * (size - 1) / (count - 1) if count > 1 else 0.0
        return start * (size - 1) + k * step if count > 1 else np.full(1, 0.5 * (start + end) * (size - 1))
    return (k + 0.5) / scale - 0.5


def _nearest(at: np.ndarray, mode: str) -> np.ndarray:
    if mode == "floor":
        return np.floor(at)
    if mode == "ceil":
        return np.ceil(at)
    return np.ceil(at - 0.5) if mode == "round_prefer_floor" else np.floor(at + 0.5)


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """Keys' cubic convolution kernel (1981)."""
    d = np.abs(distance)
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


#: How many elements the matrix of one axis may have.
_LARGEST = 1 << 26


def _matrix(at: np.ndarray, size: int, mode: str, options: dict[str, Any], scale: float) -> np.ndarray:
    """The matrix (count, size) of the elements' weights."""
    if mode == "nearest":
        places = np.clip(_nearest(at, options["nearest_mode"]), 0, size - 1).astype(int)
        return np.eye(size)[places]
    # so that the kernel covers all elements that one element of a smaller result depends on
    stretch = min(scale, 1.0) if options["antialias"] else 1.0
    radius = (1.0 if mode == "linear" else 2.0) / stretch
    first = np.floor(at - radius).astype(int)
    taps = first[:, None] + np.arange(math.ceil(2 * radius) + 2)
    distance = (taps - at[:, None]) * stretch
    weights = np.maximum(0, 1 - np.abs(distance)) if mode == "linear" else _cubic(distance, options["cubic_coeff_a"])
    outside = (taps < 0) | (taps >= size)
    if options["exclude_outside"]:
        weights = np.where(outside, 0.0, weights)
    # The weights of a place sum to 1, even where those outside are excluded.
    weights = weights / weights.sum(1, keepdims=True)
    matrix = np.zeros((len(at), size))
    # By `add.at`: elements outside are clipped to the edge, so several weights may fall on one element.
    np.add.at(matrix, (np.arange(len(at))[:, None], np.clip(taps, 0, size - 1)), weights)
    return matrix


def _along(x: Symbol, axis: int, ndim: int, matrix: Symbol) -> Symbol:
    # the axis goes to the end for the product, and back to its place after it
    order = [*range(axis), *range(axis + 1, ndim), axis]
    back = sorted(range(ndim), key=order.__getitem__)
    return NP.transpose(NP.matmul(NP.transpose(x, tuple(order)), matrix), tuple(back))


@reads
def Resize(
    graph, x, roi=None, scales=None, sizes=None, *, coordinate_transformation_mode="half_pixel", cubic_coeff_a=-0.75, exclude_outside=0,
    extrapolation_value=0.0, mode="nearest", nearest_mode="round_prefer_floor", antialias=0, axes=None, keep_aspect_ratio_policy="stretch",
):  # fmt: skip
    """The operand with other sizes, by the nearest elements or interpolated."""
    shape = x.known_sizes
    places = x.axes(axes)
    factors, counts = _factors(graph, shape, places, scales, sizes, keep_aspect_ratio_policy)
    region = roi.constant.ravel() if roi is not None and roi.constant.size else None
    options = {"nearest_mode": nearest_mode, "cubic_coeff_a": cubic_coeff_a, "exclude_outside": exclude_outside, "antialias": antialias}
    out, masks = x.np, []
    for k, axis in enumerate(places):
        size, scale, count = shape[axis], factors[k], counts[k]
        if not 0 < count * size <= _LARGEST:
            raise unsupported(graph, "a size of the result is not supported", f"{count}, of {size}")
        span = (0.0, 1.0) if region is None else (float(region[k]), float(region[k + len(places)]))
        at = _places(coordinate_transformation_mode, size, count, scale, span)
        if coordinate_transformation_mode == "tf_crop_and_resize":
            # a matrix can only weigh elements: places outside of the operand get the extrapolation value at the end
            masks.append((axis, (at < 0) | (at > size - 1)))
        if count != size or not np.array_equal(at, np.arange(size)):
            matrix = _matrix(at, size, mode, options, scale)
            out = _along(out, axis, len(shape), graph.constant(matrix.T, str(x.dtype or "float32")).np)
    for axis, outside in masks:
        if outside.any():
            column = outside.reshape([-1 if k == axis else 1 for k in range(len(shape))])
            out = NP.where(graph.constant(column, "bool").np, NP.full_like(out, extrapolation_value), out)
    return out


def _factors(
    graph: Graph, shape: tuple[int, ...], places: tuple[int, ...], scales: Tensor | None, sizes: Tensor | None, policy: str
) -> tuple[list[float], list[int]]:
    """(scale, size of the result) for each axis."""
    if sizes is not None and sizes.constant.size:
        counts = sizes.integers
        factors = [n / shape[a] for n, a in zip(counts, places, strict=True)]
        if policy != "stretch":
            factor = min(factors) if policy == "not_larger" else max(factors)
            factors = [factor] * len(factors)
            # Rounded half up, as ONNX says for the policies that keep the aspect ratio.
            counts = [math.floor(shape[a] * factor + 0.5) for a in places]
        return factors, counts
    if scales is None or not scales.constant.size:
        raise unsupported(graph, "neither sizes nor scales are given")
    factors = [float(s) for s in scales.constant.ravel()]
    return factors, [math.floor(shape[a] * f) for a, f in zip(places, factors, strict=True)]


@reads
def Upsample(graph, x, scales, *, mode="nearest"):
    """The older form of Resize."""
    kind = "nearest" if mode == "nearest" else "linear"
    return Resize(graph, x, None, scales, coordinate_transformation_mode="asymmetric", mode=kind, nearest_mode="floor")
