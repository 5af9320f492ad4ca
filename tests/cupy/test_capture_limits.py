"""Captured programs: limits, programs that are not captured and report why, threads, devices, and a search over random programs."""

import gc
import threading
from contextlib import suppress

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.backend.kernel import ProgramTraits
from twofold.config import SETTINGS
from twofold.device import interned
from twofold.errors import DeviceError
from twofold.graph.tables import drop_generation
from twofold.program.cache import PROGRAMS

from tests.core import random_programs
from tests.cupy.captured import STEPS, bound, drawn, perceptron, same, trained
from tests.cupy.conftest import SIMULATION, simulated, two_gpus

cupy = pytest.importorskip("cupy")
capture = pytest.importorskip("twofold_cupy.capture")
graph_cache = pytest.importorskip("twofold_cupy.graph_cache")
limits = pytest.importorskip("twofold_cupy.limits")
GPU = interned("gpu", 0)


# what bounds graphs


@simulated  # how often a graph is recaptured depends on when memory is returned
def test_the_most_recently_used_graphs_are_kept(gpus, monkeypatch, graphs):
    monkeypatch.setattr(graph_cache, "MAX_GRAPHS", 3)
    net = perceptron(gpus[0])

    def run(count):
        for k in range(4):
            net(nd.array(drawn(count, 20, seed=k), ctx=gpus[0])).wait_to_read()

    for count in range(2, 8):
        run(count)
        assert len(graphs) <= 3
    assert graphs.counts.dropped == 3
    before, held = graphs.counts.captured, graphs.nbytes(0)
    run(7)
    assert graphs.counts.captured == before, "the last one is there"
    run(2)
    assert graphs.counts.captured == before + 1, "the first one is made again"
    assert held > 0


def test_graphs_stay_within_their_share_of_memory(gpus, monkeypatch, graphs):
    net = perceptron(gpus[0])
    for share, kept in ((0.5, 4), (0.0, 1)):
        monkeypatch.setattr(graph_cache, "MAX_SHARE", share)
        for count in range(2, 6):
            for k in range(4):
                net(nd.array(drawn(count + 10 * kept, 20, seed=k), ctx=gpus[0])).wait_to_read()
        assert len(graphs) == kept


def test_a_programs_graphs_are_freed_with_it(gpus, graphs):
    trained(gpus[0], perceptron(gpus[0]))
    assert len(graphs) == 1
    PROGRAMS.clear()
    gc.collect()
    assert len(graphs) == 0


def test_an_executors_graphs_are_freed_with_it(gpus, graphs):
    executor = bound(gpus[0])
    for _ in range(4):
        executor.forward(is_train=True)
        executor.backward()
    assert len(graphs) == 2
    del executor
    gc.collect()
    assert len(graphs) == 0
    assert graphs.nbytes(0) == 0


def test_executors_of_one_program_have_their_own_graphs(gpus, monkeypatch, graphs):
    """When they take turns, neither finds its arrays moved."""

    def run():
        executors = [bound(gpus[0]), bound(gpus[0])]
        for _ in range(STEPS):
            for executor in executors:
                executor.forward()
        if SETTINGS.cuda_graphs:
            assert all("copies 0 inputs" in e.explain() for e in executors)
        return [e.outputs[0] for e in executors]

    same(run, monkeypatch, graphs, 2 * (STEPS - 2))
    assert graphs.counts.captured == 2


@simulated
@pytest.mark.parametrize("is_lent", [False, True])
def test_a_dropped_graph_frees_all_its_memory(gpus, backend, graphs, is_lent):
    """Including blocks that its steps used, and the unlent parts of lent blocks."""
    x = nd.array(drawn(4, 250_000), ctx=gpus[0])

    def run():
        y = (x.sum() + x).sum() * x
        z = x[0, :25_000] * (y.max() + y).tanh().sum()
        z.wait_to_read()
        return z

    run()
    backend.trim()
    before = cupy.cuda.runtime.memGetInfo()[0]
    for _ in range(5):
        z = run()
    assert graphs.nbytes(0) > 4_000_000
    if not is_lent:
        del z
    graphs.drop()
    backend.trim()
    assert cupy.cuda.runtime.memGetInfo()[0] >= before - (2 << 20 if is_lent else 0)
    z = None
    backend.trim()
    assert cupy.cuda.runtime.memGetInfo()[0] >= before
    assert x.size


