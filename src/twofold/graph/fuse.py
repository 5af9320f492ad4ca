"""Groups of element-wise nodes that run as one kernel over one iteration space, and the order of all steps."""

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from typing import NamedTuple

from .epilogues import endings
from .horizontal_fusion import MOST_NODES, Ends, Member, ends_of
from .ir import Application, Node, is_const, post_order, topological

#: Nodes ahead among which a kernel over rows looks for what it can compute as well.
AHEAD = 64
#: Elements from which a node may be part of a kernel: for all nodes, or for each.
Big = int | Callable[[Application], int]


class Step(NamedTuple):
    """One step of a program: a single node, or several element-wise nodes of one shape that become one kernel.

    Attributes
    ----------
    nodes
        What it computes.
    members
        The nodes of each of several kernels that run at once; none else. They read nothing of one another.
    numbers
        Nodes that each member which needs them computes for itself.
    epilogue
        Of a matrix product (the first node) with what follows from it: see `graph.epilogues`.
    """

    nodes: tuple[Application, ...]
    members: tuple[tuple[Application, ...], ...] = ()
    numbers: frozenset[Application] = frozenset()
    epilogue: str = ""

    @property
    def is_kernel(self) -> bool:
        """Whether the step is a fused kernel, or another call for several nodes."""
        return len(self.nodes) > 1


def _in_order(outputs: Sequence[Node]) -> list[Node]:
    """The nodes below outputs, inputs before users, so that few values wait: what is near the leaves first, of operands the far one.

    So a layer's weights get their gradients as soon as what they follow from is known, and a value that is computed again for
    backward is computed right before its use.
    """
    height: dict[Node, int] = {}
    for n in topological(outputs):
        height[n] = 1 + max([height[i] for i in n.inputs if i is not None], default=0)

    def farthest_first(n: Node) -> Sequence[Node | None]:
        return sorted([i for i in n.inputs if i is not None], key=height.__getitem__, reverse=True) if len(n.inputs) > 1 else n.inputs

    return post_order(sorted(dict.fromkeys(outputs), key=height.__getitem__), farthest_first)


class _Group:
    """The kernel that is being gathered: nodes over one space, and reductions over its last axis with what is computed of them."""

    def __init__(self, big: Big, rows: bool, whole: bool) -> None:
        self.big, self.rows, self.whole = big, rows, whole
        self.nodes: list[Application] = []
        #: What is known when the kernel has run: its nodes, and views of them that wait until then.
        self.members: set[Node] = set()
        self.views: dict[Application, None] = {}
        self.reduces = False
        self.space: tuple[int, ...] = ()

    def space_of(self, n: Application) -> tuple[int, ...] | None:
        """The iteration space of a kernel that the node may begin; None if it may not."""
        if n.sig.op.elementwise:
            return n.shape if is_big(self.big, n) else None
        return n.operands[0].shape if self.rows and is_row_reduction(n) and is_big(self.big, n) else None

    def takes(self, n: Application) -> bool:
        """Whether the node belongs to the open kernel."""
        if not self.nodes or len(self.nodes) >= MOST_NODES or any(i in self.views for i in n.operands):
            return False
        if self.space_of(n) == self.space:
            return True
        row = (*self.space[:-1], 1)
        if self.whole and n.shape == row and n.sig.op.elementwise and self.reduces:
            return True
        below = any(i in self.members and i.shape == row for i in n.operands)
        return self.rows and below and n.shape == row and n.sig.op.elementwise

    def add(self, n: Application, space: tuple[int, ...]) -> None:
        """Take the node."""
        self.nodes.append(n)
        self.members.add(n)
        self.space = space
        self.reduces = self.reduces or is_row_reduction(n)

    def delays(self, n: Application) -> bool:
        """Whether the node is a view of what the open kernel makes, and waits until it has run."""
        if not self.rows or not n.sig.op.view or self.members.isdisjoint(n.inputs):
            return False
        self.views[n] = None
        self.members.add(n)
        return True

    def also(
        self, rest: Sequence[Application], known: Container[Node], users: Mapping[Node, Sequence[Application]], outputs: Container[Node]
    ) -> list[Application]:
        """What a kernel over rows computes while it has them: results of rows, with what only they are computed of.

        Parameters
        ----------
        rest
            Nodes that are not computed yet, in order.
        known
            Those that are, the kernel's own among them.
        users
            Who reads a node.
        outputs
            Nodes that are read from outside.
        """
        if not self.reduces:
            return []
        row = (*self.space[:-1], 1)
        found: dict[Application, None] = {}
        for n in rest:
            is_known = all(not isinstance(i, Application) or is_const(i) or i in known or i in found for i in n.operands)
            if is_known and self.views.keys().isdisjoint(n.inputs) and self._is_of_rows(n, row, found):
                found[n] = None
        taken, before = frozenset(found), len(found) + 1
        while len(found) < before:  # until what stays needs nothing that went, and others read results of rows alone
            before = len(found)
            for n in list(found):
                is_kept = n.shape == row or (n not in outputs and all(u in found for u in users[n]))
                if not is_kept or any(i in taken and i not in found for i in n.inputs):
                    del found[n]
        return list(found) if len(self.nodes) + len(found) <= MOST_NODES else []

    def _is_of_rows(self, n: Application, row: tuple[int, ...], others: Container[Node]) -> bool:
        """Whether a node over the kernel's space, or of its rows, may join it together with others."""
        if self.space_of(n) == self.space:
            return True
        below = any(i.shape == row and (i in self.members or i in others) for i in n.operands)
        return below and n.shape == row and n.sig.op.elementwise

    def closed(self) -> list[Step]:
        """The steps of what was gathered, if there is anything; then nothing is."""
        steps = [Step(tuple(self.nodes))] if self.nodes else []
        steps += [Step((n,)) for n in self.views]
        self.nodes, self.members, self.views, self.reduces = [], set(), {}, False
        return steps


