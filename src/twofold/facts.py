"""What texts and notebooks say of modules, trainers, iterators and other objects: pairs of a name and a value.

Each function takes an object of the class that names it for its ``__repr__``, see `extension_points.shown_as_text`. Nothing here runs or
waits for pending work, reads data or calls a learning rate's schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from operator import length_hint
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .executor.executor import Executor
    from .gluon.data import DataLoader
    from .gluon.data.dataset import Dataset
    from .gluon.data.sampler import Sampler
    from .gluon.parameter import Parameter
    from .gluon.trainer import Trainer
    from .image.augmenters import Described
    from .initializer.base import Initializer
    from .io.iterator import DataBatch, DataIter, Shapes
    from .kvstore.base import KVStoreBase
    from .module.base_module import BaseModule
    from .optimizer import Optimizer


class Prefixed(Protocol):
    """What a symbolic cell has."""

    _prefix: str


#: What a value is called, as a Python name, and the value.
Fact = tuple[str, object]
#: A function of this file: the facts of an object of one kind, those that the most objects have first.
FactsOf = Callable[[Any], Iterable[Fact]]
#: Names in a list after which the rest is counted.
MOST_NAMES = 6


def facts_of(kind: FactsOf, shown: object) -> list[Fact]:
    """The facts of an object that it has: those that are None or empty are left out, and so is what follows one that fails.

    A debugger shows objects whose constructor has not ended, and a user's class may lack members.
    """
    found: list[Fact] = []
    # item by item, so that what was found before the failure stays
    try:
        found.extend((name, value) for name, value in kind(shown) if value is not None and value != "")
    except Exception:
        found.append(("...", ""))
    return found


def one_line(kind: FactsOf, shown: object) -> str:
    """The class and the facts of an object, such as ``Trainer(optimizer=SGD, learning_rate=0.1)``."""
    return f"{type(shown).__name__}({', '.join(f'{name}={value}' if value != '' else name for name, value in facts_of(kind, shown))})"


def _names(found: Sequence[object]) -> str:
    """Names with commas between them; of many the first ones."""
    more = [f"{len(found) - MOST_NAMES} more"] if len(found) > MOST_NAMES else []
    return ", ".join(map(str, [*found[:MOST_NAMES], *more]))


def _listed(found: Sequence[object]) -> str:
    return f"[{_names(found)}]"


def _shapes(described: Shapes | None) -> str | None:
    """The names and shapes of descriptions, or of users' pairs, as ``[data (5, 4)]``; None without any."""
    found = [f"{d[0]} {tuple(d[1])}" for d in described or ()]
    return _listed(found) if found else None


def _options(shown: object) -> list[Fact]:
    """Public attributes that are numbers, words or switches."""
    return [(k, v) for k, v in vars(shown).items() if not k.startswith("_") and isinstance(v, (bool, int, float, str))]


def size(p: Parameter) -> int:
    """How many values a parameter has; 0 while its shape is unknown."""
    return prod(p.shape) if p.shape is not None and all(n > 0 for n in p.shape) else 0


# ------------------------------------------------------------------------------------------------------------------ networks


def executor(shown: Executor) -> Iterator[Fact]:
    """The outputs of an executor, and how many arrays it is bound to."""
    yield "outputs", _listed(shown._names)
    yield "arguments", len(shown.arg_dict)
    yield "gradients", sum(a is not None for a in shown.grad_dict.values())
    yield "auxiliary_states", len(shown.aux_dict)
    yield "context", _names(list(dict.fromkeys(str(a.context) for a in shown.arg_dict.values())))


def module(shown: BaseModule) -> Iterator[Fact]:
    """The state, inputs and outputs of a module."""
    yield "bound", shown.binded
    yield "initialized", shown.params_initialized
    # chains of modules, and those of users, keep neither optimizer nor devices of their own
    yield "optimizer", _class(getattr(shown, "_optimizer", None))
    devices = getattr(shown, "_context", ())
    yield "context", _names(devices if isinstance(devices, (list, tuple)) else [devices])
    yield "data", _shapes(shown.data_shapes) if shown.binded else _listed(shown.data_names)
    yield "label", _shapes(shown.label_shapes) if shown.binded else None
    yield "outputs", _listed(shown.output_names)


