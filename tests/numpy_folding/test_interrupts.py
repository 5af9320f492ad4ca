"""Ctrl-C while folding arrays change."""

import sys
from linecache import getline

import pytest

from twofold.numpy_folding.array import FoldingArray
from twofold.numpy_folding.face import numpy as np
from twofold.numpy_folding.memory import LOCK

N = 100_000


def interrupted(action, at, folder=""):
    """Run a function with Ctrl-C at an event, each call and each line in files of a folder; the number of events, and whether it came.

    The end of a `with` statement is no event: a signal's handler cannot raise between the last instruction of the body and `__exit__`.
    """
    events = 0
    entered = set()

    def local(frame, event, _):
        nonlocal events
        if folder not in frame.f_code.co_filename:
            return None
        if event == "line" and getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with "):
            place = frame, frame.f_lineno
            if place in entered:
                entered.remove(place)
                return local
            entered.add(place)
        events += 1
        if events == at:
            raise KeyboardInterrupt
        return local

    before = sys.gettrace()
    sys.settrace(local)
    try:
        action()
    except KeyboardInterrupt:
        return events, True
    finally:
        sys.settrace(before)
        assert not LOCK._is_owned()
    return events, False


def ramp():
    return np.arange(float(N))


@pytest.mark.parametrize("waits", [False, True])
def test_an_update_in_place_that_is_interrupted_leaves_the_old_or_the_new_content(waits):
    """At each call and each line: a read finds one content, without waiting for the other, and no result takes its memory."""

    def updated(interrupted_at):
        x, other = ramp(), ramp() * 2 + 1
        if waits:
            x = x * 1.0
        assert type(other) is FoldingArray
        assert other.array is None

        def update():
            nonlocal x
            x += other

        events, _ = interrupted(update, interrupted_at, "numpy_folding")
        if interrupted_at:
            results = [other * 3 - k for k in range(3)]
            del other
            assert results[2][1] == 7
            assert (x[1], x[N - 1]) in ((1, N - 1), (4, 3 * N - 2))
        return events

    total = updated(0)
    assert total > 20
    for k in range(1, total + 1):
        updated(k)


def test_a_loop_whose_results_are_interrupted_computes_them_again():
    """Each result reads the last one, to which nothing else refers: its memory must stay until the next one is there."""

    def stepped(y):
        return np.maximum(y * 1.0 + 1.0, -5.0) - 0.0

    y = np.zeros(N) + 0.0
    for _ in range(100):  # until the loop's sites have programs
        y = stepped(y)
        assert y[5] > 0
    interrupts = 0
    for k in range(1, 400):
        y = stepped(y)
        interrupts += interrupted(lambda y=y: float(y[5]), k)[1]
        assert y.min() == y.max() == 100 + k
    assert interrupts > 100
