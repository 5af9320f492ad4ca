"""Direct convolution, in machine code: no matrix of columns is made.

Each result of a filter is a sum over its taps (channels and elements of the kernel) of a weight times an element of the image. If the image
is padded, for one tap the elements that neighboring results read are neighbors, too: a run of results is a sum of runs of the image, each
multiplied by one weight. Machine code (`jit.direct`) accumulates some filters by some vectors of such a run in registers.

* A convolution is cut into *items*: an image, one of the groups, a band of rows, and a range of filters. Threads share the items.
* The rows of the image that a band reads are copied, with zeros as padding, to memory that fits the L2 cache; without padding they are read
  in place. For a stride of s, every s-th row and column are put together.
* Each column of the kernel has its own copy, whose rows are as long as those of the results. Where this is not worth its time, and for
  images that are read in place, a run continues over the ends of rows: results computed there are dropped when a tile is copied out.

The sum over the taps is one chain of fused multiply-adds in the order of channels and kernel, for every result, however the work is cut.

The gradient with respect to the data is a convolution with the reversed kernel, or several with parts of it for a stride. That of the
weight is a convolution, too, see `direct_weights`.

Source: Georganas et al., "Anatomy of high-performance deep learning convolutions on SIMD architectures", SC 2018, with channels first.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from twofold.config import ON_CHANGE

from . import direct_weights
from .copies import packed
from .direct_tiling import REACH
from .geometry import Geometry, Kind
from .memory import POOL
from .planes import ITEM, ChannelSums, PackedPlane, Plane, has_phases, parts_of, phases_of, plane_of

#: A convolution in machine code, called with image, weight and result.
Bound = Callable[..., None]
#: Convolutions over some of the channels, whose sum is one.
Parts = list[tuple[slice, Bound]]
Work = Plane | PackedPlane | direct_weights.WeightPlane | ChannelSums


class Binder(NamedTuple):
    """Binds convolutions to machine code.

    Attributes
    ----------
    bind
        Called with the work, and whether it is a part of a plane's work: then its arrays have gaps, which the plane describes. Other planes
        are computed from any arrays of their shapes.
    has_two_wide_units
        As of `jit.compiler.Compiler`.
    """

    bind: Callable[[Work, bool], Bound | None]
    has_two_wide_units: bool


#: Functions from the adapter that return what binds convolutions to machine code, or None if kernels are not compiled.
IN_MACHINE_CODE: list[Callable[[], Binder | None]] = []
#: Multiplications from which the convolution is worth loading the compiler, which takes 0.04 s.
LEAST = 1 << 13
#: Places that are computed together, at least, and the nanoseconds of a multiplication where there are more places, and where not; and of
#: copying an element of an image to channels last.
LANES, MULTIPLICATION, ALONE, COPY = 8, 0.0192, 0.0263, 0.5
#: Nanoseconds of the matrix products that are the alternative: for a multiplication, for an element of a weight that is multiplied by
#: several columns, for an element of the columns, and for a call.
PRODUCT, WEIGHT, COLUMN, CALL = 0.0227, 0.3, 1.0, 40_000.0
#: Windows from which the gradient of a weight is worth being transposed.
FEW = 16


def is_applicable(kind: Kind, g: Geometry, dtype: np.dtype[np.generic]) -> bool:
    """Whether the algorithm applies: to lines and planes of float32, without a stride along a dilated axis for the gradient of the data."""
    if dtype != np.float32 or not 1 <= len(g.size) <= 2 or (kind == "data" and not has_phases(g)):
        return False
    return ITEM * max(math.prod(g.padded) * g.channels, g.rows * g.filters, math.prod(g.out) * g.filters) < REACH // 2


def is_worth_compiling(g: Geometry) -> bool:
    """Whether there is enough to compute."""
    return g.products >= LEAST


def is_faster(kind: Kind, g: Geometry) -> bool:
    """Whether the algorithm beats matrix products: where there are few places, it computes whole vectors in vain."""
    windows = g.n * math.prod(g.out)
    if kind == "weight" and windows < FEW:
        return False
    places, copied = math.prod(g.out), 0
    if kind == "weight":
        places = g.filters if _is_swapped(g) else direct_weights.places_of(g)
        copied = g.n * math.prod(g.size) * min(g.channels, g.filters if g.is_pointwise else g.channels)
    lanes = LANES * -(-places // LANES)
    ours = g.products * lanes / places * (MULTIPLICATION if lanes > LANES else ALONE) + COPY * copied
    columns = 0 if g.is_pointwise else windows * g.groups * g.rows
    return ours <= g.products * PRODUCT + (WEIGHT * g.filters * g.rows if windows > 1 else 0) + COLUMN * columns + CALL


def is_available() -> bool:
    """Whether convolutions can be compiled on this machine; the first call loads llvmlite."""
    return _binder() is not None


def has_two_wide_units() -> bool:
    """Whether the compiled code multiplies as fast as two units of 512 bits do."""
    return _binding().has_two_wide_units


def convolve(g: Geometry, data: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    """The primitive ``convolve`` into ``out``."""
    data = packed(data)
    _add_up(_forward(g), 1, data, weight, out)


def convolve_packed(g: Geometry, data: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    """The primitive ``convolve_packed`` into ``out``."""
    _packed(g)(data, weight, out)


def convolve_data(g: Geometry, result: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    """The primitive ``convolve_data`` into ``out``."""
    result = packed(result)
    if any(s > k for s, k in zip(g.stride, g.kernel, strict=True)):
        out.fill(0)  # there are places without elements of the kernel
    for places, parts in _phases(g):
        if g.is_dense:
            _add_up(parts, 0, result, weight, out)
        else:
            into = out[:, :, *places]
            found = POOL.empty(into.shape, out.dtype)
            _add_up(parts, 0, result, weight, found)
            into[...] = found


def _add_up(parts: Parts, axis: int, data: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    """The sum over parts of the data's channels, which are that axis of the weight."""
    if len(parts) == 1:
        parts[0][1](data, weight, out)
        return
    for k, (channels, compute) in enumerate(parts):
        found = POOL.empty(out.shape, out.dtype) if k else out
        compute(data[:, channels], weight[:, channels] if axis else weight[channels], found)
        if k:
            np.add(out, found, out)


