"""A graph some of whose inputs have not changed for some calls, such as the parameters of a network that predicts.

What is computed from them alone is computed once: the scales of normalizations, weights cast to another dtype or packed. Further calls give
the program their other inputs, and need only look whether the fixed arrays still have the same contents. Their memory is not written in
place meanwhile: a write gives an array a new content, as one does to an array that a tape has saved.
"""

from collections.abc import Sequence
from functools import partial
from operator import is_
from typing import Any

from ..backend import workers
from ..device import CPU
from ..dtype import NAME_OF
from ..graph.image_groups import in_groups_of_images
from ..graph.ir import Node, leaf, topological
from ..graph.rewrite import lower
from ..graph.tables import TABLES
from ..imperative.array import Array
from ..imperative.cell import HOST, PINS, PLAIN, Cell, Content, Value, content_of
from ..imperative.concurrent_writes import wait_for_writers
from ..imperative.counters import COUNTERS
from ..imperative.failure import host_results
from ..imperative.guards import runs_inline
from ..imperative.invoke import contents_of
from ..imperative.storage import is_sparse_array
from ..program.cache import program_of
from ..program.constants import fold_constants, with_packed_weights
from ..program.kernels import panel_width, treats_images_alike
from ..program.profiling import Title
from .operation import Operation


def hold(arrays: Sequence[Array]) -> None:
    """Have dense arrays hold values. A call later they may be fixed: writes in plain memory that had begun have ended by then."""
    for array in arrays:
        if not is_sparse_array(array):
            array._capture()


def fixed_inputs(operation: Operation, arrays: Sequence[Array], fixed: Sequence[int]) -> "FixedInputs | None":
    """A graph on arrays, of which those at some positions are fixed.

    None if these are views or not held, or if their memory may be changed from outside or is not the host's; and if the graph draws random
    numbers, writes states, or has large results, which may wait for operations that follow.
    """
    if operation.draws or operation.objects or operation.written:
        return None
    inputs = [leaf(("in", k), a.shape, a._dtype) for k, a in enumerate(arrays)]
    return fixed_leaves(operation.bound_op.op.name, operation.outputs_for(inputs), inputs, arrays, fixed)


def fixed_leaves(
    name: str, outputs: Sequence[Node], inputs: Sequence[Node], arrays: Sequence[Cell], fixed: Sequence[int]
) -> "FixedInputs | None":
    """A typed graph on arrays, of which those at some positions are fixed; None as for `fixed_inputs`."""
    contents = [arrays[k]._held for k in fixed]
    if any(map(_may_change, contents)) or not all(runs_inline(o.size) for o in outputs):
        return None
    return FixedInputs(name, outputs, inputs, [(k, arrays[k], c) for k, c in zip(fixed, contents, strict=True)])


class FixedInputs:
    """Computes a graph of arrays of the host, as long as the fixed ones do not change.

    Parameters
    ----------
    name
        The graph's name.
    outputs, inputs
        The typed graph.
    fixed
        The position of each fixed input, its array and that one's content.
    """

    def __init__(self, name: str, outputs: Sequence[Node], inputs: Sequence[Node], fixed: Sequence[tuple[int, Cell, Value]]) -> None:
        self._pins, self._generation = -1, TABLES.generation
        self._cells, self._contents = [cell for _, cell, _ in fixed], [content for *_, content in fixed]
        self._held = [v.shown() for v in self._contents]
        wait_for_writers(*self._contents)  # no write in place begins any more, but one may have begun before
        leaves = {inputs[k]: v.data for k, _, v in fixed}
        others = [n for n in inputs if n not in leaves]
        self._types = [(n.shape, n.dtype) for n in others]
        graph, folded = fold_constants(with_packed_weights(lower(outputs), leaves, partial(panel_width, HOST.target)), leaves)
        below = set(topological(graph))
        read = [n for n in leaves if n in below]
        computed: list[Any] = []
        if folded:
            once = program_of(list(folded.values()), list(leaves), HOST, title=Title(name))
            computed = once.run(list(leaves.values()))
            once.drop_scratch()  # it may be as large as the weights
        graph = in_groups_of_images(graph, others, partial(treats_images_alike, HOST.target), workers.count())
        program = program_of(graph, [*others, *read, *folded], HOST, title=Title(name))
        self._arrays = [*(leaves[n] for n in read), *computed]
        self._run, self._function = program.run, program.run.args[0]

    def is_current(self) -> bool:
        """Whether the fixed arrays have not changed."""
        pins = PINS.count  # read first: an export by another thread meanwhile is looked for again
        if pins != self._pins:
            if any(v.pinned for v in self._contents):
                return False
            self._pins = pins
        return all(map(is_, [c._held for c in self._cells], self._contents)) and self._generation == TABLES.generation

    def __call__(self, inputs: Sequence[Cell]) -> list[Content] | None:
        """The outputs for the other inputs; None for those of other types, or that are not computed yet."""
        arrays: list[Any] = []
        for cell, (shape, dtype) in zip(inputs, self._types, strict=True):
            content = content_of(cell)
            array = content.data if content.__class__ is Value else content
            if array.__class__ is not PLAIN or array.shape != shape or NAME_OF[array.dtype] != dtype:
                return None
            arrays.append(array)
        arrays += self._arrays
        COUNTERS.inline += 1
        return contents_of(host_results(self._function, self._run, arrays), CPU)


def _may_change(v: object) -> bool:
    """Whether a content is not held as a value, is not computed yet, or is not in memory of the host that is only written by arrays."""
    return not isinstance(v, Value) or v.data.__class__ is not PLAIN or not v.device.is_host or v.pinned
