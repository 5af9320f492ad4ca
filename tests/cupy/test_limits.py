"""The share of each GPU's memory that arrays and graphs together leave free: TWOFOLD_GPU_MEMORY_RESERVE."""

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.config import SETTINGS
from twofold.device import interned
from twofold.errors import DeviceOutOfMemory
from twofold.graph.tables import drop_generation

from tests.cupy.captured import drawn
from tests.cupy.conftest import simulated

cupy = pytest.importorskip("cupy")
graph_io = pytest.importorskip("twofold_cupy.graph_io")
limits = pytest.importorskip("twofold_cupy.limits")
GPU, OTHER = interned("gpu", 0), interned("gpu", 1)
pytestmark = simulated
MIB = 1 << 20


@pytest.fixture
def limit(backend, graphs, monkeypatch):
    """The bytes of gpu(0) that may be used: a tenth of the total, plus what cuBLAS workspaces and the like already occupy."""
    backend.trim()
    total = backend.memory_info(GPU)[1]
    monkeypatch.setattr(SETTINGS, "gpu_memory_reserve", 89 - -(-100 * max(taken(backend, 0), taken(backend, 1)) // total))
    backend.trim()
    yield backend._on(0, limits.limit)
    monkeypatch.undo()
    backend.trim()
    assert cupy.get_default_memory_pool().get_limit() == 0


def taken(backend, device=0):
    return backend._on(device, limits.taken_bytes)


def test_arrays_stay_within_the_limit(backend, limit):
    total = backend.memory_info(GPU)[1]
    assert limit == total * (100 - SETTINGS.gpu_memory_reserve) // 100
    mine = backend.from_host(np.ones((1000, 250), np.float32), GPU)
    free = backend.memory_info(GPU)[0]
    assert free <= limit - mine.nbytes
    with pytest.raises(DeviceOutOfMemory, match=r"float32\[1000, 250\] 1.0 MiB") as caught:
        backend.empty((free + MIB,), "uint8")
    assert f"TWOFOLD_GPU_MEMORY_RESERVE leaves {SETTINGS.gpu_memory_reserve} % of the memory to other processes" in str(caught.value)
    rest = backend.empty((free - MIB,), "uint8")
    assert taken(backend) <= limit
    assert rest.size + mine.nbytes <= limit
    np.testing.assert_array_equal(backend.to_host(mine)[0, :2], [1, 1])  # and the process continues


def test_unused_memory_is_released_for_new_allocations(backend, limit):
    """Pool blocks that are too small, and memory held until a mark."""
    room = backend.memory_info(GPU)[0]
    parts = [backend.empty((room // 8,), "uint8") for _ in range(7)]
    backend.hold(parts[0], backend.record(backend.stream(GPU)))
    del parts
    assert backend.empty((room - MIB,), "uint8").nbytes == room - MIB


def test_each_device_has_its_own_limit(backend, limit):
    here = backend.empty((backend.memory_info(GPU)[0] - MIB,), "uint8")
    with backend.stream(OTHER):
        there = backend.empty((backend.memory_info(OTHER)[0] - MIB,), "uint8")
        with pytest.raises(DeviceOutOfMemory):
            backend.empty((2 * MIB,), "uint8")
    assert (here.device.id, there.device.id) == (0, 1)


def captured(gpu):
    x = nd.array(drawn(4, 250_000), ctx=gpu)
    for _ in range(5):
        y = ((x.sum() + x).sum() * x).tanh() + 1 / x.max()
        y.wait_to_read()
    return x


def test_graphs_and_arrays_share_one_limit(gpus, backend, limit, graphs):
    x = captured(gpus[0])
    own = graphs.nbytes(0)
    assert own > 4 * 10**6
    free = backend.memory_info(GPU)[0]
    assert free <= limit - own - x.asnumpy().nbytes
    assert cupy.get_default_memory_pool().get_limit() <= limit - own
    rest = backend.empty((free - MIB,), "uint8")
    assert (len(graphs), taken(backend) <= limit) == (1, True)
    more = backend.empty((3 * MIB,), "uint8")  # replacing the graph
    assert (len(graphs), graphs.nbytes(0)) == (0, 0)
    assert taken(backend) <= limit
    assert rest.size + more.size > free


def test_graph_memory_over_the_limit_is_rejected(backend, limit):
    with backend.stream(GPU):
        graphs, others, room = limits._taken_by_graphs(), taken(backend), backend.memory_info(GPU)[0]
        arrays = backend.empty((room // 2,), "uint8")
        first = limits.private(room // 4)
        with pytest.raises(cupy.cuda.memory.OutOfMemoryError):
            limits.private(room // 3)
        assert cupy.get_default_memory_pool().get_limit() == limit - first.mem.size - graphs
        del arrays
        backend.trim()
        second = limits.private(room // 3)
        assert taken(backend) == others + first.mem.size + second.mem.size
        del first, second
        limits.apply()
        assert cupy.get_default_memory_pool().get_limit() == limit - graphs


def test_a_loan_keeps_its_blocks_pool_alive(backend, graphs):
    backend.trim()
    before = backend._on(0, cupy.cuda.runtime.memGetInfo)[0]
    with backend.stream(GPU):
        pool = limits.PrivatePool(limits.private)
        block = pool.malloc(MIB)
        del block
        loan = graph_io.Loan(cupy.ndarray((1000,), np.uint8, pool.malloc(1000)), pool)
        del pool
        assert cupy.cuda.runtime.memGetInfo()[0] == before - MIB
        del loan
        assert cupy.cuda.runtime.memGetInfo()[0] == before


@pytest.mark.ci
def test_a_kept_result_holds_only_its_block(gpus, backend, graphs):
    backend.trim()
    before, kept = backend._on(0, limits._taken_by_graphs), []
    for n in range(1, 4):
        x = nd.array(np.full((4, 100_000 + n), 0.5), ctx=gpus[0])
        for _ in range(6):
            y = (((x.sum() + x).sum() * x).tanh() + 1 / x.max()).sum()
            y.wait_to_read()
        kept.append(y)
        del x, y
    assert graphs.counts.captured == 3
    assert backend._on(0, limits._taken_by_graphs) > before + 3 * MIB
    drop_generation()
    backend.trim()
    assert backend._on(0, limits._taken_by_graphs) < before + 3 * MIB // 2
    assert len({float(y.asscalar()) for y in kept}) == 3


def test_without_a_limit_the_users_pool_limit_stays(backend, monkeypatch):
    pool = cupy.get_default_memory_pool()
    with backend.stream(GPU):
        most = pool.total_bytes() + 200 * MIB
        pool.set_limit(size=most)
        try:
            backend.trim()
            backend.empty((1000,), "uint8")
            assert pool.get_limit() == most
        finally:
            pool.set_limit(size=0)


def test_nd_arrays_respect_the_limit(gpus, limit):
    with pytest.raises(DeviceOutOfMemory):
        mx.nd.zeros((limit // 4 + 1,), ctx=gpus[0]).wait_to_read()
    assert nd.ones((2,), ctx=gpus[0]).sum().asscalar() == 2
