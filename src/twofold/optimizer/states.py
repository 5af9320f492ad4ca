"""Converts optimizers and their states to and from the records of MXNet's ``.states`` files. Reading runs no code."""

import math
from collections.abc import Iterator
from functools import cache
from inspect import getattr_static
from types import FunctionType
from typing import Any

import numpy as np

from .. import lr_scheduler
from ..dtype import FLOATS, NAME_OF, NUMPY
from ..errors import FormatError, ParameterError
from ..formats.pickle_records import MXNET_CLASSES, load_states
from ..formats.pickle_writer import dump_states
from ..formats.records import ITEM_SIZES, ArrayRecord, DTypeRecord, NumpyRecord, ObjectRecord
from ..formats.value_text import ELLIPSIS, brief_key, brief_repr
from ..imperative.array import Array
from ..lr_scheduler import LRScheduler
from ..ndarray.saving import array_of, record_of
from ..suggestions import module_of
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

#: Attributes without which updates work, as the class or the trainer sets them, or they are restored from others.
MAY_LACK = frozenset({"rescale_grad", "_index_update_count", "aggregate_num", "sym_info", "wd_mult", "param_dict"})
#: The arguments that a new scheduler must have.
ARGUMENTS: dict[type, tuple[object, ...]] = {
    lr_scheduler.FactorScheduler: (1,),
    lr_scheduler.MultiFactorScheduler: ([1],),
    lr_scheduler.PolyScheduler: (1,),
    lr_scheduler.CosineScheduler: (1,),
}
#: What a class defines and an instance has to keep.
METHODS = (FunctionType, staticmethod, classmethod, property)
#: No file holds more updates than this.
MOST_UPDATES = 2**63
#: How a file begins that a store with servers has written: the states follow as the servers keep them.
OF_SERVERS = b"twofold states of servers\n"
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
        If a value is not an array, one of NumPy's with numbers, a number, a string, a scheduler or a container of these.
    """
    # among the states: MXNet's reader takes a dict, or a pair of a dict and an optimizer, and nothing else
    record = _record(states if progress is None else {**states, PROGRESS: progress})
    return dump_states(record if optimizer is None else (record, _record(optimizer)))


def load(data: bytes) -> tuple[dict[Index, State], Optimizer | None, dict[str, Any] | None]:
    """Read bytes written by `dump` or MXNet: the states, with arrays on the CPU, and the optimizer and the progress, or None.

    Raises
    ------
    FormatError
        If the bytes are damaged, name an optimizer or scheduler class that is not defined in this process, or lack what an optimizer or
        scheduler of MXNet needs for an update.
    ParameterError
        If they are the states of servers.
    """
    if data[: len(OF_SERVERS)] == OF_SERVERS:
        count = 1 + bytes(data[len(OF_SERVERS) :]).partition(b"\n")[0].count(b",")
        todo = f"launch the program with as many: twofold launch -s {count}"
        raise ParameterError("states of an optimizer that ran on servers", f"those of {count}", todo)
    found = load_states(data, classes=[*MXNET_CLASSES, *_user_classes()])
    record, optimizer = found if isinstance(found, tuple) else (found, None)
    states = _value(record)
    return states, _value(optimizer), _checked(states.pop(PROGRESS, None))


def _checked(progress: Any) -> dict[str, Any] | None:
    """The progress in a file, whose counts later code relies on."""
    if progress is None:
        return None
    match progress:
        case {"num_update": int(number), "_all_index_update_counts": dict(tables)} if _is_count(number) and _are_counts(tables):
            return progress
    raise FormatError("optimizer states: not the numbers of updates", brief_repr(progress))


def _are_counts(tables: dict[Any, Any]) -> bool:
    return all(isinstance(table, dict) and all(isinstance(n, int) and _is_count(n) for n in table.values()) for table in tables.values())


def _is_count(number: object) -> bool:
    """Whether a number can be one of updates: 0 or more, and small enough for 64 bits and for a float."""
    return isinstance(number, int | float) and 0 <= number < MOST_UPDATES


def _record(value: object) -> Any:
    """The record of a value."""
    match value:
        case Array():
            return record_of(value)
        case np.generic():
            return value.item()
        case np.ndarray():
            return _numpy_record(value)
        case np.dtype():
            return DTypeRecord(value.name)
        case type() if issubclass(value, np.generic):
            return DTypeRecord(np.dtype(value).name)
        case dict():
            return {key.item() if isinstance(key, np.generic) else key: _record(item) for key, item in value.items()}
        case list() | tuple():
            return type(value)(_record(item) for item in value)
        case Optimizer():
            return ObjectRecord(*_name_of(value), (), _attributes(value.__getstate__()))
        case LRScheduler():
            return ObjectRecord(*_name_of(value), (), _record(vars(value)))
    return value


def _numpy_record(array: np.ndarray) -> NumpyRecord:
    """The record of a NumPy array of numbers. The order of its bytes and axes in memory is not kept."""
    little = array.dtype.newbyteorder("<")
    # subclasses have more than elements, such as the mask of a masked array; `type` would see the class of arrays that fold
    if array.__class__ is not np.ndarray or NAME_OF.get(little) not in ITEM_SIZES:
        raise FormatError(
            "optimizer states: a NumPy array that cannot be written",
            f"{array.__class__.__name__} of {array.dtype}",
            "store arrays of class numpy.ndarray with integers, bools or real numbers of at most 64 bits",
        )
    return NumpyRecord(NAME_OF[little], array.shape, np.ascontiguousarray(array, little).tobytes())


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
    return MXNET_MODULES.get(kind, module_of(kind)), kind.__qualname__


def _value(record: object) -> Any:
    """The value of a record."""
    match record:
        case NumpyRecord():
            # copied, as programs may write to their arrays and the file's bytes are constant
            array = np.frombuffer(record.data, NUMPY[record.dtype]).reshape(record.stored_shape).copy()
            return array.item() if record.is_scalar else array
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
    _check_names(kind, record.state)
    if kind in MXNET_MODULES:
        _check_attributes(kind, record.state)
    # no constructor runs, as in pickle: it would want arguments, and the attributes follow
    new = object.__new__(kind)
    state = {name: _attribute(value) for name, value in record.state.items()}
    if isinstance(new, Optimizer):
        new.__setstate__(_share_counts(state, record.state))
    else:
        # a scheduler is its attributes
        vars(new).update(state)
        _check_schedule(new)
    return new


def _attribute(record: object) -> Any:
    """The value of an attribute. Arrays of MXNet without axes, which a program may have passed as numbers, become Python's numbers."""
    value = _value(record)
    return value.asnumpy().item() if isinstance(value, Array) and value.shape == () else value


