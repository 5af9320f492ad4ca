"""The form of a program that reports its steps to observers one by one; made when the program first runs with observers."""

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter_ns
from typing import Any, NamedTuple
from weakref import ref

from ..backend.kernel import Array, Run
from ..dtype import WEAK
from ..graph.fuse import Step
from ..graph.ir import Node
from ..scheduler.observers import NOTHING, report, report_arrays, span
from .code import Code, Notes, StepCode
from .kernels import name_of
from .plan import ProgramPlan

#: The first statement of every program: all that observers cost while there are none.
ENTRY = "if listeners: return profiled(L)"


class Title(NamedTuple):
    """How a program is reported.

    Attributes
    ----------
    name, category
        As for `Event`. Steps are reported for a ``"program"`` only; those of an ``"operator"`` would be counted twice.
    symbolic
        As for `Event`; None to inherit it from the enclosing event.
    """

    name: str = "program"
    category: str = "program"
    symbolic: bool | None = None


PROGRAM = Title()


class Mark(NamedTuple):
    """How a step is reported; fields as for `Event`."""

    name: str
    category: str
    nbytes: int


def nbytes_of_nodes(nodes: Sequence[Node | None]) -> int:
    """Bytes of arrays; Python scalars count as 0."""
    return sum(n.nbytes for n in nodes if n is not None and n.dtype not in WEAK)


def mark_of(step: Step, plan: ProgramPlan) -> Mark:
    """How a step that computes something is reported."""
    nodes, inside = step.nodes, set[Node](step.nodes)
    results = [n for n in nodes if not step.is_kernel or plan.memory.place[n].kind != "kernel"]
    operands = list(dict.fromkeys(i for n in nodes for i in n.operands if i not in inside))
    nbytes = nbytes_of_nodes(operands) + nbytes_of_nodes([p for n in results for p in n.parts])
    return Mark(name_of(nodes), "kernel" if step.is_kernel else "operator", nbytes)


class Profiled:
    """The function that a program calls instead of its body while there are observers.

    Parameters
    ----------
    program
        The program, a detail of its event if it is reported as one. A weak reference: the program refers to this function.
    title
        How it is reported.
    plan, code
        The program's.
    """

    def __init__(self, program: ref[Any], title: Title, plan: ProgramPlan, code: Code) -> None:
        self._program, self._title, self._plan, self._code = program, title, plan, code
        #: How each step is reported, by its number; known once the form with timing is compiled.
        self._marks: dict[int, Mark] = {}
        self._run: Run | None = None
        self._nbytes = 0

    def __call__(self, leaves: Sequence[Array]) -> list[Array]:
        """Run the program, and report it and its steps."""
        title, run = self._title, self._run or self._compile()
        details = {"program": self._program()} if title.category == "program" else NOTHING
        with span(title.name, title.category, symbolic=title.symbolic, nbytes=self._nbytes, details=details):
            results = run(leaves)
        report_arrays(results)
        return results

    def _compile(self) -> Run:
        own: dict[str, Any] = {name: partial(_allocated, self._code.env[name]) for name in self._code.allocators}
        own |= {"__name__": __name__, "clock": perf_counter_ns, "note": self._note}
        # a separate file name: `Program.nodes_at` must not look up this form's lines in the plain form
        run = self._code.function("<twofold program, profiled>", notes=self._notes, own=own)
        self._nbytes = nbytes_of_nodes(self._plan.leaves) + nbytes_of_nodes(self._plan.outputs)
        self._run = run
        return run

    def _notes(self, k: int, step: StepCode) -> Notes:
        node = self._plan.steps[k].nodes[0]
        if self._title.category != "program" or not step.lines or not step.computes or node.bound_op.op.view:
            return [], []
        self._marks[k] = mark_of(self._plan.steps[k], self._plan)
        return ["T = clock()"], [f"note({k}, T{', ' * bool(step.made)}{step.made})"]

    def _note(self, number: int, start: int, made: Array = None) -> None:
        m = self._marks[number]
        report(m.name, m.category, start, m.nbytes)
        if made is not None:
            report_arrays(made if made.__class__ is list or made.__class__ is tuple else (made,))


def _allocated(new: Callable[[], Array]) -> Array:
    array = new()
    report_arrays((array,))
    return array
