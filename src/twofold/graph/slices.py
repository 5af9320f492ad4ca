"""Moves slices toward the inputs, for backends whose kernels read strided inputs: pooling becomes one kernel over slices of its input.

``(a + b)[::2]`` becomes ``a[::2] + b[::2]``: the same bits, but the slices are views of existing arrays, and the sum fuses into the
kernel that reads the slice. For the same reason, copies of views that only kernels read are dropped.
"""

import builtins
from collections import defaultdict
from collections.abc import Callable, Sequence
from math import prod

from ..ops.primitive_shape import contiguous, full, slice
from .build import G, apply
from .ir import Application, Node, applies, topological
from .recompute import is_distinct_view

#: The maximum number of parts of one value that are computed separately, and of their elements in total, as a multiple of the
#: value's: where windows overlap, it is faster to repeat simple operations than to write their results and read them back.
MOST, AGAIN = 16, 3
#: A transposed array of so many elements that several kernels read is copied once, instead of read element by element by each.
COPIED = 1 << 16
#: With a larger step along the last axis, elements are loaded one by one: parts that share such a slice are not split.
NEAR = 2
#: The selected indices along each axis.
Part = tuple[range, ...]


def move_slices(outputs: Sequence[Node], fuses: Callable[[Application], bool]) -> list[Node]:
    """Take slices before element-wise operations instead of after, in a lowered and simplified graph.

    Parameters
    ----------
    outputs
        The graph.
    fuses
        Whether an element-wise node may be part of a kernel.
    """
    order = topological(outputs)
    graph = _Graph(order, outputs, fuses)
    # users before inputs: when a node is met, all parts that anything needs of it are known
    for n in reversed(order):
        graph.want(n)
    for n in order:
        graph.make(n)
    return [graph.made[o, None] for o in outputs]


class _Graph:
    """Two passes: which parts of each node are needed, users before inputs; then nodes that compute them, inputs before users.

    Attributes
    ----------
    wanted
        The parts of each node that are needed; None for the whole.
    split
        Element-wise nodes whose parts are computed separately.
    passed
        Slices and copies that disappear: a part of one is a part of its operand.
    made
        The node that computes each part.
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
        """Note which parts of its inputs a node needs."""
        if not isinstance(n, Application) or applies(n, full):
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
        """Make the parts of a node that are needed, given those of its inputs."""
        if isinstance(n, Application) and (n in self.split or n in self.passed):
            for part in self.wanted[n]:
                inputs = tuple([self.made[i, self._of_input(n, part, i)] for i in n.operands])
                self.made[n, part] = inputs[0] if n in self.passed else apply(n.bound_op, inputs)
            return
        whole = n  # leaves and constants stay; a part of a constant array is a smaller one (see `_part_of`)
        if isinstance(n, Application) and not applies(n, full):
            whole = apply(n.bound_op, tuple([self.made[i, None] for i in n.operands]))
        self.made[n, None] = whole
        for part in self.wanted[n]:
            self.made[n, part] = _part_of(whole, part)

    def _splits(self, n: Application) -> bool:
        parts = self.wanted[n]
        if not n.bound_op.op.elementwise or None in parts or not 0 < len(parts) <= MOST or not self.fuses(n):
            return False
        # every part would load the far elements of that slice again
        if len(parts) > 1 and any(map(_is_far, n.operands)):
            return False
        return sum(prod(map(len, p)) for p in parts if p is not None) <= n.size * (AGAIN if n.bound_op.op.simple else 1)

    def _passes(self, n: Application) -> bool:
        """Whether a slice can move into the kernel that reads it or into another slice, or a copy is read by kernels only."""
        if applies(n, slice):
            return not is_distinct_view(n) and (None not in self.wanted[n] or self._is_for_kernels(n, n.shape))
        return applies(n, contiguous) and self._is_for_kernels(n) and (n.size < COPIED or len(set(self.users[n])) == 1)

    def _is_for_kernels(self, n: Node, shape: tuple[int, ...] | None = None) -> bool:
        users = self.users[n]
        is_read = all(isinstance(u, Application) and u.bound_op.op.elementwise and self.fuses(u) for u in users)
        return n not in self.outputs and is_read and (shape is None or all(u.shape == shape for u in users))

    def _of_input(self, n: Application, part: Part | None, i: Node) -> Part | None:
        """The part of an input that a part of a node is computed from."""
        if n in self.passed and applies(n, slice):
            own = [range(size)[builtins.slice(*k)] for size, k in zip(i.shape, n.bound_op.params["key"], strict=True)]
            return _part(i, own if part is None else [r[_key(p)] for r, p in zip(own, part, strict=True)])
        if part is None:
            return None
        axes = list(zip(i.shape, n.shape[len(n.shape) - len(i.shape) :], part[len(n.shape) - len(i.shape) :], strict=True))
        # an axis that the operand broadcasts along is read as a whole by every part
        return _part(i, [r if m == size else range(m) for m, size, r in axes])


def _is_far(n: Node) -> bool:
    """Whether a node is a slice with a large step along the last axis."""
    return applies(n, slice) and n.shape != () and abs(n.bound_op.params["key"][-1][2] or 1) > NEAR


def _part(n: Node, ranges: Sequence[range]) -> Part | None:
    """A part of a node; None for the whole."""
    return None if all(r == range(size) for r, size in zip(ranges, n.shape, strict=True)) else tuple(ranges)


def _key(r: range) -> builtins.slice:
    # a range that runs down to 0 stops at -1, which as the end of a slice would be the last element
    return builtins.slice(r.start, r.stop if r.stop >= 0 else None, r.step)


def _part_of(n: Node, part: Part | None) -> Node:
    """A node for a part of a value."""
    if part is None:
        return n
    if applies(n, full):
        return G.full(shape=tuple(map(len, part)), value=n.bound_op.params["value"], dtype=n.dtype)
    keys = [builtins.slice(None) if r == range(size) else _key(r) for r, size in zip(part, n.shape, strict=True)]
    return G.slice(n, key=tuple((k.start, k.stop, k.step) for k in keys))
