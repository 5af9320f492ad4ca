"""A traced graph in one training mode as an unregistered operator: its rule replays the symbol's nodes.

The operator's gradient is that of its definition. States that change when backward runs, such as moving averages, follow from
hidden outputs: the few inner values that their rules read.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..graph.build import G, item
from ..graph.gradient import accumulate
from ..graph.ir import TABLES, Application, Node, applies, leaf, topological
from ..graph.rewrite import lower, substitute
from ..graph.stabilise import stabilise
from ..imperative.residuals import plan_of
from ..opdef.spec import Input, Op
from ..symbol.inference import Inference
from ..symbol.inference_rules import is_open
from ..symbol.node import Head, SymbolNode
from ..symbol.replay import Replay, passed_by_gradient

__all__ = ["GraphOperator"]

#: For how many combinations of types a graph's nodes are remembered.
REMEMBERED = 8


class _Update(NamedTuple):
    """A node that changes states when backward runs: what its rule reads, as inputs of the graph or as hidden outputs.

    Attributes
    ----------
    node
        The node.
    results
        How many results it has.
    parts, operands
        Result or operand of the node to place: a number from 0 is a hidden output, one below a variable's (-1 the first).
    states
        Operand's name to variable's number.
    """

    node: SymbolNode
    results: int
    parts: dict[int, int]
    operands: dict[int, int]
    states: dict[str, int]


class GraphOperator:
    """A graph in one training mode, as an operator.

    Parameters
    ----------
    name
        What messages call it.
    heads, order, variables
        The outputs, all nodes in order, and those that are variables: the operator's inputs.
    types
        Shapes and dtypes of the inputs at the first call.
    training
        The training mode.
    mirror
        Whether backward computes most of what is inside again, instead of keeping it from forward (see `graph.recompute`).

    Attributes
    ----------
    sig
        The operator: of the variables, the random keys and users' objects; it gives the outputs, then the states written, then
        the hidden outputs.
    draws, objects
        Number of random keys; users' objects, to be made for each call.
    written
        Numbers of the variables that forward writes.
    """

    def __init__(
        self,
        name: str,
        heads: Sequence[Head],
        order: Sequence[SymbolNode],
        variables: Sequence[SymbolNode],
        types: Sequence[tuple[tuple[int, ...], str]],
        training: bool,
        mirror: bool,
    ) -> None:
        self._name, self._heads, self._order, self._variables = name, heads, order, variables
        self._training = training
        self._typed: dict[Any, _Typed] = {}
        self._open = any(not n.is_variable and n.op is not None and is_open(n) for n in self._order)
        number = {n: k for k, n in enumerate(self._variables)}
        replay = self._replay([leaf(("in", k), *t) for k, t in enumerate(types)])
        self.draws, self.objects = len(replay.keys), replay.objects
        self.written = [number[n] for n in replay.written]
        self._hidden: list[tuple[SymbolNode, int]] = []
        self._updates = {n: self._update(replay, n, number) for n in replay.moving}
        self._passed: dict[tuple[bool, ...], list[tuple[_Update, list[bool]]]] = {}
        self.sig = self._operator(number, mirror).sig()

    def _operator(self, number: Mapping[SymbolNode, int], mirror: bool) -> Op:
        moved = {k for u in self._updates.values() for k in u.states.values()}
        count = len(self._heads)
        total = count + len(self.written) + len(self._hidden)
        inputs = [Input(f"x{k}", auxiliary=k in moved) for k in range(len(number))] + [Input(f"key{k}") for k in range(self.draws)]
        inputs += [Input(f"object{k}") for k in range(len(self.objects))]
        mirror = mirror and not any(o.states for o in self.objects)  # user code that changes states runs once
        return Op(
            f"graph {self._name}",
            self._rule,
            inputs=tuple(inputs),
            outputs=total,
            visible=count,
            recompute=mirror,
            dynamic_shape=bool(self.objects),
            grad_rule=_with_signature(self._gradients, [i.name for i in inputs]),
            backward_rule=self._moved if moved else None,
        )

    # the graph as nodes

    def _replay(self, inputs: Sequence[Node]) -> Replay:
        named = {n.name: i for n, i in zip(self._variables, inputs, strict=False)}
        inference = Inference(self._heads, {k: i.shape for k, i in named.items()}, {k: i.dtype for k, i in named.items()})
        if self._open:
            inference.run()
        return Replay(inference, self._training, {Head(n, 0): i for n, i in zip(self._variables, inputs, strict=False)}).run(self._order)

    def _outputs(self, inputs: tuple[Node, ...]) -> "_Typed":
        """Outputs, states written and hidden outputs for typed inputs."""
        key = inputs, TABLES.generation
        typed = self._typed.get(key)  # what a gradient refers to is asked for again and again
        if typed is None:
            replay = self._replay(inputs)
            nodes = [replay.values[h] for h in self._heads] + list(replay.written.values())
            nodes += [_parts(replay, n)[k] for n, k in self._hidden]
            if replay.keys or replay.objects:
                others = [*replay.keys, *(o.leaf for o in replay.objects)]
                nodes = substitute(nodes, dict(zip(others, inputs[len(self._variables) :], strict=True)))
            if len(self._typed) >= REMEMBERED:
                self._typed.clear()
            typed = self._typed[key] = _Typed(stabilise(nodes), inputs)
        return typed

    def _rule(self, xp: Any, *inputs: Node) -> list[Node]:
        return self._outputs(inputs).opened

    def _gradients(self, xp: Any, dout: Any, *inputs: Node) -> list[Node | None]:
        """Gradients of the inputs."""
        typed = self._outputs(inputs)
        douts = dout if isinstance(dout, tuple) else (dout,)
        pairs = [(o, d) for o, d in zip(typed.outputs, douts, strict=True) if d is not None and o.tracked]
        found = accumulate([o for o, _ in pairs], [d for _, d in pairs], stop=list(dict.fromkeys(inputs)))
        places = [k for k, i in enumerate(inputs) if i.tracked and i in found]
        opened = dict(zip(places, typed.open([found[inputs[k]] for k in places]), strict=True))
        return [opened.get(k) for k in range(len(inputs))]

    # states that change when backward runs

    def _update(self, replay: Replay, node: SymbolNode, number: Mapping[SymbolNode, int]) -> _Update:
        """Find what a node's rule reads; what is no variable becomes a hidden output."""
        sig = node.sig(self._training)
        parts, operands = _parts(replay, node), node.operands([replay.values[h] for h in node.inputs])
        heads = node.operands(node.inputs)
        new = sig.op.moved(G, parts, operands, sig.params, [o is not None and o.tracked for o in operands])
        ends = {*parts, *(o for o in operands if o is not None)}
        seen = {i for n in topological(new.values(), until=ends) for i in n.inputs} | set(new.values())
        read: dict[int, int] = {}
        for k, operand in enumerate(operands):
            if operand in seen and operand not in parts:
                owner = heads[k].node
                read[k] = -1 - number[owner] if owner in number else self._hide(owner, heads[k].place)
        names = [i.name for i in sig.op.inputs if not i.injected]
        states = {name: number[heads[names.index(name)].node] for name in new}
        return _Update(node, len(parts), {k: self._hide(node, k) for k, p in enumerate(parts) if p in seen}, read, states)

    def _hide(self, node: SymbolNode, part: int) -> int:
        if (node, part) not in self._hidden:
            self._hidden.append((node, part))
        return self._hidden.index((node, part))

    def _passed_by(self, inputs: Sequence[Any], tracked: Sequence[bool]) -> list[tuple[_Update, list[bool]]]:
        """The updates of the nodes that backward passes through if these inputs want a gradient, in its order.

        Each comes with whether the node's operands have a gradient.
        """
        key = tuple(tracked)
        found = self._passed.get(key)
        if found is None:
            leaves = [leaf(("in", k), i.shape, i.dtype, t) for k, (i, t) in enumerate(zip(inputs, tracked, strict=True))]
            values = self._replay(leaves).values
            found = self._passed[key] = []
            for node in passed_by_gradient(self._heads, values):
                if node in self._updates:
                    operands = node.operands([values[h].tracked for h in node.inputs])
                    found.append((self._updates[node], [bool(o) for o in operands]))
        return found

    def _moved(self, xp: Any, out: Sequence[Any], *inputs: Any, tracked: Sequence[bool]) -> dict[str, Any]:
        """New values of the states: each node that backward passes through reads what those before it have written."""
        hidden = out[len(out) - len(self._hidden) :]
        current = dict(enumerate(inputs))
        for update, passed in self._passed_by(inputs, tracked):
            sig = update.node.sig(self._training)
            count = len([i for i in sig.op.inputs if not i.injected])
            parts = [hidden[update.parts[k]] if k in update.parts else None for k in range(update.results)]
            operands: list[Any] = [None] * count
            for k, place in update.operands.items():
                operands[k] = hidden[place] if place >= 0 else current[-1 - place]
            new = sig.op.moved(xp, parts, operands, sig.params, passed)
            current |= {update.states[name]: value for name, value in new.items()}
        return {f"x{k}": current[k] for u in self._updates.values() for k in u.states.values()}


