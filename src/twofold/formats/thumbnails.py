"""Thumbnails of compressed images, and the facts in the images' headers. Pillow is loaded on first use."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, NamedTuple

from .images import converted, decoding

if TYPE_CHECKING:
    from .records import Buffer

SIDE = 160
#: The first bytes of image files, by format.
SIGNATURES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF8", b"II*\0", b"MM\0*")
#: Further bytes, and their offset, for formats that the first bytes do not identify.
LATER = {b"BM": (b"\0\0\0\0", 6), b"RIFF": (b"WEBP", 8)}
START = 12


class ImageFacts(NamedTuple):
    """The facts in the header of an image: its format, width and height in pixels, and Pillow's name of its pixels."""

    format: str
    width: int
    height: int
    mode: str


class Thumbnail(NamedTuple):
    """A small picture.

    Attributes
    ----------
    format, width, height, mode
        Of the image; see `ImageFacts`.
    data
        The picture as PNG if the image is small, otherwise as JPEG.
    shown
        Width and height of the picture in pixels.
    """

    format: str
    width: int
    height: int
    mode: str
    data: bytes
    shown: tuple[int, int]


def is_image(data: Buffer) -> bool:
    """Whether bytes start as one of the formats that record files hold."""
    start = bytes(memoryview(data)[:START])
    return start.startswith(SIGNATURES) or any(
        # a text may begin with "BM", and sound files begin with "RIFF" too
        start.startswith(first) and start.startswith(later, offset)
        for first, (later, offset) in LATER.items()
    )


def image_facts(data: Buffer) -> ImageFacts:
    """The facts in the header of an image. Its pixels are not decoded.

    Raises
    ------
    FormatError
        If it is not an image.
    MissingDependency
        If Pillow is not installed.
    """
    with decoding(data) as image:
        return ImageFacts(str(image.format), image.width, image.height, image.mode)


def thumbnail(data: Buffer, side: int = SIDE) -> Thumbnail:
    """An upright thumbnail of an image, at most ``side`` pixels wide and high, and no larger than the image.

    Raises
    ------
    FormatError
        If the data is not an image, is damaged, or is so large that Pillow takes it for an attack.
    MissingDependency
        If Pillow is not installed.
    """
    with decoding(data) as image:
        format, (width, height), mode = str(image.format), image.size, image.mode
        image.draft("RGB", (side, side))  # a JPEG is decoded at a fraction of its size
        upright = converted(image, 3)
        upright.thumbnail((side, side))
    file = io.BytesIO()
    is_small = max(width, height) <= side
    upright.save(file, "PNG" if is_small else "JPEG", **({} if is_small else {"quality": 85}))
    return Thumbnail(format, width, height, mode, file.getvalue(), upright.size)
