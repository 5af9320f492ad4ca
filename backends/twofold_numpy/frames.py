"""Convolutions of volumes as convolutions of planes: a frame of results is that of an image with the channels of several frames.

Without dilation along the depth, the frames of a volume that give one frame of results are adjacent. With the frames before the channels,
(depth, channels, height, width), they are one image of ``kernel[0] · channels`` channels, without a copy: the images of neighboring results
overlap in memory. So the algorithms for planes serve volumes, and see long sums over channels.

The gradient with respect to the data does the same with frames of results. If the stride along the depth is s, every s-th frame of the data
has the same taps: there are s convolutions.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .geometry import Geometry, Kind
from .memory import POOL

#: Multiplications from which calls for each volume, and copies of its frames, are worth their time.
LEAST = 1 << 20
#: Computes a convolution of planes, or one of its gradients: called with (geometry, operand, operand, out).
Planes = Callable[[Geometry, np.ndarray, np.ndarray, np.ndarray], None]


class Run(NamedTuple):
    """Frames of the result that have the same taps, as a convolution of planes.

    Attributes
    ----------
    frames
        Which frames of the result.
    first, step
        The first frame that the first of them needs, which may lie before the volume, and how far it is to that of the next one.
    taps
        Which frames of the kernel, in the order of the frames that they multiply.
    plane
        The convolution of planes: an image for each frame of the result.
    """

    frames: slice
    first: int
    step: int
    taps: range
    plane: Geometry


def is_applicable(g: Geometry) -> bool:
    """Whether volumes can be computed as planes: one group, and no dilation along the depth."""
    return len(g.size) == 3 and g.groups == 1 and g.dilate[0] == 1


def runs(kind: Kind, g: Geometry) -> Iterator[Run]:
    """The convolutions of planes that one volume needs."""
    (depth, *kernel), (pad, *pads), (stride, *strides) = g.kernel, g.pad, g.stride

    def plane(n: int, channels: int, filters: int) -> Geometry:
        return Geometry(n, channels, filters, 1, g.size[1:], tuple(kernel), tuple(strides), g.dilate[1:], tuple(pads))

    if kind != "data":
        # each frame of results has all taps
        yield Run(slice(None), -pad, stride, range(depth), plane(g.out[0], depth * g.channels, g.filters))
        return
    # frame y of the data gets tap t from frame (y + pad - t) / stride of the results, if the stride divides this: so do the frames that
    # are a stride apart
    for tap in range(min(stride, depth)):
        taps, frames = range(tap, depth, stride)[::-1], range((tap - pad) % stride, g.size[0], stride)
        if frames:
            # the last frame of results that the first frame of data needs is the one that this tap multiplies
            last = (frames[0] + pad - tap) // stride
            yield Run(slice(frames[0], None, stride), last - len(taps) + 1, 1, taps, plane(len(frames), g.channels, len(taps) * g.filters))


def convolve(g: Geometry, data: np.ndarray, weight: np.ndarray, out: np.ndarray, *, planes: Planes) -> None:
    """The primitive ``convolve`` into ``out``."""
    [run] = runs("forward", g)
    # the channels of an image are those of its first frame, then those of the second
    kernels = np.ascontiguousarray(weight.swapaxes(1, 2)).reshape(g.filters, -1, *g.kernel[1:])
    _by_volume(run, planes, data, kernels, out)


def convolve_data(g: Geometry, result: np.ndarray, weight: np.ndarray, out: np.ndarray, *, planes: Planes) -> None:
    """The primitive ``convolve_data`` into ``out``."""
    if g.stride[0] > g.kernel[0]:
        out.fill(0)  # there are frames without taps
    for run in runs("data", g):
        # filters take the place of channels; the taps run backward, since a later frame of results has seen an earlier tap
        kernels = np.ascontiguousarray(weight[:, :, run.taps].transpose(2, 0, 1, 3, 4)).reshape(-1, g.channels, *g.kernel[1:])
        _by_volume(run, planes, result, kernels, out)


def convolve_weight(g: Geometry, data: np.ndarray, result: np.ndarray, out: np.ndarray, *, planes: Planes) -> None:
    """The primitive ``convolve_weight`` into ``out``: a sum over the volumes, one after the other."""
    [run] = runs("weight", g)
    found = POOL.empty((g.filters, g.kernel[0] * g.channels, *g.kernel[1:]), out.dtype)
    in_order = found.reshape(g.filters, g.kernel[0], g.channels, *g.kernel[1:]).swapaxes(1, 2)
    # one after the other, since all images of one volume are added up by the algorithm for planes
    for k, (volume, part) in enumerate(zip(data, result, strict=True)):
        planes(run.plane, _images(run, volume), np.ascontiguousarray(part.swapaxes(0, 1)), found)
        if k:
            np.add(out, in_order, out)
        else:
            out[...] = in_order


def _by_volume(run: Run, planes: Planes, volumes: np.ndarray, kernels: np.ndarray, out: np.ndarray) -> None:
    """Compute a run's frames of all results."""
    for volume, result in zip(volumes, out, strict=True):
        part = result[:, run.frames].swapaxes(0, 1)
        found = POOL.empty(part.shape, out.dtype)
        planes(run.plane, _images(run, volume), kernels, found)
        part[...] = found


def _images(run: Run, volume: np.ndarray) -> np.ndarray:
    """What a run reads of a volume (channels, depth, …): its images (n, frames · channels, …), a view of a copy with zeros around it."""
    c, depth, *size = volume.shape
    n, each = run.plane.n, len(run.taps)
    # only what is read: with a stride along the depth the last frames may serve no result
    frames = POOL.empty(((n - 1) * run.step + each, c, *size), volume.dtype)
    lo, hi = (min(max(k - run.first, 0), len(frames)) for k in (0, depth))
    frames[:lo], frames[hi:] = 0, 0
    frames[lo:hi] = volume[:, run.first + lo : run.first + hi].swapaxes(0, 1)
    # neighboring images share all but ``step`` of their frames
    frame, *rest = frames.strides
    return as_strided(frames, (n, each * c, *size), (run.step * frame, *rest), writeable=False)
