"""Interprets a pickle's opcodes without importing or calling anything: a call becomes a `Call`, a global name a `Name`.

The result is a tree that `pickle_records` interprets. Containers stay lists of items, since their keys may not be hashable yet.
"""

from __future__ import annotations

import pickletools
import sys
from collections.abc import Callable, Container
from typing import BinaryIO, NamedTuple, NoReturn

from ..errors import FormatError
from .records import Buffer

EXPANSION, ALLOWANCE = 3, 14 << 20  # memory bound in bytes: EXPANSION times the file's size, plus ALLOWANCE
ENTRY_COST, MEMO_COST, NODE_COST = 24, 100, 160  # bytes of a stack entry, a memo entry and a container in CPython, rounded up
MAX_INTEGER_BITS = 512
MAX_NAME = 1000  # characters of a class's module and name, which each mention of it compares


class Name(NamedTuple):
    """A class or function that the file names."""

    module: str
    name: str


class Bag:
    """A list, tuple, set or frozenset."""

    __slots__ = ("items", "kind")

    def __init__(self, kind: type, items: list[object]) -> None:
        self.kind = kind
        self.items = items


class Pairs:
    """A dict, as alternating keys and values."""

    __slots__ = ("items",)

    def __init__(self, items: list[object]) -> None:
        self.items = items


class Call:
    """A call of a named class or function, and the later changes to its result."""

    __slots__ = ("args", "items", "pairs", "state", "target")

    def __init__(self, target: Name, args: Bag) -> None:
        self.target = target
        self.args = args
        self.items: list[object] | None = None  # appended or added
        self.pairs: list[object] | None = None  # alternating keys and values set
        self.state: object = None


class Budget:
    """The memory that reading may use, so that a small file cannot expand into a huge object."""

    __slots__ = ("left", "total")

    def __init__(self, size: int) -> None:
        self.left = self.total = EXPANSION * size + ALLOWANCE

    @classmethod
    def like(cls, other: Budget) -> Budget:
        """A budget of its own, of the same size."""
        new = cls(0)
        new.left = new.total = other.total
        return new

    def spend(self, size: int) -> None:
        """Charge the estimated size, in bytes, of the next allocation."""
        self.left -= size
        if self.left < 0:
            given = f"more than {self.total} bytes"
            raise FormatError("pickle: its objects would need far more memory than the file", given, "save fewer objects in it")


class _Mark:
    """Marks the start of a list of arguments on the stack."""


_MARK = _Mark()


#: What calls an id of an object outside of the file, if it is allowed as a name.
PERSISTENT = Name("pickle", "persistent_load")


def run_pickle(data: Buffer | BinaryIO, allowed: Container[Name], budget: Budget, todo: str) -> object:
    """Return the tree that a pickle of protocol 0 to 5 builds.

    Parameters
    ----------
    data
        The pickle, or a file that is read up to its end.
    allowed
        The classes and functions that it may name.
    budget
        The memory budget to charge.
    todo
        What to do if it names anything else.

    Raises
    ------
    FormatError
        If it is damaged, names anything else, or exceeds the budget.
    """
    machine = _Machine(allowed, budget, todo)
    position = 0
    try:
        # `genops` only decodes; unlike `pickle.Unpickler` it imports nothing and calls nothing
        for opcode, argument, start in pickletools.genops(bytes(data) if isinstance(data, Buffer) else data):
            position = start or 0
            machine.step(opcode.name, argument)
    except FormatError as error:
        raise FormatError(error.what, error.given, error.todo, offset=position) from error.__cause__
    except (ValueError, OverflowError, DeprecationWarning) as error:  # from pickletools' checks, which warn about invalid escapes
        raise FormatError(
            f"pickle: an opcode cannot be read: {str(error)[:200]}", None, "it is damaged or not a pickle", offset=position
        ) from None
    return machine.pop()


