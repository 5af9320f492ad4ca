"""Fixtures for the tests of training: fake GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.devices import fake_gpus

if TYPE_CHECKING:
    import twofold as mx


@pytest.fixture
def gpus() -> Iterator[list[mx.Context]]:
    """Two fake GPUs as ``mx.gpu(0)`` and ``mx.gpu(1)``."""
    with fake_gpus(2, "issue") as devices:
        yield devices
