"""What tests of training need: GPUs that are not there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import twofold as mx
from twofold.backend import loader


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[mx.Context]]:
    """Two fake GPUs as ``mx.gpu(0)`` and ``mx.gpu(1)``."""
    monkeypatch.setenv("TWOFOLD_FAKE_GPUS", "2")
    loader._backend_of_kind.cache_clear()
    yield [mx.gpu(0), mx.gpu(1)]
    mx.nd.waitall()
    monkeypatch.undo()
    loader._backend_of_kind.cache_clear()
