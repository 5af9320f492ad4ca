"""Samplers: the order in which samples are visited, and how they are grouped into batches."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...errors import InvalidValue, ParameterError, Undefined
from ...extension_points import shown_as_text


class Sampler:
    """Base class of samplers, which iterate over indices of samples. Subclasses define ``__iter__`` and ``__len__``."""

    __repr__ = shown_as_text("sampler")

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


class SplitSampler(Sampler):
    """One of several contiguous parts of the samples in random order, a new order in each iteration; for one of several machines.

    Together the parts have every sample once. If they cannot be equal in size, the first ones are larger by one.

    Parameters
    ----------
    length
        Number of samples.
    num_parts, part_index
        Number of parts, and the index of the part to visit, such as ``kv.num_workers`` and ``kv.rank`` of a key-value store.
    even_size
        Whether the smaller parts visit one of their samples, drawn at random, twice, so that all machines have as many batches.
    repeat
        How often each iteration visits the samples.
    shuffle
        Whether the order is random.
    seed
        Seed of the orders, which then depend on it, the part and the number of iterations before; None for NumPy's global generator.

    Raises
    ------
    ParameterError
        If there is no such part, there are fewer samples than parts, or ``repeat`` is not positive.

    Examples
    --------
    >>> from twofold.gluon.data import SplitSampler
    >>> [list(SplitSampler(7, num_parts=3, part_index=k, shuffle=False)) for k in range(3)]
    [[0, 1, 2], [3, 4], [5, 6]]
    >>> len(SplitSampler(7, num_parts=3, part_index=2, even_size=True))
    3
    """

    def __init__(
        self,
        length: int,
        num_parts: int = 1,
        part_index: int = 0,
        even_size: bool = False,
        repeat: int = 1,
        shuffle: bool = True,
        seed: int | None = None,
    ) -> None:
        if not 0 <= part_index < num_parts:
            raise InvalidValue("SplitSampler: no such part", f"part_index={part_index} of num_parts={num_parts}", "count parts from 0")
        if length < num_parts or repeat < 1:
            given = f"length={length}, num_parts={num_parts}, repeat={repeat}"
            raise InvalidValue("SplitSampler: each part needs a sample", given, "pass fewer parts, and 1 or more for repeat")
        size, rest = divmod(length, num_parts)
        start = size * part_index + min(part_index, rest)
        self._indices = np.arange(start, start + size + (part_index < rest))
        self._extra = int(even_size and 0 < rest <= part_index)
        self._repeat, self._shuffle, self._seed, self._part = repeat, shuffle, seed, part_index
        self._iterations = 0

    def __iter__(self) -> Iterator[int]:
        # the global generator, as in RandomSampler
        rng: Any = np.random if self._seed is None else np.random.default_rng((self._seed, self._part, self._iterations))
        self._iterations += 1
        order: list[int] = []
        for _ in range(self._repeat):
            indices = np.concatenate([self._indices, rng.choice(self._indices, self._extra)])
            order += (rng.permutation(indices) if self._shuffle else indices).tolist()
        return iter(order)

    def __len__(self) -> int:
        return (len(self._indices) + self._extra) * self._repeat


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
        self._fn, self._dataset = fn, dataset
        self._indices = [k for k in range(len(dataset)) if fn(dataset[k])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class IntervalSampler(Sampler):
    """Every k-th sample; then, if it rolls over, every k-th from the second one on, and so forth.

    Parameters
    ----------
    length
        Number of samples.
    interval
        The distance k of indices.
    rollover
        Whether to start again from each of the first k samples; otherwise only from the first. The sampler's length is that of all samples
        in either case, as in MXNet.

    Raises
    ------
    ParameterError
        If the interval is larger than the number of samples.

    Examples
    --------
    >>> from twofold.gluon.data import IntervalSampler
    >>> list(IntervalSampler(7, interval=3))
    [0, 3, 6, 1, 4, 2, 5]
    >>> list(IntervalSampler(7, interval=3, rollover=False))
    [0, 3, 6]
    """

    def __init__(self, length: int, interval: int, rollover: bool = True) -> None:
        if interval > length:
            what = f"Interval {interval} must be smaller than or equal to length {length}"
            raise InvalidValue(what, None, "pass a smaller interval")
        self._length = length
        self._interval = interval
        self._rollover = rollover

    def __iter__(self) -> Iterator[int]:
        for start in range(self._interval if self._rollover else 1):
            yield from range(start, self._length, self._interval)

    def __len__(self) -> int:
        return self._length


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
        self._prev: list[object] = []

    def __iter__(self) -> Iterator[list[object]]:
        batch, self._prev = self._prev, []
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
                self._prev = batch

    def __len__(self) -> int:
        self._check()
        if self._batch_size < 1:
            raise ParameterError("BatchSampler: a batch needs samples", f"batch_size={self._batch_size}", "pass 1 or more")
        count = len(self._sampler)
        if self._last_batch == "keep":
            return -(-count // self._batch_size)
        return (count + (len(self._prev) if self._last_batch == "rollover" else 0)) // self._batch_size

    def _check(self) -> None:
        if self._last_batch not in ("keep", "discard", "rollover"):
            raise ParameterError("last_batch must be one of 'keep', 'discard', or 'rollover'", repr(self._last_batch), "use one of these")
