"""Fixtures for the examples: fake GPUs."""

from collections.abc import Iterator

import pytest

import twofold as mx

from tests.devices import fake_gpus


@pytest.fixture
def gpus() -> Iterator[list[mx.Context]]:
    """Four fake GPUs whose operations run late, which exposes missing waits."""
    with fake_gpus(4) as devices:
        yield devices
