"""The window: what is deferred, what is never computed, whose memory a result may take, when it runs."""

import gc
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from twofold import autograd, nd
from twofold.config import SETTINGS
from twofold.context import cpu
from twofold.device import CPU, interned
from twofold.graph.tables import drop_generation
from twofold.imperative import deferral, room, window, window_program
from twofold.imperative.cell import Value
from twofold.imperative.counters import COUNTERS
from twofold.opdef.registry import OPS
from twofold.program import compile as programs
from twofold.program.cache import PROGRAMS

from .operators import SIZE, address, held_windows, in_thread, op, ramp
from tests import probe
from tests.devices import fake_gpus
from tests.probe import is_pending, window_of

pytestmark = pytest.mark.usefixtures("deferred")


def same(x, want):
    np.testing.assert_array_equal(x.asnumpy(), np.asarray(want, np.float32))


def count_of_programs(monkeypatch):
    """A list that grows with every program that is compiled."""
    made, init = [], programs.Program.__init__

    def counting(self, *args, **options):
        made.append(self)
        init(self, *args, **options)

    monkeypatch.setattr(programs.Program, "__init__", counting)
    return made


# what runs


def test_operations_wait_until_something_is_read():
    x = nd.array(ramp())
    y = (x * 2.0 + 1.0).exp()
    assert is_pending(y)
    assert COUNTERS.windows == 0
    y.wait_to_read()
    assert COUNTERS.windows == COUNTERS.kernels == 1
    assert COUNTERS.fused == 3


def test_shape_and_dtype_are_known_before_anything_runs():
    y = nd.array(ramp()).reshape((4, 4)) * 2.0
    assert (y.shape, y.dtype, y.size, probe.data(y)) == ((4, 4), np.float32, SIZE, None)


def test_window_programs_are_counted_and_the_latest_used_are_kept(monkeypatch):
    monkeypatch.setattr(PROGRAMS, "limit", 3)
    x = nd.ones((300, 300))

    def run(times):
        y = x
        for _ in range(times):
            y = y * 1.5
        y.wait_to_read()

    drop_generation()
    COUNTERS.reset()
    for times in (1, 2, 3, 1, 4, 1, 5, 1, 2):  # 2 was evicted, 1 never
        run(times)
    assert COUNTERS.compiled == 6
    assert len(PROGRAMS) == 3


def test_a_result_that_nobody_can_see_is_never_made():
    x = nd.array(ramp())
    y = x * 2.0
    z = y + 1.0
    del y
    z.wait_to_read()
    (known,) = [entry for entry in PROGRAMS.values() if isinstance(entry, window_program.WindowProgram)]
    assert len(known.program.outputs) == 1
    assert [s.is_kernel for s in known.program.steps] == [True]
    assert known.program.plan.buffers == []


def test_a_window_of_dead_results_does_not_run(monkeypatch):
    made = count_of_programs(monkeypatch)
    x = nd.array(ramp())
    y = x * 2.0
    w = window.HERE.by_device[CPU.serial]
    del y
    window.flush(w)
    assert w.is_done
    assert not made


def test_a_structure_seen_again_finds_its_program(monkeypatch):
    made = count_of_programs(monkeypatch)
    for k in range(4):
        x = nd.array(ramp(k))
        same(x * 2.5 + float(k + 3), ramp(k) * 2.5 + (k + 3))
    assert len(made) == 1


def test_a_cached_program_is_found_whatever_else_the_window_held():
    x, other = nd.array(ramp()), nd.array(ramp(1.0))
    same(x * 2.0, ramp() * 2)
    y = x * 2.0
    unwanted = other * 3.0  # its leaves are in the window too
    del unwanted
    same(y, ramp() * 2)
    unwanted = other * 4.0
    y = x * 2.0
    del unwanted
    same(y, ramp() * 2)


@pytest.mark.parametrize("setting", [("window_operations", 4), ("window_bytes", 4 * SIZE * 4 - 1)])
def test_a_window_is_bounded(monkeypatch, setting):
    monkeypatch.setattr(SETTINGS, *setting)
    x = nd.array(ramp())
    results = [x + float(k) for k in range(9)]
    assert COUNTERS.windows == 2
    for k, y in enumerate(results):
        same(y, ramp() + k)


def summed(arrays):
    """The sum of the elements of arrays, each of which is let go of before the next one is made."""
    total = nd.zeros((1,))
    for x in arrays:
        total = total + x.sum()
        del x
    return total


