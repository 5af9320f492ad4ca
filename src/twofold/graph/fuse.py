"""Fusion: groups element-wise nodes into kernels over one iteration space, and orders all steps."""

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from .epilogues import find_epilogues
from .horizontal_fusion import MOST_NODES, FusedEnd, Member, fuse_horizontally
from .ir import Application, Node, is_const, post_order, topological

#: A node's operand is small if all that it is computed from has this many times fewer elements than the node.
SMALLER = 16
#: How many nodes ahead a kernel over rows looks for more that it can compute.
AHEAD = 64
#: Minimum number of elements for a node to be part of a kernel: one for all nodes, or a function of the node.
Big = int | Callable[[Application], int]


class Step(NamedTuple):
    """One step of a program: a single node, or several nodes that run as one kernel.

    Attributes
    ----------
    nodes
        What it computes.
    members
        For several kernels that run in one call: the nodes of each. None reads another's results.
    numbers
        0-d nodes that every member which needs them computes for itself.
    epilogue
        For a matrix product or convolution (the first node) with an epilogue: its name, see `graph.epilogues`.
    """

    nodes: tuple[Application, ...]
    members: tuple[tuple[Application, ...], ...] = ()
    numbers: frozenset[Application] = frozenset()
    epilogue: str = ""

    @property
    def is_kernel(self) -> bool:
        """Whether the step computes several nodes in one call: a fused kernel, or a product with an epilogue."""
        return len(self.nodes) > 1


def _in_order(outputs: Sequence[Node], nodes: Iterable[Node]) -> list[Node]:
    """The nodes of a graph, inputs before users, in an order that keeps few values alive: shallow outputs first, deep operands first.

    Then a layer's weights get their gradients as soon as the gradients' operands are known, and a value recomputed for backward
    is recomputed right before its use. Nodes that depend on small arrays alone, and smaller values that are broadcast, come before a large
    operand: the scale of a normalization, say, would otherwise come between two operations on the data, and keep them out of one kernel.
    """
    #: Steps on the longest path from a node to a leaf.
    height: dict[Node, int] = {}
    largest: dict[Node, int] = {}  # elements of the largest value that a node is computed from
    for n in nodes:
        above, most = 0, n.size
        for i in n.inputs:
            if i is not None:
                above, most = max(above, height[i]), max(most, largest[i])
        height[n], largest[n] = 1 + above, most

    def farthest_first(n: Node) -> Sequence[Node | None]:
        if len(n.inputs) < 2:
            return n.inputs

        def rank(i: Node) -> tuple[bool, bool, int]:
            return SMALLER * largest[i] <= n.size, _is_repeated(i), height[i]

        return sorted([i for i in n.inputs if i is not None], key=rank, reverse=True)

    return post_order(sorted(dict.fromkeys(outputs), key=height.__getitem__), farthest_first)


def _is_repeated(n: Node) -> bool:
    """Whether a node shows a smaller value several times."""
    return isinstance(n, Application) and n.bound_op.op.view and n.operands[0].size < n.size