def is_big(big: Big, n: Application) -> bool:
    """Whether an element-wise node, or a reduction, has the elements from which it may be part of a kernel."""
    size = n.size if n.sig.op.elementwise else n.operands[0].size
    return size >= max(1, big if isinstance(big, int) else big(n))


def is_row_reduction(n: Application) -> bool:
    """Whether a node sums its operand over the last axis, or takes the largest or smallest element, and keeps the axis."""
    if not n.sig.op.row_reduction or not n.sig.params["keepdims"]:
        return False
    (x,) = n.operands
    axis = n.sig.params["axis"]
    axes = axis if isinstance(axis, tuple) else (axis,)
    return not is_const(x) and x.dtype in ("float32", "float64") and axes in ((-1,), (len(x.shape) - 1,))


def steps_of(outputs: Sequence[Node], big: Big, rows: bool = False, whole: bool = False, together: bool = False) -> list[Step]:
    """The primitives below outputs in an order of execution; runs of element-wise nodes of at least ``big`` elements are grouped.

    A node joins the open group if it has its shape. Others that read nothing of the open group may run before it; one that
    does closes it. With ``rows`` reductions over the last axis join as well, and what is computed of their results; before such a
    group is closed it takes what it can compute of results of rows that would come later (`_Group.also`). With
    ``whole`` rows' kernels take in all that is computed for rows, with ``together`` kernels at the end that are alike become one step.
    """
    steps: list[Step] = []
    group = _Group(big, rows, whole)
    ends = ends_of(outputs, lambda n: group.space_of(n) is not None) if together else Ends([], frozenset())
    waiting = ends.nodes
    order = [n for n in _in_order(outputs) if isinstance(n, Application) and not is_const(n) and n not in waiting]
    known: set[Node] = set()
    read, users = frozenset(outputs), _users_of(order) if rows else {}
    for at, n in enumerate(order):
        if n in known:
            continue
        if group.takes(n):
            group.add(n, group.space)
        elif not group.delays(n):
            space = group.space_of(n)
            if space is not None or any(i in group.members for i in n.operands):
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
    return [*steps, *group.closed(), *[_at_once(g, ends.numbers) for g in ends.groups]]


def _users_of(nodes: Sequence[Application]) -> dict[Node, list[Application]]:
    users: dict[Node, list[Application]] = {n: [] for n in nodes}
    for n in nodes:
        for i in n.operands:
            if i in users:
                users[i].append(n)
    return users


def with_epilogues(steps: Sequence[Step], outputs: Sequence[Node], known: Collection[str]) -> list[Step]:
    """The steps with matrix products that have one of the known epilogues as one step each."""
    found = endings([s.nodes for s in steps], outputs, known) if known else []
    gone = {t for ending in found for t in ending.steps}
    new = {max(ending.steps): Step(ending.nodes, epilogue=ending.name) for ending in found}
    return [new.get(t, step) for t, step in enumerate(steps) if t in new or t not in gone]


def _at_once(group: Sequence[Member], numbers: frozenset[Application]) -> Step:
    nodes = tuple(dict.fromkeys(n for member in group for n in member.nodes))
    members = tuple(member.nodes for member in group) if len(group) > 1 else ()
    return Step(nodes, members, numbers.intersection(nodes))
