"""Logarithms of nodes by formulas that do not overflow, for nodes built from exponentials by moves, sums and products.

| x                                             | log(x)                                     |
|-----------------------------------------------|--------------------------------------------|
| exp(u)                                        | u                                          |
| softmax(u)                                    | log_softmax(u)                             |
| sigmoid(u), 1 / (1 + exp(-u)), 1 - sigmoid(u) | -softplus(-u), -softplus(u)                |
| 1 + exp(u)                                    | softplus(u) = max(u, 0) + log1p(exp(-|u|)) |
| sum(x)                                        | m + log(sum(exp(log(x) - m))), m = max     |
| x · y, x / y, where(c, x, y)                  | the same of the logarithms                 |
| pick, slice, reshape, take, concat … of x     | the same of log(x)                         |

An operand may also be a positive number, and in a product a mask: 0 or 1 by construction, such as a comparison or a one-hot code.
Composite operators are looked into if their gradient is that of their definition. The rules are declared with the operators
(`Op.logarithm`); this module has their shared parts.
"""

import math
from collections.abc import Callable
from functools import cache

from ..dtype import is_float
from ..opdef import Op
from ..ops.activation import activation
from ..ops.primitive_arithmetic import add, astype, divide, multiply
from ..ops.primitive_math import exp, negative
from .build import G, apply, item
from .ir import Application, Node, applies, const, is_const, number_of
from .rewrite import Simplifier

#: How many operators deep to look for a formula.
DEPTH = 16


def log_of(x: Node | None, depth: int = DEPTH) -> Node | None:
    """``log(x)`` by a formula that does not overflow; None without a known one.

    Parameters
    ----------
    x
        Any node.
    depth
        How many operators deep to look.
    """
    if x is None or not depth or not is_float(x.dtype):
        return None
    # a composite's own rule takes precedence over its definition
    found = _by_rule(x, depth) if isinstance(x, Application) and not x.bound_op.op.primitive else None
    if found is None:
        core = definition_of(x)
        if not isinstance(core, Application):
            return None
        # moving elements and taking logarithms commute: a loss picks from log_softmax instead of taking the logarithm of what it picks from
        # softmax
        found = _apply_move(core, log_of(core.operands[0], depth - 1)) if core.bound_op.op.algebra.moves else _by_rule(core, depth)
    return None if found is None else G.cast(found, x.dtype)


def _by_rule(x: Application, depth: int) -> Node | None:
    rule = x.bound_op.op.algebra.log_rule
    return None if rule is None else rule(_at_depth(depth - 1), x)


def logit_of(x: Node | None, depth: int = DEPTH) -> Node | None:
    """The ``u`` if ``x`` is the logistic function of ``u``, possibly moved; None otherwise."""
    core = None if x is None else definition_of(x)
    if not isinstance(core, Application) or not depth:
        return None
    if core.bound_op.op.algebra.moves:
        return _apply_move(core, logit_of(core.operands[0], depth - 1))
    if not applies(core, divide):
        return None
    above, below = map(definition_of, core.operands)
    power = exponent_beside_one(below)
    if power is None:
        return None
    if applies(above, exp) and above.operands[0] is power:
        return power
    return negated(power) if is_const(above, 1) else None


def exponent_beside_one(x: Node) -> Node | None:
    """The ``u`` if the node is ``1 + exp(u)``; None otherwise."""
    core = definition_of(x)
    if not applies(core, add):
        return None
    for one, other in (core.operands, core.operands[::-1]):
        power = definition_of(other)
        if is_const(definition_of(one), 1) and applies(power, exp):
            return power.operands[0] if power.shape == core.shape else None
    return None


def is_its_definition(op: Op) -> bool:
    """Whether an operator's gradient is that of its definition, so that the definition may replace the operator."""
    return op.faithful or (op.grad_rule is None and op.differentiable)


def definition_of(x: Node) -> Node:
    """The definition of ``x``, down to a primitive or to an operator whose gradient is not that of its definition."""
    while isinstance(x, Application):
        owner = x.operands[0] if applies(x, item) else x
        if not isinstance(owner, Application) or not owner.body or not is_its_definition(owner.bound_op.op):
            break
        if owner is x and len(x.parts) > 1:
            break
        x = owner.body[x.bound_op.params["place"] if owner is not x else 0]
    return x