def _check_schedule(scheduler: Any) -> None:
    """Refuse what the constructor would: with a step of 0 the next update would divide by it."""
    try:
        scheduler.check()
    except ParameterError as error:
        raise FormatError(f"optimizer states: {error.what}", error.given, "the file is damaged") from error


def _check_names(kind: type, given: dict[Any, Any]) -> None:
    """Refuse attributes that would hide what a class defines, such as its method ``update``."""
    for name in given:
        if not isinstance(name, str) or isinstance(getattr_static(kind, name, None), METHODS) or name.startswith("__"):
            raise FormatError(
                f"optimizer states: {kind.__name__} cannot have an attribute of this name", brief_repr(name, 60), "the file is damaged"
            )


def _check_attributes(kind: type, given: dict[str, Any]) -> None:
    """Compare the attributes in a file with those of a new instance, so that a later update finds what it reads."""
    for name, own in _attributes_of(kind).items():
        if name not in given:
            if name in MAY_LACK:
                continue
            raise FormatError(f"optimizer states: {kind.__name__} lacks the attribute {name}", None, "the file is damaged")
        value = given[name]
        if name == "lr" and value is None and given.get("lr_scheduler") is not None:  # the scheduler has the rate
            continue
        if not (_is_schedule(value) if name == "lr_scheduler" else _is_like(value, own) and _may_be(name, value)):
            raise FormatError(f"optimizer states: the attribute {name} of {kind.__name__}", brief_repr(value), "the file is damaged")


def _is_schedule(value: object) -> bool:
    return value is None or (isinstance(value, ObjectRecord) and issubclass(_class_of(value), LRScheduler))


