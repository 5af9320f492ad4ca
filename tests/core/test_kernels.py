"""Fused kernels on NumPy: blocks, scratch, threads, forks; the same bits as running operation by operation."""

import contextlib
import gc
import os
import sys
import threading
import time
import tracemalloc
import weakref
from functools import partial
from queue import SimpleQueue

import numpy as np
import pytest

from twofold import nd
from twofold.backend import workers
from twofold.backend.loader import backend_for
from twofold.device import CPU
from twofold.graph.build import G
from twofold.graph.ir import leaf
from twofold.imperative.counters import COUNTERS
from twofold.program.compile import Program
from twofold_numpy import blocked

from .operators import in_thread

HOST = backend_for(CPU)


def data(shape, first=0.0):
    return (np.arange(np.prod(shape)) * 0.01 + first).reshape(shape).astype(np.float32)


def chain(x, y):
    """Operations whose inner values have several dtypes and lifetimes."""
    a = G.exp(x * 0.5)
    b = G.greater(a, y)
    c = G.where(b, a, y * 2)
    d = G.astype(c, dtype="float64") + 1
    return [G.tanh(a - c), G.astype(d * d, dtype="float32") + a, G.where(b, c, d)]


def compare(outputs, leaves, arrays):
    """Check that the fused program gives the bits of the unfused one; return it."""
    fused = Program(outputs, leaves, HOST, big=1)
    plain = Program(outputs, leaves, HOST, big=1 << 40)
    assert fused.kernels
    assert not plain.kernels
    for _ in range(2):
        for a, b in zip(fused.run(arrays), plain.run(arrays), strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype
    return fused


@pytest.mark.parametrize("block", [1, 7, 64, 65_536])
@pytest.mark.parametrize(
    "shapes", [((50,), (50,)), ((5, 10), (10,)), ((5, 10), (5, 1)), ((2, 5, 5), (5, 1)), ((4, 3, 5), (4, 1, 5)), ((5, 10), ())]
)
def test_a_kernel_is_bitwise_equal_to_single_operations(monkeypatch, block, shapes):
    monkeypatch.setattr(blocked, "BLOCK", block)
    x, y = (leaf(k, s, "float32") for k, s in enumerate(shapes))
    compare(chain(x, y), [x, y], [data(s, k / 3) for k, s in enumerate(shapes)])


@pytest.mark.parametrize("size", [21, 40, 41, 63])
def test_a_kernel_on_two_threads_is_bitwise_equal_to_one(monkeypatch, size):
    monkeypatch.setattr(blocked, "BLOCK", 4)
    monkeypatch.setattr(blocked, "THREADED", 0)
    x, y = leaf(0, (size,), "float32"), leaf(1, (size,), "float32")
    compare(chain(x, y), [x, y], [data((size,)), data((size,), 0.3)])
    x, y = leaf(0, (size, 3), "float32"), leaf(1, (size, 1), "float32")
    compare(chain(x, y), [x, y], [data((size, 3)), data((size, 1), 0.3)])


def test_each_thread_has_its_own_scratch(monkeypatch):
    monkeypatch.setattr(blocked, "BLOCK", 40_000)
    x, y = leaf(0, (80_000,), "float32"), leaf(1, (80_000,), "float32")
    program = compare(chain(x, y), [x, y], [data((80_000,)) % 1, data((80_000,), 0.3) % 1])
    cases = [[data((80_000,), k) % 2, data((80_000,), k / 3) % 2] for k in range(3)]
    wanted = [program.run(c) for c in cases]
    tasks = [in_thread(lambda c=c: [program.run(c) for _ in range(6)]) for c in cases]
    for task, want in zip(tasks, wanted, strict=True):
        for results in task.result():
            for a, b in zip(results, want, strict=True):
                np.testing.assert_array_equal(a, b)


def test_where_does_not_overwrite_an_inner_value_it_selects_from():
    x = leaf(0, (20,), "float32")
    a, b, c = x * 2 - 5, x + 0.5, x - 10
    compare([G.where(c, a, b) + 1], [x], [data((20,)) * 100])
    compare([G.where(a, b, c) + 1], [x], [data((20,)) * 100])
    compare([G.where(a * 0 + 1, b, a) + 1], [x], [data((20,)) * 100])


def test_scratch_of_a_dead_inner_value_is_reused():
    x = leaf(0, (20,), "float32")
    t = x
    for k in range(10):
        t = G.tanh(t + x) if k % 2 else G.exp(t * 0.1) - x
    program = compare([t], [x], [data((20,))]).kernels[0]
    printer = blocked._Printer(program, *blocked.collapsed_space(program))
    assert len(printer.scratch) <= 2


@pytest.mark.parametrize("shape", [(300, 400), (3, 100, 400), (2, 300, 400), (1, 2, 2, 300, 401)])
def test_a_kernel_reads_arrays_with_gaps_without_copies(shape):
    x = leaf(0, shape, "float32")
    program = compare([G.exp(x * 0.5) + x], [x], [data(shape) % 1]).kernels[0]
    kernel = blocked.compile_kernel(program)
    part = (data((*shape[:-1], shape[-1] + 5)) % 1)[..., 5:]
    wanted, found = np.empty(shape, np.float32), np.empty(shape, np.float32)
    kernel(np.ascontiguousarray(part), wanted)
    kernel(part, found)  # allocates scratch
    tracemalloc.start()
    kernel(part, found)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(found, wanted)
    assert most < part.nbytes / 4


def test_an_inner_value_lives_until_its_last_reader():
    x = leaf(0, (20,), "float32")
    a = G.exp(x)
    b = a * 2
    c = b + a
    d = c * b - a
    compare([d, G.negative(c)], [x], [data((20,))])


def test_readers_of_a_member_run_after_the_kernel():
    x = leaf(0, (4, 5), "float32")
    a = G.exp(x * 0.1)
    s = G.sum(a, axis=1, keepdims=True)
    compare([(a / s) * 2 + s, G.tanh(a) + 1], [x], [data((4, 5))])


def test_nodes_that_read_no_member_can_run_before_the_kernel():
    x, y = leaf(0, (4, 5), "float32"), leaf(1, (4, 5), "float32")
    s = G.sum(y, axis=0, keepdims=True)
    fused = compare([G.exp(x * 0.1) + s, G.tanh(x - s)], [x, y], [data((4, 5)), data((4, 5), 1.0)])
    assert [step.is_kernel for step in fused.steps] == [False, True]


def test_groups_have_one_shape():
    x, y = leaf(0, (4, 5), "float32"), leaf(1, (5,), "float32")
    compare([G.exp(x * 0.1) + (y * 2 + 1), G.tanh(y - 1)], [x, y], [data((4, 5)), data((5,))])


def test_functions_other_than_ufuncs_are_fused_too():
    x = leaf(0, (20,), "float32")
    compare([G.erf(x * 0.5) + 1, G.clip(x - 1, -0.5, 0.5) * 2, G.polygamma(x + 1, order=1) * 2], [x], [data((20,), 0.5)])


def test_python_scalars_are_operands_of_kernels():
    x, s = leaf(0, (20,), "float16"), leaf(1, (), "weakf")
    for scale in (2.5, 0.0, -0.0, float("inf")):
        compare([x * s + 1, G.maximum(x, s) * 2], [x, s], [data((20,)).astype(np.float16), scale])


def test_no_floating_point_warning_escapes_from_a_kernel_or_its_threads(monkeypatch):
    monkeypatch.setattr(blocked, "BLOCK", 4)
    monkeypatch.setattr(blocked, "THREADED", 0)
    x = leaf(0, (40,), "float32")
    (got,) = Program([G.log(x) / x * 0], [x], HOST, big=1).run([np.zeros(40, np.float32)])
    assert np.isnan(got).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # forking a multi-threaded process is the point here
def test_a_forked_child_starts_its_own_threads(monkeypatch):
    monkeypatch.setattr(blocked, "BLOCK", 4)
    monkeypatch.setattr(blocked, "THREADED", 0)
    x = leaf(0, (40,), "float32")
    program, values = Program([G.exp(x) * 2 + 1], [x], HOST, big=1), data((40,))
    want = program.run([values])[0].tobytes()
    assert workers._tasks
    read, write = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            assert not workers._tasks
            os.write(write, program.run([values])[0].tobytes())
            status = 0
        finally:
            sys.stdout.flush()
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        got = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    assert got == want
    assert program.run([values])[0].tobytes() == want


def test_fused_kernels_are_counted_where_they_run(deferred):
    x = nd.array(data((16,)))
    ((x + 1.0) * 2.0).wait_to_read()
    assert (COUNTERS.kernels, COUNTERS.fused, COUNTERS.windows) == (1, 2, 1)


def log_softmax(x):
    shifted = x - G.max(x, axis=-1, keepdims=True)
    return shifted - G.log(G.sum(G.exp(shifted), axis=-1, keepdims=True))


@pytest.mark.parametrize("shape", [(1000, 100), (7, 13, 11), (3, 200_000), (70_000, 2), (1, 150), (5,), (40_000, 10)], ids=str)
def test_reductions_over_the_last_axis_are_part_of_kernels(shape):
    x = leaf(0, shape, "float32")
    program = compare([log_softmax(x)], [x], [data(shape)])
    assert [step.is_kernel for step in program.steps] == [True]
    assert program.kernels[0].has_rows


def test_kernels_give_results_of_rows_and_take_operands_of_rows():
    x, bias, scale = leaf(0, (300, 40), "float32"), leaf(1, (300, 1), "float32"), leaf(2, (40,), "float32")
    mean = G.sum(x * scale, axis=1, keepdims=True) * (1 / 40) + bias
    centred = x - mean
    spread = G.sqrt(G.sum(centred * centred, axis=1, keepdims=True))
    outputs = [centred / spread, mean, spread + 1]
    program = compare(outputs, [x, bias, scale], [data((300, 40)), data((300, 1), 1.0), data((40,), 2.0)])
    assert [step.is_kernel for step in program.steps] == [True]


def test_an_operation_that_widens_a_row_is_not_fused_with_it():
    x, y = leaf(0, (300, 40), "float32"), leaf(1, (1, 7), "float32")
    total = G.exp(G.sum(x * 0.01, axis=1, keepdims=True))
    program = compare([total * y + 1, total], [x, y], [data((300, 40)), data((1, 7), 1.0)])
    assert [step.nodes[-1].shape for step in program.steps] == [(300, 1), (300, 7)]


def test_other_reductions_are_not_fused():
    x = leaf(0, (30, 40), "float32")
    for reduced in (G.sum(x + 1, axis=0, keepdims=True), G.sum(x + 1, axis=0), G.prod(x + 1, axis=1, keepdims=True)):
        program = compare([G.exp(reduced) * 2], [x], [data((30, 40))])
        assert not any(k.has_rows for k in program.kernels)


def test_one_thread_runs_all_pieces_on_a_busy_machine(monkeypatch):
    monkeypatch.setattr(workers, "_queue", SimpleQueue)  # nobody serves it
    ran = []
    workers.run_all([partial(ran.append, k) for k in range(5)])
    assert ran == [*range(5)]


def test_helpers_wake_on_another_core_and_may_use_all_when_they_run(monkeypatch):
    moved = []
    monkeypatch.setattr(workers, "_THIS_CORE", lambda: 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda thread: {0, 1, 2})
    monkeypatch.setattr(os, "sched_setaffinity", lambda *asked: moved.append(asked))
    started = threading.Event()
    workers.run_all([started.wait, started.set])
    helper = workers._helpers[0].native_id
    assert (helper, {0, 2}) in moved
    assert (0, {0, 1, 2}) in moved[moved.index((helper, {0, 2})) :]


def test_a_system_that_moves_no_threads_is_no_error(monkeypatch):
    def refused(thread, cores):
        raise PermissionError

    monkeypatch.setattr(workers, "_THIS_CORE", lambda: 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda thread: {0, 1})
    monkeypatch.setattr(os, "sched_setaffinity", refused)
    started = threading.Event()
    workers.run_all([started.wait, started.set])
    assert started.is_set()


@pytest.mark.parametrize("error", [None, ZeroDivisionError])
def test_work_queued_for_a_busy_thread_holds_no_references(error, monkeypatch):
    tasks = SimpleQueue()
    monkeypatch.setattr(workers, "_queue", lambda: tasks)  # nobody serves it
    array = np.ones(3)
    gone, there = weakref.ref(array), partial(array.sum)
    del array

    def here():
        if error:
            raise error

    with pytest.raises(error) if error else contextlib.nullcontext():
        workers.run_all([here, there])
    del there
    gc.collect()
    assert gone() is None
    tasks.get()()  # it has nothing left to do


def test_the_caller_waits_for_the_worker_thread():
    started, ran = threading.Event(), []

    def there():
        started.set()
        time.sleep(0.05)
        ran.append("there")

    workers.run_all([started.wait, there])
    assert ran == ["there"]


def test_an_error_in_the_worker_thread_is_raised_in_the_caller():
    started = threading.Event()

    def fails():
        started.set()
        raise ZeroDivisionError("there")

    with pytest.raises(ZeroDivisionError, match="there"):
        workers.run_all([started.wait, fails])


def test_each_piece_runs_once():
    ran = []
    for _ in range(200):
        workers.run_all([lambda: None, lambda: ran.append(1)])
    started = threading.Event()
    workers.run_all([started.wait, started.set])  # everything queued before has been taken
    assert len(ran) == 200


def test_warnings_are_off_in_the_worker_thread():
    started, seen = threading.Event(), []

    def there():
        seen.append(np.geterr())
        started.set()

    workers.run_all([started.wait, there])
    assert set(seen[0].values()) == {"ignore"}


@pytest.mark.parametrize("small", [0, 4096])
def test_a_reentrant_kernel_has_its_own_scratch(small, monkeypatch):
    monkeypatch.setattr(blocked, "SMALL", small)
    x = leaf(0, (20,), "float32")
    chain_of_two = [G.exp(x * 0.5) + 1]
    inner, values, other = Program(chain_of_two, [x], HOST, big=1), data((20,)), data((20,), 5.0)
    exp, busy = np.exp, []

    def interrupted(a, out):  # as by a signal handler, in the middle of a kernel
        if not busy:
            busy.append(True)
            inner.run([other])
        return exp(a, out)

    inner.run([other])
    outer = Program(chain_of_two, [x], HOST, big=1)
    kernel = next(v for v in vars_of(outer).values() if getattr(v, "__name__", "") in ("run", "kernel"))
    for name in ("flat", "kernel") if kernel.__name__ == "run" else ():
        kernel = dict(zip(kernel.__code__.co_freevars, [c.cell_contents for c in kernel.__closure__], strict=True))[name]
    names = [k for k, v in kernel.__globals__.items() if v is np.exp]
    monkeypatch.setitem(kernel.__globals__, names[0], interrupted)
    np.testing.assert_array_equal(outer.run([values])[0], np.exp(values * np.float32(0.5)) + 1)
    assert busy


def vars_of(program):
    """The objects that a program's function refers to."""
    return program.run.args[0].__globals__


def test_large_scratch_is_not_kept():
    x = leaf(0, (1, 3_000_000), "float32")
    before = dict(blocked._local.__dict__.get("waiting", {}))
    Program([log_softmax(x)], [x], HOST, big=1).run([data((1, 3_000_000))])
    kept = blocked._local.__dict__.get("waiting", {})
    assert all(sum(b.nbytes for b in blocks) <= blocked.KEPT for kinds, blocks in kept.items() if kinds not in before)


def test_a_python_scalar_is_read_in_the_dtype_of_each_step():
    x, y, s = leaf(0, (20,), "float32"), leaf(1, (20,), "float64"), leaf(2, (), "weakf")
    for outputs in ([x * s, y * s], [y * s, x * s]):
        program = compare([*outputs, x + s], [x, y, s], [data((20,)), data((20,), 1.0).astype(np.float64), 0.1])
        assert [step.is_kernel for step in program.steps] == [True]


def test_a_sum_that_is_broadcast_comes_before_what_it_is_added_to():
    """Between the kernel's operations it would keep them apart: the gradient of a factorization machine is ``2 x a + 2 sum(x) b``."""
    x = leaf(0, (8, 5, 3), "float32")
    total = G.sum(x, axis=(1,), keepdims=True)
    spread = G.broadcast_to(G.exp(total), shape=(8, 5, 3))
    program = compare([G.exp(G.tanh(G.exp(G.tanh(x))) * 2) + spread], [x], [data((8, 5, 3))])
    assert [step.nodes[-1].bound_op.op.name for step in program.steps] == ["sum", "exp", "broadcast_to", "add"]
