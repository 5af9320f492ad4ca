"""Streams, memory and failures of the CuPy adapter: ordering by waits, no premature reuse of memory, errors that say what to do."""

import contextlib
import gc
import threading
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.device import interned
from twofold.errors import BackendUnavailable, DeviceError, DeviceOutOfMemory, DTypeError

from tests.cupy.conftest import DEVICES, SIMULATION, simulated, two_gpus

cupy = pytest.importorskip("cupy")
memory = pytest.importorskip("twofold_cupy.memory")
queues = pytest.importorskip("twofold_cupy.streams")
GPU, OTHER = interned("gpu", 0), interned("gpu", 1)
ONES = np.ones(100_000, np.float32)


@pytest.fixture
def streams(backend):
    return {purpose: backend.stream(GPU, purpose) for purpose in ("compute", "h2d", "d2h")}


def test_each_purpose_has_one_stream_other_than_the_legacy_one(backend, streams):
    assert backend.stream(GPU) is streams["compute"]
    assert len({s.cuda.ptr for s in streams.values()}) == 3
    assert 0 not in {s.cuda.ptr for s in streams.values()}


def test_a_stream_is_current_only_in_its_block_and_thread(streams):
    seen = []
    before = cupy.cuda.get_current_stream().ptr
    with streams["h2d"]:
        assert cupy.cuda.get_current_stream().ptr == streams["h2d"].cuda.ptr
        with streams["compute"]:
            assert cupy.cuda.get_current_stream().ptr == streams["compute"].cuda.ptr
        assert cupy.cuda.get_current_stream().ptr == streams["h2d"].cuda.ptr
        thread = threading.Thread(target=lambda: seen.append(cupy.cuda.get_current_stream().ptr))
        thread.start()
        thread.join()
    assert cupy.cuda.get_current_stream().ptr == before
    assert seen != [streams["h2d"].cuda.ptr]


def test_redundant_waits_are_elided(backend, streams):
    compute, h2d = streams["compute"], streams["h2d"]
    first, second = backend.record(h2d), backend.record(h2d)
    counted = compute.waits - compute.elided
    backend.wait(compute, second)
    backend.wait(compute, first)  # reached before the second mark
    backend.wait(compute, second)
    backend.wait(h2d, second)  # its own mark
    assert compute.waits - compute.elided == counted + 1


@two_gpus
def test_a_stream_of_another_device_makes_that_device_current(backend):
    with backend.stream(OTHER):
        assert cupy.cuda.runtime.getDevice() == 1
        assert backend.empty((2,), "float32").device.id == 1
    assert cupy.cuda.runtime.getDevice() == 0


@pytest.mark.usefixtures("schedule")
def test_memory_filled_by_a_copy_stream_is_not_reused_while_in_use(backend, streams):
    with streams["h2d"]:
        first = backend.from_host(ONES, GPU)
    backend.wait(streams["compute"], backend.record(streams["h2d"]))
    with streams["compute"]:
        doubled = backend.xp.add(first, first)
    del first
    with streams["h2d"]:
        backend.from_host(ONES * 100, GPU)
    np.testing.assert_array_equal(backend.to_host(doubled), ONES + ONES)


@simulated
@pytest.mark.usefixtures("schedule")
def test_memory_is_held_until_a_mark(backend, streams):
    with streams["compute"]:
        x = backend.from_host(ONES, GPU)
    with streams["d2h"]:
        backend.wait(streams["d2h"], backend.record(streams["compute"]))
        copy = backend.copy(x, GPU)
    backend.hold(x, backend.record(streams["d2h"]))
    place = x.data.ptr
    del x
    with streams["compute"]:
        new = backend.from_host(ONES * 7, GPU)
        assert new.data.ptr != place
    with streams["d2h"]:
        np.testing.assert_array_equal(backend.to_host(copy), ONES)


@two_gpus
@pytest.mark.usefixtures("schedule")
def test_a_source_can_die_before_its_copy_to_another_device_is_done(backend):
    x = backend.from_host(ONES, GPU)
    y = backend.copy(x, OTHER)
    del x
    backend.from_host(ONES * 5, GPU)
    np.testing.assert_array_equal(backend.to_host(y), ONES)


