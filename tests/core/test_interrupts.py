"""Ctrl-C or a full memory at any line: the program that goes on gets right results."""

from __future__ import annotations

import ast
import contextlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.errors import EngineError
from twofold.imperative.tape import tls

from tests.core import interrupts
from tests.core.interrupted_paths import PATHS
from tests.core.operators import SIZE

ROOT = Path(__file__).parents[2]
#: One of so many lines; an odd number, so that both errors come to both.
EVERY = max(1, 30_001 // int(os.environ.get("FUZZ_CASES", "300")) | 1)
SEED = int(os.environ.get("FUZZ_SEED", "0"))


@pytest.mark.fuzz
def test_a_program_goes_on_after_an_interrupt_at_any_line() -> None:
    command = [sys.executable, "-m", "tests.core.interrupts", str(SEED % EVERY), str(EVERY)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=7200, check=False)
    assert done.returncode == 0, done.stderr
    *broken, totals = done.stdout.splitlines()
    assert not broken, "\n".join(broken)
    assert ast.literal_eval(totals)["interrupted"] * EVERY > 10_000, totals


@pytest.mark.parametrize("other", [1, 1.0, "array"])
@pytest.mark.parametrize("module", [nd, mx.np], ids=["nd", "np"])
def test_an_addition_in_place_without_memory_at_any_of_its_lines_adds_once_or_not_at_all(module, other):
    """Each line, also one behind the write: there an error must not lead to the general path, which would add again."""
    x = module.ones((3,))
    b = module.ones((3,)) if other == "array" else other
    for _ in range(3):
        x += b
    lines = []

    def note(frame, event, _):
        if event == "line":
            lines.append((frame.f_code.co_filename, frame.f_lineno))
        return note

    with interrupts.tracing(note):
        x += b
    assert lines
    for line in lines:
        names = {"x": module.zeros((3,))}

        def add(names=names):
            names["x"] += b

        interrupts.interrupted(add, line, MemoryError)
        assert names["x"].asnumpy().tolist() in ([0.0] * 3, [1.0] * 3), line


@pytest.mark.parametrize("name", ["measure", "records"])
def test_a_sum_or_a_record_that_is_interrupted_at_any_line_is_there_or_not(name):
    for action in PATHS[name](next(interrupts.sizes)):
        action()
    running = PATHS[name](next(interrupts.sizes))
    lines = interrupts.lines_of(next(running))
    for _ in running:
        pass
    broken = [
        (line, error.__name__, failed)
        for line in lines
        for error in (KeyboardInterrupt, MemoryError)
        if (failed := interrupts.trial(name, line, error, Counter()))
    ]
    assert len(lines) > 10
    assert not broken


def test_an_interrupt_while_a_tape_is_closed_does_not_leave_recording_on():
    class Interrupting(list):
        def __iter__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), mx.autograd.record():
        tls.tape.entered = Interrupting()
    assert not mx.autograd.is_recording()
    assert not mx.autograd.is_training()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_write_to_a_variable_that_is_interrupted_leaves_it_a_variable(error: type[BaseException]) -> None:
    def made():
        x = nd.ones((3,))
        x.attach_grad()
        return x

    def written(x):
        nd.sgd_update(x, nd.ones((3,)), out=x, lr=0.5)

    for _ in range(2):
        written(made())
    lines, arrays = interrupts.lines_of(lambda: written(made())), []
    assert lines
    for line in lines:
        arrays.append(x := made())
        interrupts.interrupted(lambda x=x: written(x), line, error)
        with mx.autograd.record():
            y = (x * x).sum()
        y.backward()
        assert x.asnumpy().tolist() in ([1.0] * 3, [0.5] * 3)
        np.testing.assert_array_equal(x.grad.asnumpy(), 2 * x.asnumpy())


@pytest.mark.parametrize(
    ("event", "function"),
    [("return", "close"), ("call", "run_closed"), ("call", "run_here"), ("call", "_perform"), ("call", "_run_closed"), ("call", "_finish")],
)
def test_a_window_that_is_interrupted_before_it_runs_is_lost_and_not_left_running(deferred, event: str, function: str) -> None:
    x = nd.ones((SIZE,))
    y = x * 3.0 - 1.0

    def local(frame, kind, _):
        if kind == event and frame.f_code.co_name == function:
            sys.settrace(None)
            raise KeyboardInterrupt
        return local

    before = sys.gettrace()
    sys.settrace(local)
    with pytest.raises(KeyboardInterrupt):
        y.wait_to_read()
    sys.settrace(before)
    for _ in range(2):
        with contextlib.suppress(EngineError):
            assert y.asnumpy().tolist() == [2.0] * SIZE
    nd.waitall()
    y[:] = 3.0
    assert (x + y).asnumpy().tolist() == [4.0] * SIZE


def test_what_an_interrupted_recording_has_read_is_not_read_by_the_next_one(deferred) -> None:
    w, step = nd.ones((SIZE,)), nd.ones((SIZE,))
    w.attach_grad()

    def recorded():
        with mx.autograd.record():
            return (w * 2.0 * w).sum()

    lines = [line for line in interrupts.lines_of(recorded) if line[0].endswith("deferral.py")]
    assert lines
    for line in lines:
        interrupts.interrupted(recorded, line, KeyboardInterrupt)
        nd.sgd_update(w, step, out=w, lr=1.0)
        values = w.asnumpy()
        assert recorded().asscalar() == (values * 2 * values).sum(), line
