"""Samplers: the order in which samples are visited, and how they are grouped into batches."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...errors import ParameterError, Undefined

__all__ = ["BatchSampler", "FilterSampler", "RandomSampler", "Sampler", "SequentialSampler"]


class Sampler:
    """Base class of samplers, which iterate over indices of samples. Subclasses define ``__iter__`` and ``__len__``."""

    def __iter__(self) -> Iterator[Any]:
        raise Undefined(f"{type(self).__name__} has no __iter__", None, "define __iter__(self) in it")

    def __len__(self) -> int:
        raise Undefined(f"{type(self).__name__} has no __len__", None, "define __len__(self) in it")


class SequentialSampler(Sampler):
    """Samples in order.

    Parameters
    ----------
    length
        Number of samples.
    start
        The first index.
    """

    def __init__(self, length: int, start: int = 0) -> None:
        self._length = length
        self._start = start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """All samples in random order, a new one in each iteration, drawn with NumPy's global generator.

    Parameters
    ----------
    length
        Number of samples.
    """

    def __init__(self, length: int) -> None:
        self._length = length

    def __iter__(self) -> Iterator[int]:
        return iter(np.random.permutation(self._length).tolist())  # noqa: NPY002  (the global generator, as in MXNet)

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """The samples of a dataset for which a function returns true.

    Parameters
    ----------
    fn
        The function of a sample.
    dataset
        The dataset.
    """

    def __init__(self, fn: Callable[..., object], dataset: Any) -> None:
        self._indices = [k for k in range(len(dataset)) if fn(dataset[k])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class BatchSampler(Sampler):
    """Groups the indices of a sampler into batches.

    Parameters
    ----------
    sampler
        The sampler.
    batch_size
        Number of indices in a batch.
    last_batch
        How to treat an incomplete last batch: ``"keep"``, ``"discard"``, or ``"rollover"`` to the next iteration.

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
            self._check()  # late, as in MXNet: an unknown name matters only if a batch is incomplete
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
