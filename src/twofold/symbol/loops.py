"""Inference and replay of control-flow nodes: subgraphs are typed separately, then form one typed node of `graph.control_flow`."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from ..errors import ParameterError, ShapeError
from ..graph.build import G
from ..graph.control_flow import SubGraph, apply_foreach
from ..graph.ir import Node, leaf
from ..opdef.params import UNREADABLE, literal
from .inference import inferred_inside
from .node import SPECIAL_NODES, Head, Replaying, SpecialNode, SymbolNode, topological
from .partial_types import PartialType


class Loop(NamedTuple):
    """The attributes of a loop.

    Attributes
    ----------
    outputs
        Number of results that are outputs of the steps; the others are states.
    states, streams
        Positions of the node's inputs that are states, and of those that are sliced.
    places
        For each subgraph and each of its arguments, the position of the node's input.
    """

    outputs: int
    states: list[int]
    streams: list[int]
    places: list[list[int]]


class _ControlFlow(SpecialNode):
    """The base of loops and branches: bodies as sub-graphs, whose arguments are inputs of the node."""

    def __init__(self, name: str, bodies: int) -> None:
        self.name, self.bodies = name, bodies

    def check(self, node: SymbolNode) -> int:
        """The number of outputs of a node whose attributes name the inputs of its bodies.

        Raises
        ------
        ParameterError
            If a body or an attribute is missing, or an attribute is not a list of numbers or has a position that does not exist.
        """
        if len(node.subgraphs) != self.bodies:
            raise ParameterError(f"{self.name}: number of subgraphs", f"{len(node.subgraphs)}", f"it has {self.bodies}")
        try:
            count, places = self.places(node)
        except (*UNREADABLE, KeyError, IndexError) as error:
            raise ParameterError(
                f"{self.name}: an attribute is missing, or is not a number or a list: {error}", None, "write the file again"
            ) from None
        fit = all(
            len(_arguments(b)) == len(p) and all(0 <= k < len(node.inputs) for k in p) for b, p in zip(node.subgraphs, places, strict=True)
        )
        # Where there are several bodies, the first is the test of a loop or the predicate of a branch, with one output.
        if not fit or len(node.subgraphs[-1]) != count or count < 1 or (len(places) > 1 and len(node.subgraphs[0]) != 1):
            raise ParameterError(f"{self.name}: its attributes do not match its bodies", str(dict(node.attrs)), "write the file again")
        return count

    @abstractmethod
    def places(self, node: SymbolNode) -> tuple[int, list[list[int]]]:
        """The number of outputs, and for each body the inputs that it reads.

        Raises
        ------
        ValueError
            If the attributes do not fit one another.
        """


class _LoopNode(_ControlFlow):
    """A loop: its last body runs once for each step."""

    @abstractmethod
    def loop(self, node: SymbolNode) -> Loop:
        """The attributes, parsed."""

    @abstractmethod
    def steps(self, node: SymbolNode, loop: Loop, inputs: Sequence[PartialType]) -> int | None:
        """The size of axis 0 of the outputs, if it is known."""

    def places(self, node: SymbolNode) -> tuple[int, list[list[int]]]:
        """See `_ControlFlow.places`."""
        loop = self.loop(node)
        count = int(node.attrs["num_outputs"])
        if not 0 <= loop.outputs <= count or len(loop.states) != count - loop.outputs:
            raise ValueError("num_outputs, num_out_data and the data do not match")
        if not all(0 <= k < len(node.inputs) for k in (*loop.streams, *loop.states)):
            raise ValueError("an input that is not there")
        return count, loop.places

    def infer(self, node: SymbolNode, inputs: Sequence[PartialType], outputs: Sequence[PartialType]) -> None:
        """Learn shapes from the body, both ways."""
        loop = self.loop(node)
        heads, places = node.subgraphs[-1], loop.places[-1]
        found = inferred_inside(heads, [_row(inputs[k]) if k in loop.streams else inputs[k] for k in places])
        steps = self.steps(node, loop, inputs)
        for variable, k in zip(_arguments(heads), places, strict=True):
            known, outside = found.known[variable][0], inputs[k].shape
            shape = known.shape
            if k in loop.streams and shape is not None:
                # The row of a 1-d stream has shape (1,) (`_row`), so it says nothing about the shape of the stream.
                shape = None if outside is None or len(outside) == 1 else (steps, *shape)
            inputs[k].learn_shape(shape, f"input {k}")
            inputs[k].learn_dtype(known.dtype, f"input {k}")
        for k, head in enumerate(heads):
            known = found.of(head)
            stacked = k < loop.outputs
            if known.shape is not None:
                outputs[k].learn_shape((steps, *known.shape) if stacked else known.shape, f"output {k}")
            outputs[k].learn_dtype(known.dtype, f"output {k}")
            if not stacked:
                # A state keeps its shape from step to step.
                inputs[loop.states[k - loop.outputs]].learn_shape(known.shape, f"state {k - loop.outputs}")

    def typed_body(self, replay: Replaying, node: SymbolNode, which: int, leaves: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        """A body's outputs for typed inputs of the node, and the leaves for its random keys."""
        return _body(replay, node, which, [leaves[k] for k in self.loop(node).places[which]])


