"""The logarithm of a node without the node itself: where it is an exponential moved, added up or multiplied, it never overflows.

| x                                             | log(x)                                     |
|-----------------------------------------------|--------------------------------------------|
| exp(u)                                        | u                                          |
| softmax(u)                                    | log_softmax(u)                             |
| sigmoid(u), 1 / (1 + exp(-u)), 1 - sigmoid(u) | -softplus(-u), -softplus(u)                |
| 1 + exp(u)                                    | softplus(u) = max(u, 0) + log1p(exp(-|u|)) |
| sum(x)                                        | m + log(sum(exp(log(x) - m))), m = max     |
| x · y, x / y, where(c, x, y)                  | the same of the logarithms                 |
| pick, slice, reshape, take, concat … of x     | the same of log(x)                         |

An operand that is a positive number is fine, too, and in a product one that is 0 or 1 by construction: a comparison, a one-hot
code. Composite operators count as what they are composed of, if their gradient is that of their definition.
"""

import math
from collections.abc import Callable

from ..dtype import is_float
from ..opdef.registry import OPS
from ..opdef.shapes import normalized_axes
from ..opdef.spec import Op
from .build import G, apply, item
from .ir import Node, const, is_const

#: Operators with a gradient rule of their own that only says in a better way what their definition's gradient is.
FAITHFUL = frozenset({"sigmoid", "softmax", "activation", "reciprocal", "slice_channel", "split_v2"})
#: Primitives each of whose results is some element of the first operand.
MOVES = frozenset({"reshape", "permute_dims", "broadcast_to", "slice", "take", "take_along_axis", "index", "contiguous", "stop_gradient"})
#: How many operators deep a formula is looked for.
DEPTH = 16

Form = Callable[[Node, int], Node | None]


def log_of(x: Node | None, depth: int = DEPTH) -> Node | None:
    """``log(x)`` by a formula that does not overflow; None if no such is known.

    Parameters
    ----------
    x
        Any node.
    depth
        How many operators deep to look.
    """
    if x is None or x.sig is None or not depth or not is_float(x.dtype):
        return None
    if x.sig.op.name == "softmax" and not x.sig.params.get("use_length"):
        return _log_softmax(x)
    core = opened(x)
    form = _FORMS.get(core.sig.op.name) if core.sig is not None else None  # type: ignore[union-attr]
    found = None if form is None else form(core, depth - 1)  # type: ignore[arg-type]
    return None if found is None else G.cast(found, x.dtype)


def logit_of(x: Node | None, depth: int = DEPTH) -> Node | None:
    """The ``u`` of which ``x`` is the logistic function, moved or not; None if it is none."""
    core = opened(x)
    if core is None or core.sig is None or not depth:
        return None
    if core.sig.op.name in MOVES:
        return _moved(core, logit_of(core.inputs[0], depth - 1))
    if core.sig.op.name != "divide":
        return None
    above, below = opened(core.inputs[0]), opened(core.inputs[1])
    power = exponent_beside_one(below)
    if power is None:
        return None
    if above is not None and above.sig is not None and above.sig.op.name == "exp" and above.inputs[0] is power:
        return power
    return negated(power) if is_const(above, 1) else None


def exponent_beside_one(x: Node | None) -> Node | None:
    """The ``u`` of a node that is ``1 + exp(u)``; None if it is not."""
    core = opened(x)
    if core is None or core.sig is None or core.sig.op.name != "add":
        return None
    for one, other in (core.inputs, core.inputs[::-1]):
        power = opened(other)
        if is_const(opened(one), 1) and power is not None and power.sig is not None and power.sig.op.name == "exp":
            return power.inputs[0] if power.shape == core.shape else None
    return None


def is_its_definition(op: Op) -> bool:
    """Whether an operator's gradient is that of its definition, so that one may stand for the other."""
    return op.name in FAITHFUL or (op.grad_rule is None and op.differentiable)


def opened(x: Node | None) -> Node | None:
    """The node that says what ``x`` is composed of: ``x`` itself for a primitive, or where a definition has another gradient."""
    while x is not None and x.sig is not None:
        owner = x.inputs[0] if x.sig.op is item else x
        if not owner.body or not is_its_definition(owner.sig.op) or (owner is x and len(x.parts) > 1):  # type: ignore[union-attr]
            break
        x = owner.body[x.sig.params["place"] if owner is not x else 0]  # type: ignore[union-attr]
    return x


def softplus(x: Node) -> Node:
    """log(1 + exp(x)) without overflow, with the logistic function as gradient."""
    return apply(OPS["activation"].sig(act_type="softrelu"), (x,))


def log_sum_exp(x: Node, axes: tuple[int, ...], shape: tuple[int, ...]) -> Node:
    """log(sum(exp(x))) over axes, in the shape given; -inf where all terms are."""
    shifted, top = shifted_to_zero(x, axes)
    return G.reshape(G.log(G.sum(G.exp(shifted), axis=axes, keepdims=True)) + top, shape=shape)


