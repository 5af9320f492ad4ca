"""Traces: the operations of a function as typed nodes over its arguments, for the transforms of `twofold.func`.

A trace takes the place of the tape, so that whatever is recorded on a tape (views, writes, forms of NumPy's functions) joins the trace
instead. Its arrays are pending: nothing is computed until the transformed graph runs, or Python reads a value.
"""

import gc
from collections.abc import Mapping, Sequence
from math import prod
from typing import Literal, NamedTuple, TypeAlias
from weakref import ref

import numpy as np

from ..backend.loader import backend_for
from ..device import Device
from ..dtype import COMPLEX, is_float
from ..errors import AutogradError
from ..graph.build import G, apply
from ..graph.ir import Leaf, Node, leaf, leaves_of
from ..opdef import BoundOp
from ..program.cache import program_of
from ..scheduler.streams import run_on
from .cell import ALWAYS, Cell, Content, Operand, Value, lent
from .generator import STREAMS
from .guards import is_tracked
from .scalars import scalar_node
from .tape import Tape, TapeEntry, tls
from .user_function import UserFunction
from .window import force


def is_followed(cell: Cell) -> bool:
    """Whether a trace follows an array, so that its values may not be known."""
    return tls.tape.__class__ is Trace and is_tracked(cell._content)


def runs_again() -> bool:
    """Whether the function that is being called is traced, and its graph will run without its code."""
    return isinstance(tls.tape, Trace) and tls.tape.owner.runs != "once"


class TracedEntry(TapeEntry):
    """The entry of an array that a trace follows. ``of``: its node there. ``node`` only says that the array has a history."""

    __slots__ = ("of",)
    of: Node


class Source(NamedTuple):
    """Where an input of a trace from outside comes from, so that its value of a later time can be read.

    Attributes
    ----------
    values
        What stands for it here, and in a trace outside.
    cell
        The array; None for random keys.
    shape
        The number of keys along each axis; empty for a single key.
    """

    values: tuple[Operand, Operand]
    cell: ref[Cell] | None = None
    shape: tuple[int, ...] = ()


#: When the graph of a trace runs; see `Trace`.
Runs: TypeAlias = Literal["once", "again", "each step"]
RUNS: tuple[Runs, ...] = ("once", "again", "each step")


class StateChange(NamedTuple):
    """An operation of a trace that changes states when backward runs, such as moving averages.

    Attributes
    ----------
    bound_op, operands, results
        The operation, its nodes, and all its results.
    cells
        The arrays of its states by name.
    """

    bound_op: BoundOp
    operands: Sequence[Node | None]
    results: Sequence[Node]
    cells: Mapping[str, Cell]

    @classmethod
    def of(cls, bound_op: BoundOp, args: Sequence[object], operands: Sequence[Node | None], results: Sequence[Node]) -> "StateChange":
        """That of an operation on these arrays."""
        states = {i.name: a for i, a in zip(bound_op.op.arrays, args, strict=False) if i.auxiliary and isinstance(a, Cell)}
        return cls(bound_op, operands, results, states)

    def places(self, inputs: Sequence[Node]) -> dict[str, int]:
        """Positions of the states among the inputs of a graph; what the graph computes itself is no state."""
        at = {n: k for k, n in enumerate(inputs)}
        names = [i.name for i in self.bound_op.op.arrays]
        found = {name: at.get(n) for name, n in zip(names, self.operands, strict=False) if n is not None}
        return {name: k for name in self.cells if (k := found.get(name)) is not None}


def next_key(device: Device, shape: tuple[int, ...] = ()) -> Value:
    """Random keys (*shape, 6) of the next draws. In the body of a loop these are no draws: the loop has keys for each step."""
    stream, tape = STREAMS.of(device), tls.tape
    if isinstance(tape, Trace) and tape.owner.runs == "each step":
        keys = np.zeros((*shape, 6), np.uint64)
    elif shape:
        keys = np.array([stream.next_key() for _ in range(prod(shape))], np.uint64).reshape(*shape, 6)
    else:
        keys = stream.next_key()
    return Value(backend_for(device).from_host(keys, device), device=device)


