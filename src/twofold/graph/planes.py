"""Sums over planes as sums over rows.

A kernel over rows computes a sum over the last axis together with what is added up. A batch norm adds up planes: images (n, c, h, w)
over all axes but c. This pass makes the last adjacent axes of such a sum one, (n, c, h w), from the operands on, and adds up the rows'
results afterwards. So data are read once for several sums over them, and what is only added up is never in memory. What a convolution
computes as its epilogue is in memory then, since it costs nothing there.
"""

import math
from collections.abc import Callable, Collection, Sequence
from functools import partial

from ..opdef import normalized_axes
from ..ops.primitive_reduce import sum
from .build import G, apply
from .epilogues import fits, is_convolution
from .ir import Application, Node, applications, fill_of
from .rewrite import simplified, simplified_by_rule

#: Operators that are applied to rows again at most, and arrays that they read at most: beyond them the sum reads the result instead.
MOST_OPERATORS, MOST_ARRAYS = 16, 4


def sum_rows_of_planes(outputs: Sequence[Node], takes: Callable[[Application], bool], computed: range, read: range) -> list[Node]:
    """Take sums over several axes row by row, in a lowered and simplified graph.

    Parameters
    ----------
    outputs
        The graph.
    takes
        Whether the backend computes a convolution together with a kernel that follows.
    computed, read
        Lengths of rows for which that pays: of what is computed element by element, and of what is in memory already.
    """
    stored = computed_by_convolutions(outputs, takes)
    return simplified_by_rule(outputs, partial(_rewritten, computed=computed, read=read, stored=stored), {sum})


def computed_by_convolutions(outputs: Sequence[Node], takes: Callable[[Application], bool]) -> set[Node]:
    """The element-wise nodes that convolutions compute as their epilogues (see `epilogues`)."""
    order = list(applications(outputs))
    readers: dict[Node, list[Application]] = {}
    for n in order:
        for i in n.operands:
            readers.setdefault(i, []).append(n)
    found: set[Node] = set()
    for product in order:
        if is_convolution(product) and takes(product):
            n: Node = product
            while n not in outputs and len(above := set(readers.get(n, ()))) == 1:
                (n,) = above
                if not (n.bound_op.op.elementwise and n.shape == product.shape and all(fits(i, product) for i in n.operands)):
                    break
                found.add(n)
    return found


def _rewritten(n: Application, computed: range, read: range, stored: Collection[Node]) -> Node:
    (x,) = n.operands
    rank = len(x.shape)
    axes = normalized_axes(n.bound_op.params["axis"], rank)
    begin = rank
    while begin - 1 in axes:
        begin -= 1
    size = math.prod(x.shape[begin:])
    # one axis is a row already; all of them are a single row (see `trailing_axes`)
    if begin == rank or not begin or len(axes) == 1 or x.dtype not in ("float32", "float64") or size not in computed:
        return n
    merged = MergedAxes(x.shape, begin, stored)
    found = merged.of(x)
    if not merged.computes and size not in read:
        return n
    rows = simplified(G.sum(found, axis=-1, keepdims=True))
    rest = tuple(k for k in axes if k < begin)
    return simplified(G.reshape(simplified(G.sum(rows, axis=rest)) if rest else rows, shape=n.shape))


class MergedAxes:
    """Makes the last axes of nodes one.

    Parameters
    ----------
    shape
        The whole shape.
    begin
        The first of the axes.
    stored
        Nodes that are in memory, although they are computed element by element.
    """

    def __init__(self, shape: tuple[int, ...], begin: int, stored: Collection[Node]) -> None:
        self._shape, self._begin, self._stored = shape, begin, stored
        self._found: dict[Node, Node] = {}
        self._operators, self._arrays = 0, 0

    def of(self, x: Node) -> Node:
        """What is reduced: its operators on merged operands, or itself reshaped if these are too many."""
        found = self._operand(x)
        return found if self._operators <= MOST_OPERATORS and self._arrays <= MOST_ARRAYS else self._reshaped(x)

    @property
    def computes(self) -> bool:
        """Whether any operator was applied to merged operands."""
        return self._operators > 0

    def _operand(self, i: Node) -> Node:
        if i.shape == ():
            return i
        if i not in self._found:
            self._found[i] = self._new(i)
        return self._found[i]

    def _new(self, i: Node) -> Node:
        value = fill_of(i)
        if value is not None:
            return G.full(shape=self._merged(self._full(i)), value=value, dtype=i.dtype)
        if isinstance(i, Application) and self._operators <= MOST_OPERATORS and self._is_computed(i):
            self._operators += 1
            return simplified(apply(i.bound_op, tuple(map(self._operand, i.operands))))
        self._arrays += self._is_whole(i)
        return self._reshaped(i)

    def _is_whole(self, i: Node) -> bool:
        """Whether a node has all of the axes."""
        return self._full(i)[self._begin :] == self._shape[self._begin :]

    def _is_computed(self, i: Application) -> bool:
        """Whether a node can be computed from merged operands: element by element, from operands that have all of the axes or none."""
        whole_or_none = [self._is_whole(o) or math.prod(self._full(o)[self._begin :]) == 1 for o in i.operands]
        return i not in self._stored and self._is_whole(i) and i.bound_op.op.elementwise and all(whole_or_none)

    def _full(self, i: Node) -> tuple[int, ...]:
        """The shape with as many axes as the whole."""
        return (*[1] * (len(self._shape) - len(i.shape)), *i.shape)

    def _merged(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[: self._begin], math.prod(shape[self._begin :]))

    def _reshaped(self, i: Node) -> Node:
        merged = self._merged(self._full(i))
        return i if i.shape == merged else simplified(G.reshape(i, shape=merged))
