"""Element-wise kernels that nothing else of a program reads, such as the updates of all weights: those that are alike run at once.

They wait for the program's end. There a kernel takes all that is computed of one another in one shape, with the numbers (of shape
``()``) that it needs, which each kernel computes for itself. Kernels are alike if they differ only in their arrays and sizes.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from .ir import Application, Constant, Node, applications, is_const, number_of, post_order

#: Nodes of a kernel, at most: what compiling it takes grows faster than their number.
MOST_NODES = 64
#: Nodes of shape ``()`` that a kernel computes for one that it needs, at most.
MOST_NUMBERS = 16

#: What a node computes of what: its operator, dtype, operands (numbers of nodes of the kernel, of its inputs, or constants) and
#: whether others read it.
Signature = tuple[Any, ...]


class Member(NamedTuple):
    """One kernel: nodes in order, numbers first, and how many kernels have to run before it."""

    nodes: tuple[Application, ...]
    level: int


class Ends(NamedTuple):
    """What runs at a program's end.

    Attributes
    ----------
    groups
        Kernels that may run at once, group by group in order.
    numbers
        Nodes of shape ``()`` that each kernel which needs them computes.
    """

    groups: list[tuple[Member, ...]]
    numbers: frozenset[Application]

    @property
    def nodes(self) -> set[Application]:
        """All nodes that are computed there."""
        return {n for group in self.groups for member in group for n in member.nodes}


def ends_of(outputs: Sequence[Node], is_large: Callable[[Application], bool]) -> Ends:
    """What may wait for the end of a program, if at least two kernels there are alike; kernels are made of large nodes."""
    order = [n for n in applications(outputs) if not is_const(n)]
    readers = _readers(order)
    wanted = set(outputs)
    few = _computed_of_few(order)
    last = _read_by_none_but_each_other(order, readers, lambda n: is_large(n) if n.shape or n in wanted else n in few)
    numbers = {n for n in last if n.shape == () and n not in wanted}
    members = _members([n for n in order if n in last and n not in numbers], numbers)
    kept = _grouped(members, outputs, readers)
    return Ends(kept, frozenset(numbers) & {n for group in kept for member in group for n in member.nodes})


def _readers(order: Iterable[Application]) -> dict[Node, list[Application]]:
    found: dict[Node, list[Application]] = {}
    for n in order:
        for i in n.operands:
            found.setdefault(i, []).append(n)
    return found


def _computed_of_few(order: Iterable[Application]) -> set[Node]:
    """Numbers that each kernel may well compute for itself: not the sum of the norms of all weights, say."""
    count: dict[Node, int] = {}
    for n in order:
        if n.shape == () and n.sig.op.elementwise:
            count[n] = min(1 + sum(count.get(i, 0) for i in n.operands), MOST_NUMBERS + 1)
    return {n for n, computed in count.items() if computed <= MOST_NUMBERS}


def _read_by_none_but_each_other(
    order: Sequence[Application], readers: dict[Node, list[Application]], is_large_enough: Callable[[Application], bool]
) -> set[Application]:
    """Element-wise nodes whose readers are such nodes too."""
    found: set[Application] = set()
    for n in reversed(order):
        is_meant = n.sig.op.elementwise and is_large_enough(n)
        if is_meant and all(r in found for r in readers.get(n, ())):
            found.add(n)
    return found


def _members(nodes: Sequence[Application], numbers: Collection[Application]) -> list[Member]:
    """Nodes of one shape that are computed of one another are one kernel, or several one after another if they are many."""
    owner: dict[Node, Application] = {n: n for n in nodes}

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
    for part in sorted(parts.values(), key=lambda own: (own[0].size, len(own[0].shape))):  # broadcasting only makes larger
        for own in (part[k : k + MOST_NODES] for k in range(0, len(part), MOST_NODES)):
            below = {made[i] for n in own for i in n.operands if i in made}
            made.update(dict.fromkeys(own, len(members)))
            needed = post_order(own, lambda n: [i for i in n.operands if isinstance(i, Application) and i in numbers])
            level = max([members[b].level + 1 for b in below], default=0)
            members.append(Member((*[n for n in needed if n in numbers], *own), level))
    return members


def _grouped(members: Sequence[Member], outputs: Sequence[Node], readers: dict[Node, list[Application]]) -> list[tuple[Member, ...]]:
    """Members that are alike together; one that is alone stays if it needs another that waits, or shares numbers with it."""
    groups: dict[tuple[int, Signature], list[Member]] = {}
    for member in members:
        groups.setdefault((member.level, _signature(member.nodes, outputs, readers)), []).append(member)
    if all(len(group) == 1 for group in groups.values()):
        return []
    kept: list[tuple[Member, ...]] = []
    waiting: set[Node] = set()
    for _, group in sorted(groups.items(), key=lambda pair: pair[0][0]):
        needs = any(i in waiting for m in group for n in m.nodes for i in n.inputs)
        if len(group) > 1 or needs or any(n.shape == () for n in group[0].nodes):
            kept.append(tuple(group))
            waiting.update(n for m in group for n in m.nodes)
    return kept


def _signature(nodes: Sequence[Application], outputs: Sequence[Node], readers: dict[Node, list[Application]]) -> Signature:
    place: dict[Node, int] = {n: k for k, n in enumerate(nodes)}
    inputs: dict[Node, int] = {}
    wanted, shape = set(outputs), nodes[-1].shape
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
                apart = None if i.shape == shape or i.size == 1 else n  # broadcast along some axes: like no other
                operands.append(("in", inputs.setdefault(i, len(inputs)), i.dtype, i.shape == shape, apart))
        leaves = n in wanted or any(r not in place for r in readers.get(n, ()))
        rows.append((n.sig, n.dtype, n.shape == shape, leaves, *operands))
    return tuple(rows)
