"""Fake GPUs for a test: set up, and removed afterwards with everything that refers to them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

import twofold as mx
from twofold.backend import loader
from twofold.graph.tables import drop_generation
from twofold.imperative import window
from twofold.scheduler import streams


def forget_backends() -> None:
    """Make adapters load again, recompile programs for the new ones, and stop waiting for devices and copies of the old ones."""
    loader._backend_of_kind.cache_clear()
    window.USED.clear()
    streams._read_elsewhere.clear()
    drop_generation()


#: What `fake_gpus` returns instead when whole suites run on other GPUs.
instead: Callable[[int, str], AbstractContextManager[list[mx.Context]]] | None = None


def as_on_cpu(text: str) -> str:
    """A string with the default device's name replaced by cpu(0)."""
    return text.replace(str(mx.current_context()), "cpu(0)")


@contextmanager
def fake_gpus(count: int, schedule: str = "late") -> Iterator[list[mx.Context]]:
    """``mx.gpu(0)`` … as NumPy arrays whose operations run late (which exposes missing waits), at once, or in issue order."""
    if instead is not None:
        with instead(count, schedule) as contexts:
            yield contexts
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TWOFOLD_FAKE_GPUS", str(count))
        patch.setenv("TWOFOLD_FAKE_SCHEDULE", schedule)
        forget_backends()
        try:
            yield [mx.gpu(k) for k in range(count)]
            mx.nd.waitall()  # nothing pending may outlive its device
        finally:
            patch.undo()
            forget_backends()
