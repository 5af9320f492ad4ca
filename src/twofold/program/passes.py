"""The passes: rewritings of a program's graph, in order, as rows of one table.

Every pass keeps the results bit for bit, but for the order of sums of planes (`graph.planes`). With the setting ``verify`` (on in the
tests) the graph's invariants are checked after each pass that changed something, and an error names the pass.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from ..backend.kernel import ArrayType
from ..backend.protocol import Target
from ..config import SETTINGS
from ..graph.build import definition_of
from ..graph.channels_last import with_channels_last
from ..graph.ir import Application, Leaf, Node, operators_of
from ..graph.planes import sum_rows_of_planes
from ..graph.rewrite import by_rule, lower, simplify
from ..graph.row_columns import keep_columns
from ..graph.rows import compare_places, narrow_gathers, take_scattered_sums
from ..graph.slices import move_slices
from ..graph.trailing_axes import reduce_as_rows
from ..graph.verify import verify
from ..opdef import Op
from ..ops.primitive_convolve import convolve, convolve_data, convolve_weight
from ..ops.primitive_gather import index_add, take_along_axis
from ..ops.primitive_reduce import max, min, sum
from ..ops.primitive_shape import contiguous, reshape, slice
from ..ops.primitive_windows import WITH_DEFINITIONS
from .constants import fold_constants
from .kernels import takes_epilogue


@dataclass
class PassContext:
    """The facts about the program, besides its graph, that passes use.

    Attributes
    ----------
    target
        The capabilities of the backend that will run it.
    big
        Whether an element-wise node, or a reduction, may be part of a kernel.
    boundaries
        Nodes whose values a caller could hold.
    folds
        Whether to fold constants.
    folded
        Set by the pass ``constants``: what is computed once, by the leaves that stand for it.
    """

    target: Target
    big: Callable[[Application], bool]
    boundaries: Collection[Node] = ()
    folds: bool = False
    folded: dict[Leaf, Node] = field(default_factory=dict)


@dataclass(frozen=True)
class Pass:
    """One pass.

    Attributes
    ----------
    name, purpose
        For reports and documentation; the purpose in one line.
    rule
        Returns the new outputs for the old ones.
    concerns
        The pass is skipped for a graph without any of these operators; if empty, it is never skipped.
    is_wanted
        Whether the target and the settings call for it.
    """

    name: str
    purpose: str
    rule: Callable[[list[Node], PassContext], list[Node]]
    concerns: frozenset[Op] = frozenset()
    is_wanted: Callable[[PassContext], bool] = lambda context: True


def _fold_constants(outputs: list[Node], context: PassContext) -> list[Node]:
    outputs, context.folded = fold_constants(outputs)
    return outputs


def _gain_of_channels_last(target: Target, n: Application) -> float | None:
    inputs = [ArrayType(i.shape, i.dtype) for i in n.operands]
    return target.gain_of_channels_last(n.bound_op.op.name, n.bound_op.params, inputs)


def replace_by_definitions(outputs: Sequence[Node], target: Target) -> list[Node]:
    """A lowered graph without the primitives that have a definition, but for those that the target computes (`Target.computes`)."""

    def replaced(n: Application) -> Node:
        # the adapter is asked by names and types, as everywhere: it knows no nodes
        if target.computes(n.bound_op.op.name, n.bound_op.params, [ArrayType(i.shape, i.dtype) for i in n.operands]):
            return n
        return lower([definition_of(n)])[0]

    return by_rule(outputs, replaced, WITH_DEFINITIONS)


PASSES: tuple[Pass, ...] = (
    Pass("lower", "composites are replaced by their definitions, down to primitives", lambda o, c: lower(o, c.boundaries)),
    Pass(
        "definitions",
        "primitives that the backend has no code for are replaced by others",
        lambda o, c: replace_by_definitions(o, c.target),
        concerns=WITH_DEFINITIONS,
    ),
    Pass("simplify", "algebra that is exact in floating point", lambda o, c: simplify(o)),
    Pass(
        "channels last",
        "images keep their channels last between convolutions whose algorithm wants that",
        lambda o, c: with_channels_last(o, partial(_gain_of_channels_last, c.target)),
        concerns=frozenset({convolve, convolve_data, convolve_weight}),
        is_wanted=lambda c: SETTINGS.channels_last,
    ),
    Pass(
        "scattered sums",
        "the sum of a row of zeros into which one element was scattered is that element",
        lambda o, c: take_scattered_sums(o),
        concerns=frozenset({index_add}),
    ),
    Pass(
        "row results as columns",
        "reductions over the last axis keep it where their results are read as columns",
        lambda o, c: keep_columns(o),
        concerns=frozenset({reshape}),
        is_wanted=lambda c: c.target.row_reductions,
    ),
    Pass(
        "sums of planes by rows",
        "sums over several axes add up rows first, so that kernels over rows compute them together with what they add up",
        lambda o, c: sum_rows_of_planes(o, partial(takes_epilogue, c.target), *c.target.plane_sums or ()),
        concerns=frozenset({sum}),
        is_wanted=lambda c: c.target.row_reductions and c.target.plane_sums is not None,
    ),
    Pass(
        "trailing axes as rows",
        "trailing axes are reduced as rows, so that kernels over rows compute what they reduce",
        lambda o, c: reduce_as_rows(o, c.big, partial(takes_epilogue, c.target)),
        concerns=frozenset({sum, max, min}),
        is_wanted=lambda c: c.target.row_reductions and c.target.any_rows,
    ),
    Pass(
        "places by comparison",
        "one element of each row is gathered and scattered by comparing places, so that kernels over rows take it in",
        lambda o, c: compare_places(o),
        concerns=frozenset({take_along_axis, index_add}),
        is_wanted=lambda c: c.target.row_reductions and c.target.whole_rows,
    ),
    Pass(
        "early gathers",
        "one element of each row is gathered before what is computed element by element",
        lambda o, c: narrow_gathers(o, c.big),
        concerns=frozenset({take_along_axis}),
        is_wanted=lambda c: c.target.row_reductions and not c.target.whole_rows,
    ),
    Pass(
        "early slices",
        "slices are taken before element-wise operations, and views that only kernels read are not copied",
        lambda o, c: move_slices(o, c.big),
        concerns=frozenset({slice, contiguous}),
        is_wanted=lambda c: c.target.strided_kernels,
    ),
    Pass("constants", "what depends on no input is computed once", _fold_constants, is_wanted=lambda c: c.folds),
)


def lowered(outputs: Sequence[Node], leaves: Sequence[Node], context: PassContext) -> tuple[list[Node], tuple[str, ...]]:
    """Run the first pass; returns the graph of primitives, and the pass's name if it changed the graph."""
    return _run(PASSES[:1], outputs, leaves, context)


def run_passes(outputs: Sequence[Node], leaves: Sequence[Node], context: PassContext) -> tuple[list[Node], tuple[str, ...]]:
    """Run the passes after the first; returns the graph, and the names of the passes that changed it.

    Raises
    ------
    InternalError
        Naming the pass and the invariant, if the setting ``verify`` is on and a pass broke one.
    """
    return _run(PASSES[1:], outputs, leaves, context)


def _run(rows: Sequence[Pass], outputs: Sequence[Node], leaves: Sequence[Node], context: PassContext) -> tuple[list[Node], tuple[str, ...]]:
    found, changed = list(outputs), list[str]()
    operators: set[Op] | None = None  # computed when a pass needs them, and again after a pass that changed the graph
    for row in rows:
        if not row.is_wanted(context):
            continue
        if row.concerns:
            operators = operators_of(found) if operators is None else operators
            if operators.isdisjoint(row.concerns):
                continue
        before, found = found, row.rule(found, context)
        if found != before:
            changed.append(row.name)
            operators = None
        # the first pass makes the lowered graph that the invariants are about, so check it even if nothing changed
        if SETTINGS.verify and (found != before or row is PASSES[0]):
            verify(found, [*leaves, *context.folded], row.name)
    return found, tuple(changed)
