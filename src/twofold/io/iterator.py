"""`DataIter`: the interface of iterators over batches, with `DataBatch` and `DataDesc`; the registry of iterators."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from ..dtype import DTypeLike
from ..errors import MXNetError, ParameterError, WrongArgument, WrongType
from ..extension_points import shown_as_text, shown_in_notebooks
from ..launcher_notes import launched
from ..ndarray.array import NDArray

T = TypeVar("T")
Indices = Sequence[int] | np.ndarray


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

    dtype: DTypeLike
    layout: str | None

    def __new__(cls, name: str, shape: tuple[int, ...], dtype: DTypeLike = np.float32, layout: str | None = "NCHW") -> "DataDesc":  # noqa: D102
        # dtype and layout are no items of the tuple, so that it compares equal to (name, shape), as programs expect
        new = super().__new__(cls, name, shape)
        new.dtype = dtype
        new.layout = layout
        return new

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    def __getnewargs__(self) -> tuple[str, tuple[int, ...], DTypeLike, str | None]:
        # copies and pickles call `__new__` with these; the tuple's own two items would lose dtype and layout
        return self.name, self.shape, self.dtype, self.layout

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """The batch axis of a layout, marked ``N``; −1 without one, 0 if the layout is None."""
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(shapes: Sequence[tuple[str, tuple[int, ...]]], types: Sequence[tuple[str, DTypeLike]] | None) -> "list[DataDesc]":
        """Descriptions from (name, shape) and (name, dtype) pairs."""
        if types is None:
            return [DataDesc(name, shape) for name, shape in shapes]
        dtypes = dict(types)
        return [DataDesc(name, shape, dtypes[name]) for name, shape in shapes]


#: Descriptions, or (name, shape) pairs.
Shapes = Sequence[DataDesc | tuple[str, tuple[int, ...]]]


def describe(shapes: Shapes | None) -> list[DataDesc]:
    """Convert (name, shape) pairs to descriptions, float32 by default; descriptions are kept.

    Raises
    ------
    WrongArgument
        If one is neither.
    """
    for x in shapes or ():
        if not isinstance(x, (tuple, list)) or len(x) < 2 or isinstance(x[1], int):
            raise WrongArgument("the shapes of data must be a list of (name, shape)", repr(x), "write [('data', (32, 10))], for example")
    # users' tuples may have dtype and layout after the shape
    return [x if isinstance(x, DataDesc) else DataDesc(x[0], tuple(x[1]), *x[2:]) for x in shapes or ()]


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
        index: Indices | None = None,
        bucket_key: object = None,
        provide_data: Sequence[DataDesc] | None = None,
        provide_label: Sequence[DataDesc] | None = None,
    ) -> None:
        for what, arrays in (("Data", data), ("Label", label)):
            # an array is a sequence too: without this check its rows would be taken for arrays
            if arrays is not None and not isinstance(arrays, (list, tuple)):
                raise WrongType(f"DataBatch: {what} must be list of NDArrays", type(arrays).__name__, "put it into a list")
        self.data = data
        self.label = label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    __repr__ = shown_as_text("batch")

    def __str__(self) -> str:
        labels = None if self.label is None else [array.shape for array in self.label]
        return f"{type(self).__name__}: data shapes: {[array.shape for array in self.data]} label shapes: {labels}"


@runtime_checkable
class BatchLike(Protocol):
    """What a model reads of a batch; all other attributes of `DataBatch` are optional.

    MXNet's programs often pass a namedtuple of data alone.
    """

    @property
    def data(self) -> Sequence[NDArray]:
        """The arrays."""
        ...


class BatchSource(Protocol):
    """The members of an iterator, possibly of a user's class, that training and evaluation need."""

    def __iter__(self) -> Iterator[DataBatch]: ...

    @property
    def provide_data(self) -> Shapes:
        """Descriptions of a batch's data."""
        ...

    @property
    def provide_label(self) -> Shapes | None:
        """Descriptions of a batch's labels."""
        ...

    def reset(self) -> None:
        """Start a new epoch."""
        ...