def test_a_window_is_bounded_by_inputs_that_nothing_else_refers_to(monkeypatch):
    monkeypatch.setattr(SETTINGS, "window_bytes", 4 * SIZE * 4 - 1)
    total = summed(nd.array(ramp(k)) for k in range(12))
    assert COUNTERS.windows == 2
    np.testing.assert_allclose(total.asnumpy(), sum(ramp(k).sum() for k in range(12)), 1e-5)


def test_inputs_that_others_refer_to_take_no_room_in_a_window(monkeypatch):
    monkeypatch.setattr(SETTINGS, "window_bytes", 4 * SIZE * 4 - 1)
    kept = [nd.array(ramp(k)) for k in range(9)]
    total = summed(kept)
    assert COUNTERS.windows == 0
    np.testing.assert_allclose(total.asnumpy(), sum(ramp(k).sum() for k in range(9)), 1e-5)
    assert COUNTERS.windows == 1


def test_windows_have_more_room_where_devices_have_more_memory(monkeypatch):
    monkeypatch.setattr(room, "ROOM", {})
    for memory, most in ((1 << 32, room.LEAST), (1 << 40, 1 << 37)):
        monkeypatch.setattr(room, "backend_for", lambda device, memory=memory: SimpleNamespace(memory_info=lambda device: (0, memory)))
        room.ROOM.clear()
        assert room.room_of(interned("gpu", 0)) == most
        assert room.room_of(interned("cpu", 0)) == room.LEAST


def test_an_operation_reads_results_of_a_window_that_has_run(monkeypatch):
    monkeypatch.setattr(SETTINGS, "window_operations", 2)
    x = nd.array(ramp())
    for k in range(1, 9):
        x = x + 1.0
        y = x * 2.0
        same(y, (ramp() + k) * 2) if k % 3 == 0 else None
    same(x, ramp() + 8)


def test_a_window_that_has_run_holds_no_references():
    x = nd.array(ramp())
    y = x * 2.0
    w = window_of(y)
    held = weakref.ref(probe.content(x))
    del x
    y.wait_to_read()
    assert not any([w.data, w.outs, w.held])
    assert held() is None
    assert probe.content(y).producer is None


def test_a_strided_result_is_materialised_however_operators_are_grouped(monkeypatch):
    values = np.random.default_rng(0)
    x, w = (nd.array(values.standard_normal(shape)) for shape in ((300, 7), (300, 1)))
    together = op("matmul", op("permute_dims", x, axes=(1, 0)), w).asnumpy()
    (known,) = [entry for entry in PROGRAMS.values() if isinstance(entry, window_program.WindowProgram)]
    assert [step.nodes[0].bound_op.op.name for step in known.program.steps] == ["permute_dims", "contiguous", "matmul"]
    turned = op("permute_dims", x, axes=(1, 0))
    turned.wait_to_read()
    np.testing.assert_array_equal(op("matmul", turned, w).asnumpy(), together)  # BLAS may sum in another order if transposed


# whose memory


def test_a_dead_leaf_is_donated():
    x = nd.array(ramp())
    place = address(x)
    y = x * 2.0
    del x
    same(y, ramp() * 2)
    assert COUNTERS.donated == 1
    assert address(y) == place


def test_a_living_leaf_is_not_donated():
    x = nd.array(ramp())
    y = x * 2.0
    same(y, ramp() * 2)
    same(x, ramp())
    assert COUNTERS.donated == 0


def test_dead_and_living_leaves_give_different_programs():
    x = nd.array(ramp())
    y = x * 2.0
    del x
    same(y, ramp() * 2)
    x = nd.array(ramp())
    same(x * 2.0, ramp() * 2)
    same(x, ramp())


def test_a_donated_leaf_is_read_first():
    a = nd.array(ramp())
    b = a * 2.0
    c = b + a
    del a
    same(c, ramp() * 3)
    same(b, ramp() * 2)
    assert COUNTERS.donated == 1


def test_a_dead_leaf_that_a_tape_saved_is_not_donated():
    x = nd.array(ramp() * 0)
    x.attach_grad()
    with autograd.record():
        y = (x * 1.0).exp()
        loss = y.sum()
    y.wait_to_read()
    loss.wait_to_read()
    z = y * 5.0
    del y
    same(z, np.full(SIZE, 5.0))
    loss.backward()
    same(x.grad, np.ones(SIZE))


def test_a_dead_leaf_whose_buffer_another_array_owns_is_not_donated():
    x = nd.array(ramp())
    a, b = x * x, x * x
    a.wait_to_read()
    z = a + 1.0
    del a
    same(z, ramp() ** 2 + 1)
    same(b, ramp() ** 2)


