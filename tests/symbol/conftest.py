"""Shared by the tests of symbols: fake GPUs."""

from collections.abc import Iterator

import pytest

import twofold as mx

from tests.devices import fake_gpus


@pytest.fixture
def gpus() -> Iterator[list[mx.Context]]:
    """Two fake GPUs whose operations run late, which exposes missing waits."""
    with fake_gpus(2) as devices:
        yield devices
