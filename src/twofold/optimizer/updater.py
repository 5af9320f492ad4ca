"""`Updater`: an optimizer with the states of all weights, created on first use, saved and loaded in MXNet's format."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..device import Device
from ..errors import WrongArgument
from ..imperative.array import Array
from ..ndarray.array import NDArray
from . import states as state_files
from .argument_errors import check_numbers, classic
from .attempt import Attempt
from .base import Index, Optimizer, State
from .multi_tensor import independent


class Updater:
    """Updates weights with an optimizer and holds their states.

    Parameters
    ----------
    optimizer
        The optimizer.

    Raises
    ------
    WrongArgument
        If the optimizer was made with text in place of a number.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        check_numbers(optimizer)
        self.optimizer = optimizer
        self.states: dict[Index, State] = {}
        #: Whether each state is on the device of its weight: states from a file are on the CPU until their weight is updated.
        self.states_synced: dict[Index, bool] = {}
        self.aggregate_updates = optimizer.aggregate_num > 0
        #: Cached facts about calls with the same tuples, by the first index and the tuples' length. A call with other arrays replaces it.
        self._calls: dict[tuple[Index, int], _Call] = {}

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_calls"}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state, _calls={})

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        """Update one weight or several.

        Parameters
        ----------
        index
            Index or name of the weight, or a list of these.
        grad, weight
            Gradient and weight, or lists of them.

        Raises
        ------
        WrongArgument
            If there are several indices for one weight.
        """
        if not isinstance(index, (list, tuple)):
            index, grad, weight = [index], [grad], [weight]
        elif isinstance(weight, Array):
            raise WrongArgument("Updater: a tuple or list of indices stands for several weights", index, "name one weight by a string")
        # a step in which no weight has a gradient
        if not weight:
            return
        optimizer = self.optimizer
        # 0 stands for one weight per call, without lists, as optimizers of users expect
        size = len(weight) if optimizer._aggregates_all() else optimizer.aggregate_num if self.aggregate_updates else 0
        call = self._calls.get((index[0], len(index)))
        # Identity, not equality: a step passes the same tuples each time, and comparing arrays would compute.
        if call is None or call.indices is not index or call.grads is not grad or call.weights is not weight or call.size != size:
            call = self._call(index, grad, weight, size)
        # before any count: weights of one call are on one device
        optimizer._set_current_context(call.device_id)
        states = self.states
        for indices, weights, grads in call.groups:
            try:
                held = list(map(states.__getitem__, indices))
            except KeyError:  # the program has dropped some: they are made again
                self._call(index, grad, weight, size)
                held = list(map(states.__getitem__, indices))
            if size:
                optimizer.update_multi_precision(indices, weights, grads, held)
            else:
                with Attempt(optimizer, indices):
                    optimizer.update_multi_precision(indices[0], weights[0], grads[0], held[0])

    @property
    def takes_any_order(self) -> bool:
        """Whether the order of weights does not matter: it may if an optimizer draws random numbers, or counts weights as Nadam does."""
        return self.optimizer._aggregates_all()

    def _call(self, index: Sequence[Index], grad: Sequence[NDArray], weight: Sequence[NDArray], size: int) -> "_Call":
        """Create missing states, and group the weights. Kept for the next call with the same tuples: their arrays keep their types."""
        weights, grads = list(map(classic, weight)), list(map(classic, grad))
        for i, w in zip(index, weights, strict=True):
            if i not in self.states or not self.states_synced.get(i):
                self._prepare(i, w)
        call = _Call(index, grad, weight, size, weights[0].context.device_id, _groups(index, weights, grads, size))
        # a tuple that is the same object has the same items; a list may have changed, so lists are grouped in each call
        if index.__class__ is grad.__class__ is weight.__class__ is tuple:
            self._calls[index[0], len(index)] = call
        return call

    def _prepare(self, index: Index, weight: NDArray) -> None:
        # states are made on first use, when the device and the dtype of the weight are known
        if index not in self.states:
            self.states[index] = self.optimizer.create_state_multi_precision(index, weight)
        elif not self.states_synced.get(index):
            self._check(index, weight, self.states[index], self.optimizer)
            self.states[index] = self.sync_state_context(self.states[index], weight.context)
        self.states_synced[index] = True

    def _check(self, index: Index, weight: NDArray, state: State, optimizer: Optimizer, dtypes: bool = True) -> None:
        """Check that a state from a file is one that an optimizer can update; optimizers of users may change theirs as they like."""
        if type(optimizer) not in state_files.MXNET_MODULES:
            return
        new = optimizer.create_state_multi_precision(index, weight)
        # an optimizer from a file may not know the names yet
        known = self.optimizer.param_dict.get(index)
        name = self.optimizer.idx2name.get(index, index) if known is None else getattr(known, "name", index)
        state_files.check_state(name, state, new, "momentum" in vars(optimizer), dtypes)

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
            return state.as_in_context(context)
        if isinstance(state, (tuple, list)):
            return type(state)(self.sync_state_context(part, context) for part in state)
        return state

    def set_states(self, states: bytes) -> None:
        """Load states written by `get_states` or MXNet, and the optimizer or its progress if that was written too.

        Parameters
        ----------
        states
            The contents of a ``.states`` file. It is read as plain data: no code in it runs.

        Raises
        ------
        FormatError
            If it is damaged.
        """
        if not isinstance(states, (bytes, bytearray, memoryview)):
            raise WrongArgument("Updater.set_states: not bytes", type(states).__name__, "pass what get_states returns")
        self._load(states, {})

    def _load(self, data: bytes, weights: Mapping[Any, NDArray], rekeyed: Callable[[dict[Any, Any]], dict[Any, Any]] = dict) -> None:
        """`set_states` for weights whose shapes are known by now. The states change keys as told; an error leaves the former ones."""
        states, optimizer, progress = state_files.load(data)
        states = rekeyed(states)
        for index, weight in weights.items():
            if index in states:
                self._check(index, weight, states[index], self.optimizer if optimizer is None else optimizer, dtypes=False)
        self.states = states
        if optimizer is not None:
            self.optimizer = optimizer
            self.aggregate_updates = optimizer.aggregate_num > 0
        elif progress is not None:
            self.optimizer.set_progress(progress)
        self.states_synced = dict.fromkeys(self.states, False)
        # cached calls would not move the new states to the devices of their weights
        self._calls.clear()

    def get_states(self, dump_optimizer: bool = False, *, dump_progress: bool = False) -> bytes:
        """The states as bytes, in a format that MXNet also reads.

        Parameters
        ----------
        dump_optimizer
            Include the optimizer and its update counts: MXNet too then continues with this optimizer instead of its own.
        dump_progress
            Include the update counts, and everything else that updates have changed in the optimizer. MXNet ignores them.
        """
        progress = self.optimizer.get_progress() if dump_progress else None
        return state_files.dump(self.states, self.optimizer if dump_optimizer else None, progress)


