"""Fixtures for the tests of ``np``: fake GPUs, verified graphs, and no leftovers from other tests."""

import pytest

from twofold.config import SETTINGS
from twofold.graph.tables import drop_generation
from twofold.imperative.tape import tls
from twofold.imperative.window import HERE

from tests.devices import fake_gpus as fake


@pytest.fixture
def fake_gpus():
    """Two fake GPUs whose operations run late, which exposes missing waits."""
    with fake(2) as devices:
        yield devices


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    monkeypatch.setattr(SETTINGS, "verify", True)
    yield
    assert tls.tape is None
    HERE.by_device.clear()
    drop_generation()
