"""Where the pixels of a changed image come from: resizing, rotation, padding and crops as one affine map."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .functions import imresize_pixels, method_of, with_short_side

if TYPE_CHECKING:
    from ..formats.images import Picture

__all__ = ["Map"]

NEAREST, LINEAR = 0, 1


@dataclass(slots=True)
class Map:
    """An affine map of an image, made step by step. Nothing is computed before `applied`.

    Attributes
    ----------
    width, height
        Size of the image after the steps so far.
    matrix
        From places in the original, homogeneous, to those after the steps. The center of the first pixel is (1/2, 1/2).
    fills
        Whether places outside the original may be seen.
    source
        Left, top, width and height of what is left of the original by crops before any other step. Interpolation sees nothing else.
    """

    width: int
    height: int
    matrix: np.ndarray = field(default_factory=lambda: np.eye(3))
    fills: bool = False
    source: tuple[int, int, int, int] = (0, 0, 0, 0)

    def __post_init__(self) -> None:
        self.source = (0, 0, self.width, self.height)

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
        if np.array_equal(self.matrix, np.eye(3)):
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
        a, b = cos * across, sin * down + shear * cos * across
        d, e = -sin * across, cos * down - shear * sin * across
        c, f = (width - a * self.width - b * self.height) / 2, (height - d * self.width - e * self.height) / 2
        # from places of pixels' corners to those of their centers
        self._then(width, height, a, b, c + (1 - a - b) / 2, d, e, f + (1 - d - e) / 2)

    def _then(self, width: int, height: int, *rows: float) -> None:
        self.matrix = np.array([rows[:3], rows[3:], (0, 0, 1)], "float64") @ self.matrix
        self.width, self.height = width, height

    def applied(self, picture: Picture, method: int, fill: int) -> np.ndarray:
        """The pixels (height, width, c) of the map of an image.

        Parameters
        ----------
        picture
            The image.
        method
            The interpolation, as for `mx.image.imresize`. Rotated images are interpolated linearly, or nearest.
        fill
            The number for what lies outside it.
        """
        if np.array_equal(self.matrix, np.eye(3)):
            return _array(picture.part(self.source))
        (a, _, c), (_, e, f) = self.matrix[:2]
        old, new = self.source[:1:-1], (round(self.source[3] * e), round(self.source[2] * a))
        method = method_of(method, (*old, *new))
        if method in (NEAREST, LINEAR) or self.fills:
            inverse = np.linalg.inv(self.matrix)[:2]
            if method == NEAREST:  # OpenCV takes the pixel at a new one's corner
                inverse[:, 2] -= inverse[:, :2].sum(1) / 2 - 1e-9
            size = self.width, self.height
            return _array(picture.sampled(self.source, inverse.ravel().tolist(), size, method == NEAREST, fill))
        resized = imresize_pixels(_array(picture.part(self.source)), new[1], new[0], method)
        left, top = round(-c), round(-f)
        return resized[top : top + self.height, left : left + self.width]


def _array(record: object) -> np.ndarray:
    return np.frombuffer(record.data, np.uint8).reshape(record.shape)  # type: ignore[attr-defined]
