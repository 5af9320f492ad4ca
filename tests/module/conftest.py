"""Fixtures for the tests of modules: fake GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.devices import fake_gpus

if TYPE_CHECKING:
    import twofold as mx


@pytest.fixture
def gpus() -> Iterator[list[mx.Context]]:
    """Two fake GPUs whose operations run late, which exposes missing waits."""
    with fake_gpus(2) as devices:
        yield devices
