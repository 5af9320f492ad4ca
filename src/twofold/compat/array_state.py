"""The private state and methods of arrays and executors that libraries written on MXNet use, which `adopt` gives to the classes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..device import Device, current_device
from ..errors import InvalidValue
from ..executor.executor import Executor
from ..formats.params import load_array
from ..imperative.array import Array
from ..ndarray.array import NDArray
from ..ndarray.saving import array_of
from ..ndarray.sparse_array import BaseSparseNDArray, CSRNDArray


def adopt(cls: type, state: type) -> None:
    """Give a class the attributes that another one defines, such as properties that show its state as MXNet's class stores it.

    Parameters
    ----------
    cls
        The class.
    state
        Defines them; it is never instantiated.
    """
    for name, value in vars(state).items():
        if name in ("__init_subclass__", "__setstate__") or not name.startswith("__"):
            setattr(cls, name, value)


class ArrayState(NDArray):
    """Methods of `NDArray`: NumPy's indexing under other names, and what MXNet's pickles call."""

    def __setstate__(self, state: Mapping[str, bytes | None]) -> None:
        stored = state["handle"]
        if stored is not None:
            self._held = array_of(load_array(stored), type(self))._content

    def _slice(self, start: int | None, stop: int | None) -> Array:
        """Rows from ``start`` to before ``stop``, as a view; an error if these are in the other order."""
        first, last, _ = slice(start, stop).indices(self.shape[0])
        if first > last:
            raise InvalidValue("_slice: the rows end before they begin", f"{start} to {stop} of {self.shape[0]}", "pass start ≤ stop")
        return self[first:last]

    def _at(self, idx: int) -> Array:
        """A row, as a view."""
        return self[idx]

    def _full(self, value: float) -> Array:
        """Fill the array."""
        self[:] = value
        return self

    def _sync_copyfrom(self, source_array: np.ndarray) -> None:
        """Copy an array of the same shape into this one.

        Raises
        ------
        InvalidValue
            If the shapes differ.
        """
        source = np.asarray(source_array)
        if source.shape != self.shape:
            raise InvalidValue(f"Shape inconsistent: expected {self.shape} vs got {source.shape}", None, "reshape the source")
        self[:] = source


def _num_aux(array: BaseSparseNDArray) -> int:
    """The number of arrays of indices of a sparse array: two in ``csr``, one in ``row_sparse``."""
    return 2 if isinstance(array, CSRNDArray) else 1


class SparseState:
    """State of sparse arrays. It is no class of them, which would be entered as a storage type."""

    _num_aux = property(_num_aux)
    #: The dtypes of the arrays of indices.
    _aux_types = property(lambda array: [np.int64] * _num_aux(array))

    def _aux_data(self: Any, i: int) -> NDArray:
        """An array of indices: in ``csr`` the first one says where rows begin, and the last one has the columns or rows."""
        if i not in range(_num_aux(self)):
            raise InvalidValue("_aux_data: there is no such array of indices", str(i), f"pass a number below {_num_aux(self)}")
        return self.indices if i == _num_aux(self) - 1 else self.indptr

    def _aux_type(self: Any, i: int) -> type:
        """The dtype of an array of indices."""
        return self._aux_types[i]

    def _data(self: Any) -> NDArray:
        """The stored elements."""
        return self.data


class ExecutorState(Executor):
    """State of `Executor`."""

    @property
    def _ctx(self) -> Device:
        """The device."""
        return next((array.context for array in self.arg_arrays), current_device())

    #: MXNet fills these when the names without an underscore are first read.
    _arg_dict = property(lambda executor: executor.arg_dict)
    _grad_dict = property(lambda executor: executor.grad_dict)
    _aux_dict = property(lambda executor: executor.aux_dict)

    @staticmethod
    def _get_dict(names: Sequence[str], ndarrays: Sequence[NDArray | None]) -> dict[str, NDArray | None]:
        """Arrays by name.

        Raises
        ------
        InvalidValue
            If a name occurs twice.
        """
        if len(set(names)) < len(names):
            raise InvalidValue(f"Duplicate names detected, {names}", None, "give each node a name of its own")
        return dict(zip(names, ndarrays, strict=False))

    def _get_outputs(self) -> list[NDArray]:
        """The outputs."""
        return self.outputs

    @property
    def _monitor_callback(self) -> object:
        """The function that gets the inner arrays; None without one."""
        return None if self._monitor is None else self._monitor[0]

    @property
    def _monitor_all(self) -> bool | None:
        """Whether it gets the inputs of nodes too; None without one."""
        return None if self._monitor is None else self._monitor[1]

    @property
    def _symbol(self) -> object:
        """The graph as a symbol."""
        return self._source.symbol()


for _cls, _state in ((NDArray, ArrayState), (BaseSparseNDArray, SparseState), (Executor, ExecutorState)):
    adopt(_cls, _state)
