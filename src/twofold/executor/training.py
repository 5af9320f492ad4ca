"""Forward and backward of a graph as two programs, and the residuals that forward saves for backward.

The residuals are chosen by `graph.residuals`, here for the whole graph, lowered and simplified.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..backend.loader import backend_for
from ..collector import RESTING
from ..config import recomputes
from ..device import Device
from ..graph.build import G
from ..graph.gradient import gradient
from ..graph.ir import Node, leaf, topological
from ..graph.residuals import may_be_saved, residuals, values_inside
from ..graph.rewrite import as_operator, lower, simplify, substitute
from ..opdef import BoundOp
from ..program.cache import program_of
from ..program.compile import Program
from ..program.passes import replace_by_definitions
from ..program.profiling import Title

#: What a backward program assumes about a head gradient: 0 for all zeros, 1 for all ones, None for any array.
HeadKind = float | None

FORWARD, BACKWARD = Title("forward", symbolic=True), Title("backward", symbolic=True)


@dataclass(frozen=True)
class FunctionGraph:
    """The computations of forward and backward of a graph. Nodes are interned, so equal graphs compare equal.

    Attributes
    ----------
    leaves
        Inputs, random keys and users' objects. Backward computes the gradients of those that are tracked.
    outputs, written
        What forward computes: the outputs, and new values of states.
    updates
        New values of states that backward computes.
    mirrored
        Results (True) and operands (False) of operations, by name, that backward recomputes: none of their values is saved.
    runs_user_code
        Whether there are users' objects among the leaves.
    """

    leaves: tuple[Node, ...]
    outputs: tuple[Node, ...]
    written: tuple[Node, ...] = ()
    updates: tuple[Node, ...] = ()
    mirrored: tuple[tuple[tuple[str, bool], Node], ...] = ()
    runs_user_code: bool = False


class Training:
    """Forward that saves residuals, and backward: each as a program, and as an operator that may join a window.

    Attributes
    ----------
    joins
        Whether they may join the device's window, where an optimizer's update follows them: one program for the whole step. Excludes
        programs that run user code or recompute values of forward.
    largest
        Elements of the largest array: small graphs do not join (see `imperative.dispatch.joins_window`).
    heads
        Positions of the outputs that take a head gradient.
    wanted
        Positions of the leaves whose gradients are computed.
    reads
        Positions of the leaves that backward reads.
    saved
        Positions of the residuals among forward's results.
    shared
        The saved residuals that callers hold too, as outputs or written states.
    """

    @RESTING
    def __init__(self, graph: FunctionGraph, device: Device) -> None:
        made = graph.outputs
        self._device = device
        self.heads = [k for k, n in enumerate(made) if n.tracked]
        self.wanted = [k for k, n in enumerate(graph.leaves) if n.tracked] if self.heads else []
        self._seeds = [leaf(("head", k), made[k].shape, made[k].dtype) for k in self.heads]
        # head gradients are leaves here; `_backward_for` puts constants in their place where a caller gives none
        grads = gradient([made[k] for k in self.heads], self._seeds, [graph.leaves[k] for k in self.wanted]) if self.heads else []
        first = [*made, *graph.written]
        marks = [n for _, n in graph.mirrored]
        # lowered and simplified together: a value that both directions compute becomes one node, and so a residual
        whole = lower([*marks, *first, *grads, *graph.updates])
        low = simplify(replace_by_definitions(whole, backend_for(device).target))
        low, marked = low[len(marks) :], low[: len(marks)]
        forward, backward = low[: len(first)], low[len(first) :]
        mirrored = _inside([name for name, _ in graph.mirrored], marked)
        held = [n for n in forward if may_be_saved(n)] if recomputes() else []  # the caller holds them anyway
        saved = residuals(values_inside(forward), backward, held, again=mirrored, recompute=recomputes())
        # a residual that is an output anyway is not returned twice
        given = set(forward)
        results = forward + [n for n in saved if n not in given]
        number = {n: k for k, n in reversed(list(enumerate(results)))}  # the first place of a result that occurs twice
        self.saved = [number[n] for n in saved]
        self.shared = [k for k in self.saved if k < len(forward)]
        self._results, self._leaves = results, graph.leaves
        # in a window, users' code would run only when a result is read, and forward's values would exist, so that nothing is recomputed
        self.joins = not (graph.runs_user_code or graph.mirrored or recomputes())
        self.largest = max((n.size for n in [*results, *self._leaves]), default=0)
        stand_ins = [leaf(("saved", k), n.shape, n.dtype) for k, n in enumerate(saved)]
        self._graph = substitute(backward, dict(zip(saved, stand_ins, strict=True)))
        used = set(topological(self._graph))
        self.reads = [k for k, n in enumerate(graph.leaves) if n in used]
        self._given = [graph.leaves[k] for k in self.reads] + stand_ins
        # The backward program may write into these. It must not write into outputs and states, which the caller holds.
        self._own = [s for s, k in zip(stand_ins, self.saved, strict=True) if k >= len(forward)]  # these have no other holder
        self._backward: dict[tuple[HeadKind, ...], Program] = {}
        self._backward_ops: dict[tuple[HeadKind, ...], BoundOp] = {}

    @cached_property
    def forward(self) -> Program:
        """Computes the outputs, the states written, then the residuals."""
        return program_of(self._results, self._leaves, backend_for(self._device), title=FORWARD, device=self._device)

    @cached_property
    def forward_op(self) -> BoundOp:
        """`forward` as an operator."""
        return as_operator("forward", self._results, self._leaves)

    def _backward_for(self, kinds: tuple[HeadKind, ...]) -> tuple[list[Node], list[Node]]:
        """The backward graph for head gradients of these kinds, and its leaves."""
        known: dict[Node, Node] = {}
        for seed, kind in zip(self._seeds, kinds, strict=True):
            if kind is not None:  # a constant head simplifies the gradient: zeros remove branches, ones a product
                known[seed] = G.full(shape=seed.shape, value=kind, dtype=seed.dtype)
        return substitute(self._graph, known), [*self._given, *[s for s in self._seeds if s not in known]]

    def backward(self, kinds: tuple[HeadKind, ...]) -> Program:
        """The backward program for head gradients of these kinds.

        It computes the gradients of `wanted`, then the states' updates. It takes the leaves in `reads`, the residuals, and the head
        gradients of kind None.
        """
        found = self._backward.get(kinds)
        if found is None:
            graph, given = self._backward_for(kinds)
            backend = backend_for(self._device)
            found = self._backward[kinds] = program_of(graph, given, backend, donated=self._own, title=BACKWARD, device=self._device)
        return found

    def backward_op(self, kinds: tuple[HeadKind, ...]) -> BoundOp:
        """`backward` as an operator."""
        found = self._backward_ops.get(kinds)
        if found is None:
            found = self._backward_ops[kinds] = as_operator("backward", *self._backward_for(kinds))
        return found


def _inside(names: Sequence[tuple[str, bool]], marked: Sequence[Node]) -> set[Node]:
    """The lowered nodes between the operands and the results of the mirrored operations."""
    ends: dict[str, tuple[list[Node], set[Node]]] = {}
    for (name, is_result), node in zip(names, marked, strict=True):
        results, operands = ends.setdefault(name, ([], set()))
        if is_result:
            results.append(node)
        else:
            operands.add(node)
    return {n for results, operands in ends.values() for n in topological(results, until=operands)}