def convolve_weight(g: Geometry, data: np.ndarray, result: np.ndarray, out: np.ndarray) -> None:
    """The primitive ``convolve_weight`` into ``out``."""
    if not _is_swapped(g):
        direct_weights.add_up(g, _bands(g), data, result, out)
        return
    swapped = replace(g, channels=g.filters, filters=g.channels)
    found = POOL.empty(out.swapaxes(0, 1).shape, out.dtype)
    direct_weights.add_up(swapped, _bands(swapped), result, data, found)
    out[...] = found.swapaxes(0, 1)


def _is_swapped(g: Geometry) -> bool:
    """Whether the gradient of a weight is computed as its transpose: of a matrix product the smaller operand is transposed."""
    return g.is_pointwise and g.groups == 1 and g.filters < g.channels


def is_whole(g: Geometry) -> bool:
    """Whether a convolution is computed at once, not as a sum over parts of the channels."""
    return len(_forward(g)) == 1


def at_once(g: Geometry, is_packed: bool = False) -> Bound:
    """A convolution that `is_whole`, called with image, weight (in panels, if it is packed) and result."""
    return _packed(g) if is_packed else _forward(g)[0][1]


@lru_cache(1024)
def _forward(g: Geometry) -> Parts:
    return _parts(plane_of(g))


@lru_cache(1024)
def _packed(g: Geometry) -> Bound:
    return _bound(PackedPlane(plane_of(g)))


@lru_cache(1024)
def _phases(g: Geometry) -> list[tuple[tuple[slice, ...], Parts]]:
    """The convolutions that the gradient with respect to the data needs, and the places that each computes."""
    return [(phase.places, _parts(phase.plane)) for phase in phases_of(g)]


@lru_cache(256)  # a table of windows has up to 128 KiB
def _bands(g: Geometry) -> list[tuple[direct_weights.WeightPlane, direct_weights.SumOfBand]]:
    """The sums of which the gradient of the weight consists."""
    planes = list(direct_weights.planes_of(g))
    sums = {plane: _bound(plane) for plane in dict.fromkeys(planes)}
    return [(plane, sums[plane]) for plane in planes]


def _parts(plane: Plane) -> Parts:
    parts = parts_of(plane)
    return [(channels, _bound(part, len(parts) > 1)) for channels, part in parts]


@lru_cache(1024)
def channel_sums(g: Geometry) -> Callable[..., object] | None:
    """The gradient of the weight of a depthwise convolution, called with image, result and sums; None if there is no code for it."""
    return _binding().bind(ChannelSums(plane_of(g)), False)


def _bound(work: Plane | PackedPlane | direct_weights.WeightPlane, is_part: bool = False) -> Bound:
    found = _binding().bind(work, is_part)
    assert found is not None  # there is code for all of these
    return found


def _binding() -> Binder:
    found = _binder()
    assert found is not None  # `is_available` was asked
    return found


def forget() -> None:
    """Forget the machine code of all geometries."""
    for cache in (_forward, _packed, _phases, _bands, channel_sums):
        cache.cache_clear()


ON_CHANGE.append(forget)


def _binder() -> Binder | None:
    return next(filter(None, (make() for make in IN_MACHINE_CODE)), None)
