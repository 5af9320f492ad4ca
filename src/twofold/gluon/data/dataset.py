"""Data sets: samples by number, and data sets made of others."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...errors import DTypeError, IndexingError
from ...imperative.array import Array
from ..refusals import Refused, Undefined
from .sampler import FilterSampler, Sampler, SequentialSampler

__all__ = ["ArrayDataset", "Dataset", "SimpleDataset"]


class Dataset:
    """The base of all data sets: define ``__getitem__`` and ``__len__``."""

    def __getitem__(self, idx: int) -> Any:
        raise Undefined(f"{type(self).__name__} does not say what its samples are", None, "define __getitem__(self, idx) in it")

    def __len__(self) -> int:
        raise Undefined(f"{type(self).__name__} does not say how many samples it has", None, "define __len__(self) in it")

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> "Dataset":
        """The data set with a function applied to each sample.

        Parameters
        ----------
        fn
            The function; of a sample that is a tuple it gets all parts.
        lazy
            Whether to apply it whenever a sample is asked for, rather than to all now.
        """
        transformed = _Transformed(self, fn)
        return transformed if lazy else SimpleDataset(list(_all_of(transformed)))

    def transform_first(self, fn: Callable[..., Any], lazy: bool = True) -> "Dataset":
        """As `transform`, of the first part of each sample; the others stay."""
        return self.transform(_OfFirst(fn), lazy)

    def filter(self, fn: Callable[[Any], Any]) -> "Dataset":
        """The samples for which a function is true."""
        return _Sampled(self, FilterSampler(fn, self))

    def shard(self, num_shards: int, index: int) -> "Dataset":
        """One of several parts that follow each other; the first ones are larger by one if the sizes cannot be the same.

        Raises
        ------
        ParameterError
            If there is no part of that number.
        """
        if not 0 <= index < num_shards:
            raise Refused(f"Shard index of out bound: {index} out of {num_shards}", None, "number shards from 0")
        least, larger = divmod(len(self), num_shards)
        start = least * index + min(index, larger)
        return _Sampled(self, SequentialSampler(least + (index < larger), start))

    def take(self, count: int | None) -> "Dataset":
        """The first samples, all of them if ``count`` is None or more than there are."""
        size = len(self)
        return _Sampled(self, SequentialSampler(size if count is None or count > size else max(count, 0)))

    def sample(self, sampler: Sampler) -> "Dataset":
        """The samples whose numbers a sampler gives, in its order.

        Raises
        ------
        DTypeError
            If it is no sampler.
        """
        if not isinstance(sampler, Sampler):
            raise DTypeError("Invalid sampler type", f"{type(sampler)}", "give a gluon.data.Sampler")
        return _Sampled(self, sampler)


class SimpleDataset(Dataset):
    """A list, or anything else with elements by number, as a data set.

    Parameters
    ----------
    data
        The list.
    """

    def __init__(self, data: Any) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        return self._data[idx]


class ArrayDataset(Dataset):
    """Several arrays or lists of one length as a data set: sample k is the tuple of their elements k.

    Parameters
    ----------
    *args
        The arrays; of a single one the samples are its elements.

    Raises
    ------
    ParameterError
        If there is none, or their lengths differ.

    Examples
    --------
    >>> from twofold.gluon.data import ArrayDataset
    >>> ArrayDataset([10, 20, 30], ["a", "b", "c"])[1]
    (20, 'b')
    """

    def __init__(self, *args: Any) -> None:
        if not args:
            raise Refused("ArrayDataset: Needs at least 1 arrays", None, "give arrays")
        self._length = len(args[0])
        for k, data in enumerate(args):
            if len(data) != self._length:
                raise Refused(
                    "All arrays must have the same length",
                    f"array[0] has length {self._length} while array[{k}] has {len(data)}",
                    "cut the longer one",
                )
        # Elements of a one-dimensional array are NumPy's numbers, as MXNet gives them.
        self._data: list[Any] = [d.asnumpy() if isinstance(d, Array) and d.ndim == 1 else d for d in args]

    def __getitem__(self, idx: int) -> Any:
        if len(self._data) == 1:
            return self._data[0][idx]
        return tuple(data[idx] for data in self._data)

    def __len__(self) -> int:
        return self._length


class _Transformed(Dataset):
    """A data set with a function applied to each sample when it is asked for."""

    def __init__(self, data: Dataset, fn: Callable[..., Any]) -> None:
        self._data, self._fn = data, fn

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        item = self._data[idx]
        return self._fn(*item) if isinstance(item, tuple) else self._fn(item)


class _OfFirst:
    """A function of the first part of a sample."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._fn = fn

    def __call__(self, x: Any, *args: Any) -> Any:
        return (self._fn(x), *args) if args else self._fn(x)


class _Sampled(Dataset):
    """The samples whose numbers a sampler gave."""

    def __init__(self, data: Dataset, numbers: Iterable[int]) -> None:
        self._data = data
        self._numbers: Sequence[int] = list(numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, idx: int) -> Any:
        if not -len(self._numbers) <= idx < len(self._numbers):
            raise IndexingError("data set: no such sample", f"{idx} of {len(self._numbers)}", "number samples from 0")
        return self._data[self._numbers[idx]]


def _all_of(data: Dataset) -> Iterable[Any]:
    return (data[k] for k in range(len(data)))