class _Foreach(_LoopNode):
    """A loop over axis 0 of arrays."""

    def loop(self, node: SymbolNode) -> Loop:
        """The attributes, parsed: among the inputs streams come first, then states."""
        outputs, states = _counts(node)
        at = _ints(node, "in_data_locs"), _ints(node, "in_state_locs"), _ints(node, "remain_locs")
        streams = len(at[0])
        # The attributes give each input's position among the body's arguments, -1 for an input that the body does not read.
        number = {place: k for k, place in enumerate([*at[0], *at[1], *at[2]]) if place >= 0}
        places = [number[k] for k in range(len(_arguments(node.subgraphs[0])))]
        return Loop(outputs, list(range(streams, streams + states)), list(range(streams)), [places])

    def places(self, node: SymbolNode) -> tuple[int, list[list[int]]]:
        """See `_ControlFlow.places`."""
        if not self.loop(node).streams:
            raise ValueError("nothing is looped over")
        return super().places(node)

    def steps(self, node: SymbolNode, loop: Loop, inputs: Sequence[PartialType]) -> int | None:
        """The length of a stream."""
        shapes = [inputs[k].shape for k in loop.streams]
        return next((shape[0] for shape in shapes if shape), None)

    def replay(self, replay: Replaying, node: SymbolNode, arrays: Sequence[Node]) -> tuple[Node, ...]:
        """The typed loop; each step draws with its own counter."""
        loop = self.loop(node)
        # MXNet's arrays have at least one axis: a step sees an element of a vector as an array of shape (1,)
        arrays = [G.expand_dims(a, 1) if k in loop.streams and len(a.shape) == 1 else a for k, a in enumerate(arrays)]
        # the body is replayed over separate leaves, never over nodes of the surrounding graph: equal bodies are then equal graphs
        rows = [leaf(("row", k), a.shape[1:], a.dtype, a.tracked) if k in loop.streams else a for k, a in enumerate(arrays)]
        inside = [rows[k] if k in loop.streams else n for k, n in enumerate(_inner(arrays, "foreach"))]
        outputs, keys = self.typed_body(replay, node, 0, inside)
        body, own = _renamed(outputs, keys)
        outputs = body.call(own)
        steps = arrays[loop.streams[0]].shape[0]
        # The fourth word of a random key is the number of a stream (see `imperative.generator`). Adding the step's number to it gives every
        # step different random numbers from a single key of the run, so keys are arrays that the loop slices.
        counters = G.pad(G.reshape(G.iota(size=steps, dtype="uint64"), shape=(steps, 1)), width=((0, 0), (3, 2)))
        # the order is that of `graph.control_flow.foreach`: streams, states, then the inputs of all steps
        streams = [arrays[k] for k in loop.streams] + [counters + key for key in _fresh_keys(replay, len(keys))]
        states = [arrays[k] for k in loop.states]
        rest = [k for k in range(len(arrays)) if k not in loop.streams and k not in loop.states]
        leaves = [*(inside[k] for k in loop.streams), *own, *(inside[k] for k in loop.states), *(inside[k] for k in rest)]
        typed = SubGraph.of(outputs, [*leaves, *_objects(replay)], "foreach")
        return apply_foreach(typed, streams, states, [*(arrays[k] for k in rest), *_objects(replay)])[: len(outputs)]


