"""Optimizers as JSON, the form in which servers receive them: a registered name and plain attributes. No code is sent."""

import json
from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from .. import lr_scheduler
from ..dtype import NAME_OF, NUMPY
from ..errors import DTypeError, FormatError, ParameterError
from ..lr_scheduler import LRScheduler
from ..optimizer.base import Optimizer

SCHEDULERS: dict[str, type[LRScheduler]] = {name: getattr(lr_scheduler, name) for name in lr_scheduler.__all__}
#: Attributes that are not sent: tables of objects, whose multipliers are sent instead, and an alias.
LEFT_OUT = ("param_dict", "sym_info", "lr_scheduler", "_index_update_count")


def optimizer_to_json(optimizer: Optimizer) -> str:
    """An optimizer as JSON: its name, attributes, scheduler, and the multipliers of its parameters.

    Parameters
    ----------
    optimizer
        The optimizer.

    Raises
    ------
    DTypeError
        If an attribute is not a number, string, bool, None, NumPy array of numbers, or a list, tuple or dict of these.

    Examples
    --------
    >>> import twofold as mx
    >>> from twofold.kvstore.optimizer_json import optimizer_from_json, optimizer_to_json
    >>> text = optimizer_to_json(mx.optimizer.SGD(momentum=0.5, lr_scheduler=mx.lr_scheduler.FactorScheduler(10, 0.9)))
    >>> found = optimizer_from_json(text)
    >>> type(found).__name__, found.momentum, found.lr_scheduler.factor
    ('SGD', 0.5, 0.9)
    """
    attributes = {name: value for name, value in vars(optimizer).items() if name not in LEFT_OUT}
    for table in ("lr_mult", "wd_mult"):  # a parameter's own multiplier takes precedence over the multiplier of its index
        own = {index: getattr(parameter, table) for index, parameter in optimizer.param_dict.items()}
        attributes[table] = {**attributes[table], **own}
    schedule = optimizer.lr_scheduler
    fields = {"name": _name_of(optimizer, Optimizer.opt_registry), "attributes": _plain(attributes, "optimizer")}
    if schedule is not None:
        fields["scheduler"] = {"name": _name_of(schedule, SCHEDULERS), "attributes": _plain(vars(schedule), "scheduler")}
    return json.dumps(fields)


def optimizer_facts(optimizer: Optimizer) -> list[tuple[str, object]]:
    """The class of an optimizer and its numbers, texts and multipliers: what workers that update alike have in common.

    Other attributes, such as the parameters or arrays of a user's optimizer, are left out.
    """
    found: list[tuple[str, object]] = []
    for about in (optimizer, optimizer.lr_scheduler):
        if about is not None:
            found.append(("class", type(about).__qualname__))
            found += sorted((name, value) for name, value in vars(about).items() if isinstance(value, (bool, int, float, str)))
    return found + [(table, sorted(getattr(optimizer, table).items(), key=str)) for table in ("lr_mult", "wd_mult")]


def optimizer_from_json(text: str, allowed: Collection[str] = ()) -> Optimizer:
    """The optimizer that `optimizer_to_json` wrote.

    Parameters
    ----------
    text
        The JSON.
    allowed
        Classes, as ``module:Class``, that the JSON may name besides the classes registered in this process.

    Raises
    ------
    FormatError
        If it is not such JSON.
    ParameterError
        If the JSON names a class that is neither registered nor allowed, an attribute that the class lacks, or a value that the
        scheduler's constructor refuses.
    """
    try:
        fields = json.loads(text)
        name, attributes, schedule = fields["name"], _restored(fields["attributes"]), fields.get("scheduler")
        optimizer = _made(_class_of(name, Optimizer.opt_registry, allowed, Optimizer), attributes)
        optimizer.sym_info = ()
        if schedule is not None:
            kind = _class_of(schedule["name"], SCHEDULERS, allowed, LRScheduler)
            optimizer.lr_scheduler = _made(kind, _restored(schedule["attributes"]))
            optimizer.lr_scheduler.check()  # no constructor ran, and with a step of 0 its loop would never end
        optimizer.set_progress(optimizer.get_progress())  # restores the alias
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, ParameterError):
            raise
        raise FormatError("optimizer: this is not the JSON of one", text[:80], "send it with set_optimizer") from error
    return optimizer


