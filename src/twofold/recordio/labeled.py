"""Records of labeled data and images: a header with labels and numbers, followed by the data."""

from __future__ import annotations

import numbers
import struct
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from ..errors import DTypeError, FormatError, ParameterError, ShapeError
from ..formats.images import dump_image, load_image
from ..formats.records import ArrayRecord
from ..imperative.array import Array

#: Flag, label, id and id2, 24 bytes; several labels follow as float32 before the data.
_HEADER = struct.Struct("<IfQQ")


#: The labels of a sample: a number, or several.
Label = float | Sequence[float] | np.ndarray | Array


class HEADER(NamedTuple):
    """The header of a record of labeled data.

    Parameters
    ----------
    flag
        The number of labels if they follow the header; 0 for one label in the header itself. `pack` sets it.
    label
        A number, or several: a sequence or array.
    id, id2
        Numbers of the sample, from 0 to 2**64 - 1.
    """

    flag: int
    label: Label
    id: int
    id2: int


IRHeader = HEADER


def pack(header: HEADER | tuple[int, Label, int, int], s: bytes) -> bytes:
    """Return a record of labeled data.

    Parameters
    ----------
    header
        An `IRHeader`, or its four fields.
    s
        The data.

    Raises
    ------
    ParameterError
        If a field is of another type or out of range.
    DTypeError
        If the data are not bytes.

    Examples
    --------
    >>> import twofold as mx
    >>> mx.recordio.unpack(mx.recordio.pack(mx.recordio.IRHeader(0, 4.0, 7, 0), b"data"))
    (HEADER(flag=0, label=4.0, id=7, id2=0), b'data')
    """
    flag, label, id, id2 = header
    if not isinstance(s, (bytes, bytearray, memoryview)):
        raise DTypeError("pack: the data must be bytes", f"{type(s).__name__}", "encode them first")
    values = b""
    if isinstance(label, numbers.Number):
        # the reader counts labels after the header by this flag, whatever the program has passed
        flag = 0
    else:
        numbers_ = np.asarray(label.asnumpy() if isinstance(label, Array) else label, dtype=np.float32)
        # the label in the header is not read if the flag counts labels after it
        flag, label, values = numbers_.size, 0.0, numbers_.tobytes()
    try:
        return b"".join([_HEADER.pack(flag, label, id, id2), values, s])
    except struct.error as error:
        raise ParameterError(f"pack: {error}", f"{header!r}", "id and id2 must be from 0 to 2**64 - 1") from None


def unpack(s: bytes) -> tuple[HEADER, bytes]:
    """Return the header and the data of a record that `pack` made. Several labels become a float32 array that cannot be written to.

    Parameters
    ----------
    s
        The record.

    Raises
    ------
    FormatError
        If the record is too short.
    """
    return unpack_view(s)


AnyBytes = TypeVar("AnyBytes", bytes, memoryview)


def unpack_view(s: AnyBytes) -> tuple[HEADER, AnyBytes]:
    """As `unpack`; the data of a memoryview is a part of it, and not copied."""
    if len(s) < _HEADER.size:
        raise FormatError("unpack: not a record of labeled data", f"{len(s)} bytes", "pass one that mx.recordio.pack made")
    header = HEADER(*_HEADER.unpack_from(s))
    s = s[_HEADER.size :]
    # a record of flag 0 has its one label in the header itself
    if header.flag > 0:
        size = 4 * header.flag
        if len(s) < size:
            raise FormatError(f"unpack: a record of {header.flag} labels is too short", f"{len(s)} bytes", "the record is damaged")
        header = header._replace(label=np.frombuffer(s, np.float32, header.flag))
        s = s[size:]
    return header, s


def pack_img(header: HEADER | tuple[int, Label, int, int], img: np.ndarray | Array, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """Return a record of a labeled image, compressed.

    Parameters
    ----------
    header
        An `IRHeader`, or its four fields.
    img
        The pixels (h, w), (h, w, 1), (h, w, 3) or (h, w, 4), from 0 to 255, channels in OpenCV's order: blue, green, red, alpha.
    quality
        Of a JPEG, from 1 to 100; of a PNG, the effort of compression from 0 to 9.
    img_fmt
        The format, by its file extension. JPEG keeps no alpha.

    Raises
    ------
    ShapeError
        If the pixels have another shape.
    ParameterError
        If there is no such format.
    MissingDependency
        If Pillow is not installed.
    """
    pixels = np.asarray(img.asnumpy() if isinstance(img, Array) else img)
    # an axis of one channel is dropped: image formats take gray images with two axes
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[..., 0]
    if pixels.size == 0 or not (pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (3, 4))):
        raise ShapeError("pack_img: not an image", pixels.shape, "pass (h, w), (h, w, 3) or (h, w, 4)")
    if pixels.dtype != np.uint8:
        pixels = np.clip(np.rint(pixels), 0, 255).astype(np.uint8)
    record = ArrayRecord("uint8", pixels.shape, _exchanged(pixels).tobytes())
    return pack(header, dump_image(record, img_fmt, quality))


def unpack_img(s: bytes, iscolor: int = -1) -> tuple[HEADER, np.ndarray | None]:
    """Return the header and the image of a record that `pack_img` made. The image is None if it cannot be decoded, as in MXNet.

    Parameters
    ----------
    s
        The record.
    iscolor
        1 for an image in colors and 0 for gray, both turned upright; -1 for one in its stored form.

    Returns
    -------
    The header, and the pixels (h, w), (h, w, 3) or (h, w, 4) as a NumPy array, uint8, channels in OpenCV's order: blue, green, red, alpha.
    For data that are no image, or a damaged one, None instead of the pixels: no error is raised.

    Raises
    ------
    FormatError
        If the record is too short.
    MissingDependency
        If Pillow is not installed.
    """
    header, data = unpack(s)
    try:
        record = load_image(data, None if iscolor < 0 else 3 if iscolor else 1)
    except FormatError:
        return header, None
    return header, _exchanged(np.frombuffer(record.data, record.dtype).reshape(record.shape or ()))


def _exchanged(pixels: np.ndarray) -> np.ndarray:
    """Pixels with red and blue exchanged, as a contiguous array that can be written to."""
    return pixels[..., [2, 1, 0, 3][: pixels.shape[2]]] if pixels.ndim == 3 else pixels.copy()
