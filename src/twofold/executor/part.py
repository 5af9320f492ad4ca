"""What one device does of a bound graph: typed nodes from what it reads to what it makes, compiled when first run.

A graph on one device is one part. Forward in training also returns what backward needs; which values these are is found by a cut
through the gradient graph: what forward computes and backward reads, except for views, which are made again from their base.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..backend.loader import backend_for
from ..config import SETTINGS, recomputes
from ..device import Device
from ..graph.build import G, item
from ..graph.gradient import gradient
from ..graph.ir import Application, Node, leaf, topological
from ..graph.recompute import checkpoints
from ..graph.rewrite import lower, simplify, substitute
from ..opdef.spec import Sig, unregistered
from ..program.compile import Program
from ..program.profiled import Title

#: A value that parts exchange: ("arg", name), ("aux", name) or ("value", number).
Key = tuple[str, Any]

#: What is known of a head gradient when a backward program is chosen: that it is all zeros or all ones; None for any array.
HeadKind = float | None

FORWARD, BACKWARD = Title("forward", symbolic=True), Title("backward", symbolic=True)


@dataclass(frozen=True)
class Internal:
    """A value inside a part, for monitors: its name, and whether it is read (rather than made) by the node that it is named after."""

    name: str
    node: Node
    is_input: bool


@dataclass(frozen=True)
class UserCode:
    """A user's object in a part: its leaf, what makes it from the device and the arrays of its states, the states by name."""

    leaf: Node
    make: Callable[[Device, Sequence[Any]], Any]
    states: Sequence[str]


@dataclass(eq=False)
class Part:
    """A piece of a bound graph on one device.

    Attributes
    ----------
    device
        Where it runs.
    reads
        What it reads, each with its leaf; those whose leaf is tracked want their gradient.
    keys
        Leaves for random keys.
    objects
        Users' objects, made once for each executor.
    makes
        What others read of it.
    written, updates
        New values of auxiliary states by name: written when forward runs, and when backward runs.
    mirrored
        Results (True) and operands (False) of symbol nodes, by their names, whose values backward computes again: nothing is kept.
    internals
        Values for monitors.
    stabilised
        How many formulas were rewritten because they overflow.
    is_ahead
        Whether the host goes on while it runs: not where it is all of a graph, and on the host's own device.
    """

    device: Device
    reads: list[tuple[Key, Node]]
    keys: list[Node]
    makes: list[tuple[Key, Node]]
    objects: list[UserCode] = field(default_factory=list)
    written: list[tuple[str, Node]] = field(default_factory=list)
    updates: list[tuple[str, Node]] = field(default_factory=list)
    mirrored: list[tuple[tuple[str, bool], Node]] = field(default_factory=list)
    internals: list[Internal] = field(default_factory=list)
    stabilised: int = 0
    is_ahead: bool = False

    @property
    def leaves(self) -> list[Node]:
        """Leaves of what is read, then those for random keys, then those for users' objects."""
        return [node for _, node in self.reads] + self.keys + [o.leaf for o in self.objects]

    @cached_property
    def inference(self) -> Program:
        """Computes what is made, then the states written."""
        return Program(
            [*_nodes(self.makes), *_nodes(self.written)], self.leaves, backend_for(self.device), title=FORWARD, device=self.device
        )

    @cached_property
    def training(self) -> "Training":
        """The programs of a training step."""
        return Training(self)

    @cached_property
    def inner(self) -> Program:
        """Computes the internals."""
        return Program([i.node for i in self.internals], self.leaves, backend_for(self.device), title=FORWARD, device=self.device)