def _class(x: object) -> str | None:
    return None if x is None else type(x).__name__


# ------------------------------------------------------------------------------------------------------------------ training


def trainer(shown: Trainer) -> Iterator[Fact]:
    """The optimizer of a trainer, and the count of what it updates."""
    yield "optimizer", _class(shown._optimizer)
    yield "learning_rate", rate(shown._optimizer)
    yield "parameters", len(shown._params)
    yield "values", sum(map(size, shown._params))
    # what was asked for: the store itself is made by the first step
    store = shown._wanted_store
    yield "kvstore", store if store is None or isinstance(store, str) else store.type
    yield "context", _names(shown._contexts)


def rate(shown: Optimizer) -> object:
    """The learning rate, or the class that sets it: a schedule may count its calls, so it is not asked."""
    return shown.lr if shown.lr_scheduler is None else _class(shown.lr_scheduler)


def optimizer(shown: Optimizer) -> Iterator[Fact]:
    """The rate and the options of an optimizer."""
    yield "learning_rate", rate(shown)
    yield from ((name, value) for name, value in _options(shown) if name != "lr")


def settings(shown: object) -> Iterator[Fact]:
    """The options of a schedule, a callback, or another object that has no state worth showing."""
    yield from _options(shown)


def arguments(shown: Initializer | Described) -> Iterator[Fact]:
    """The arguments of an initializer or augmenter, those that `dumps` writes."""
    yield from ((name, repr(value)) for name, value in shown._kwargs.items())


def cell(shown: Prefixed) -> Iterator[Fact]:
    """The prefix of a symbolic cell's names, and the size of its states."""
    yield "prefix", repr(shown._prefix)
    yield "num_hidden", getattr(shown, "_num_hidden", None)


def store(shown: KVStoreBase) -> Iterator[Fact]:
    """The kind of a store, the place of this process among those that share it, and the count of stored arrays."""
    yield "type", shown.type
    yield "rank", shown.rank
    yield "num_workers", shown.num_workers
    stored = getattr(shown, "_stored", None)
    yield "keys", None if stored is None else len(stored)


# ---------------------------------------------------------------------------------------------------------------------- data


def loader(shown: DataLoader) -> Iterator[Fact]:
    """The dataset of a loader, and the counts of its samples and batches."""
    data = shown._dataset
    yield "dataset", _class(data)
    yield "samples", _count(data)
    yield "batch_size", getattr(shown._batches, "_batch_size", None)
    yield "batches", _count(shown._batches)
    yield "workers", shown._num_workers


def dataset(shown: Dataset) -> Iterator[Fact]:
    """The count of samples of a dataset."""
    yield "samples", _count(shown)


def sampler(shown: Sampler) -> Iterator[Fact]:
    """The count of indices, or lists of indices, of a sampler."""
    yield "length", _count(shown)


def _count(data: object) -> int | None:
    """The length of a dataset or sampler; None for a user's that has none."""
    count = length_hint(data, -1)
    return count if count >= 0 else None


def iterator(shown: DataIter) -> Iterator[Fact]:
    """What the batches of an iterator have; a user's iterator may describe them by pairs, or not at all."""
    yield "batch_size", shown.batch_size
    for kind in ("data", "label"):
        # the base class only declares them
        yield kind, _shapes(getattr(shown, f"provide_{kind}", None))
    yield from ((name, getattr(shown, name)) for name in shown._shown)


def batch(shown: DataBatch) -> Iterator[Fact]:
    """The shapes of a batch's arrays."""
    for kind, arrays in (("data", shown.data), ("label", shown.label)):
        yield kind, None if arrays is None else _listed([a.shape for a in arrays])
    yield "pad", shown.pad
    yield "bucket_key", shown.bucket_key
