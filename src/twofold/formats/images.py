"""Compressed images (JPEG, PNG and others) to arrays of pixels and back. Pillow is loaded on first use."""

from __future__ import annotations

import contextlib
import ctypes
import io
import math
from importlib import import_module
from typing import TYPE_CHECKING

from ..errors import DeviceOutOfMemory, FormatError, InvalidValue, MissingDependency, ParameterError
from .decoding_room import ROOM
from .jpeg import PADDED, decode_jpeg
from .records import ArrayRecord, Buffer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

    from PIL.Image import Image

JPEG, PNG = (".jpg", ".jpeg", ".jpe"), (".png",)
#: Pillow's names of pixels, by their number of channels.
MODES = {1: "L", 3: "RGB", 4: "RGBA"}
#: Where pixels are changed, the fourth channel is one like the others: Pillow would weigh the colors of its RGBA by their opacity.
CHANGED = MODES | {4: "CMYK"}
#: The densest formats, and their pixels per byte: a PNG compresses rows, which may have 8 pixels in a byte, to 1/1032 at best; a JPEG
#: with Huffman codes needs a bit for each block of 8 x 8 numbers, each for up to 16 pixels. A damaged header allocates no more.
DENSEST, PIXELS_PER_BYTE = ("JPEG", "PNG", "MPO"), 8 * 1032
#: Gray as libpng and OpenCV compute it: in 15 bits, rounded down. Pillow adds one half, so less than that is subtracted.
BRIGHTNESS = (9798 / 32768, 19235 / 32768, 3735 / 32768, 0.5 / 32768 - 0.5)
#: Pillow's gray pixels of 16 bits.
DEEP = "I;16"
#: The Exif tag of an image's orientation.
ORIENTATION = 0x0112
#: Formats that are read. Pillow reads others too, such as EPS, but an EPS file is a program, which an interpreter would run.
READ = ("AVIF", "BMP", "DIB", "GIF", "JPEG", "JPEG2000", "MPO", "PNG", "PPM", "QOI", "SUN", "TGA", "TIFF", "WEBP")
KNOWN = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr", DEEP)


def load_image(data: Buffer, channels: int | None = None) -> ArrayRecord:
    """Decode an image.

    Parameters
    ----------
    data
        The compressed image.
    channels
        3 for colors and 1 for gray, turned upright as the image says; None for those of the image, as they are stored: 1, 3 or 4.

    Returns
    -------
    The pixels (h, w) or (h, w, channels): red, green, blue, alpha, as uint8; uint16 for gray ones of 16 bits where ``channels`` is None.

    Raises
    ------
    FormatError
        If it is not an image or a damaged one, or so large that Pillow takes it for an attack.
    DeviceOutOfMemory
        If it does not fit into memory.
    MissingDependency
        If Pillow is not installed.
    """
    # simplejpeg first, where it gives the pixels that Pillow would
    if channels in (1, 3):
        found = decode_jpeg(data, channels, _most_pixels(data))
        if found is not None:
            return found if channels == 3 else ArrayRecord("uint8", (found.shape or ())[:2], found.data)
    with decoding(data) as image:
        pixels = _stored(image) if channels is None else converted(image, channels)
        height, width = pixels.size[::-1]
        bands = len(pixels.getbands())
        dtype = "uint16" if pixels.mode == DEEP else "uint8"
        return ArrayRecord(dtype, (height, width) if bands == 1 else (height, width, bands), pixels.tobytes())


