"""Converts optimizers and their states to and from the records of MXNet's ``.states`` files. Reading runs no code."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import lr_scheduler
from ..dtype import NUMPY
from ..errors import FormatError
from ..formats.pickle_records import MXNET_CLASSES, load_states
from ..formats.pickle_writer import dump_states
from ..formats.records import ArrayRecord, DTypeRecord, ObjectRecord
from ..imperative.array import Array
from ..lr_scheduler import LRScheduler
from ..ndarray.saving import array_of, record_of
from .base import Index, Optimizer, State
from .squared_gradients import GroupAdaGrad

#: The module that MXNet's files name for each of its classes.
MXNET_MODULES: dict[type, str] = {
    # The package imports this module last, so its own optimizers are registered, and those of users are not.
    **dict.fromkeys(Optimizer.opt_registry.values(), "mxnet.optimizer.optimizer"),
    GroupAdaGrad: "mxnet.optimizer.contrib",
    **{getattr(lr_scheduler, name): "mxnet.lr_scheduler" for name in lr_scheduler.__all__},
}
MXNET_NAMES = {kind.__name__: kind for kind in MXNET_MODULES}


#: The key of an optimizer's progress among the states: MXNet looks up the states of its weights only, and keeps the others.
PROGRESS = "__progress__"


def dump(states: dict[Index, State], optimizer: Optimizer | None = None, progress: dict[str, object] | None = None) -> bytes:
    """The bytes that MXNet's ``Updater.set_states`` reads.

    Parameters
    ----------
    states
        Dict from index to state: None, an array, or a tuple or list of these.
    optimizer
        The optimizer, to write it too.
    progress
        A result of `Optimizer.get_progress`, to write it too.

    Raises
    ------
    FormatError
        If a value is not an array, number, string, scheduler or container of these.
    """
    # among the states: MXNet's reader takes a dict, or a pair of a dict and an optimizer, and nothing else
    record = _record(states if progress is None else {**states, PROGRESS: progress})
    return dump_states(record if optimizer is None else (record, _record(optimizer)))


def load(data: bytes) -> tuple[dict[Index, State], Optimizer | None, dict[str, Any] | None]:
    """Read bytes written by `dump` or MXNet: the states, with arrays on the CPU, and the optimizer and the progress, or None.

    Raises
    ------
    FormatError
        If the bytes are damaged, or name an optimizer or scheduler class that is not defined in this process.
    """
    found = load_states(data, classes=[*MXNET_CLASSES, *_user_classes()])
    record, optimizer = found if isinstance(found, tuple) else (found, None)
    states = _value(record)
    return states, _value(optimizer), _checked(states.pop(PROGRESS, None))


def _checked(progress: Any) -> dict[str, Any] | None:
    """The progress in a file, whose counts later code relies on."""
    if progress is None:
        return None
    match progress:
        case {"num_update": int(), "_all_index_update_counts": dict(tables)}:
            if all(isinstance(table, dict) and all(isinstance(n, int) for n in table.values()) for table in tables.values()):
                return progress
    raise FormatError("optimizer states: not the numbers of updates", f"{progress!r:.80}")


def _record(value: object) -> Any:
    """The record of a value."""
    match value:
        case Array():
            return record_of(value)
        case np.generic():
            return value.item()
        case np.dtype():
            return DTypeRecord(value.name)
        case type() if issubclass(value, np.generic):
            return DTypeRecord(np.dtype(value).name)
        case dict():
            return {key: _record(item) for key, item in value.items()}
        case list() | tuple():
            return type(value)(_record(item) for item in value)
        case Optimizer():
            return ObjectRecord(*_name_of(value), (), _attributes(value.__getstate__()))
        case LRScheduler():
            return ObjectRecord(*_name_of(value), (), _record(vars(value)))
    return value


def _attributes(state: dict[str, Any]) -> dict[str, Any]:
    """An optimizer's attributes.

    ``_index_update_count`` aliases an entry of ``_all_index_update_counts``. Pickle keeps such identities, so the record does too:
    otherwise the loaded optimizer would count updates in two places.
    """
    record = _record(state)
    for device_id, counts in state["_all_index_update_counts"].items():
        if counts is state["_index_update_count"]:
            record["_index_update_count"] = record["_all_index_update_counts"][device_id]
    return {"allow_np_array": False, **record}


def _name_of(value: object) -> tuple[str, str]:
    """Module and name of an object's class, as pickle writes them; MXNet's for its classes."""
    kind = type(value)
    return MXNET_MODULES.get(kind, kind.__module__), kind.__qualname__


def _value(record: object) -> Any:
    """The value of a record."""
    match record:
        case ArrayRecord():
            return array_of(record)
        case DTypeRecord():
            return NUMPY[record.name].type
        case dict():
            return {key: _value(item) for key, item in record.items()}
        case list() | tuple():
            return type(record)(_value(item) for item in record)
        case ObjectRecord():
            return _object(record)
    return record


def _object(record: ObjectRecord) -> object:
    kind = _class_of(record)
    if not isinstance(record.state, dict):
        raise FormatError(f"optimizer states: {record.module}.{record.name} has no attributes", type(record.state).__name__)
    # no constructor runs, as in pickle: it would want arguments, and the attributes follow
    new = object.__new__(kind)
    if isinstance(new, Optimizer):
        new.__setstate__(_share_counts(_value(record.state), record.state))
    else:
        # a scheduler is its attributes
        vars(new).update(_value(record.state))
    return new


def _share_counts(state: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    """Restore the alias that `_attributes` describes."""
    for device_id, counts in record.get("_all_index_update_counts", {}).items():
        if counts is record.get("_index_update_count"):
            state["_index_update_count"] = state["_all_index_update_counts"][device_id]
    return state


def _class_of(record: ObjectRecord) -> type:
    """The class that a file names."""
    # MXNet moved its classes between modules over the years; their names stayed
    name = f"{record.module}.{record.name}"
    kind = MXNET_NAMES.get(record.name) if record.module.startswith("mxnet.") else _user_classes().get(name)
    if kind is None:
        raise FormatError(
            "optimizer states: the class of an object is not defined",
            name,
            "import the module that defines it, or save without dump_optimizer",
        )
    return kind


def _user_classes() -> dict[str, type]:
    """The optimizers and schedulers of users that are defined in this process, by module and name."""
    classes = (kind for base in (Optimizer, LRScheduler) for kind in _subclasses(base))
    return {f"{kind.__module__}.{kind.__qualname__}": kind for kind in classes if kind not in MXNET_MODULES}


def _subclasses(base: type) -> Iterator[type]:
    for kind in base.__subclasses__():
        yield kind
        yield from _subclasses(kind)
