"""Programs that an adapter issues at once: what it is told of them, and when it is asked."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from ..backend.kernel import ArrayType, InSteps, ProgramTraits
from ..backend.protocol import Replay
from ..config import SETTINGS
from ..device import Device
from ..graph.build import item
from ..graph.control_flow import SubGraph
from ..graph.ir import Application, Node, applications, topological
from ..opdef.spec import Op
from ..scheduler.observers import LISTENERS
from .control_flow import DECIDED
from .plan import Plan


def traits_of(plan: Plan, donated: Collection[int], dead: Collection[int], in_steps: InSteps, device: Device | None) -> ProgramTraits:
    """What an adapter is told of a program.

    Parameters
    ----------
    plan
        The program's.
    donated, dead
        Places of the leaves whose memory results take, and of those whose memory they might.
    in_steps, device
        As of `ProgramTraits`.
    """
    operators = _operators(plan.outputs)
    count = sum(1 if s.is_kernel else _count(s.nodes[0]) for s in plan.steps)
    return ProgramTraits(
        count,
        frozenset(donated),
        frozenset(dead),
        frozenset(op.name for op in operators),
        tuple(sorted(op.name for op in operators if op.user_method or op in DECIDED)),
        in_steps,
        tuple(ArrayType(n.shape, n.dtype) for n in plan.leaves),
        device,
        may_rehearse=not LISTENERS and not plan.runs_user_code,
    )


def _count(node: Application) -> int:
    """How many steps a node is: none if it is a view, a loop about as many as it has nodes, each time it goes round."""
    body = node.sig.params.get("body")
    if isinstance(body, SubGraph):
        return max(node.operands[0].shape[:1], default=1) * len(topological(body.outputs, until=set(body.leaves)))
    return not (node.sig.op.view or node.sig.op is item)


def _operators(outputs: Iterable[Node]) -> set[Op]:
    """The primitives of a graph, and of the sub-graphs in it."""
    found: set[Op] = set()
    for node in applications(outputs):
        found.add(node.sig.op)
        for value in node.sig.params.values():
            if isinstance(value, SubGraph):
                found |= _operators(value.outputs)
    return found


def replayed(replay: Replay, run: Callable[[Sequence[Any]], list[Any]], arrays: Sequence[Any]) -> list[Any]:
    """Run a program at once, or step by step where somebody wants to see the steps, or nobody wants it at once."""
    return run(arrays) if LISTENERS or not SETTINGS.cuda_graphs else replay(arrays)