@simulated
@pytest.mark.usefixtures("schedule")
@pytest.mark.parametrize("purpose", [None, "compute", "h2d"])
def test_a_copy_between_devices_waits_for_its_source(backend, streams, purpose):
    """From any stream; a source not in row-major order is packed on its own device first."""
    backend.trim()  # memory has no right numbers
    with streams["compute"]:
        x = backend.from_host(ONES.reshape(100, -1), GPU)
        x = backend.xp.add(x, x)
    stream = contextlib.nullcontext() if purpose is None else backend.stream(OTHER, purpose)
    if purpose == "h2d":  # whoever enters it waits for what is to be copied
        backend.wait(stream, backend.record(streams["compute"]))
    with stream:
        copies = [backend.copy(x, OTHER), backend.copy(x.T, OTHER)]
        for copy, want in zip(copies, (x.shape, x.T.shape), strict=True):
            np.testing.assert_array_equal(backend.to_host(copy), np.full(want, 2, np.float32))


def test_held_memory_is_released(backend, streams):
    backend.from_host(ONES, GPU)
    for stream in streams.values():
        stream.synchronize()
    for _ in range(2):  # the first call records marks after what was returned meanwhile
        for number in range(backend.device_count()):  # earlier tests have left something there
            backend.synchronize(interned("gpu", number))
    assert backend.memory.held == 0


@simulated
def test_a_full_device_is_trimmed_once_then_reported_with_its_largest_arrays(backend):
    mine = backend.from_host(np.zeros((1000, 250), np.float32), GPU)
    with pytest.raises(DeviceOutOfMemory, match=r"float32\[1000, 250\] 1.0 MiB") as caught:
        backend.empty((1 << 28, 4), "float32")
    assert "use smaller batches" in str(caught.value)
    assert mine.shape == (1000, 250)
    np.testing.assert_array_equal(backend.to_host(backend.xp.add(mine, mine))[0, :2], [0, 0])  # and the process continues


@simulated
def test_held_memory_is_waited_for_if_an_allocation_needs_it(backend, streams):
    """So large that it fits only once held memory has been waited for."""
    backend.trim()
    free, _ = backend.memory_info(GPU)
    big = int(free * 0.7) // 4
    x = backend.empty((big,), "float32")
    backend.hold(x, backend.record(streams["compute"]))
    del x
    assert backend.empty((big,), "float32").size == big
    backend.trim()


@simulated
def test_out_of_memory_is_reported_and_recoverable(gpus):
    with pytest.raises(DeviceOutOfMemory):
        nd.zeros((1 << 28, 4), ctx=gpus[0]).wait_to_read()
    assert nd.ones((2,), ctx=gpus[0]).sum().asscalar() == 2


def test_a_missing_device_is_rejected(gpus):
    with pytest.raises(DeviceError, match="no such device"):
        nd.ones((2,), ctx=mx.gpu(99))


def test_memory_info_is_reported(backend):
    free, total = backend.memory_info(GPU)
    assert 0 < free <= total


@simulated
def test_a_machine_without_devices_says_why(gpus):
    import twofold_cupy

    SIMULATION.devices(0)
    try:
        with pytest.raises(BackendUnavailable, match=r"no GPU is visible.*CUDA_VISIBLE_DEVICES"):
            twofold_cupy.Backend()
    finally:
        SIMULATION.devices(DEVICES)


@simulated
@pytest.mark.parametrize(
    ("status", "says"),
    [
        (700, "restart the process"),
        (717, "restart the process"),
        (719, "restart the process"),
        (1, "CUDA status 1"),
        (2, "the memory is full.*use smaller batches"),
        (802, "the fabric manager must be running"),
    ],
)
def test_a_device_failure_is_raised_as_a_deviceerror(backend, status, says):
    x = backend.from_host(ONES, GPU)
    SIMULATION.fail(status)
    try:
        with pytest.raises(DeviceError, match=says):
            backend.quietly(backend.xp.add, x, x)
        with pytest.raises(DeviceError, match=says):
            backend.synchronize(GPU)
        assert nd.ones((2,)).sum().asscalar() == 2, "the CPU still works"
    finally:
        SIMULATION.fail(0)