class _Group:
    """The kernel under construction: nodes over one space, reductions over its last axis, and nodes that depend on their results."""

    def __init__(self, big: Big, rows: bool, whole: bool) -> None:
        self.big, self.rows, self.whole = big, rows, whole
        self.nodes: list[Application] = []
        #: The kernel's nodes and the delayed views of them: these values exist only after the kernel has run.
        self.members: set[Node] = set()
        self.views: dict[Application, None] = {}
        self.reduces = False
        self.space: tuple[int, ...] = ()

    def space_of(self, n: Application) -> tuple[int, ...] | None:
        """The iteration space of a kernel that starts with the node; None if no kernel may start with it."""
        if n.bound_op.op.elementwise:
            return n.shape if is_big(self.big, n) else None
        return n.operands[0].shape if self.rows and is_row_reduction(n) and is_big(self.big, n) else None

    def takes(self, n: Application) -> bool:
        """Whether the node joins the open kernel."""
        # a view of the kernel's result exists only after the kernel has run
        if not self.nodes or len(self.nodes) >= MOST_NODES or not self.views.keys().isdisjoint(n.operands):
            return False
        if self.space_of(n) == self.space:
            return True
        row = (*self.space[:-1], 1)
        if n.shape != row or not n.bound_op.op.elementwise:
            return False
        # such a kernel holds its rows while it reduces them, so other nodes over the same rows cost no pass over memory
        if self.whole and self.reduces:
            return True
        return self.rows and any(i in self.members and i.shape == row for i in n.operands)

    def add(self, n: Application, space: tuple[int, ...]) -> None:
        """Add a node."""
        self.nodes.append(n)
        self.members.add(n)
        self.space = space
        self.reduces = self.reduces or is_row_reduction(n)

    def delays(self, n: Application) -> bool:
        """Delay the node until the open kernel has run, if the node is a view of one of the kernel's results; return whether it is."""
        if not self.rows or not n.bound_op.op.view or self.members.isdisjoint(n.inputs):
            return False
        self.views[n] = None
        self.members.add(n)
        return True

    def also(
        self, rest: Sequence[Application], known: Container[Node], users: Mapping[Node, Sequence[Application]], outputs: Container[Node]
    ) -> list[Application]:
        """More nodes that a kernel which reduces rows computes while it holds the rows: results of rows, and nodes that only these read.

        Parameters
        ----------
        rest
            Nodes not scheduled yet, in order.
        known
            Nodes already scheduled, including the kernel's own.
        users
            The readers of each node.
        outputs
            Results of the program.
        """
        row = (*self.space[:-1], 1)
        # candidates: nodes over the kernel's space or rows whose operands are all known by now
        found: dict[Application, None] = {}
        for n in rest:
            is_known = all(not isinstance(i, Application) or is_const(i) or i in known or i in found for i in n.operands)
            if is_known and self.views.keys().isdisjoint(n.inputs) and self._is_of_rows(n, row, found):
                found[n] = None
        # A node that others read elsewhere must be written to memory, which is only worth it for results of rows; dropping it may drop the
        # nodes that read it.
        taken, before = frozenset(found), len(found) + 1
        while len(found) < before:  # to a fixpoint: remaining nodes read no dropped node, and only results of rows are read elsewhere
            before = len(found)
            for n in list(found):
                is_kept = n.shape == row or (n not in outputs and all(u in found for u in users[n]))
                if not is_kept or any(i in taken and i not in found for i in n.inputs):
                    del found[n]
        return list(found) if len(self.nodes) + len(found) <= MOST_NODES else []

    def _is_of_rows(self, n: Application, row: tuple[int, ...], others: Container[Node]) -> bool:
        """Whether a node over the kernel's space, or over its rows, may join it together with others."""
        if self.space_of(n) == self.space:
            return True
        below = any(i.shape == row and (i in self.members or i in others) for i in n.operands)
        return below and n.shape == row and n.bound_op.op.elementwise

    def closed(self) -> list[Step]:
        """The steps for the open kernel, if there is one, and for the delayed views; then there is no open kernel."""
        steps = [Step(tuple(self.nodes))] if self.nodes else []
        # after the kernel, whose results they show
        steps += [Step((n,)) for n in self.views]
        self.nodes, self.members, self.views, self.reduces = [], set(), {}, False
        return steps


def is_big(big: Big, n: Application) -> bool:
    """Whether an element-wise node, or a reduction, has enough elements to be part of a kernel."""
    size = n.size if n.bound_op.op.elementwise else n.operands[0].size
    return size >= max(1, big if isinstance(big, int) else big(n))


def is_row_reduction(n: Application) -> bool:
    """Whether a node reduces its operand over the last axis, in a way that kernels support, and keeps the axis."""
    if not n.bound_op.op.execution.row_reduction or not n.bound_op.params["keepdims"]:
        return False
    (x,) = n.operands
    axis = n.bound_op.params["axis"]
    axes = axis if isinstance(axis, tuple) else (axis,)
    return not is_const(x) and x.dtype in ("float32", "float64") and axes in ((-1,), (len(x.shape) - 1,))


