"""Programs that an adapter issues at once: what it is told of them, and when it is asked."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from ..backend.kernel import ProgramTraits
from ..backend.protocol import Replay
from ..config import SETTINGS
from ..graph.control_flow import SubGraph
from ..graph.fuse import Step
from ..graph.ir import Node, topological
from ..scheduler.observers import LISTENERS


def traits_of(
    outputs: Sequence[Node], steps: Sequence[Step], donated: Collection[int], dead: Collection[int], host: Collection[str]
) -> ProgramTraits:
    """What an adapter is told of a program.

    Parameters
    ----------
    outputs
        Its lowered graph.
    steps
        How that is run.
    donated, dead
        Places of the leaves whose memory results take, and of those whose memory they might.
    host
        Names of primitives that need the host.
    """
    names = frozenset(_names(outputs))
    count = sum(1 if s.is_kernel else _count(s.nodes[0]) for s in steps)
    return ProgramTraits(count, frozenset(donated), frozenset(dead), names, tuple(sorted(names & set(host))))


def _count(node: Node) -> int:
    """How many steps a node is: none if it is a view, a loop about as many as it has nodes, each time it goes round."""
    assert node.sig is not None
    body = node.sig.params.get("body")
    if isinstance(body, SubGraph) and node.inputs[0] is not None:
        return max(node.inputs[0].shape[:1], default=1) * len(topological(body.outputs, until=set(body.leaves)))
    return not (node.sig.op.view or node.sig.op.name == "item")


def _names(outputs: Iterable[Node]) -> set[str]:
    """The primitives of a graph, and of the sub-graphs in it."""
    names = set()
    for node in topological(list(outputs)):
        if node.sig is not None:
            names.add(node.sig.op.name)
            for value in node.sig.params.values():
                if isinstance(value, SubGraph):
                    names |= _names(value.outputs)
    return names


def replayed(replay: Replay, run: Callable[[Sequence[Any]], list[Any]], arrays: Sequence[Any]) -> list[Any]:
    """Run a program at once, or step by step where somebody wants to see the steps, or nobody wants it at once."""
    return run(arrays) if LISTENERS or not SETTINGS.cuda_graphs else replay(arrays)
