"""Plans on disk: what planning a lowered graph found, for the next process that runs an equal graph.

A plan is data: the graph after the passes, the steps, and where each value lives. Nodes are numbers, each defined by earlier ones. What is
read is applied operator by operator, so that types are inferred as ever, and must be the types in the file. The kernels and calls of the
steps are made anew. So a file decides how a program is divided, and holds no code.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ..backend.disk_cache import DiskCache, digest_of, state_of_files
from ..backend.protocol import Target
from ..config import COMPILED_IN, SETTINGS
from ..errors import MXNetError
from ..graph.build import apply
from ..graph.fuse import Step
from ..graph.ir import Application, Constant, Leaf, Node, const, leaf, topological
from ..graph.memory_plan import MemoryPlan, Place
from ..opdef import OPS, BoundOp

PLANS = DiskCache("plans", 32 << 20)
#: Graphs with fewer nodes are planned again: that takes no longer than to read a file.
LEAST = 48
#: The number of an omitted operand.
OMITTED = -1


class Counts:
    """Plans since the start of the process, for tests: those of graphs large enough to be stored that were planned, and those read."""

    planned = loaded = 0


class StoredPlan(NamedTuple):
    """What planning has found.

    Attributes
    ----------
    outputs
        The graph after the passes.
    passes
        Names of the passes that changed it.
    folded
        What is computed once: for each leaf of the graph that stands for a constant, the node to compute.
    steps, memory, reshaped
        As of `plan.ProgramPlan`.
    """

    outputs: list[Node]
    passes: tuple[str, ...]
    folded: dict[Leaf, Node]
    steps: list[Step]
    memory: MemoryPlan
    reshaped: dict[Node, Node]


class _NotStorable(Exception):
    """A graph has something that a file cannot hold, such as the body of a loop."""


def key_of(outputs: Sequence[Node], leaves: Sequence[Node], target: Target, options: Sequence[object]) -> str | None:
    """The key of a lowered graph's plan: a digest of all that planning depends on. None if such plans are not stored.

    Parameters
    ----------
    outputs, leaves
        The lowered graph.
    target
        What it is planned for.
    options
        What else the plan depends on, as plain data.
    """
    if not SETTINGS.keep_plans or target.planning is None:
        return None
    table = _Numbered(leaves)
    try:
        table.add(outputs)
    except _NotStorable:
        return None
    if len(table.rows) < LEAST:
        return None
    inputs = [(n.shape, n.dtype) for n in leaves]
    settings = [(name, getattr(SETTINGS, name)) for name in sorted(COMPILED_IN)]
    known = [_sources(), target.planning(), _capabilities(target), settings, list(options)]
    text = repr((known, inputs, table.operators, table.rows, [table.numbers[o] for o in outputs]))
    return digest_of(text.encode())


def load(key: str, leaves: Sequence[Node]) -> StoredPlan | None:
    """The plan under a key; None if there is none, or if it is damaged."""
    content = PLANS.load(key)
    if content is None:
        return None
    import json  # only programs with large graphs need it

    try:
        return _read(json.loads(content), leaves)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, MXNetError):
        return None


def store(key: str, plan: StoredPlan, leaves: Sequence[Node]) -> None:
    """Store a plan under a key, unless it has something that a file cannot hold."""
    import json

    try:
        record = _record(plan, leaves)
    except _NotStorable:
        return
    PLANS.store(key, json.dumps(record, separators=(",", ":")).encode())


@cache
def _sources() -> str:
    package = Path(__file__).parents[1]
    return state_of_files(*[str(package / name) for name in ("backend", "graph", "opdef", "ops", "program")])


def _capabilities(target: Target) -> list[object]:
    given = [getattr(target, f.name) for f in fields(target)]
    return [sorted(v) if isinstance(v, frozenset) else v for v in given if isinstance(v, (str, bool, frozenset))]


class _Numbered:
    """Nodes as numbers: first the leaves, then each node that is added, as a row of what defines it.

    A row is a number for a constant, and for an application its operator's place, the numbers of its operands and the types of its results.
    """

    def __init__(self, leaves: Iterable[Node]) -> None:
        self.numbers: dict[Node | None, int] = {n: k for k, n in enumerate(leaves)}
        self.numbers[None] = OMITTED
        self.operators: list[tuple[str, dict[str, Any]]] = []
        self.rows: list[object] = []
        self._next = len(self.numbers) - 1
        self._places: dict[BoundOp, int] = {}

    def add(self, outputs: Iterable[Node]) -> None:
        """Number the nodes below outputs."""
        numbers, rows = self.numbers, self.rows
        for n in topological(outputs, until=[n for n in numbers if n is not None]):
            if isinstance(n, Application):
                place = self._places.get(n.bound_op)
                if place is None:
                    place = self._operator(n.bound_op)
                types = [(n.shape, n.dtype)] if n.dtype != "several" else [(p.shape, p.dtype) for p in n.parts]
                rows.append((place, [numbers[i] for i in n.inputs], types))
            elif isinstance(n, Constant) and _is_plain(n.number):
                rows.append(n.number)
            else:
                raise _NotStorable
            numbers[n] = self._next
            self._next += 1

    def add_leaves(self, leaves: Iterable[Node]) -> None:
        """Number further leaves, which a file describes otherwise."""
        for n in leaves:
            self.numbers[n] = self._next
            self._next += 1

    def _operator(self, bound_op: BoundOp) -> int:
        op = bound_op.op
        is_own = OPS.get(op.name) is op and op.rule.__module__.startswith("twofold.")  # programs' rules are not in the key
        if not is_own or bound_op.legacy or not all(map(_is_plain, bound_op.params.values())):
            raise _NotStorable
        self.operators.append((op.name, bound_op.params))
        place = self._places[bound_op] = len(self._places)
        return place


def _is_plain(value: object) -> bool:
    """Whether a parameter is plain data, which JSON gives back as it was: tuples become lists and tuples again."""
    return value is None or type(value) in (bool, int, float, str) or (type(value) is tuple and all(map(_is_plain, value)))


def _tuples(value: object) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _record(plan: StoredPlan, leaves: Sequence[Node]) -> dict[str, object]:
    table = _Numbered(leaves)
    table.add(plan.folded.values())
    before = len(table.rows)
    table.add_leaves(plan.folded)
    table.add([*plan.outputs, *(n for step in plan.steps for n in step.nodes)])
    numbers = table.numbers

    def of(nodes: Iterable[Node]) -> list[int]:
        return [numbers[n] for n in nodes]

    memory = plan.memory
    return {
        "operators": table.operators,
        "folded": [(numbers[n], stand_in.shape, stand_in.dtype) for stand_in, n in plan.folded.items()],
        "before": before,
        "nodes": table.rows,
        "outputs": of(plan.outputs),
        "passes": plan.passes,
        "steps": [(of(s.nodes), [of(m) for m in s.members], sorted(of(s.numbers)), s.epilogue) for s in plan.steps],
        "places": [(numbers[n], *place) for n, place in memory.place.items()],
        "buffers": memory.buffers,
        "results": memory.outputs,
        "donated": [of(pair) for pair in memory.donated.items()],
        "inputs": memory.leaves,
        "reshaped": [of(pair) for pair in plan.reshaped.items()],
    }


def _read(record: dict[str, Any], leaves: Sequence[Node]) -> StoredPlan:
    nodes: list[Node] = list(leaves)
    operators = [OPS[name].bind(**{k: _tuples(v) for k, v in params.items()}) for name, params in record["operators"]]
    before = record["before"]
    _apply(record["nodes"][:before], operators, nodes)
    folded = {leaf(("constant", k), tuple(s), d): nodes[n] for k, (n, s, d) in enumerate(record["folded"])}
    nodes += folded
    _apply(record["nodes"][before:], operators, nodes)

    def of(numbers: Iterable[int]) -> tuple[Any, ...]:
        return tuple([nodes[k] for k in numbers])

    steps = [Step(of(s), tuple(map(of, members)), frozenset(of(numbers)), name) for s, members, numbers, name in record["steps"]]
    memory = MemoryPlan(
        {nodes[n]: Place(*place) for n, *place in record["places"]},
        [(size, dtype) for size, dtype in record["buffers"]],
        record["results"],
        dict(map(of, record["donated"])),
        record["inputs"],
    )
    outputs, passes = list(of(record["outputs"])), tuple(record["passes"])
    return StoredPlan(outputs, passes, folded, steps, memory, dict(map(of, record["reshaped"])))


def _apply(rows: Sequence[Any], operators: Sequence[BoundOp], nodes: list[Node]) -> None:
    """Append the nodes that rows define.

    Raises
    ------
    ValueError
        If a node has another type than its row says.
    """
    for row in rows:
        if not isinstance(row, list):
            nodes.append(const(row))
            continue
        place, inputs, types = row
        node = apply(operators[place], tuple([None if k == OMITTED else nodes[k] for k in inputs]))
        if [[list(p.shape), p.dtype] for p in node.parts] != types:
            raise ValueError("a node of another type")
        nodes.append(node)
