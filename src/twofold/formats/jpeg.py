"""JPEGs decoded by simplejpeg, the extra ``jpeg``: the pixels that Pillow decodes, in less time and without a copy."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..config import SETTINGS
from ..errors import MissingDependency
from .decoding_room import ROOM
from .records import ArrayRecord, Buffer

if TYPE_CHECKING:
    from types import ModuleType

#: Channels of pixels of four bytes; the last byte has no meaning.
PADDED = 4
#: Channels to simplejpeg's name of such pixels; and the colors of files that it decodes as Pillow does.
SPACES = {1: "GRAY", 3: "RGB", PADDED: "RGBX"}
KNOWN = ("YCbCr", "Gray")
START, SEGMENT, APP1, SCAN = b"\xff\xd8", 0xFF, 0xE1, 0xDA


def decoder_name() -> str:
    """The decoder of JPEGs, by the setting ``jpeg_decoder``: ``"simplejpeg"`` or ``"pillow"``.

    Raises
    ------
    MissingDependency
        If the setting names simplejpeg, and it is not installed.
    """
    return "pillow" if _simplejpeg() is None else "simplejpeg"


def _simplejpeg() -> ModuleType | None:
    chosen = SETTINGS.jpeg_decoder
    if chosen == "pillow" or (chosen == "auto" and not _is_installed()):
        return None
    try:
        return import_module("simplejpeg")
    except ImportError as error:
        raise MissingDependency.of("simplejpeg", "TWOFOLD_JPEG_DECODER=simplejpeg", "twofold[jpeg]") from error


@cache
def _is_installed() -> bool:
    return find_spec("simplejpeg") is not None


def decode_jpeg(data: Buffer, channels: int, most: float) -> ArrayRecord | None:
    """Decode a JPEG.

    Parameters
    ----------
    data
        The compressed image.
    channels
        1 for gray, 3 for colors, `PADDED` for colors in pixels of four bytes.
    most
        The number of pixels above which an image is left to Pillow.

    Returns
    -------
    The pixels (h, w, channels), uint8; None for images that are left to Pillow: other formats, images to be rotated, other color spaces,
    damaged images, and those that do not fit into memory, for which Pillow has better messages.

    Raises
    ------
    MissingDependency
        See `decoder_name`.
    """
    library = _simplejpeg()
    if library is None or _has_orientation(view := memoryview(data)):
        return None
    try:
        height, width, space, _ = library.decode_jpeg_header(view)
        if space not in KNOWN or height * width > most:
            return None
        with ROOM.of(height * width):
            pixels: Any = library.decode_jpeg(view, SPACES[channels])
    except (ValueError, MemoryError):
        return None
    return ArrayRecord("uint8", pixels.shape, memoryview(pixels).cast("B"))


def _has_orientation(data: memoryview) -> bool:
    """Whether a file is no JPEG, or has a segment before its image that may say how to turn it (Exif or XMP)."""
    if data[:2] != START:
        return True
    # A segment is 0xFF, its kind, its length in two bytes, which include themselves, and its content. After SCAN the compressed data
    # follow.
    at = 2
    while at + 4 <= len(data) and data[at] == SEGMENT and data[at + 1] != SCAN:
        if data[at + 1] == APP1:
            return True
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return False
