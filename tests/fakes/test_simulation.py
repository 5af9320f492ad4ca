"""The simulated CUDA is strict: errors that a GPU shows now and then show every time, and what CUDA rejects is rejected."""

import shutil

import numpy as np
import pytest

from tests.cupy.conftest import SIMULATION, WHY_NOT
from tests.fakes import simulation
from tests.forked import in_child

pytestmark = [pytest.mark.skipif(SIMULATION is None, reason=WHY_NOT or "a real GPU is used"), pytest.mark.usefixtures("gpus")]
INCREMENT = 'extern "C" __global__ void increment(const float *in, float *out) { out[threadIdx.x] = in[threadIdx.x] + 1; }'


@pytest.fixture
def cp():
    return pytest.importorskip("cupy")


def increment(cp, x, out):
    cp.RawModule(code=INCREMENT).get_function("increment")((1,), (x.size,), (x, out))


def chained(cp, *, waits):
    """X + 1 on one stream, then + 1 on another."""
    first, second = (cp.cuda.Stream(non_blocking=True) for _ in range(2))
    with first:
        x, y = cp.ndarray((4,), np.float32), cp.ndarray((4,), np.float32)
        x.set(np.full(4, 5, np.float32), stream=first)
        increment(cp, x, y)
    with second:
        z = cp.ndarray((4,), np.float32)
        if waits:
            second.wait_event(first.record())
        increment(cp, y, z)
        return z.get(stream=second).tolist()


def test_checkouts_share_what_they_compile_while_their_headers_are_equal(monkeypatch, tmp_path):
    def name(folder):
        monkeypatch.setattr(simulation, "SOURCES", folder)
        return simulation._hash("int main;", f"-I{folder / 'stub'}")

    sources = simulation.SOURCES
    ours = name(sources)
    for other in ("equal", "another"):
        shutil.copytree(sources, tmp_path / other)
    (tmp_path / "another" / "device.h").write_text("// changed")
    assert name(tmp_path / "equal") == ours
    assert name(tmp_path / "another") != ours


def test_late_streams_expose_a_missing_wait(cp):
    SIMULATION.schedule("late")
    cp.get_default_memory_pool().free_all_blocks()
    assert chained(cp, waits=True) == [7] * 4
    cp.get_default_memory_pool().free_all_blocks()
    assert chained(cp, waits=False) != [7] * 4


def test_memory_freed_too_early_is_detected(cp):
    SIMULATION.schedule("late")
    home, other = (cp.cuda.Stream(non_blocking=True) for _ in range(2))
    with home:
        x = cp.ndarray((4,), np.float32)
        x.set(np.full(4, 5, np.float32), stream=home)
    with other:
        out = cp.ndarray((4,), np.float32)
        other.wait_event(home.record())
        increment(cp, x, out)
    place = x.data.ptr
    del x
    with home:
        new = cp.ndarray((4,), np.float32)
        assert new.data.ptr == place
        new.set(np.zeros(4, np.float32), stream=home)
    home.synchronize()
    assert out.get(stream=other).tolist() == [1] * 4, "the new content instead of 6"


def test_new_memory_is_poisoned(cp):
    cp.get_default_memory_pool().free_all_blocks()
    with cp.cuda.Stream(non_blocking=True) as stream:
        assert cp.ndarray((3,), np.uint8).get(stream=stream).tolist() == [0xCB] * 3


def test_schedules_with_one_seed_are_the_same(cp):
    def results(seed):
        SIMULATION.schedule("random", seed)
        cp.get_default_memory_pool().free_all_blocks()
        return [chained(cp, waits=False) for _ in range(20)]

    assert results(3) == results(3)
    assert any(results(seed) != results(3) for seed in range(4, 10))


def test_a_kernel_with_memory_of_another_device_fails(cp):
    x = cp.ndarray((4,), np.float32)
    with cp.cuda.Device(1), cp.cuda.Stream(non_blocking=True):
        out = cp.ndarray((4,), np.float32)
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="cudaErrorIllegalAddress"):
            increment(cp, x, out)


def test_an_event_on_a_stream_of_another_device_fails(cp):
    stream = cp.cuda.Stream(non_blocking=True)
    with cp.cuda.Device(1):
        event = cp.cuda.Event()
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="cudaErrorInvalidResourceHandle"):
            event.record(stream)


def test_threads_of_a_block_wait_for_one_another(cp):
    text = """extern "C" __global__ void reversed(const float *in, float *out) {
        __shared__ float part[64];
        part[threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        out[threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
    }"""
    with cp.cuda.Stream(non_blocking=True) as stream:
        x, out = cp.ndarray((64,), np.float32), cp.ndarray((64,), np.float32)
        x.set(np.arange(64, dtype=np.float32), stream=stream)
        cp.RawModule(code=text).get_function("reversed")((1,), (64,), (x, out))
        assert out.get(stream=stream).tolist() == list(range(63, -1, -1))


