"""Rebuilding graphs: substitution, lowering of composites to primitives, and exact simplification."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..dtype import FLOATS
from ..opdef.spec import Op
from .build import G, apply
from .ir import Node, is_const, post_order, topological
from .recompute import is_apart

Visit = Callable[[Node, tuple[Node | None, ...]], Node]


def rebuild(outputs: Sequence[Node], visit: Visit, at: Mapping[Node, Node] | None = None) -> list[Node]:
    """Replace every application by ``visit(node, new inputs)``; leaves and constants stay. ``at`` gives replacements beforehand."""
    new: dict[Node, Node] = dict(at or {})
    for n in topological(outputs, until=new):
        new[n] = n if n.sig is None else visit(n, tuple([None if i is None else new[i] for i in n.inputs]))
    return [new[o] for o in outputs]


def substitute(outputs: Sequence[Node], at: Mapping[Node, Node]) -> list[Node]:
    """The graph with some nodes replaced; what is only below them disappears."""
    return rebuild(outputs, applied, at)


def applied(node: Node, inputs: tuple[Node | None, ...]) -> Node:
    """An application to other inputs; itself if they are its own."""
    return node if inputs == node.inputs else apply(node.sig, inputs)  # type: ignore[arg-type]


def by_rule(outputs: Sequence[Node], rule: Callable[[Node], Node]) -> list[Node]:
    """The graph with what a rule makes of every application, inputs before users."""
    return rebuild(outputs, lambda n, inputs: rule(applied(n, inputs)))


#: Primitives whose result may be a strided view: materialised where an operator's caller could see it, so that what a
#: later matrix product or reduction reads has the same layout however the operators were grouped (bitwise equal modes).
STRIDED = frozenset({"permute_dims", "slice", "broadcast_to", "unfold"})


def lower(outputs: Sequence[Node], boundaries: Iterable[Node] = (), keep: Callable[[Op], bool] | None = None) -> list[Node]:
    """Composites replaced by their bodies, down to primitives.

    Parameters
    ----------
    outputs
        The graph.
    boundaries
        Nodes that stand for arrays a caller could hold: if strided they are made contiguous.
    keep
        Operators to leave as they are, because the backend runs them whole.
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
        elif node.sig is None:
            low = node
        else:
            low = apply(node.sig, tuple([None if i is None else done[i] for i in node.inputs]))  # of this generation, as all of it then
        if node in bounds and low.sig is not None and low.sig.op.name in STRIDED:
            low = G.contiguous(low)
        done[node] = low
    return [done[o] for o in outputs]


def _keep_none(op: Op) -> bool:
    return False


def _source(node: Node, keep: Callable[[Op], bool]) -> Node:
    """The node that says what ``node`` is one level down: itself, its body, or the body's part for an item."""
    if node.sig is None or keep(node.sig.op):
        return node
    if node.sig.op.name == "item":
        owner = node.inputs[0]
        within = owner is not None and owner.body and not keep(owner.sig.op)  # type: ignore[union-attr]
        return owner.body[node.sig.params["place"]] if within else node  # type: ignore[union-attr]
    return node.body[0] if node.body and len(node.parts) == 1 else node


def simplify(outputs: Sequence[Node]) -> list[Node]:
    """Algebra that is exact in floating point, to a fixpoint in one pass (operands are simplified before their users)."""
    return by_rule(outputs, _simplified)


def _simplified(node: Node) -> Node:
    rule = _RULES.get(node.sig.op.name)  # type: ignore[union-attr]
    found = rule(node) if rule is not None else None
    return node if found is None else found


def _same(a: Node | None, like: Node) -> bool:
    return a is not None and a.shape == like.shape and a.dtype == like.dtype


def _multiply(n: Node) -> Node | None:
    a, b = n.inputs
    if is_const(b, 1) and _same(a, n):
        return a
    if is_const(a, 1) and _same(b, n):
        return b
    for x, y in ((a, b), (b, a)):
        sign = next((s for s in (1, -1) if x is not None and x.sig is not None and is_const(x, s)), None)
        is_number = y is not None and y.value is not None and y.value[0] == "const"
        if sign and n.dtype in FLOATS and is_number and (sign == 1 or y.value[1]):  # type: ignore[union-attr, index]
            return _full(n, sign * y.value[1])  # type: ignore[union-attr, index]
        if is_const(x, -1) and _same(y, n):
            return _simplified(G.negative(y))
    return None


def _full(n: Node, value: float) -> Node:
    return G.full(shape=n.shape, value=value, dtype=n.dtype)


def _divide(n: Node) -> Node | None:
    a, b = n.inputs
    return a if is_const(b, 1) and _same(a, n) else None


def _negative(n: Node) -> Node | None:
    a = n.inputs[0]
    if a is None or a.sig is None:
        return None
    if a.sig.op.name == "full" and n.dtype in FLOATS and a.sig.params["value"]:  # parameters do not tell -0.0 from 0
        return _full(n, -a.sig.params["value"])
    return a.inputs[0] if a.sig.op.name == "negative" else None


def _no_change(n: Node) -> Node | None:
    a = n.inputs[0]
    if _same(a, n):
        return a
    return _full(n, a.sig.params["value"]) if a is not None and a.sig is not None and a.sig.op.name == "full" else None


def _reshape(n: Node) -> Node | None:
    a = n.inputs[0]
    if a is not None and a.sig is not None and a.sig.op.name == "reshape":
        return _simplified(G.reshape(a.inputs[0], shape=n.shape))
    return _no_change(n)


def _permute(n: Node) -> Node | None:
    a, axes = n.inputs[0], n.sig.params["axes"]  # type: ignore[union-attr]
    if axes == tuple(range(len(axes))):
        return a
    if a is not None and a.sig is not None and a.sig.op.name == "permute_dims":
        inner = a.sig.params["axes"]
        return _simplified(G.permute_dims(a.inputs[0], axes=tuple(inner[k] for k in axes)))
    return None


def _power(n: Node) -> Node | None:
    a, b = n.inputs
    return G.square(a) if is_const(b, 2) and _same(a, n) and n.dtype in FLOATS else None


def _contiguous(n: Node) -> Node | None:
    a = source = n.inputs[0]
    while source is not None and source.sig is not None and source.sig.op.name == "reshape":
        source = source.inputs[0]
    may_be_strided = source is not None and (source is not a if source.sig is None else source.sig.op.name in STRIDED)
    return None if may_be_strided else a


def _slice(n: Node) -> Node | None:
    """All of the operand, if the key takes that, in its order."""
    is_all = _same(n.inputs[0], n) and all(step in (None, 1) for _, _, step in n.sig.params["key"])  # type: ignore[union-attr]
    return n.inputs[0] if is_all and not is_apart(n) else None


def _sum(n: Node) -> Node | None:
    a = n.inputs[0]
    return _simplified(G.reshape(a, shape=n.shape)) if a is not None and a.size == n.size and a.dtype == n.dtype else None


_RULES: dict[str, Callable[[Node], Node | None]] = {
    "multiply": _multiply,
    "divide": _divide,
    "negative": _negative,
    "power": _power,
    "reshape": _reshape,
    "broadcast_to": _no_change,
    "permute_dims": _permute,
    "slice": _slice,
    "contiguous": _contiguous,
    "sum": _sum,
    "max": lambda n: _sum(n),
    "min": lambda n: _sum(n),
    "astype": lambda n: n.inputs[0] if _same(n.inputs[0], n) else None,
    "stop_gradient": lambda n: n.inputs[0],
}