def test_the_window_keeps_the_buffer_of_an_alias_alive():
    x = nd.array(ramp())
    y = x * 2.0  # the window takes x as a leaf that may die
    z = x.detach() * 1.0  # and a view of it
    x[:] = 100.0  # x gets a new value: only the view holds the old one
    same(z, ramp())
    same(x, np.full(SIZE, 100.0))
    same(y, ramp() * 2)


def test_a_slice_of_a_dead_array_is_not_overwritten():
    x = nd.array(ramp(0.0, 2 * SIZE))
    y = x * 2.0
    z = x[SIZE : 2 * SIZE] + x[0:SIZE]
    x[:] = 100.0
    same(z * 1.0, 2 * ramp() + SIZE)
    same(y, ramp(0.0, 2 * SIZE) * 2)


def test_memory_aliased_by_a_marked_array_is_not_donated():
    w, x = nd.array(ramp(1.0)), nd.array(ramp())
    w.attach_grad()
    with autograd.record():
        loss = w * x
    loss.backward()  # a tape saved x, and is gone
    y = x * 2.0
    x.attach_grad()  # x aliases the value that the window has as its leaf
    x[0:SIZE].wait_to_read()
    same(y, ramp() * 2)
    same(x, ramp())


def test_memory_seen_by_a_detached_array_is_not_donated():
    x = nd.array(ramp())
    x.attach_grad()
    with autograd.record():
        y = x * 2.0
        y.wait_to_read()
        z = y.detach() * 3.0
    same(z, ramp() * 6)
    same(y, ramp() * 2)


def test_a_leaf_of_two_windows_is_not_donated_by_the_first():
    x = nd.array(ramp())
    mine = x * 2.0
    theirs = in_thread(lambda: x * 3.0).result()
    x = None
    gc.collect()
    same(mine, ramp() * 2)
    same(theirs, ramp() * 3)


def test_a_leaf_of_two_windows_is_not_written_when_the_second_has_run():
    x = nd.array(ramp())
    mine = x * 2.0
    np.testing.assert_array_equal(in_thread(lambda: (x * 3.0).asnumpy()).result(), ramp() * 3)
    x[:] = 100.0
    same(mine, ramp() * 2)


# threads


def test_a_pending_value_is_read_by_another_thread():
    x = nd.array(ramp())
    y = x * 2.0 + 1.0
    assert in_thread(y.asnumpy).result().tolist() == (ramp() * 2 + 1).tolist()
    same(y + 1.0, ramp() * 2 + 2)


def test_a_pending_value_of_another_thread_is_an_operand():
    x = nd.array(ramp())
    y = in_thread(lambda: x * 2.0).result()
    assert is_pending(y)
    same(y * x, ramp() ** 2 * 2)


def test_closed_is_not_done(monkeypatch):
    x = nd.array(ramp())
    y = x * 2.0
    w = window_of(y)
    with held_windows(monkeypatch) as begun:
        reader = in_thread(y.asnumpy)
        assert begun.wait(20)
        assert w.closed
        assert not w.is_done
        assert not probe.content(x).exclusive
        x[:] = 100.0
    assert reader.result().tolist() == (ramp() * 2).tolist()
    assert w.is_done


def test_a_reader_waits_for_the_thread_that_runs_the_window(monkeypatch):
    x = nd.array(ramp())
    y = x * 2.0
    with held_windows(monkeypatch) as begun:
        first = in_thread(y.asnumpy)
        assert begun.wait(20)
        second = in_thread(y.asnumpy)
        second.join(0.05)
        assert second.is_alive()
    assert first.result().tolist() == second.result().tolist() == (ramp() * 2).tolist()


def test_a_window_closed_by_another_thread_accepts_no_operations(monkeypatch):
    x = nd.array(ramp())
    x.attach_grad()
    with autograd.record():
        y = x * 2.0
        with held_windows(monkeypatch) as begun:
            reader = in_thread(y.asnumpy)
            assert begun.wait(20)
            assert deferral.twin_of(probe.content(y)) is None
            later = x + 1.0
    same(later, ramp() + 1)
    assert reader.result().tolist() == (ramp() * 2).tolist()


def test_a_window_closed_at_the_last_moment_accepts_no_operations(monkeypatch):
    x = nd.array(ramp())
    y = x * 2.0
    ready, closed = deferral._window_for, []

    def closing(args, device):
        w = ready(args, device)
        if not closed:
            closed.append(w)
            window.flush(w)  # as another thread reading y would
        return w

    monkeypatch.setattr(deferral, "_window_for", closing)
    z = y + 1.0
    assert closed[0].is_done
    same(z, ramp() * 2 + 1)


