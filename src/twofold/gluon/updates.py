"""The weights that a trainer updates on a device, and what follows an update that did not end."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..device import Device
from ..imperative.array import Array
from ..imperative.scope import Scope
from ..ndarray.array import NDArray
from ..optimizer.updater import Updater


class Work(NamedTuple):
    """The weights to update on a device: their indices, gradients and arrays."""

    indices: tuple[int, ...]
    grads: tuple[NDArray, ...]
    weights: tuple[NDArray, ...]


def make_copies_equal(updaters: Sequence[Updater], works: Sequence[Work], error: BaseException) -> None:
    """After an error within the updates of several devices: copy weights, states and counts of the first device to the others.

    The devices update one after the other. Each weight of the first one has been updated or not, as on a single device; on the others
    it would differ from then on. If the copies fail too, a note in the error says so.
    """
    if len(updaters) < 2 or not works[0].weights:
        return
    try:
        with Scope(False, False):
            _copy_first(updaters, works)
    except Exception as failed:
        error.add_note(f"The weights on several devices may differ: {failed}. Set them again, by set_data or load_parameters.")


def _copy_first(updaters: Sequence[Updater], works: Sequence[Work]) -> None:
    first, tables = updaters[0], updaters[0].optimizer._all_index_update_counts
    counts = tables.setdefault(works[0].weights[0].context.device_id, {})
    for updater, work in zip(updaters[1:], works[1:], strict=True):
        if not work.weights:
            continue
        device, copies = work.weights[0].context, dict(zip(work.indices, work.weights, strict=True))
        for index, weight in zip(works[0].indices, works[0].weights, strict=True):
            if index in copies:  # a gradient may be new on one device only
                weight.copyto(copies[index])
                copies[index]._fresh_grad = weight._fresh_grad
        updater.states = {index: _copied(state, device) for index, state in first.states.items()}
        updater.states_synced = dict(first.states_synced)
        table = tables.setdefault(device.device_id, {})
        if table is not counts:  # in place: the optimizer holds the table of the current device
            table.clear()
            table.update(counts)


def _copied(state: Any, device: Device) -> Any:
    """A state with copies of its arrays on a device."""
    if isinstance(state, Array):
        return state.copyto(device)
    return type(state)(_copied(part, device) for part in state) if isinstance(state, (list, tuple)) else state