def test_allocating_more_memory_than_available_fails(cp):
    with pytest.raises(cp.cuda.memory.OutOfMemoryError):
        cp.ndarray((1 << 28, 4), np.float32)


def test_another_version_of_cupy_is_rejected_with_a_reason(monkeypatch):
    monkeypatch.setattr(simulation, "CUPY", "13.0.0")
    assert "knows the inside of 13.0.0 alone" in simulation.missing()


def test_without_a_compiler_there_is_a_reason(monkeypatch):
    monkeypatch.setattr(simulation.shutil, "which", lambda name: None)
    assert simulation.missing() == "no g++"


def captured(cp, stream, work):
    """The graph of some issued work."""
    stream.begin_capture()
    try:
        work()
    finally:
        graph = stream.end_capture()
    return graph


def test_a_graph_runs_once_per_launch(cp):
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        x, y = cp.ndarray((4,), np.float32), cp.ndarray((4,), np.float32)
        increment(cp, x, y)
        x.set(np.full(4, 5, np.float32), stream=stream)
        y.set(np.zeros(4, np.float32), stream=stream)
        before = SIMULATION.counts()
        graph = captured(cp, stream, lambda: (increment(cp, x, y), increment(cp, y, x)))
        assert y.get(stream=stream).tolist() == [0] * 4
        for _ in range(3):
            graph.launch(stream)
        del graph  # launched work runs to its end
        assert x.get(stream=stream).tolist() == [11] * 4
    after = SIMULATION.counts()
    assert (after.captured - before.captured, after.graph_launches - before.graph_launches, after.launches - before.launches) == (2, 3, 3)


def test_a_kernel_that_was_never_loaded_cannot_be_captured(cp):
    with cp.cuda.Stream(non_blocking=True) as stream:
        x = cp.ndarray((4,), np.float32)
        text = INCREMENT.replace("increment", "never_loaded_before")
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="cudaErrorStreamCapture"):
            captured(cp, stream, lambda: cp.RawModule(code=text).get_function("never_loaded_before")((1,), (4,), (x, x)))


def forbidden(cp, stream):
    """What CUDA forbids while a stream is captured."""
    event = cp.cuda.Stream(non_blocking=True).record()
    pageable = np.zeros(4, np.float32)
    x = cp.ndarray((4,), np.float32)
    return {
        "wait for the stream": stream.synchronize,
        "wait for the device": cp.cuda.Device().synchronize,
        "wait for a captured event": lambda: stream.record().synchronize(),
        "look at a captured event": lambda: stream.record().done,
        "look at the stream": lambda: stream.done,
        "wait for an event outside": lambda: stream.wait_event(event),
        "copy from pageable memory": lambda: cp.cuda.runtime.memcpyAsync(x.data.ptr, pageable.ctypes.data, 16, 1, stream.ptr),
        "capture again": stream.begin_capture,
    }


@pytest.mark.parametrize("what", range(8))
def test_what_cuda_forbids_breaks_a_capture(cp, what):
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        name, act = list(forbidden(cp, stream).items())[what]
        stream.begin_capture()
        with pytest.raises(Exception, match=r"cudaError|capturing|captured"):
            act()
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="cudaErrorStreamCaptureInvalidated"):
            stream.end_capture()
        assert not stream.is_capturing(), name
        stream.synchronize()


def forked(cp, stream, x, y, is_joined=True, is_awaited=True):
    """The graph of ``x += 1`` and then, on two streams, ``y = x + 1`` and ``x = x + 1``; the second waits for the first or not."""
    other = cp.cuda.Stream(non_blocking=True)

    def work():
        increment(cp, x, x)
        other.wait_event(stream.record())
        with other:
            increment(cp, x, y)
        if is_awaited:
            stream.wait_event(other.record())
        increment(cp, x, x)
        if is_joined:
            stream.wait_event(other.record())

    return captured(cp, stream, work)


@pytest.mark.parametrize("schedule", simulation.SCHEDULES)
def test_a_graph_of_two_streams_keeps_the_requested_order(cp, schedule):
    SIMULATION.schedule(schedule, 3)
    stream = cp.cuda.Stream(non_blocking=True)
    found = set()
    with stream:
        x, y = cp.ndarray((4,), np.float32), cp.ndarray((4,), np.float32)
        increment(cp, x, y)
        for is_awaited in (True, False):
            graph = forked(cp, stream, x, y, is_awaited=is_awaited)
            for _ in range(20):
                x.set(np.zeros(4, np.float32), stream=stream)
                graph.launch(stream)
                assert x.get(stream=stream).tolist() == [2] * 4
                found.add((is_awaited, float(y.get(stream=stream)[0])))
    early = {(False, 2.0)} if schedule == "eager" else {(False, 3.0)} if schedule == "late" else {(False, 2.0), (False, 3.0)}
    assert found == {(True, 2.0)} | early


