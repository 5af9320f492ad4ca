"""``mx.explain()``: which line triggered what, what was fused, what ran inline."""

import inspect
import threading

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd
from twofold.scheduler.observers import LISTENERS

from .operators import ramp


def here():
    """The line of this file that calls this function."""
    return f"test_explanation.py:{inspect.currentframe().f_back.f_lineno}"


@pytest.mark.usefixtures("deferred")
def test_the_report_names_the_line_that_triggered_a_run():
    x = nd.array(ramp(1.0))
    with mx.explain() as report:
        y = (x * 2.0).exp() + 1.0
        value, line = y.asnumpy(), here()
    np.testing.assert_allclose(value, np.exp(ramp(1.0) * 2) + 1, rtol=1e-6)
    (flush,) = report.flushes
    assert (flush.line, flush.cause, flush.operations, flush.kernels) == (line, "window", 3, 1)
    assert flush.steps == flush.printed == ("multiply + exp + add",)
    assert flush.source == flush.program.source
    assert str(report).startswith("1 program, 1 fused kernel, 128 bytes read and written\n")
    assert flush.nbytes == report.nbytes == 2 * 4 * 16
    assert report.inline == {}


@pytest.mark.usefixtures("deferred")
def test_results_nobody_reads_are_not_reported():
    x = nd.array(ramp(1.0))
    with mx.explain() as report:
        x * 3.0
        (x + 1.0).wait_to_read()
    assert [f.steps for f in report.flushes] == [("add",)]


@pytest.mark.usefixtures("inline")
def test_inline_operations_are_counted():
    x = nd.array(ramp(1.0))
    (x * 2.0).exp()  # a structure's first use
    with mx.explain() as report:
        (x * 2.0).exp() * 2.0
    assert report.inline == {"multiply": 2, "exp": 1}
    assert report.flushes == []


@pytest.mark.usefixtures("inline")
def test_backward_is_a_program_and_its_steps_are_not_counted_twice():
    x = nd.array(ramp(1.0))
    x.attach_grad()
    for _ in range(2):
        with mx.explain() as report:
            with autograd.record():
                y = (x * x).exp()
            y.backward()
    assert [f.cause for f in report.flushes] == ["backward"]
    assert "multiply" in report.flushes[0].steps
    assert report.inline == {"multiply": 1, "exp": 1}


def test_executors_are_shown():
    executor = (mx.sym.sin(mx.sym.var("a")) * 2).bind(mx.cpu(), {"a": nd.array(ramp(1.0))})
    with mx.explain() as report:
        executor.forward()
    assert [f.cause for f in report.flushes] == ["forward"]
    assert "sin" in str(report)


@pytest.mark.usefixtures("deferred")
def test_other_threads_and_other_times_are_not_reported():
    x = nd.array(ramp(1.0))

    def elsewhere():
        (x * 5.0).wait_to_read()

    with mx.explain() as report:
        t = threading.Thread(target=elsewhere)
        t.start()
        t.join()
    (x * 6.0).wait_to_read()
    assert report.flushes == []
    assert not LISTENERS


@pytest.mark.usefixtures("deferred")
def test_work_that_waits_already_is_not_reported():
    x = nd.array(ramp(1.0))
    before = x * 5.0
    with mx.explain() as report:
        y = before + 1.0
        y.wait_to_read()
    assert [f.steps for f in report.flushes] == [("add",)]
    assert report.flushes[0].operations == 1


@pytest.mark.usefixtures("deferred")
def test_work_that_still_waits_at_the_end_is_reported_there():
    x = nd.array(ramp(1.0))
    line = f"test_explanation.py:{inspect.currentframe().f_lineno + 1}"
    with mx.explain() as report:
        y = x * 5.0
    assert [f.steps for f in report.flushes] == [("multiply",)]
    assert report.flushes[0].line == line
    np.testing.assert_array_equal(y.asnumpy(), ramp(1.0) * 5)


@pytest.mark.usefixtures("deferred")
def test_work_of_another_thread_that_this_one_runs_is_not_reported():
    x, theirs = nd.array(ramp(1.0)), []
    issued, finished = threading.Event(), threading.Event()

    def elsewhere():
        theirs.append(x * 5.0)
        issued.set()
        finished.wait(60)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    issued.wait(60)
    with mx.explain() as report:
        theirs[0].wait_to_read()
        (x + 1.0).wait_to_read()
    finished.set()
    thread.join()
    assert [f.steps for f in report.flushes] == [("add",)]


@pytest.mark.usefixtures("deferred")
def test_work_of_this_thread_that_another_one_runs_is_reported():
    x = nd.array(ramp(1.0))
    with mx.explain() as report:
        y = x * 5.0
        thread = threading.Thread(target=y.wait_to_read)
        thread.start()
        thread.join()
    assert [f.steps for f in report.flushes] == [("multiply",)]


@pytest.mark.usefixtures("deferred")
def test_an_error_within_closes_the_report():
    with pytest.raises(ValueError, match="add"), mx.explain():
        nd.array(ramp(1.0)) + nd.zeros((3,))
    assert not LISTENERS
