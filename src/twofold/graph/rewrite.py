"""Rebuilding graphs: substitution, lowering of composites to primitives, and exact simplification."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from ..dtype import FLOATS
from ..opdef.spec import Op, Sig, unregistered
from ..ops.primitive_arithmetic import astype, divide, multiply, power
from ..ops.primitive_math import negative, stop_gradient
from ..ops.primitive_reduce import max, min, sum
from ..ops.primitive_shape import broadcast_to, contiguous, full, permute_dims, reshape, slice
from .build import G, apply, item
from .ir import Application, Constant, Node, applies, is_const, post_order, topological, unshaped
from .recompute import distinct_view, is_distinct_view

Visit = Callable[[Application, tuple[Node | None, ...]], Node]


def rebuild(outputs: Sequence[Node], visit: Visit, at: Mapping[Node, Node] | None = None) -> list[Node]:
    """Replace every application by ``visit(node, new inputs)``, leaves and constants staying; ``at`` replaces some nodes beforehand."""
    new: dict[Node, Node] = dict(at or {})
    for n in topological(outputs, until=new):
        new[n] = visit(n, tuple([None if i is None else new[i] for i in n.inputs])) if isinstance(n, Application) else n
    return [new[o] for o in outputs]


def substitute(outputs: Sequence[Node], at: Mapping[Node, Node]) -> list[Node]:
    """The graph with some nodes replaced; nodes used only by those disappear."""
    return rebuild(outputs, reapply, at)


def as_operator(name: str, outputs: Sequence[Node], leaves: Sequence[Node], again: Collection[Node] = ()) -> Sig:
    """A graph as an operator that the package makes for itself; what is computed from the leaves in ``again`` is computed again."""

    def rule(xp: Any, *inputs: Node) -> list[Node]:
        return substitute(
            outputs, {leaf: distinct_view(value) if leaf in again else value for leaf, value in zip(leaves, inputs, strict=True)}
        )

    return unregistered(name, rule, len(leaves), len(outputs))


def reapply(node: Application, inputs: tuple[Node | None, ...]) -> Node:
    """The same application to new inputs; the node itself if they have not changed."""
    return node if inputs == node.inputs else apply(node.sig, inputs)


def by_rule(outputs: Sequence[Node], rule: Callable[[Application], Node]) -> list[Node]:
    """The graph with every application replaced by what a rule returns for it, inputs before users."""

    def visit(node: Application, inputs: tuple[Node | None, ...]) -> Node:
        new = reapply(node, inputs)
        return rule(new) if isinstance(new, Application) else new

    return rebuild(outputs, visit)


def _may_be_strided(node: Node) -> bool:
    """Whether a node may be a strided view.

    Such a view is made contiguous where an operator's caller could see it: what a later matrix product or reduction reads then has the
    same strides however operators are grouped, so that all modes of execution give the same bits.
    """
    return isinstance(node, Application) and node.sig.op.view and node.sig.op is not reshape


def lower(outputs: Sequence[Node], boundaries: Iterable[Node] = (), keep: Callable[[Op], bool] | None = None) -> list[Node]:
    """Composites replaced by their bodies, down to primitives.

    Parameters
    ----------
    outputs
        The graph.
    boundaries
        Nodes whose values a caller could hold: strided ones are made contiguous.
    keep
        Operators to keep as they are.
    """
    bounds = set(boundaries)
    sources: dict[Node, Node] = {}
    done: dict[Node, Node] = {}

    def below(node: Node) -> tuple[Node | None, ...]:
        source = sources[node] = _source(node, keep or _keep_none)
        return node.inputs if source is node else (source,)

    for node in post_order(outputs, below):
        source = sources[node]
        if source is not node:
            low = done[source]
        elif isinstance(node, Application):
            low = apply(
                node.sig, tuple([None if i is None else done[i] for i in node.inputs])
            )  # interned in the current generation, like all nodes of the result
        else:
            low = node
        if node in bounds and _may_be_strided(low):
            low = G.contiguous(low)
        done[node] = low
    return [done[o] for o in outputs]


def _keep_none(op: Op) -> bool:
    return False


def _source(node: Node, keep: Callable[[Op], bool]) -> Node:
    """What a node lowers to in one step: itself, its body, or for an item the body's part."""
    if not isinstance(node, Application) or keep(node.sig.op):
        return node
    if node.sig.op is item:
        owner = node.inputs[0]
        if isinstance(owner, Application) and owner.body and not keep(owner.sig.op):
            return owner.body[node.sig.params["place"]]
        return node
    return node.body[0] if node.body and len(node.parts) == 1 else node


