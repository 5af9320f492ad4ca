"""The content of a file as plain data, which the terminal, the page and JSON show alike."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...errors import FormatError, MXNetError
    from ...visualization.layered import Box, Edge

#: A single value of a table or a line.
Fact = str | int | float | None


@dataclass(frozen=True, slots=True)
class Selection:
    """Which part of a large file is shown.

    Parameters
    ----------
    count
        The number of samples or rows.
    seed
        Samples are chosen at random, by a generator with this seed; None shows the first.
    boxes
        Whether labels are boxes, even if they do not look so.
    shapes
        Shapes of a network's inputs by name.
    """

    count: int = 24
    seed: int | None = None
    boxes: bool = False
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Statistics:
    """The distribution of an array's elements.

    Parameters
    ----------
    count
        The number of elements.
    zeros, nans, infinities
        The numbers of those that are zero, not a number, or infinite.
    minimum, mean, maximum
        Of the finite elements; None if there are none.
    histogram
        Numbers of finite elements in intervals of equal length from the minimum to the maximum, counted in an evenly spaced sample if the
        array is large.
    """

    count: int
    zeros: int
    nans: int
    infinities: int
    minimum: float | None
    mean: float | None
    maximum: float | None
    histogram: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ArrayContent:
    """An array.

    Parameters
    ----------
    name
        Its name, or its position in brackets.
    shape
        Its shape; None for an array without one.
    dtype
        The name of its dtype.
    size
        Bytes in the file.
    storage
        How it is stored: ``"default"`` if dense, otherwise ``"csr"``, ``"row_sparse"``, or the file that it is in.
    statistics
        The distribution of its stored elements; None if they are not numbers or not in the file.
    """

    name: str
    shape: tuple[int, ...] | None
    dtype: str
    size: int
    storage: str = "default"
    statistics: Statistics | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """An image or other record.

    Parameters
    ----------
    number
        Its position in the file.
    facts
        What is known of it.
    picture
        A small PNG or JPEG of it, with its width and height in pixels; None if it is not an image.
    boxes
        Class, left, top, right and bottom of each object, as shares of the width and height.
    fault
        Why its image cannot be read.
    """

    number: int
    facts: Mapping[str, Fact]
    picture: tuple[bytes, int, int] | None = None
    boxes: Sequence[tuple[float, float, float, float, float]] = ()
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a title."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Fact]]


@dataclass(frozen=True, slots=True)
class Network:
    """A graph of operators, to be drawn."""

    boxes: Sequence[Box]
    edges: Sequence[Edge]


@dataclass(slots=True)
class Content:
    """The content of a file. A reader fills it in as far as it can read.

    Attributes
    ----------
    path, kind, size
        The file's name, the kind of file, and its length in bytes.
    facts
        What is known of the whole.
    tables, arrays, samples, network
        Its parts.
    fault
        Why the rest could not be read: the file is damaged, or a package is missing.
    """

    path: str
    kind: str
    size: int
    facts: dict[str, Fact] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    arrays: list[ArrayContent] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    network: Network | None = None
    fault: FormatError | MXNetError | None = None


def selected(count: int, selection: Selection) -> Sequence[int]:
    """The positions that are shown of ``count``: the first ones, or as many chosen at random, in ascending order."""
    shown = min(count, selection.count)
    return range(shown) if selection.seed is None else sorted(random.Random(selection.seed).sample(range(count), shown))


def spread(count: int, most: int) -> Sequence[int]:
    """At most ``most`` positions, evenly spaced."""
    return range(count) if count <= most else [k * count // most for k in range(most)]