def _may_be(name: str, value: Any) -> bool:
    """Whether updates can work with the value of an attribute."""
    if name in ("num_update", "begin_num_update"):
        return _is_count(value.item() if isinstance(value, np.generic) else value)
    if name in ("_all_index_update_counts", "_index_update_count"):
        return _are_counts(value if name.startswith("_all") else {0: value})
    if name in ("lr_mult", "wd_mult"):
        return all((isinstance(factor, int | float) and not math.isnan(factor)) or _is_number(factor) for factor in value.values())
    return not (isinstance(value, float) and math.isnan(value))


@cache
def _attributes_of(kind: type) -> dict[str, object]:
    return vars(kind(*ARGUMENTS.get(kind, ())))


def _is_like(value: object, own: object) -> bool:
    """Whether a record may stand for an attribute that has another value in a new instance."""
    match own:
        case None:
            return value is None or isinstance(value, int | float) or _is_number(value)
        case int() | float():
            return isinstance(value, int | float) or _is_number(value)
        case dict():
            return isinstance(value, dict)
        case list() | tuple():
            return isinstance(value, list | tuple)
    return isinstance(value, type(own))


def _is_number(value: object) -> bool:
    """Whether a record is one of a NumPy scalar, or of an array with a single element."""
    return isinstance(value, ArrayRecord) and value.stype == "default" and value.shape is not None and math.prod(value.shape) == 1


def check_state(name: Index, given: State, new: State, has_momentum: bool, dtypes: bool = True) -> None:
    """Compare the state of a weight, from a file, with a new one: updates would broadcast an array of another shape.

    Parameters
    ----------
    name, given, new
        The weight, and its states.
    has_momentum
        Whether the optimizer has a momentum: its updates take states without one, which are None.
    dtypes
        Whether another float dtype is refused too.

    Raises
    ------
    FormatError
        If it has other parts, or an array of it has another shape or dtype.
    """
    if not _fits(given, new, has_momentum):
        what = f"optimizer states: the state of {brief_key(name)} is not one of this optimizer"
        raise FormatError(what, f"{_parts(given)}, expected {_parts(new)}", "load states that the same optimizer has saved")
    for array, own in _pairs(given, new):
        # a weight may change between float dtypes until its first update, but not its shape
        other_dtype = array._dtype != own._dtype and (dtypes or array._dtype not in FLOATS)
        if tuple(array.shape) != tuple(own.shape) or other_dtype:
            what = f"optimizer states: the state of {brief_key(name)} is of a weight with another shape or dtype"
            there, here = (f"{x._dtype} {tuple(x.shape)}" for x in (array, own))
            raise FormatError(what, f"{there}, expected {here}", "load the states that were saved with this network")


def _fits(given: State, new: State, may_lack: bool) -> bool:
    if isinstance(new, list | tuple):
        if not isinstance(given, list | tuple) or len(given) != len(new):
            return False
        return all(_fits(*pair, may_lack) for pair in zip(given, new, strict=True))
    return (new is None or may_lack) if given is None else isinstance(given, Array)


def _pairs(given: State, new: State) -> Iterator[tuple[Array, Array]]:
    """The arrays of a state with those of a new one that has the same parts."""
    if isinstance(given, list | tuple) and isinstance(new, list | tuple):
        for pair in zip(given, new, strict=True):
            yield from _pairs(*pair)
    elif isinstance(given, Array) and isinstance(new, Array):
        yield given, new


def _parts(state: State, depth: int = 3) -> str:
    """What a state is made of; of one from a file, which may be nested and shared to any extent, the beginning."""
    if isinstance(state, list | tuple):
        return f"({', '.join(_parts(part, depth - 1) for part in state[:8])})" if depth else ELLIPSIS
    return "array" if isinstance(state, Array) else brief_repr(state, 40)


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
    return {f"{module_of(kind)}.{kind.__qualname__}": kind for kind in classes if kind not in MXNET_MODULES}


def _subclasses(base: type) -> Iterator[type]:
    for kind in base.__subclasses__():
        yield kind
        yield from _subclasses(kind)
