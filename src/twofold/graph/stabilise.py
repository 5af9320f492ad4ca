"""Rewrites formulas that overflow into ones that do not: always on in Symbol, hybridized and compiled graphs, never in windows.

| written                          | computed                                  |
|----------------------------------|-------------------------------------------|
| log(softmax(x))                  | log_softmax(x)                            |
| log(sum(exp(x)))                 | m + log(sum(exp(x - m))), m = max(x)      |
| exp(x) / sum(exp(x))             | softmax(x)                                |
| log(1 + exp(x)), log1p(exp(x))   | max(x, 0) + log1p(exp(-abs(x)))           |
| log(sigmoid(x))                  | -softplus(-x)                             |
| log(1 - sigmoid(x))              | -softplus(x)                              |

The rewritten graph is what every mode of execution then compares with; `stabilised` counts what was rewritten.
"""

from collections.abc import Callable, Sequence

from ..dtype import is_float
from ..op.registry import OPS
from ..op.shapes import normalized_axes, reduced_shape
from .build import G, apply
from .ir import Node, is_const
from .rewrite import rebuild

DIVIDE = {"divide", "broadcast_div", "elemwise_div", "_div", "_npi_true_divide"}
ADD = {"add", "broadcast_add", "elemwise_add", "_plus", "_plus_scalar"}
SUBTRACT = {"subtract", "broadcast_sub", "elemwise_sub", "_minus", "_rminus_scalar"}
VIEWS = {"reshape", "expand_dims", "Reshape"}


def stabilise(outputs: Sequence[Node]) -> list[Node]:
    """The graph with its unstable formulas rewritten; operands before their users."""
    return rebuild(outputs, lambda n, inputs: _stable(apply(n.sig, inputs)))  # type: ignore[arg-type]


def stabilised(outputs: Sequence[Node]) -> int:
    """How many nodes `stabilise` would rewrite."""
    count = 0

    def visit(n: Node, inputs: tuple[Node | None, ...]) -> Node:
        nonlocal count
        before = apply(n.sig, inputs)  # type: ignore[arg-type]
        after = _stable(before)
        count += after is not before
        return after

    rebuild(outputs, visit)
    return count


def _stable(node: Node) -> Node:
    rule = next((_RULES[name] for name in _names(node) if name in _RULES), None)
    if rule is None or not is_float(node.dtype):
        return node
    found = rule(node)
    return node if found is None else found


def _names(node: Node | None) -> tuple[str, ...]:
    """The names of a node's operator: inside the package, and registered."""
    if node is None or node.sig is None:
        return ()
    return (node.sig.op.name, *node.sig.op.names)


def _is(node: Node | None, names: set[str]) -> bool:
    return not names.isdisjoint(_names(node))


def softplus(x: Node) -> Node:
    """log(1 + exp(x)) without overflow."""
    return G.maximum(x, 0) + G.log1p(G.exp(-G.absolute(x)))


def _summed_axes(node: Node) -> tuple[int, ...] | None:
    """The axes over which a node sums, or None if it is no sum."""
    if not _is(node, {"sum"}):
        return None
    params = node.sig.params  # type: ignore[union-attr]
    axis = params.get("axis")
    ndim = len(node.inputs[0].shape)  # type: ignore[union-attr]
    if params.get("exclude"):
        given = normalized_axes(axis, ndim)
        return tuple(k for k in range(ndim) if k not in given)
    return normalized_axes(None if axis == () else axis, ndim)


def _shifted(x: Node, axes: tuple[int, ...]) -> tuple[Node, Node]:
    """(x - m, m) with m the maximum over axes, a constant for the gradient."""
    top = G.stop_gradient(G.max(x, axis=axes, keepdims=True))
    return x - top, top  # type: ignore[operator]


def _log(node: Node) -> Node | None:
    x = node.inputs[0]
    if x is None or x.sig is None:
        return None
    if _is(x, {"softmax"}) and not x.sig.params.get("use_length"):
        sig = OPS["log_softmax"].sig(x.sig.legacy, **{k: v for k, v in x.sig.params.items() if k in OPS["log_softmax"].params})
        return apply(sig, x.inputs[: len(OPS["log_softmax"].inputs)])
    if _is(x, {"sigmoid"}):
        return -softplus(-x.inputs[0])  # type: ignore[operator]
    if _is(x, SUBTRACT):
        return _log_one_minus(x)
    if _is(x, ADD):
        return _log_one_plus(x)
    axes = _summed_axes(x)
    if axes is not None and _is(x.inputs[0], {"exp"}):
        return _log_sum_exp(x.inputs[0].inputs[0], axes, x.shape)  # type: ignore[union-attr,arg-type]
    return None


def _log_sum_exp(x: Node, axes: tuple[int, ...], shape: tuple[int, ...]) -> Node:
    shifted, top = _shifted(x, axes)
    return G.reshape(G.log(G.sum(G.exp(shifted), axis=axes, keepdims=True)) + top, shape=shape)


def _log_one_minus(x: Node) -> Node | None:
    """log(1 - sigmoid(z)) of ``x = 1 - sigmoid(z)`` (also written as MXNet's ``_rminus_scalar``, whose scalar comes last)."""
    one, other = x.inputs[0], x.inputs[1] if len(x.inputs) > 1 else None
    if _is(x, {"_rminus_scalar"}):
        one, other = other, one
    return -softplus(other.inputs[0]) if is_const(one, 1) and _is(other, {"sigmoid"}) else None  # type: ignore[operator,union-attr]


def _log_one_plus(x: Node) -> Node | None:
    for one, other in (x.inputs[:2], x.inputs[1::-1]):
        if is_const(one, 1) and _is(other, {"exp"}) and other.shape == x.shape:  # type: ignore[union-attr]
            return softplus(other.inputs[0])  # type: ignore[union-attr,arg-type]
    return None


def _log1p(node: Node) -> Node | None:
    x = node.inputs[0]
    return softplus(x.inputs[0]) if _is(x, {"exp"}) else None  # type: ignore[union-attr,arg-type]


def _quotient(node: Node) -> Node | None:
    """exp(x) / sum(exp(x)), the sum broadcast back over its axes."""
    top, below = node.inputs[:2]
    while _is(below, VIEWS):
        below = below.inputs[0]  # type: ignore[union-attr]
    if below is None or not _is(top, {"exp"}) or below.sig is None or below.inputs[0] is not top:
        return None
    axes = _summed_axes(below)
    kept = node.inputs[1].shape  # type: ignore[union-attr]
    if axes is None or kept != reduced_shape(top.shape, axes, True):  # type: ignore[union-attr]
        return None
    if len(axes) == 1:
        return apply(OPS["softmax"].sig(axis=axes[0]), (top.inputs[0], *[None] * (len(OPS["softmax"].inputs) - 1)))  # type: ignore[union-attr]
    powers = G.exp(_shifted(top.inputs[0], axes)[0])  # type: ignore[union-attr,arg-type]
    return powers / G.sum(powers, axis=axes, keepdims=True)


_RULES: dict[str, Callable[[Node], Node | None]] = {"log": _log, "log1p": _log1p} | dict.fromkeys(DIVIDE, _quotient)
