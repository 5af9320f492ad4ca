"""``mx.engine``: the bulk size, and the naive engine."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import twofold as mx
from twofold.config import SETTINGS
from twofold.imperative.counters import COUNTERS
from twofold.imperative.sites import SITES


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    monkeypatch.setattr(SETTINGS, "window_operations", 256)


def windows(size, operations=12):
    """How many windows that many operations take with a bulk size."""
    x = mx.nd.ones((300, 300))
    x.wait_to_read()
    COUNTERS.reset()
    SITES.clear()
    with mx.engine.bulk(size):
        for _ in range(operations):
            x = x + 1
        np.testing.assert_array_equal(x[0, :2].asnumpy(), 1 + operations)
    return COUNTERS.windows


def test_the_previous_size_is_returned():
    assert [mx.engine.set_bulk_size(n) for n in (10, 0, 7)] == [256, 10, 0]


def test_a_block_sets_the_bulk_size_and_restores_the_old_one():
    mx.engine.set_bulk_size(5)
    with mx.engine.bulk(30):
        assert SETTINGS.window_operations == 30
        with mx.engine.bulk(40):
            assert mx.engine.set_bulk_size(41) == 40
        assert mx.engine.set_bulk_size(31) == 30
    assert SETTINGS.window_operations == 5


def test_a_failing_block_restores_the_old_bulk_size():
    def fail():
        with mx.engine.bulk(44):
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert SETTINGS.window_operations == 256


def test_a_block_can_be_entered_twice():
    block = mx.engine.bulk(30)
    with block:
        with block:
            mx.engine.set_bulk_size(3)
        assert SETTINGS.window_operations == 30
    assert SETTINGS.window_operations == 256


def test_bulk_size_is_the_number_of_operations_run_together():
    assert windows(100) == 1
    assert windows(4) > windows(8) > 1
    assert windows(1) == windows(0) >= 12


@pytest.mark.parametrize("size", ["x", 2.5, None])
def test_a_bulk_size_must_be_an_integer(size):
    with pytest.raises(TypeError):
        mx.engine.set_bulk_size(size)
    with pytest.raises(TypeError):
        mx.engine.bulk(size)


def test_a_negative_bulk_size_is_rejected():
    with pytest.raises(mx.MXNetError):
        mx.engine.set_bulk_size(-1)


def test_overlapping_blocks_of_two_threads_restore_the_bulk_size():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with mx.engine.bulk(20):
            inside.set()
            leave.wait(60)

    worker = threading.Thread(target=other)
    with mx.engine.bulk(10):
        worker.start()
        inside.wait(60)
        assert SETTINGS.window_operations == 20
    assert SETTINGS.window_operations == 20  # the other thread's block is still open
    leave.set()
    worker.join()
    assert SETTINGS.window_operations == 256


def test_threads_in_blocks_of_their_own_get_the_same_results():
    errors = []

    def work(size):
        try:
            for _ in range(5):
                x = mx.nd.ones((300, 300))
                with mx.engine.bulk(size):
                    for _ in range(10):
                        x = x * 2 - 1
                    assert (x.asnumpy() == 1).all()
        except AssertionError as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(n,)) for n in (1, 3, 7, 50)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not errors
    assert SETTINGS.window_operations == 256


@pytest.mark.parametrize(
    ("variables", "engine"),
    [
        ({"MXNET_ENGINE_TYPE": "NaiveEngine"}, "naive"),
        ({"MXNET_ENGINE_TYPE": "ThreadedEnginePerDevice"}, "window"),
        ({"MXNET_ENGINE_TYPE": "NaiveEngine", "TWOFOLD_ENGINE": "window"}, "window"),
        ({"TWOFOLD_ENGINE": "naive"}, "naive"),
    ],
)
def test_an_environment_variable_selects_the_engine(variables, engine):
    outside = {k: v for k, v in os.environ.items() if k not in ("MXNET_ENGINE_TYPE", "TWOFOLD_ENGINE")}
    code = "from twofold.config import SETTINGS; print(SETTINGS.engine)"
    result = subprocess.run(
        [sys.executable, "-c", code], env={**outside, **variables}, capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout.strip() == engine