@pytest.mark.ci
@simulated
def test_graphs_are_evicted_for_allocations_that_need_their_memory(gpus, backend, graphs):
    x = nd.array(drawn(4, 250_000), ctx=gpus[0])
    for _ in range(5):
        y = ((x.sum() + x).sum() * x).tanh() + 1 / x.max()
        y.wait_to_read()
    assert graphs.nbytes(0) > 4_000_000
    free, _ = backend.memory_info(GPU)
    del y
    big = backend.empty((free + 2_000_000,), "uint8")
    assert (len(graphs), graphs.counts.dropped) == (0, 1)
    del big
    backend.trim()


def full(size):
    raise cupy.cuda.memory.OutOfMemoryError(size, 0)


def test_a_graph_is_captured_once_there_is_room(gpus, graphs, monkeypatch):
    net, data = perceptron(gpus[0]), nd.array(drawn(7, 20), ctx=gpus[0])
    want = net(data).asnumpy()
    with monkeypatch.context() as patch:
        patch.setattr(limits, "private", full)
        for _ in range(6):
            np.testing.assert_array_equal(net(data).asnumpy(), want)
        assert (graphs.counts.launched, graphs.counts.refused) == (0, 0)
        (told,) = reports(lambda: net(data).wait_to_read())
        assert told.startswith("step by step for now: ")
        assert "does not fit into memory" in told
    for _ in range(4 * capture.BACKOFF):
        np.testing.assert_array_equal(net(data).asnumpy(), want)
    assert graphs.counts.launched > 0


def test_the_wait_doubles_after_each_capture_without_room(gpus, graphs, monkeypatch):
    tried, runs = [], []
    monkeypatch.setattr(limits, "private", lambda size: tried.append(len(runs)) or full(size))
    monkeypatch.setattr(capture, "BACKOFF", 1)
    net, data = perceptron(gpus[0]), nd.array(drawn(7, 20), ctx=gpus[0])
    for k in range(30):
        runs.append(k)
        net(data).wait_to_read()
    assert sorted(set(tried)) == [3, 6, 11, 20]  # after 2, 4 and 8 runs without a capture
    assert len(tried) == 3 * 4  # each retries the allocation after each way to free memory
    assert (graphs.counts.failed, graphs.counts.refused) == (4, 0)


@simulated  # how often a graph is evicted depends on when memory is returned
def test_captures_that_do_not_pay_off_are_postponed(gpus, graphs, monkeypatch):
    monkeypatch.setattr(capture, "MAX_CAPTURES", 2)
    net, data = perceptron(gpus[0]), nd.array(drawn(7, 20), ctx=gpus[0])
    for _ in range(12):
        net(data).wait_to_read()
        graphs.drop()
    assert graphs.counts.captured == 2
    assert reports(lambda: net(data).wait_to_read()) == ["step by step for now: its graph was dropped 2 times"]
    for _ in range(capture.BACKOFF << 2):
        net(data).wait_to_read()
    assert graphs.counts.captured == 3


def test_the_most_recently_used_layouts_are_kept(gpus, graphs, backend):
    """Five input layouts alternate with one that recurs after each: that one keeps its graph."""
    xp = backend.xp
    replay = capture.GraphRunner(graphs, lambda a: [xp.exp(xp.add(a[0], a[0]))], ProgramTraits(9, *[frozenset()] * 3, ()))
    x = backend.from_host(drawn(4, 64), GPU)
    for _ in range(4):
        backend.quietly(replay, [x])
    launched = graphs.counts.launched
    for k in range(2, 7):
        backend.quietly(replay, [x[:, : 8 * k : k]])
        backend.quietly(replay, [x])
    assert graphs.counts.launched == launched + 5
    assert len(replay._specializations) == capture.MAX_SPECIALIZATIONS


