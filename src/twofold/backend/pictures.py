"""The interface to code that resizes images into batches, which `HostCode.picture_writer` returns."""

from typing import Protocol

import numpy as np

#: Where the pixels along an axis of a result lie in the image: a scale and a start. The center of pixel k is at (k + start) * scale, where
#: that of the image's first pixel is at 1/2.
Axis = tuple[float, float]


class PictureWriter(Protocol):
    """Writes a part of an image, resized, mirrored and normalized, into a batch."""

    def __call__(self, image: np.ndarray, across: Axis, down: Axis, mirror: bool, normal: tuple[float, ...], out: np.ndarray) -> None:
        """Write to ``out``.

        Parameters
        ----------
        image
            The pixels (h, w, 4), uint8, at least 2 by 2; the four bytes of a pixel are neighbors, and so are the pixels of a row. Of the
            channels as many are read as the result has.
        across, down
            Where the result's columns and rows lie. What lies outside the image is its edge.
        mirror
            Whether the result is flipped horizontally.
        normal
            Twelve numbers for results of float32: for each of four channels what is subtracted, by what that is multiplied, and what is
            added then.
        out
            The result (c, h, w), C-contiguous: float32, or uint8 for the bytes themselves. Bytes are interpolated linearly, as the operator
            that resizes images does it.
        """
        ...