class DataIter:
    """Base class of iterators over batches, including user-defined ones.

    Subclasses define ``provide_data`` and ``provide_label`` (lists of `DataDesc`), and either `next`, or `iter_next` with `getdata`,
    `getlabel`, `getpad` and `getindex`, which refer to the batch that `iter_next` advanced to. What they do not define is None, as in
    MXNet: an iterator without `iter_next` is at its end.

    Parameters
    ----------
    batch_size
        Number of rows in a batch.
    """

    # not `list[DataDesc]`: some iterators compute them in properties, and users' iterators may give (name, shape) pairs
    provide_data: Any
    provide_label: Any
    #: The key of the largest bucket, for iterators whose batches come in several shapes.
    default_bucket_key: object = None
    #: The attributes that its text has after the shapes of its batches.
    _shown: ClassVar[tuple[str, ...]] = ()
    __repr__ = shown_as_text("iterator")
    _repr_html_ = shown_in_notebooks("iterator")

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
        return DataBatch(_listed(self.getdata()), _listed(self.getlabel()), self.getpad(), self.getindex())

    def __next__(self) -> DataBatch:
        return self.next()

    def iter_next(self) -> bool | None:
        """Advance to the next batch; return whether there is one."""
        return None

    def getdata(self) -> Any:
        """Data of the current batch."""
        return None

    def getlabel(self) -> Sequence[NDArray] | NDArray | None:
        """Labels of the current batch."""
        return None

    def getindex(self) -> Indices | None:
        """Indices of the current batch's rows in the dataset; None if unknown."""
        return None

    def getpad(self) -> int | None:
        """Number of padding rows at the end of the current batch."""
        return None

    def state_dict(self) -> dict[str, object]:
        """Where in the epoch the iterator is, as numbers and lists that JSON can represent.

        Raises
        ------
        MXNetError
            If the class does not define it.
        """
        raise self._undefined("state_dict")

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Continue where another iterator over the same data was: with the batch after the one that it returned last.

        Later epochs are shuffled by ``numpy.random``, whose state is saved separately.

        Parameters
        ----------
        state
            A result of `state_dict`.

        Raises
        ------
        ParameterError
            If it is not that of such an iterator; nothing has changed then.
        MXNetError
            If the class does not define it.
        """
        raise self._undefined("load_state_dict")

    def _undefined(self, method: str) -> MXNetError:
        return MXNetError(f"DataIter: {type(self).__name__} does not define {method}", None, "define it, or next(), in the subclass")


class LoadingIter(DataIter):
    """Base class of iterators over files, which can leave out loading."""

    _debug_skip_load = False

    def debug_skip_load(self) -> None:
        """Make `next` return the current batch, or the epoch's first one, again and again, to time training by itself."""
        self._debug_skip_load = True
        logging.info("Set debug_skip_load to be true, will simply return first batch")

    def _has_batch(self) -> bool:
        """Whether there is a current batch."""
        raise self._undefined("_has_batch")

    def next(self) -> DataBatch:
        """As `DataIter.next`, but see `debug_skip_load`."""
        if self._debug_skip_load and self._has_batch():
            return DataBatch(_listed(self.getdata()), _listed(self.getlabel()), self.getpad(), self.getindex())
        return super().next()


def _listed(arrays: T | NDArray) -> T | list[NDArray]:
    """A single array in a list: MXNet's iterators over files return it without one."""
    return [arrays] if isinstance(arrays, NDArray) else arrays


# the registry


Make = TypeVar("Make", bound=Callable[..., DataIter])


class Registered(NamedTuple):
    """An iterator of ``mx.io``.

    Attributes
    ----------
    make
        The class, or a function that creates an iterator.
    sample
        Creates a small iterator for the generated tests, given a folder for files that it needs.
    rows
        The dataset rows that an epoch of the sample visits, in order, without padding.
    """

    make: Callable[..., DataIter]
    sample: Callable[[Path], DataIter]
    rows: Sequence[int]


#: The iterators of ``mx.io``, by name.
REGISTERED: dict[str, Registered] = {}


def register_iterator(*, sample: Callable[[Path], DataIter], rows: Sequence[int]) -> Callable[[Make], Make]:
    """Decorator: add an iterator to ``mx.io`` under its own name, and to the tests that hold every iterator to the protocol.

    Parameters
    ----------
    sample
        Creates a small iterator of at least two batches, the same ones in each epoch, given an empty folder for files that it needs.
    rows
        The dataset rows that an epoch of the sample visits, in order, without padding: ``range(5)`` for five rows. The tests hold the
        sample's padding and indices to it.
    """

    def register(make: Make) -> Make:
        REGISTERED[make.__name__] = Registered(make, sample, rows)
        return make

    return register


#: The value of ``num_parts`` that divides the data over the workers that ``twofold launch`` has started.
WORKERS = "workers"


def part_of(iterator: str, num_parts: int | str, part_index: int) -> tuple[int, int]:
    """The number of parts, and which of them is read.

    Parameters
    ----------
    iterator
        Its name, for errors.
    num_parts, part_index
        As passed to the iterator. With ``num_parts="workers"`` they are the numbers of the launcher, which are also ``kv.num_workers``
        and ``kv.rank`` of a distributed store; one part outside it.

    Raises
    ------
    ParameterError
        If there is no such part.
    """
    if num_parts == WORKERS:
        if part_index:
            raise ParameterError(f"{iterator}: num_parts='workers' sets part_index too", f"part_index={part_index}", "leave part_index out")
        rank, workers = launched()
        return workers, rank if rank < workers else 0  # servers read nothing: any part will do
    count = int(num_parts) if not isinstance(num_parts, str) or num_parts.isdecimal() else 0  # MXNet's iterators take text
    if not 0 <= part_index < count:
        given = f"part_index={part_index} of num_parts={num_parts}"
        raise ParameterError(f"{iterator}: no such part", given, "count parts from 0, or pass num_parts='workers'")
    return count, part_index
