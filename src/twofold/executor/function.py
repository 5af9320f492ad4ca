"""Typed graphs as functions of arrays: their description, their programs, and the preparation of every call.

Replaying an untyped graph (a symbol) for typed inputs gives a `TypedGraph`. It runs as an `operation.Operation`, which the tape records
like any other (hybridized blocks, `mx.compile` while recording), or as a `Function`, with forward and backward programs of its own
(executors); `mx.compile` outside `record` has a program alone, because it donates arguments (decision 14). All draw random keys, create
users' objects and write states through this module.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from ..backend.loader import backend_for
from ..config import recomputes
from ..device import Device
from ..graph.build import G
from ..graph.ir import Node
from ..graph.recomputed_regions import Region
from ..imperative.cell import Cell, Content
from ..imperative.generator import STREAMS
from ..imperative.transfer import store
from ..opdef import BoundOp
from ..program.cache import PROGRAMS, CacheEntry, program_of
from ..program.compile import Program
from .training import FORWARD, FunctionGraph, Training


class UserObject(NamedTuple):
    """A user's object that a graph calls. It is created when the graph gets its arrays, and passed as an operand.

    Attributes
    ----------
    leaf
        Stands for the object in the graph.
    make
        Creates the object from the device and the arrays of its states.
    states
        Positions of the graph's inputs whose arrays the object itself reads and writes.
    """

    leaf: Node
    make: Callable[[Device, Sequence[Any]], Any]
    states: Sequence[int]


class StateUpdate(NamedTuple):
    """An operation that changes states when backward runs.

    Attributes
    ----------
    bound_op, results, operands
        The operation, with all results, hidden ones included.
    states
        Operand names of the auxiliary states that it updates, with the positions of these among the graph's inputs.
    """

    bound_op: BoundOp
    results: Sequence[Node]
    operands: Sequence[Node | None]
    states: Mapping[str, int]


@dataclass(eq=False)
class TypedGraph:
    """A graph of operators over typed inputs.

    Attributes
    ----------
    inputs, keys, objects
        The leaves: arrays, random keys and users' objects.
    outputs
        The outputs.
    written
        New values of states, by the position of the input, written after forward.
    updates
        Operations that change states when backward runs.
    passed
        The operations in ``updates`` that gradients of the outputs flow through, in the order in which backward visits them.
    regions
        Parts that backward computes again.
    """

    inputs: Sequence[Node]
    outputs: Sequence[Node]
    keys: Sequence[Node] = ()
    objects: Sequence[UserObject] = ()
    written: Mapping[int, Node] = field(default_factory=dict)
    updates: Sequence[StateUpdate] = ()
    passed: Sequence[StateUpdate] = ()
    regions: Sequence[Region] = ()


def new_states(updates: Iterable[StateUpdate]) -> dict[int, Node]:
    """New values of states, by input, after these operations: each reads the values that those before it wrote."""
    current: dict[int, Node] = {}
    for update in updates:
        op = update.bound_op.op
        names = [i.name for i in op.arrays]
        places = [update.states.get(name, -1) for name in names]
        operands = [current.get(place, operand) for place, operand in zip(places, update.operands, strict=True)]
        tracked = [o is not None and o.tracked for o in operands]
        new = op.new_states(G, update.results, operands, update.bound_op.params, tracked)
        current |= {update.states[name]: value for name, value in new.items() if name in update.states}
    return current


def random_keys(count: int, device: Device) -> list[object]:
    """The next ``count`` random keys of a device."""
    return [STREAMS.next_key(device) for _ in range(count)]


def user_objects(objects: Iterable[UserObject], device: Device, arrays: Sequence[object]) -> list[Any]:
    """Create users' objects for a run on a device. ``arrays`` are those of the graph's inputs."""
    return [o.make(device, [arrays[k] for k in o.states]) for o in objects]


def write_states(cells: Sequence[Cell], written: Iterable[int], contents: Sequence[Content]) -> None:
    """Write new values into the arrays at these positions."""
    for k, new in zip(written, contents, strict=False):
        store(cells[k], new)


class Function(CacheEntry):
    """The programs of a graph on one kind of device, each compiled on first use. Use `function_of`, which shares equal ones.

    Parameters
    ----------
    graph
        The graph.
    device
        The device that it runs on first.
    """

    def __init__(self, graph: FunctionGraph, device: Device) -> None:
        self._graph, self._device = graph, device

    @cached_property
    def inference(self) -> Program:
        """Computes the outputs, then the states written."""
        graph, device = self._graph, self._device
        return program_of([*graph.outputs, *graph.written], graph.leaves, backend_for(device), title=FORWARD, device=device)

    @cached_property
    def training(self) -> Training:
        """Forward that saves residuals, and backward."""
        return Training(self._graph, self._device)


def function_of(graph: FunctionGraph, device: Device) -> Function:
    """The function of a graph on a kind of device; equal graphs share one."""
    key = graph, backend_for(device), recomputes()
    return PROGRAMS.get_or(key, lambda: Function(graph, device))
