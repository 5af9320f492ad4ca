"""From a graph to its plan: the passes and `plan.plan_of`, or what an earlier process has stored for an equal graph."""

from collections.abc import Callable, Collection, Sequence

from ..backend.kernel import Array
from ..backend.protocol import Backend
from ..config import SETTINGS
from ..graph.fuse import Big
from ..graph.ir import Node
from ..graph.verify import verify
from . import stored_plans
from .control_flow import SubProgram
from .passes import PassContext, lowered, run_passes
from .plan import ProgramPlan, calls_of, plan_of
from .stored_plans import StoredPlan


def planned(
    outputs: Sequence[Node],
    leaves: list[Node],
    backend: Backend,
    context: PassContext,
    *,
    compute: Callable[[list[Node]], list[Array]],
    compile_: SubProgram,
    big: Big,
    donated: Collection[Node] = (),
    in_place: bool = True,
    share: bool = True,
) -> tuple[ProgramPlan, tuple[str, ...]]:
    """Plan a program; returns the plan and the names of the passes that changed the graph.

    Parameters
    ----------
    outputs, leaves, backend, context
        The graph, what it is planned for, and the facts for passes.
    compute
        Computes the arrays of nodes that depend on no leaf.
    compile_
        Compiles the sub-graphs of loops.
    big, donated, in_place, share
        As of `Program`.
    """
    low, first = lowered(outputs, leaves, context)
    # in place of the function for ``big``: the settings and the target that it asks
    dead = set(donated)
    options = [[k for k, n in enumerate(leaves) if n in dead], big if isinstance(big, int) else None, in_place, share, context.folds]
    key = stored_plans.key_of(low, leaves, backend.target, options)
    if key is not None:
        stored = stored_plans.load(key, leaves)
        found = None if stored is None else _plan_of(stored, leaves, backend, compute, compile_)
        if stored is not None and found is not None:
            stored_plans.Counts.loaded += 1
            return found, stored.passes
    graph, later = run_passes(low, leaves, context)
    constants = dict(zip(context.folded, compute(list(context.folded.values())) if context.folded else (), strict=True))
    plan = plan_of(graph, leaves, constants, backend, compile_, big=big, donated=donated, in_place=in_place, share=share)
    if key is not None:
        stored_plans.Counts.planned += 1
        stored = StoredPlan(graph, (*first, *later), context.folded, plan.steps, plan.memory, plan.reshaped)
        stored_plans.store(key, stored, leaves)
    return plan, (*first, *later)


def _plan_of(
    stored: StoredPlan, leaves: list[Node], backend: Backend, compute: Callable[[list[Node]], list[Array]], compile_: SubProgram
) -> ProgramPlan | None:
    """The plan of what was stored; None if the backend's calls are not those that it was made for."""
    calls = calls_of(stored.steps, backend, compile_)
    place = stored.memory.place
    for n, call in calls.items():
        if not n.bound_op.op.view and (n not in place or (place[n].kind == "fresh") is call.into):
            return None
    constants = dict(zip(stored.folded, compute(list(stored.folded.values())) if stored.folded else (), strict=True))
    if SETTINGS.verify:
        verify(stored.outputs, [*leaves, *constants], "stored plan")
    return ProgramPlan(stored.outputs, leaves, constants, stored.steps, calls, stored.memory, stored.reshaped)