class Watched(Value):
    """A value that records the order in which its attributes are set."""

    __slots__ = ("order",)

    def __setattr__(self, name, value):
        if name == "order":
            super().__setattr__(name, value)
        else:
            self.order.append(name)
            super().__setattr__(name, value)

    def __init__(self, *args, **options):
        self.order = []
        super().__init__(*args, **options)


def test_a_flush_writes_data_before_clearing_at(monkeypatch):
    monkeypatch.setattr(deferral, "Value", Watched)  # where results are made
    (out,) = deferral.defer(OPS["negative"].bind(), [Watched(ramp())], CPU)
    out.order.clear()
    np.testing.assert_array_equal(window.force(out), -ramp())
    assert out.order == ["data", "producer"]


def test_threads_that_share_arrays_and_windows_agree():
    shared = [nd.array(ramp(k)) for k in range(4)]

    def work(number):
        mine = nd.array(ramp(number))
        for k in range(60):
            a, b = shared[k % 4], shared[(k + number) % 4]
            mine = (mine + a * 0.5 - b * 0.25) * 0.5
            handed[number] = mine * 1.0
            other = handed[(number + 1) % 3]
            other.asnumpy() if other is not None and k % 5 == 0 else None
            mine += 1.0
        return mine.asnumpy()

    handed = [None] * 3
    together = [t.result() for t in [in_thread(lambda n=n: work(n)) for n in range(3)]]
    alone = [work(n) for n in range(3)]
    np.testing.assert_array_equal(together, alone)


# known operations, which take the short path


def met_before(x):
    """Operations of each arity on an array, added to an open window often enough that their structures are known."""
    for _ in range(3):
        y = x * 2.5
        (y + x).exp().wait_to_read()


@pytest.mark.usefixtures("deferred")
def test_a_known_operation_reads_exported_memory_at_once():
    met_before(nd.array(ramp()))
    seen = ramp()
    x = nd.from_dlpack(seen)
    y = x * 2.5
    z = (y + x).exp()
    seen[...] = 0
    np.testing.assert_array_equal(y.asnumpy(), ramp() * np.float32(2.5))
    np.testing.assert_allclose(z.asnumpy(), np.exp(ramp() * 3.5), rtol=1e-5)


@pytest.mark.usefixtures("deferred")
def test_a_known_operation_stays_on_its_device():
    met_before(nd.array(ramp()))
    x = nd.array(ramp(), ctx=cpu(1))
    y = x * 2.5
    z = (y + x).exp()
    assert (y.context, z.context) == (cpu(1), cpu(1))
    np.testing.assert_allclose(z.asnumpy(), np.exp(ramp() * 3.5), rtol=1e-5)


@pytest.mark.usefixtures("deferred")
def test_a_known_operation_on_a_pending_result_stays_on_its_device():
    met_before(nd.array(ramp()))
    with fake_gpus(2) as devices:
        x = nd.array(ramp(), ctx=devices[1])
        y = (x * 2.5 + x).exp()  # none is computed yet, and there is no window of cpu(0)
        assert y.context == devices[1]
        np.testing.assert_allclose(y.asnumpy(), np.exp(ramp() * 3.5), rtol=1e-5)


@pytest.mark.usefixtures("deferred")
def test_a_known_operation_reads_another_threads_result():
    met_before(nd.array(ramp()))
    made = []
    thread = threading.Thread(target=lambda: made.append(nd.array(ramp()) * 2.5))
    thread.start()
    thread.join()
    open_window = nd.array(ramp()) * 2.5  # of this thread
    z = made[0] + open_window
    np.testing.assert_array_equal(z.asnumpy(), ramp() * np.float32(2.5) * 2)


@pytest.mark.usefixtures("deferred")
def test_scalars_of_known_operations_are_not_part_of_the_structure():
    x = nd.array(ramp())
    met_before(x)
    before = COUNTERS.windows
    for number in (0.0, -1.5, 1e30):
        np.testing.assert_array_equal((x * number).asnumpy(), ramp() * np.float32(number))
    assert COUNTERS.windows == before + 3


def test_no_window_is_asked_about_an_array_that_has_been_read():
    x = nd.array(ramp())
    (x * 2.0 + x).wait_to_read()
    assert x._held.producer is None
    x[0] = 5.0
    same(x[0], 5.0)
