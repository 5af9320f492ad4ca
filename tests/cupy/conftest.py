"""The CuPy adapter's tests run on simulated GPUs, or with TWOFOLD_TEST_GPU=device on a real one.

CuPy can be simulated only where nobody imported it before: so that happens here, when tests are collected. The simulation has no
devices but in the tests of this folder, and other tests see a machine without GPUs.
"""

import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest

import twofold as mx
from twofold.backend import loader
from twofold.device import Device
from twofold.graph.ir import drop_generation

from tests.devices import forget_backends
from tests.fakes import simulation

REAL = os.environ.get("TWOFOLD_TEST_GPU") == "device"
WHY_NOT = None if REAL else simulation.missing()
SIMULATION = None if REAL or WHY_NOT else simulation.install()
DEVICES = 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a real device where there is none, and all where CuPy cannot be simulated."""
    for item in items:
        if "tests/cupy" not in item.nodeid:
            continue
        if WHY_NOT:
            item.add_marker(pytest.mark.skip(reason=f"CuPy cannot be simulated: {WHY_NOT}"))
        elif not REAL and "needs_device" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="needs a real GPU: make test-gpu"))


@pytest.fixture(scope="module")
def gpus() -> Iterator[list[mx.Context]]:
    """``mx.gpu(0)`` and, simulated, ``mx.gpu(1)``, on CuPy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TWOFOLD_BACKEND_GPU", "cupy")
        patch.delenv("TWOFOLD_FAKE_GPUS", raising=False)
        if SIMULATION is not None:
            SIMULATION.devices(DEVICES)
        forget_backends()
        try:
            yield [mx.gpu(k) for k in range(mx.num_gpus())]
            mx.nd.waitall()
        finally:
            forget_backends()
            if SIMULATION is not None:
                SIMULATION.schedule("late")
                SIMULATION.devices(0)


@pytest.fixture
def backend(gpus: list[mx.Context]) -> loader.Backend:
    """The adapter."""
    return loader.backend_for(Device("gpu", 0))


@pytest.fixture(params=simulation.SCHEDULES)
def schedule(request: pytest.FixtureRequest, gpus: list[mx.Context]) -> str:
    """Each order in which simulated streams run; a real device has its own."""
    if SIMULATION is None:
        if request.param != "late":
            pytest.skip("a real device has a schedule of its own")
    else:
        SIMULATION.schedule(request.param, seed=1)
    return request.param


@pytest.fixture
def graphs(backend: loader.Backend) -> Any:
    """The adapter's graphs: none of another test's, nothing known of any program, in memory that holds no right numbers of one."""
    from twofold_cupy.capture import Counts

    drop_generation()
    gc.collect()
    backend.trim()
    own = getattr(backend, "graphs")  # noqa: B009 (of the CuPy adapter alone)
    own.counts = Counts()
    return own
