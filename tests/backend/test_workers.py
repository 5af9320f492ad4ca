"""Helper threads that run Python: every piece of a task has ended when the task returns, interrupted or not."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from twofold.backend import workers
from twofold.backend.workers import run_all

from tests.core.signals import interrupted_at
from tests.core.test_other_threads import after_calls


@pytest.fixture(autouse=True)
def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "count", lambda: 2)


def test_each_piece_runs_once() -> None:
    for number in range(1, 40):
        done: list[int] = []
        run_all([partial(done.append, k) for k in range(number)])
        assert sorted(done) == list(range(number))


def test_an_error_of_a_piece_is_raised_when_no_other_piece_runs() -> None:
    for wrong in range(4):
        running, begun = [0], threading.Event()

        def piece(k: int, wrong: int = wrong, running: list[int] = running, begun: threading.Event = begun) -> None:
            running[0] += 1
            begun.set()
            time.sleep(0.002)
            running[0] -= 1
            if k == wrong:
                raise IndexError(k)

        with pytest.raises(IndexError, match=str(wrong)):
            run_all([lambda k=k, piece=piece: piece(k) for k in range(4)])
        assert running == [0]


def test_an_interrupt_at_any_point_waits_for_the_pieces_that_have_begun() -> None:
    # lists, as a count would lose additions by several threads
    begun: list[int] = []
    ended: list[int] = []

    def piece() -> None:
        begun.append(1)
        time.sleep(0.001)
        ended.append(1)

    def run(offset: int, times: int, found: list[bool]) -> None:
        found.append(interrupted_at(lambda: run_all([piece] * 6), run_all.__code__, offset, times))
        running.append(len(begun) - len(ended))

    reached = 0
    for offset in after_calls(run_all.__code__):
        for times in (1, 2, 3):
            begun.clear()
            ended.clear()
            found, running = list[bool](), list[int]()
            # in a thread, which a mistake would leave waiting
            thread = threading.Thread(target=run, args=(offset, times, found), daemon=True)
            thread.start()
            thread.join(5)
            assert found, f"waits for ever after an interrupt at {offset}"
            if found[0]:
                reached += 1
            else:
                assert len(ended) == 6
            assert running == [0], f"a piece runs on after an interrupt at {offset}"
    assert reached > 8


def test_an_interrupt_while_a_helper_is_awaited_is_raised_when_it_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupts = [0]

    class Interrupted(workers.SimpleQueue):  # type: ignore[type-arg]
        def get(self, *given: object) -> object:
            if threading.current_thread() is threading.main_thread() and not interrupts[0]:
                interrupts[0] += 1
                raise KeyboardInterrupt
            return super().get(*given)  # type: ignore[arg-type]

    workers._queue()
    helped, ended = threading.Event(), []

    def of_the_helper() -> None:
        helped.set()
        time.sleep(0.05)
        ended.append(1)

    monkeypatch.setattr(workers, "SimpleQueue", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_all([lambda: helped.wait(5), of_the_helper])
    assert interrupts == [1]
    assert ended == [1]