class Picture:
    """A decoded image that can be cut into parts.

    Parameters
    ----------
    data
        The compressed image.
    channels
        3 for colors and 1 for gray, turned upright as the image says; 4 for colors and opacity, which the image must have.

    Attributes
    ----------
    channels
        Its channels.
    width, height
        Its size in pixels.

    Raises
    ------
    FormatError, MissingDependency
        See `load_image`.
    """

    __slots__ = ("_image", "_padded", "channels", "height", "width")

    def __init__(self, data: Buffer, channels: int) -> None:
        self.channels = channels
        self._image: Image | None = None
        self._padded = decode_jpeg(data, PADDED, _most_pixels(data)) if channels == 3 else None
        if self._padded is not None:
            self.height, self.width = (self._padded.shape or (0, 0))[:2]
            return
        with decoding(data) as image:
            if channels == 4 and not _has_opacity(image):
                raise FormatError("an image without a fourth channel", f"pixels of kind {image.mode}", "ask for 3 channels")
            self._image = _changeable(converted(image, channels))
        self.width, self.height = self._image.size

    @classmethod
    def of(cls, pixels: ArrayRecord) -> Picture:
        """A picture of pixels (h, w), (h, w, 3) or (h, w, 4), uint8."""
        found = cls.__new__(cls)
        found.height, found.width, found.channels = (*(pixels.shape or ()), 1)[:3]
        found._padded = None
        mode = CHANGED[found.channels]
        found._image = _pillow("changing images").frombytes(mode, (found.width, found.height), bytes(pixels.data))
        return found

    def padded(self) -> ArrayRecord:
        """The pixels (height, width, 4), where 1 or 3 channels are followed by bytes without a meaning; not copied if possible."""
        if self._padded is None:
            # Pillow stores colors in four bytes a pixel, but gray in one
            image = self._as_image()
            colors = image.convert("RGB") if self.channels == 1 else image
            self._padded = ArrayRecord("uint8", (self.height, self.width, PADDED), _memory(colors))
        return self._padded

    def _as_image(self) -> Image:
        """The picture as Pillow's."""
        image = self._image
        if image is None:
            assert self._padded is not None  # it has one of the two
            size = self.width, self.height
            image = self._image = _pillow("changing images").frombytes("RGB", size, self._padded.data, "raw", "RGBX")
        return image

    def part(self, box: tuple[int, int, int, int]) -> ArrayRecord:
        """The pixels (height, width, channels) of a part inside the image: left, top, width and height."""
        return self._record(self._cut(box))

    def _cut(self, box: tuple[int, int, int, int]) -> Image:
        left, top, width, height = box
        image = self._as_image()
        return image.crop((left, top, left + width, top + height)) if (width, height) != image.size else image

    def sampled(
        self, box: tuple[int, int, int, int], inverse: Sequence[float], size: tuple[int, int], nearest: bool, fill: int
    ) -> ArrayRecord:
        """The pixels (height, width, channels) of part of an image under an affine map.

        Parameters
        ----------
        box
            The part: left, top, width and height.
        inverse
            a, b, c, d, e, f: the center of a new pixel (x, y) lies at (a x + b y + c, d x + e y + f) in the part, where the center of its
            first pixel is (1/2, 1/2).
        size
            Width and height of the result.
        nearest
            Whether to take the nearest pixel instead of interpolating linearly between four. Interpolated bytes are rounded down.
        fill
            The value of pixels outside the part; their opacity is 0.
        """
        pillow = _pillow("reading images")
        method = pillow.Resampling.NEAREST if nearest else pillow.Resampling.BILINEAR
        color = fill if self.channels == 1 else (fill, fill, fill, 0)[: self.channels]
        return self._record(self._cut(box).transform(size, pillow.Transform.AFFINE, tuple(inverse), method, fillcolor=color))

    def _record(self, image: Image) -> ArrayRecord:
        return ArrayRecord("uint8", (*image.size[::-1], self.channels), image.tobytes())


def _most_pixels(data: Buffer) -> float:
    """The number of pixels above which a JPEG is not decoded."""
    most = _pillow("reading images").MAX_IMAGE_PIXELS
    return min(most or math.inf, PIXELS_PER_BYTE * memoryview(data).nbytes)


@contextlib.contextmanager
def decoding(data: Buffer) -> Iterator[Image]:
    """An image that Pillow has opened; errors inside the block become a `FormatError`."""
    pillow = _pillow("reading images")
    try:
        with pillow.open(io.BytesIO(data)) as image:
            if image.format not in READ:
                raise FormatError("an image of a format that is not read", image.format, "store it as a PNG or JPEG")
            if image.mode not in KNOWN:
                raise FormatError("an image of an unknown kind of pixels", image.mode, "store it as a PNG or JPEG")
            # before anything is decoded: until here only the header has been read
            if image.format in DENSEST and math.prod(image.size) > PIXELS_PER_BYTE * len(data):
                width, height = image.size
                raise FormatError(f"an image of {width} x {height} pixels in too few bytes", f"{len(data)}", "the file is damaged or cut")
            with ROOM.of(math.prod(image.size)):
                yield image
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning) as error:
        raise FormatError(f"an image too large to decode: {error}", None, "raise PIL.Image.MAX_IMAGE_PIXELS if you trust it") from None
    except MemoryError as error:
        todo = "decode it with fewer threads, or set PIL.Image.MAX_IMAGE_PIXELS to the number of pixels that you expect"
        raise DeviceOutOfMemory("an image does not fit into memory", f"{len(data)} bytes", todo) from error
    except FormatError:
        raise
    except pillow.UnidentifiedImageError:
        raise FormatError("not an image, or a damaged one", f"data that start with {bytes(memoryview(data)[:8])!r}") from None
    except (OSError, SyntaxError, ValueError, TypeError, EOFError) as error:  # Pillow takes texts and fractions of files for numbers
        # from Python 3.12 on its frames lead to that of `contextlib`, which holds it: the cycle would keep the callers' files open
        error.__traceback__ = None
        raise FormatError(f"not an image, or a damaged one: {error}") from None


def _stored(image: Image) -> Image:
    """An image with its own channels."""
    if image.mode == DEEP:
        return image
    if image.mode in ("1", "L"):
        return _of_mode(image, "L")
    return _of_mode(image, "RGBA" if _has_opacity(image) else "RGB")


def _of_mode(image: Image, mode: str) -> Image:
    """An image with pixels of a kind; Pillow would copy one that has them."""
    return image if image.mode == mode else image.convert(mode)


