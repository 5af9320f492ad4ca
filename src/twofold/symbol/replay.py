"""Replays a symbol as a typed graph: for given types of its variables and a training mode, with leaves for random keys."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..device import Device
from ..executor.function import StateUpdate, TypedGraph, UserObject
from ..graph.gradient import backward_order
from ..graph.ir import Node, leaf
from ..graph.recomputed_regions import Region
from ..graph.rewrite import substitute
from ..ndarray.array import NDArray
from . import loops  # noqa: F401  (enters the nodes of control flow)
from .application import apply_node
from .gradient import differentiated
from .inference import Inference, inferred_inside
from .inference_rules import is_open
from .node import Head, SymbolNode, UserCode, topological
from .partial_types import PartialType


@dataclass
class Replay:
    """The typed nodes of a symbol, or of some of its nodes.

    Attributes
    ----------
    values
        Outputs replayed so far, with hidden ones, which only monitors read. Initially those from outside: leaves for variables.
    keys
        Leaves for random keys, in the order of the draws.
    written
        New values of state variables that operators write when they run.
    moving
        Nodes that change states when backward runs, with all their results.
    objects
        Users' objects, in the order of their nodes.
    """

    inference: Inference
    training: bool
    values: dict[Head, Node]
    keys: list[Node] = field(default_factory=list)
    written: dict[SymbolNode, Node] = field(default_factory=dict)
    moving: dict[SymbolNode, Sequence[Node]] = field(default_factory=dict)
    objects: list[UserCode] = field(default_factory=list)

    def run(self, nodes: Iterable[SymbolNode]) -> "Replay":
        """Apply nodes in order."""
        for node in nodes:
            if not node.is_variable:
                arrays = [self.values[h] for h in node.inputs]
                self.values |= {Head(node, k): part for k, part in enumerate(self.apply(node, arrays))}
        return self

    def apply(self, node: SymbolNode, arrays: Sequence[Node]) -> Sequence[Node]:
        """Apply a node to typed inputs. Returns its outputs, with hidden ones."""
        return self._apply(node, arrays) if node.special is None else node.special.replay(self, node, arrays)

    def _apply(self, node: SymbolNode, arrays: Sequence[Node]) -> Sequence[Node]:
        # a size of 0 in the ``shape`` parameter was inferred from the readers of the result
        replaced = {"shape": self.inference.known[node][0].shape} if is_open(node) else {}
        bound_op = node.bind(self.training, **replaced)
        key = leaf(("key", len(self.keys)), (6,), "uint64") if bound_op.draws else None
        if key is not None:
            self.keys.append(key)
        parts = apply_node(node, bound_op, arrays, key)
        # The last results are the new values of states, which are no outputs of a symbol.
        changed = parts[len(parts) - len(bound_op.mutated) :]
        for place, new in zip(node.places_written(bound_op), changed, strict=True):
            self._write(node, place, new)
        if bound_op.op.backward_rule is not None and self.training:
            self.moving[node] = parts
        return parts[: node.count]

    def updates(self, number: Mapping[SymbolNode, int]) -> dict[SymbolNode, StateUpdate]:
        """The state updates of the nodes in `moving`. ``number`` gives the position of each state among the graph's inputs."""
        found = {}
        for node, results in self.moving.items():
            operands = node.operands([self.values[h] for h in node.inputs])
            named = zip(node.input_names, node.inputs, strict=True)
            states = {name: number[h.node] for name, h in named if name in node.operator.auxiliary and h.node in number}
            found[node] = StateUpdate(node.bind(self.training), results, operands, states)
        return found

    def user_objects(self, number: Mapping[SymbolNode, int]) -> list[UserObject]:
        """Users' objects. ``number`` gives the position of each state among the graph's inputs."""
        return [UserObject(o.leaf, o.make, [number[v] for v in o.states]) for o in self.objects]

    def user_object(self, make: Callable[[Device, Sequence[NDArray]], object], states: Sequence[SymbolNode]) -> Node:
        """The leaf of a new user's object; see `UserCode`."""
        new = UserCode(leaf(("object", len(self.objects)), (), "object"), make, tuple(states))
        self.objects.append(new)
        return new.leaf

    def inside(self, heads: Sequence[Head], given: Sequence[Node]) -> tuple[list[Node], list[Node], list[SymbolNode]]:
        """A sub-graph for typed arguments: its outputs, leaves for its random keys, and the states that it would change.

        Its users' objects are those of the whole graph.
        """
        arguments = [n for n in topological(heads) if n.is_variable]
        inference = inferred_inside(heads, [PartialType(n.shape, n.dtype) for n in given])
        values = {Head(v, 0): n for v, n in zip(arguments, given, strict=True)}
        # separate keys, which the loop replaces by one key per step; users' objects are created once per run, outside the loop
        sub = Replay(inference, self.training, values, objects=self.objects)
        before = len(self.objects)
        sub.run(topological(heads))
        moving = [n.inputs[k].node for n in sub.moving for k in sorted(n.written)]
        states = [*sub.written, *moving, *(s for o in self.objects[before:] for s in o.states)]
        return [sub.values[h] for h in heads], sub.keys, states

    def _write(self, node: SymbolNode, place: int, new: Node) -> None:
        """Note a state's new value; later nodes read it."""
        state = node.inputs[place].node
        self.written[state] = self.values[Head(state, 0)] = new


