"""What an iterator over batches is: `DataIter`, its batches and their descriptions; iterators that upper layers add."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import DTypeError, MXNetError
from ..ndarray.array import NDArray

__all__ = ["REGISTERED", "DataBatch", "DataDesc", "DataIter", "ResizeIter", "register_iterator"]

#: Iterators that `register_iterator` added to ``mx.io``, by name.
REGISTERED: dict[str, Callable[..., Any]] = {}


def register_iterator(name: str, make: Callable[..., Any]) -> None:
    """Add an iterator to ``mx.io``; for layers above it.

    Parameters
    ----------
    name
        Its name there.
    make
        The class, or a function that makes one.
    """
    REGISTERED[name] = make


class _NameAndShape(NamedTuple):
    name: str
    shape: tuple[int, ...]


class DataDesc(_NameAndShape):
    """Name, shape, dtype and layout of one array of a batch; equal to the tuple (name, shape).

    Parameters
    ----------
    name
        Name of the variable that it is for.
    shape
        Its shape, the batch's size included.
    dtype
        Its dtype.
    layout
        What its axes are, a letter each; ``N`` is the axis of the batch.
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
        """Axis of the batch in a layout: that of ``N``, −1 if there is none, 0 if the layout is not known."""
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(shapes: Sequence[tuple[str, tuple[int, ...]]], types: Sequence[tuple[str, Any]] | None) -> "list[DataDesc]":
        """Descriptions from pairs of name and shape, and of name and dtype."""
        if types is None:
            return [DataDesc(name, shape) for name, shape in shapes]
        dtypes = dict(types)
        return [DataDesc(name, shape, dtypes[name]) for name, shape in shapes]


class DataBatch:
    """A batch.

    Parameters
    ----------
    data, label
        Lists of arrays.
    pad
        How many of its last rows only fill it up.
    index
        Numbers of its rows in the data set, if known.
    bucket_key
        Which model of a `BucketingModule` it is for.
    provide_data, provide_label
        `DataDesc` s of the arrays, where these differ from batch to batch.

    Raises
    ------
    DTypeError
        If ``data`` or ``label`` is no list.
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
    """The base of iterators over batches, and of users' own.

    A subclass gives ``provide_data`` and ``provide_label`` (lists of `DataDesc`), and either `next`, or `iter_next` with `getdata`,
    `getlabel`, `getpad` and `getindex`, which speak of the batch that `iter_next` moved to.

    Parameters
    ----------
    batch_size
        Number of rows of a batch.
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
        """Go back to the start of the data."""

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
        """Move to the next batch; whether there is one."""
        raise self._undefined("iter_next")

    def getdata(self) -> Any:
        """Data of the current batch."""
        raise self._undefined("getdata")

    def getlabel(self) -> Any:
        """Labels of the current batch."""
        raise self._undefined("getlabel")

    def getindex(self) -> Any:
        """Numbers of the current batch's rows in the data set; None if not known."""
        return None

    def getpad(self) -> Any:
        """How many of the current batch's last rows only fill it up."""
        raise self._undefined("getpad")

    def _undefined(self, method: str) -> MXNetError:
        return MXNetError(f"DataIter: {type(self).__name__} does not define {method}", None, "define it, or next(), in the subclass")


class OneBatchAhead(DataIter):
    """An iterator that holds its current batch, which `iter_next` fetches."""

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
        """Numbers of the current batch's rows in the data set."""
        return self._current().index

    def getpad(self) -> int | None:
        """How many of the current batch's last rows only fill it up."""
        return self._current().pad

    def _current(self) -> DataBatch:
        if self.current_batch is None:
            raise MXNetError(f"{type(self).__name__}: there is no current batch", None, "call iter_next() or next() first")
        return self.current_batch


class ResizeIter(OneBatchAhead):
    """Another iterator, as if an epoch had a given number of batches.

    Parameters
    ----------
    data_iter
        The iterator; it starts anew whenever it ends within an epoch.
    size
        Number of batches of an epoch.
    reset_internal
        Whether `reset` starts it anew too; else the next epoch goes on where this one ended.
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
        """Move to the next batch; whether there is one."""
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            self.current_batch = self.data_iter.next()
        self.cur += 1
        return True