@simulated
def test_a_graph_under_capture_keeps_its_blocks_when_memory_runs_out(gpus, backend, graphs):
    """Memory runs out during the capture: the shared pool's blocks are released, not those of earlier steps of the graph."""
    xp = backend.xp

    def run(arrays):
        first = xp.add(arrays[0], arrays[0])
        total = xp.sum(first, axis=0)
        del first  # its block is free, but part of the graph
        return [xp.add(xp.concat(*arrays * 3, axis=0), total)]

    replay = capture.GraphRunner(graphs, run, ProgramTraits(9, frozenset(), frozenset(), frozenset(), ()))
    x = backend.from_host(drawn(500, 500), GPU)
    want = backend.to_host(backend.quietly(run, [x])[0])
    for k in range(5):
        if k == 2:
            backend.trim()
            unused = backend.empty((9_000_000,), "uint8")
            ballast = backend.empty((backend.memory_info(GPU)[0] - 1_500_000,), "uint8")
            del unused
        np.testing.assert_array_equal(backend.to_host(backend.quietly(replay, [x])[0]), want)
    assert (graphs.counts.launched, graphs.counts.refused) == (3, 0)
    assert graphs.nbytes(0) >= 7_000_000, "the first block was given up"
    assert ballast.size


# what is not captured


def reports(run):
    with mx.explain() as report:
        run()
    return [f.issued for f in report.flushes if f.issued]


def test_explain_reports_what_is_captured(gpus, graphs):
    net, data = perceptron(gpus[0]), nd.array(drawn(7, 20), ctx=gpus[0])
    for _ in range(4):
        net(data).wait_to_read()
    assert reports(lambda: net(data).wait_to_read()) == ["one CUDA graph of 4 steps; copies 0 inputs, 0 scalars and 0 results"]
    executor = bound(gpus[0])
    assert "step by step so far" in executor.explain()
    for _ in range(4):
        executor.forward()
    assert "one CUDA graph of" in executor.explain()


