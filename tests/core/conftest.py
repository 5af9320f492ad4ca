"""Fixtures for the core's tests: execution modes, verified graphs, and no leftovers from other tests."""

import pytest

from twofold.config import SETTINGS
from twofold.graph.tables import NODE_BYTES, drop_generation
from twofold.imperative.counters import COUNTERS
from twofold.imperative.tape import tls
from twofold.imperative.window import HERE

from .operators import SIZE

#: Settings of each mode: in "deferred" every array of SIZE elements joins the window, and its element-wise operations fuse.
MODES = {
    "naive": {"engine": "naive", "defer_elements": SIZE},
    "inline": {"engine": "window", "defer_elements": 1 << 40},
    "deferred": {"engine": "window", "defer_elements": SIZE},
}


def set_mode(monkeypatch, name):
    for setting, value in MODES[name].items():
        monkeypatch.setattr(SETTINGS, setting, value)


def limit_nodes(monkeypatch, nodes):
    """Forget what is not used whenever the tables have more than some nodes."""
    monkeypatch.setattr(SETTINGS, "graph_memory", nodes * NODE_BYTES)


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    monkeypatch.setattr(SETTINGS, "verify", True)
    drop_generation()  # programs compiled by other tests used those tests' settings
    COUNTERS.reset()
    yield
    assert tls.tape is None
    HERE.by_device.clear()


@pytest.fixture(params=MODES)
def mode(request, monkeypatch):
    """Every mode of execution, one after another."""
    set_mode(monkeypatch, request.param)
    return request.param


@pytest.fixture
def deferred(monkeypatch):
    """Operations on arrays of SIZE elements are deferred."""
    set_mode(monkeypatch, "deferred")


@pytest.fixture
def inline(monkeypatch):
    """No operation is deferred."""
    set_mode(monkeypatch, "inline")
