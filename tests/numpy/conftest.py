"""Fixtures for the tests of ``np``: fake GPUs, verified graphs, and no leftovers from other tests."""

from collections.abc import Iterator

import pytest

from twofold.config import SETTINGS
from twofold.device import ENTERED
from twofold.graph.tables import drop_generation
from twofold.imperative.tape import tls
from twofold.imperative.window import HERE
from twofold.numpy.array import ndarray
from twofold.numpy.machine_code import MachineCode

from tests.devices import fake_gpus as fake
from tests.machine_code import METHODS, array_methods


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


@pytest.fixture
def code() -> Iterator[MachineCode]:
    """Methods of arrays in machine code, in a process that has chosen no device."""
    entered = ENTERED.copy()
    ENTERED.clear()
    with array_methods() as found:
        if found is None:
            pytest.skip("no llvmlite")
        assert isinstance(vars(ndarray)["__add__"], METHODS)
        yield found
    ENTERED.extend(entered)
