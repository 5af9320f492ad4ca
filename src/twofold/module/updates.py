"""`Updates`: an optimizer at work on the parameters of a module, in the key-value store or on the devices."""

from collections.abc import Mapping, Sequence
from os import PathLike, environ
from typing import Any

from ..errors import DTypeError, ParameterError
from ..formats.files import read_file, write_file
from ..kvstore.base import KVStoreBase
from ..kvstore.local import create
from ..ndarray.array import NDArray
from ..optimizer.base import Optimizer
from ..optimizer.updater import Updater, get_updater
from .device_group import DeviceGroup

__all__ = ["Updates", "store_for"]

#: Elements from which an array is updated on the devices and not in a "local" store, which would do it on the CPU.
BIG = 16 * 1024 * 1024


def store_for(kvstore: Any, devices: int, params: Mapping[str, NDArray]) -> tuple[KVStoreBase | None, bool]:
    """The store that sums gradients, and whether the optimizer runs in it.

    Parameters
    ----------
    kvstore
        A store, the name of a kind of store, or None. One device needs none, so a name makes none then.
    devices
        Number of devices.
    params
        The parameters by name.

    Raises
    ------
    DTypeError
        If it is something else.
    """
    if kvstore is None:
        return None, False
    store, big = None, False
    if isinstance(kvstore, KVStoreBase):
        store = kvstore
    elif not isinstance(kvstore, str):
        raise DTypeError("kvstore must be KVStore, str or None", type(kvstore).__name__, "make one with mx.kv.create")
    elif devices > 1 or "dist" in kvstore:
        store = create(kvstore)
        big = kvstore == "local" and max((p.size for p in params.values()), default=0) > BIG
    wanted = environ.get("MXNET_UPDATE_ON_KVSTORE", "1") != "0"
    return store, store is not None and wanted and not big and store.is_capable(KVStoreBase.OPTIMIZER)


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
        self.updater: Updater | None = None if on_store else get_updater(optimizer)

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
            self.store.set_gradient_compression(compression)  # type: ignore[attr-defined]
        for name, weights in zip(group.param_names, group.param_arrays, strict=True):
            self.store.broadcast(name, params[name], out=weights)
        if self.on_store:
            self.store.set_optimizer(self.optimizer)

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
        if self.updater is None and self.store is not None:
            self.store.save_optimizer_states(fname)
        elif self.updater is not None:
            write_file(fname, [self.updater.get_states()])

    def load(self, fname: str | PathLike[str], devices: int) -> None:
        """Read the optimizer's states from a file, also if it was written by a module on other devices.

        Parameters
        ----------
        fname
            The file.
        devices
            How many devices there are now.

        Raises
        ------
        FormatError
            If the file is damaged.
        ParameterError
            If its states are not those of these parameters.
        """
        if self.updater is None and self.store is not None:
            self.store.load_optimizer_states(fname)
        elif self.updater is not None:
            self.updater.set_states(read_file(fname))
            self.updater.states = self._renumbered(self.updater.states, devices)
            self.updater.states_synced = dict.fromkeys(self.updater.states, False)

    def _renumbered(self, states: Mapping[Any, Any], devices: int) -> dict[Any, Any]:
        """States by number, of states by number or by name, for this number of devices."""
        if not any(isinstance(key, str) for key in states):
            return dict(states)
        unknown = sorted(key for key in states if key not in self.places)
        if unknown:
            raise ParameterError(
                "Module: optimizer states of other parameters", ", ".join(map(str, unknown)), f"the parameters are {', '.join(self.names)}"
            )
        return {self.places[name] * devices + k: state for name, state in states.items() for k in range(devices)}