def _has_opacity(image: Image) -> bool:
    return image.mode in ("LA", "RGBA", "PA") or "transparency" in image.info


def _changeable(image: Image) -> Image:
    """An image of RGBA as one of four channels that do not depend on one another."""
    # the same bytes under another name: see `CHANGED`
    return _pillow("reading images").frombytes(CHANGED[4], image.size, image.tobytes()) if image.mode == MODES[4] else image


def converted(image: Image, channels: int) -> Image:
    """Pillow's image upright, with 1, 3 or 4 channels of 8 bits."""
    if channels == 1:
        image.draft("L", image.size)  # the brightness that a JPEG stores, instead of one computed from colors
    image.load()
    # a copy costs half as much as decoding, and Pillow's functions copy even if nothing changes
    turned = import_module("PIL.ImageOps").exif_transpose(image) if image.getexif().get(ORIENTATION, 1) != 1 else image
    if turned.mode == DEEP:  # the upper eight bits of each pixel, as OpenCV takes them
        turned = _pillow("reading images").frombytes("L", turned.size, turned.tobytes()[1::2])
    if channels == 1 and turned.mode != "L":
        # by a matrix with an offset, because Pillow's own conversion rounds in another way
        return _of_mode(turned, "RGB").convert("L", BRIGHTNESS)
    return _of_mode(turned, MODES[channels])


class _ArrowArray(ctypes.Structure):
    """The beginning of an array of Arrow's C data interface."""


_ArrowArray._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_ArrowArray))),
]
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _memory(image: Image) -> Buffer:
    """The pixels of an image of colors, four bytes each: its own memory if that is in one piece, and otherwise a copy."""
    try:
        _, capsule = image.__arrow_c_array__()
    except ValueError:
        return image.tobytes() if image.mode == CHANGED[4] else image.tobytes("raw", "RGBX")
    # Pillow exports lists of four bytes. The child is the array of all bytes: its second buffer is the data, its first the validity.
    # The capsule's memory has the struct; only its beginning is declared above, which is all that is read.
    numbers = _ArrowArray.from_address(_pointer_of(capsule, b"arrow_array")).children[0].contents
    content = (ctypes.c_ubyte * numbers.length).from_address(numbers.buffers[1])
    content.owner = image  # whose memory it is: lives as long as any view of it
    return memoryview(content).cast("B")


def dump_image(image: ArrayRecord, extension: str, quality: int) -> bytes:
    """Compress an image.

    Parameters
    ----------
    image
        The pixels (h, w), (h, w, 3) or (h, w, 4), uint8, as `load_image` returns them.
    extension
        The usual end of file names in the format, such as ``".jpg"``.
    quality
        Of a JPEG: 1 to 100. Of a PNG: the effort of compression, 0 to 9. Other formats have their default.

    Raises
    ------
    ParameterError
        If Pillow writes no such format, or not such pixels.
    MissingDependency
        If Pillow is not installed.
    """
    pillow = _pillow("writing images")
    suffix = extension.lower()
    format = pillow.registered_extensions().get(suffix)
    if format not in pillow.SAVE:
        raise InvalidValue("no image format has names that end so", extension, "use '.jpg' or '.png'")
    height, width, channels = (*(image.shape or ()), 1)[:3]
    pixels = pillow.frombytes(MODES[channels], (width, height), bytes(image.data))
    options: dict[str, int] = {}
    if suffix in JPEG:
        # JPEG has no opacity
        pixels = pixels.convert("RGB") if pixels.mode == "RGBA" else pixels
        options["quality"] = min(max(quality, 1), 100)
    elif suffix in PNG:
        options["compress_level"] = min(max(quality, 0), 9)
    elif suffix == ".webp":
        options["lossless"] = True
    file = io.BytesIO()
    try:
        pixels.save(file, format, **options)
    except (OSError, ValueError) as error:
        raise ParameterError(f"cannot write the image as {extension}: {error}", None, "use '.jpg' or '.png'") from error
    return file.getvalue()


def draw_text(image: ArrayRecord, corner: tuple[int, int], text: str, color: Sequence[int]) -> ArrayRecord:
    """Write text into an image.

    Parameters
    ----------
    image
        The pixels (h, w, 3), uint8.
    corner
        Left and top of the text.
    text
        The text.
    color
        Red, green and blue.

    Raises
    ------
    MissingDependency
        If Pillow is not installed.
    """
    height, width = (*(image.shape or ()), 1, 1)[:2]
    picture = _pillow("writing into images").frombytes("RGB", (width, height), bytes(image.data))
    import_module("PIL.ImageDraw").Draw(picture).text(corner, text, fill=tuple(color))
    return ArrayRecord(image.dtype, image.shape, picture.tobytes())


def _pillow(purpose: str) -> ModuleType:
    try:
        return import_module("PIL.Image")
    except ImportError as error:
        raise MissingDependency.of("PIL", purpose, "twofold[image]") from error