class _WhileLoop(_LoopNode):
    """A loop with a test. Its stacked results have one row for each step of the maximum number."""

    def loop(self, node: SymbolNode) -> Loop:
        """The attributes, parsed: a `while_loop` slices no input."""
        outputs, _ = _counts(node)
        func = _ints(node, "func_input_locs")
        # For each loop variable its position among the arguments of `func`, -1 if `func` does not read it. The first inputs are these.
        states = [func[p] if p >= 0 else k for k, p in enumerate(_ints(node, "func_var_locs"))]
        return Loop(outputs, states, [], [_ints(node, "cond_input_locs"), func])

    def places(self, node: SymbolNode) -> tuple[int, list[list[int]]]:
        """See `_ControlFlow.places`."""
        found = super().places(node)
        limit = _limit(node)
        if limit is None and found[0] > len(self.loop(node).states):
            raise ValueError("max_iterations is missing, and the steps have outputs")
        if limit is not None and limit < 0:
            raise ValueError("max_iterations is negative")
        return found

    def steps(self, node: SymbolNode, loop: Loop, inputs: Sequence[PartialType]) -> int | None:
        """The maximum number of steps."""
        return _limit(node)

    def replay(self, replay: Replaying, node: SymbolNode, arrays: Sequence[Node]) -> tuple[Node, ...]:
        """The typed loop with a test; random keys are loop variables that count up."""
        loop = self.loop(node)
        inside = _inner(arrays, "while")
        (holds,), _ = self.typed_body(replay, node, 0, inside)
        if holds.size != 1:
            raise ShapeError("while_loop: the condition has one element", f"shape {holds.shape}", "reduce it, as by sum()")
        outputs, keys = self.typed_body(replay, node, 1, inside)
        body, own = _renamed(outputs, keys)
        outputs = body.call(own)
        # as in `_Foreach.replay`, but nothing is sliced here: the keys are loop variables, whose fourth word goes up by one in each step
        one = G.pad(G.full(shape=(1,), value=1, dtype="uint64"), width=((3, 2),))
        rest = [k for k in range(len(arrays)) if k not in loop.states]
        leaves = [*(inside[k] for k in loop.states), *own, *(inside[k] for k in rest), *_objects(replay)]
        step = SubGraph.of([*outputs, *(key + one for key in own)], leaves, "while")
        test = SubGraph.of([holds], leaves, "while test")
        variables = [arrays[k] for k in loop.states] + _fresh_keys(replay, len(keys))
        closure = [*(arrays[k] for k in rest), *_objects(replay)]
        # test and body take the same leaves, so that the program can call both with the same operands
        found = G.while_loop(*variables, *closure, test=test, body=step, variables=len(variables), limit=_limit(node))
        return (found if isinstance(found, tuple) else (found,))[: len(outputs)]


class _Cond(_ControlFlow):
    """A branch: a predicate and two bodies; one of them runs."""

    def places(self, node: SymbolNode) -> tuple[int, list[list[int]]]:
        """See `_ControlFlow.places`."""
        places = [_ints(node, name) for name in ("cond_input_locs", "then_input_locs", "else_input_locs")]
        if len(node.subgraphs[1]) != len(node.subgraphs[2]):
            raise ValueError("the branches differ in their number of outputs")
        return len(node.subgraphs[1]), places

    def infer(self, node: SymbolNode, inputs: Sequence[PartialType], outputs: Sequence[PartialType]) -> None:
        """Learn shapes from both branches."""
        _, bodies = self.places(node)
        for which, (heads, places) in enumerate(zip(node.subgraphs, bodies, strict=True)):
            found = inferred_inside(heads, [inputs[k] for k in places])
            for variable, k in zip(_arguments(heads), places, strict=True):
                inputs[k].learn_shape(found.known[variable][0].shape, f"input {k}")
                inputs[k].learn_dtype(found.known[variable][0].dtype, f"input {k}")
            for k, head in enumerate(heads if which else ()):  # the first is the predicate
                outputs[k].learn_shape(found.of(head).shape, f"output {k}")
                outputs[k].learn_dtype(found.of(head).dtype, f"output {k}")

    def replay(self, replay: Replaying, node: SymbolNode, arrays: Sequence[Node]) -> tuple[Node, ...]:
        """The typed branch: the predicate beside it, both branches over all inputs."""
        _, (predicate_places, *branches) = self.places(node)
        inside = _inner(arrays, "cond")
        # The predicate is computed outside, by the graph around the branch: it is an operand of `cond`. Only the two branches are
        # sub-graphs, and both take all inputs, whether they read them or not.
        predicate = _body(replay, node, 0, [arrays[k] for k in predicate_places])[0][0]
        if predicate.size != 1:
            raise ShapeError("cond: the predicate has one element", f"shape {predicate.shape}", "reduce it, as by sum()")
        parts: list[tuple[list[Node], list[Node]]] = []
        # a branch that draws fewer numbers ignores the last keys
        outside: list[Node] = []  # both branches draw with the same keys, since only one of them runs
        for which, places in enumerate(branches, 1):
            outputs, keys = _body(replay, node, which, [inside[k] for k in places])
            body, own = _renamed(outputs, keys)
            parts.append((body.call(own), own))
            outside += _fresh_keys(replay, max(len(keys) - len(outside), 0))
        own = [leaf(("body key", k), (6,), "uint64") for k in range(len(outside))]
        objects = _objects(replay)
        then, otherwise = (SubGraph.of(outputs, [*inside, *own, *objects], "cond") for outputs, _ in parts)
        found = G.cond(G.reshape(predicate, shape=()), *arrays, *outside, *objects, then=then, otherwise=otherwise)
        return found if isinstance(found, tuple) else (found,)


