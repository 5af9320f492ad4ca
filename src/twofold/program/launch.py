"""Programs that an adapter captures and launches as a whole: the facts that it needs about them, and when it launches them."""

from collections.abc import Callable, Collection, Iterable, Sequence

from ..backend.kernel import ArrayType, InSteps, ProgramTraits
from ..backend.protocol import Launcher
from ..config import SETTINGS
from ..device import Device
from ..graph.build import item
from ..graph.control_flow import SubGraph
from ..graph.ir import Application, Node, applications, topological
from ..opdef import Op
from ..scheduler.observers import LISTENERS
from .control_flow import DECIDED
from .plan import ProgramPlan


def traits_of(
    plan: ProgramPlan, donated: Collection[int], dead: Collection[int], in_steps: InSteps, device: Device | None
) -> ProgramTraits:
    """The facts about a program that an adapter needs.

    Parameters
    ----------
    plan
        The program's.
    donated, dead
        Indices of the leaves that results overwrite, and of those that are dead after the program.
    in_steps, device
        As for `ProgramTraits`.
    """
    operators = _operators(plan.outputs)
    count = sum(1 if s.is_kernel else _count(s.nodes[0]) for s in plan.steps)
    return ProgramTraits(
        count,
        frozenset(donated),
        frozenset(dead),
        frozenset(op.name for op in operators),
        tuple(sorted(op.name for op in operators if op.execution.user_method or op in DECIDED)),
        in_steps,
        tuple(ArrayType(n.shape, n.dtype) for n in plan.leaves),
        device,
        may_dry_run=not LISTENERS and not plan.runs_user_code,
    )


def _count(node: Application) -> int:
    """The approximate number of steps of a node: 0 for a view; for a loop, the number of its body's nodes per iteration."""
    body = node.bound_op.params.get("body")
    if isinstance(body, SubGraph):
        return max(node.operands[0].shape[:1], default=1) * len(topological(body.outputs, until=set(body.leaves)))
    return not (node.bound_op.op.view or node.bound_op.op is item)


def _operators(outputs: Iterable[Node]) -> set[Op]:
    """The primitives in a graph and its sub-graphs."""
    found: set[Op] = set()
    for node in applications(outputs):
        found.add(node.bound_op.op)
        for value in node.bound_op.params.values():
            if isinstance(value, SubGraph):
                found |= _operators(value.outputs)
    return found


def launch_or_step(launcher: Launcher, run: Callable[[Sequence[object]], list[object]], arrays: Sequence[object]) -> list[object]:
    """Launch a captured program, or run it step by step if there are observers or the setting ``cuda_graphs`` is off."""
    # a launch is one call: observers would see no steps
    return run(arrays) if LISTENERS or not SETTINGS.cuda_graphs else launcher(arrays)