def steps_of(outputs: Sequence[Node], big: Big, rows: bool = False, whole_rows: bool = False, horizontal: bool = False) -> list[Step]:
    """The primitives below outputs in order of execution, with element-wise nodes of at least ``big`` elements fused into kernels.

    A node joins the open kernel if it has its shape. A node that reads nothing from the open kernel may run before it; one that
    reads from it closes the kernel.

    Parameters
    ----------
    outputs, big
        The graph, and the minimum number of elements.
    rows
        Reductions over the last axis join kernels too, and so do nodes that depend on their results. Before such a kernel is
        closed, it takes later nodes that it can compute as well (`_Group.also`).
    whole_rows
        Kernels over rows include every node that is computed for each row.
    horizontal
        Similar kernels at the end become one step (`graph.horizontal_fusion`).
    """
    steps: list[Step] = []
    group = _Group(big, rows, whole_rows)
    nodes = topological(outputs)
    end = fuse_horizontally(outputs, nodes, lambda n: group.space_of(n) is not None) if horizontal else FusedEnd([], frozenset())
    # they are separate steps after all others, so the walk below skips them
    delayed = end.nodes
    # constants are printed into the kernels that read them; they are not steps
    order = [n for n in _in_order(outputs, nodes) if isinstance(n, Application) and not is_const(n) and n not in delayed]
    if whole_rows:  # views of inputs first: what reads them may then join an earlier kernel over the same rows
        order.sort(key=lambda n: not _is_view_of_input(n))
    known: set[Node] = set()
    read, users = frozenset(outputs), _users_of(order) if rows else {}
    for at, n in enumerate(order):
        if n in known:
            continue
        if group.takes(n):
            group.add(n, group.space)
        elif not group.delays(n):
            space = group.space_of(n)
            # close the open kernel if the node starts another, or reads from this one; other nodes may run before it
            if space is not None or not group.members.isdisjoint(n.operands):
                if group.reduces:
                    also = group.also([m for m in order[at : at + AHEAD] if m not in known], known, users, read)
                    for m in also:
                        group.add(m, group.space)
                    known.update(also)
                steps += group.closed()
            if n not in known and space is not None:
                group.add(n, space)
            elif n not in known:
                steps.append(Step((n,)))
        known.add(n)
    return [*steps, *group.closed(), *[_in_one_call(g, end.numbers) for g in end.groups]]


def _is_view_of_input(n: Application) -> bool:
    return n.bound_op.op.view and not any(isinstance(i, Application) for i in n.operands)


def _users_of(nodes: Sequence[Application]) -> dict[Node, list[Application]]:
    users: dict[Node, list[Application]] = {n: [] for n in nodes}
    for n in nodes:
        for i in n.operands:
            if i in users:
                users[i].append(n)
    return users


def with_epilogues(
    steps: Sequence[Step], outputs: Sequence[Node], known: Collection[str], takes: Callable[[Application], bool]
) -> list[Step]:
    """The steps, with each product or convolution and its epilogue as one step if the backend supports it (see `find_epilogues`)."""
    found = find_epilogues([s.nodes for s in steps], outputs, known, takes)
    if not found:
        return list(steps)
    # An epilogue runs right before the rest of the last step that had some of its nodes: then all its operands exist, and readers of its
    # results come later.
    gone = {n for epilogue in found for n in epilogue.nodes}
    new: dict[int, list[Step]] = {}
    for epilogue in found:
        new.setdefault(max(epilogue.steps), []).append(Step(epilogue.nodes, epilogue=epilogue.name))
    out: list[Step] = []
    for t, step in enumerate(steps):
        left = tuple(n for n in step.nodes if n not in gone)
        out += new.get(t, [])
        out += [step] if len(left) == len(step.nodes) else [step._replace(nodes=left)] if left else []
    return out


def _in_one_call(group: Sequence[Member], numbers: frozenset[Application]) -> Step:
    nodes = tuple(dict.fromkeys(n for member in group for n in member.nodes))
    members = tuple(member.nodes for member in group) if len(group) > 1 else ()
    return Step(nodes, members, numbers.intersection(nodes))