def simplify(outputs: Sequence[Node]) -> list[Node]:
    """Algebra that is exact in floating point, to a fixpoint in one pass (operands are simplified before their users)."""
    return by_rule(outputs, _simplified)


def _simplified(node: Node) -> Node:
    if not isinstance(node, Application):
        return node
    rule = _RULES.get(node.sig.op)
    found = rule(node) if rule is not None else None
    return node if found is None else found


def _same(a: Node | None, like: Node) -> bool:
    return a is not None and a.shape == like.shape and a.dtype == like.dtype


def _multiply(n: Application) -> Node | None:
    a, b = n.operands
    if is_const(b, 1) and _same(a, n):
        return a
    if is_const(a, 1) and _same(b, n):
        return b
    for x, y in ((a, b), (b, a)):
        sign = next((s for s in (1, -1) if applies(x, full) and is_const(x, s)), None)
        if sign and n.dtype in FLOATS and isinstance(y, Constant) and (sign == 1 or y.number):
            return _full(n, sign * y.number)
        if is_const(x, -1) and _same(y, n):
            return _simplified(G.negative(y))
    return None


def _full(n: Node, value: float) -> Node:
    return G.full(shape=n.shape, value=value, dtype=n.dtype)


def _divide(n: Application) -> Node | None:
    a, b = n.operands
    return a if is_const(b, 1) and _same(a, n) else None


def _negative(n: Application) -> Node | None:
    a = n.operands[0]
    if (
        applies(a, full) and n.dtype in FLOATS and a.sig.params["value"]
    ):  # a negated zero would be lost: interned parameters compare -0.0 and 0 as equal
        return _full(n, -a.sig.params["value"])
    return a.operands[0] if applies(a, negative) else None


def _no_change(n: Application) -> Node | None:
    a = n.operands[0]
    if _same(a, n):
        return a
    return _full(n, a.sig.params["value"]) if applies(a, full) else None


def _reshape(n: Application) -> Node | None:
    a = n.operands[0]
    return _simplified(G.reshape(a.operands[0], shape=n.shape)) if applies(a, reshape) else _no_change(n)


def _permute(n: Application) -> Node | None:
    a, axes = n.operands[0], n.sig.params["axes"]
    if axes == tuple(range(len(axes))):
        return a
    if applies(a, permute_dims):
        inner = a.sig.params["axes"]
        return _simplified(G.permute_dims(a.operands[0], axes=tuple(inner[k] for k in axes)))
    return None


def _power(n: Application) -> Node | None:
    a, b = n.operands
    return G.square(a) if is_const(b, 2) and _same(a, n) and n.dtype in FLOATS else None


def _contiguous(n: Application) -> Node | None:
    a = n.operands[0]
    source = unshaped(a)
    keeps = _may_be_strided(source) if isinstance(source, Application) else source is not a
    return None if keeps else a


def _slice(n: Application) -> Node | None:
    """The operand, if the key selects all of it in order."""
    is_all = _same(n.operands[0], n) and all(step in (None, 1) for _, _, step in n.sig.params["key"])
    return n.operands[0] if is_all and not is_distinct_view(n) else None


def _sum(n: Application) -> Node | None:
    a = n.operands[0]
    return _simplified(G.reshape(a, shape=n.shape)) if a.size == n.size and a.dtype == n.dtype else None


_RULES: dict[Op, Callable[[Application], Node | None]] = {
    multiply: _multiply,
    divide: _divide,
    negative: _negative,
    power: _power,
    reshape: _reshape,
    broadcast_to: _no_change,
    permute_dims: _permute,
    slice: _slice,
    contiguous: _contiguous,
    sum: _sum,
    max: _sum,
    min: _sum,
    astype: lambda n: n.operands[0] if _same(n.operands[0], n) else None,
    stop_gradient: lambda n: n.operands[0],
}
