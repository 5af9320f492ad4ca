"""Phases of images whose convolutions move by more than one pixel: a convolution is the sum of those of its phases."""

from itertools import product
from typing import NamedTuple

import numpy as np

from twofold.backend.strides import Sizes

from .geometry import Geometry


class ImagePhase(NamedTuple):
    """The pixels of images that some elements of kernels meet, if these move by more than one pixel: they are images of their own.

    With a stride of s there are s phases along each axis: elements ``at``, ``at + s``, … of a kernel meet pixels ``first``,
    ``first + s``, …, before which there are ``pad`` zeros. With a stride of 1 the images are the only phase. A convolution is the sum of
    those of its phases.
    """

    pad: Sizes
    at: Sizes = (0, 0)
    first: Sizes = (0, 0)
    stride: int = 1

    def of(self, images: np.ndarray) -> np.ndarray:
        """The phase of images (n, channels, h, w)."""
        y, x = self.first
        return images[:, :, y :: self.stride, x :: self.stride]


def image_phases_of(g: Geometry) -> list[ImagePhase]:
    """The phases of a convolution's data, row by row."""
    stride, found = g.stride[0], []
    for at in product(range(stride), repeat=2):
        before = [-(-(p - a) // stride) for p, a in zip(g.pad, at, strict=True)]
        first = [a - p + stride * b for p, a, b in zip(g.pad, at, before, strict=True)]
        found.append(ImagePhase(tuple(before), at, tuple(first), stride))
    return found
