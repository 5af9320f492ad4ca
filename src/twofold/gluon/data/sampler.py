"""Samplers: the order in which samples are taken, and how they are grouped into batches."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...errors import ParameterError
from ..refusals import Undefined

__all__ = ["BatchSampler", "FilterSampler", "RandomSampler", "Sampler", "SequentialSampler"]


class Sampler:
    """The base of all samplers: iterating gives numbers of samples; define ``__iter__`` and ``__len__``."""

    def __iter__(self) -> Iterator[Any]:
        raise Undefined(f"{type(self).__name__} does not say which samples it takes", None, "define __iter__(self) in it")

    def __len__(self) -> int:
        raise Undefined(f"{type(self).__name__} does not say how many samples it takes", None, "define __len__(self) in it")


class SequentialSampler(Sampler):
    """Samples in order.

    Parameters
    ----------
    length
        How many.
    start
        The first one.
    """

    def __init__(self, length: int, start: int = 0) -> None:
        self._length = length
        self._start = start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """All samples in a random order, another one at each iteration; NumPy's global seed decides.

    Parameters
    ----------
    length
        How many there are.
    """

    def __init__(self, length: int) -> None:
        self._length = length

    def __iter__(self) -> Iterator[int]:
        return iter(np.random.permutation(self._length).tolist())  # noqa: NPY002  (the global seed decides, as in MXNet)

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """The samples of a data set for which a function is true.

    Parameters
    ----------
    fn
        The function of a sample.
    dataset
        The data set.
    """

    def __init__(self, fn: Callable[[Any], Any], dataset: Any) -> None:
        self._numbers = [k for k in range(len(dataset)) if fn(dataset[k])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


class BatchSampler(Sampler):
    """A sampler's numbers in batches.

    Parameters
    ----------
    sampler
        The sampler.
    batch_size
        Size of a batch.
    last_batch
        What becomes of a last batch that is not full: ``"keep"``, ``"discard"``, or ``"rollover"`` into the next iteration.

    Examples
    --------
    >>> from twofold.gluon.data import BatchSampler, SequentialSampler
    >>> list(BatchSampler(SequentialSampler(7), 3, "discard"))
    [[0, 1, 2], [3, 4, 5]]
    """

    def __init__(self, sampler: Sampler, batch_size: int, last_batch: str = "keep") -> None:
        self._sampler = sampler
        self._batch_size = batch_size
        self._last_batch = last_batch
        self._left: list[Any] = []

    def __iter__(self) -> Iterator[list[Any]]:
        batch, self._left = self._left, []
        for k in self._sampler:
            batch.append(k)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if batch:
            self._check()
            if self._last_batch == "keep":
                yield batch
            elif self._last_batch == "rollover":
                self._left = batch

    def __len__(self) -> int:
        self._check()
        count = len(self._sampler)
        if self._last_batch == "keep":
            return -(-count // self._batch_size)
        return (count + (len(self._left) if self._last_batch == "rollover" else 0)) // self._batch_size

    def _check(self) -> None:
        if self._last_batch not in ("keep", "discard", "rollover"):
            raise ParameterError(
                "last_batch must be one of 'keep', 'discard', or 'rollover'", f"got {self._last_batch}", "use one of these"
            )
