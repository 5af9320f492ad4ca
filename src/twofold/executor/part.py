"""The part of a bound graph that runs on one device, from the values that it reads to those that it makes for others."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..backend.loader import backend_for
from ..device import Device
from ..graph.ir import Node
from ..program.cache import program_of
from ..program.compile import Program
from .function import Function, UserObject, function_of
from .training import FORWARD, FunctionGraph, HeadKind, Training

#: Identifies a value that parts exchange: ("arg", name), ("aux", name), ("value", number) or ("head", number).
Key = tuple[str, Any]


def head_key(number: int) -> Key:
    """The key of the gradient of one of the graph's outputs, which monitored gradients depend on."""
    return "head", number


class MonitoredName(str):
    """A name that can be decoded, for functions written for MXNet, which passes bytes.

    Examples
    --------
    >>> from twofold.executor.part import MonitoredName
    >>> MonitoredName("fc_output").decode("utf-8")
    'fc_output'
    """

    __slots__ = ()

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The name as a plain string; the arguments are those of ``bytes.decode``."""
        return self.encode().decode(encoding, errors)


@dataclass(frozen=True)
class Internal:
    """A value inside a part, for monitors. ``is_input``: whether the node in its name reads the value or makes it."""

    name: str
    node: Node
    is_input: bool


@dataclass(eq=False)
class Part:
    """A part of a bound graph, on one device; the whole graph if that runs on a single one.

    Attributes
    ----------
    device
        Where the part runs.
    reads
        The values it reads, with their leaves; gradients are computed for tracked leaves.
    keys
        Leaves for random keys.
    objects
        Users' objects, created once per executor; their states are positions in ``reads``.
    makes
        The values that other parts or the caller read.
    written, updates
        New values of auxiliary states by name, written after forward and after backward.
    mirrored
        Results (True) and operands (False) of symbol nodes, by name, that backward recomputes.
    shown
        Makes `internals`, which only monitors need.
    stabilised
        How many formulas were rewritten because they overflow.
    is_ahead
        Whether it runs asynchronously: unless it is the whole graph and runs on cpu(0).
    """

    device: Device
    reads: list[tuple[Key, Node]]
    keys: list[Node]
    makes: list[tuple[Key, Node]]
    objects: list[UserObject] = field(default_factory=list)
    written: list[tuple[str, Node]] = field(default_factory=list)
    updates: list[tuple[str, Node]] = field(default_factory=list)
    mirrored: list[tuple[tuple[str, bool], Node]] = field(default_factory=list)
    shown: Callable[[], Iterable[Internal]] = tuple
    stabilised: int = 0
    is_ahead: bool = False
    _backward: dict[tuple[HeadKind, ...], Program] = field(default_factory=dict, init=False)

    @property
    def leaves(self) -> list[Node]:
        """The leaves of the values read, of the random keys and of the users' objects, in this order."""
        return [node for _, node in self.reads] + self.keys + [o.leaf for o in self.objects]

    @cached_property
    def function(self) -> Function:
        """The compiled functions of the part; executors of equal graphs share them."""
        makes, written, updates = (tuple(node for _, node in pairs) for pairs in (self.makes, self.written, self.updates))
        return function_of(
            FunctionGraph(tuple(self.leaves), makes, written, updates, tuple(self.mirrored), bool(self.objects)), self.device
        )

    @cached_property
    def inference(self) -> Program:
        """Computes the values made, then the states written."""
        # a captured form holds the addresses of the arrays of one executor, so parts that share a function do not share that
        return self.function.inference.for_owner()

    @cached_property
    def training(self) -> Training:
        """What a training step computes; its programs are shared, so run `forward` and `backward` of the part instead."""
        return self.function.training

    @cached_property
    def forward(self) -> Program:
        """`Training.forward`, owned by this part."""
        return self.training.forward.for_owner()

    def backward(self, kinds: tuple[HeadKind, ...]) -> Program:
        """`Training.backward`, owned by this part."""
        found = self._backward.get(kinds)
        if found is None:
            found = self._backward[kinds] = self.training.backward(kinds).for_owner()
        return found

    @cached_property
    def wanted(self) -> list[Key]:
        """The values whose gradients backward computes."""
        return [self.reads[k][0] for k in self.training.wanted]

    @cached_property
    def internals(self) -> list[Internal]:
        """Values for monitors."""
        return list(self.shown())

    @cached_property
    def inner(self) -> Program:
        """Computes the internals."""
        return program_of([i.node for i in self.internals], self.leaves, backend_for(self.device), title=FORWARD, device=self.device)
