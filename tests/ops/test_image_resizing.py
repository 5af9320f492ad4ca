"""Images of another size: sums in fixed point that need all of an integer's bits, and how much of an image is read."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.ops import image_resizing
from twofold.ops.image_resizing import AREA, CUBIC, EXACT, LANCZOS, LINEAR, NEAREST, resized

BITS = image_resizing.BITS
METHODS = {"cubic": (CUBIC, image_resizing._cubic), "lanczos": (LANCZOS, image_resizing._lanczos)}


def matrix(taps, pixels):
    """The weights (new, pixels) in fixed point, as exact integers."""
    found = np.zeros((len(taps[0]), pixels), np.int64)
    np.add.at(found, (np.arange(len(found))[:, None], taps[0]), np.rint(taps[1].astype("float32") * 2**BITS).astype(np.int64))
    return found


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("method", METHODS)
def test_the_largest_sums_of_bytes_do_not_overflow(method, channels):
    kind, taps = METHODS[method]
    h, w, height, width = 24, 30, 48, 57
    rows, columns = matrix(taps(np, h, height), h), matrix(taps(np, w, width), w)
    # white where the product of both weights of one new pixel is positive: the largest sum that it can have, and its opposite
    for i, j in ((23, 28), (24, 29), (20, 30)):
        white = np.where(rows[i][:, None] * columns[j] > 0, 255, 0).astype(np.uint8)
        for image in (white, 255 - white):
            want = np.clip((rows @ image.astype(np.int64) @ columns.T + (1 << (2 * BITS - 1))) >> (2 * BITS), 0, 255)
            found = resized(np, np.repeat(image[:, :, None], channels, 2), height=height, width=width, interp=kind)
            np.testing.assert_array_equal(found, np.repeat(want[:, :, None], channels, 2))


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
@pytest.mark.parametrize("interp", [NEAREST, LINEAR, CUBIC, AREA, LANCZOS, EXACT])
def test_channels_and_images_are_resized_each_alone(interp, dtype):
    images = np.random.default_rng(0).integers(0, 256, (2, 9, 12, 3)).astype(dtype)
    for height, width in ((4, 5), (18, 24), (20, 7), (3, 12)):
        found = resized(np, images, height=height, width=width, interp=interp)
        assert (found.shape, found.dtype) == ((2, height, width, 3), dtype)
        for k, c in np.ndindex(2, 3):
            alone = resized(np, np.ascontiguousarray(images[k, :, :, c : c + 1]), height=height, width=width, interp=interp)
            np.testing.assert_array_equal(found[k, :, :, c], alone[:, :, 0])


def test_a_much_smaller_image_reads_two_lines_for_each_of_its_own():
    class Counting:
        elements = 0

        def multiply(self, *args, **kwargs):
            found = np.multiply(*args, **kwargs)
            self.elements += found.size
            return found

        def __getattr__(self, name):
            return getattr(np, name)

    counting, image = Counting(), np.zeros((1000, 800, 3), np.float32)
    resized(counting, image, height=10, width=8, interp=LINEAR)
    # two products along each axis, the first of them for the 20 lines that are read
    assert counting.elements == 2 * (20 * 8 * 3) + 2 * (10 * 8 * 3)
