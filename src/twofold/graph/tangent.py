"""The directional derivative of a graph, as a graph (forward mode): a tangent for each node, operands before their users.

A linear primitive is applied to the tangents of its operands, a multilinear one to each in turn (`opdef.facets.Algebra.linear`). The
gradient rule of an element-wise primitive multiplies by the derivative, be it a head gradient or a tangent. Of all others the gradient rule
gives a graph that is linear in the head gradient, and the gradient of that graph with respect to the head gradient is the tangent:
transposing twice. This is exact, because rules use the head gradient in linear operators only; extrema, products, sorting and linear
algebra are of this kind. Loops and choices have rules of their own, in `loop_tangents`.

Complex numbers need no convention here: tangents are derivatives along a real parameter.
"""

from collections.abc import Mapping, Sequence

from ..dtype import COMPLEX, WEAK, is_float
from ..errors import AutogradError
from ..opdef import Op
from .build import G, apply, item
from .control_flow import cond, foreach, while_loop
from .gradient import accumulate, input_gradients, rule_results
from .ir import Application, Node, applies, const, leaf, topological
from .loop_tangents import of_cond, of_foreach, of_while_loop
from .rewrite import lower, substitute

Tangents = dict[Node, Node]
#: Loops of steps, choices, and loops without a limit (`while_loop` with one is transposed twice).
_CONTROL_FLOW = {foreach: of_foreach, while_loop: of_while_loop, cond: of_cond}


def tangents(outputs: Sequence[Node], given: Mapping[Node, Node]) -> list[Node | None]:
    """The tangents of outputs, given those of leaves; None for an output that does not depend on these.

    Raises
    ------
    AutogradError
        For an operator that runs code of the user's.
    """
    # operators with a gradient of their own stay whole, so that both modes give the same derivative where their definition has none
    low = lower(outputs, keep=_is_kept)
    found: Tangents = dict(given)
    for node in topological(low, until=found):
        if not isinstance(node, Application) or applies(node, item) or not any(i in found for i in node.inputs):
            continue
        for part, tangent in zip(node.parts, _tangents_of(node, [None if i is None else found.get(i) for i in node.inputs]), strict=True):
            if tangent is not None:
                found[part] = tangent
    return [found.get(n) for n in low]


def _is_kept(op: Op) -> bool:
    return op.differs_from_definition and not op.ignores_head


def _tangents_of(node: Application, given: Sequence[Node | None]) -> Sequence[Node | None]:
    """The tangents of an application's results, given those of its inputs."""
    op = node.bound_op.op
    if op.execution.user_method or op.reverse_only:
        what = f"{op.title} has no derivative in forward mode: its gradient is code of the user's"
        raise AutogradError(what, "an argument that depends on the inputs of jvp", "use reverse mode, or func.custom_jvp")
    if (rule := _CONTROL_FLOW.get(op)) is not None and node.bound_op.params.get("limit") is None:
        return rule(node, given, lambda outputs, at: tangents(outputs, at))
    if not op.differentiable or (op.primitive and op.grad_rule is None) or not any(map(has_tangent, node.parts)):
        return [None] * len(node.parts)
    if op.elementwise and op.primitive:
        return [_elementwise(node, given)]
    if op.algebra.moves or op.algebra.linear == "joint":
        return [_like(node, apply(node.bound_op, _all_tangents(node, given)))]
    if op.algebra.linear == "each":
        return [_sum([_like(node, _with(node, k, t)) for k, t in enumerate(given) if t is not None])]
    return _transposed_twice(node, given)


def _like(node: Node, tangent: Node) -> Node:
    """A tangent in a node's dtype."""
    return tangent if tangent.dtype == node.dtype else G.cast_like(tangent, node)


def _sum(terms: Sequence[Node]) -> Node | None:
    total = None
    for term in terms:
        total = term if total is None else total + term
    return total


def _with(node: Application, place: int, tangent: Node) -> Node:
    """The application with a tangent in place of one input."""
    return apply(node.bound_op, (*node.inputs[:place], tangent, *node.inputs[place + 1 :]))


def _all_tangents(node: Application, given: Sequence[Node | None]) -> tuple[Node | None, ...]:
    """The tangents of all inputs that an application is linear in; indices stay."""
    inputs: list[Node | None] = []
    for k, (i, t) in enumerate(zip(node.inputs, given, strict=True)):
        is_linear = k == 0 if node.bound_op.op.algebra.moves else i is not None and not _is_index(i)
        # an input that does not depend on the arguments has a tangent of zeros
        inputs.append(i if i is None or not is_linear else zeros(i) if t is None else t)
    return tuple(inputs)


def _is_index(node: Node) -> bool:
    """Whether an input of a linear operator may hold indices: a number, and a bool, is a value that is written or added."""
    return not has_tangent(node) and node.dtype not in WEAK and node.dtype != "bool"


def has_tangent(node: Node) -> bool:
    """Whether a node's dtype has derivatives."""
    return is_float(node.dtype) or node.dtype in COMPLEX


def zeros(node: Node) -> Node:
    """The tangent of a constant of a node's type."""
    return const(0.0) if node.dtype in WEAK else G.full(shape=node.shape, value=0, dtype=node.dtype)


def _elementwise(node: Application, given: Sequence[Node | None]) -> Node | None:
    if not has_tangent(node):
        return None
    rule = node.bound_op.op.grad_rule
    assert rule is not None
    terms = []
    for k, t in enumerate(given):
        if t is None:
            continue
        # the rule as for a head gradient; `graph.gradient` would sum its result over broadcast axes, and here the result stays
        term = rule_results(rule, node, [G.broadcast_to(_like(node, t) if t.dtype not in COMPLEX else t, shape=node.shape)])[k]
        if term is None:
            continue
        term = term if isinstance(term, Node) else G.full(shape=(), value=term, dtype=node.dtype)
        if term.dtype in COMPLEX and node.dtype not in COMPLEX:
            term = G.real_part(term)
        terms.append(G.broadcast_to(_like(node, term), shape=node.shape))
    return _sum(terms)


def _transposed_twice(node: Application, given: Sequence[Node | None]) -> list[Node | None]:
    # on leaves in place of the inputs: first tracked ones, whose gradients are taken, then ones that end the second walk
    pairs = list(zip(node.inputs, given, strict=True))
    tracked = [None if i is None else leaf(("tangent at", k), i.shape, i.dtype, t is not None) for k, (i, t) in enumerate(pairs)]
    fixed: dict[Node, Node] = {i: leaf(i.name, i.shape, i.dtype) for i in tracked if i is not None}
    heads = [leaf(("tangent head", k), p.shape, p.dtype, has_tangent(p)) for k, p in enumerate(node.parts)]
    grads = input_gradients(apply(node.bound_op, tuple(tracked)), [h if h.tracked else None for h in heads])
    have = [(g, t) for g, t in zip(grads, given, strict=True) if g is not None and t is not None]
    found = accumulate(substitute([g for g, _ in have], fixed), [t for _, t in have])
    wanted = [found.get(h) for h in heads]
    at: dict[Node, Node] = {fixed[f]: i for f, i in zip(tracked, node.inputs, strict=True) if f is not None and i is not None}
    # a rule may name the head gradient where only its shape matters
    at |= {h: zeros(h) for h in heads}
    back = iter(substitute([w for w in wanted if w is not None], at))
    return [None if w is None else next(back) for w in wanted]
