"""``mx.contrib.io``: a Gluon data loader as an iterator for modules."""

from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import MXNetError, ParameterError
from ..gluon.data import DataLoader
from ..io.iterator import DataDesc, DataIter
from ..ndarray.array import NDArray
from ..ndarray.new_arrays import zeros

__all__ = ["DataLoaderIter"]


class DataLoaderIter(DataIter):
    """Iterates over the batches of a `twofold.gluon.data.DataLoader`, for training a module.

    Parameters
    ----------
    loader
        A loader of pairs of data and labels.
    data_name, label_name
        Their names.
    dtype
        The type that they are converted to.

    Raises
    ------
    ParameterError
        If the loader has no batches, or its batches are not pairs.

    Notes
    -----
    An incomplete last batch is filled with zeros, and `getpad` counts them.

    Examples
    --------
    >>> import numpy as np
    >>> import twofold as mx
    >>> dataset = mx.gluon.data.ArrayDataset(np.arange(10.0).reshape(5, 2), np.arange(5))
    >>> batches = mx.contrib.io.DataLoaderIter(mx.gluon.data.DataLoader(dataset, batch_size=2))
    >>> [(batch.data[0].shape, batch.pad) for batch in batches]
    [((2, 2), 0), ((2, 2), 0), ((2, 2), 1)]
    """

    def __init__(self, loader: DataLoader, data_name: str = "data", label_name: str = "softmax_label", dtype: Any = "float32") -> None:
        super().__init__()
        self._loader = loader
        self._iter: Iterator[Any] = iter(loader)
        # Only for its shapes; `reset` below starts the epoch again.
        first = next(self._iter, None)
        if not isinstance(first, (list, tuple)) or len(first) != 2:
            given = "no batches" if first is None else f"batches of {len(first) if isinstance(first, (list, tuple)) else 1} arrays"
            raise ParameterError("DataLoaderIter: batches must be pairs of data and labels", given, "use a dataset of pairs")
        data, label = first
        self.batch_size = data.shape[0]
        self.dtype = dtype
        self.provide_data = [DataDesc(data_name, data.shape, dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, dtype)]
        self._current_batch: Sequence[NDArray] | None = None
        self.reset()

    def reset(self) -> None:
        """Start a new epoch of the loader."""
        self._iter = iter(self._loader)

    def iter_next(self) -> bool:
        """Advance to the next batch; return whether there is one."""
        self._current_batch = next(self._iter, None)
        return self._current_batch is not None

    def getdata(self) -> list[NDArray]:
        """Data of the current batch."""
        return [self._filled(self._batch()[0])]

    def getlabel(self) -> list[NDArray]:
        """Labels of the current batch."""
        return [self._filled(self._batch()[1])]

    def getpad(self) -> int:
        """Number of rows that are missing in the current batch."""
        return self.batch_size - self._batch()[0].shape[0]

    def getindex(self) -> None:
        """None: a loader does not provide the rows' indices."""

    def _batch(self) -> Sequence[NDArray]:
        if self._current_batch is None:
            raise MXNetError("DataLoaderIter: there is no current batch", None, "call next(), or iter_next() until it returns False")
        return self._current_batch

    def _filled(self, part: NDArray) -> NDArray:
        """An array converted, and with rows of zeros up to the batch size."""
        missing = self.batch_size - part.shape[0]
        if not missing:
            # Executors are bound to one batch size, so a smaller last batch is filled up.
            return part.astype(self.dtype)
        found = zeros((self.batch_size, *part.shape[1:]), ctx=part.context, dtype=self.dtype)
        found[: part.shape[0]] = part.astype(self.dtype)
        return found
