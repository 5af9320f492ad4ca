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


def traits_of(outputs: Sequence[Node], steps: Sequence[Step], donated: Collection[int], host: Collection[str]) -> ProgramTraits:
    """What an adapter is told of a program.

    Parameters
    ----------
    outputs
        Its lowered graph.
    steps
        How that is run.
    donated
        Places of the leaves whose memory results take.
    host
        Names of primitives that need the host.
    """
    names = frozenset(_names(outputs))
    count = sum(s.is_kernel or not (s.nodes[0].sig.op.view or s.nodes[0].sig.op.name == "item") for s in steps)  # type: ignore[union-attr]
    return ProgramTraits(count, frozenset(donated), names, tuple(sorted(names & set(host))))


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