def test_a_stream_that_is_not_joined_breaks_a_capture(cp):
    with cp.cuda.Stream(non_blocking=True) as stream:
        x, y = cp.ndarray((4,), np.float32), cp.ndarray((4,), np.float32)
        increment(cp, x, y)
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="cudaErrorStreamCaptureUnjoined"):
            forked(cp, stream, x, y, is_joined=False, is_awaited=False)
        stream.synchronize()


def test_memory_can_be_allocated_in_a_capture(cp):
    with cp.cuda.Stream(non_blocking=True) as stream:
        graph = captured(cp, stream, lambda: cp.cuda.Memory(1 << 20))
        graph.launch(stream)
        stream.synchronize()


def test_a_graph_of_another_device_is_rejected(cp):
    with cp.cuda.Stream(non_blocking=True) as stream:
        graph = captured(cp, stream, lambda: None)
    with (
        cp.cuda.Device(1),
        cp.cuda.Stream(non_blocking=True) as other,
        pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="cudaErrorInvalid"),
    ):
        graph.launch(other)


CASTS = """
extern "C" __global__ void cast_in_c(const float *in, int *out) { out[threadIdx.x] = (int)in[threadIdx.x]; }
extern "C" __global__ void cast_by_cuda(const float *in, int *out) { out[threadIdx.x] = __float2int_rz(in[threadIdx.x]); }
extern "C" __global__ void square(const float *in, float *out) { out[threadIdx.x] = pow(in[threadIdx.x], 2.0f); }
"""


def computed(cp, name, numbers, dtype):
    """What a kernel of `CASTS` makes of numbers."""
    with cp.cuda.Stream(non_blocking=True) as stream:
        x, out = cp.ndarray((len(numbers),), np.float32), cp.ndarray((len(numbers),), dtype)
        x.set(np.array(numbers, np.float32), stream=stream)
        cp.RawModule(code=CASTS).get_function(name)((1,), (x.size,), (x, out))
        return out.get(stream=stream).tolist()


def test_a_float_that_does_not_fit_is_cast_as_by_cuda_and_by_c_never(cp):
    assert computed(cp, "cast_in_c", [-2.5, 7], np.int32) == [-2, 7]
    for number in (3e9, -3e9, np.inf, np.nan):
        with pytest.raises(RuntimeError, match="use tf_cast"):
            computed(cp, "cast_in_c", [1, number], np.int32)
    assert computed(cp, "cast_in_c", [1], np.int32) == [1]
    most, least = 2**31 - 1, -(2**31)
    assert computed(cp, "cast_by_cuda", [-2.5, 3e9, -3e9, np.inf, -np.inf, np.nan], np.int32) == [-2, most, least, most, least, 0]


def test_powers_are_not_the_nearest_numbers(cp):
    below = np.nextafter(np.float32([4, 9]), np.float32(0)).tolist()
    assert computed(cp, "square", [2, 3, 1, 0, np.inf], np.float32) == [*below, 1, 0, np.inf]


@pytest.mark.parametrize("use", ["the device", "a stream", "memory"])
def test_cuda_refuses_every_call_in_a_forked_process(cp, use):
    uses = {
        "the device": cp.cuda.runtime.getDevice,
        "a stream": lambda: cp.cuda.Stream(non_blocking=True),
        "memory": cp.cuda.runtime.memGetInfo,
    }
    uses[use]()

    def check():
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="InitializationError"):
            uses[use]()

    assert in_child(check) == ""
    uses[use]()


BARRIERS = {
    "block": "__syncthreads();",
    "warp": "__syncwarp();",
    "both": "if (threadIdx.x < 5) __syncthreads(); else __syncwarp();",
}
REVERSE = """
extern "C" __global__ void reverse(const float *in, float *out) {
    __shared__ float part[64];
    part[threadIdx.x] = in[threadIdx.x];
    BARRIER
    out[threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
}
"""


def ordered_by(cp, barrier, size):
    """Numbers from 0, as a kernel whose threads exchange them reverses them, in reverse order again."""
    with cp.cuda.Stream(non_blocking=True) as stream:
        x, out = cp.ndarray((size,), np.float32), cp.ndarray((size,), np.float32)
        x.set(np.arange(size, dtype=np.float32), stream=stream)
        cp.RawModule(code=REVERSE.replace("BARRIER", BARRIERS[barrier])).get_function("reverse")((1,), (size,), (x, out))
        return out.get(stream=stream)[::-1].tolist()


def test_threads_of_a_warp_wait_for_one_another_alone(cp):
    assert ordered_by(cp, "block", 64) == [*range(64)]
    assert ordered_by(cp, "warp", 32) == [*range(32)]
    found = ordered_by(cp, "warp", 64)
    assert found[:32] == [*range(32)], "the second warp runs when the first is done"
    assert found[32:] != [*range(32, 64)]


def test_threads_of_a_warp_wait_at_one_barrier(cp):
    with pytest.raises(RuntimeError, match="threads of a warp wait at different barriers"):
        ordered_by(cp, "both", 32)
    assert ordered_by(cp, "block", 32) == [*range(32)]