@simulated
def test_nothing_uses_the_legacy_stream(backend, gpus):
    gc.collect()
    backend.trim()  # memory shared with other libraries, and views of it, have been returned
    before = SIMULATION.counts().legacy_uses
    x = nd.array(np.ones((40, 50)), ctx=gpus[0])
    y = (nd.dot(x, x.T) + 1).copyto(gpus[1])
    y[1:3] = 5
    nd.concat(y, y, dim=0).argsort().asnumpy()
    x[nd.array([1, 2], ctx=gpus[0])].asnumpy()
    nd.waitall()
    assert SIMULATION.counts().legacy_uses == before


def test_arrays_are_shared_with_other_libraries(backend):
    own = cupy.ones((2, 3), np.float32)
    shared = backend.from_dlpack(own)
    assert shared.data.ptr == own.data.ptr
    copied = backend.from_dlpack(np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(backend.to_host(copied), np.arange(6.0).reshape(2, 3))


def test_pending_work_of_another_library_is_waited_for(backend):
    theirs = cupy.cuda.Stream(non_blocking=True)
    with theirs:
        own = cupy.arange(6, dtype=np.float32).reshape(2, 3)
        own += 1
        shared = backend.from_dlpack(own)
    np.testing.assert_array_equal(backend.to_host(backend.xp.add(shared, shared)), np.arange(1, 7).reshape(2, 3) * 2)


@simulated
@pytest.mark.usefixtures("schedule")
def test_pending_work_behind_a_bare_capsule_is_waited_for(backend):
    backend.trim()  # memory has no right numbers
    theirs = cupy.cuda.Stream(non_blocking=True)
    with theirs:
        given = cupy.empty(ONES.size, np.float32)
        given.fill(3)
        mine = nd.from_dlpack(given.__dlpack__(stream=-1))  # which makes nobody wait
    np.testing.assert_array_equal((mine + 1).asnumpy(), ONES * 4)


@simulated
@pytest.mark.usefixtures("schedule")
def test_another_library_waits_for_our_pending_work(backend):
    backend.trim()  # memory has no right numbers
    x = backend.from_host(ONES, GPU)
    x = backend.xp.add(x, x)
    exporter = SimpleNamespace(__dlpack__=partial(backend.to_dlpack, x), __dlpack_device__=x.__dlpack_device__)
    with cupy.cuda.Stream(non_blocking=True) as theirs:
        seen = cupy.from_dlpack(exporter) * 2
    np.testing.assert_array_equal(seen.get(stream=theirs), ONES * 4)


@simulated
@pytest.mark.usefixtures("schedule")
@pytest.mark.parametrize("is_default", [False, True])
def test_exported_memory_is_not_reused_before_its_consumer_has_read_it(gpus, backend, is_default):
    theirs, pool = cupy.cuda.Stream.null if is_default else cupy.cuda.Stream(non_blocking=True), cupy.get_default_memory_pool()
    backend.trim()
    used = pool.used_bytes()
    x = nd.ones((1000,), ctx=gpus[0]) * 3
    with theirs:
        seen = cupy.from_dlpack(x)
        y = seen + 1
        del seen
    del x
    gc.collect()
    for _ in range(2):  # memory held only for our own stream would be free then
        nd.waitall()
    others = [nd.full((1000,), 7, ctx=gpus[0]) * k for k in range(5)]
    nd.waitall()
    np.testing.assert_array_equal(y.get(stream=theirs), 4)
    del others, y
    backend.trim()
    assert backend.memory.held == 0
    assert pool.used_bytes() - used < 4000, "and then it is free"


def test_memory_captured_by_another_library_is_kept_until_the_capture_ends(gpus, backend):
    theirs = cupy.cuda.Stream(non_blocking=True)
    shared = backend.memory.lent(backend.empty((1000,), "float32"), queues.Consumer(backend.stream(GPU), theirs.ptr))
    backend.synchronize(GPU)
    held = backend.memory.held
    theirs.begin_capture()
    del shared
    backend.memory.collect()
    assert backend.memory.held == held + 1
    theirs.end_capture()
    backend.synchronize(GPU)
    backend.memory.collect()
    theirs.synchronize()
    backend.memory.collect()
    assert backend.memory.held == held


def test_complex_numbers_are_rejected(gpus):
    with pytest.raises(DTypeError, match=r"not supported on GPUs.*complex64"):
        mx.np.ones((2,), dtype="complex64", ctx=gpus[0]).asnumpy()
    with pytest.raises(DTypeError, match=r"not supported on GPUs.*complex64"):
        (mx.np.ones((2,), ctx=gpus[0]).astype("complex64") * 2).asnumpy()
    nd.waitall()


@pytest.mark.needs_device
def test_a_copy_and_a_computation_overlap(backend, streams):
    """By timed events: both together take less time than one after the other."""
    data = np.ones((4096, 4096), np.float32)
    x = backend.from_host(data, GPU)
    backend.synchronize(GPU)

    def timed(work):
        start, end = (cupy.cuda.Event() for _ in range(2))
        start.record(streams["compute"].cuda)
        work()
        mark = backend.record(streams["h2d"])
        backend.wait(streams["compute"], mark)
        end.record(streams["compute"].cuda)
        end.synchronize()
        return cupy.cuda.get_elapsed_time(start, end)

    def computed():
        with streams["compute"]:
            backend.xp.matmul(x, x)

    def copied():
        with streams["h2d"]:
            backend.from_host(data, GPU)

    for work in (computed, copied):
        timed(work)
    # the least of a few: others may use the device, too
    computing, copying, both = (min(timed(work) for _ in range(5)) for work in (computed, copied, lambda: (computed(), copied())))
    gc.collect()
    assert both < computing + copying


def test_an_imported_array_is_released_once_our_stream_has_passed(gpus):
    theirs = cupy.cuda.Stream(non_blocking=True)
    with theirs:
        given = cupy.full((1000,), 1, dtype=np.float32)
    theirs.synchronize()
    executor = mx.sym.relu(mx.sym.var("a") * 2).bind(gpus[0], {"a": nd.from_dlpack(given)}, grad_req="null")
    out = executor.forward()[0]
    del executor
    with theirs:
        del given
        gc.collect()
        cupy.empty((1000,), dtype=np.float32).fill(7)
    theirs.synchronize()
    np.testing.assert_array_equal(out.asnumpy(), 2)


@two_gpus
def test_out_of_memory_errors_list_the_arrays_of_their_device(gpus, backend):
    other = nd.ones((1234, 3), ctx=gpus[1])
    nd.waitall()
    with cupy.cuda.Device(0):
        assert "1234" not in str(memory.does_not_fit(MemoryError("full")))
    with cupy.cuda.Device(1):
        assert "1234" in str(memory.does_not_fit(MemoryError("full")))
    del other


def test_batches_of_images_go_through_pinned_memory(gpus, monkeypatch, tmp_path):
    pytest.importorskip("PIL")
    staged, staging = [], memory.Memory.staging
    monkeypatch.setattr(memory.Memory, "staging", lambda self, shape, dtype: staged.append(shape) or staging(self, shape, dtype))
    path = str(tmp_path / "a.rec")
    file = mx.recordio.MXRecordIO(path, "w")
    for k in range(12):
        pixels = np.random.default_rng(k).integers(0, 256, (70, 80, 3), dtype=np.uint8)
        file.write(mx.recordio.pack_img(mx.recordio.IRHeader(0, float(k), k, 0), pixels, img_fmt=".png"))
    file.close()
    batches = mx.io.ImageRecordIter(path_imgrec=path, data_shape=(3, 64, 64), batch_size=4, prefetch_buffer=1)
    moved, expected = [], []
    for batch in batches:  # whose memory is used again, as soon as it has been copied
        expected.append(batch.data[0].asnumpy().copy())
        moved.append(batch.data[0].as_in_context(gpus[0]))
    assert all(x.context == gpus[0] for x in moved)
    assert staged.count((4, 3, 64, 64)) == 3
    for found, wanted in zip(moved, expected, strict=True):
        np.testing.assert_array_equal(found.asnumpy(), wanted)