def shifted_to_zero(x: Node, axes: tuple[int, ...]) -> tuple[Node, Node]:
    """(x - m, m) with m the maximum over axes, where that is finite; a constant for the gradient."""
    top = G.stop_gradient(G.max(x, axis=axes, keepdims=True))
    top = G.where(G.isfinite(top), top, 0)
    return x - top, top


def opposite_of(x: Node | None) -> Node | None:
    """The ``u`` of a node that is ``-u``; None if it is not."""
    core = opened(x)
    if core is None or core.sig is None:
        return None
    if core.sig.op.name == "negative":
        return core.inputs[0]
    return core.inputs[0] if core.sig.op.name == "multiply" and is_const(core.inputs[1], -1) else None


def negated(x: Node) -> Node:
    """``-x`` without two signs."""
    return opposite_of(x) or -x


def _log_softmax(x: Node) -> Node:
    target = OPS["log_softmax"]
    sig = target.sig(x.sig.legacy, **{k: v for k, v in x.sig.params.items() if k in target.params})  # type: ignore[union-attr]
    return apply(sig, x.inputs[: len(target.inputs)])


def _moved(x: Node, data: Node | None) -> Node | None:
    """The move ``x`` applied to other data of the same shape."""
    return None if data is None else apply(x.sig, (data, *x.inputs[1:]))  # type: ignore[arg-type]


def _log_of_move(x: Node, depth: int) -> Node | None:
    return _moved(x, log_of(x.inputs[0], depth))


def _log_of_concat(x: Node, depth: int) -> Node | None:
    parts = [log_of(i, depth) for i in x.inputs]
    return None if None in parts else apply(x.sig, tuple(parts))  # type: ignore[arg-type]


def _log_of_cast(x: Node, depth: int) -> Node | None:
    found = log_of(x.inputs[0], depth)
    return None if found is None else G.cast(found, x.dtype)


def _log_of_sum(x: Node, depth: int) -> Node | None:
    terms = x.inputs[0]
    found = log_of(terms, depth)
    if found is None:
        return None
    return log_sum_exp(found, normalized_axes(x.sig.params["axis"], len(terms.shape)), x.shape)  # type: ignore[union-attr]


def _log_of_add(x: Node, depth: int) -> Node | None:
    power = exponent_beside_one(x)
    return None if power is None else softplus(power)


def _log_of_subtract(x: Node, depth: int) -> Node | None:
    logit = logit_of(x.inputs[1], depth) if is_const(opened(x.inputs[0]), 1) else None
    return None if logit is None or logit.shape != x.shape else -softplus(logit)


def _log_of_multiply(x: Node, depth: int) -> Node | None:
    return _combined(x, depth, lambda a, b: a + b, masks=True)


def _log_of_divide(x: Node, depth: int) -> Node | None:
    logit = logit_of(x, depth)
    return _combined(x, depth, lambda a, b: a - b) if logit is None else -softplus(negated(logit))


def _log_of_where(x: Node, depth: int) -> Node | None:
    return _combined(x, depth, lambda a, b: G.where(x.inputs[0], a, b), zero=True)


def _combined(x: Node, depth: int, combine: Callable[[Node, Node], Node], masks: bool = False, zero: bool = False) -> Node | None:
    """Logarithms of the last two operands combined: at least one is found, the other may be a number, or a mask."""
    sides = x.inputs[-2:]
    found = {i: log_of(i, depth) for i in dict.fromkeys(sides)}
    if not any(found.values()):
        return None
    logs = [found[i] or _log_of_number(i, zero) or (_log_of_mask(i, x.dtype) if masks else None) for i in sides]
    result = None if None in logs else combine(*logs)  # type: ignore[arg-type]
    return result if result is None or result.shape == x.shape else G.broadcast_to(result, shape=x.shape)


def _log_of_number(x: Node | None, zero: bool) -> Node | None:
    """The logarithm of a positive number, or with ``zero`` of 0 too, as a number; None if the node is none."""
    core = opened(x)
    if core is None or not is_const(core):
        return None
    number = core.value[1] if core.value is not None else core.sig.params["value"]  # type: ignore[union-attr]
    if number > 0:
        return const(math.log(number))
    return const(-math.inf) if zero and number == 0 else None


def _log_of_mask(x: Node | None, dtype: str) -> Node | None:
    """0 where a node is 1 and -inf where it is 0, if it is nothing else: a comparison, cast and moved or not."""
    core = x
    while core is not None and core.sig is not None and core.dtype != "bool":
        core = core.body[0] if len(core.body) == 1 else core.inputs[0] if core.sig.op.name in MOVES | {"astype"} else None
    if core is None or core.dtype != "bool":
        return None
    return G.where(x, G.full(shape=(), value=0, dtype=dtype), -math.inf)


_FORMS: dict[str, Form] = dict.fromkeys(MOVES, _log_of_move) | {
    "exp": lambda x, depth: x.inputs[0],
    "concat": _log_of_concat,
    "astype": _log_of_cast,
    "sum": _log_of_sum,
    "add": _log_of_add,
    "subtract": _log_of_subtract,
    "multiply": _log_of_multiply,
    "divide": _log_of_divide,
    "where": _log_of_where,
}
