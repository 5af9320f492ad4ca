"""Replays a symbol's nodes as typed nodes: shapes, dtypes, the training flag and random keys fixed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..device import Device
from ..graph.build import G
from ..graph.gradient import backward_order
from ..graph.ir import Node, leaf
from .gradient import GRADIENT, expanded
from .inference import Inference
from .inference_rules import is_open
from .loops import REPLAY
from .node import Head, SymbolNode
from .typed import applied, draws


class UserObject(NamedTuple):
    """A user's object that a graph calls: made when the graph is bound to arrays, an operand when it runs.

    Attributes
    ----------
    leaf
        Stands for the object in the graph.
    make
        Makes it from the device and the arrays of its states.
    states
        Variables whose arrays it reads and writes itself.
    """

    leaf: Node
    make: Callable[[Device, Sequence[Any]], Any]
    states: tuple[SymbolNode, ...]


@dataclass
class Replay:
    """Typed nodes of a graph, or of a part of one.

    Attributes
    ----------
    values
        Every visible output seen so far; to begin with, those that come from elsewhere (variables as leaves).
    keys
        Leaves for random keys, in the order of the draws.
    written
        State variable to its new value, for operators that change states when they run.
    moving
        The nodes that change states when backward runs, each with all its results; see `moved`.
    objects
        Users' objects, in the order of their nodes.
    """

    inference: Inference
    training: bool
    values: dict[Head, Node]
    keys: list[Node] = field(default_factory=list)
    written: dict[SymbolNode, Node] = field(default_factory=dict)
    moving: dict[SymbolNode, Sequence[Node]] = field(default_factory=dict)
    objects: list[UserObject] = field(default_factory=list)

    def run(self, nodes: Iterable[SymbolNode]) -> "Replay":
        """Apply nodes in order."""
        for node in nodes:
            if not node.is_variable:
                arrays = [self.values[h] for h in node.inputs]
                expand = EXPANDERS.get(node.op_name)
                results = self._apply(node, arrays) if expand is None else expand(self, node, arrays)
                self.values |= {Head(node, k): part for k, part in enumerate(results)}
        return self

    def _apply(self, node: SymbolNode, arrays: Sequence[Node]) -> Sequence[Node]:
        key = leaf(("key", len(self.keys)), (6,), "uint64") if draws(node) else None
        if key is not None:
            self.keys.append(key)
        replaced = {"shape": self.inference.known[node][0].shape} if is_open(node) else {}
        sig = node.sig(self.training, **replaced)
        parts = applied(node, sig, arrays, key)
        changed = dict(zip(sig.op.mutates, parts[len(parts) - len(sig.op.mutates) :], strict=True))
        for name, new in changed.items():
            self._write(node, name, new)
        if sig.op.backward_rule is not None and self.training:
            self.moving[node] = parts
        return parts[: node.visible]

    def moved(self, order: Iterable[SymbolNode]) -> dict[SymbolNode, Node]:
        """New values of the states that nodes change when backward runs.

        Parameters
        ----------
        order
            The nodes that backward passes through, in its order: each reads what those before it have written.
        """
        current: dict[SymbolNode, Node] = {}
        for node in [n for n in order if n in self.moving]:
            sig = node.sig(self.training)
            arrays = [current.get(h.node, self.values[h]) for h in node.inputs]
            operands = node.operands(arrays)
            new = sig.op.moved(G, self.moving[node], operands, sig.params, [o is not None and o.tracked for o in operands])
            current |= {self._state(node, name): value for name, value in new.items()}
        return current

    def user_object(self, make: Callable[[Device, Sequence[Any]], Any], states: Sequence[SymbolNode]) -> Node:
        """The leaf of a new user's object; see `UserObject`."""
        new = UserObject(leaf(("object", len(self.objects)), (), "object"), make, tuple(states))
        self.objects.append(new)
        return new.leaf

    def _state(self, node: SymbolNode, name: str) -> SymbolNode:
        return node.inputs[node.input_names.index(name)].node

    def _write(self, node: SymbolNode, name: str, new: Node) -> None:
        """A state's new value, which later nodes read."""
        state = self._state(node, name)
        self.written[state] = self.values[Head(state, 0)] = new


def passed_by_gradient(heads: Iterable[Head], values: Mapping[Head, Node]) -> list[SymbolNode]:
    """The nodes that a gradient of outputs passes through, in the order of `graph.gradient.backward_order`, given their values."""
    inner = [h.node for h in heads if values[h].tracked]
    return backward_order(inner, lambda n: [h.node for h in n.inputs if values[h].tracked])


#: Operators that are no function of arrays, by registered name.
EXPANDERS: dict[str, Callable[[Replay, SymbolNode, Sequence[Node]], Sequence[Node]]] = {
    GRADIENT: lambda replay, node, arrays: expanded(node, arrays),
    **REPLAY,
}