class Replayer:
    """The typed graphs of a symbol: a function of typed inputs, one for each variable, and of a training mode.

    Attributes
    ----------
    heads, order, variables
        The outputs, all nodes in topological order, and the variables among them.
    """

    def __init__(self, heads: Iterable[Head]) -> None:
        self.heads = tuple(heads)
        self.order = topological(self.heads)
        self.variables = [n for n in self.order if n.is_variable]
        self._number = {n: k for k, n in enumerate(self.variables)}
        self._differentiated = differentiated(self.order)
        self._open = any(n.op is not None and is_open(n) for n in self.order)
        self._regions = _recomputed(self.order, self.heads)

    def __call__(self, inputs: Sequence[Node], training: bool) -> TypedGraph:
        """The typed graph for inputs and a training mode."""
        shapes = {n.name: i.shape for n, i in zip(self.variables, inputs, strict=True)}
        inference = Inference(self.heads, shapes, {n.name: i.dtype for n, i in zip(self.variables, inputs, strict=True)})
        # with typed inputs the replay itself finds all shapes; only shapes that were left to the readers of a result must be inferred
        if self._open:
            inference.run()
        # `Symbol.grad` differentiates with respect to its variables even if the caller does not want their gradients
        own = {k: leaf(("wrt", k), i.shape, i.dtype, True) for k, i in enumerate(inputs) if self._wants(k) and not i.tracked}
        values = {Head(v, 0): own.get(k, inputs[k]) for k, v in enumerate(self.variables)}
        replay = Replay(inference, training, values).run(self.order)
        outputs = [replay.values[h] for h in self.heads]
        if own:
            # The stand-ins were needed only to differentiate inside the graph: now the inputs themselves take their places.
            outputs = substitute(outputs, {stand_in: inputs[k] for k, stand_in in own.items()})
        written = {self._number[n]: new for n, new in replay.written.items()}
        updates = replay.updates(self._number)
        passed = [updates[n] for n in passed_by_gradient(self.heads, replay.values) if n in updates] if updates else []
        objects = replay.user_objects(self._number)
        regions = (
            []
            if own
            else [
                Region(*[tuple([replay.values[h] for h in ends if h.node not in replay.written]) for ends in region])
                for region in self._regions
            ]
        )
        return TypedGraph(inputs, outputs, replay.keys, objects, written, list(updates.values()), passed, regions)

    def _wants(self, number: int) -> bool:
        return self.variables[number] in self._differentiated


def _recomputed(order: Sequence[SymbolNode], heads: Iterable[Head]) -> list[tuple[list[Head], list[Head]]]:
    """What goes into and comes out of each part that `func.checkpoint` has marked."""
    stages: dict[str, dict[SymbolNode, None]] = {}
    for n in order:
        if not n.is_variable and n.attrs.get("__force_mirroring__") == "True" and (stage := n.attrs.get("__mirror_stage__")):
            stages.setdefault(stage, {})[n] = None
    read_by = [(n, h) for n in order for h in n.inputs] if stages else []
    return [
        (
            list(dict.fromkeys(h for n, h in read_by if n in nodes and h.node not in nodes)),
            list(dict.fromkeys([*[h for n, h in read_by if n not in nodes and h.node in nodes], *[h for h in heads if h.node in nodes]])),
        )
        for nodes in stages.values()
    ]


def passed_by_gradient(heads: Iterable[Head], values: Mapping[Head, Node]) -> list[SymbolNode]:
    """The nodes that gradients of the outputs flow through, given the typed values, in the order of `backward_order`."""
    inner = [h.node for h in heads if values[h].tracked]
    return backward_order(inner, lambda n: [h.node for h in n.inputs if values[h].tracked])