def test_user_code_runs_at_every_call(gpus, graphs):
    calls = []

    class Twice(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            calls.append(1)
            self.assign(out_data[0], req[0], in_data[0] * 2)

    @mx.operator.register("twice_while_captured")
    class TwiceProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Twice()

    data = mx.sym.var("data")
    twice = mx.sym.Custom(mx.sym.dot(data, data), op_type="twice_while_captured")
    executor = mx.sym.dot(twice + 1, twice).tanh().simple_bind(gpus[0], data=(4, 4))
    for _ in range(5):
        executor.forward()
        executor.outputs[0].wait_to_read()
    assert (len(calls), graphs.counts.refused) == (5, 1)
    assert "step by step: user_forward runs on the host" in executor.explain()


def test_programs_with_host_decisions_run_step_by_step(gpus, monkeypatch, graphs):
    def run():
        count, total = mx.sym.var("count"), mx.sym.var("total")
        _, states = mx.sym.contrib.while_loop(
            lambda count, total: count < 4, lambda count, total: ([total], [count + 1, total * 2]), [count, total], max_iterations=6
        )
        executor = ((states[1] + 1) * states[0]).tanh().simple_bind(gpus[0], count=(1,), total=(1,))
        found = []
        for k in range(STEPS):
            executor.forward(count=nd.array([k % 4], ctx=gpus[0]), total=nd.array([0.01], ctx=gpus[0]))
            found.append(executor.outputs[0].copy())
        assert "step by step: while_loop runs on the host" in executor.explain()
        return found

    same(run, monkeypatch, graphs, 0)


def test_a_failed_capture_is_retried_later(gpus, monkeypatch, graphs):
    net, data = perceptron(gpus[0]), nd.array(drawn(7, 20), ctx=gpus[0])
    want, tried = net(data).asnumpy(), []

    def fails(inner):
        tried.append(inner)
        raise ValueError("no products today")

    real = capture._capture

    def captured(streams, run, given):
        return real(streams, lambda arrays: (run(arrays), fails(streams[0])), given)

    monkeypatch.setattr(capture, "_capture", captured)
    for _ in range(6):
        np.testing.assert_array_equal(net(data).asnumpy(), want)
    assert len(tried) == 1
    assert not tried[0].cuda.is_capturing()
    assert reports(lambda: net(data).wait_to_read()) == ["step by step for now: ValueError: no products today"]
    assert (graphs.counts.failed, graphs.counts.refused, graphs.counts.launched) == (1, 0, 0)
    monkeypatch.undo()
    trained(gpus[0], perceptron(gpus[0]))  # others are captured
    assert graphs.counts.launched > 3
    for _ in range(2 * capture.BACKOFF):
        np.testing.assert_array_equal(net(data).asnumpy(), want)
    assert reports(lambda: net(data).wait_to_read()) == ["one CUDA graph of 4 steps; copies 0 inputs, 0 scalars and 0 results"]


@simulated
def test_operations_cuda_forbids_in_a_capture_are_reported(gpus, monkeypatch, backend, graphs):
    net, data = perceptron(gpus[0]), nd.array(drawn(7, 20), ctx=gpus[0])
    want = net(data).asnumpy()
    real = capture._capture

    def captured(streams, run, given):
        return real(streams, lambda arrays: (run(arrays), streams[0].cuda.synchronize()), given)

    monkeypatch.setattr(capture, "_capture", captured)
    for _ in range(6):
        np.testing.assert_array_equal(net(data).asnumpy(), want)
    (told,) = reports(lambda: net(data).wait_to_read())
    assert "cudaErrorStreamCaptureUnsupported" in told


@simulated
def test_a_capture_broken_by_another_thread_is_retried(gpus, monkeypatch, graphs):
    net, data = perceptron(gpus[0]), nd.array(drawn(7, 20), ctx=gpus[0])
    want = net(data).asnumpy()
    real = capture._capture

    def captured(streams, run, given):
        def broken(arrays):
            with suppress(cupy.cuda.runtime.CUDARuntimeError):
                cupy.cuda.runtime.deviceSynchronize()
            return run(arrays)

        return real(streams, broken, given)

    with monkeypatch.context() as patch:
        patch.setattr(capture, "_capture", captured)
        for _ in range(6):
            np.testing.assert_array_equal(net(data).asnumpy(), want)
        (told,) = reports(lambda: net(data).wait_to_read())
        assert told.startswith("step by step for now: ")
    for _ in range(4 * capture.BACKOFF):
        np.testing.assert_array_equal(net(data).asnumpy(), want)
    assert graphs.counts.launched > 0


@simulated
def test_capsules_are_not_waited_for_while_another_thread_captures(gpus, monkeypatch, graphs):
    capsule, found = cupy.ones((4,), np.float32).__dlpack__(stream=-1), []
    importer = threading.Thread(target=lambda: found.append(nd.from_dlpack(capsule).asnumpy()))
    real = capture._capture

    def captured(streams, run, given):
        def meanwhile(arrays):
            importer.start()
            importer.join(0.5)
            assert not found
            return run(arrays)

        return real(streams, run if found or importer.is_alive() else meanwhile, given)

    monkeypatch.setattr(capture, "_capture", captured)
    net, data = perceptron(gpus[0]), nd.array(drawn(7, 20), ctx=gpus[0])
    for _ in range(6):
        net(data).wait_to_read()
    importer.join()
    np.testing.assert_array_equal(found, [[1, 1, 1, 1]])
    assert graphs.counts.refused == 0
    assert graphs.counts.launched > 0


def test_graphs_can_be_switched_off(gpus, monkeypatch, graphs):
    monkeypatch.setattr(SETTINGS, "cuda_graphs", False)
    trained(gpus[0], perceptron(gpus[0]))
    assert graphs.counts.captured == 0


def test_arrays_that_keep_moving_are_copied(gpus, monkeypatch, graphs):
    """After a few captures all arrays count as moving, and no more captures are made."""

    def each(k, net, trainer, loss, losses):
        net[k % 2].weight.set_data(net[k % 2].weight.data(gpus[0]) * 1.5)
        losses.append(net[0].weight.data(gpus[0]))

    same(lambda: trained(gpus[0], perceptron(gpus[0]), each=each), monkeypatch, graphs, 1)
    assert graphs.counts.captured <= 2 * capture.MAX_CHANGES


# threads and devices


@pytest.mark.usefixtures("schedule")
def test_two_threads(gpus, monkeypatch, graphs):
    """Both run one program, each on its own arrays."""

    def run():
        net, found = perceptron(gpus[0]), [None, None]

        def work(number):
            inputs = [nd.array(drawn(7, 20, seed=10 * number + k), ctx=gpus[0]) for k in range(STEPS)]
            found[number] = [net(x).asnumpy() for x in inputs]

        threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return [*found[0], *found[1]]

    same(run, monkeypatch, graphs)


@two_gpus
@pytest.mark.usefixtures("schedule")
def test_two_devices(gpus, monkeypatch, graphs):
    """Data-parallel training: each device has its own graph, and gradients are copied between devices at each step."""

    def run():
        net = perceptron(gpus)
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
        data = nd.array(drawn(8, 20))
        for _ in range(STEPS):
            with autograd.record():
                losses = [(net(part) ** 2).sum() for part in gluon.utils.split_and_load(data, gpus)]
            for loss in losses:
                loss.backward()
            trainer.step(8)
        return [p.data(ctx) for ctx in gpus for p in net.collect_params().values()]

    same(run, monkeypatch, graphs)


@two_gpus
@pytest.mark.usefixtures("schedule")
def test_a_pending_copy_is_made_before_a_graph_overwrites_its_source(gpus, monkeypatch, graphs):
    """A result goes back into the input's memory while another device copies that."""

    def run():
        x, state, copies, others = nd.array(drawn(8, 8), ctx=gpus[0]), nd.zeros((8, 8), ctx=gpus[0]), [], []
        for _ in range(STEPS):
            others.append(nd.dot(nd.dot(nd.dot(x, x).tanh(), x).tanh(), state))
            state = state * 0.5 + 1
            copies.append(state.copyto(gpus[1]))
        return others[::-1] + copies  # read first, the last of these has all be computed while copies wait

    same(run, monkeypatch, graphs)


@simulated
@pytest.mark.parametrize("status", [700, 719])
def test_a_device_failure_in_a_graph_is_reported(gpus, graphs, status):
    net, data = perceptron(gpus[0]), nd.array(drawn(7, 20), ctx=gpus[0])
    for _ in range(5):
        net(data).wait_to_read()
    assert graphs.counts.launched
    out = net(data)
    SIMULATION.fail(status)
    try:
        with pytest.raises(DeviceError, match="restart the process"):
            out.wait_to_read()
    finally:
        SIMULATION.fail(0)
        with suppress(DeviceError):
            nd.waitall()  # the failure is reported once more


# random programs


def gathered(seeds, ctx):
    """Compile the sources of all programs together, which takes a fraction of the time."""
    with SIMULATION.gathering():
        for seed in seeds:
            for record in (False, True):
                for _ in range(3):
                    with suppress(Exception):  # they read garbage
                        random_programs.run(seed, record, ctx, wanders=False)
    drop_generation()


@simulated
@pytest.mark.parametrize("part", [0, *[pytest.param(part, marks=pytest.mark.slow) for part in range(1, 8)]])
def test_random_programs_give_the_same_bits(gpus, monkeypatch, graphs, part):
    monkeypatch.setattr(SETTINGS, "defer_elements", 8)
    seeds = range(part, 64, 8)
    gathered(seeds, gpus[0])
    for seed in seeds:
        for record in (False, True):
            SIMULATION.schedule("random", seed)
            with monkeypatch.context() as patch:
                patch.setattr(SETTINGS, "cuda_graphs", False)
                want = random_programs.run(seed, record, gpus[0], wanders=False)
            for again in range(5):
                got = random_programs.run(seed, record, gpus[0], wanders=False)
                for g, w in zip(got, want, strict=True):
                    np.testing.assert_array_equal(g, w, err_msg=f"seed {seed}, record {record}, run {again}")
    SIMULATION.schedule("late")
    assert graphs.counts.launched > len(seeds)
