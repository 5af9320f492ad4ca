"""Inference and replay of control-flow nodes: sub-graphs typed on their own, then one typed node of `graph.control_flow`."""

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError
from ..graph.build import G
from ..graph.control_flow import SubGraph, apply_foreach
from ..graph.ir import Node, leaf
from ..opdef.params import UNREADABLE
from .inference import Inference
from .inference_rules import SPECIAL
from .node import SPECIAL_NODES, Head, Special, SymbolNode, topological
from .partial_types import PartialType

if TYPE_CHECKING:
    from .replay import Replay


def _ints(node: SymbolNode, name: str) -> list[int]:
    return [int(k) for k in ast.literal_eval(node.attrs[name])]


def _arguments(heads: Sequence[Head]) -> list[SymbolNode]:
    return [n for n in topological(heads) if n.is_variable]


class _Loop:
    """What a ``_foreach`` or ``_while_loop`` node's attributes say.

    Attributes
    ----------
    outputs
        How many results are outputs of the steps; the others are states.
    states, streams
        Numbers of the node's inputs that are states, and that are sliced.
    places
        For each sub-graph: for each of its arguments the number of the node's input.
    """

    def __init__(self, node: SymbolNode) -> None:
        self.outputs = int(node.attrs["num_out_data"])
        count = int(node.attrs["num_outputs"]) - self.outputs
        if node.op_name == "_foreach":
            at = _ints(node, "in_data_locs"), _ints(node, "in_state_locs"), _ints(node, "remain_locs")
            self.streams, self.states = list(range(len(at[0]))), list(range(len(at[0]), len(at[0]) + count))
            number = {place: k for k, place in enumerate([*at[0], *at[1], *at[2]]) if place >= 0}
            self.places = [[number[k] for k in range(len(_arguments(node.subgraphs[0])))]]
        else:
            func = _ints(node, "func_input_locs")
            self.streams = []
            self.states = [func[p] if p >= 0 else k for k, p in enumerate(_ints(node, "func_var_locs"))]
            self.places = [_ints(node, "cond_input_locs"), func]


def _sub_inference(heads: Sequence[Head], given: Sequence[PartialType]) -> Inference:
    names = [n.name for n in _arguments(heads)]
    shapes = {name: k.shape for name, k in zip(names, given, strict=True) if k.shape is not None}
    dtypes = {name: k.dtype for name, k in zip(names, given, strict=True) if k.dtype is not None}
    return Inference(heads, shapes, dtypes).run()


def _row(known: PartialType) -> PartialType:
    """One slice of a stream: at least one axis, as MXNet's arrays have."""
    return PartialType(None if known.shape is None else known.shape[1:] or (1,), known.dtype)


def infer_loop(node: SymbolNode, inputs: Sequence[PartialType], outputs: Sequence[PartialType]) -> None:
    """Learn a loop's shapes from its body, both ways."""
    loop = _Loop(node)
    heads, places = node.subgraphs[-1], loop.places[-1]
    found = _sub_inference(heads, [_row(inputs[k]) if k in loop.streams else inputs[k] for k in places])
    steps = next((inputs[k].shape[0] for k in loop.streams if inputs[k].shape), None)  # type: ignore[index]
    if node.op_name == "_while_loop":
        steps = int(node.attrs["max_iterations"])
    for variable, k in zip(_arguments(heads), places, strict=True):
        known = found.known[variable][0]
        shape = known.shape
        if k in loop.streams and shape is not None:
            shape = None if inputs[k].shape is None or len(inputs[k].shape) == 1 else (steps, *shape)  # type: ignore[arg-type]
        inputs[k].learn_shape(shape, f"input {k}")
        inputs[k].learn_dtype(known.dtype, f"input {k}")
    for k, head in enumerate(heads):
        known = found.of(head)
        stacked = k < loop.outputs
        if known.shape is not None:
            outputs[k].learn_shape((steps, *known.shape) if stacked else known.shape, f"output {k}")
        outputs[k].learn_dtype(known.dtype, f"output {k}")
        if not stacked:
            inputs[loop.states[k - loop.outputs]].learn_shape(known.shape, f"state {k - loop.outputs}")


def infer_cond(node: SymbolNode, inputs: Sequence[PartialType], outputs: Sequence[PartialType]) -> None:
    """Learn shapes from both branches."""
    for heads, name in zip(node.subgraphs, ("cond_input_locs", "then_input_locs", "else_input_locs"), strict=True):
        places = _ints(node, name)
        found = _sub_inference(heads, [inputs[k] for k in places])
        for variable, k in zip(_arguments(heads), places, strict=True):
            inputs[k].learn_shape(found.known[variable][0].shape, f"input {k}")
            inputs[k].learn_dtype(found.known[variable][0].dtype, f"input {k}")
        if name != "cond_input_locs":
            for k, head in enumerate(heads):
                outputs[k].learn_shape(found.of(head).shape, f"output {k}")
                outputs[k].learn_dtype(found.of(head).dtype, f"output {k}")


