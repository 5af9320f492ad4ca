"""Lists of images to records and back: lines with an index, labels and a file name, with tabs between."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import FormatError, ParameterError
from .dict_keys import check_keys
from .files import join_path, read_file
from .urls import URL, is_url

if TYPE_CHECKING:
    from .records import Buffer


class ListedImage(NamedTuple):
    """A line of a list.

    Attributes
    ----------
    number
        The number of the image.
    labels
        Its labels: a list of numbers, or the array that a program gave.
    name
        The name of its file, relative to a folder.
    """

    number: int
    labels: Any
    name: str


def read_image_list(
    path: str | os.PathLike[str], damaged: Callable[[FormatError], None] | None = None, root: str | os.PathLike[str] | None = None
) -> list[ListedImage]:
    """The images in a list in a file; see `load_image_list`.

    Raises
    ------
    MissingFileError, FileAccessError
        If the file cannot be read.
    FormatError
        If it is damaged. The message names the file.
    """
    try:
        images = list(load_image_list(read_file(path), damaged, root))
        check_keys([image.number for image in images], "a list of images")
        return images
    except FormatError as error:
        raise error.at_path(os.fspath(path)) from None


def listed_images(given: Iterable[Sequence[Any]]) -> list[ListedImage]:
    """The images in a list [label, …, name] of a program, counted from 1. The only label of an image may be an array or a list of them."""
    found = []
    for number, entry in enumerate(given, 1):
        if len(entry) < 2:
            raise ParameterError(f"entry {number} of a list of images has no label", f"{entry!r}", "pass [label, …, name]")
        *labels, name = entry
        # an array as the only label has the labels of the image, and is not one of them
        found.append(ListedImage(number, labels if len(labels) > 1 or isinstance(labels[0], Number) else labels[0], name))
    return found


def load_image_list(
    data: Buffer, damaged: Callable[[FormatError], None] | None = None, root: str | os.PathLike[str] | None = None
) -> Iterator[ListedImage]:
    """The lines of a list of images; empty lines are left out.

    Parameters
    ----------
    data
        The content of the file.
    damaged
        What to do about a malformed line before reading continues after it; None to raise the error.
    root
        The folder of the images, outside which no name may lead; None if the images are not read. Without a folder, as ``""`` or
        ``"."``, the names are paths, but no URLs.

    Raises
    ------
    FormatError
        If a line has fewer than three fields, an index or a label is no number, or a name leads outside the folder.
    """
    try:
        lines = bytes(data).decode().splitlines()
    except UnicodeDecodeError as error:
        raise FormatError(f"a list of images is not UTF-8: {error}", offset=error.start) from None
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line:
            continue
        try:
            image = _of_line(line)
            if root is not None:
                _check_inside(os.fspath(root), image.name)
        except ValueError as error:
            wrong = FormatError(f"line {number} of a list of images: {error}", line[:100])
            if damaged is None:
                raise wrong from None
            damaged(wrong)
        else:
            yield image


def _of_line(line: str) -> ListedImage:
    # a line without a tab has no labels, and is refused below instead of failing to unpack
    index, *labels, name = line.split("\t") if "\t" in line else (line, "")
    if not labels:
        raise ValueError("needs an index, labels and a name with tabs between")
    return ListedImage(int(index), [float(label) for label in labels], name)


def _check_inside(root: str, name: str) -> None:
    if URL.match(name):
        raise ValueError("the name is a URL, where a file in the folder of the images is expected")
    if not _is_inside(root, name):
        raise ValueError("the name leads outside the folder of the images; for a list of whole paths, pass an empty folder")


def _is_inside(root: str, name: str) -> bool:
    if is_url(root):
        plain = posixpath.normpath(name)
        return not plain.startswith(("/", "../")) and plain != ".."
    if root in ("", ".") or (os.pardir not in name and not os.path.isabs(name)):
        return True
    folder = os.path.abspath(join_path(root, ""))
    try:
        return os.path.commonpath([folder, os.path.abspath(join_path(root, name))]) == folder
    except ValueError:  # on another drive of Windows
        return False


def dump_image_list(images: Iterable[ListedImage]) -> Iterator[bytes]:
    """The lines of a list, as MXNet's ``im2rec.py`` writes them."""
    for index, labels, name in images:
        yield "\t".join([str(index), *(f"{label:f}" for label in labels), name]).encode() + b"\n"
