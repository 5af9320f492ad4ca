"""`Watch`: an operation is given up when it has waited too long, and its time begins again when a worker dies in it."""

from __future__ import annotations

from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest

from twofold.kvstore import watch as module
from twofold.kvstore.watch import CollectiveCall, Watch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SECONDS, LIMIT = 30.0, 60.0


class Silence:
    """A channel to two workers, of which none says anything."""

    rank, size = 0, 3

    def __init__(self) -> None:
        self.dead = set[int]()

    def replace(self, comm: Any, members: Sequence[int], size: int) -> None:
        raise AssertionError("no spares join")

    def send(self, dest: int, *words: int) -> None:
        """Nothing arrives."""

    def poll(self) -> None:
        return None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that the watch sees, which only the test moves."""
    now = [1000.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    monkeypatch.setattr(Watch.silent, "__defaults__", (-1.0,))  # answers are not waited for
    return now


@pytest.fixture
def watched(clock: list[float]) -> Iterator[tuple[Watch, Silence, SimpleQueue[str]]]:
    """A watch in its second operation of a label, its channel, and what it fails with."""
    failures, channel = SimpleQueue[str](), Silence()
    watch = Watch(channel, SECONDS, failures.put)
    watch.begin("push", CollectiveCall(0))
    watch.end()
    watch.begin("push", CollectiveCall(0))
    yield watch, channel, failures
    watch.stop()


def test_an_operation_is_given_up_after_its_time(watched: Any, clock: list[float]) -> None:
    _, _, failures = watched
    clock[0] += SECONDS + 1
    assert "push (operation 2) has waited for 31 s: no answer from worker 1, 2" in failures.get(timeout=LIMIT)


def test_an_operation_in_which_a_worker_dies_has_its_time_once_more(watched: Any, clock: list[float]) -> None:
    watch, channel, failures = watched
    clock[0] += SECONDS - 1
    channel.dead.add(2)
    while 2 not in watch.lost:
        watch._stopped.wait(0.001)
    watch.lose(2)  # as `Survivors` notes it too
    clock[0] += SECONDS - 1
    watch.lose(2)
    assert failures.empty()
    clock[0] += 2
    assert "push (operation 2) has waited for 60 s: no answer from worker 1;" in failures.get(timeout=LIMIT)
