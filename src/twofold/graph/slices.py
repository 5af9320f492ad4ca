"""Slices moved to where values come from, for backends whose kernels read strided inputs: pooling is one kernel over slices of its input.

``(a + b)[::2]`` is computed as ``a[::2] + b[::2]``: the same bits, but the slice is of what is there anyway, and the sum is part of
the kernel that reads the slice. For the same reason copies of views that only kernels read are left out.
"""

import builtins
from collections import defaultdict
from collections.abc import Callable, Sequence
from math import prod

from ..ops.primitive_shape import contiguous, full, slice
from .build import G, apply
from .ir import Application, Node, applies, topological
from .recompute import is_apart

#: Parts of one value that are computed for themselves, at most, and how many times its elements they may have together: where
#: windows overlap, simple steps are done again rather than written and read.
MOST, AGAIN = 16, 3
#: Steps along the last axis beyond which elements are read one by one: what several parts have of such a slice is computed once.
NEAR = 2
#: Which elements along each axis.
Part = tuple[range, ...]


def move_slices(outputs: Sequence[Node], fuses: Callable[[Application], bool]) -> list[Node]:
    """A lowered and simplified graph in which slices are taken before element-wise nodes.

    Parameters
    ----------
    outputs
        The graph.
    fuses
        Whether an element-wise node may be part of a kernel.
    """
    order = topological(outputs)
    graph = _Graph(order, outputs, fuses)
    for n in reversed(order):
        graph.want(n)
    for n in order:
        graph.make(n)
    return [graph.made[o, None] for o in outputs]


class _Graph:
    """First which parts of each node are wanted, users before inputs; then what computes them, inputs before users.

    Attributes
    ----------
    wanted
        Parts of each node, None for all of it.
    split
        Element-wise nodes of which parts are computed for themselves.
    passed
        Slices and copies that are not computed: what is wanted of them is a part of their operand.
    made
        What computes each part.
    """

    def __init__(self, order: Sequence[Node], outputs: Sequence[Node], fuses: Callable[[Application], bool]) -> None:
        self.outputs, self.fuses = set(outputs), fuses
        self.users: dict[Node, list[Node]] = defaultdict(list)
        for n in order:
            for i in n.inputs:
                if i is not None:
                    self.users[i].append(n)
        self.wanted: dict[Node, dict[Part | None, None]] = defaultdict(dict)
        for o in outputs:
            self.wanted[o][None] = None
        self.split: set[Node] = set()
        self.passed: set[Node] = set()
        self.made: dict[tuple[Node, Part | None], Node] = {}

    def want(self, n: Node) -> None:
        """Say what is wanted of a node's inputs."""
        if not isinstance(n, Application) or n.sig.op is full:
            return
        if self._splits(n):
            self.split.add(n)
        elif self._passes(n):
            self.passed.add(n)
        else:
            self.wanted[n][None] = None
            for i in n.operands:
                self.wanted[i][None] = None
            return
        for part in self.wanted[n]:
            for i in n.operands:
                self.wanted[i][self._of_input(n, part, i)] = None

    def make(self, n: Node) -> None:
        """Make what is wanted of a node; of its inputs it is made."""
        if isinstance(n, Application) and (n in self.split or n in self.passed):
            for part in self.wanted[n]:
                inputs = tuple([self.made[i, self._of_input(n, part, i)] for i in n.operands])
                self.made[n, part] = inputs[0] if n in self.passed else apply(n.sig, inputs)
            return
        whole = n
        if isinstance(n, Application) and n.sig.op is not full:
            whole = apply(n.sig, tuple([self.made[i, None] for i in n.operands]))
        self.made[n, None] = whole
        for part in self.wanted[n]:
            self.made[n, part] = _taken(whole, part)

    def _splits(self, n: Application) -> bool:
        parts = self.wanted[n]
        if not n.sig.op.elementwise or None in parts or not 0 < len(parts) <= MOST or not self.fuses(n):
            return False
        if len(parts) > 1 and any(map(_is_far, n.operands)):
            return False
        return sum(prod(map(len, p)) for p in parts if p is not None) <= n.size * (AGAIN if n.sig.op.simple else 1)

    def _passes(self, n: Application) -> bool:
        """Whether a slice is of a kernel that reads it, or of another slice; or a copy is read by kernels alone."""
        if n.sig.op is slice:
            return not is_apart(n) and (None not in self.wanted[n] or self._is_for_kernels(n, n.shape))
        return n.sig.op is contiguous and self._is_for_kernels(n)

    def _is_for_kernels(self, n: Node, shape: tuple[int, ...] | None = None) -> bool:
        users = self.users[n]
        is_read = all(isinstance(u, Application) and u.sig.op.elementwise and self.fuses(u) for u in users)
        return n not in self.outputs and is_read and (shape is None or all(u.shape == shape for u in users))

    def _of_input(self, n: Application, part: Part | None, i: Node) -> Part | None:
        """The part of an input that a part of a node is computed of."""
        if n in self.passed and n.sig.op is slice:
            own = [range(size)[builtins.slice(*k)] for size, k in zip(i.shape, n.sig.params["key"], strict=True)]
            return _part(i, own if part is None else [r[_key(p)] for r, p in zip(own, part, strict=True)])
        if part is None:
            return None
        axes = list(zip(i.shape, n.shape[len(n.shape) - len(i.shape) :], part[len(n.shape) - len(i.shape) :], strict=True))
        return _part(i, [r if m == size else range(m) for m, size, r in axes])


def _is_far(n: Node) -> bool:
    """Whether a node is a slice whose elements do not lie together."""
    return applies(n, slice) and n.shape != () and abs(n.sig.params["key"][-1][2] or 1) > NEAR


def _part(n: Node, ranges: Sequence[range]) -> Part | None:
    """A part of a node; None if it is all of it."""
    return None if all(r == range(size) for r, size in zip(ranges, n.shape, strict=True)) else tuple(ranges)


def _key(r: range) -> builtins.slice:
    return builtins.slice(r.start, r.stop if r.stop >= 0 else None, r.step)


def _taken(n: Node, part: Part | None) -> Node:
    """A part of a value."""
    if part is None:
        return n
    if applies(n, full):
        return G.full(shape=tuple(map(len, part)), value=n.sig.params["value"], dtype=n.dtype)
    keys = [builtins.slice(None) if r == range(size) else _key(r) for r, size in zip(part, n.shape, strict=True)]
    return G.slice(n, key=tuple((k.start, k.stop, k.step) for k in keys))
