"""Lists of images to records and back: lines with an index, labels and a file name, with tabs between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..errors import FormatError

if TYPE_CHECKING:
    from .records import Buffer

__all__ = ["ListedImage", "dump_image_list", "load_image_list"]


class ListedImage(NamedTuple):
    """A line of a list.

    Attributes
    ----------
    number
        The number of the image.
    labels
        Its labels.
    name
        The name of its file, relative to a folder.
    """

    number: int
    labels: list[float]
    name: str


def load_image_list(data: Buffer) -> Iterator[ListedImage]:
    """The lines of a list of images; empty lines are left out.

    Raises
    ------
    FormatError
        If a line has fewer than three fields, or an index or a label is no number.
    """
    try:
        lines = bytes(data).decode().splitlines()
    except UnicodeDecodeError as error:
        raise FormatError("a list of images is not UTF-8", str(error), offset=error.start) from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        index, *labels, name = line.strip().split("\t") if "\t" in line else (line, "")
        if not labels:
            raise FormatError(f"line {number} of a list of images: needs an index, labels and a name with tabs between", line[:100])
        try:
            yield ListedImage(int(index), [float(label) for label in labels], name)
        except ValueError as error:
            raise FormatError(f"line {number} of a list of images: {error}", line[:100]) from None


def dump_image_list(images: Iterable[ListedImage]) -> Iterator[bytes]:
    """The lines of a list, as MXNet's ``im2rec.py`` writes them."""
    for index, labels, name in images:
        yield "\t".join([str(index), *(f"{label:f}" for label in labels), name]).encode() + b"\n"
