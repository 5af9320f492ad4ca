"""`Updater`: an optimizer with the states of all weights, created on first use, saved and loaded in MXNet's format."""

from collections.abc import Iterator
from typing import Any

from ..device import Device
from ..imperative.array import Array
from ..ndarray.array import NDArray
from . import states as state_files
from .base import Index, Optimizer, State

__all__ = ["Updater", "get_updater"]


class Updater:
    """Updates weights with an optimizer and holds their states.

    Parameters
    ----------
    optimizer
        The optimizer.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.states: dict[Index, State] = {}
        #: Whether each state is on the device of its weight: states from a file are on the CPU until their weight is updated.
        self.states_synced: dict[Index, bool] = {}
        self.aggregate_updates = optimizer.aggregate_num > 0

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        """Update one weight or several.

        Parameters
        ----------
        index
            Index or name of the weight, or a list of these.
        grad, weight
            Gradient and weight, or lists of them.
        """
        if not isinstance(index, (list, tuple)):
            index, grad, weight = [index], [grad], [weight]
        if not weight:
            return
        # before any count: weights of one call are on one device
        self.optimizer._set_current_context(weight[0].context.device_id)
        for i, w in zip(index, weight, strict=True):
            if not self.states_synced.get(i):
                self._prepare(i, w)
        all_at_once = self.optimizer._updates_all_at_once()
        if all_at_once or self.aggregate_updates:
            size = len(weight) if all_at_once else self.optimizer.aggregate_num
            for group in _groups(list(zip(index, weight, grad, strict=True)), size):
                indices, weights, grads = (list(column) for column in zip(*group, strict=True))
                self.optimizer.update_multi_precision(indices, weights, grads, [self.states[i] for i in indices])
        else:
            for i, g, w in zip(index, grad, weight, strict=True):
                self.optimizer.update_multi_precision(i, w, g, self.states[i])

    def _prepare(self, index: Index, weight: NDArray) -> None:
        if index not in self.states:
            self.states[index] = self.optimizer.create_state_multi_precision(index, weight)
        elif not self.states_synced[index]:
            self.states[index] = self.sync_state_context(self.states[index], weight.context)
        self.states_synced[index] = True

    def sync_state_context(self, state: State, context: Device) -> State:
        """The state with all its arrays moved to a device.

        Parameters
        ----------
        state
            None, an array, or a tuple or list of these.
        context
            The device.
        """
        if isinstance(state, Array):
            array: Any = state
            return array.as_in_context(context)
        if isinstance(state, (tuple, list)):
            return type(state)(self.sync_state_context(part, context) for part in state)
        return state

    def set_states(self, states: bytes) -> None:
        """Load states written by `get_states` or MXNet, and the optimizer if it was written too.

        Parameters
        ----------
        states
            The contents of a ``.states`` file. It is read as plain data: no code in it runs.

        Raises
        ------
        FormatError
            If it is damaged.
        """
        self.states, optimizer = state_files.load(states)
        if optimizer is not None:
            self.optimizer = optimizer
            self.aggregate_updates = optimizer.aggregate_num > 0
        self.states_synced = dict.fromkeys(self.states, False)

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """The states as bytes, in a format that MXNet also reads.

        Parameters
        ----------
        dump_optimizer
            Include the optimizer and its update counts.
        """
        return state_files.dump(self.states, self.optimizer if dump_optimizer else None)


Item = tuple[Index, NDArray, NDArray]


def _groups(items: list[Item], size: int) -> Iterator[list[Item]]:
    """Groups of up to ``size`` weights, each of a single dtype: MXNet's aggregated operators take no mixture."""
    by_dtype: dict[str, list[Item]] = {}
    for item in items:
        by_dtype.setdefault(item[1]._dtype, []).append(item)
    for group in by_dtype.values():
        for start in range(0, len(group), size):
            yield group[start : start + size]


def get_updater(optimizer: Optimizer) -> Updater:
    """An `Updater` of an optimizer, for key-value stores.

    Parameters
    ----------
    optimizer
        The optimizer.
    """
    return Updater(optimizer)
