"""Horizontal fusion: similar element-wise kernels whose results no other step reads, such as the updates of all weights, run in one call.

Such kernels are delayed to the end of the program. There, connected nodes of one shape form a kernel, together with the 0-d values
that it needs, which every kernel computes for itself. Kernels are similar if they differ only in their arrays and sizes.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from .ir import Application, Constant, Node, is_const, number_of, post_order

#: Maximum number of nodes in a kernel: the time to compile one grows faster than their number.
MOST_NODES = 64
#: Maximum number of 0-d nodes that a kernel computes for one that it needs.
MOST_NUMBERS = 16

#: A node of a kernel: its operator, dtype, operands (indices of the kernel's nodes or inputs, or constants), and
#: whether nodes outside the kernel read it.
Signature = tuple[object, ...]


class Member(NamedTuple):
    """One kernel: its nodes in order, 0-d ones first, and its level: the length of the longest chain of kernels that it depends on."""

    nodes: tuple[Application, ...]
    level: int


class FusedEnd(NamedTuple):
    """The kernels delayed to the end of a program.

    Attributes
    ----------
    groups
        Groups of similar kernels that run in one call each, in order.
    numbers
        0-d nodes that every kernel which needs them computes for itself.
    """

    groups: list[tuple[Member, ...]]
    numbers: frozenset[Application]

    @property
    def nodes(self) -> set[Application]:
        """All nodes of these kernels."""
        return {n for group in self.groups for member in group for n in member.nodes}


def fuse_horizontally(outputs: Sequence[Node], nodes: Iterable[Node], is_large: Callable[[Application], bool]) -> FusedEnd:
    """The kernels to delay to the end of a program; none unless at least two are similar. Kernels consist of large nodes.

    Parameters
    ----------
    outputs, nodes
        The graph, and its nodes in topological order.
    is_large
        Whether a node may be part of a kernel.
    """
    order = [n for n in nodes if isinstance(n, Application) and not is_const(n)]
    readers = _readers(order)
    wanted = set(outputs)
    few = _cheap_scalars(order, wanted)
    last = _read_only_by_each_other(order, readers, lambda n: is_large(n) if n.shape or n in wanted else n in few)
    numbers = {n for n in last if n.shape == () and n not in wanted}
    members = _members([n for n in order if n in last and n not in numbers], numbers)
    kept = _grouped(members, wanted, readers)
    return FusedEnd(kept, frozenset(numbers) & {n for group in kept for member in group for n in member.nodes})


def _readers(order: Iterable[Application]) -> dict[Node, list[Application]]:
    found: dict[Node, list[Application]] = {}
    for n in order:
        for i in n.operands:
            found.setdefault(i, []).append(n)
    return found


def _cheap_scalars(order: Iterable[Application], wanted: Collection[Node]) -> set[Node]:
    """0-d values cheap enough for every kernel to compute for itself; not the sum of the norms of all weights, say.

    None of them is computed from a 0-d output: a separate delayed kernel might compute it, and the others would depend on that kernel.
    """
    count: dict[Node, int] = {}
    for n in order:
        if n.shape == () and n.bound_op.op.elementwise and not any(i.shape == () and i in wanted for i in n.operands):
            # counts a shared operand twice, which errs towards fewer copies; the cap keeps the numbers of long chains small
            count[n] = min(1 + sum(count.get(i, 0) for i in n.operands), MOST_NUMBERS + 1)
    return {n for n, computed in count.items() if computed <= MOST_NUMBERS}


def _read_only_by_each_other(
    order: Sequence[Application], readers: dict[Node, list[Application]], is_large_enough: Callable[[Application], bool]
) -> set[Application]:
    """Element-wise nodes all of whose readers, direct and indirect, are such nodes too."""
    found: set[Application] = set()
    # users come first, so that one pass decides: a node may wait for the end of the program if all that reads it waits too
    for n in reversed(order):
        if n.bound_op.op.elementwise and found.issuperset(readers.get(n, ())) and is_large_enough(n):
            found.add(n)
    return found


def _members(nodes: Sequence[Application], numbers: Collection[Application]) -> list[Member]:
    """The kernels: connected nodes of one shape are one kernel, or several in sequence if there are too many."""
    owner: dict[Node, Application] = {n: n for n in nodes}  # union-find, with path halving

    def root(n: Node) -> Application:
        while owner[n] is not n:
            owner[n] = owner[owner[n]]
            n = owner[n]
        return owner[n]

    for n in nodes:
        for i in n.operands:
            if i in owner and i.shape == n.shape:
                owner[root(i)] = root(n)
    parts: dict[Application, list[Application]] = {}
    for n in nodes:
        parts.setdefault(root(n), []).append(n)
    members: list[Member] = []
    made: dict[Node, int] = {}  # in which member
    # smaller shapes first: a kernel's operands from other kernels are smaller, since broadcasting only enlarges
    for part in sorted(parts.values(), key=lambda own: (own[0].size, len(own[0].shape))):
        for own in (part[k : k + MOST_NODES] for k in range(0, len(part), MOST_NODES)):
            # kernels of one level do not read each other's results, so they may run in one call
            below = {made[i] for n in own for i in n.operands if i in made}
            made.update(dict.fromkeys(own, len(members)))
            needed = post_order(own, lambda n: [i for i in n.operands if isinstance(i, Application) and i in numbers])
            level = max([members[b].level + 1 for b in below], default=0)
            members.append(Member((*[n for n in needed if n in numbers], *own), level))
    return members


def _grouped(members: Sequence[Member], wanted: Collection[Node], readers: dict[Node, list[Application]]) -> list[tuple[Member, ...]]:
    """Groups of similar kernels. A single kernel is delayed too if it reads a delayed kernel's result, or 0-d values only for itself."""
    groups: dict[tuple[int, Signature], list[Member]] = {}
    for member in members:
        groups.setdefault((member.level, _signature(member.nodes, wanted, readers)), []).append(member)
    # nothing runs together, so every kernel keeps its place
    if all(len(group) == 1 for group in groups.values()):
        return []
    kept: list[tuple[Member, ...]] = []
    waiting: set[Node] = set()
    for _, group in sorted(groups.items(), key=lambda pair: pair[0][0]):
        needs = any(i in waiting for m in group for n in m.nodes for i in n.inputs)
        # a kernel that reads no delayed result keeps its place in the program, where its operands can be freed earlier
        if len(group) > 1 or needs or any(n.shape == () for n in group[0].nodes):
            kept.append(tuple(group))
            waiting.update(n for m in group for n in m.nodes)
    return kept


def _signature(nodes: Sequence[Application], wanted: Collection[Node], readers: dict[Node, list[Application]]) -> Signature:
    place: dict[Node, int] = {n: k for k, n in enumerate(nodes)}
    inputs: dict[Node, int] = {}
    shape = nodes[-1].shape
    rows = []
    for n in nodes:
        operands = []
        for i in n.operands:
            if i in place:
                operands.append(("step", place[i]))
            elif isinstance(i, Constant):
                operands.append(("const", i))
            elif is_const(i):
                operands.append(("array of one value", repr(number_of(i)), i.dtype))
            else:
                unlike = None if i.shape == shape or i.size == 1 else n  # broadcast along some axes: similar to no other kernel
                operands.append(("in", inputs.setdefault(i, len(inputs)), i.dtype, i.shape == shape, unlike))
        leaves = n in wanted or any(r not in place for r in readers.get(n, ()))
        rows.append((n.bound_op, n.dtype, n.shape == shape, leaves, *operands))
    return tuple(rows)