def drawn(shape: tuple[int, ...], device: Device) -> Value:
    """Random keys (*shape, 6), drawn now. Whoever runs the graph of a trace around draws others."""
    found = next_key(device, shape)
    if isinstance(tls.tape, Trace):
        tls.tape.owner.sources.append(Source((found, found), None, shape))
    return found


class Trace(Tape):
    """The graph of a function that is being called.

    Attributes
    ----------
    what
        The transform, for messages.
    inputs, operands
        The leaves of the graph (arguments, then what the function reads from outside), and what they stand for; None for an argument
        whose value is not known.
    sources
        Where inputs come from: arrays from outside, and random keys, also those of traces inside this one.
    changes
        Its operations that change states when backward runs.
    runs
        When its graph runs, that of a trace around included: ``"once"``, as soon as the function has been called; ``"again"``, with other
        random keys; or at ``"each step"`` of a loop, where random keys stand for those of all steps.
    owner, paused
        The trace, and the same one inside ``autograd.pause()``, where results are constants.
    """

    __slots__ = ("_held", "_pending", "_places", "_writes", "changes", "inputs", "operands", "owner", "paused", "runs", "sources", "what")
    # as a `Producer`
    closed = True
    is_done = False

    def __init__(self, what: str, owner: "Trace | None" = None, runs: Runs = "once") -> None:
        super().__init__()
        around = tls.tape.owner.runs if isinstance(tls.tape, Trace) else runs
        self.runs = RUNS[max(RUNS.index(runs), RUNS.index(around))]
        self.what = what
        self.inputs: list[Leaf] = []
        self.operands: list[Operand] = []
        # Values from outside by id, kept alive so that no id is used again
        self._places: dict[int, Node] = {}
        self._held: list[Value] = []
        self._pending: list[ref[Value]] = []
        self._writes: list[tuple[ref[Cell], Content]] = []
        self.sources: list[Source] = []
        self.changes: list[StateChange] = []
        self.owner = self if owner is None else owner
        self.paused = Trace(what, self) if owner is None else self

    def argument(self, v: Value | None, shape: tuple[int, ...], dtype: str, device: Device) -> Value:
        """The traced Value of an argument; ``v`` is its value, None if it is not known."""
        tracked = is_float(dtype) or dtype in COMPLEX
        return self._value(self._input(None if v is None else lent(v, self), shape, dtype, tracked), device)

    def _input(self, v: Operand, shape: tuple[int, ...], dtype: str, tracked: bool) -> Leaf:
        node = leaf(("trace", len(self.inputs)), shape, dtype, tracked)
        self.inputs.append(node)
        self.operands.append(v)
        return node

    def _value(self, node: Node, device: Device) -> Value:
        # tracked whatever the dtype: integers and bools join the trace too, as they may depend on an argument that is batched
        entry = TracedEntry(leaf("traced", node.shape, node.dtype, True), (), (), self)
        entry.of = node
        out = Value(None, entry, (self, node), device)
        self._pending.append(ref(out))
        return out

    def add(self, bound_op: BoundOp, args: Sequence[object], contents: Sequence[Operand], device: Device) -> list[Value]:
        """The results of an operation, of whose operands at least one is traced or recorded. ``args`` own the plain contents."""
        owner = self.owner
        # who runs the graph again draws other keys
        if bound_op.draws:
            key = contents[len(bound_op.op.inputs) - 1]
            owner.sources.append(Source((key, key)))
        nodes = [owner.node_of(v, own) for v, own in zip(contents, args, strict=True)]
        # what a paused scope computes depends on nothing
        if owner is not self:
            nodes = [None if n is None else G.stop_gradient(n) for n in nodes]
        parts = apply(bound_op, tuple(nodes)).parts
        if bound_op.op.backward_rule is not None and owner is self:
            self.changes.append(StateChange.of(bound_op, args, nodes, parts))
        return [owner._value(part, device) for part in parts]

    def node_of(self, v: Operand, own: object = None) -> Node | None:
        """The node of an operand; a new input for one from outside."""
        if v is None:
            return None
        if isinstance(v, Value):
            entry = v.entry
            if isinstance(entry, TracedEntry) and entry.tape is self:
                return entry.of
        elif isinstance(v, (int, float)):
            node = scalar_node(v, ("trace", len(self.inputs)))
            return self._input(v, (), node.dtype, False) if isinstance(node, Leaf) else node
        elif isinstance(own, Cell):
            v = own._capture()
        elif isinstance(v, UserFunction):
            return self._input(v, (), "object", False)
        else:
            v = Value(v)
        found = self._places.get(id(v))
        if found is None:
            self._held.append(v)
            shape, dtype = v.type
            found = self._places[id(v)] = self._input(lent(v, self), shape, dtype, False)
            # a view is no source: on devices operations get a copy of it
            if isinstance(own, Cell) and own._held is not None:
                # weak: an array of the function's own is a constant, and its content is traced later
                self.sources.append(Source((v, self.operands[-1]), ref(own)))
        return found

    def sources_by_place(self) -> dict[int, Source]:
        """The sources of inputs, by position."""
        places = {node: k for k, node in enumerate(self.inputs)}
        found = ((self._places.get(id(v)), s) for s in self.sources for v in s.values)
        return {places[node]: s for node, s in found if isinstance(node, Leaf)}

    def keys_among(self, operands: Sequence[Operand]) -> bool:
        """Whether random keys that were drawn in this trace are among some operands."""
        keys = self._keys()
        return any(id(v) in keys for v in operands)

    def _keys(self) -> set[int]:
        """The random keys that were drawn in this trace."""
        return {id(v) for source in self.sources if source.cell is None for v in source.values}

    # reading values

    @property
    def error(self) -> AutogradError:
        """Why the values cannot be read."""
        return AutogradError(
            f"{self.what}: the value of an array is not known while its function is traced",
            "a conversion to a number, bool, text or NumPy array, or a function whose result's shape depends on values",
            "write np.where(condition, a, b) or func.cond for an if, func.scan for a loop, or compute it outside; "
            "to print an array, return it",
        )

    def finish(self) -> None:
        """Compute the values of all living arrays; they remain part of the trace."""
        living = [v for r in self._pending if (v := r()) is not None and v.data is None]
        known = {n: v for n, v in zip(self.inputs, self.operands, strict=True) if v is not None}
        if self.runs != "once":
            # a number that Python reads would be a constant
            keys = self._keys()
            known = {n: v for n, v in known.items() if id(v) not in keys}
        # `force` raises `error` for Values that have no data afterwards: those computed from arguments without values
        live = [v for v in living if isinstance(v.entry, TracedEntry) and known.keys() >= set(leaves_of([v.entry.of]))]
        if not live:
            return
        device = live[0].device
        nodes = [v.entry.of for v in live if isinstance(v.entry, TracedEntry)]
        program = program_of(nodes, list(known), backend_for(device), device=device)
        arrays = [force(v) if isinstance(v, Value) else v for v in known.values()]
        # shared for good: the program of the transform computes the same values again, from the operands
        for v, data in zip(live, run_on(device, program.run, arrays), strict=True):
            v.sharing = ALWAYS
            v.data = data
        self._pending = [ref(v) for v in living if v.data is None]

    # writes to arrays from outside

    def wrote(self, cell: Cell, old: Content, new: Content) -> None:
        """Note that a cell has got a new content, which must not outlive the call unless the cell is the function's own."""
        if not self._follows(old) and self._follows(new):
            self.owner._writes.append((ref(cell), old))

    def _follows(self, v: Content) -> bool:
        return isinstance(v, Value) and isinstance(v.entry, TracedEntry) and v.entry.tape is self.owner

    def check_writes(self) -> None:
        """Restore arrays from outside that the function has written, and raise if there are any. Called when its own are gone.

        Raises
        ------
        AutogradError
            If there are any.
        """
        if not self._writes:
            return
        # arrays of the function may be part of a reference cycle
        if any(r() is not None for r, _ in self._writes):
            gc.collect()
        written = self.restore()
        if written:
            raise AutogradError(
                f"{self.what}: the function writes to an array from outside",
                f"an array of shape {written[0].type[0] if isinstance(written[0], Value) else written[0].shape}",
                "return the new value, or write to a copy",
            )

    def restore(self) -> list[Content]:
        """Give back the former contents of the arrays that were written and still live; returns these contents."""
        found = []
        # the last first: an array that was written twice gets its first content back
        for r, old in reversed(self._writes):
            cell = r()
            if cell is not None:
                cell._content = old
                found.append(old)
        self._writes = []
        return found
