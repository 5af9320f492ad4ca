"""Where the pixels of a changed image come from: resizing, rotation, padding and crops as one affine map."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..backend.loader import backend_for
from ..device import interned
from .functions import imresize_pixels, method_of, with_short_side

if TYPE_CHECKING:
    from ..backend.host_code import Axis, PictureWriter
    from ..formats.images import Picture
    from ..formats.records import ArrayRecord

NEAREST, LINEAR = 0, 1
HOST = interned("cpu", 0)
#: The matrix that leaves an image unchanged.
IDENTITY = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0
#: The normalization that changes nothing.
UNCHANGED = (0.0,) * 4 + (1.0,) * 4 + (0.0,) * 4


@dataclass(slots=True)
class Map:
    """An affine map of an image, made step by step. Nothing is computed before `applied`.

    Attributes
    ----------
    width, height
        Size of the image after the steps so far.
    matrix
        a, b, c, d, e, f: the place (x, y) of the source is at (a x + b y + c, d x + e y + f) after the steps. The center of the first pixel
        is (1/2, 1/2).
    fills
        Whether places outside the original may be seen.
    source
        Left, top, width and height of the part of the original that crops before any other step leave. Interpolation sees nothing else.
    """

    width: int
    height: int
    matrix: tuple[float, float, float, float, float, float] = IDENTITY
    fills: bool = False
    source: tuple[int, int, int, int] = (0, 0, 0, 0)

    def __post_init__(self) -> None:
        self.source = (0, 0, self.width, self.height)

    @property
    def is_source(self) -> bool:
        """Whether the map only crops. A border that a later crop removes leaves the identity too, of another size."""
        return self.matrix == IDENTITY and (self.width, self.height) == self.source[2:]

    def resize(self, width: int, height: int) -> None:
        """Resize to another width and height."""
        if (width, height) == (self.width, self.height):
            return
        self._then(width, height, width / self.width, 0, 0, 0, height / self.height, 0)

    def resize_short(self, size: int) -> None:
        """Resize so that the shorter side has a length."""
        self.resize(*with_short_side(self.width, self.height, size))

    def crop(self, left: int, top: int, width: int, height: int) -> None:
        """Keep a part."""
        # a crop before all other steps limits the pixels that interpolation reads; a later crop only moves the map
        if self.is_source:
            self.source = (self.source[0] + left, self.source[1] + top, width, height)
            self.width, self.height = width, height
            return
        self._then(width, height, 1, 0, -left, 0, 1, -top)

    def pad(self, border: int) -> None:
        """Add a border."""
        if border:
            self.put(border, border, self.width + 2 * border, self.height + 2 * border)

    def put(self, left: int, top: int, width: int, height: int) -> None:
        """Put the image at a place of a larger one."""
        self.fills = True
        self._then(width, height, 1, 0, left, 0, 1, top)

    def turn(self, width: int, height: int, degrees: float, shear: float, across: float, down: float) -> None:
        """Stretch by factors ``across`` and ``down``, shear and rotate about the center, which becomes that of an image of another size.

        As in MXNet, centers are at (width / 2, height / 2) when the first pixel is (0, 0).
        """
        self.fills = True
        cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        # a rotation of a shear of a stretch, as one 2 x 2 matrix
        a, b = cos * across, sin * down + shear * cos * across
        d, e = -sin * across, cos * down - shear * sin * across
        # the shift that moves the old center to the new one
        c, f = (width - a * self.width - b * self.height) / 2, (height - d * self.width - e * self.height) / 2
        # from places of pixels' corners to those of their centers
        self._then(width, height, a, b, c + (1 - a - b) / 2, d, e, f + (1 - d - e) / 2)

    def _then(self, width: int, height: int, a: float, b: float, c: float, d: float, e: float, f: float) -> None:
        m = self.matrix
        # the new map after the map so far: a product of the two matrices, with (0, 0, 1) as third row of each
        across = a * m[0] + b * m[3], a * m[1] + b * m[4], a * m[2] + b * m[5] + c
        self.matrix = *across, d * m[0] + e * m[3], d * m[1] + e * m[4], d * m[2] + e * m[5] + f
        self.width, self.height = width, height

    def applied(self, picture: Picture, method: int, fill: int) -> np.ndarray:
        """The pixels (height, width, c) of the transformed image.

        Parameters
        ----------
        picture
            The image.
        method
            The interpolation, as for `mx.image.imresize`. Rotated images are interpolated linearly, or nearest.
        fill
            The value of pixels outside the image.
        """
        if self.is_source:
            return _array(picture.part(self.source))
        method = self.method_of(method)
        if (write := self.writer(method)) is not None:
            planes = np.empty((picture.channels, self.height, self.width), "uint8")
            self.write(write, picture, False, UNCHANGED, planes)
            return planes.transpose(1, 2, 0)
        if method in (NEAREST, LINEAR) or self.fills:
            inverse = self._inverse()
            if method == NEAREST:  # OpenCV takes the pixel at a new one's corner
                # 1e-9 more, so that rounding does not move the corner into the pixel before
                inverse[2] -= (inverse[0] + inverse[1]) / 2 - 1e-9
                inverse[5] -= (inverse[3] + inverse[4]) / 2 - 1e-9
            size = self.width, self.height
            return _array(picture.sampled(self.source, inverse, size, method == NEAREST, fill))
        (a, _, c, _, e, f), (*_, width, height) = self.matrix, self.source
        # The other methods can only resize whole images, so the part is cut out of the result.
        resized = imresize_pixels(_array(picture.part(self.source)), round(width * a), round(height * e), method)
        left, top = round(-c), round(-f)
        return resized[top : top + self.height, left : left + self.width]

    def method_of(self, method: int) -> int:
        """The interpolation from 0 to 5 that a number up to 10 means for this map."""
        (a, *_, e, _), (*_, width, height) = self.matrix, self.source
        return method_of(method, (height, width, round(height * e), round(width * a)))

    def writer(self, method: int) -> PictureWriter | None:
        """The adapter's code for maps that only crop and resize, linearly; None for others, or if it has none."""
        _, b, _, d, _, _ = self.matrix
        # the code interpolates between two neighbors along each axis
        if method != LINEAR or self.fills or b or d or min(self.source[2:]) < 2:
            return None
        return backend_for(HOST).target.host_code.picture_writer()

    def write(self, write: PictureWriter, picture: Picture, mirror: bool, normal: tuple[float, ...], out: np.ndarray) -> None:
        """Write the map of an image to ``out`` (c, height, width) by code that `writer` has returned; see `PictureWriter`."""
        (a, _, c, _, e, f), (left, top, width, height) = self.matrix, self.source
        part = _array(picture.padded())[top : top + height, left : left + width]
        write(part, _axis(width, a, c), _axis(height, e, f), mirror, normal, out)

    def _inverse(self) -> list[float]:
        a, b, c, d, e, f = self.matrix
        # Cramer's rule: the inverse of the 2 x 2 matrix, and minus that inverse times the shift
        scale = 1 / (a * e - b * d)
        return [e * scale, -b * scale, (b * f - e * c) * scale, -d * scale, a * scale, (d * c - a * f) * scale]


def _axis(size: int, scale: float, shift: float) -> Axis:
    """A scale and a shift the other way round. Whole sizes have the very scale of the operator that resizes images."""
    new = round(size * scale)
    return (1 / (new / size) if abs(new - size * scale) < 1e-6 else 1 / scale), 0.5 - shift


def _array(record: ArrayRecord) -> np.ndarray:
    return np.frombuffer(record.data, np.uint8).reshape(record.shape or ())