class _Typed:
    """The outputs of a graph for typed inputs.

    Attributes
    ----------
    outputs
        The outputs, as applications of operators.
    opened
        The same with those operators replaced by their definitions whose inner values backward reads, so that these are kept
        from forward. The others stay whole: their own gradients count in gradients of gradients, too.
    """

    def __init__(self, outputs: list[Node], inputs: Sequence[Node]) -> None:
        self.outputs = outputs
        inner = [n for n in topological(outputs, until=set(inputs)) if isinstance(n, Application) and n.body]
        self._shares = frozenset(n.sig.op for n in inner if not n.sig.op.ignores_head and plan_of(n).positions)
        self._boundaries = [p for n in inner for p in n.parts]
        self.opened = self.open(outputs)

    def open(self, nodes: Sequence[Node]) -> list[Node]:
        """Nodes of the graph, or of its gradient, with these operators replaced."""
        if not self._shares:
            return list(nodes)
        return lower(nodes, self._boundaries, lambda op: op is not item and op not in self._shares)


def _parts(replay: Replay, node: SymbolNode) -> tuple[Node, ...]:
    """All results of a node, hidden ones included."""
    first = replay.values[Head(node, 0)]
    owner = first.operands[0] if applies(first, item) else first
    return owner.parts


def _with_signature(rule: Callable[..., Any], names: Iterable[str]) -> Callable[..., Any]:
    """A gradient rule that asks for all inputs by name."""

    def named(xp: Any, dout: Any, *inputs: Any) -> Any:
        return rule(xp, dout, *inputs)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    named.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in ("xp", "dout", *names)])  # type: ignore[attr-defined]
    return named
