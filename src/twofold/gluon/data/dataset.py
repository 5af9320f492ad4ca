"""Datasets: samples by index, and transformations of datasets."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...errors import DTypeError, IndexingError, InvalidValue, Undefined, WrongType
from ...extension_points import shown_as_text
from ...imperative.array import Array
from ...recordio.files import MXIndexedRecordIO
from .sampler import FilterSampler, Sampler, SequentialSampler


class Dataset:
    """Base class of datasets. Subclasses define ``__getitem__`` and ``__len__``."""

    __repr__ = shown_as_text("dataset")

    def __getitem__(self, idx: int) -> Any:
        raise Undefined(f"{type(self).__name__} has no __getitem__", None, "define __getitem__(self, idx) in it")

    def __len__(self) -> int:
        raise Undefined(f"{type(self).__name__} has no __len__", None, "define __len__(self) in it")

    def transform(self, fn: Callable[..., object], lazy: bool = True) -> "Dataset":
        """Apply a function to each sample.

        Parameters
        ----------
        fn
            The function. A sample that is a tuple is passed as several arguments.
        lazy
            Whether to apply it on every access instead of once to all samples now.

        Raises
        ------
        WrongType
            If it is not a function.
        """
        if not callable(fn):
            raise WrongType(
                "transform: a function of a sample is needed", type(fn).__name__, "pass a function, or a transform of gluon.data"
            )
        transformed = _LazyTransformDataset(self, fn)
        return transformed if lazy else SimpleDataset(list(_all_of(transformed)))

    def transform_first(self, fn: Callable[..., object], lazy: bool = True) -> "Dataset":
        """Apply a function to the first element of each sample; see `transform`."""
        return self.transform(_TransformFirstClosure(fn) if callable(fn) else fn, lazy)

    def filter(self, fn: Callable[..., object]) -> "Dataset":
        """The samples for which a function returns true."""
        return _SampledDataset(self, FilterSampler(fn, self))

    def shard(self, num_shards: int, index: int) -> "Dataset":
        """One of ``num_shards`` contiguous parts. If they cannot be equal in size, the first ones are larger by one.

        Raises
        ------
        ParameterError
            If ``index`` is out of range.
        """
        if not 0 <= index < num_shards:
            raise InvalidValue(f"Shard index of out bound: {index} out of {num_shards}", None, "count shards from 0")
        size, remainder = divmod(len(self), num_shards)
        start = size * index + min(index, remainder)
        return _SampledDataset(self, SequentialSampler(size + (index < remainder), start))

    def take(self, count: int | None) -> "Dataset":
        """The first ``count`` samples; all of them if it is None or exceeds their number."""
        size = len(self)
        return _SampledDataset(self, SequentialSampler(size if count is None or count > size else max(count, 0)))

    def sample(self, sampler: Sampler) -> "Dataset":
        """The samples at the indices that a sampler yields, in its order.

        Raises
        ------
        DTypeError
            If ``sampler`` is not a sampler.
        """
        if not isinstance(sampler, Sampler):
            raise DTypeError("Invalid sampler type", f"{type(sampler)}", "pass a gluon.data.Sampler")
        return _SampledDataset(self, sampler)


class SimpleDataset(Dataset):
    """A list or other sequence as a dataset.

    Parameters
    ----------
    data
        The sequence.
    """

    def __init__(self, data: Any) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        return self._data[idx]


class ArrayDataset(Dataset):
    """Arrays or lists of equal length as a dataset: sample k is the tuple of their k-th elements.

    Parameters
    ----------
    *args
        The arrays. The samples of a single one are its elements.

    Raises
    ------
    ParameterError
        If there are none, or their lengths differ.

    Examples
    --------
    >>> from twofold.gluon.data import ArrayDataset
    >>> ArrayDataset([10, 20, 30], ["a", "b", "c"])[1]
    (20, 'b')
    """

    def __init__(self, *args: Any) -> None:
        if not args:
            raise InvalidValue("ArrayDataset: Needs at least 1 arrays", None, "pass arrays")
        self._length = len(args[0])
        for k, data in enumerate(args):
            if len(data) != self._length:
                raise InvalidValue(
                    f"All arrays must have the same length: array[0] has length {self._length} while array[{k}] has {len(data)}",
                    None,
                    "truncate the longer one",
                )
        # As in MXNet, the elements of a 1-d array are NumPy scalars
        self._data: list[Any] = [d.asnumpy() if isinstance(d, Array) and d.ndim == 1 else d for d in args]

    def __getitem__(self, idx: int) -> Any:
        if len(self._data) == 1:
            return self._data[0][idx]
        return tuple(data[idx] for data in self._data)

    def __len__(self) -> int:
        return self._length

    @property
    def arrays(self) -> Sequence[Any]:
        """The arrays and lists."""
        return self._data


class RecordFileDataset(Dataset):
    """The records of a file as a dataset: sample k is the k-th record of the index, as bytes. See `mx.recordio.MXIndexedRecordIO`.

    Parameters
    ----------
    filename
        The file of records. Its index has the same name with the extension ``.idx``; where it is missing, the file is read through once.

    Examples
    --------
    >>> import tempfile, twofold as mx
    >>> path = tempfile.mkdtemp() + "/a"
    >>> file = mx.recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "w")
    >>> file.write_idx(0, b"first"), file.write_idx(1, b"second"), file.close()
    (None, None, None)
    >>> mx.gluon.data.RecordFileDataset(path + ".rec")[1]
    b'second'
    """

    def __init__(self, filename: str | os.PathLike[str]) -> None:
        self.filename = os.fspath(filename)
        self.idx_file = os.path.splitext(self.filename)[0] + ".idx"
        self._record = MXIndexedRecordIO(self.idx_file, self.filename, "r")

    def __getitem__(self, idx: int) -> Any:
        return self._record.read_idx(self._record.keys[idx])

    def __len__(self) -> int:
        return len(self._record.keys)


class _LazyTransformDataset(Dataset):
    """A dataset with a function applied to each sample on access."""

    def __init__(self, data: Dataset, fn: Callable[..., object]) -> None:
        self._data, self._fn = data, fn

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        item = self._data[idx]
        return self._fn(*item) if isinstance(item, tuple) else self._fn(item)


class _TransformFirstClosure:
    """Applies a function to the first element of a sample."""

    def __init__(self, fn: Callable[..., object]) -> None:
        self._fn = fn

    def __call__(self, x: Any, *args: Any) -> Any:
        return (self._fn(x), *args) if args else self._fn(x)


class _SampledDataset(Dataset):
    """The samples at the indices that a sampler yields."""

    def __init__(self, dataset: Dataset, sampler: Iterable[int]) -> None:
        self._dataset, self._sampler = dataset, sampler
        self._indices: Sequence[int] = list(sampler)

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, idx: int) -> Any:
        if not -len(self._indices) <= idx < len(self._indices):
            raise IndexingError("dataset: index out of range", f"{idx} of {len(self._indices)}", "count samples from 0")
        return self._dataset[self._indices[idx]]


def _all_of(data: Dataset) -> Iterable[Any]:
    return (data[k] for k in range(len(data)))