def allowed_object(name: str, allowed: Collection[str]) -> Any:
    """The object that ``module:Class`` names, if the launcher's list allows it.

    Raises
    ------
    ParameterError
        If it is not allowed, or does not exist.
    """
    if name not in allowed:
        listed = ", ".join(sorted(allowed)) or "none"
        raise ParameterError(f"server: {name!r} is not allowed", f"allowed: {listed}", f"launch with --allow {name}")
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ParameterError(f"server: {name!r} does not exist: {error}", None, "pass the module:Class of an importable class") from error


def _name_of(thing: object, registered: Mapping[str, type]) -> str:
    kind = type(thing)
    name = next((name for name, known in registered.items() if known is kind), None)
    own = kind.__module__.startswith("twofold.")
    return name if name is not None and own else f"{kind.__module__}:{kind.__qualname__}"


def _class_of(name: str, registered: Mapping[str, type], allowed: Collection[str], base: type) -> type:
    found = registered.get(name)
    if found is None:  # a class that the same script registers on workers and servers needs no permission
        found = next((known for known in registered.values() if f"{known.__module__}:{known.__qualname__}" == name), None)
    if found is None:
        if ":" not in name:
            known = ", ".join(registered)
            raise ParameterError(f"server: there is no {base.__name__} {name!r}", f"known: {known}", "use one of these")
        found = allowed_object(name, allowed)
    if not isinstance(found, type) or not issubclass(found, base):
        raise ParameterError(f"server: {name!r} is not a {base.__name__}", repr(found), f"name a subclass of {base.__name__}")
    return found


def _made(kind: type, attributes: Mapping[str, object]) -> Any:
    # no constructor runs: its parameters may have other names than the attributes that it has set
    made: Any = object.__new__(kind)
    # an attribute with the name of a method would replace the method on this instance
    unknown = [name for name in attributes if not isinstance(name, str) or callable(getattr(kind, name, None))]
    if unknown:
        raise ParameterError(f"server: {kind.__name__} has no such attribute", ", ".join(map(str, unknown)), "send it with set_optimizer")
    vars(made).update({"param_dict": {}, "lr_scheduler": None, **attributes} if issubclass(kind, Optimizer) else attributes)
    return made


def _plain(value: object, place: str) -> object:
    """A value as JSON. A dict becomes a list of its items under ``"items"``: keys may be integers."""
    if isinstance(value, np.generic):  # some of NumPy's scalars are Python's too, but JSON takes none of them
        return value.item()
    if isinstance(value, dict):
        return {"items": [[_plain(key, place), _plain(item, f"{place}.{key}")] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [_plain(item, place) for item in value]}
    if isinstance(value, list):
        return [_plain(item, place) for item in value]
    if isinstance(value, np.ndarray) and value.__class__ is np.ndarray and value.dtype in NAME_OF:
        return {"array": [NAME_OF[value.dtype], value.shape, b64encode(value.tobytes()).decode("ascii")]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise DTypeError(
        f"{place}: this value cannot travel to a server", type(value).__name__, "use numbers, strings, lists, dicts and arrays of numbers"
    )


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        if "tuple" in value:
            return tuple(map(_restored, value["tuple"]))
        if "array" in value:
            dtype, shape, data = value["array"]
            return np.frombuffer(b64decode(data, validate=True), NUMPY[dtype]).reshape(shape).copy()
        return {_restored(key): _restored(item) for key, item in value["items"]}
    return list(map(_restored, value)) if isinstance(value, list) else value
