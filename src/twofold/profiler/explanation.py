"""``mx.explain()`` reports how the operations of a block of imperative code, or of a NumPy script's lines, were executed."""

from collections import Counter
from collections.abc import Iterable
from threading import get_ident
from types import TracebackType
from typing import NamedTuple

from ..device import Device
from ..extension_points import STANDING_REPORTS, shown_in_notebooks
from ..imperative.scope import flush_here
from ..origin import frame_of_user, in_brief
from ..plurals import counted
from ..program.compile import Program
from ..scheduler.observers import Event, forget, listen, this_thread
from .profile import Profile
from .recorder import record_of
from .trace import Trace


class Flush(NamedTuple):
    """A program that ran.

    Attributes
    ----------
    line
        The user's line that made it run, such as ``"train.py:12"``.
    cause
        ``"window"`` for a flush of deferred operations; otherwise ``"forward"``, ``"backward"`` ….
    operations
        Number of deferred operations; 0 if the cause is not a window.
    steps
        Its steps in order: names of operations, joined by ``+`` within a fused kernel.
    forms
        How the kernel of each step runs, where it can run in several ways: ``"machine code"``, ``"ufuncs so far"`` or ``"ufuncs"``;
        otherwise empty.
    kernels
        Number of steps that are fused kernels.
    nbytes
        Bytes read and written.
    issued
        On a GPU, how it is launched when not observed: as one graph, or step by step and why.
    passes
        Names of the passes that changed its graph.
    program
        The program itself.
    """

    line: str
    cause: str
    operations: int
    steps: tuple[str, ...]
    forms: tuple[str, ...]
    kernels: int
    nbytes: int
    issued: str
    passes: tuple[str, ...]
    program: Program

    @property
    def source(self) -> str:
        """The program's Python source."""
        return self.program.source

    @property
    def printed(self) -> tuple[str, ...]:
        """The steps as reports show them: each with the form of its kernel, if it has several."""
        return tuple(f"{step}  ({form})" if form else step for step, form in zip(self.steps, self.forms, strict=True))


class Report:
    """How the operations ran that this thread issued inside the block, or that worked on large arrays of a NumPy script, by line.

    Attributes
    ----------
    flushes
        The programs in order.
    """

    def __init__(self) -> None:
        self.flushes: list[Flush] = []
        self._thread: tuple[int, str] | None = None
        self._owner = 0
        #: Programs of windows, by the thread that runs them, until the event of their window follows.
        self._programs: dict[tuple[int, str], list[Event]] = {}
        self._operators: list[Event] = []
        self._events: list[Event] = []

    @property
    def inline(self) -> Counter[str]:
        """Operations that ran immediately, by name, with their counts."""
        return Counter(event.name for event in self._operators)

    @property
    def kernels(self) -> int:
        """Number of fused kernels that ran."""
        return sum(f.kernels for f in self.flushes)

    @property
    def nbytes(self) -> int:
        """Bytes that the programs read and wrote."""
        return sum(f.nbytes for f in self.flushes)

    @property
    def facts(self) -> tuple[str, ...]:
        """The counts of programs and kernels, and the bytes, in words."""
        programs, kernels = counted(len(self.flushes), "program"), counted(self.kernels, "fused kernel")
        return programs, kernels, f"{counted(self.nbytes, 'byte')} read and written"

    def __enter__(self) -> "Report":
        # operations that are already pending would otherwise run inside the block, fused with its own
        flush_here()
        self._thread, self._owner = this_thread(), get_ident()
        listen(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if error is None:
                flush_here()
        finally:
            forget(self)

    def happened(self, event: Event) -> None:
        """Record an event. A program's operators are reported before the program itself, which lists them as steps; drop them."""
        is_here = event.thread == self._thread
        if is_here:
            self._events.append(event)
        program = event.details.get("program")
        if event.category == "program" and program is not None:
            # begun within the program's span, so a step of it
            while is_here and self._operators and self._operators[-1].start >= event.start:
                self._operators.pop()
            if event.name == "window":
                self._programs.setdefault(event.thread, []).append(event)
            elif is_here:
                self.flushes.append(_flush(event.name, 0, program, event.nbytes))
        elif event.category == "window":
            # which says which thread issued the operations: any thread may run another thread's window
            programs = self._programs.pop(event.thread, [])
            if event.details["owner"] != self._owner:
                while self._events and self._events[-1].start >= event.start:
                    self._events.pop()
                return
            for program_event in programs:
                program, nbytes = program_event.details["program"], program_event.nbytes
                self.flushes.append(_flush("window", event.details["operations"], program, nbytes))
        elif event.category == "operator" and is_here:  # workers run parts of this thread's kernels
            self._operators.append(event)

    def profile(self) -> Profile:
        """When this thread did what, for `mx.viz.plot_timeline` and as a page with a button that opens it in Perfetto."""
        trace = Trace()
        # events are reported when they end, but a trace lists the outer of two that begin together first
        for event in sorted(self._events, key=lambda e: (e.start, -e.duration)):
            trace.add(record_of(event))
        return Profile(trace)

    def allocated(self, arrays: Iterable[object], device: Device) -> None:
        """Ignored."""

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if self._thread is None:
            return "\n".join(report() for report in STANDING_REPORTS)
        lines = [", ".join(self.facts)]
        for f in self.flushes:
            deferred = f": {counted(f.operations, 'deferred operation')}" if f.cause == "window" else ""
            steps, kernels = counted(len(f.steps), "step"), counted(f.kernels, "fused kernel")
            lines.append(f"{f.line}  {f.cause}{deferred}, {steps}, {kernels}, {counted(f.nbytes, 'byte')}")
            lines += [f"    {line}" for line in [*([f.issued] if f.issued else []), *f.printed]]
        if self.inline:
            lines.append("at once: " + ", ".join(f"{name} {number}x" for name, number in self.inline.most_common()))
        return "\n".join(lines)

    _repr_html_ = shown_in_notebooks("report")


def _flush(cause: str, operations: int, program: Program, nbytes: int) -> Flush:
    steps = program.described()
    issued = "" if program.launcher is None else program.launcher.state
    return Flush(
        line=_user_line(),
        cause=cause,
        operations=operations,
        steps=tuple(name for name, _ in steps),
        forms=tuple(form for _, form in steps),
        kernels=len(program.kernels),
        nbytes=nbytes,
        issued=issued,
        passes=program.passes,
        program=program,
    )


def _user_line() -> str:
    """The innermost line of this thread's stack outside the package."""
    frame = frame_of_user(1)
    return in_brief(frame.f_code.co_filename, frame.f_lineno)


def explain() -> Report:
    """Report how imperative code is executed: which operations are fused, and which line makes them run.

    Returns
    -------
    Report
        A context manager. After the block, `str` of it describes what ran. Operations that are pending before the block run before it, and
        operations pending at its end run there, so that the report covers exactly the block. Without a block, ``print(mx.explain())`` in a
        script run by ``python -m twofold run --numpy`` says which of its lines fold, which do not, and why.

    Examples
    --------
    >>> import twofold as mx
    >>> x = mx.np.ones((1000, 1000))
    >>> with mx.explain() as report:
    ...     y = mx.np.exp(x * 2.0) + 1.0
    ...     total = y[0, 0].item()
    >>> report.kernels
    1
    >>> print(report.flushes[0].steps)
    ('multiply + exp + add',)
    """
    return Report()
