"""Batches that threads assemble: their rows, and the work of one thread."""

from concurrent.futures import Future
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..io.skipped import BAD_SAMPLE
from .record_files import RecordKey
from .record_loader import RecordLoader

#: Of an image, the number in its record's header, or, if it is to be skipped, why. The error itself would keep the files open: its
#: traceback has the frames that read them.
Loaded = int | str


class Row(NamedTuple):
    """A row of a batch: its place, the image's position in the epoch, the key and the seed, and the row itself once loaded."""

    place: int
    position: int
    key: RecordKey
    seed: tuple[int, ...]
    loaded: "tuple[np.ndarray, np.ndarray, int] | None"


def load_rows(loader: RecordLoader, rows: list[Row], data: np.ndarray, label: np.ndarray) -> list[Loaded]:
    """One thread's share of a batch: the numbers of the images, or why they are to be skipped."""
    found: list[Loaded] = []
    for row in rows:
        try:
            if row.loaded is None:
                found.append(loader.load(row.key, row.seed, data[row.place], label[row.place, ...]))
            else:
                data[row.place], label[row.place, ...], number = row.loaded
                found.append(number)
        except BAD_SAMPLE as error:
            if not loader.skipped.are_wanted:
                raise
            found.append(str(error))
    return found


@dataclass
class InFlight:
    """A batch that threads are at work on.

    Attributes
    ----------
    rows, data, label
        What it consists of, and where that is written.
    pad, end
        Number of rows that do not belong to the epoch, and the position after its last image.
    skipped
        Positions of the epoch's images that it leaves out.
    parts
        The threads' results.
    """

    rows: list[Row]
    data: np.ndarray
    label: np.ndarray
    pad: int
    end: int
    skipped: list[int]
    parts: list[Future[list[Loaded]]]

    def numbers(self) -> list[Loaded]:
        """Wait; the numbers of the images, or why they are to be skipped."""
        return [number for part in self.parts for number in part.result()]
