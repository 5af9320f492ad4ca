"""Typed graphs as functions of arrays: what a graph says, what compiles it, and what every call of one has to do.

A `TypedGraph` is what replaying an untyped graph (a symbol) for typed inputs gives. It is run in one of two ways: as an `Operation` that
the tape records like any other (hybridized blocks, `mx.compile` while recording), or as a `Function` whose forward and backward are
programs of its own (executors). Random keys, users' objects and states are handled here for both.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from ..backend.loader import backend_for
from ..config import SETTINGS, recomputes
from ..device import Device
from ..graph.build import G
from ..graph.ir import Node
from ..imperative.cell import Cell
from ..imperative.generator import STREAMS
from ..opdef.spec import Sig
from ..program.cache import PROGRAMS, Entry, program_of
from ..program.compile import Program
from .training import FORWARD, Steps, Training


class UserObject(NamedTuple):
    """A user's object that a graph calls: made when the graph is bound to arrays, an operand when it runs.

    Attributes
    ----------
    leaf
        Stands for the object in the graph.
    make
        Makes it from the device and the arrays of its states.
    states
        The graph's inputs whose arrays it reads and writes itself.
    """

    leaf: Node
    make: Callable[[Device, Sequence[Any]], Any]
    states: Sequence[int]


class StateUpdate(NamedTuple):
    """An operation that changes states when backward runs.

    Attributes
    ----------
    sig, results, operands
        The operation: all of its results, hidden ones included.
    states
        Which of the graph's inputs its auxiliary states are, by the operands' names: those that it may change.
    """

    sig: Sig
    results: Sequence[Node]
    operands: Sequence[Node | None]
    states: Mapping[str, int]


@dataclass(eq=False)
class TypedGraph:
    """A graph of operators over typed inputs.

    Attributes
    ----------
    inputs, keys, objects
        Its leaves: arrays, random keys, and users' objects.
    outputs
        The outputs.
    written
        New values of inputs that are states, written when forward runs.
    updates
        Operations that change states when backward runs.
    passed
        Those of them that a gradient of the outputs passes through, in the order of backward.
    """

    inputs: Sequence[Node]
    outputs: Sequence[Node]
    keys: Sequence[Node] = ()
    objects: Sequence[UserObject] = ()
    written: Mapping[int, Node] = field(default_factory=dict)
    updates: Sequence[StateUpdate] = ()
    passed: Sequence[StateUpdate] = ()


def moved(updates: Iterable[StateUpdate]) -> dict[int, Node]:
    """New values of states by input, after operations in the order of backward: each reads what those before it have written."""
    current: dict[int, Node] = {}
    for update in updates:
        op = update.sig.op
        names = [i.name for i in op.inputs if not i.injected]
        places = [update.states.get(name, -1) for name in names]
        operands = [current.get(place, operand) for place, operand in zip(places, update.operands, strict=True)]
        tracked = [o is not None and o.tracked for o in operands]
        new = op.moved(G, update.results, operands, update.sig.params, tracked)
        current |= {update.states[name]: value for name, value in new.items()}
    return current


def random_keys(count: int, device: Device) -> list[Any]:
    """Keys for so many random draws on a device, taken now."""
    return [STREAMS.next_key(device) for _ in range(count)]


def user_objects(objects: Iterable[UserObject], device: Device, arrays: Sequence[Any]) -> list[Any]:
    """Users' objects for a run on a device, on the arrays of their states among those of the graph's inputs."""
    return [o.make(device, [arrays[k] for k in o.states]) for o in objects]


def write_states(cells: Sequence[Cell], written: Iterable[int], contents: Sequence[Any]) -> None:
    """Put new values into those of a graph's arrays that it writes."""
    for k, new in zip(written, contents, strict=False):
        cells[k]._rebind(new)


class Function(Entry):
    """A graph on one kind of device: forward, forward that keeps what backward needs, and backward, each compiled when first asked for.

    All who have the same graph share it (see `function_of`).

    Parameters
    ----------
    steps
        The graph.
    device
        Where it runs first.
    """

    __slots__ = ("__dict__",)

    def __init__(self, steps: Steps, device: Device) -> None:
        super().__init__()
        self._steps, self._device = steps, device

    @cached_property
    def inference(self) -> Program:
        """Computes the outputs, then the states written."""
        steps, device = self._steps, self._device
        return program_of([*steps.outputs, *steps.written], steps.leaves, backend_for(device), title=FORWARD, device=device)

    @cached_property
    def training(self) -> Training:
        """Forward that keeps what backward needs, and backward."""
        return Training(self._steps, self._device)


def function_of(steps: Steps, device: Device) -> Function:
    """The function of a graph on a kind of device, shared by all who ask for it."""
    key = steps, backend_for(device), recomputes(), *vars(SETTINGS).values()
    found = PROGRAMS.get(key)
    if found is None:
        found = PROGRAMS.add(key, Function(steps, device))
    else:
        found.used = True
    return found
