"""A program's second form: the same source with a note after each step, made when it first runs while somebody listens."""

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from ..dtype import WEAK
from ..graph.build import item
from ..graph.ir import Application, Node
from ..scheduler.observers import NOTHING, report, report_arrays, span

if TYPE_CHECKING:
    from .compile import Program


class Title(NamedTuple):
    """What listeners are told that a program is.

    Attributes
    ----------
    name, category
        As of `Event`. The steps of a ``"program"`` are reported; those of an ``"operator"`` would be counted twice.
    symbolic
        As of `Event`; that of what runs the program where None.
    """

    name: str = "program"
    category: str = "program"
    symbolic: bool | None = None


class Mark(NamedTuple):
    """A step of a program: lines of its body from `begin` to `end`, and the variable that gets a result which the backend allocates."""

    begin: int
    end: int
    name: str
    category: str
    nbytes: int
    made: str


def nbytes_of(nodes: Sequence[Node | None]) -> int:
    """Bytes of arrays; Python scalars count nothing."""
    return sum(n.nbytes for n in nodes if n is not None and n.dtype not in WEAK)


def mark(begin: int, end: int, nodes: Sequence[Application], results: Sequence[Node], made: str) -> Mark | None:
    """The mark of a step that computes nodes, of which some are results; None for one that computes nothing."""
    first = nodes[0]
    if begin == end or first.sig.op.view or first.sig.op is item:
        return None
    inside: set[Node] = set(nodes)
    operands = list(dict.fromkeys(i for n in nodes for i in n.operands if i not in inside))
    name = "_".join(dict.fromkeys(n.sig.op.name for n in nodes))[:60]
    nbytes = nbytes_of(operands) + nbytes_of([p for n in results for p in n.parts])
    return Mark(begin, end, name, "kernel" if len(nodes) > 1 else "operator", nbytes, made)


class Watched:
    """What a program's function calls in its place while somebody listens."""

    def __init__(self, program: "Program", title: Title, env: dict[str, Any], body: int, marks: Sequence[Mark]) -> None:
        self._program, self._title, self._env, self._body = program, title, env, body
        self._marks = marks if title.category == "program" else ()
        self._run: Callable[[Sequence[Any]], list[Any]] | None = None
        self._nbytes = 0

    def __call__(self, leaves: Sequence[Any]) -> list[Any]:
        """Run the program and report it."""
        title, run = self._title, self._run or self._made()
        details = {"program": self._program} if title.category == "program" else NOTHING
        with span(title.name, title.category, symbolic=title.symbolic, nbytes=self._nbytes, details=details):
            results = run(leaves)
        report_arrays(results)
        return results

    def _made(self) -> Callable[[Sequence[Any]], list[Any]]:
        program = self._program
        env = dict(self._env)
        env |= {name: partial(_allocated, new) for name, new in env.items() if name.startswith("new_")}
        env |= {"clock": perf_counter_ns, "note": self._note}
        exec(compile(self._source(), "<twofold program, watched>", "exec"), env)
        self._nbytes = nbytes_of(program.leaves) + nbytes_of(program.outputs)
        self._run = env["program"]
        return env["program"]

    def _source(self) -> str:
        lines = self._program.source.split("\n")
        for k, m in reversed(list(enumerate(self._marks))):
            lines.insert(self._body + m.end, f" note({k}, T{', ' * bool(m.made)}{m.made})")
            lines.insert(self._body + m.begin, " T = clock()")
        return "\n".join(lines)

    def _note(self, number: int, start: int, made: Any = None) -> None:
        m = self._marks[number]
        report(m.name, m.category, start, m.nbytes)
        if made is not None:
            report_arrays(made if made.__class__ is list or made.__class__ is tuple else (made,))


def _allocated(new: Callable[[], Any]) -> Any:
    array = new()
    report_arrays((array,))
    return array


PROGRAM = Title()


def with_entry(source: str) -> str:
    """A program's source with the one test that it makes for observers."""
    head, _, rest = source.partition("\n")
    return f"{head}\n if listeners: return watched(L)\n{rest}"
