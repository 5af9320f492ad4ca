"""`DataIter`: the interface of iterators over batches, with `DataBatch` and `DataDesc`; the registry of iterators."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import DTypeError, MXNetError
from ..ndarray.array import NDArray

__all__ = ["REGISTERED", "DataBatch", "DataDesc", "DataIter", "ResizeIter", "register_iterator"]

#: Iterators that `register_iterator` added to ``mx.io``, by name.
REGISTERED: dict[str, Callable[..., Any]] = {}


def register_iterator(name: str, make: Callable[..., Any]) -> None:
    """Add an iterator to ``mx.io``; for use by higher packages.

    Parameters
    ----------
    name
        Its name in ``mx.io``.
    make
        The class, or a function that creates an iterator.
    """
    REGISTERED[name] = make


class _NameAndShape(NamedTuple):
    name: str
    shape: tuple[int, ...]


class DataDesc(_NameAndShape):
    """Name, shape, dtype and layout of an array of a batch. It compares equal to the tuple (name, shape).

    Parameters
    ----------
    name
        Name of the variable that it feeds.
    shape
        Its shape, including the batch size.
    dtype
        Its dtype.
    layout
        One letter per axis; ``N`` is the batch axis.
    """

    dtype: Any
    layout: str | None

    def __new__(cls, name: str, shape: tuple[int, ...], dtype: Any = np.float32, layout: str | None = "NCHW") -> "DataDesc":  # noqa: D102
        new = super().__new__(cls, name, shape)
        new.dtype = dtype
        new.layout = layout
        return new

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.name, self.shape, self.dtype, self.layout

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """The batch axis of a layout, marked ``N``; −1 if there is none, 0 if the layout is None."""
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(shapes: Sequence[tuple[str, tuple[int, ...]]], types: Sequence[tuple[str, Any]] | None) -> "list[DataDesc]":
        """Descriptions from (name, shape) and (name, dtype) pairs."""
        if types is None:
            return [DataDesc(name, shape) for name, shape in shapes]
        dtypes = dict(types)
        return [DataDesc(name, shape, dtypes[name]) for name, shape in shapes]


class DataBatch:
    """A batch of data and labels.

    Parameters
    ----------
    data, label
        Lists of arrays.
    pad
        Number of padding rows at its end.
    index
        Indices of its rows in the dataset, if known.
    bucket_key
        The bucket of a `BucketingModule` that it belongs to.
    provide_data, provide_label
        Descriptions of the arrays, if they differ from batch to batch.

    Raises
    ------
    DTypeError
        If ``data`` or ``label`` is not a list.
    """

    def __init__(
        self,
        data: Sequence[NDArray],
        label: Sequence[NDArray] | None = None,
        pad: int | None = None,
        index: Any = None,
        bucket_key: Any = None,
        provide_data: Sequence[DataDesc] | None = None,
        provide_label: Sequence[DataDesc] | None = None,
    ) -> None:
        for what, arrays in (("Data", data), ("Label", label)):
            if arrays is not None and not isinstance(arrays, (list, tuple)):
                raise DTypeError(f"DataBatch: {what} must be list of NDArrays", type(arrays).__name__, "put it into a list")
        self.data = data
        self.label = label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    def __str__(self) -> str:
        labels = None if self.label is None else [array.shape for array in self.label]
        return f"{type(self).__name__}: data shapes: {[array.shape for array in self.data]} label shapes: {labels}"


class DataIter:
    """Base class of iterators over batches, including user-defined ones.

    Subclasses define ``provide_data`` and ``provide_label`` (lists of `DataDesc`), and either `next`, or `iter_next` with `getdata`,
    `getlabel`, `getpad` and `getindex`, which refer to the batch that `iter_next` advanced to.

    Parameters
    ----------
    batch_size
        Number of rows in a batch.
    """

    provide_data: Any
    provide_label: Any
    #: The key of the largest bucket, for iterators whose batches come in several shapes.
    default_bucket_key: Any = None

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[DataBatch]:
        return self

    def reset(self) -> None:
        """Return to the start of the data."""

    def next(self) -> DataBatch:
        """The next batch.

        Raises
        ------
        StopIteration
            At the end of the data.
        """
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def __next__(self) -> DataBatch:
        return self.next()

    def iter_next(self) -> bool:
        """Advance to the next batch; return whether there is one."""
        raise self._undefined("iter_next")

    def getdata(self) -> Any:
        """Data of the current batch."""
        raise self._undefined("getdata")

    def getlabel(self) -> Any:
        """Labels of the current batch."""
        raise self._undefined("getlabel")

    def getindex(self) -> Any:
        """Indices of the current batch's rows in the dataset; None if unknown."""
        return None

    def getpad(self) -> Any:
        """Number of padding rows at the end of the current batch."""
        raise self._undefined("getpad")

    def _undefined(self, method: str) -> MXNetError:
        return MXNetError(f"DataIter: {type(self).__name__} does not define {method}", None, "define it, or next(), in the subclass")


class OneBatchAhead(DataIter):
    """An iterator whose `iter_next` fetches and stores the current batch."""

    current_batch: DataBatch | None = None

    def next(self) -> DataBatch:
        """The next batch.

        Raises
        ------
        StopIteration
            At the end.
        """
        if not self.iter_next() or self.current_batch is None:
            raise StopIteration
        return self.current_batch

    def getdata(self) -> Sequence[NDArray]:
        """Data of the current batch."""
        return self._current().data

    def getlabel(self) -> Sequence[NDArray] | None:
        """Labels of the current batch."""
        return self._current().label

    def getindex(self) -> Any:
        """Indices of the current batch's rows in the dataset."""
        return self._current().index

    def getpad(self) -> int | None:
        """Number of padding rows at the end of the current batch."""
        return self._current().pad

    def _current(self) -> DataBatch:
        if self.current_batch is None:
            raise MXNetError(f"{type(self).__name__}: there is no current batch", None, "call iter_next() or next() first")
        return self.current_batch


class ResizeIter(OneBatchAhead):
    """Wraps an iterator so that an epoch has a given number of batches.

    Parameters
    ----------
    data_iter
        The iterator. It is reset whenever it ends within an epoch.
    size
        Number of batches per epoch.
    reset_internal
        Whether `reset` also resets the wrapped iterator; otherwise the next epoch continues where this one ended.
    """

    def __init__(self, data_iter: Any, size: int, reset_internal: bool = True) -> None:
        super().__init__()
        self.data_iter = data_iter
        self.size = size
        self.reset_internal = reset_internal
        self.cur = 0
        self.provide_data = data_iter.provide_data
        self.provide_label = data_iter.provide_label
        self.batch_size = data_iter.batch_size
        if isinstance(data_iter, DataIter):
            self.default_bucket_key = data_iter.default_bucket_key

    def reset(self) -> None:
        """Start a new epoch."""
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        """Advance to the next batch; return whether there is one."""
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            self.current_batch = self.data_iter.next()
        self.cur += 1
        return True
