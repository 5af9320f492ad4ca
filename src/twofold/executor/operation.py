"""A graph as one operation, which is recorded, deferred, compiled and differentiated as a whole. Hybridized blocks run these.

In each training mode the graph becomes an unregistered operator. Its rule replays the graph for the types of its inputs; its gradient is
that of its definition. The few inner values that updates of states read in backward (the batch mean, for moving averages) are hidden
outputs.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeVar

from ..device import Device
from ..graph.build import item
from ..graph.gradient import accumulate, starts_below
from ..graph.ir import Application, Leaf, Node, leaf, topological
from ..graph.recomputed_regions import Region, with_copies
from ..graph.rewrite import lower, substitute
from ..graph.stabilise import stabilise
from ..graph.tables import TABLES
from ..imperative.array import Array
from ..imperative.cell import DENSE, Cell, Content
from ..imperative.guards import is_tracked
from ..imperative.invoke import invoke
from ..imperative.recording import entry_of
from ..imperative.residuals import cache_of
from ..imperative.tape import Tape, tls
from ..imperative.trace import drawn
from ..opdef import Input, Op
from ..opdef.facets.execution import WHOLE, Execution
from ..program.cache import Cache, CacheEntry
from ..scheduler.observers import LISTENERS, span
from .function import TypedGraph, new_states, user_objects, write_states

#: A function that returns the typed graph for typed inputs and a training mode.
GraphMaker = Callable[[Sequence[Node], bool], TypedGraph]

Result = TypeVar("Result")

#: The number of combinations of input types whose typed graphs an operation holds. Few, because each holds all its nodes, and replaying
#: one again takes only about a millisecond.
GRAPHS = 8


class Recordable:
    """A graph as a recordable function of arrays: an `Operation` for each training mode, created by the first call.

    Parameters
    ----------
    name
        Its name in messages.
    make_graph
        Returns the typed graph for inputs.
    mirror
        Whether backward recomputes most inner values instead of saving them in forward (see `graph.recompute`).
    """

    def __init__(self, name: str, make_graph: GraphMaker, mirror: bool = False) -> None:
        self._name, self._make_graph, self._mirror = name, make_graph, mirror
        self._operations: dict[bool, Operation] = {}
        #: Those with users' objects, by training mode and the types of their inputs: an object is created for the types of its operands.
        self._for_types = Cache(GRAPHS)

    @property
    def predicting(self) -> "Operation | None":
        """The operation outside of training; None before it was used."""
        return self._operations.get(False)

    def __call__(self, cells: Sequence[Array], device: Device) -> list[Content]:
        """Compute the outputs, as contents of arrays, and write the states among the arrays.

        Parameters
        ----------
        cells
            One array for each input.
        device
            Where to draw random keys and create users' objects.
        """
        operation = self._operations.get(tls.training)  # dropout and batch norm have another graph in each mode
        if operation is None or operation.objects:
            operation = self._operation_for(cells)
        operands = cells
        # keys are drawn here, when the call is issued, so that the stream does not depend on when the operation runs
        if operation.draws or operation.objects:
            keys = [drawn((), device) for _ in range(operation.draws)]
            operands = [*cells, *keys, *user_objects(operation.objects, device, cells)]
        if LISTENERS:
            with span("", "", device, symbolic=True):
                contents = invoke(operation.bound_op, operands)
        else:
            contents = invoke(operation.bound_op, operands)
        if operation.written:
            write_states(cells, operation.written, contents[operation.count :])
        return contents[: operation.count]

    def _operation_for(self, cells: Sequence[Array]) -> "Operation":
        """The operation for arrays of these types in the training mode."""
        training = tls.training

        def make() -> Operation:
            return Operation(self._name, self._make_graph, _inputs_of(cells), training, self._mirror)

        types = tuple([(c.shape, c._dtype) for c in cells])
        operation = self._operations[training] = self._for_types.get_or((training, types), make)
        return operation


def _inputs_of(cells: Sequence[Array]) -> list[Node]:
    """Leaves for arrays: those of the tape if it will record the call, so that the graph is built only once; else others of their types."""
    tape = tls.tape
    # the contents of views are computed, and recorded, at each read
    if type(tape) is Tape and all(c._held.__class__ in DENSE for c in cells) and is_recorded(cells):
        entries = [entry_of(c._capture(), tape) for c in cells]
        nodes = [e.node for e in entries if e is not None]
        if _are_leaves_of_tape(nodes):
            return nodes
    return [leaf(("in", k), c.shape, c._dtype) for k, c in enumerate(cells)]


def _types_of(inputs: Iterable[Node]) -> tuple[tuple[tuple[int, ...], str, bool], ...]:
    return tuple([(i.shape, i.dtype, i.tracked) for i in inputs])


def _are_leaves_of_tape(inputs: Sequence[Node]) -> bool:
    """Whether a graph may be built on its inputs themselves: on leaves of a tape, each of which is one input.

    Below other inputs are operations of the tape. Rewriting the graph would rewrite these too, which save their values under other nodes.
    """
    return all(isinstance(i, Leaf) and isinstance(i.name, int) for i in inputs) and len(set(inputs)) == len(inputs)


class _Hidden(NamedTuple):
    """A hidden output: an operand or a result of one of the graph's updates, by position."""

    update: int
    is_result: bool
    place: int

    def of(self, graph: TypedGraph) -> Node:
        """The value in a typed graph."""
        update = graph.updates[self.update]
        found = (update.results if self.is_result else update.operands)[self.place]
        assert found is not None
        return found


