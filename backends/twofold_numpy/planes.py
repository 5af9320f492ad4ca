"""Convolutions as ones of planes, which direct convolution computes: see `direct`."""

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

from twofold.backend.strides import row_major

from .geometry import Geometry

ITEM = 4
#: Bytes of the copied rows of a band of results, which stay in the L2 cache while all filters are computed.
BAND = 512 << 10
#: Places of a band from which its weights are worth being read, and channels of a part that are worth a sum of parts.
FULL, LEAST_CHANNELS = 32, 128


class Plane(NamedTuple):
    """A two-dimensional convolution (n, channels, rows, columns) to (n, filters, …), with sizes per group, and weights in any order.

    Attributes
    ----------
    n, groups, channels, filters
        Number of images; number of groups, and the channels and filters of each group.
    size, kernel, stride, dilate, pad, out
        Each for rows and for columns.
    steps
        Elements of the weight from group to group, filter to filter, and channel to channel.
    elements
        Which element of the weight's kernel each place has, in the order of `places`.
    image, group
        Elements from image to image, and from group to group.
    """

    n: int
    groups: int
    channels: int
    filters: int
    size: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilate: tuple[int, int]
    pad: tuple[int, int]
    out: tuple[int, int]
    steps: tuple[int, int, int]
    elements: tuple[int, ...]
    image: int
    group: int

    @property
    def places(self) -> list[tuple[int, int]]:
        """Row and column, in the padded image, of each element of the kernel, in the order in which they are added."""
        (height, width), (down, across) = self.kernel, self.dilate
        return [(y * down, x * across) for y in range(height) for x in range(width)]

    @property
    def tap_step(self) -> int:
        """Elements of the weight from tap to tap; 0 if taps are not equally far from each other."""
        count, step = len(self.elements), self.steps[2]
        if self.elements != tuple(range(count)) or (count > 1 and step != count):
            return 0
        return step if count == 1 else 1

    @property
    def reads_padding(self) -> bool:
        """Whether results depend on places outside the image, before or behind it."""
        sizes = zip(self.size, self.kernel, self.stride, self.dilate, self.out, strict=True)
        return any(self.pad) or any((o - 1) * s + (k - 1) * e >= size for size, k, s, e, o in sizes)


def plane_of(g: Geometry) -> Plane:
    """A convolution as one of planes."""
    depth, per, taps = g.channels // g.groups, g.filters // g.groups, g.taps
    kernel, stride, dilate, pad, size, out = (
        _two(sizes, k) for k, sizes in enumerate((g.kernel, g.stride, g.dilate, g.pad, g.size, g.out))
    )
    steps, channel = (per * depth * taps, depth * taps, taps), math.prod(g.size)
    elements, image, group = tuple(range(taps)), g.channels * channel, depth * channel
    return Plane(g.n, g.groups, depth, per, size, kernel, stride, dilate, pad, out, steps, elements, image, group)


class PackedPlane(NamedTuple):
    """A convolution whose weight is in panels."""

    plane: Plane


class ChannelSums(NamedTuple):
    """The gradient of the weight of a depthwise convolution: for each channel and element of the kernel a sum over all places."""

    plane: Plane


class Phase(NamedTuple):
    """A part of the gradient with respect to the data: the places that have the same elements of the kernel.

    Attributes
    ----------
    plane
        Its convolution of planes.
    places
        Which places of an image it computes.
    """

    plane: Plane
    places: tuple[slice, ...]


class _Axis(NamedTuple):
    """A phase along one axis: the kernel's elements in the order of places, padding in front, and which places of the image it computes."""

    elements: range
    pad: int
    places: range


def phases_of(g: Geometry) -> list[Phase]:
    """The gradient with respect to the data as convolutions of planes with reversed kernels.

    Without a stride it is one. With a stride of s, places that are s apart have every s-th element of the kernel: an axis has s phases,
    fewer if the kernel is smaller.
    """
    depth, per, taps = g.channels // g.groups, g.filters // g.groups, g.taps
    steps, dilate = (per * depth * taps, taps, depth * taps), _two(g.dilate, 2)
    found = []
    for axes in itertools.product(*_axes(g)):
        elements = itertools.product(*(axis.elements for axis in axes))
        numbers = tuple(sum(k * step for k, step in zip(element, row_major(g.kernel), strict=True)) for element in elements)
        kernel, pad = _two(tuple(len(axis.elements) for axis in axes), 0), _two(tuple(axis.pad for axis in axes), 3)
        size = _two(tuple(len(axis.places) for axis in axes), 0)
        image, group = g.filters * math.prod(g.out), per * math.prod(g.out)
        plane = Plane(g.n, g.groups, per, depth, _two(g.out, 0), kernel, (1, 1), dilate, pad, size, steps, numbers, image, group)
        found.append(Phase(plane, tuple(slice(axis.places.start, None, axis.places.step) for axis in axes)))
    return found


def _axes(g: Geometry) -> Iterator[list[_Axis]]:
    """The phases along each axis; only an axis without a stride may be dilated."""
    for size, kernel, stride, dilate, pad in zip(g.size, g.kernel, g.stride, g.dilate, g.pad, strict=True):
        axes = []
        for first in range(min(stride, kernel)):
            elements, places = range(first, kernel, stride)[::-1], range((first - pad) % stride, size, stride)
            # the last of the kernel's elements reads this result for the first place, the others those before it
            last = (places.start + pad - first) // stride
            axes.append(_Axis(elements, dilate * (len(elements) - 1) - last, places))
        yield [axis for axis in axes if axis.places]


def parts_of(p: Plane) -> list[tuple[slice, Plane]]:
    """The convolution as a sum of convolutions over some of the channels.

    There are several if a band of all channels had few places: all weights would be read from memory for each.
    """
    columns, (height, width) = p.out[1], p.kernel

    def rows(number: int) -> int:
        """The rows of a band of a part's channels, of which each column of the kernel has a copy."""
        return BAND // (ITEM * -(-p.channels // number) * columns * width) - (height - 1) * p.dilate[0]

    wanted, number = min(p.out[0], -(-FULL // columns)), 1
    if p.groups == 1 and p.reads_padding:
        while rows(number) < wanted and p.channels > 2 * LEAST_CHANNELS * number:
            number += 1
    cuts = [k * p.channels // number for k in range(number + 1)]
    return [(slice(lo, hi), p._replace(channels=hi - lo)) for lo, hi in itertools.pairwise(cuts)]


def has_phases(g: Geometry) -> bool:
    """Whether the gradient with respect to the data is a sum of convolutions."""
    if any(s > 1 and e > 1 for s, e in zip(g.stride, g.dilate, strict=True)):
        return False
    # with more padding than that, a reversed convolution would need negative padding
    return all(axis.pad >= 0 for axes in _axes(g) for axis in axes)


def _two(sizes: tuple[int, ...], k: int) -> tuple[int, int]:
    """Sizes of a plane; a line is a plane with one row, which is not padded."""
    return (sizes[0], sizes[1]) if len(sizes) == 2 else (0 if k == 3 else 1, sizes[0])