def _replayed(replay: "Replay", node: SymbolNode, heads: Sequence[Head], given: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """A sub-graph's outputs for typed arguments, and the leaves for its random keys; its users' objects are those of the whole."""
    inference = _sub_inference(heads, [PartialType(n.shape, n.dtype) for n in given])
    values = {Head(v, 0): n for v, n in zip(_arguments(heads), given, strict=True)}
    sub = type(replay)(inference, replay.training, values, objects=replay.objects)
    before = len(replay.objects)
    sub.run(topological(heads))
    moving = [n.inputs[k].node for n in sub.moving for k in sorted(n.written)]
    states = [*sub.written, *moving, *(s for o in replay.objects[before:] for s in o.states)]
    if states:
        raise ParameterError(
            f"symbol: node {node.name}: an operator inside changes a state",
            ", ".join(n.name for n in states),
            "keep BatchNorm in training mode and the like outside loops and branches",
        )
    return [sub.values[h] for h in heads], sub.keys


def _typed_body(replay: "Replay", node: SymbolNode, which: int, leaves: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    places = _Loop(node).places[which]
    return _replayed(replay, node, node.subgraphs[which], [leaves[k] for k in places])


def _inner(arrays: Sequence[Node], name: str) -> list[Node]:
    return [leaf((name, k), a.shape, a.dtype, a.tracked) for k, a in enumerate(arrays)]


def _objects(replay: "Replay") -> list[Node]:
    """Leaves of users' objects, which bodies take from outside like anything else."""
    return [o.leaf for o in replay.objects]


def _fresh_keys(replay: "Replay", count: int) -> list[Node]:
    """Keys that the run supplies, one for each draw of a body."""
    keys = [leaf(("key", len(replay.keys) + k), (6,), "uint64") for k in range(count)]
    replay.keys.extend(keys)
    return keys


def _renamed(outputs: Sequence[Node], keys: Sequence[Node]) -> tuple[SubGraph, list[Node]]:
    own = [leaf(("body key", k), (6,), "uint64") for k in range(len(keys))]
    return SubGraph(tuple(keys), tuple(outputs)), own


def replay_foreach(replay: "Replay", node: SymbolNode, arrays: Sequence[Node]) -> tuple[Node, ...]:
    """The typed loop over axis 0; each step draws with a counter of its own."""
    loop = _Loop(node)
    arrays = [G.expand_dims(a, 1) if k in loop.streams and len(a.shape) == 1 else a for k, a in enumerate(arrays)]
    rows = [leaf(("row", k), a.shape[1:], a.dtype, a.tracked) if k in loop.streams else a for k, a in enumerate(arrays)]
    inside = [rows[k] if k in loop.streams else n for k, n in enumerate(_inner(arrays, "foreach"))]
    outputs, keys = _typed_body(replay, node, 0, inside)
    body, own = _renamed(outputs, keys)
    outputs = body.call(own)
    steps = arrays[loop.streams[0]].shape[0]
    counters = G.pad(G.reshape(G.iota(size=steps, dtype="uint64"), shape=(steps, 1)), width=((0, 0), (3, 2)))
    streams = [arrays[k] for k in loop.streams] + [counters + key for key in _fresh_keys(replay, len(keys))]
    states = [arrays[k] for k in loop.states]
    rest = [k for k in range(len(arrays)) if k not in loop.streams and k not in loop.states]
    leaves = [*(inside[k] for k in loop.streams), *own, *(inside[k] for k in loop.states), *(inside[k] for k in rest), *_objects(replay)]
    typed = SubGraph.of(outputs, leaves, "foreach")
    return apply_foreach(typed, streams, states, [*(arrays[k] for k in rest), *_objects(replay)])[: len(outputs)]


def replay_while(replay: "Replay", node: SymbolNode, arrays: Sequence[Node]) -> tuple[Node, ...]:
    """The typed loop with a test; random keys are loop variables that count up."""
    loop = _Loop(node)
    inside = _inner(arrays, "while")
    (holds,), _ = _typed_body(replay, node, 0, inside)
    outputs, keys = _typed_body(replay, node, 1, inside)
    body, own = _renamed(outputs, keys)
    outputs = body.call(own)
    one = G.pad(G.full(shape=(1,), value=1, dtype="uint64"), width=((3, 2),))
    rest = [k for k in range(len(arrays)) if k not in loop.states]
    leaves = [*(inside[k] for k in loop.states), *own, *(inside[k] for k in rest), *_objects(replay)]
    step = SubGraph.of([*outputs, *(key + one for key in own)], leaves, "while")
    test = SubGraph.of([holds], leaves, "while test")
    variables = [arrays[k] for k in loop.states] + _fresh_keys(replay, len(keys))
    limit = int(node.attrs["max_iterations"])
    closure = [*(arrays[k] for k in rest), *_objects(replay)]
    found = G.while_loop(*variables, *closure, test=test, body=step, variables=len(variables), limit=limit)
    return found[: len(outputs)]


def replay_cond(replay: "Replay", node: SymbolNode, arrays: Sequence[Node]) -> tuple[Node, ...]:
    """The typed branch: the predicate beside it, both branches over all inputs."""
    parts: list[Any] = []
    inside = _inner(arrays, "cond")
    predicate = _replayed(replay, node, node.subgraphs[0], [arrays[k] for k in _ints(node, "cond_input_locs")])[0][0]
    keys_outside: list[Node] = []
    for which, name in ((1, "then_input_locs"), (2, "else_input_locs")):
        outputs, keys = _replayed(replay, node, node.subgraphs[which], [inside[k] for k in _ints(node, name)])
        body, own = _renamed(outputs, keys)
        parts.append((body.call(own), own))
        keys_outside = keys_outside or _fresh_keys(replay, max(len(keys), 0))
        keys_outside += _fresh_keys(replay, len(keys) - len(keys_outside)) if len(keys) > len(keys_outside) else []
    own = [leaf(("body key", k), (6,), "uint64") for k in range(len(keys_outside))]
    objects = _objects(replay)
    then, otherwise = (SubGraph.of(outputs, [*inside, *own, *objects], "cond") for outputs, _ in parts)
    found = G.cond(G.reshape(predicate, shape=()), *arrays, *keys_outside, *objects, then=then, otherwise=otherwise)
    return found if isinstance(found, tuple) else (found,)


BODIES = {"_foreach": 1, "_while_loop": 2, "_cond": 3}


def check_loop(node: SymbolNode) -> int:
    """The number of outputs of a loop or branch whose attributes say what its bodies read.

    Raises
    ------
    ParameterError
        If it has not its bodies, or an attribute is missing, is no list of numbers or points nowhere.
    """
    if len(node.subgraphs) != BODIES[node.op_name]:
        raise ParameterError(f"{node.op_name}: number of subgraphs", f"{len(node.subgraphs)}", f"it has {BODIES[node.op_name]}")
    try:
        count, places = _cond_places(node) if node.op_name == "_cond" else _loop_places(node)
    except (*UNREADABLE, KeyError, IndexError) as error:
        raise ParameterError(f"{node.op_name}: an attribute is missing or no number or list", str(error), "write the file anew") from None
    fit = all(
        len(_arguments(b)) == len(p) and all(0 <= k < len(node.inputs) for k in p) for b, p in zip(node.subgraphs, places, strict=True)
    )
    if not fit or len(node.subgraphs[-1]) != count or count < 1 or (len(places) > 1 and len(node.subgraphs[0]) != 1):
        raise ParameterError(f"{node.op_name}: its attributes do not fit its bodies", str(dict(node.attrs)), "write the file anew")
    return count


def _cond_places(node: SymbolNode) -> tuple[int, list[list[int]]]:
    places = [_ints(node, name) for name in ("cond_input_locs", "then_input_locs", "else_input_locs")]
    if len(node.subgraphs[1]) != len(node.subgraphs[2]):
        raise ValueError("the branches differ in their number of outputs")
    return len(node.subgraphs[1]), places


def _loop_places(node: SymbolNode) -> tuple[int, list[list[int]]]:
    """The number of outputs, and for each body the inputs that it reads."""
    loop = _Loop(node)
    count = int(node.attrs["num_outputs"])
    if not 0 <= loop.outputs <= count or len(loop.states) != count - loop.outputs or (node.op_name == "_foreach") != bool(loop.streams):
        raise ValueError("num_outputs, num_out_data and what is looped over do not fit")
    if not all(0 <= k < len(node.inputs) for k in (*loop.streams, *loop.states)):
        raise ValueError("an input that is not there")
    if node.op_name == "_while_loop" and int(node.attrs["max_iterations"]) < 0:
        raise ValueError("max_iterations is negative")
    return count, loop.places


SPECIAL_NODES |= dict.fromkeys(BODIES, Special(check_loop))
SPECIAL |= {"_foreach": infer_loop, "_while_loop": infer_loop, "_cond": infer_cond}
REPLAY = {"_foreach": replay_foreach, "_while_loop": replay_while, "_cond": replay_cond}
