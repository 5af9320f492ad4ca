"""Control flow, whose bodies are read once for each time that they run: numbers of iterations must be known while reading."""

import numpy as np

from ..op_reader import reads, unsupported
from ..values import Graph, Tensor
from .functions import NP, slice_at

#: How many times a body may be read.
_MOST_ITERATIONS = 4096


@reads
def If(graph, cond, *, then_branch, else_branch):
    """The results of one body; of both, chosen by element, if the condition is not known while reading."""
    if cond.array is not None:
        return graph.body(then_branch if cond.array.ravel()[:1].any() else else_branch, ())
    # a symbol has no branches: both bodies are computed, and results are chosen by value, so they must be of one type
    both = [graph.body(branch, ()) for branch in (then_branch, else_branch)]
    if any(a.shape is None or a.shape != b.shape or a.dtype != b.dtype for a, b in zip(*both, strict=True)):
        raise unsupported(graph, "the two bodies have results of different types, and the condition is not constant", cond.name)
    chosen = NP.reshape(cond.np, ())
    return [NP.where(chosen, a.np, b.np) for a, b in zip(*both, strict=True)]


def _is_true(graph: Graph, condition: Tensor | None) -> bool:
    if condition is not None and condition.array is None:
        raise unsupported(graph, "a loop whose condition is computed is not supported", condition.name)
    return condition is None or condition.array is None or bool(condition.array.ravel()[:1].any())


@reads
def Loop(graph, M, cond, *initial, body):
    """A body that is repeated a known number of times."""
    # without a number of iterations the condition has to end the loop
    count = _MOST_ITERATIONS + 1 if M is None else M.integer
    states, collected = list(initial), [[] for _ in range(len(body.output) - 1 - len(initial))]
    k = 0
    while k < count and _is_true(graph, cond):
        if k == _MOST_ITERATIONS:
            raise unsupported(graph, "a loop of this many iterations is not supported", f"more than {_MOST_ITERATIONS}")
        number = graph.constant(k, "int64")
        cond, *results = graph.body(body, (number, cond or graph.constant(True), *states))
        states = results[: len(states)]
        for column, value in zip(collected, results[len(initial) :], strict=True):
            column.append(value)
        k += 1
    if not all(collected):
        raise unsupported(graph, "a loop without iterations that collects results is not supported", k)
    return [*states, *[NP.stack([t.np for t in column], axis=0) for column in collected]]


@reads
def Scan(
    graph, *arrays, body, num_scan_inputs, scan_input_axes=None, scan_input_directions=None, scan_output_axes=None,
    scan_output_directions=None,
):  # fmt: skip
    """A body that is applied to the slices of arrays in turn."""
    split = len(arrays) - num_scan_inputs
    states, scanned = list(arrays[:split]), arrays[split:]
    axes = [t.axis(a) for t, a in zip(scanned, scan_input_axes or [0] * len(scanned), strict=True)]
    steps = scanned[0].size(axes[0])
    if steps > _MOST_ITERATIONS or not steps:
        raise unsupported(graph, "a scan of this many steps is not supported", steps)
    collected: list[list[object]] = [[] for _ in range(len(body.output) - len(states))]
    for k in range(steps):
        # Direction 1 scans from the end.
        places = [steps - 1 - k if way else k for way in scan_input_directions or [0] * len(scanned)]
        slices = [_slice(graph, t, a, p) for t, a, p in zip(scanned, axes, places, strict=True)]
        results = graph.body(body, (*states, *slices))
        states = results[: len(states)]
        for column, value in zip(collected, results[len(states) :], strict=True):
            column.append(value.np)
    out = []
    for column, axis, way in zip(
        collected, scan_output_axes or [0] * len(collected), scan_output_directions or [0] * len(collected), strict=True
    ):
        out.append(NP.stack(column[::-1] if way else column, axis=axis))
    return [*states, *out]


def _slice(graph: Graph, tensor: Tensor, axis: int, place: int) -> Tensor:
    if tensor.array is not None:
        return Tensor(graph, f"{tensor.name}.{place}", array=np.take(tensor.array, place, axis))
    part = slice_at(tensor.symbol, axis, place)
    return graph.computed(f"{tensor.name}.{place}", part, tensor.roots)