class Operation(CacheEntry):
    """A graph in one training mode, as an operator.

    Parameters
    ----------
    name
        Its name in messages.
    make_graph
        Returns the typed graph for inputs.
    inputs
        Leaves for the arrays of the first call.
    training
        The training mode.
    mirror
        See `Recordable`.

    Attributes
    ----------
    bound_op
        The operator. It takes the inputs, the random keys and the users' objects, and gives the outputs, the states written and the
        hidden outputs.
    count
        Number of outputs.
    draws, objects
        Number of random keys; users' objects to create for each call.
    written
        Positions of the inputs that forward writes.
    """

    def __init__(self, name: str, make_graph: GraphMaker, inputs: Sequence[Node], training: bool, mirror: bool) -> None:
        self._make_graph, self._training = make_graph, training
        # keyed by types and the generation: after a generation is dropped, equal leaves are new nodes, and old graphs must not be mixed in
        self._typed, self._state_graphs = Cache(GRAPHS), Cache(GRAPHS)
        graph = make_graph(inputs, training)
        self._last = TABLES.generation, graph
        self.count, self.draws, self.objects = len(graph.outputs), len(graph.keys), graph.objects
        self.written = list(graph.written)
        self._hidden = _read_by_updates(graph)
        self._states = sorted({k for u in graph.updates for k in u.states.values()})
        self.bound_op = self._operator(name, len(inputs), mirror, starts_below(graph.outputs)).bind()

    def _operator(self, name: str, arrays: int, mirror: bool, has_losses: bool) -> Op:
        inputs = [Input(f"x{k}", auxiliary=k in self._states) for k in range(arrays)] + [Input(f"key{k}") for k in range(self.draws)]
        inputs += [Input(f"object{k}") for k in range(len(self.objects))]
        return Op(
            f"graph {name}",
            self._rule,
            inputs=tuple(inputs),
            outputs=self.count + len(self.written) + len(self._hidden),
            visible=self.count,
            recompute=mirror and not any(o.states for o in self.objects),  # user code that changes states runs once
            dynamic_shape=bool(self.objects),
            execution=Execution(waits_from=WHOLE),
            adds_gradient=has_losses,
            faithful=True,
            grad_rule=_with_signature(self._gradients, [i.name for i in inputs]),
            backward_rule=self._new_states if self._states else None,
        )

    def outputs_for(self, inputs: Sequence[Node]) -> list[Node]:
        """The outputs on leaves, one for each input, for a graph without hidden outputs."""
        return self._rule(None, *inputs)[: self.count]

    def _typed_for(self, inputs: Sequence[Node]) -> "_Typed":
        """The graph for inputs of these types."""
        types = _types_of(inputs)

        def build() -> _Typed:
            is_direct = _are_leaves_of_tape(inputs)
            leaves = inputs if is_direct else [leaf(("in", k), *types[k]) for k in range(len(types))]
            arrays = len(leaves) - self.draws - len(self.objects)
            graph = self._graph_on(leaves[:arrays])
            nodes = [*graph.outputs, *graph.written.values(), *(h.of(graph) for h in self._hidden)]
            count, sizes = len(nodes), [(len(r.inputs), len(r.outputs)) for r in graph.regions]
            nodes += [n for r in graph.regions for n in (*r.inputs, *r.outputs)]
            if graph.keys or graph.objects:
                nodes = substitute(nodes, dict(zip([*graph.keys, *(o.leaf for o in graph.objects)], leaves[arrays:], strict=True)))
            nodes = stabilise(nodes)
            ends = iter(nodes[count:])
            regions = [Region(tuple(islice(ends, reads)), tuple(islice(ends, makes))) for reads, makes in sizes]
            return _Typed(nodes[:count], leaves, regions)

        return self._typed.get_or((types, TABLES.generation), build)  # every gradient of the operation needs it again

    def _graph_on(self, leaves: Sequence[Node]) -> TypedGraph:
        """The typed graph on leaves: often those of the graph that was made last."""
        generation, graph = self._last
        if generation != TABLES.generation or list(graph.inputs) != list(leaves):
            graph = self._make_graph(leaves, self._training)
            self._last = TABLES.generation, graph
        return graph

    def _rule(self, xp: object, *inputs: Node) -> list[Node]:
        """Outputs, states written and hidden outputs."""
        typed = self._typed_for(inputs)
        if tuple(typed.inputs) == inputs:
            return typed.opened
        return substitute(typed.opened, dict(zip(typed.inputs, inputs, strict=True)))

    def _gradients(self, xp: object, dout: Node | tuple[Node | None, ...], *inputs: Node) -> list[Node | None]:
        """Gradients of the inputs."""
        typed = self._typed_for(inputs)
        douts = dout if isinstance(dout, tuple) else (dout,)
        given = {k: d for k, (o, d) in enumerate(zip(typed.outputs, douts, strict=True)) if d is not None and o.tracked}
        places, gradients = typed.gradients(tuple(given))
        at = dict(zip(typed.inputs, inputs, strict=True)) | {typed.heads[k]: d for k, d in given.items()}
        found = dict(zip(places, substitute(gradients, at), strict=True))
        return [found.get(k) for k in range(len(inputs))]

    def _new_states(self, xp: object, out: Sequence[Node], *inputs: Node, tracked: Sequence[bool]) -> dict[str, Node]:
        """New values of the states that backward updates if these inputs have a gradient; the others do not change."""
        arrays = inputs[: len(inputs) - self.draws - len(self.objects)]
        # tracked as in this backward: which states change depends on where gradients flow
        types = tuple([(i.shape, i.dtype, t) for i, t in zip(arrays, tracked, strict=False)])

        def build() -> _StateGraph:
            # the leaves of the differentiated graph, if it is still known: then its nodes are known, too
            like = (known[: len(types)] for t in list[_Typed](self._typed.values()) if _types_of(known := t.inputs)[: len(types)] == types)
            leaves = next(like, None) or [leaf(("in", k), *of) for k, of in enumerate(types)]
            graph = self._graph_on(leaves)
            return _StateGraph(leaves, [h.of(graph) for h in self._hidden], new_states(graph.passed))

        found = self._state_graphs.get_or((types, TABLES.generation), build)
        at = dict(zip(found.inputs, arrays, strict=True)) | dict(zip(found.hidden, out[len(out) - len(self._hidden) :], strict=True))
        new = dict(zip(found.states, substitute(list(found.states.values()), at), strict=True))
        return {f"x{k}": new.get(k, inputs[k]) for k in self._states}


