"""Fixtures for the tests of folding arrays: every site folds from the start, and no leftovers from other tests."""

import pytest

from twofold.graph.ir import drop_generation
from twofold.imperative.window import HERE
from twofold.numpy_folding import sites


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    monkeypatch.setattr(sites, "HOT", 0)
    sites.SITES.clear()
    yield
    HERE.by_device.clear()
    drop_generation()
