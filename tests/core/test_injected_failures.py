"""Failures injected wherever a program calls an adapter: the right error, no side effects, nothing leaked, and a correct next run."""

import gc
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
import pytest

import twofold as mx
from twofold.errors import MXNetError
from twofold.graph.tables import drop_generation
from twofold.imperative.cell import Value
from twofold.imperative.sites import SITES
from twofold.imperative.tape import Tape, TapeEntry, tls
from twofold.imperative.window import Window

from . import failing_programs
from .conftest import set_mode
from .failing_programs import PROGRAMS, inputs_on
from .injection import seam_of
from tests.cases import later_in_ci
from tests.devices import fake_gpus

#: An execution mode on the CPU, a schedule on fake GPUs; each with the failures that must have been raised there.
PLACES = {"naive": 200, "inline": 180, "deferred": 150, "gpu issue": 140, "gpu late": 140, "gpu eager": 140}
#: Maximum number of failures per program and place: before anything is compiled, and after everything is.
CALLS = {"cold": 8, "warm": 6}
#: What each kind of call raises, by the prefix of its name; computations can raise anything.
RAISED: dict[tuple[str, ...], tuple[type[Exception], ...]] = {
    ("memory", "scratch", "copy", "xp.full", "xp.iota"): (MemoryError,),
    ("direct",): (MemoryError, ValueError, TypeError),
    ("compile",): (MemoryError, RuntimeError),
    ("",): (MemoryError, ValueError, FloatingPointError, IndexError, TypeError),
}
#: Programs all of whose calls belong to operations in a window.
WINDOWED = ("arithmetic", "functions", "reductions")


class Case(NamedTuple):
    """One failure: which call of a program fails, on which line, what it raises, and whether all later calls fail too."""

    program: str
    state: str
    number: int
    what: str
    line: int
    error: type[Exception]
    lasting: bool


class Injected:
    """A program, its inputs, its results when nothing fails, and the seam."""

    def __init__(self, name: str, device: Any, seam: Any) -> None:
        self.name, self.program, self.seam = name, PROGRAMS[name], seam
        self.inputs = inputs_on(device)
        self.given = [a.asnumpy().copy() for a in self.inputs]
        self.wanted = self.program(*self.inputs)

    def enter(self, state: str) -> None:
        """Drop compiled programs, or have everything compiled: the first use is interpreted, the second compiles."""
        self.seam.reset()
        drop_generation()
        SITES.clear()  # of which those that have run alone so often would not wait
        for _ in range(0 if state == "cold" else 2):
            self.program(*self.inputs)

    def cases(self) -> Iterator[Case]:
        """Failures at calls spread evenly over those that the program makes."""
        for state, count in CALLS.items():
            self.enter(state)
            self.seam.reset()
            self.program(*self.inputs)
            passed = self.seam.passed
            for k, number in enumerate(range(1, len(passed) + 1, max(1, -(-len(passed) // count)))):
                what, line = passed[number - 1]
                errors = next(kinds for beginnings, kinds in RAISED.items() if what.startswith(beginnings))
                yield Case(self.name, state, number, what, line, errors[k % len(errors)], k % 2 == 1)

    def failure(self, case: Case) -> Exception | None:
        """What the program raises when a call fails; None if it recovers, with the right results."""
        self.enter(case.state)
        self.seam.reset(case.number, case.error, case.lasting)
        try:
            results = self.program(*self.inputs)
        except Exception as error:
            return error
        finally:
            self.seam.reset()
        self.check(results, case)
        return None

    def check(self, results: Any, case: Case) -> None:
        for got, want in zip(results, self.wanted, strict=True):
            np.testing.assert_array_equal(got, want, err_msg=str(case))

    def check_after(self, case: Case) -> None:
        """Recording is off, the inputs are unchanged, and the program gives the right results."""
        assert tls.tape is None, case
        assert not mx.autograd.is_training(), case
        for a, want in zip(self.inputs, self.given, strict=True):
            np.testing.assert_array_equal(a.asnumpy(), want, err_msg=str(case))
        self.check(self.program(*self.inputs), case)
        wait_for_all(case)


def raised_by(function: Callable[[], Any]) -> Exception | None:
    try:
        function()
    except Exception as error:
        return error
    return None


def wait_for_all(case: Case) -> None:
    """An error that nobody has read may be raised once, and is the injected failure."""
    error = raised_by(mx.nd.waitall)
    assert error is None or is_injected(error), (case, error)
    assert raised_by(mx.nd.waitall) is None, case


def is_injected(error: BaseException) -> bool:
    return "on purpose" in f"{error} {error.__cause__}"


def line_of(error: BaseException) -> int:
    """The line of the program at which an error was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f.lineno for f in frames if f.filename == failing_programs.__file__][-1] or 0


def names_its_line(error: BaseException, case: Case, where: str) -> bool:
    """Whether an immediate error is raised on its line, and a window's error names the line that issued the failing operation."""
    if where in ("naive", "inline"):
        return line_of(error) == case.line
    deferred = case.program in WINDOWED and not case.what.startswith(("xp.", *("memory", "scratch", "copy", "compile", "direct")))
    return not deferred or any(f"issued at {failing_programs.__file__}" in note for note in getattr(error, "__notes__", ()))


def kept() -> dict[str, int]:
    """The number of live objects of each kind that a failed program might leak."""
    drop_generation()
    gc.collect()
    counts = dict.fromkeys((Value, Window, Tape, TapeEntry), 0)
    for o in gc.get_objects():
        kind = type(o)  # leftovers of other tests may have no __class__
        if kind in counts:
            counts[kind] += 1
    return {kind.__name__: n for kind, n in counts.items()}


@pytest.fixture(params=later_in_ci(sorted(PLACES, key=lambda place: place not in {"deferred", "gpu late"}), 2))
def place(request, monkeypatch):
    """A mode and a device."""
    raised_by(mx.nd.waitall)  # objects left by other tests
    kind, _, schedule = request.param.partition(" ")
    with ExitStack() as stack:
        if kind == "gpu":
            yield request.param, stack.enter_context(fake_gpus(1, schedule))[0]
        else:
            set_mode(monkeypatch, kind)
            yield request.param, mx.cpu()


def test_a_failure_at_any_call_raises_our_error_and_harms_nothing(place):
    where, device = place
    raised = 0
    with seam_of([mx.cpu(), device], failing_programs.__file__) as seam:
        for name in PROGRAMS:
            injected, before = Injected(name, device, seam), None
            for case in injected.cases():
                error = injected.failure(case)
                raised += error is not None
                if error is not None:
                    assert isinstance(error, MXNetError), (case, error)
                    assert is_injected(error), (case, error)
                    assert case.error is FloatingPointError or isinstance(error, case.error), (case, error)
                    assert names_its_line(error, case, where), (case, error)
                del error
                injected.check_after(case)
                before = before or kept()
            assert kept() == before, name
    assert raised >= PLACES[where]