#: Indices, weights and gradients.
Group = tuple[Sequence[Index], Sequence[NDArray], Sequence[NDArray]]
Item = tuple[Index, NDArray, NDArray]


class _Call(NamedTuple):
    """The arguments of a call, the largest size of a group (0: no lists are passed), the weights' device, and the groups."""

    indices: Sequence[Index]
    grads: Sequence[NDArray]
    weights: Sequence[NDArray]
    size: int
    device_id: int
    groups: list[Group]


def _groups(index: Sequence[Index], weight: Sequence[NDArray], grad: Sequence[NDArray], size: int) -> list[Group]:
    """Groups of up to ``size`` weights, each of a single dtype: MXNet's aggregated operators take no mixture. 0: one by one."""
    items: list[Item] = list(zip(index, weight, grad, strict=True))
    by_dtype: dict[str, list[Item]] = {}
    for item in items:
        # without lists the dtypes do not matter, and the order of the weights does not change
        by_dtype.setdefault(item[1]._dtype if size else "", []).append(item)
    found: list[Group] = []
    for group in by_dtype.values():
        for start in range(0, len(group), size or 1):
            indices, weights, grads = zip(*group[start : start + (size or 1)], strict=True)
            # tuples, as in MXNet: optimizers of libraries tell lists of weights by them
            found.append((indices, independent(weights), grads))
    return found


def get_updater(optimizer: Optimizer) -> Updater:
    """An `Updater` of an optimizer, for key-value stores.

    Parameters
    ----------
    optimizer
        The optimizer.
    """
    return Updater(optimizer)
