"""Statistics of arrays of any length in bounded memory: the elements come in pieces."""

from collections.abc import Iterable

import numpy as np

from ...dtype import HALVES, NAME_OF, NUMPY
from ...formats.records import ArrayRecord
from .content import ArrayContent, Statistics

#: Elements that are examined together.
PIECE = 1 << 20
#: Intervals of a histogram, and the least number of elements that the histogram of a large array samples.
BINS, SAMPLED = 24, 1 << 19
#: Kinds of NumPy's dtypes that have an order: booleans, integers, floats.
ORDERED = "biuf"


def has_statistics(dtype: np.dtype) -> bool:
    """Whether elements of a dtype are real numbers."""
    return dtype.kind in ORDERED or NAME_OF.get(dtype) in HALVES


def statistics_of(pieces: Iterable[np.ndarray], count: int) -> Statistics:
    """The statistics of real numbers.

    Parameters
    ----------
    pieces
        The elements, 1-d, piece by piece.
    count
        How many there are.
    """
    found = _Running(max(1, count // SAMPLED))
    with np.errstate(over="ignore"):  # a sum of the largest numbers is infinite
        for piece in pieces:
            found.add(_computable(piece))
    return found.statistics()


def statistics_of_array(elements: np.ndarray) -> Statistics:
    """The statistics of real numbers in memory, 1-d."""
    return statistics_of((elements[start : start + PIECE] for start in range(0, len(elements), PIECE)), len(elements))


class _Running:
    """The statistics of the elements so far.

    Parameters
    ----------
    stride
        The histogram counts one of every ``stride`` elements.
    """

    def __init__(self, stride: int) -> None:
        self.stride = stride
        self.count = self.zeros = self.nans = self.infinities = 0
        self.total = 0.0
        self.limits: tuple[float, float] | None = None
        self.sampled: list[np.ndarray] = []

    def add(self, piece: np.ndarray) -> None:
        # the sample goes on with its stride across the ends of pieces
        start = -self.count % self.stride
        self.count += len(piece)
        self.zeros += len(piece) - int(np.count_nonzero(piece))
        sample = piece[start :: self.stride] if self.stride == 1 else piece[start :: self.stride].copy()  # not to keep the piece
        if piece.dtype.kind == "f" and not (is_finite := np.isfinite(piece)).all():
            nans = int(np.count_nonzero(np.isnan(piece)))
            self.nans += nans
            self.infinities += len(piece) - int(np.count_nonzero(is_finite)) - nans
            piece, sample = piece[is_finite], sample[np.isfinite(sample)]
        self.sampled.append(sample)
        if len(piece):
            self.total += float(piece.sum(dtype=np.float64))
            least, most = piece.min().item(), piece.max().item()
            low, high = self.limits or (least, most)
            self.limits = min(low, least), max(high, most)

    def statistics(self) -> Statistics:
        finite = self.count - self.nans - self.infinities
        low, high = self.limits or (None, None)
        mean = self.total / finite if finite else None
        return Statistics(self.count, self.zeros, self.nans, self.infinities, low, mean, high, self._histogram())

    def _histogram(self) -> tuple[int, ...]:
        if self.limits is None:
            return ()
        low, high = map(float, self.limits)
        if not low < high:
            return (sum(map(len, self.sampled)),)
        bins = np.zeros(BINS, int)
        for sample in self.sampled:
            # halved, because the difference of the largest floats is infinite
            share = (sample.astype(np.float64) / 2 - low / 2) / (high / 2 - low / 2)
            # the maximum itself would be in a further interval, after the last
            bins += np.bincount(np.minimum((share * BINS).astype(int), BINS - 1), minlength=BINS)
        return tuple(bins.tolist())


def _computable(piece: np.ndarray) -> np.ndarray:
    """Elements in a dtype in which NumPy computes without rounding: booleans may be any byte in a file, and halves overflow."""
    if piece.dtype.kind == "b":
        return (piece.view(np.uint8) != 0).astype(np.uint8)
    return piece.astype(np.float32) if piece.dtype.itemsize == 2 and piece.dtype.kind not in "iu" else piece


def array_content(name: str, record: ArrayRecord) -> ArrayContent:
    """A table's row for an array of a file, whose elements are read piece by piece."""
    elements = np.frombuffer(record.data, NUMPY[record.dtype])
    size = elements.nbytes + sum(memoryview(index.data).nbytes for index in record.aux)
    found = statistics_of_array(elements) if record.shape is not None else None
    return ArrayContent(name, record.shape, record.dtype, size, record.stype, found)
