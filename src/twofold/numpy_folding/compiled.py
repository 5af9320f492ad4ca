"""Chains as programs: a chain that has been computed often becomes a graph, which is compiled once for each structure.

Loads the graph, the operators and the compiler, so that only programs that need it pay for it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..device import CPU
from ..dtype import NAME_OF
from ..graph.build import apply
from ..graph.ir import Leaf, Node, leaf, post_order
from ..graph.tables import bound_tables
from ..imperative.cell import HOST
from ..imperative.scalars import FLOAT_LEAVES, scalar_node
from ..opdef.registry import OPS
from ..opdef.spec import BoundOp
from ..ops import elementwise_math, primitive_arithmetic
from ..program.cache import PROGRAMS, CacheEntry
from ..program.compile import Program
from .memory import ArrayOperand, Operand, Operation, array_of
from .rules import CASTS, COMPILED, RULES, WARNING

#: Twofold's operators, by NumPy's functions.
BOUND: dict[Any, BoundOp] = {u: next(op for op in OPS.values() if u.__name__ in op.front.numpy_names).bind() for u in COMPILED}
BOUND |= {np.where: primitive_arithmetic.where.bind(), np.clip: elementwise_math.clip_range.bind()}
BOUND |= {RULES[dtype].numpys: primitive_arithmetic.astype.bind(dtype=dtype.name) for dtype in CASTS}


def has_program(fn: Callable[..., object], operands: Sequence[Operand], is_quiet: bool) -> bool:
    """Whether a compiled program may contain this operation: it warns of nothing but overflow, or the program ignores warnings."""
    if fn not in BOUND:
        return False
    return is_quiet or fn not in WARNING or (fn is np.divide and all(type(x) in (float, int) and x != 0 for x in operands[1:]))


class _Known(CacheEntry):
    """The program of a chain's structure, and the inputs that it reads."""

    def __init__(self, outputs: Sequence[Node], leaves: Sequence[Leaf]) -> None:
        unique = list(dict.fromkeys(outputs))
        held = [n for n in post_order(unique, lambda n: n.inputs) if not isinstance(n, Leaf)]
        used = set(post_order(unique, lambda n: n.inputs))
        self.reads = [n for n in leaves if n in used]
        self.program = Program(unique, self.reads, HOST, boundaries=held, device=CPU)
        # Nodes are interned: two operations of the chain that compute the same are one node, and one output of the program.
        self.where = [unique.index(n) for n in outputs]


class _Graph:
    """A chain as a graph, whose leaves are numbered in the order in which they are met."""

    def __init__(self, order: Sequence[Operation]) -> None:
        bound_tables()  # First: if the intern tables were cleared midway, equal nodes would be interned twice.
        self.nodes: dict[Operation, Node] = {}
        self.data: dict[Leaf, np.ndarray | float] = {}
        self.arrays: dict[int, Leaf] = {}
        for node in order:
            bound_op, inputs = BOUND[node.rule.numpys], tuple([self._node(x) for x in node.operands])
            self.nodes[node] = bound_op.typed.get(inputs) or apply(bound_op, inputs)

    def _node(self, x: Operand) -> Node:
        if isinstance(x, (float, int)):
            node = FLOAT_LEAVES[~len(self.data)] if type(x) is float else scalar_node(x, ~len(self.data))
            # Some numbers become literals of the graph instead; a literal is part of the structure and needs no input.
            if isinstance(node, Leaf):
                self.data[node] = x
            return node
        if type(x) is not ArrayOperand and x in self.nodes:
            return self.nodes[x]
        return self._array(array_of(x))

    def _array(self, array: np.ndarray) -> Node:
        found = self.arrays.get(id(array))
        if found is None:
            self.arrays[id(array)] = found = leaf(~len(self.data), array.shape, NAME_OF[array.dtype])
            self.data[found] = array
        return found


def computed(order: Sequence[Operation], stored: Sequence[Operation]) -> list[np.ndarray]:
    """Compute a chain by its program. It overwrites no operand, for after a Ctrl-C the chain is computed again.

    Parameters
    ----------
    order
        The operations, each after its operands.
    stored
        The operations whose results are stored.

    Returns
    -------
    list of numpy.ndarray
        These results.
    """
    graph = _Graph(order)
    outputs = tuple([graph.nodes[node] for node in stored])
    known = PROGRAMS.get_or(("chain", outputs), partial(_Known, outputs, list(graph.data)))
    arrays = [graph.data[n] for n in known.reads]
    found = known.program.run(arrays)
    kept = [a for a in arrays if type(a) is np.ndarray]
    results = []
    for place in known.where:
        array = found[place]
        # An operation that is simplified to its operand gives the operand's array, and two equal results give one array.
        if any(array is a for a in kept) or not array.flags.c_contiguous:
            array = array.copy()
        kept.append(array)
        results.append(array)
    return results
