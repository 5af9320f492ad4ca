"""What one device computes of a bound graph: typed nodes from what it reads to what it makes. A graph on one device is one part."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..backend.loader import backend_for
from ..device import Device
from ..graph.ir import Node
from ..program.cache import program_of
from ..program.compile import Program
from .function import Function, UserObject, function_of
from .training import FORWARD, Steps, Training

#: A value that parts exchange: ("arg", name), ("aux", name) or ("value", number).
Key = tuple[str, Any]


@dataclass(frozen=True)
class Internal:
    """A value inside a part, for monitors: its name, and whether it is read (rather than made) by the node that it is named after."""

    name: str
    node: Node
    is_input: bool


@dataclass(eq=False)
class Part:
    """A piece of a bound graph on one device.

    Attributes
    ----------
    device
        Where it runs.
    reads
        What it reads, each with its leaf; those whose leaf is tracked want their gradient.
    keys
        Leaves for random keys.
    objects
        Users' objects, made once for each executor; their states are positions in ``reads``.
    makes
        What others read of it.
    written, updates
        New values of auxiliary states by name: written when forward runs, and when backward runs.
    mirrored
        Results (True) and operands (False) of symbol nodes, by their names, whose values backward computes again: nothing is kept.
    internals
        Values for monitors.
    stabilised
        How many formulas were rewritten because they overflow.
    is_ahead
        Whether the host goes on while it runs: not where it is all of a graph, and on the host's own device.
    """

    device: Device
    reads: list[tuple[Key, Node]]
    keys: list[Node]
    makes: list[tuple[Key, Node]]
    objects: list[UserObject] = field(default_factory=list)
    written: list[tuple[str, Node]] = field(default_factory=list)
    updates: list[tuple[str, Node]] = field(default_factory=list)
    mirrored: list[tuple[tuple[str, bool], Node]] = field(default_factory=list)
    internals: list[Internal] = field(default_factory=list)
    stabilised: int = 0
    is_ahead: bool = False

    @property
    def leaves(self) -> list[Node]:
        """Leaves of what is read, then those for random keys, then those for users' objects."""
        return [node for _, node in self.reads] + self.keys + [o.leaf for o in self.objects]

    @cached_property
    def function(self) -> Function:
        """What computes it, which other executors may share."""
        nodes = [tuple(_nodes(pairs)) for pairs in (self.makes, self.written, self.updates)]
        return function_of(Steps(tuple(self.leaves), *nodes, tuple(self.mirrored), bool(self.objects)), self.device)

    @cached_property
    def inference(self) -> Program:
        """Computes what is made, then the states written."""
        return self.function.inference

    @cached_property
    def training(self) -> Training:
        """The programs of a training step."""
        return self.function.training

    @cached_property
    def wanted(self) -> list[Key]:
        """What backward gives gradients of."""
        return [self.reads[k][0] for k in self.training.wanted]

    @cached_property
    def inner(self) -> Program:
        """Computes the internals."""
        return program_of([i.node for i in self.internals], self.leaves, backend_for(self.device), title=FORWARD, device=self.device)


def _nodes(pairs: Iterable[tuple[Any, Node]]) -> list[Node]:
    return [node for _, node in pairs]
