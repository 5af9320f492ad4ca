"""Converts pickles of plain data, arrays and optimizers, such as MXNet's ``.states`` files, to records. No code in them runs.

Possible results: None, bools, numbers, strings, bytes, tuples, lists, dicts, sets; `ArrayRecord` for NDArrays, `NumpyRecord` for NumPy
arrays and scalars, `DTypeRecord` for NumPy dtypes, `ObjectRecord` for instances of classes that the caller allows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import BinaryIO, NamedTuple

from ..errors import FormatError
from .dict_keys import check_keys
from .params import SHAPELESS, load_array
from .pickle_machine import NODE_COST, Bag, Budget, Call, Name, Pairs, run_pickle
from .pickle_numpy import NUMPY_BUILDERS, Parts, element_type, encode_latin1
from .records import ArrayRecord, Buffer, DTypeRecord, ObjectRecord

MXNET_CLASSES = ("mxnet.lr_scheduler.*", "mxnet.optimizer.*", "mxnet.optimizer.contrib.*", "mxnet.optimizer.optimizer.*")
"""Classes whose instances optimizer states may contain: optimizers and schedulers, as named by MXNet 0.9 to 1.9."""

MAX_DEPTH = 100
MAX_VALUES = 1_000_000
KEY_BITS = 64  # larger integers can be chosen to collide in their hashes
SCALARS = (bool, int, float, str, bytes, type(None))

Builder = Callable[[Parts], object]


def load_states(data: Buffer, *, classes: Collection[str] = MXNET_CLASSES) -> object:
    """Read optimizer states written by ``Updater.get_states`` or ``Trainer.save_states``.

    Returns
    -------
    A dict from index to state (an `ArrayRecord`, a tuple of them, None …), or (that dict, the optimizer's `ObjectRecord`).

    Raises
    ------
    FormatError
        If it is anything else.
    """
    value = load_pickle(data, classes=classes)
    match value:
        case dict() | (dict(), ObjectRecord()):
            return value
    raise FormatError("optimizer states: neither a dict of states nor (states, optimizer)", type(value).__name__)


class Vocabulary(NamedTuple):
    """What pickles may name beside plain data: functions with what they return, names that arguments may be, and advice on other names."""

    builders: Mapping[Name, Builder] = MappingProxyType({})
    bare: Collection[Name] = ()
    advice: str = "load states written by MXNet's optimizers, or name your own classes in classes="


MXNETS = Vocabulary()


def load_pickle(
    data: Buffer | BinaryIO, *, classes: Collection[str] = (), more: Vocabulary = MXNETS, budget: Budget | None = None
) -> object:
    """Read a pickle of plain data, of protocol 0 to 5.

    Parameters
    ----------
    data
        The pickle, or, with a budget, a file that is read up to its end.
    classes
        Classes whose instances become an `ObjectRecord`: ``"module.Class"``, or ``"module.*"`` for all classes of a module.
    more
        What else it may name.
    budget
        The memory budget to charge; by default one of its own.

    Raises
    ------
    FormatError
        If it is damaged, names anything else, nests deeper than 100 levels, contains itself, takes more memory than about three
        times the file's size plus 14 MB, or has dicts whose keys were made to collide.
    """
    budget = Budget(memoryview(data).nbytes) if budget is None and isinstance(data, Buffer) else budget or Budget(0)
    allowed = _Allowed(classes, {**_BUILDERS, **more.builders}, _BARE.union(more.bare))
    value = _Resolver(allowed, budget).resolve(run_pickle(data, allowed, budget, more.advice))
    _refuse_names([value])
    return value


class _Allowed:
    """The names that a pickle may contain: those with a builder, element types, and the caller's classes."""

    def __init__(self, classes: Collection[str], builders: Mapping[Name, Builder], bare: Collection[Name]) -> None:
        self.classes = frozenset(classes)
        self.builders = builders
        self.bare = bare

    def __contains__(self, target: object) -> bool:
        return isinstance(target, Name) and (
            _current(target) in self.builders or target in self.bare or element_type(target) is not None or self.is_class(target)
        )

    def is_class(self, target: Name) -> bool:
        """Whether its instances become object records."""
        return f"{target.module}.{target.name}" in self.classes or ("." not in target.name and f"{target.module}.*" in self.classes)


class _Resolver:
    """Converts the machine's tree to records, each node once."""

    def __init__(self, allowed: _Allowed, budget: Budget) -> None:
        self.allowed = allowed
        self.budget = budget
        self.copied = Budget.like(budget)  # arrays and bytes that the file stores once, and names many times
        self.done: dict[int, object] = {}
        self.sizes: dict[int, tuple[int, int]] = {}  # depth below a node; number of values in it, counting every reference
        self.open: set[int] = set()

    # by identity: the tree's lists are not hashable, and objects that the file shares must stay shared
    def resolve(self, node: object, depth: int = 0) -> object:
        """Return the record of a node."""
        if isinstance(node, SCALARS):
            return node
        if id(node) not in self.done:
            if depth > MAX_DEPTH or id(node) in self.open:
                given = f"depth {depth}"
                raise FormatError("pickle: an object is nested too deeply or contains itself", given, "optimizer states never are")
            # identities stay unique here: the tree keeps all its nodes alive
            self.open.add(id(node))
            # `open` holds the nodes above this one: a node that occurs again below itself is a cycle
            children = _children(node)
            values = [self.resolve(child, depth + 1) for child in children]
            self.measure(node, children)
            self.done[id(node)] = self.make(node, values)
            self.open.remove(id(node))
        return self.done[id(node)]

    def measure(self, node: object, children: list[object]) -> None:
        """Reject trees that are too deep, or too large once shared parts are expanded: later readers may copy them."""
        # a node that is shared counts at each reference: ten levels of lists of ten times the level below are ten nodes and 10**10 values
        sizes = [self.sizes.get(id(child), (0, 1)) for child in children]
        levels = 1 + max((levels for levels, _ in sizes), default=0)
        values = 1 + sum(values for _, values in sizes)
        self.budget.spend(NODE_COST + 24 * len(children))
        if levels > MAX_DEPTH or values > MAX_VALUES:
            given = f"{levels} levels, {values} values"
            raise FormatError("pickle: its objects are nested too deeply", given, "optimizer states never are")
        self.sizes[id(node)] = (levels, values)

    def make(self, node: object, values: list[object]) -> object:
        """Build the record of a node from those of its children."""
        match node:
            case bytearray():
                return bytes(node)
            case Name():
                name = element_type(node)
                return node if name is None else DTypeRecord(name)
            case Bag(kind=kind):
                _refuse_names(values)
                return kind(values if kind in (list, tuple) else _keys(values))
            case Pairs():
                return _dict_of(values)
            case Call():
                return self.make_call(node, values)
        raise FormatError("pickle: unsupported kind of value", type(node).__name__)

    def make_call(self, call: Call, values: list[object]) -> object:
        """Build the record of a call's result."""
        # in the order of `_children`: arguments, items, pairs, state
        here = iter(values)
        args = tuple(islice(here, len(call.args.items)))
        items, pairs, state = list(islice(here, len(call.items or ()))), list(islice(here, len(call.pairs or ()))), next(here)
        parts = Parts(args, state, pairs)
        builder = self.allowed.builders.get(_current(call.target))
        if items or (pairs and builder is not _dict_like):
            raise FormatError("pickle: an instance that is also a list or dict", f"{call.target.module}.{call.target.name}")
        if builder is not None:
            made = builder(parts)
            self.copied.spend(_copied_bytes(made))
            return made
        if not self.allowed.is_class(call.target):
            raise FormatError("pickle: it calls a class that is not allowed", f"{call.target.module}.{call.target.name}")
        return _object_of(call.target, parts)


def _children(node: object) -> list[object]:
    match node:
        case Bag(items=items) | Pairs(items=items):
            return items
        case Call():
            return [*node.args.items, *(node.items or ()), *(node.pairs or ()), node.state]
    return []


def _copied_bytes(made: object) -> int:
    match made:
        case ArrayRecord(data=data):
            return memoryview(data).nbytes
        case bytes():
            return len(made)
    return 0


def _object_of(target: Name, parts: Parts) -> ObjectRecord:
    _refuse_names([*parts.args, parts.state])
    return ObjectRecord(target.module, target.name, parts.args, parts.state)


def _refuse_names(values: list[object]) -> None:
    for value in values:
        if isinstance(value, Name):
            raise FormatError("pickle: a class or function in place of a value", f"{value.module}.{value.name}")


def _keys(values: Sequence[object]) -> Sequence[object]:
    """Return the values if they may be a dict's keys or a set's members: their hashes must be cheap, and not made to collide."""
    for value in values:
        parts = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(part, SCALARS) and not (isinstance(part, int) and part.bit_length() > KEY_BITS) for part in parts):
            raise FormatError("pickle: a key is not a number, string or tuple of those", type(value).__name__)
    check_keys(values, "pickle")
    return values


