"""The CuPy adapter's tests run on simulated GPUs, or with TWOFOLD_TEST_GPU=device on a real one.

CuPy can be simulated only if it has not been imported yet, so this happens here, at collection. The simulation has no
devices except in the tests of this folder; other tests see a machine without GPUs.
"""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import twofold as mx
from twofold.backend import loader
from twofold.device import interned
from twofold.graph.tables import drop_generation

from tests.devices import forget_backends
from tests.fakes import simulation

REAL = os.environ.get("TWOFOLD_TEST_GPU") == "device"
WHY_NOT = None if REAL else simulation.missing()
SIMULATION = None if REAL or WHY_NOT else simulation.install()
DEVICES = 2
#: Set by `make test-gpu-sanitizer`: each array has its own allocation, so that the sanitizer sees accesses out of bounds.
SANITIZED = os.environ.get("TWOFOLD_TEST_SANITIZER") == "1"

#: Fixtures that need the simulation: schedules, poisoned memory, counts of issued work, failures on demand, memory returned at once.
simulated = pytest.mark.skipif(SIMULATION is None, reason="needs the simulation's schedules, counts or memory")
#: Tests that compute on ``gpus[1]`` too.
two_gpus = pytest.mark.usefixtures("second_gpu")


def launches_of(run: Callable[[], Any]) -> int | None:
    """The number of launches of a call; None on a real device, where they are not counted."""
    before = SIMULATION.counts().launches if SIMULATION else None
    run()
    return None if SIMULATION is None or before is None else SIMULATION.counts().launches - before


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests that need a real device if there is none, and all tests if CuPy cannot be simulated."""
    for item in items:
        if "tests/cupy" not in item.nodeid:
            continue
        if WHY_NOT:
            item.add_marker(pytest.mark.skip(reason=f"CuPy cannot be simulated: {WHY_NOT}"))
        elif not REAL and "needs_device" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="needs a real GPU: make test-gpu"))


@pytest.fixture(scope="module")
def gpus() -> Iterator[list[mx.Context]]:
    """``mx.gpu(0)`` and, if simulated or present, ``mx.gpu(1)``, on CuPy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TWOFOLD_BACKEND_GPU", "cupy")
        patch.delenv("TWOFOLD_FAKE_GPUS", raising=False)
        if SIMULATION is not None:
            SIMULATION.devices(DEVICES)
        forget_backends()
        try:
            found = [mx.gpu(k) for k in range(min(mx.num_gpus(), DEVICES))]
            if not found:
                loader.backend_for(interned("gpu", 0))  # says why there is none
            if SANITIZED:
                sys.modules["cupy"].cuda.set_allocator(None)
            yield found
            mx.nd.waitall()
        finally:
            forget_backends()
            if SIMULATION is not None:
                SIMULATION.schedule("late")
                SIMULATION.devices(0)


@pytest.fixture
def second_gpu(gpus: list[mx.Context]) -> mx.Context:
    """``mx.gpu(1)``; tests that use it are skipped if there is none."""
    if len(gpus) < DEVICES:
        pytest.skip("needs two GPUs")
    return gpus[1]


@pytest.fixture
def backend(gpus: list[mx.Context]) -> loader.Backend:
    """The adapter."""
    return loader.backend_for(interned("gpu", 0))


@pytest.fixture(params=simulation.SCHEDULES)
def schedule(request: pytest.FixtureRequest, gpus: list[mx.Context]) -> str:
    """Each order in which simulated streams can run; a real device has its own."""
    if SIMULATION is None:
        if request.param != "late":
            pytest.skip("a real device has a schedule of its own")
    else:
        SIMULATION.schedule(request.param, seed=1)
    return request.param


@pytest.fixture
def graphs(backend: loader.Backend) -> Any:
    """The adapter's graphs, without graphs or observations of other tests, in memory that holds no correct results of theirs."""
    from twofold_cupy.graph_cache import GraphCounts

    drop_generation()
    gc.collect()
    backend.trim()
    own = getattr(backend, "graphs")  # noqa: B009 (of the CuPy adapter alone)
    own.counts = GraphCounts()
    return own
