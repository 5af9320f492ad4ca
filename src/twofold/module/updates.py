"""`Updates`: applies an optimizer to the parameters of a module, in the key-value store or on the devices."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from os import PathLike
from typing import Any, NamedTuple, Protocol

from .. import ndarray as nd
from ..errors import DTypeError, InvalidValue, ParameterError
from ..formats.files import read_file, write_file
from ..kvstore.base import KVStoreBase
from ..ndarray.array import NDArray
from ..optimizer.base import Optimizer
from ..optimizer.base import create as create_optimizer
from ..optimizer.updater import Updater, get_updater
from ..origin import warn
from ..symbol.symbol import Symbol
from .device_group import DeviceGroup


class _Rows(NamedTuple):
    """The arrays that a step updates: as the group has them, as (name, weights, gradients) of each parameter, and by device."""

    weights: Sequence[list[NDArray]]
    grads: Sequence[list[Any]]
    trained: list[tuple[str, list[NDArray], list[Any]]]
    by_device: list[tuple[tuple[int, ...], tuple[Any, ...], tuple[NDArray, ...]]]


class Updates:
    """An optimizer, its states, and the store that sums gradients.

    Parameters
    ----------
    optimizer
        The optimizer.
    store
        The store; None if gradients are not summed.
    on_store
        Whether the optimizer runs in the store, on the sums, rather than on every device.
    names
        Names of the parameters in order. When updated on devices, a parameter's state on the n-th of m devices has the index
        m · position + n.
    """

    def __init__(self, optimizer: Any, store: Any, on_store: bool, names: Sequence[str]) -> None:
        self.optimizer, self.store, self.on_store, self.names = optimizer, store, on_store, list(names)
        self.places = {name: place for place, name in enumerate(names)}
        #: The store if this process updates its arrays. A user-defined store and one on servers have updaters of their own.
        self._in_process = store._in_process if on_store and store is not None else None
        #: Updates weights in this process; None if the store has its own updater.
        # one updater for both: a store in this process runs the same object as the devices
        self._working: Any = None if optimizer is None or (on_store and self._in_process is None) else get_updater(optimizer)
        #: The updater of weights on the devices; None if the store updates them.
        self.updater: Any = None if on_store else self._working
        # of the last step; valid as long as the group has the same lists
        self._rows: _Rows | None = None

    def with_part(self, name: str, value: object) -> "Updates":
        """A copy with another optimizer, store, updater or ``on_store``, which a subclass of a module has set up itself.

        Parameters
        ----------
        name
            The attribute.
        value
            Its value.
        """
        changed = copy(self)
        setattr(changed, name, value)
        changed._rows = None
        # whoever assigns an optimizer alone goes on with the updater that there is, as in MXNet
        if name != "optimizer":
            changed._in_process, changed._working = None, None if changed.on_store else changed.updater
        return changed

    def start(self, group: DeviceGroup, params: Mapping[str, NDArray], compression: Mapping[str, str | float] | None) -> None:
        """Send the parameters to the store.

        Parameters
        ----------
        group
            The devices.
        params
            The parameters by name.
        compression
            How to compress gradients; see `KVStore.set_gradient_compression`.
        """
        if self.store is None:
            return
        if compression:
            self.store.set_gradient_compression(compression)
        for name, weights in zip(group.param_names, group.param_arrays, strict=True):
            # all workers start from the values of the first one
            self.store.broadcast(name, params[name], out=weights)
        if self.on_store:
            self._work_on_store()

    def _work_on_store(self) -> None:
        assert self.store is not None
        if self._in_process is not None and self._working is not None:
            self._in_process.set_updater(self._working)
        else:
            self.store.set_optimizer(self.optimizer)

    def restart(self, group: DeviceGroup, params: Mapping[str, NDArray]) -> None:
        """Replace the stored parameters by other values. A user-defined store keeps its own values.

        Parameters
        ----------
        group
            The devices, which have the new values already.
        params
            The parameters by name.
        """
        if self._in_process is None:
            return
        for name in group.param_names:
            self._in_process.replace(name, params[name])

    def step(self, group: DeviceGroup) -> None:
        """Update all parameters that have gradients.

        Parameters
        ----------
        group
            The devices of this module, or of another module that shares some or all of its parameters.
        """
        known = self._rows
        # A group that is bound again, or another bucket's, has other lists: then the rows and the updater's calls are made again.
        if known is None or known.weights is not group.param_arrays or known.grads is not group.grad_arrays:
            known = self._rows = self._rows_of(group)
        if self.store is not None:
            self._sum(self.store, known.trained)
        if self.on_store:
            return
        if self._working is None:
            raise DTypeError("Module.update: the module has no updater", None, "call init_optimizer(), or assign _updater")
        # one call per device: the weights of a call are on one device, and each device counts its own updates
        for work in known.by_device:
            if self.store is None or not isinstance(self._working, Updater):
                self._working(*work)
            else:
                self.store.update_with(self._working, *work)

    def _sum(self, store: KVStoreBase, trained: Sequence[tuple[str, list[NDArray], list[Any]]]) -> None:
        """Sum the gradients, and update the weights where the store does."""
        names, all_grads, outs = [], [], []
        for name, weights, grads in trained:
            if self.on_store and weights[0].stype == "row_sparse":  # `prepare` pulls the rows of the next batch
                store.push(name, grads)
            else:
                names.append(name)
                all_grads.append(grads)
                outs.append(weights if self.on_store else grads)
        store.pushpull_list(names, all_grads, outs)

    def pull_whole(self, params: Mapping[str, NDArray]) -> None:
        """Copy row-sparse weights with all their rows from the store."""
        for name, array in params.items() if self.on_store else ():
            if array.stype == "row_sparse" and name in self.places:
                assert self.store is not None
                # row numbers for all rows: the devices may have only those of their last batches
                numbers = nd.arange(0, array.shape[0], dtype="int64", ctx=array.context)
                self.store.row_sparse_pull(name, out=array, row_ids=numbers)

    def _rows_of(self, group: DeviceGroup) -> "_Rows":
        """The arrays to update, the same objects until the group is bound to others."""
        # a parameter with grad_req null has None for a gradient, on all devices
        rows = [row for row in zip(group.param_names, group.param_arrays, group.grad_arrays, strict=True) if row[2][0] is not None]
        count = len(group.contexts)
        by_device = [
            (
                tuple([self.places[name] * count + device for name, _, _ in rows]),
                tuple([grads[device] for _, _, grads in rows]),
                tuple([weights[device] for _, weights, _ in rows]),
            )
            for device in range(count)
        ]
        return _Rows(group.param_arrays, group.grad_arrays, rows, by_device)

    def save(self, fname: str | PathLike[str]) -> None:
        """Write the optimizer's states, and how many updates it has done, to a file."""
        if isinstance(self._working, Updater) and type(self._working).get_states is Updater.get_states:
            write_file(fname, [self._working.get_states(dump_progress=True)])
        elif self._working is not None:
            write_file(fname, [self._working.get_states()])
        elif self.store is not None:
            self.store.save_optimizer_states(fname)

    def load(self, fname: str | PathLike[str], group: DeviceGroup) -> None:
        """Read the optimizer's states from a file, even one written by a module on other devices.

        Parameters
        ----------
        fname
            The file.
        group
            The devices.

        Raises
        ------
        FormatError
            If the file is damaged, or a state has another shape than its parameter. The former states stay.
        ParameterError
            If the states belong to other parameters.
        """
        if isinstance(self._working, Updater) and type(self._working).set_states is Updater.set_states:
            trained = [name for name, grads in zip(group.param_names, group.grad_arrays, strict=True) if grads[0] is not None]
            # the file may be of a module with another number of devices, or with its optimizer in a store
            rekeyed = partial(self._for_devices, trained=trained, devices=len(group.contexts))
            self._working._load(read_file(fname), self._weights(group), rekeyed)
            self.optimizer = self._working.optimizer  # a file that `Trainer` has written holds one
            self.optimizer.move_progress(rekeyed, [context.device_id for context in group.contexts])
        elif self._working is not None:
            self._working.set_states(read_file(fname))
        elif self.store is not None:
            self.store.load_optimizer_states(fname)

    def _weights(self, group: DeviceGroup) -> dict[Any, NDArray]:
        """The weights by the keys of their states."""
        if self.on_store:
            return {name: weights[0] for name, weights in zip(group.param_names, group.param_arrays, strict=True)}
        return {
            index: weight for indices, _, weights in self._rows_of(group).by_device for index, weight in zip(indices, weights, strict=True)
        }

    def _for_devices(self, states: Mapping[Any, Any], trained: Sequence[str], devices: int) -> dict[Any, Any]:
        """Re-key states for this module's devices, from a module with any number of devices, with or without a store."""
        found = self._by_name(states, trained)
        if found is None:
            return dict(states)
        if self.on_store:
            # the copies on all devices had equal states: the store needs one
            return {name: column[0] for name, column in found.items()}
        return {
            self.places[name] * devices + k: column[k] if k < len(column) else _copy(column[0])
            for name, column in found.items()
            for k in range(devices)
        }

    def _by_name(self, states: Mapping[Any, Any], trained: Sequence[str]) -> dict[str, list[Any]] | None:
        """Each parameter's states on the devices they were saved from; None if the keys cannot be interpreted."""
        # names are the keys of a store's optimizer, which has one state for all devices
        if any(isinstance(key, str) for key in states):
            unknown = sorted(str(key) for key in states if key not in self.places)
            if unknown:
                raise ParameterError("Module: optimizer states of other parameters", ", ".join(unknown), f"it has {', '.join(self.names)}")
            return {name: [state] for name, state in states.items()}
        # integer keys do not name devices; their number tells how many there were, as each trained weight has one key per device
        count = max(1, len(states) // max(1, len(trained)))
        keys = {name: [self.places[name] * count + k for k in range(count)] for name in trained}
        # keys of another scheme, such as a user's, do not change
        if {key for column in keys.values() for key in column} != set(states):
            return None
        return {name: [states[key] for key in column] for name, column in keys.items()}


class _Owner(Protocol):
    """What `Part` reads of a module."""

    _updates: Updates | None
    _param_names: list[str]


class Part:
    """An attribute of a module that is a part of its `Updates`: MXNet's modules store four, which subclasses assign.

    Parameters
    ----------
    name
        The attribute of `Updates`.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, module: _Owner, kind: type) -> Any:
        return None if module._updates is None else getattr(module._updates, self._name)

    def __set__(self, module: _Owner, value: object) -> None:
        updates = Updates(None, None, False, module._param_names) if module._updates is None else module._updates
        module._updates = updates.with_part(self._name, value)


def _copy(state: Any) -> Any:
    """A copy of a state that shares no arrays with it."""
    if isinstance(state, NDArray):
        return state.copy()
    if isinstance(state, dict):
        return {key: _copy(part) for key, part in state.items()}
    return type(state)(_copy(part) for part in state) if isinstance(state, (tuple, list)) else state


def pull_rows(updates: Updates | None, group: DeviceGroup, row_ids_of: Callable[[], Any]) -> None:
    """Copy rows of row-sparse weights from the store that updates them to the devices.

    Parameters
    ----------
    updates
        The optimizer, or None.
    group
        The devices.
    row_ids_of
        Returns the numbers of the rows by parameter: an array of any shape, or a list of these, one per device.

    Raises
    ------
    ParameterError
        If it returns something else.
    """
    if updates is None or updates.store is None or not updates.on_store:
        warn("Parameters are not updated in the KVStore. No need to call sparse_row_id_fn.")
        return
    row_ids = row_ids_of()
    if not isinstance(row_ids, Mapping):
        raise InvalidValue("Expected dict output from sparse_row_id_fn", type(row_ids).__name__, "return row numbers by parameter")
    for name, numbers in row_ids.items():
        if name not in group.param_names:
            raise ParameterError("Module.prepare: sparse_row_id_fn names no parameter", name, f"they are {', '.join(group.param_names)}")
        weights = group.param_arrays[group.param_names.index(name)]
        if weights[0].stype == "row_sparse":
            updates.store.row_sparse_pull(name, out=weights, row_ids=numbers, priority=-updates.places[name])
        else:
            warn(f"{name}.stype is not 'row_sparse'. No need to perform row_sparse_pull.")


def prepare_optimizer(
    optimizer: str | Optimizer, params: Mapping[str, object], names: Mapping[int, str], scale: float, symbol: Symbol
) -> Optimizer:
    """Create an optimizer for the parameters, or prepare a given one.

    Parameters
    ----------
    optimizer
        An optimizer, or the name of one.
    params
        Keyword arguments for an optimizer given by name.
    names
        Names of the parameters by index.
    scale
        Default of ``rescale_grad``: 1 / batch size.
    symbol
        The symbol, whose variables' attributes hold learning rate and weight decay multipliers.

    Raises
    ------
    ParameterError
        If ``optimizer`` is anything else.
    """
    if isinstance(optimizer, str):
        # last: the user's arguments take precedence over the module's defaults
        return create_optimizer(optimizer, **{"sym": symbol, "param_idx2name": names, "rescale_grad": scale, **params})
    if not isinstance(optimizer, Optimizer):
        raise InvalidValue("Module.init_optimizer: not an optimizer", type(optimizer).__name__, "create one with mx.optimizer.create")
    # a user's optimizer does not change, but gradients of a module are sums over the batch
    if optimizer.rescale_grad != scale:
        text = f"rescale_grad is not normalized to 1.0/batch_size/num_workers ({optimizer.rescale_grad} vs. {scale})"
        warn(f"Optimizer created manually outside Module but {text}. Is this intended?")
    if not optimizer.idx2name:  # the optimizer's own names take precedence: multipliers may refer to them
        optimizer.idx2name = {**names}
    return optimizer