class Training:
    """Forward that keeps what backward needs, and backward: each as a program, and as an operator that may join a window.

    Attributes
    ----------
    joins
        Whether they join the device's window, where an optimizer's update follows them: one program for the whole step. Not small
        graphs, nor what runs user code or computes again what forward knows.
    heads
        Positions in the part's ``makes`` that a head gradient is for.
    wanted
        What is read and wants its gradient.
    reads
        Positions among the part's leaves of those that backward reads.
    kept
        Where among forward's results what is kept stands.
    """

    def __init__(self, part: Part) -> None:
        made = _nodes(part.makes)
        self._device = part.device
        self.heads = [k for k, n in enumerate(made) if n.tracked]
        self.wanted = [key for key, n in part.reads if n.tracked] if self.heads else []
        self._seeds = [leaf(("head", k), made[k].shape, made[k].dtype) for k in self.heads]
        wrt = [n for _, n in part.reads if n.tracked]
        grads = gradient([made[k] for k in self.heads], self._seeds, wrt) if self.heads else []
        first = [*made, *_nodes(part.written)]
        marks = _nodes(part.mirrored)
        low = simplify(lower([*marks, *first, *grads, *_nodes(part.updates)]))
        low, marked = low[len(marks) :], low[: len(marks)]
        forward, backward = low[: len(first)], low[len(first) :]
        residuals = cut(forward, backward, _inside(part, marked))
        if recomputes():
            computed = topological(forward)
            read = set(residuals)
            keep = {*forward, *checkpoints([n for n in computed if n in read])}
            residuals = cut(forward, backward, set(computed) - keep)
        given = set(forward)
        results = forward + [n for n in residuals if n not in given]
        number = {n: k for k, n in reversed(list(enumerate(results)))}
        self.kept = [number[n] for n in residuals]
        self._results, self._leaves = results, part.leaves
        again = part.objects or part.mirrored or recomputes()
        self.joins = not again and max((n.size for n in [*results, *self._leaves]), default=0) >= SETTINGS.defer_elements
        stand_ins = [leaf(("kept", k), n.shape, n.dtype) for k, n in enumerate(residuals)]
        self._graph = substitute(backward, dict(zip(residuals, stand_ins, strict=True)))
        used = set(topological(self._graph))
        self.reads = [k for k, n in enumerate(part.leaves) if n in used]
        self._given = [part.leaves[k] for k in self.reads] + stand_ins
        self._own = [s for s, k in zip(stand_ins, self.kept, strict=True) if k >= len(forward)]  # those that nobody else holds
        self._backward: dict[tuple[HeadKind, ...], Program] = {}
        self._backward_sigs: dict[tuple[HeadKind, ...], Sig] = {}

    @cached_property
    def forward(self) -> Program:
        """Computes what the part makes, the states written, then what is kept."""
        return Program(self._results, self._leaves, backend_for(self._device), title=FORWARD, device=self._device)

    @cached_property
    def forward_sig(self) -> Sig:
        """`forward` as an operator."""
        return _operator("forward", self._results, self._leaves)

    def _backward_for(self, kinds: tuple[HeadKind, ...]) -> tuple[list[Node], list[Node]]:
        """The graph of backward for head gradients of these kinds, and its leaves."""
        given = zip(self._seeds, kinds, strict=True)
        known: dict[Node, Node] = {s: G.full(shape=s.shape, value=k, dtype=s.dtype) for s, k in given if k is not None}
        return substitute(self._graph, known), [*self._given, *[s for s in self._seeds if s not in known]]

    def backward(self, kinds: tuple[HeadKind, ...]) -> Program:
        """The program of backward for head gradients of these kinds.

        It computes the gradients of `wanted`, then the states' updates, from the leaves in `reads`, what was kept, and the head
        gradients of kind None.
        """
        found = self._backward.get(kinds)
        if found is None:
            graph, given = self._backward_for(kinds)
            backend = backend_for(self._device)
            found = self._backward[kinds] = Program(graph, given, backend, donated=self._own, title=BACKWARD, device=self._device)
        return found

    def backward_sig(self, kinds: tuple[HeadKind, ...]) -> Sig:
        """`backward` as an operator."""
        found = self._backward_sigs.get(kinds)
        if found is None:
            found = self._backward_sigs[kinds] = _operator("backward", *self._backward_for(kinds))
        return found


def _operator(name: str, outputs: Sequence[Node], leaves: Sequence[Node]) -> Sig:
    """A graph as an operator that the package makes for itself."""

    def rule(xp: Any, *inputs: Node) -> list[Node]:
        return substitute(outputs, dict(zip(leaves, inputs, strict=True)))

    return unregistered(name, rule, len(leaves), len(outputs))


def _inside(part: Part, marked: Sequence[Node]) -> set[Node]:
    """The lowered nodes between the operands and the results of the mirrored symbol nodes."""
    ends: dict[str, tuple[list[Node], set[Node]]] = {}
    for ((name, is_result), _), node in zip(part.mirrored, marked, strict=True):
        results, operands = ends.setdefault(name, ([], set()))
        if is_result:
            results.append(node)
        else:
            operands.add(node)
    return {n for results, operands in ends.values() for n in topological(results, until=operands)}


def cut(forward: Sequence[Node], backward: Iterable[Node], again: Collection[Node] = ()) -> list[Node]:
    """The values of a lowered forward graph that a lowered backward graph reads.

    Views, constants and the nodes in ``again`` are computed again, from what is below them.
    """
    inside = set(topological(forward))
    found: list[Node] = []
    seen: set[Node] = set()
    stack = list(backward)[::-1]
    while stack:
        node = stack.pop()
        if node in seen or not isinstance(node, Application):
            continue
        seen.add(node)
        computed = node in inside or (node.sig.op is item and node.operands[0] in inside)
        if computed and node.inputs and not node.sig.op.view and node not in again:
            found.append(node)
        else:
            stack.extend(i for i in reversed(node.inputs) if i is not None)
    return found


def _nodes(pairs: Iterable[tuple[Any, Node]]) -> list[Node]:
    return [node for _, node in pairs]