class _Machine:
    def __init__(self, allowed: Container[Name], budget: Budget, todo: str) -> None:
        self.allowed = allowed
        self.todo = todo
        self.budget = budget
        self.stack: list[object] = []
        self.memo: dict[object, object] = {}  # by number; values are shared, so the result is a graph, possibly with cycles

    def step(self, opcode: str, argument: object) -> None:
        if opcode in _LITERALS:
            self.push_literal(argument)
        elif opcode in _CONSTANTS:
            self.push(_CONSTANTS[opcode])
        elif opcode in _STEPS:
            _STEPS[opcode](self, argument)
        elif opcode not in _IGNORED:
            raise FormatError("pickle: an opcode refers to objects outside the file", opcode, "pickle the whole object")

    def push(self, value: object, cost: int = ENTRY_COST) -> None:
        # charged before it is stored: a few bytes in a file can duplicate the top of the stack without end
        self.budget.spend(cost)
        self.stack.append(value)

    def push_literal(self, value: object) -> None:
        if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
            raise FormatError("pickle: an integer is too large", f"{value.bit_length()} bits")
        self.push(value, ENTRY_COST + sys.getsizeof(value))

    def pop(self) -> object:
        if not self.stack or self.stack[-1] is _MARK:
            raise FormatError("pickle: an opcode finds the stack empty", todo="the file is damaged")
        return self.stack.pop()

    def pop_to_mark(self) -> list[object]:
        for position in range(len(self.stack) - 1, -1, -1):
            if self.stack[position] is _MARK:
                items = self.stack[position + 1 :]
                del self.stack[position:]
                # the items were counted before; this counts the list that now holds them, with a pointer for each
                self.budget.spend(NODE_COST + 8 * len(items))
                return items
        raise FormatError("pickle: an opcode finds no mark on the stack", todo="the file is damaged")

    def top(self) -> object:
        value = self.pop()
        self.stack.append(value)
        return value

    # Unlike `pop`, it may take a mark: the opcode POP is allowed to remove one.
    def discard(self) -> None:
        if not self.stack:
            raise FormatError("pickle: an opcode finds the stack empty", todo="the file is damaged")
        self.stack.pop()

    def discard_to_mark(self) -> None:
        self.pop_to_mark()

    def push_tuple(self, size: int) -> None:
        items = [self.pop() for _ in range(size)][::-1]
        self.push(Bag(tuple, items), NODE_COST)

    def extend(self, items: list[object], *, kinds: tuple[type, ...]) -> None:
        """Add items to the list or set on top of the stack, or to an object that behaves like one."""
        self.budget.spend(16 * len(items))
        match self.top():
            case Bag(kind=kind, items=present) if kind in kinds:
                present.extend(items)
            case Call() as call:
                call.items = call.items or []
                call.items.extend(items)
            case other:
                _refuse("adds items to", other)

    def set_items(self, items: list[object]) -> None:
        self.budget.spend(16 * len(items))
        if len(items) % 2:
            raise FormatError("pickle: a dict has a key without a value", todo="the file is damaged")
        match self.top():
            case Pairs(items=present):
                present.extend(items)
            case Call() as call:
                call.pairs = call.pairs or []
                call.pairs.extend(items)
            case other:
                _refuse("sets items of", other)

    def push_dict(self, items: list[object]) -> None:
        self.push(Pairs([]), NODE_COST)
        self.set_items(items)

    def set_state(self) -> None:
        state = self.pop()
        match self.top():
            case Call() as call:
                call.state = state
            case other:
                _refuse("sets attributes of", other)

    def push_name(self, module: object, name: object) -> None:
        if not isinstance(module, str) or not isinstance(name, str):
            _refuse("names a class by", (module, name))
        if len(module) + len(name) > MAX_NAME:
            raise FormatError("pickle: the name of a class or function is too long", f"{len(module) + len(name)} characters", self.todo)
        target = Name(module, name)
        if target not in self.allowed:
            raise FormatError("pickle: it names a class or function that is not allowed", f"{module}.{name}", self.todo)
        self.push(target, NODE_COST)

    def push_stacked_name(self) -> None:
        name = self.pop()
        self.push_name(self.pop(), name)

    def call(self, *, with_keywords: bool = False) -> None:
        keywords = self.pop() if with_keywords else Pairs([])
        args = self.pop()
        target = self.pop()
        if not isinstance(target, Name) or not isinstance(args, Bag):
            _refuse("calls", target)
        if not isinstance(keywords, Pairs) or keywords.items:
            _refuse("calls with keywords", target)
        self.push(Call(target, args), NODE_COST)

    # OBJ and INST are how protocols 0 and 1 make instances of old-style classes.
    def call_marked(self) -> None:
        target, *args = self.pop_to_mark() or [None]
        self.push(target)
        self.push(Bag(tuple, args))
        self.call()

    def call_instance(self, name: object) -> None:
        args = self.pop_to_mark()
        self.push_name(*_split(name))
        self.push(Bag(tuple, args))
        self.call()

    def remember(self, index: object) -> None:
        self.budget.spend(MEMO_COST)
        self.memo[index] = self.top()

    def recall(self, index: object) -> None:
        if index not in self.memo:
            raise FormatError("pickle: it refers to a missing memo entry", f"memo {index}", "the file is damaged")
        self.push(self.memo[index])

    def refer(self) -> None:
        # only tuples, which is what torch's ids are: they become the arguments
        if PERSISTENT not in self.allowed:
            raise FormatError("pickle: an opcode refers to objects outside the file", "BINPERSID", "pickle the whole object")
        args = self.pop()
        self.push(PERSISTENT)
        self.push(args)
        self.call()


