"""`Updates`: an optimizer at work on the parameters of a module, in the key-value store or on the devices."""

import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from ..errors import ParameterError
from ..formats.files import read_file, write_file
from ..kvstore.base import KVStoreBase
from ..kvstore.local import KVStore
from ..ndarray.array import NDArray
from ..optimizer.base import Optimizer
from ..optimizer.base import create as create_optimizer
from ..optimizer.updater import Updater, get_updater
from .device_group import DeviceGroup

__all__ = ["Updates", "named_optimizer"]


class Updates:
    """An optimizer with its states, and the store that sums gradients.

    Parameters
    ----------
    optimizer
        The optimizer.
    store
        The store; None if each device's gradients are its own.
    on_store
        Whether the optimizer runs in the store, on the sums, rather than on every device.
    names
        Names of the parameters in order; on devices the states of the n-th of m devices have the numbers m · place + n.
    """

    def __init__(self, optimizer: Optimizer, store: KVStoreBase | None, on_store: bool, names: Sequence[str]) -> None:
        self.optimizer, self.store, self.on_store, self.names = optimizer, store, on_store, list(names)
        self.places = {name: place for place, name in enumerate(names)}
        own = on_store and not isinstance(store, KVStore)  # a store of the user's has an updater of its own
        self._working: Updater | None = None if own else get_updater(optimizer)

    @property
    def updater(self) -> Updater | None:
        """What updates weights on the devices; None if the store does."""
        return None if self.on_store else self._working

    def start(self, group: DeviceGroup, params: Mapping[str, NDArray], compression: Mapping[str, Any] | None) -> None:
        """Give the store the parameters.

        Parameters
        ----------
        group
            The devices.
        params
            The parameters by name.
        compression
            How gradients are compressed, see `KVStore.set_gradient_compression`.
        """
        if self.store is None:
            return
        if compression:
            self.store.set_gradient_compression(compression)
        for name, weights in zip(group.param_names, group.param_arrays, strict=True):
            self.store.broadcast(name, params[name], out=weights)
        if self.on_store:
            self._work_on_store()

    def _work_on_store(self) -> None:
        assert self.store is not None
        if isinstance(self.store, KVStore) and self._working is not None:
            self.store.set_updater(self._working)
        else:
            self.store.set_optimizer(self.optimizer)

    def restart(self, group: DeviceGroup, params: Mapping[str, NDArray]) -> None:
        """Go on from other values of the parameters, also in the store; a store of the user's keeps its own.

        Parameters
        ----------
        group
            The devices, which have them already.
        params
            The parameters by name.
        """
        if not self.on_store or not isinstance(self.store, KVStore):
            return
        self.store.set_updater(lambda key, _, stored: params[str(key)].copyto(stored))
        for name, weights in zip(group.param_names, group.param_arrays, strict=True):
            self.store.push(name, weights[0])
        self._work_on_store()

    def step(self, group: DeviceGroup) -> None:
        """Update all parameters that have gradients.

        Parameters
        ----------
        group
            The devices; of this module, or of one that has the same parameters or some of them.
        """
        rows = [
            (name, weights, grads)
            for name, weights, grads in zip(group.param_names, group.param_arrays, group.grad_arrays, strict=True)
            if grads[0] is not None
        ]
        if self.store is not None:
            for place, (name, weights, grads) in enumerate(rows):
                self.store.pushpull(name, grads, out=weights if self.on_store else grads, priority=-place)
        if self.updater is None:
            return
        count = len(group.contexts)
        for device in range(count):
            indices = [self.places[name] * count + device for name, _, _ in rows]
            self.updater(indices, [grads[device] for _, _, grads in rows], [weights[device] for _, weights, _ in rows])

    def save(self, fname: str | PathLike[str]) -> None:
        """Write the optimizer's states into a file."""
        if self._working is not None:
            write_file(fname, [self._working.get_states()])
        elif self.store is not None:
            self.store.save_optimizer_states(fname)

    def load(self, fname: str | PathLike[str], group: DeviceGroup) -> None:
        """Read the optimizer's states from a file, also if it was written by a module on other devices.

        Parameters
        ----------
        fname
            The file.
        group
            The devices.

        Raises
        ------
        FormatError
            If the file is damaged.
        ParameterError
            If its states are those of other parameters.
        """
        if self._working is not None:
            self._working.set_states(read_file(fname))
            trained = [name for name, grads in zip(group.param_names, group.grad_arrays, strict=True) if grads[0] is not None]
            self._working.states = self._for_devices(self._working.states, trained, len(group.contexts))
            self._working.states_synced = dict.fromkeys(self._working.states, False)
        elif self.store is not None:
            self.store.load_optimizer_states(fname)

    def _for_devices(self, states: Mapping[Any, Any], trained: Sequence[str], devices: int) -> dict[Any, Any]:
        """States under the keys that they have here, from those they have in a module on any number of devices, with a store or not."""
        found = self._by_name(states, trained)
        if found is None:
            return dict(states)
        if self.on_store:
            return {name: column[0] for name, column in found.items()}
        return {
            self.places[name] * devices + k: column[k] if k < len(column) else _copied(column[0])
            for name, column in found.items()
            for k in range(devices)
        }

    def _by_name(self, states: Mapping[Any, Any], trained: Sequence[str]) -> dict[str, list[Any]] | None:
        """For each parameter its states on the devices that they were saved from; None if their keys do not tell."""
        if any(isinstance(key, str) for key in states):
            unknown = sorted(str(key) for key in states if key not in self.places)
            if unknown:
                raise ParameterError("Module: optimizer states of other parameters", ", ".join(unknown), f"it has {', '.join(self.names)}")
            return {name: [state] for name, state in states.items()}
        count = max(1, len(states) // max(1, len(trained)))
        keys = {name: [self.places[name] * count + k for k in range(count)] for name in trained}
        if {key for column in keys.values() for key in column} != set(states):
            return None
        return {name: [states[key] for key in column] for name, column in keys.items()}


def _copied(state: Any) -> Any:
    """A state with arrays of its own."""
    if isinstance(state, NDArray):
        return state.copy()
    return type(state)(_copied(part) for part in state) if isinstance(state, (tuple, list)) else state


def named_optimizer(optimizer: Any, params: Mapping[str, Any], names: Mapping[int, str], scale: float, symbol: Any) -> Optimizer:
    """An optimizer that knows the parameters.

    Parameters
    ----------
    optimizer
        An optimizer, or the name of one.
    params
        Parameters of one that is made here.
    names
        Names of the parameters by number.
    scale
        What it multiplies gradients by, unless ``params`` say so: 1 / batch size.
    symbol
        Its variables' attributes say more about the parameters.

    Raises
    ------
    ParameterError
        If it is something else.
    """
    if isinstance(optimizer, str):
        return create_optimizer(optimizer, **{"sym": symbol, "param_idx2name": names, "rescale_grad": scale, **params})
    if not isinstance(optimizer, Optimizer):
        raise ParameterError("Module.init_optimizer: not an optimizer", type(optimizer).__name__, "make one with mx.optimizer.create")
    if optimizer.rescale_grad != scale:
        text = f"rescale_grad is not normalized to 1.0/batch_size/num_workers ({optimizer.rescale_grad} vs. {scale})"
        warnings.warn(f"Optimizer created manually outside Module but {text}. Is this intended?", UserWarning, stacklevel=3)
    if not optimizer.idx2name:
        optimizer.idx2name = dict(names)
    return optimizer