def _dict_of(pairs: list[object]) -> dict[object, object]:
    _refuse_names(pairs)
    return dict(zip(_keys(pairs[::2]), pairs[1::2], strict=True))


def _ndarray(parts: Parts) -> ArrayRecord:
    """An NDArray. MXNet pickles it as the block that `nd.save` writes, in the attribute ``handle``."""
    match parts.state:
        case {"handle": bytes(block)}:
            return load_array(block)
        case {"handle": None}:
            return SHAPELESS
    raise FormatError("pickle: an NDArray without its bytes", type(parts.state).__name__)


def _dict_like(parts: Parts) -> dict[object, object]:
    """A dict of `collections`. Python 2 passes the items of an OrderedDict as a list of pairs."""
    initial: list[object] = []
    for pair in _items_of(parts):
        match pair:
            case [key, value]:
                initial += [key, value]
            case _:
                raise FormatError("pickle: an item of a dict is not a pair", type(pair).__name__)
    return _dict_of([*initial, *parts.pairs])


def _set_like(kind: type) -> Builder:
    return lambda parts: kind(_keys(_items_of(parts)))


def _items_of(parts: Parts) -> Sequence[object]:
    """Return the items passed to a container's constructor. A defaultdict's first argument is its factory, not items."""
    first = parts.args[0] if parts.args else ()
    return first if isinstance(first, list | tuple) and not isinstance(first, Name) else ()


