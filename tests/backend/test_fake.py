"""The fake adapter: its schedules expose missing waits, its memory exposes reads before a write or after a free."""

import gc

import numpy as np
import pytest

from twofold.backend.kernel import ArrayType
from twofold.device import interned
from twofold.errors import EngineError, ParameterError
from twofold_fake import FakeBackend

GPU = interned("gpu")


def launched(backend, op, array, out=None):
    """A unary primitive, issued as in a program."""
    kind = ArrayType(array.shape, "float32")
    call = backend.call(op, {}, [kind], kind)
    out = backend.empty(array.shape, "float32") if out is None else out
    text = call.text.format("x", out="out", **{name: name for name in call.names})
    exec("\n".join(text.split("; ")), dict(call.names) | {"x": array, "out": out})
    return out


def copied_and_squared(backend, *, waits):
    """4 squared: copied to the device by one stream, squared by another, which may or may not wait for the copy."""
    h2d, compute = backend.stream(GPU, "h2d"), backend.stream(GPU)
    with h2d:
        array = backend.from_host(np.full(3, 4, np.float32), GPU)
    if waits:
        backend.wait(compute, backend.record(h2d))
    with compute:
        squares = launched(backend, "square", array)
        return backend.to_host(squares)


@pytest.mark.parametrize("schedule", ["issue", "late", "eager"])
def test_work_that_waits_for_its_operands_is_correct(schedule):
    assert list(copied_and_squared(FakeBackend(schedule, poison=True), waits=True)) == [16, 16, 16]


def test_late_streams_expose_a_missing_wait_for_an_operand():
    assert list(copied_and_squared(FakeBackend("late", poison=True), waits=False)) != [16, 16, 16]


def overwritten_after_read(backend, *, waits):
    """-3, computed by one stream from memory that another overwrites, which may or may not wait for the reader."""
    h2d, compute = backend.stream(GPU, "h2d"), backend.stream(GPU)
    array = backend.from_host(np.full(3, 3, np.float32), GPU)
    backend.synchronize(GPU)
    with compute:
        result = launched(backend, "negative", array)
    if waits:
        backend.wait(h2d, backend.record(compute))
    with h2d:
        backend.write(array, ..., np.float32(7))
    with compute:
        return backend.to_host(result)


@pytest.mark.parametrize("schedule", ["issue", "late", "eager"])
def test_memory_can_be_overwritten_after_its_reader(schedule):
    assert list(overwritten_after_read(FakeBackend(schedule), waits=True)) == [-3, -3, -3]


def test_eager_streams_expose_memory_overwritten_before_its_reader_ran():
    assert list(overwritten_after_read(FakeBackend("eager"), waits=False)) == [-7, -7, -7]


def test_nothing_runs_before_the_host_waits():
    backend, ran = FakeBackend("late"), []
    backend.issue(lambda: ran.append(1))
    assert not ran
    backend.synchronize(GPU)
    assert ran == [1]


def test_synchronize_leaves_other_devices_alone():
    backend, ran = FakeBackend("late", devices=2), []
    for number in (0, 1):
        with backend.stream(interned("gpu", number)):
            backend.issue(lambda n=number: ran.append(n))
    backend.synchronize(interned("gpu", 1))
    assert ran == [1]


def test_a_failing_operation_raises_where_the_host_waits_and_later_ones_run():
    backend, ran = FakeBackend("late"), []
    backend.issue(lambda: 1 // 0)
    backend.issue(lambda: ran.append(1))
    with pytest.raises(EngineError, match="ZeroDivisionError"):
        backend.synchronize(GPU)
    backend.synchronize(GPU)
    assert ran == [1]


def test_new_memory_is_poisoned():
    array = FakeBackend(poison=True).empty((3,), "uint8")
    assert list(array) == [0xCB] * 3


def test_freed_memory_is_poisoned_and_reused():
    backend = FakeBackend(poison=True)
    array = backend.empty((4,), "uint8")
    address, view = array.ctypes.data, array[1:]
    del array
    assert backend.memory.used == 4  # the view keeps it
    del view
    gc.collect()
    assert backend.memory.used == 0
    assert backend.empty((4,), "uint8").ctypes.data == address


def test_queued_operations_keep_their_operands_alive():
    backend = FakeBackend("late", poison=True)
    result = launched(backend, "square", backend.from_host(np.full(3, 2, np.float32), GPU))
    gc.collect()
    assert list(backend.to_host(result)) == [4, 4, 4]


def test_environment_names_devices_and_schedule(monkeypatch):
    monkeypatch.setenv("TWOFOLD_FAKE_GPUS", "4")
    monkeypatch.setenv("TWOFOLD_FAKE_SCHEDULE", "late")
    backend = FakeBackend()
    assert (backend.device_count(), backend.streams.schedule) == (4, "late")


def test_an_unknown_schedule_is_rejected():
    with pytest.raises(ParameterError, match="no such schedule"):
        FakeBackend("early")


def test_a_reshape_that_must_copy_waits_for_its_operand():
    backend = FakeBackend("late", poison=True)
    array = backend.from_host(np.arange(6, dtype=np.float32).reshape(2, 3), GPU)
    turned = backend.xp.permute_dims(array, axes=(1, 0))
    assert list(backend.to_host(backend.xp.reshape(turned, shape=(6,)))) == [0, 3, 1, 4, 2, 5]
