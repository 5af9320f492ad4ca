"""Memory planning: assigns memory to each value of a program, by liveness; results in place, shared buffers, donated inputs."""

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import prod
from textwrap import indent
from typing import NamedTuple

from ..extension_points import shown_in_notebooks
from ..opdef import normalized_axis
from ..ops.primitive_shape import concat
from .fuse import Step
from .ir import Application, Node, applies, is_const, unshaped


class Place(NamedTuple):
    """Where a value lives.

    ``leaf`` k (an input's memory), ``buffer`` k, ``output`` k, ``kernel`` (never leaves its kernel), ``constant``, ``fresh``
    (allocated by the backend, freed after its last use). ``begin`` is the first element, in a buffer, of a value that is computed
    where it will be concatenated with others.
    """

    kind: str
    number: int = 0
    begin: int = 0


@dataclass(repr=False)
class MemoryPlan:
    """The plan of one program; sizes in bytes.

    Attributes
    ----------
    place
        Where each node's result lives; a view has the place of the value that it is a view of.
    buffers
        (bytes, dtype) of each scratch buffer.
    outputs
        Bytes of each fresh result.
    donated
        The result that is written over each donated leaf.
    """

    place: dict[Node, Place] = field(default_factory=dict)
    buffers: list[tuple[int, str]] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    donated: dict[Node, Node] = field(default_factory=dict)
    leaves: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of inputs, scratch and results together: the peak memory of a run."""
        return self.leaves + sum(n for n, _ in self.buffers) + sum(self.outputs)

    @property
    def rows(self) -> list[tuple[str, int, str]]:
        """The parts of the memory: what each is, its bytes, and a note."""
        inputs = [("inputs", self.leaves, f"{len(self.donated)} of them overwritten")]
        buffers = [(f"buffer {k}", n, dtype) for k, (n, dtype) in enumerate(self.buffers)]
        return inputs + buffers + [(f"result {k}", n, "") for k, n in enumerate(self.outputs)]

    def is_in_place(self, n: Application) -> bool:
        """Whether a value is a concatenation whose operands are computed in its memory: it needs no copies."""
        if not applies(n, concat) or (place := self.place[n]).kind != "buffer":
            return False
        begins = accumulate([i.size for i in n.operands], initial=place.begin)
        return all(self.place.get(unshaped(i)) == place._replace(begin=b) for i, b in zip(n.operands, begins, strict=False))

    def __repr__(self) -> str:
        rows = [*self.rows, ("total ", self.nbytes, "")]
        return "\n".join(f"{what}  {n} bytes{', ' * bool(note)}{note}" for what, n, note in rows)

    _repr_html_ = shown_in_notebooks("memory_plan")


class MemoryPlans(dict[str, MemoryPlan]):
    """The memory plans of programs by title, which print as tables."""

    def __repr__(self) -> str:
        return "\n".join(f"{title}\n{indent(repr(plan), '  ')}" for title, plan in self.items())

    _repr_html_ = shown_in_notebooks("memory_plans")


class _MemoryPlanner:
    def __init__(
        self,
        steps: Sequence[Step],
        outputs: Sequence[Node],
        donated: Collection[Node],
        fixed: Callable[[Application], bool],
        updates: Callable[[Application], bool],
        in_place: bool,
        share: bool,
        join: bool,
    ) -> None:
        self.fixed, self.updates = fixed, updates
        self.steps, self.outputs, self.in_place, self.share, self.join = steps, set(outputs), in_place, share, join
        self.given = set(donated)
        # The invariant of all fields: a place holds one value at a time, and a value's place is not written before its last reader has run.
        self.plan = MemoryPlan()
        # For a view or a joined value: the value that owns the memory. Liveness is that of the owner, since a use of a view is a use of
        # its memory.
        self.root: dict[Node, Node] = {}
        #: For a value that is computed in the memory of a concatenation: its first element there.
        self.begin: dict[Node, int] = {}
        # The last step that reads an owner, through views too; the number of steps for a result of the program, which outlives them.
        self.last: dict[Node, int] = {}
        # All values that have had a place, in order. They move together when a buffer becomes the memory of a result.
        self.tenants: dict[Place, list[Node]] = {}
        #: Free buffers by size and dtype, in the order in which their values died.
        self.free: dict[tuple[int, str], deque[int]] = {}
        # Numbers of the donated leaves.
        self.writable: set[int] = set()
        # Operands of the current step that must not be overwritten while it runs.
        self.viewed: set[Node] = set()
        #: For a value that only one of several kernels in a call reads: the nodes of this kernel.
        self.reader: dict[Node, Collection[Node]] = {}

    def owner(self, node: Node) -> Node:
        return self.root.get(node, node)

    def run(self, leaves: Sequence[Node]) -> MemoryPlan:
        for k, leaf in enumerate(leaves):
            self.plan.place[leaf] = Place("leaf", k)
            self.tenants[Place("leaf", k)] = [leaf]
            if leaf in self.given:
                self.writable.add(k)
            self.plan.leaves += leaf.nbytes if leaf.dtype not in ("weakf", "weaki") else 0
        self._liveness()
        for t, step in enumerate(self.steps):
            self._place_step(t, step)
        return self.plan

    def _join(self) -> None:
        """Find the concatenations whose operands are computed in their memory: adjacent blocks of it, new values of the same dtype."""
        made = {n for step in self.steps for n in step.nodes if n not in step.numbers}
        # the last ones first: a concatenation may be an operand of a later one
        for whole in [step.nodes[0] for step in reversed(self.steps) if not step.is_kernel and applies(step.nodes[0], concat)]:
            shape, axis = whole.shape, whole.bound_op.params["axis"]
            parts = [unshaped(i) for i in whole.operands]
            if whole in self.outputs or prod(shape[: normalized_axis(axis, len(shape))]) != 1 or len(set(parts)) != len(parts):
                continue
            if all(i in made and self._is_movable(i) and i.dtype == whole.dtype for i in parts):
                begin = self.begin.get(whole, 0)
                for i in parts:
                    self.root[i], self.begin[i] = self.owner(whole), begin
                    begin += i.size

    def _is_movable(self, n: Node) -> bool:
        """Whether the plan may choose a value's memory."""
        is_new = isinstance(n, Application) and not n.bound_op.op.view and not is_const(n) and not self.fixed(n)
        return is_new and n not in self.outputs and n not in self.root

    def _liveness(self) -> None:
        if self.join:
            self._join()
        for t, step in enumerate(self.steps):
            for n in step.nodes:
                if _is_view(n):
                    self.root[n] = self.owner(n.operands[0])
                for i in n.operands:
                    self.last[self.owner(i)] = t
        for o in self.outputs:
            self.last[self.owner(o)] = len(self.steps)

    def _place_step(self, t: int, step: Step) -> None:
        inside = set(step.nodes)
        # A kernel computes its nodes in order for each block of elements. Node k may write into an operand's memory if no node after k
        # reads that operand: by then all readers of this block have run. `read` has the last such node for each operand.
        read = {self.owner(i): k for k, n in enumerate(step.nodes) for i in n.operands}
        self.viewed = {self.owner(i) for n in step.nodes for i in n.operands if self.owner(i) is not i}
        dying = [i for i in read if i not in inside and self.last[i] == t and self._reusable(i)]
        self._set_readers(step)
        for k, n in enumerate(step.nodes):
            if _is_view(n):  # a view of a constant array has no memory that a result could take
                self.plan.place[n] = self.plan.place.get(n.operands[0], Place("constant"))
            elif self.fixed(n):
                self.plan.place[n] = Place("fresh")
                if n in self.outputs:
                    self.plan.outputs.append(n.nbytes)
            # a value that only its own kernel reads stays in registers or in a block's scratch: it needs no memory of its own
            elif step.is_kernel and (self.last.get(self.owner(n), -1) <= t or n in step.numbers):
                self.plan.place[n] = Place("kernel")
            else:
                self._place(n, k, dying, read)
        # after placing all results: the operands stay in use until the step has run, so their buffers are free for later steps only
        for place in [self.plan.place[d] for d in dying]:
            if place.kind == "buffer":
                self.free.setdefault(self.plan.buffers[place.number], deque()).append(place.number)

    def _set_readers(self, step: Step) -> None:
        """Protect operands that must not be overwritten: those of a product, and those that several kernels of one call read."""
        self.reader = {}
        if step.epilogue:  # a product reads its operands while results are written
            self.viewed.update(map(self.owner, step.nodes[0].operands))
        for member in step.members:
            for i in {self.owner(i) for n in member for i in n.operands}:
                if i in self.reader:
                    self.viewed.add(i)
                self.reader[i] = member

    def _reusable(self, node: Node) -> bool:
        place = self.plan.place.get(node)
        return place is not None and (place.kind == "buffer" or (place.kind == "leaf" and place.number in self.writable))

    def _place(self, n: Application, k: int, dying: list[Node], read: dict[Node, int]) -> None:
        """Place a result, in the memory of an operand if possible.

        An element-wise result may overwrite an operand that dies in this step, if no later node of the kernel reads the operand. A result
        that differs from its first operand in some elements only may overwrite that operand. Neither is possible if a node of the step
        reads the operand through a view: a kernel runs block by block, and a view's elements are in other blocks.
        """
        if self.owner(n) is not n:
            self._place_joined(n)
            return
        if n in self.plan.place:  # a concatenation, placed with the first of its operands
            return
        fit = None
        if self.in_place and n.bound_op.op.elementwise and n.bound_op.op.layout.may_overwrite:
            free = (d for d in dying if read[d] <= k and d not in self.viewed and n in self.reader.get(d, (n,)))
            fit = next((d for d in free if d.shape == n.shape and d.dtype == n.dtype), None)
        elif self.in_place and self.updates(n) and n.operands.count(first := n.operands[0]) == 1:
            fit = first if first in dying and first not in self.viewed else None
        # A donated leaf comes first: it saves an allocation even if the value is a result of the program, whose memory the caller then
        # gets.
        if fit is not None and self.plan.place[fit].kind == "leaf":
            # its memory now holds a result: no other result of this step may take it
            dying.remove(fit)
            place = self.plan.place[fit]
            self.plan.donated[self.tenants[place][0]] = n
            self._settle(n, place)
        elif n in self.outputs:
            self._place_output(n, fit, dying)
        elif fit is not None:
            dying.remove(fit)
            self._settle(n, self.plan.place[fit])
        else:
            self._settle(n, Place("buffer", self._buffer(n)))

    def _place_joined(self, n: Node) -> None:
        """Place a value in the memory of the concatenation that it is joined to."""
        whole = self.root[n]
        if whole not in self.plan.place:
            self._settle(whole, Place("buffer", self._buffer(whole)))
        self._settle(n, self.plan.place[whole]._replace(begin=self.begin[n]))

    def _place_output(self, n: Node, fit: Node | None, dying: list[Node]) -> None:
        """Place a result of the program. If it could overwrite a dying operand, that operand is computed in the result's memory instead."""
        place = Place("output", len(self.plan.outputs))
        self.plan.outputs.append(n.nbytes)
        # The caller keeps the result, so it cannot live in scratch memory; but the scratch buffer can become the result's memory. All
        # earlier values of the buffer move along, so they must have the result's shape: a result is allocated in its own shape.
        if fit is not None and all(t.shape == n.shape for t in self.tenants[self.plan.place[fit]]):
            dying.remove(fit)
            before = self.plan.place[fit]
            # emptied, not removed: other places name buffers by their numbers
            self.plan.buffers[before.number] = (0, fit.dtype)
            for tenant in self.tenants[before]:
                self.plan.place[tenant] = place
        self._settle(n, place)

    def _settle(self, n: Node, place: Place) -> None:
        self.plan.place[n] = place
        self.tenants.setdefault(place, []).append(n)

    def _buffer(self, n: Node) -> int:
        wanted = n.nbytes, n.dtype
        free = self.free.get(wanted)
        if free and self.share:
            return free.popleft()
        self.plan.buffers.append(wanted)
        return len(self.plan.buffers) - 1


def _is_view(n: Application) -> bool:
    return n.bound_op.op.view and not is_const(n.operands[0])


def plan_memory(
    steps: Sequence[Step],
    leaves: Sequence[Node],
    outputs: Sequence[Node],
    *,
    donated: Collection[Node] = (),
    fixed: Callable[[Application], bool] = lambda node: False,
    updates: Callable[[Application], bool] = lambda node: False,
    in_place: bool = True,
    share: bool = True,
    join: bool = False,
) -> MemoryPlan:
    """Plan a program's memory.

    Parameters
    ----------
    steps, leaves, outputs
        The program.
    donated
        Leaves whose memory may be overwritten.
    fixed
        Nodes whose results the backend allocates.
    updates
        Nodes that the backend can compute in the memory of their first operand by writing only the changed elements.
    in_place, share
        Switch the two optimizations off, to measure them.
    join
        Whether values may be computed in the memory of a concatenation that reads them.
    """
    return _MemoryPlanner(steps, outputs, donated, fixed, updates, in_place, share, join).run(leaves)
