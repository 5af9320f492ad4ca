"""Rewrites formulas that overflow into ones that do not: always on in Symbol, hybridized and compiled graphs, never in windows.

| written                                     | computed                                              |
|---------------------------------------------|-------------------------------------------------------|
| log, log2, log10 of what `logarithms` knows | what it says: log(pick(softmax(x))) is picked of      |
|                                             | log_softmax(x), log(sum(exp(x))) is shifted by max(x) |
| log1p(exp(x)), log1p(-sigmoid(x))           | softplus(x), -softplus(x)                             |
| exp(x) / sum(exp(x))                        | softmax(x)                                            |
| 1 / (1 + exp(-x)), exp(x) / (1 + exp(x))    | sigmoid(x)                                            |

The rewritten graph is what every mode of execution then compares with; `stabilised` counts what was rewritten.
"""

import math
from collections.abc import Callable, Sequence

from ..dtype import is_float
from ..opdef.registry import OPS
from ..opdef.shapes import normalized_axes, reduced_shape
from ..opdef.spec import Sig
from .build import G, apply
from .control_flow import SubGraph
from .ir import Node, is_const
from .logarithms import is_its_definition, log_of, logit_of, opened, opposite_of, shifted_to_zero, softplus
from .rewrite import rebuild


def stabilise(outputs: Sequence[Node]) -> list[Node]:
    """The graph with its unstable formulas rewritten, also those in the bodies of loops and branches; operands before their users."""
    return _rewritten(outputs)[0]


def stabilised(outputs: Sequence[Node]) -> int:
    """How many nodes `stabilise` would rewrite."""
    return _rewritten(outputs)[1]


def _rewritten(outputs: Sequence[Node]) -> tuple[list[Node], int]:
    """The rewritten graph, and how many nodes that changed."""
    count = 0

    def visit(n: Node, inputs: tuple[Node | None, ...]) -> Node:
        nonlocal count
        sig, inside = _with_stable_bodies(n.sig)  # type: ignore[arg-type]
        before = apply(sig, inputs)
        after = _stable(before)
        count += inside + (after is not before)
        return after

    return rebuild(outputs, visit), count


def _with_stable_bodies(sig: Sig) -> tuple[Sig, int]:
    """An operator with sub-graphs (a loop, a branch) whose formulas are rewritten, and how many were."""
    bodies = {name: value for name, value in sig.params.items() if isinstance(value, SubGraph)}
    found = {name: _rewritten(body.outputs) for name, body in bodies.items()}
    count = sum(inside for _, inside in found.values())
    if not count:
        return sig, 0
    stable = {name: SubGraph(bodies[name].leaves, tuple(nodes)) for name, (nodes, _) in found.items()}
    return sig.op.sig(sig.legacy, **{**sig.params, **stable}), count


def _stable(node: Node) -> Node:
    core = _primitive(node)
    rule = None if core.sig is None else _RULES.get(core.sig.op.name)
    if rule is None or not is_float(node.dtype):
        return node
    found = rule(core)
    return node if found is None else found


def _primitive(node: Node) -> Node:
    """The primitive of which a node's operator is another name (``elemwise_div``, ``_rdiv_scalar``), else the node itself."""
    if len(node.body) != 1 or node.body[0].sig is None or not is_its_definition(node.sig.op):  # type: ignore[union-attr]
        return node
    own = all(i in node.inputs or is_const(i) for i in node.body[0].inputs)
    return node.body[0] if own else node


def _log1p(node: Node) -> Node | None:
    x = opened(node.inputs[0])
    if x is None or x.sig is None:
        return None
    if x.sig.op.name == "exp":
        return softplus(x.inputs[0])  # type: ignore[arg-type]
    logit = logit_of(opposite_of(x))
    return None if logit is None else -softplus(logit)


def _log_to_base(base: int) -> Callable[[Node], Node | None]:
    def rule(node: Node) -> Node | None:
        found = log_of(node.inputs[0])
        return None if found is None else found / math.log(base)

    return rule


def _quotient(node: Node) -> Node | None:
    """A softmax or a logistic function written out."""
    logit = logit_of(node)
    return _softmax(node) if logit is None else apply(OPS["sigmoid"].sig(), (logit,))


def _softmax(node: Node) -> Node | None:
    """exp(x) / sum(exp(x)), the sum broadcast back over its axes."""
    top, below = opened(node.inputs[0]), opened(node.inputs[1])
    while _is(below, "broadcast_to"):
        below = opened(below.inputs[0])  # type: ignore[union-attr]
    kept = None if below is None else below.shape
    while _is(below, "reshape"):
        below = opened(below.inputs[0])  # type: ignore[union-attr]
    if not _is(top, "exp") or not _is(below, "sum") or opened(below.inputs[0]) is not top:  # type: ignore[union-attr]
        return None
    axes = normalized_axes(below.sig.params["axis"], len(top.shape))  # type: ignore[union-attr]
    if kept != reduced_shape(top.shape, axes, True) or node.shape != top.shape:  # type: ignore[union-attr]
        return None
    if len(axes) == 1:
        return apply(OPS["softmax"].sig(axis=axes[0]), (top.inputs[0], *[None] * (len(OPS["softmax"].inputs) - 1)))  # type: ignore[union-attr]
    powers = G.exp(shifted_to_zero(top.inputs[0], axes)[0])  # type: ignore[union-attr,arg-type]
    return powers / G.sum(powers, axis=axes, keepdims=True)


def _is(node: Node | None, name: str) -> bool:
    return node is not None and node.sig is not None and node.sig.op.name == name


_RULES: dict[str, Callable[[Node], Node | None]] = {
    "log": lambda node: log_of(node.inputs[0]),
    "log2": _log_to_base(2),
    "log10": _log_to_base(10),
    "log1p": _log1p,
    "divide": _quotient,
}