def _ints(node: SymbolNode, name: str) -> list[int]:
    return [int(k) for k in literal(node.attrs[name])]


def _limit(node: SymbolNode) -> int | None:
    """The maximum number of steps; None for a loop without one."""
    limit = literal(node.attrs["max_iterations"])
    return None if limit is None else int(limit)


def _counts(node: SymbolNode) -> tuple[int, int]:
    """The number of outputs of the steps, and of states."""
    outputs = int(node.attrs["num_out_data"])
    return outputs, int(node.attrs["num_outputs"]) - outputs


def _arguments(heads: Sequence[Head]) -> list[SymbolNode]:
    return [n for n in topological(heads) if n.is_variable]


def _row(known: PartialType) -> PartialType:
    """One slice of a stream: at least one axis, as MXNet's arrays have."""
    return PartialType(None if known.shape is None else known.shape[1:] or (1,), known.dtype)


def _body(replay: Replaying, node: SymbolNode, which: int, given: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """A sub-graph's outputs for typed arguments, and the leaves for its random keys.

    Raises
    ------
    ParameterError
        If an operator in its body updates a state, or has a result whose shape depends on values.
    """
    eager = [n.name for n in topological(node.subgraphs[which]) if n.is_eager]
    if eager:
        raise ParameterError(
            f"symbol: node {node.name}: in its body the shape of a result depends on values",
            ", ".join(eager),
            "write it with shapes that are known, as a product with a mask, or run it on arrays without hybridizing",
        )
    outputs, keys, states = replay.inside(node.subgraphs[which], given)
    if states:
        raise ParameterError(
            f"symbol: node {node.name}: an operator in its body updates a state",
            ", ".join(n.name for n in states),
            "keep operators such as BatchNorm in training mode outside loops and branches",
        )
    return outputs, keys


def _inner(arrays: Sequence[Node], name: str) -> list[Node]:
    return [leaf((name, k), a.shape, a.dtype, a.tracked) for k, a in enumerate(arrays)]


def _objects(replay: Replaying) -> list[Node]:
    """Leaves of users' objects, which bodies take from outside like all other values."""
    return [o.leaf for o in replay.objects]


def _fresh_keys(replay: Replaying, count: int) -> list[Node]:
    """Keys that the run supplies, one for each draw of a body."""
    keys: list[Node] = [leaf(("key", len(replay.keys) + k), (6,), "uint64") for k in range(count)]
    replay.keys.extend(keys)
    return keys


def _renamed(outputs: Sequence[Node], keys: Sequence[Node]) -> tuple[SubGraph, list[Node]]:
    own: list[Node] = [leaf(("body key", k), (6,), "uint64") for k in range(len(keys))]
    return SubGraph(tuple(keys), tuple(outputs)), own


for _kind in (_Foreach("_foreach", 1), _WhileLoop("_while_loop", 2), _Cond("_cond", 3)):
    SPECIAL_NODES[_kind.name] = _kind
