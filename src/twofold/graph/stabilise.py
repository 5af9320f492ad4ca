"""Rewrites formulas that overflow into stable ones: always in symbols, hybridized blocks and `mx.compile`, never in windows.

| written                                     | computed                                              |
|---------------------------------------------|-------------------------------------------------------|
| log, log2, log10 of what `logarithms` knows | its formula: log(pick(softmax(x))) becomes a pick of  |
|                                             | log_softmax(x), log(sum(exp(x))) is shifted by max(x) |
| log1p(exp(x)), log1p(-sigmoid(x))           | softplus(x), -softplus(x)                             |
| exp(x) / sum(exp(x))                        | softmax(x)                                            |
| 1 / (1 + exp(-x)), exp(x) / (1 + exp(x))    | sigmoid(x)                                            |

The rewritten graph is the reference that all modes of execution of a symbol agree with.
"""

import builtins
from collections.abc import Sequence

from ..dtype import is_float
from ..opdef import BoundOp, normalized_axes, reduced_shape
from ..ops.elementwise_math import sigmoid
from ..ops.primitive_math import exp
from ..ops.primitive_reduce import sum
from ..ops.primitive_shape import broadcast_to, reshape
from ..ops.softmax import softmax
from .build import G, apply
from .control_flow import SubGraph
from .ir import Application, Node, applies, is_const
from .logarithms import DEPTH, Logarithms, definition_of, is_its_definition, shifted_to_zero
from .rewrite import rebuild


def stabilise(outputs: Sequence[Node]) -> list[Node]:
    """The graph with its unstable formulas rewritten, including those in the bodies of loops and branches."""
    return _rewritten(outputs)[0]


def stabilised(outputs: Sequence[Node]) -> int:
    """The number of nodes that `stabilise` would rewrite."""
    return _rewritten(outputs)[1]


def _rewritten(outputs: Sequence[Node]) -> tuple[list[Node], int]:
    """The rewritten graph, and the number of nodes rewritten."""
    count = 0

    def visit(n: Application, inputs: tuple[Node | None, ...]) -> Node:
        nonlocal count
        bound_op, inside = _with_stable_bodies(n.bound_op)
        before = apply(bound_op, inputs)
        after = _stable(before)
        count += inside + (after is not before)
        return after

    return rebuild(outputs, visit), count


def _with_stable_bodies(bound_op: BoundOp) -> tuple[BoundOp, int]:
    """An operator with its sub-graphs (of a loop or branch) rewritten, and the number of nodes rewritten."""
    bodies = {name: value for name, value in bound_op.params.items() if isinstance(value, SubGraph)}
    found = {name: _rewritten(body.outputs) for name, body in bodies.items()}
    count = builtins.sum(inside for _, inside in found.values())
    if not count:
        return bound_op, 0
    stable = {name: SubGraph(bodies[name].leaves, tuple(nodes)) for name, (nodes, _) in found.items()}
    return bound_op.op.bind(bound_op.legacy, **{**bound_op.params, **stable}), count


def _stable(node: Node) -> Node:
    core = _primitive(node)
    rule = core.bound_op.op.algebra.stable_rule if isinstance(core, Application) and is_float(node.dtype) else None
    found = rule(_STABILISER, core) if rule is not None else None
    return node if found is None else found


def _primitive(node: Node) -> Node:
    """The primitive that a node's operator only renames, as ``elemwise_div`` and ``_rdiv_scalar`` do; otherwise the node itself."""
    if not isinstance(node, Application) or len(node.body) != 1 or not is_its_definition(node.bound_op.op):
        return node
    (inner,) = node.body
    own = isinstance(inner, Application) and all(i in node.inputs or is_const(i) for i in inner.inputs)
    return inner if own else node


def _softmax(node: Application) -> Node | None:
    """exp(x) / sum(exp(x)), with the sum broadcast back over its axes."""
    top, below = definition_of(node.operands[0]), definition_of(node.operands[1])
    # with ``keepdims`` or without, the sum comes back over its axes by a reshape and a broadcast
    while applies(below, broadcast_to):
        below = definition_of(below.operands[0])
    kept = below.shape
    while applies(below, reshape):
        below = definition_of(below.operands[0])
    if not applies(top, exp) or not applies(below, sum) or definition_of(below.operands[0]) is not top:
        return None
    axes = normalized_axes(below.bound_op.params["axis"], len(top.shape))
    if kept != reduced_shape(top.shape, axes, True) or node.shape != top.shape:
        return None
    # the operator has one axis; over several the maximum is subtracted explicitly
    if len(axes) == 1:
        return apply(softmax.bind(axis=axes[0]), (top.operands[0], *[None] * (len(softmax.inputs) - 1)))
    powers = G.exp(shifted_to_zero(top.operands[0], axes)[0])
    return powers / G.sum(powers, axis=axes, keepdims=True)


class Stabiliser(Logarithms):
    """``xp`` of the rules of `Op.stable`: with the functions that written-out formulas become."""

    softmax_of = staticmethod(_softmax)

    def logistic(self, logit: Node) -> Node:
        """The logistic function of a node."""
        return apply(sigmoid.bind(), (logit,))


_STABILISER = Stabiliser(DEPTH)