@dataclass(eq=False)
class _StateGraph(CacheEntry):
    """New values of states, by input, as a graph over typed inputs and hidden outputs."""

    inputs: Sequence[Node]
    hidden: Sequence[Node]
    states: dict[int, Node]


def _read_by_updates(graph: TypedGraph) -> list[_Hidden]:
    """The inner values that updates of states read. Inputs of the graph need not become outputs."""
    found: dict[Node, _Hidden] = {}
    for number, update in enumerate(graph.updates):
        # all values that an update could read; `topological` then says which operations it does
        own = [(False, k, o) for k, o in enumerate(update.operands) if o is not None]
        own += [(True, k, r) for k, r in enumerate(update.results)]
        new = new_states([update])
        read = {i for n in topological(new.values(), until={node for *_, node in own}) for i in n.inputs} | set(new.values())
        for is_result, k, node in own:
            if node in read and node not in graph.inputs:
                # a value that several updates read is one hidden output
                found.setdefault(node, _Hidden(number, is_result, k))
    return list(found.values())


class _Typed(CacheEntry):
    """The outputs of a graph, and their gradients, for typed inputs.

    Attributes
    ----------
    inputs, heads
        Leaves: the inputs, and a head gradient for each output.
    outputs
        The outputs, as applications of operators.
    opened
        The outputs with operators replaced by their definitions where backward reads values inside these, so that forward saves
        them. The others stay whole, because their own gradient rules count in gradients of gradients too.
    """

    def __init__(self, outputs: list[Node], inputs: Sequence[Node], regions: Sequence[Region]) -> None:
        self.inputs, self.outputs = inputs, outputs
        # what is differentiated: the same nodes where nothing is computed again
        self._differentiated, self._originals = with_copies(outputs, regions) if regions else (outputs, {})
        self.heads = [leaf(("head", k), o.shape, o.dtype) for k, o in enumerate(outputs)]
        below = topological(dict.fromkeys([*outputs, *self._differentiated]), until=set(inputs))
        inner = [n for n in below if isinstance(n, Application) and n.body]
        self._shares = frozenset(n.bound_op.op for n in inner if not n.bound_op.op.ignores_head and cache_of(n).positions)
        self._boundaries = [p for n in inner for p in n.parts]
        self._gradients: dict[tuple[int, ...], tuple[list[int], list[Node]]] = {}
        self.opened = self._open(outputs)

    def gradients(self, given: tuple[int, ...]) -> tuple[list[int], list[Node]]:
        """Positions of the inputs that have a gradient, and these gradients, if the outputs at these positions have head gradients."""
        found = self._gradients.get(given)
        if found is None:
            has_losses = starts_below(self.outputs, self.inputs)  # they have gradients even below outputs without a head gradient
            ends = [k for k, o in enumerate(self.outputs) if k in given or (has_losses and o.tracked)]
            heads = [self.heads[k] if k in given else None for k in ends]
            by_node = accumulate([self._differentiated[k] for k in ends], heads, stop=self.inputs)
            places = [k for k, i in enumerate(self.inputs) if i.tracked and i in by_node]
            gradients = substitute([by_node[self.inputs[k]] for k in places], self._originals)
            found = self._gradients[given] = places, self._open(gradients)
        return found

    def _open(self, nodes: Sequence[Node]) -> list[Node]:
        """Nodes of the graph, or of its gradient, with these operators replaced."""
        if not self._shares:
            return list(nodes)
        return lower(nodes, self._boundaries, lambda op: op is not item and op not in self._shares)


def is_recorded(cells: Iterable[Cell]) -> bool:
    """Whether an operation on these arrays would be recorded now."""
    return tls.tape is not None and any(is_tracked(c._content) for c in cells)


def _with_signature(rule: Callable[..., Result], names: Iterable[str]) -> Callable[..., Result]:
    """The rule with a signature that names all inputs: `graph.gradient` passes the inputs that a signature names."""

    def named(xp: object, dout: object, *inputs: object) -> Result:
        return rule(xp, dout, *inputs)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    named.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in ("xp", "dout", *names)])  # type: ignore[attr-defined]
    return named
