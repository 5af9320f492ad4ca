"""Derives the values to save for backward: a node's gradient is traced once per structure, and all values that it reads are saved.

Using only ``.shape`` or ``.dtype`` saves nothing. Common sub-expressions of an operator's definition and its gradient (the same interned
nodes) become residuals: additional results of the forward program.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, final

from ..backend.kernel import Array
from ..backend.protocol import Backend
from ..collector import RESTING
from ..errors import NoReverseMode
from ..graph.build import G, run_rule
from ..graph.gradient import input_gradients
from ..graph.ir import Application, Constant, Leaf, Node, leaf, topological
from ..graph.residuals import residuals, values_inside
from ..graph.rewrite import substitute
from ..graph.tables import TABLES
from ..program.cache import PROGRAMS, CacheEntry
from ..program.compile import Program
from ..program.interpret import interpret, interpretable
from ..program.profiling import Title

if TYPE_CHECKING:
    from functools import partial

    from ..opdef.spec import BoundOp

#: Elements of the largest operand of a small product, at most.
SMALL = 1 << 15
#: A saved value: ("in", k), ("out", k) or ("res", k).
Saved = tuple[str, int]


class NodeCache:
    """The imperative layer's facts about a typed node; stored in the node's cache slot.

    Attributes
    ----------
    saves
        What backward reads, in the order in which it is saved; None until it is derived.
    lends, keeps
        The same as positions of inputs, and of the results and the residuals after them.
    positions, residuals
        Positions among the body's nodes of the residuals, and these nodes.
    tracked
        Whether each residual depends on a tracked input.
    run
        The compiled functions, by kind of device, from the arrays of the inputs in ``given`` to all results and residuals.
    given
        Positions of the inputs that are not constants.
    read
        Positions of the results that backward reads.
    hook
        The operator's ``on_backward`` rule as an operator of its own, made when first needed.
    again
        What ``run["cpu"]`` runs if `recording.record_again` may record the node: it changes no states. Else None.
    largest
        Elements of its largest result or operand that is read as a whole, divided by the operator's `Execution.waits_from`.
    fast
        Whether the callables made of `calls.fragments` may record it: an element-wise primitive with a single result, or a product of small
        matrices.
    """

    __slots__ = ("again", "fast", "given", "hook", "keeps", "largest", "lends", "positions", "read", "residuals", "run", "saves", "tracked")

    def __init__(self) -> None:
        self.hook: BoundOp | None = None
        self.saves: tuple[Saved, ...] | None = None
        self.lends: tuple[int, ...] = ()
        self.keeps: tuple[int, ...] = ()
        self.positions: tuple[int, ...] = ()
        self.residuals: tuple[Node, ...] = ()
        self.tracked: tuple[bool, ...] = ()
        self.run: dict[str, partial[list[Array]]] = {}
        self.given: tuple[int, ...] = ()
        self.read: tuple[int, ...] = ()
        self.again: InlineRun | None = None
        self.fast = False
        self.largest = 0


def cache_of(node: Application) -> NodeCache:
    """The node's cache, derived on first use."""
    cache = node.cache
    if cache is None:
        cache = node.cache = NodeCache()
    if cache.saves is None:
        with RESTING:
            _derive(node, cache)
    return cache


def _inner_nodes(node: Application, body: Sequence[Node]) -> list[Node]:
    """The results of all applications inside a definition, used or not, in a fixed order."""
    return values_inside(body, {i for i in node.inputs if i is not None})


def _derive(node: Application, cache: NodeCache) -> None:
    inputs = {i for i in node.inputs if i is not None}
    inner = _inner_nodes(node, node.body)
    douts = [leaf(("dout", k), p.shape, p.dtype) for k, p in enumerate(node.parts)]
    grads = _gradients_of(node, douts) if node.tracked else []
    used = set(residuals(inner, grads, {*inputs, *node.parts, node}, recompute=node.bound_op.op.recompute))
    # values that the gradient reads inside the definition: forward gives them as further results, so backward need not recompute them
    shared = [n for n in inner if n in used and n not in node.body]
    cache.tracked = tuple(n.tracked for n in shared)
    if any(cache.tracked):  # a second-order gradient recomputes residuals from the inputs
        used |= inputs & {i for n in topological(shared, until=inputs) for i in n.inputs if i is not None}
    lends: dict[Node, int] = {}
    for k, i in enumerate(node.inputs):
        if i is not None and i in used and not isinstance(i, Constant):
            lends.setdefault(i, k)
    cache.lends = tuple(lends.values())
    # The gradient may name a result by its node in the definition. Where the definition returns an input, that is lent already.
    cache.read = tuple([k for k, p in enumerate(node.parts) if p in used or (node.body and node.body[k] in used - inputs)])
    position = {n: k for k, n in enumerate(inner)}
    cache.positions, cache.residuals = tuple(position[n] for n in shared), tuple(shared)
    cache.keeps = (*cache.read, *range(len(node.parts), len(node.parts) + len(shared)))
    cache.given = tuple(k for k, i in enumerate(node.inputs) if i is not None and not isinstance(i, Constant))
    cache.saves = (*[("in", k) for k in cache.lends], *[("out", k) for k in cache.read], *[("res", k) for k in range(len(shared))])
    read = node.inputs[1:] if node.bound_op.op.execution.picks else node.inputs
    cache.largest = max([n.size for n in (*read, *node.parts) if n is not None], default=0) // node.bound_op.op.execution.waits_from
    is_known = node.bound_op.op.elementwise or (node.bound_op.op.python != "" and cache.largest < SMALL)
    cache.fast = node.is_primitive and len(node.parts) == 1 and is_known


