"""Rebuilding graphs: substitution, lowering of composites to primitives, and exact simplification."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from ..opdef import BoundOp, Op, unregistered
from .build import G, GraphNamespace, apply_again, item
from .ir import Application, Node, applies, fill_of, is_const, post_order, scalar_of, topological, unshaped
from .recompute import distinct_view, is_distinct_view

Visit = Callable[[Application, tuple[Node | None, ...]], Node]


def rebuild(
    outputs: Sequence[Node],
    visit: Visit,
    at: Mapping[Node, Node] | None = None,
    only: Collection[Op] | None = None,
) -> list[Node]:
    """Replace every application by ``visit(node, new inputs)``; leaves and constants stay.

    Parameters
    ----------
    outputs, visit
        The graph and the function.
    at
        Replacements of some nodes.
    only
        Applications of other operators stay too, if their inputs do.
    """
    new: dict[Node | None, Node] = {**at} if at else {}  # only nodes that have changed
    are_same = new.keys().isdisjoint
    for n in topological(outputs, until=at or ()):
        if isinstance(n, Application):
            inputs = n.inputs
            if not are_same(inputs):
                inputs = tuple([new.get(i, i) for i in inputs])
            elif only is not None and n.bound_op.op not in only:
                continue
            found = visit(n, inputs)
            if found is not n:
                new[n] = found
    return [new.get(o, o) for o in outputs]


def substitute(outputs: Sequence[Node], at: Mapping[Node, Node]) -> list[Node]:
    """The graph with some nodes replaced; nodes that only these used disappear."""
    return rebuild(outputs, reapply, at, ())


def as_operator(name: str, outputs: Sequence[Node], leaves: Sequence[Node], again: Collection[Node] = ()) -> BoundOp:
    """A graph as an internal operator; nodes that depend on a leaf in ``again`` are computed again, not shared with equal nodes."""

    def rule(xp: object, *inputs: Node) -> list[Node]:
        return substitute(
            outputs, {leaf: distinct_view(value) if leaf in again else value for leaf, value in zip(leaves, inputs, strict=True)}
        )

    return unregistered(name, rule, len(leaves), len(outputs))


def reapply(node: Application, inputs: tuple[Node | None, ...]) -> Node:
    """The same application to new inputs; the node itself if they have not changed."""
    return node if inputs == node.inputs else apply_again(node, inputs)


Rule = Callable[[Application], Node]


def by_rule(outputs: Sequence[Node], rule: Rule, only: Collection[Op] | None = None) -> list[Node]:
    """The graph with every application (of some operators) replaced by a rule's result for it, inputs before users."""
    return _by_rule(outputs, rule, only, reapply)


def simplified_by_rule(outputs: Sequence[Node], rule: Rule, only: Collection[Op] | None = None) -> list[Node]:
    """`by_rule` of a simplified graph, which stays one: the rule's results are simplified."""
    return _by_rule(outputs, rule, only, lambda node, inputs: simplified(reapply(node, inputs)))


def _by_rule(outputs: Sequence[Node], rule: Rule, only: Collection[Op] | None, again: Visit) -> list[Node]:
    def visit(node: Application, inputs: tuple[Node | None, ...]) -> Node:
        new = node if inputs is node.inputs else again(node, inputs)
        return rule(new) if isinstance(new, Application) and (only is None or new.bound_op.op in only) else new

    return rebuild(outputs, visit, only=only)


def _may_be_strided(node: Node) -> bool:
    """Whether a node may be a strided view.

    Such a view is made contiguous where an operator's caller could see it. The operands of a later matrix product or reduction then have
    the same strides however operators are grouped, so that all execution modes give the same bits.
    """
    return isinstance(node, Application) and node.bound_op.op.view and not node.bound_op.op.layout.keeps_order


def lower(outputs: Sequence[Node], boundaries: Iterable[Node] = (), keep: Callable[[Op], bool] | None = None) -> list[Node]:
    """Composites replaced by their bodies, down to primitives.

    Parameters
    ----------
    outputs
        The graph.
    boundaries
        Nodes whose values a caller could hold: strided ones are made contiguous.
    keep
        Operators to keep unchanged.
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
            # interned in the current generation, like all nodes of the result, even if no input has changed
            low = apply_again(node, tuple([None if i is None else done[i] for i in node.inputs]))
        else:
            low = node
        if node in bounds and _may_be_strided(low):
            low = G.contiguous(low)
        done[node] = low
    return [done[o] for o in outputs]


def _keep_none(op: Op) -> bool:
    return False


def _source(node: Node, keep: Callable[[Op], bool]) -> Node:
    """The node after one step of lowering: itself, its body, or for an item the body's part."""
    if not isinstance(node, Application) or keep(node.bound_op.op):
        return node
    if applies(node, item):
        # an operator with several results lowers result by result: each item becomes one node of its body
        owner = node.inputs[0]
        if isinstance(owner, Application) and owner.body and not keep(owner.bound_op.op):
            return owner.body[node.bound_op.params["place"]]
        return node
    return node.body[0] if node.body and len(node.parts) == 1 else node


class Simplifier(GraphNamespace):
    """``xp`` of the rules of `Op.simplify`: it builds nodes, and answers questions about them."""

    applies = staticmethod(applies)
    is_const = staticmethod(is_const)
    fill_of = staticmethod(fill_of)
    scalar_of = staticmethod(scalar_of)
    is_distinct_view = staticmethod(is_distinct_view)

    def simplified(self, node: Node) -> Node:
        """The simplified form of a node that a rule has built."""
        return simplified(node)

    def same_type(self, a: Node, b: Node) -> bool:
        """Whether two nodes have one shape and dtype."""
        return a.shape == b.shape and a.dtype == b.dtype

    def may_be_strided(self, node: Node) -> bool:
        """Whether a copy in row-major order could differ from a node's own memory."""
        source = unshaped(node)
        return _may_be_strided(source) if isinstance(source, Application) else source is not node


_SIMPLIFIER = Simplifier()


def simplify(outputs: Sequence[Node]) -> list[Node]:
    """Algebra that is exact in floating point, to a fixpoint in one pass (operands are simplified before their users)."""
    return by_rule(outputs, simplified)


def simplified(node: Node) -> Node:
    """The simplified form of a node of simplified operands."""
    # applied once: a rule that builds a node simplifies it itself (`Simplifier.simplified`)
    rule = node.bound_op.op.algebra.simplify_rule if isinstance(node, Application) else None
    found = rule(_SIMPLIFIER, node) if rule is not None else None
    return node if found is None else found