def _bytes_of(parts: Parts) -> bytes:
    match parts.args:
        case ():
            return b""
        case (bytes(data),):
            return data
        case (str(text), "latin-1" | "latin1"):
            return encode_latin1(text)
    raise FormatError("pickle: bytes are stored as neither bytes nor Latin-1 text", f"{len(parts.args)} arguments")


def _reconstruct(parts: Parts) -> object:
    """An instance in protocols 0 and 1, which call ``copyreg._reconstructor(cls, object, None)``."""
    match parts.args:
        # the arguments are the class, its built-in base, and the base's own state
        case (Name() as target, Name("builtins" | "__builtin__", "object"), None):
            rest = Parts((), parts.state, parts.pairs)
            builder = _BUILDERS.get(_current(target))
            return _object_of(target, rest) if builder is None else builder(rest)
    raise FormatError("pickle: an instance of a subclass of a built-in class", f"{len(parts.args)} arguments")


def _current(target: Name) -> Name:
    return Name(_RENAMED.get(target.module, target.module), target.name)


_RENAMED = {
    "__builtin__": "builtins",
    "copy_reg": "copyreg",
    "numpy._core.multiarray": "numpy.core.multiarray",
    "numpy._core.numeric": "numpy.core.numeric",
}
_BARE = frozenset(  # may be named as arguments, but not called
    Name(module, name) for module in ("builtins", "__builtin__") for name in ("dict", "float", "int", "list", "object")
) | {Name("numpy", "ndarray")}
_BUILDERS: dict[Name, Builder] = {
    **NUMPY_BUILDERS,
    Name("builtins", "bytearray"): _bytes_of,
    Name("builtins", "bytes"): _bytes_of,
    Name("_codecs", "encode"): _bytes_of,
    Name("builtins", "set"): _set_like(set),
    Name("builtins", "frozenset"): _set_like(frozenset),
    Name("collections", "OrderedDict"): _dict_like,
    Name("collections", "defaultdict"): _dict_like,
    Name("copyreg", "_reconstructor"): _reconstruct,
    Name("mxnet.ndarray", "NDArray"): _ndarray,
    Name("mxnet.ndarray.ndarray", "NDArray"): _ndarray,
    Name("mxnet.ndarray.sparse", "CSRNDArray"): _ndarray,
    Name("mxnet.ndarray.sparse", "RowSparseNDArray"): _ndarray,
    Name("mxnet.numpy", "ndarray"): _ndarray,
    Name("mxnet.numpy.multiarray", "ndarray"): _ndarray,
}
