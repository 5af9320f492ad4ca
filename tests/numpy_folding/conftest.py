"""Fixtures for the tests of folding arrays: chains are programs from the start, and sites never stop folding."""

import pytest

from twofold.graph.tables import drop_generation
from twofold.imperative.window import HERE
from twofold.numpy_folding import error_state, sites


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    # pytest makes warnings errors, and what may raise does not wait
    monkeypatch.setattr(error_state, "warnings_are_errors", lambda: False)
    monkeypatch.setattr(error_state, "_last", (None, None, -1, None, None))
    monkeypatch.setattr(sites, "HOT", 0)
    monkeypatch.setattr(sites, "has_machine_code", lambda: True)
    monkeypatch.setattr(sites, "ALONE", 1 << 60)
    sites.SITES.clear()
    yield
    HERE.by_device.clear()
    drop_generation()