def _gradients_of(node: Application, douts: Sequence[Node]) -> list[Node]:
    """The gradients of the inputs that have one."""
    try:
        return [g for g in input_gradients(node, douts) if g is not None]
    except NoReverseMode:
        # nothing is saved: the error is raised if a backward comes to it, and forward mode does without
        return []


def stands_for(node: Application, saved: Saved) -> list[Node]:
    """The graph nodes that have a saved value."""
    kind, k = saved
    if kind == "in":
        return [i for i in node.inputs[k : k + 1] if i is not None]
    if kind == "out":
        return [node.parts[k], *node.body[k : k + 1], *_renewed(node)[k : k + 1]]
    position = cache_of(node).positions[k]
    return [inner[position] for inner in _inner_of_bodies(node)]


#: The last node whose residuals were requested, the generation, and the inner nodes of its body and of the rebuilt body.
_last_inner: tuple[Application, int, list[list[Node]]] | None = None


def _inner_of_bodies(node: Application) -> list[list[Node]]:
    """The inner nodes of a node's body, and of the rebuilt body. Cached, because a big definition has many residuals."""
    global _last_inner
    last = _last_inner
    if last is None or last[0] is not node or last[1] != TABLES.generation:
        bodies = dict.fromkeys([node.body, tuple(_renewed(node))] if node.body else [])
        last = _last_inner = node, TABLES.generation, [_inner_nodes(node, body) for body in bodies]
    return last[2]


def _renewed(node: Application) -> Sequence[Node]:
    """The body, rebuilt: a gradient built now refers to these nodes even if a generation has been dropped since."""
    return run_rule(G, node.bound_op, node.inputs) if node.body else ()


def runner(node: Application, backend: Backend, is_known: bool = False) -> "partial[list[Array]] | Cold":
    """The compiled form of one operation: from an array (or scalar) per non-constant input to its results, then its residuals.

    With ``is_known`` its structure has been used before.
    """
    cache, kind = cache_of(node), backend.target.kind
    found = cache.run.get(kind)
    if found is None:
        wanted = [*node.parts, *cache.residuals]
        at: dict[Node, Node] = {}
        leaves = []
        for k, i in enumerate(node.inputs):
            if i is not None and not isinstance(i, Constant):
                stand_in = leaf(("arg", k), i.shape, i.dtype)
                leaves.append(stand_in)
                at.setdefault(i, stand_in)
        # the definition's own results, so that they and the residuals inside it are computed together
        if node.body:
            wanted = [*node.body, *wanted[len(node.parts) :]]
        outputs = substitute(wanted, at)
        op = node.bound_op.op
        title = Title(op.names[0] if op.names else op.name, "operator" if op.names or op.primitive else "program")
        found = _compile(outputs, leaves, backend, title, is_known)
        if not isinstance(found, Cold):
            cache.run[kind] = found
            if kind == "cpu" and op.backward_rule is None and not op.dynamic_shape:
                cache.again = InlineRun(node, found)
    return found


@final
class InlineRun:
    """The function that runs an operation on arrays of known types, as `NodeCache.again` and `BoundOp.inline` hold it.

    Attributes
    ----------
    run, function
        The compiled form of `runner`, and the function in it, see `failure.host_results`; None if it is `Cold`.
    given
        Positions of the operands that it takes.
    count
        How many of its results are the operation's. Residuals follow them.
    largest
        Elements of its largest result; infinity if the shapes depend on values.
    """

    __slots__ = ("count", "function", "given", "largest", "run")

    def __init__(self, node: Application, run: "partial[list[Array]] | Cold") -> None:
        self.run, self.function = run, None if isinstance(run, Cold) else run.args[0]
        self.given, self.count = cache_of(node).given, len(node.parts)
        self.largest = math.inf if node.bound_op.op.dynamic_shape else max([part.size for part in node.parts], default=0)


class Cold:
    """A structure's first use, which is interpreted, so that a structure used only once is never compiled."""

    def __init__(self, outputs: Sequence[Node], leaves: Sequence[Node], backend: Backend, title: Title) -> None:
        self._graph, self._title = (outputs, leaves, backend), title

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        """The outputs for arrays of the leaves."""
        return interpret(*self._graph, arrays, self._title)


class _Operation(CacheEntry):
    """The program of one operation; None until its second use."""

    program: Program | None = None


def _compile(
    outputs: Sequence[Node], leaves: Sequence[Node], backend: Backend, title: Title, is_known: bool
) -> "partial[list[Array]] | Cold":
    found = PROGRAMS.get_or(("operation", tuple(outputs), tuple(leaves), backend.target.kind), _Operation)
    if found.program is None:
        # `used` is set when a structure is found in the cache again: the second use compiles
        low = None if found.used or is_known else interpretable(outputs, backend)
        if low is not None:
            return Cold(low, leaves, backend, title)
        found.program = Program(outputs, leaves, backend, title=title)
    return found.program.run


def is_variable(node: Node) -> bool:
    """Whether a leaf wants a gradient."""
    return isinstance(node, Leaf) and node.tracked