def _refuse(action: str, value: object) -> NoReturn:
    raise FormatError(f"pickle: it {action} a value that does not allow it", type(value).__name__, "the file is damaged")


def _split(name: object) -> tuple[str, str]:
    module, _, name = str(name).partition(" ")  # pickletools joins the two lines of GLOBAL and INST by a space
    return module, name


_LITERALS = frozenset(
    {
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
        *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    }
)
_CONSTANTS: dict[str, object] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "MARK": _MARK}
_IGNORED = frozenset({"PROTO", "FRAME", "STOP"})
_STEPS: dict[str, Callable[[_Machine, object], None]] = {
    "EMPTY_LIST": lambda machine, _: machine.push(Bag(list, []), NODE_COST),
    "LIST": lambda machine, _: machine.push(Bag(list, machine.pop_to_mark())),
    "APPEND": lambda machine, _: machine.extend([machine.pop()], kinds=(list,)),
    "APPENDS": lambda machine, _: machine.extend(machine.pop_to_mark(), kinds=(list,)),
    "EMPTY_TUPLE": lambda machine, _: machine.push_tuple(0),
    "TUPLE": lambda machine, _: machine.push(Bag(tuple, machine.pop_to_mark())),
    "TUPLE1": lambda machine, _: machine.push_tuple(1),
    "TUPLE2": lambda machine, _: machine.push_tuple(2),
    "TUPLE3": lambda machine, _: machine.push_tuple(3),
    "EMPTY_SET": lambda machine, _: machine.push(Bag(set, []), NODE_COST),
    "ADDITEMS": lambda machine, _: machine.extend(machine.pop_to_mark(), kinds=(set,)),
    "FROZENSET": lambda machine, _: machine.push(Bag(frozenset, machine.pop_to_mark())),
    "EMPTY_DICT": lambda machine, _: machine.push(Pairs([]), NODE_COST),
    "DICT": lambda machine, _: machine.push_dict(machine.pop_to_mark()),
    # the value is on top of its key
    "SETITEM": lambda machine, _: machine.set_items([machine.pop(), machine.pop()][::-1]),
    "SETITEMS": lambda machine, _: machine.set_items(machine.pop_to_mark()),
    "POP": lambda machine, _: machine.discard(),
    "POP_MARK": lambda machine, _: machine.discard_to_mark(),
    "DUP": lambda machine, _: machine.push(machine.top()),
    "GET": _Machine.recall,
    "BINGET": _Machine.recall,
    "LONG_BINGET": _Machine.recall,
    "PUT": _Machine.remember,
    "BINPUT": _Machine.remember,
    "LONG_BINPUT": _Machine.remember,
    # numbers the memo's entries itself, by how many there are
    "MEMOIZE": lambda machine, _: machine.remember(len(machine.memo)),
    "GLOBAL": lambda machine, name: machine.push_name(*_split(name)),
    "STACK_GLOBAL": lambda machine, _: machine.push_stacked_name(),
    "INST": _Machine.call_instance,
    "OBJ": lambda machine, _: machine.call_marked(),
    "REDUCE": lambda machine, _: machine.call(),
    "BINPERSID": lambda machine, _: machine.refer(),
    "NEWOBJ": lambda machine, _: machine.call(),
    "NEWOBJ_EX": lambda machine, _: machine.call(with_keywords=True),
    "BUILD": lambda machine, _: machine.set_state(),
}
