"""The code of a program: its steps as data, and the four forms of Python source that they give.

The forms are plain (`Code.source`), with timing around each step (`program.profiling`), with a note of what each step reads and writes
(`Code.in_steps`, for adapters that capture a program), and with calls that hand out results as soon as they are complete
(`Code.in_stages`).
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..backend.kernel import Array, ArrayType, Call, OperandType, Params, Run, StepObserver, code_of, function_of

#: Statements to add before and after a step.
Notes = tuple[list[str], list[str]]


class StepCode(NamedTuple):
    """The code of one step.

    Attributes
    ----------
    lines
        Its statements.
    reads, writes
        Existing variables that it reads, and those that it writes and may also read.
    made
        The variable of a result that the backend's function allocates; empty if there is none.
    releases
        Variables that are dead after it.
    computes
        Whether it does more than make a view or select one of several results.
    """

    lines: list[str]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    made: str
    releases: list[str]
    computes: bool


class Scratch(NamedTuple):
    """A value of the scratch memory that a program keeps: memory, or a view of it.

    Attributes
    ----------
    name
        Its variable.
    make
        The function that makes it, or that function's name.
    operands
        The variables of the function's arguments.
    text
        The function's call as source text.
    """

    name: str
    make: Callable[..., Array] | str
    operands: tuple[str, ...]
    text: str


class CallCode(NamedTuple):
    """A backend's call in the code.

    Attributes
    ----------
    op, params, inputs, outputs
        What the backend was asked for.
    text
        Its answer but for the objects, see `text_of`.
    names
        The variables of the objects, by the names that they have in the text.
    """

    op: str
    params: Params
    inputs: tuple[OperandType, ...]
    outputs: tuple[ArrayType, ...]
    text: tuple[object, ...]
    names: dict[str, str]

    @staticmethod
    def text_of(call: Call) -> tuple[object, ...]:
        """How a call is written."""
        return call.text, call.into, call.fresh, call.update, *call.names


class Code(NamedTuple):
    """The code of a program, in parts.

    Attributes
    ----------
    leaves
        Variables of the inputs.
    checkout
        Statements that check out an instance of the kept scratch memory, and allocate the other.
    steps
        The steps in order.
    end
        Statements that put scratch memory back and return the results.
    scratch
        The values of an instance of the kept scratch memory, in order.
    used
        Those that the steps use.
    env
        The objects that the code refers to, by name.
    allocators
        Names of the functions among them that allocate memory.
    results
        The variable of each result; None if it is copied at the end.
    made
        Objects that depend on types and numbers: the function that has made each, and its arguments.
    calls
        The backend's calls.
    """

    leaves: list[str]
    checkout: list[str]
    steps: list[StepCode]
    end: list[str]
    scratch: list[Scratch]
    used: list[str]
    env: dict[str, Any]
    allocators: list[str]
    results: list[str | None]
    made: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]
    calls: list[CallCode]

    def source(self, entry: str = "", notes: Callable[[int, StepCode], Notes] | None = None) -> str:
        """The source text.

        Parameters
        ----------
        entry
            A statement to begin with.
        notes
            Returns statements to add before and after a step, given its index.
        """
        lines = self._lines(entry, notes)
        if self.used:
            made = [f" {each.name} = {each.text}" for each in self.scratch]
            lines += ["def fresh():", *made, f" return ({', '.join(self.used)},)"]
        return "\n".join(lines)

    def function(
        self, file: str, entry: str = "", notes: Callable[[int, StepCode], Notes] | None = None, own: dict[str, Any] | None = None
    ) -> Run:
        """The program as a function.

        Parameters
        ----------
        file
            Its name in tracebacks.
        entry, notes
            As of `source`.
        own
            Further objects, or others in place of those in ``env``.
        """
        env = self.env | (own or {})
        if self.used:  # from data: compiling text that runs once takes longer
            rows = [(each.name, env[each.make] if isinstance(each.make, str) else each.make, each.operands) for each in self.scratch]
            env["fresh"] = partial(_fresh, rows, self.used)
        return function_of(code_of("\n".join(self._lines(entry, notes)), file), env, "program")

    def spans(self, entry: str = "") -> list[tuple[int, int]]:
        """The range of lines of each step, in the source with that entry."""
        at, found = len(self._head(entry)), []
        for step in self.steps:
            found.append((at, at + len(step.lines)))
            at += len(step.lines) + len(step.releases)
        return found

    def _head(self, entry: str) -> list[str]:
        lines = ["def program(L):"]
        if entry:
            lines.append(f" {entry}")
        if self.leaves:
            lines.append(f" {', '.join(self.leaves)}, = L")
        return lines + self.checkout

    def _lines(self, entry: str, notes: Callable[[int, StepCode], Notes] | None) -> list[str]:
        lines = self._head(entry)
        body: list[str] = []
        for k, step in enumerate(self.steps):
            before, after = notes(k, step) if notes is not None else ([], [])
            body += [*before, *step.lines, *after, *[f"del {name}" for name in step.releases]]
        lines += [" " + line for line in body + self.end]
        return lines

    def in_stages(self, groups: Sequence[Sequence[int]], completed: Sequence[int]) -> "Code":
        """The code of a program of the pair (leaves, function), which calls the function for each group once its results are complete.

        Every result has separate memory, to which no later step writes.

        Parameters
        ----------
        groups
            Numbers of results. The function is not called for a group with a result that is copied at the end.
        completed
            The step that completes each result; those that are copied at the end may have any number.
        """
        lines = [list(step.lines) for step in self.steps]
        for number, group in enumerate(groups):
            names = [name for k in group if (name := self.results[k]) is not None]
            if names and len(names) == len(group):
                # on the step's last line, so that lines have the numbers that they have without stages
                lines[max(completed[k] for k in group)][-1] += f"; tell({number}, {_tuple(names)})"
        steps = [step._replace(lines=new) for step, new in zip(self.steps, lines, strict=True)]
        return self._replace(leaves=[_tuple(self.leaves), "tell"], steps=steps)

    def in_steps(self, steps: StepObserver, leaves: Sequence[object]) -> list[object]:
        """Run the program while telling an adapter, before each step, the arrays that the step reads and writes."""
        last = len(self.steps) - 1

        def notes(k: int, step: StepCode) -> Notes:
            # a view, or a step that touches no existing array, counts as part of the previous step
            is_reported = step.computes and step.lines and (step.reads or step.writes)
            before = [f"steps.step({_tuple(step.reads)}, {_tuple(step.writes)})"] if is_reported else []
            return before, ["steps.join()"] if k == last else []

        entry = "" if self.steps else "steps.join()"
        return self.function("<twofold program, in steps>", entry, notes, {"steps": steps})(leaves)


def _fresh(rows: Sequence[tuple[str, Callable[..., Array], tuple[str, ...]]], used: Sequence[str]) -> tuple[Array, ...]:
    """Make an instance of the kept scratch memory."""
    made: dict[str, Array] = {}
    for name, make, operands in rows:
        made[name] = make(*[made[o] for o in operands])
    return tuple([made[name] for name in used])


def _tuple(names: Iterable[str]) -> str:
    return "(" + "".join(f"{name}, " for name in names) + ")"