def softplus(x: Node) -> Node:
    """log(1 + exp(x)) without overflow, with the logistic function as gradient."""
    return apply(activation.bind(act_type="softrelu"), (x,))


def log_sum_exp(x: Node, axes: tuple[int, ...], shape: tuple[int, ...]) -> Node:
    """log(sum(exp(x))) over axes, in the given shape; -inf where all terms are -inf."""
    shifted, top = shifted_to_zero(x, axes)
    return G.reshape(G.log(G.sum(G.exp(shifted), axis=axes, keepdims=True)) + top, shape=shape)


def shifted_to_zero(x: Node, axes: tuple[int, ...]) -> tuple[Node, Node]:
    """(x - m, m), where m is the maximum over axes, or 0 if that is not finite; m is a constant for the gradient."""
    top = G.stop_gradient(G.max(x, axis=axes, keepdims=True))
    # -inf - (-inf) would be NaN in a row in which every term is 0
    top = G.where(G.isfinite(top), top, 0)
    return x - top, top


def opposite_of(x: Node) -> Node | None:
    """The ``u`` if the node is ``-u``; None otherwise."""
    core = definition_of(x)
    if applies(core, negative) or (applies(core, multiply) and is_const(core.operands[1], -1)):
        return core.operands[0]
    return None


def negated(x: Node) -> Node:
    """``-x``, without a double negation."""
    return opposite_of(x) or -x


def _apply_move(x: Application, data: Node | None) -> Node | None:
    """The move ``x`` applied to other data of the same shape; None if ``x`` is not a move."""
    return None if data is None else apply(x.bound_op, (data, *x.operands[1:]))


def _combined(x: Application, depth: int, combine: Callable[[Node, Node], Node], masks: bool, zero: bool) -> Node | None:
    sides = x.operands[-2:]
    found = {i: log_of(i, depth) for i in dict.fromkeys(sides)}
    if not any(found.values()):
        return None
    # one side may have no formula if its logarithm is known exactly: of a number, or of a mask
    first, second = (found[i] or _log_of_number(i, zero) or (_log_of_mask(i, x.dtype) if masks else None) for i in sides)
    if first is None or second is None:
        return None
    result = combine(first, second)
    return result if result.shape == x.shape else G.broadcast_to(result, shape=x.shape)


def _log_of_number(x: Node, zero: bool) -> Node | None:
    """The logarithm of a positive constant, or with ``zero`` also of 0; None for other nodes."""
    number = number_of(definition_of(x))
    if number is None:
        return None
    if number > 0:
        return const(math.log(number))
    return const(-math.inf) if zero and number == 0 else None


def _log_of_mask(x: Node, dtype: str) -> Node | None:
    """The logarithm of a mask, 0 or -inf: of a comparison, possibly cast and moved; None for other nodes."""
    core: Node | None = x
    while isinstance(core, Application) and core.dtype != "bool":
        core = core.body[0] if len(core.body) == 1 else core.inputs[0] if core.bound_op.op.algebra.moves or applies(core, astype) else None
    if core is None or core.dtype != "bool":
        return None
    return G.where(x, G.full(shape=(), value=0, dtype=dtype), -math.inf)


class Logarithms(Simplifier):
    """``xp`` of the rules of `Op.logarithm` and `Op.stable`, with functions for the logarithms of nodes at one depth."""

    apply = staticmethod(apply)
    definition_of = staticmethod(definition_of)
    exponent_beside_one = staticmethod(exponent_beside_one)
    opposite_of = staticmethod(opposite_of)
    negated = staticmethod(negated)
    softplus = staticmethod(softplus)
    log_sum_exp = staticmethod(log_sum_exp)

    def __init__(self, depth: int) -> None:
        self._depth = depth

    def log_of(self, x: Node) -> Node | None:
        """See `log_of`."""
        return log_of(x, self._depth)

    def logit_of(self, x: Node | None) -> Node | None:
        """See `logit_of`."""
        return logit_of(x, self._depth)

    def combined(self, x: Application, combine: Callable[[Node, Node], Node], masks: bool = False, zero: bool = False) -> Node | None:
        """Combine the logarithms of the last two operands. One must have a known formula; the other may be a number or a mask."""
        return _combined(x, self._depth, combine, masks, zero)


_at_depth = cache(Logarithms)  # a namespace makes its functions at their first use, so one is kept for each depth
