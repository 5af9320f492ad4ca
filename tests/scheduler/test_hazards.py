"""Memory that a task or a copy still reads is not overwritten, whatever runs first."""

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.backend.kernel import ArrayType
from twofold.config import SETTINGS
from twofold.imperative.cell import wrap
from twofold.imperative.counters import COUNTERS
from twofold.imperative.pending import issue
from twofold.ndarray.array import NDArray
from twofold.scheduler.queue import seeded_schedule

from tests import probe
from tests.devices import fake_gpus
from tests.probe import captured, is_pending

BIG = (300, 300)
KIND = ArrayType(BIG, "float32")
CPU1 = mx.cpu(1)


def later(x: NDArray) -> NDArray:
    """Twice an array, computed by a task that nobody has started."""
    (out,) = issue(lambda arrays: [arrays[0] * 2], [captured(x)], [KIND], CPU1, float("inf"))
    return wrap(NDArray, out)


def test_a_task_does_not_see_writes_made_after_it_was_submitted():
    for write in ("x[:] = 0", "x += 1", "x[3] = 0", "x *= x"):
        with seeded_schedule(0):
            x = nd.ones(BIG, ctx=CPU1)
            x.wait_to_read()
            y = later(x)
            exec(write, {"x": x})
            x.wait_to_read()
            assert is_pending(y), "the task has not run yet"
            np.testing.assert_array_equal(y.asnumpy(), np.full(BIG, 2), err_msg=write)


def test_memory_read_by_a_window_and_a_task_is_not_written_until_both_are_done():
    with seeded_schedule(0):
        x = nd.ones(BIG, ctx=CPU1)
        x.wait_to_read()
        y = x * 3
        z = later(x)
        y.wait_to_read()
        x[:] = 0
        x.wait_to_read()
        assert is_pending(z)
        np.testing.assert_array_equal(z.asnumpy(), np.full(BIG, 2))
        np.testing.assert_array_equal(y.asnumpy(), np.full(BIG, 3))


@pytest.mark.parametrize("seed", range(6))
def test_a_write_to_a_tasks_result_is_not_seen_by_the_next_task(seed: int):
    with seeded_schedule(seed):
        x = nd.ones(BIG, ctx=CPU1)
        x.wait_to_read()
        y = later(x)
        z = later(y)
        y.wait_to_read()
        y[:] = 0
        np.testing.assert_array_equal(z.asnumpy(), np.full(BIG, 4))
        np.testing.assert_array_equal(y.asnumpy(), np.zeros(BIG))


def test_writes_are_in_place_again_after_the_task():
    with seeded_schedule(0):
        x = nd.ones(BIG, ctx=CPU1)
        x.wait_to_read()
        later(x).wait_to_read()
        before = probe.data(x)
        x[:] = 5
        assert probe.data(x) is before


def test_wait_to_write_waits_for_the_readers():
    with seeded_schedule(0):
        x = nd.ones(BIG, ctx=CPU1)
        x.wait_to_read()
        y = later(x)
        x.wait_to_write()
        assert not is_pending(y)


def test_arguments_can_be_written_while_the_executor_still_runs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(SETTINGS, "defer_elements", 1 << 30)  # not in a window
    a = mx.sym.Variable("a")
    out = mx.sym.dot(a, a)
    for seed in range(3):
        with seeded_schedule(seed):
            x = nd.ones(BIG, ctx=CPU1)
            executor = out.bind(CPU1, {"a": x}, {"a": nd.zeros(BIG, ctx=CPU1)})
            first = executor.forward(is_train=True)[0].copy()
            executor.backward([nd.ones(BIG, ctx=CPU1)])
            x[:] = 0
            second = executor.forward(is_train=True)[0]
            np.testing.assert_array_equal(first.asnumpy(), np.full(BIG, 300))
            np.testing.assert_array_equal(second.asnumpy(), np.zeros(BIG))
            np.testing.assert_array_equal(executor.grad_dict["a"].asnumpy(), np.full(BIG, 600))


@pytest.mark.parametrize("target", [mx.gpu(1), mx.cpu()], ids=str)
@pytest.mark.parametrize("schedule", ["issue", "late", "eager"])
def test_the_source_of_a_copy_can_be_overwritten_right_away(schedule: str, target: mx.Context):
    with fake_gpus(2, schedule) as gpus:
        for _ in range(3):
            a = nd.ones(BIG, ctx=gpus[0]) * 2
            a.wait_to_read()
            copies = [a.as_in_context(target)]
            donated = COUNTERS.donated
            a *= 0  # the old content is dead, so its memory takes the new one
            a += 7
            np.testing.assert_array_equal(a.asnumpy(), np.full(BIG, 7))
            assert target == mx.cpu() or COUNTERS.donated > donated
            np.testing.assert_array_equal(copies[0].asnumpy(), np.full(BIG, 2))


@pytest.mark.parametrize("schedule", ["issue", "late", "eager"])
def test_a_copy_waits_for_its_source_and_its_readers_wait_for_the_copy(schedule: str):
    with fake_gpus(2, schedule) as gpus:
        x = nd.array(np.arange(90_000, dtype=np.float32).reshape(BIG), ctx=gpus[0])
        y = (x + 1).as_in_context(gpus[1]) * 2
        z = (y - 3).as_in_context(gpus[0]) + x
        w = z.as_in_context(mx.cpu()) + 1
        expected = np.arange(90_000, dtype=np.float32).reshape(BIG)
        np.testing.assert_array_equal((y + 1).as_in_context(mx.cpu()).asnumpy(), (expected + 1) * 2 + 1)
        np.testing.assert_array_equal(w.asnumpy(), ((expected + 1) * 2 - 3) + expected + 1)


@pytest.mark.parametrize("schedule", ["late", "eager"])
def test_copies_of_copies_in_a_ring(schedule: str):
    with fake_gpus(3, schedule) as gpus:
        x = nd.ones(BIG, ctx=gpus[0])
        for k in range(1, 13):
            x = x.as_in_context(gpus[k % 3]) + 1
        np.testing.assert_array_equal(x.asnumpy(), np.full(BIG, 13))
