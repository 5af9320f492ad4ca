"""What runs concurrently: devices, copies, branches; on a simulated clock, in real time, and in any order with the same results."""

import os
import time

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.backend.kernel import ArrayType
from twofold.backend.ledger import HAND_OFFS
from twofold.backend.loader import backend_for
from twofold.config import SETTINGS
from twofold.device import interned
from twofold.errors import EngineError
from twofold.imperative.pending import issue
from twofold.imperative.window import force
from twofold.scheduler.observers import forget, listen
from twofold.scheduler.queue import QUEUE, seeded_schedule

from tests.devices import fake_gpus
from tests.probe import captured


def timeline_of(device: mx.Context) -> list:
    """The intervals of what runs on fake GPUs from now on."""
    backend_for(interned(device)).streams.timeline = found = []
    return found


def busy(intervals: list, *words: str) -> float:
    """The busy time of the streams whose title contains the words."""
    return sum(i.end - i.start for i in intervals if all(w in i.stream for w in words))


def span_of(intervals: list) -> float:
    return max(i.end for i in intervals) - min(i.start for i in intervals)


def steps(x: nd.NDArray, count: int) -> nd.NDArray:
    """Operations that do not fuse: each is one piece of work for its device."""
    for _ in range(count):
        x = nd.dot(x, x)
    return x


def test_two_gpus_compute_concurrently():
    with fake_gpus(2) as gpus:
        intervals = timeline_of(gpus[0])
        results = [steps(nd.eye(8, ctx=gpu), 20) for gpu in gpus]
        for r in results:
            np.testing.assert_array_equal(r.asnumpy(), np.eye(8))
        assert busy(intervals, "gpu(0) compute") >= 20
        assert busy(intervals, "gpu(1) compute") >= 20
        assert span_of(intervals) <= 0.6 * busy(intervals, "compute")


def test_a_copy_overlaps_computation_on_both_devices():
    with fake_gpus(2) as gpus:
        source = nd.eye(8, ctx=gpus[0])
        source.wait_to_read()
        intervals = timeline_of(gpus[0])
        works = [steps(nd.eye(8, ctx=gpu), 20) for gpu in gpus]
        copies = [source.as_in_context(gpus[1]) for _ in range(5)]
        for array in copies + works:
            np.testing.assert_array_equal(array.asnumpy(), np.eye(8))
        assert busy(intervals, "h2d") >= 5
        assert span_of(intervals) <= 0.6 * (busy(intervals, "compute") + busy(intervals, "h2d"))


def lstm(length: int, hidden: int) -> mx.sym.Symbol:
    """Two unrolled layers on two groups of devices: layer 0 of a step and layer 1 of the previous step can run concurrently."""
    cells = []
    for layer, group in enumerate(("below", "above")):
        with mx.AttrScope(ctx_group=group):
            cells.append([mx.sym.Variable(f"l{layer}_{name}") for name in ("i2h", "h2h", "bias")])
    data = mx.sym.Variable("data")
    inputs = list(mx.sym.SliceChannel(data, num_outputs=length, axis=0, squeeze_axis=True))
    states: list = [None, None]
    for k, x in enumerate(inputs):
        for layer, group in enumerate(("below", "above")):
            with mx.AttrScope(ctx_group=group):
                i2h, h2h, bias = cells[layer]
                gates = mx.sym.FullyConnected(x, i2h, bias, num_hidden=4 * hidden, name=f"i2h{layer}_{k}")
                if states[layer] is not None:
                    gates = gates + mx.sym.FullyConnected(states[layer][0], h2h, num_hidden=4 * hidden, no_bias=True)
                i, f, o, g = mx.sym.SliceChannel(gates, num_outputs=4, axis=1)
                c = mx.sym.sigmoid(i) * mx.sym.tanh(g)
                if states[layer] is not None:
                    c = c + mx.sym.sigmoid(f) * states[layer][1]
                h = mx.sym.sigmoid(o) * mx.sym.tanh(c)
                states[layer] = h, c
                x = h
    with mx.AttrScope(ctx_group="above"):
        return mx.sym.sum(mx.sym.square(states[1][0]))


def trained(devices: tuple, length: int = 6, hidden: int = 8, batch: int = 4) -> list[np.ndarray]:
    """Outputs and gradients of the model on two devices (None: all on the CPU)."""
    groups = dict(zip(("below", "above"), devices, strict=True)) if devices else None
    executor = lstm(length, hidden).simple_bind(mx.cpu(), group2ctx=groups, data=(length, batch, 5))
    rng = np.random.default_rng(0)
    for array in executor.arg_arrays:
        array[:] = rng.standard_normal(array.shape).astype(np.float32)
    executor.forward(is_train=True)
    executor.backward()
    return [a.asnumpy() for a in (*executor.outputs, *executor.grad_arrays)]


def test_the_layers_of_a_model_on_two_gpus_pipeline():
    alone = trained(())
    with fake_gpus(2) as gpus:
        intervals = timeline_of(gpus[0])
        for one, two in zip(alone, trained(tuple(gpus)), strict=True):
            np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-6)
        work = [busy(intervals, f"gpu({k}) compute") for k in (0, 1)]
        assert min(work) > 0.3 * max(work), "both have their share"
        assert span_of(intervals) < 0.8 * sum(work), "and they work at the same time"


def test_layers_on_two_cpu_devices_give_the_same_results_in_every_order(monkeypatch: pytest.MonkeyPatch):
    alone = trained(())
    monkeypatch.setattr(SETTINGS, "engine", "naive")
    naive = trained((mx.cpu(0), mx.cpu(1)))
    monkeypatch.setattr(SETTINGS, "engine", "window")
    for one, two in zip(alone, naive, strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-6)
    for hidden in (8, 64):
        monkeypatch.setattr(SETTINGS, "engine", "naive")
        naive = trained((mx.cpu(0), mx.cpu(1)), hidden=hidden)
        monkeypatch.setattr(SETTINGS, "engine", "window")
        monkeypatch.setattr("twofold.imperative.dispatch.HAND_OVER", 0)
        monkeypatch.setattr("twofold.scheduler.variable.HAND_OVER", 0)
        for seed in range(4):
            with seeded_schedule(seed):
                replayed = trained((mx.cpu(0), mx.cpu(1)), hidden=hidden)
            for one, two in zip(naive, replayed, strict=True):
                np.testing.assert_array_equal(two, one)
        for one, two in zip(naive, trained((mx.cpu(0), mx.cpu(1)), hidden=hidden), strict=True):
            np.testing.assert_array_equal(two, one)


def test_the_host_goes_on_while_another_cpu_device_computes():
    x = nd.random.uniform(shape=(700, 700), ctx=mx.cpu(1))
    x.wait_to_read()
    out = mx.sym.Variable("x")
    for _ in range(6):
        out = mx.sym.dot(out, out) * 1e-3
    executor = out.bind(mx.cpu(1), {"x": x})
    executor.forward()[0].wait_to_read()
    start = time.perf_counter()
    result = executor.forward()[0]
    issued = time.perf_counter() - start
    result.wait_to_read()
    assert issued < 0.5 * (time.perf_counter() - start)


class Flushes:
    """Start and end of each window's run, by device."""

    def __init__(self) -> None:
        self.found: dict = {}

    def happened(self, event) -> None:
        if event.category == "window":
            self.found[event.device] = event.start, event.start + event.duration, event.thread

    def allocated(self, arrays, device) -> None:
        pass


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_two_branches_on_two_cpu_devices_run_at_the_same_time():
    arrays = [nd.random.uniform(shape=(2_000_000,), ctx=mx.cpu(k)) for k in (0, 1)]
    nd.waitall()
    flushes = Flushes()
    listen(flushes)
    try:
        for r in [nd.sort(a * 2) for a in arrays]:  # sorting uses a single thread
            r.wait_to_read()
    finally:
        forget(flushes)
    (begin, end, thread), (other_begin, other_end, other_thread) = flushes.found.values()
    assert thread != other_thread
    assert begin < other_end
    assert other_begin < end


def test_short_work_on_another_cpu_device_stays_in_this_thread():
    arrays = [nd.random.uniform(shape=(70_000,), ctx=mx.cpu(k)) for k in (0, 1)]
    nd.waitall()
    before = HAND_OFFS.count
    for r in [a * 2 for a in arrays]:
        r.wait_to_read()
    assert HAND_OFFS.count == before


def test_data_parallel_training_is_the_same_in_every_order(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((64, 20)).astype(np.float32), rng.integers(0, 5, 64).astype(np.float32)

    def train() -> list[np.ndarray]:
        mx.random.seed(3)
        out = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=16, name="one")
        out = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Activation(out, "tanh"), num_hidden=5, name="two"), name="softmax")
        module = mx.mod.Module(out, context=[mx.cpu(0), mx.cpu(1)])
        module.fit(mx.io.NDArrayIter(x, y, 16), num_epoch=2, initializer=mx.init.Xavier(), optimizer_params={"learning_rate": 0.1})
        return [v.asnumpy() for _, v in sorted(module.get_params()[0].items())]

    monkeypatch.setattr(SETTINGS, "engine", "naive")
    naive = train()
    monkeypatch.setattr(SETTINGS, "engine", "window")
    runs = [train()]
    monkeypatch.setattr("twofold.imperative.dispatch.HAND_OVER", 0)
    monkeypatch.setattr("twofold.scheduler.variable.HAND_OVER", 0)
    runs.append(train())
    for seed in range(3):
        with seeded_schedule(seed):
            runs.append(train())
    for run in runs:
        for one, other in zip(naive, run, strict=True):
            np.testing.assert_array_equal(other, one)


def test_an_error_on_a_lane_is_raised_by_every_read_and_once_by_waitall():
    class Broken(Exception):
        pass

    x = captured(nd.ones((3,), ctx=mx.cpu(1)))

    def fail(_: list) -> list:
        raise Broken

    kind = ArrayType((3,), "float32")
    (bad,) = issue(fail, [x], [kind], interned("cpu", 1), float("inf"))
    (worse,) = issue(lambda arrays: [arrays[0] + 1], [bad], [kind], interned("cpu", 1), float("inf"))
    (good,) = issue(lambda arrays: [arrays[0] + 1], [x], [kind], interned("cpu", 1), float("inf"))
    for v in (bad, worse):
        with pytest.raises(Broken):
            force(v)
    np.testing.assert_array_equal(force(good), np.full(3, 2))
    with pytest.raises(Broken):
        nd.waitall()
    nd.waitall()
    assert not QUEUE._open


def test_an_interrupt_while_windows_are_launched_loses_nothing_else(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("twofold.imperative.window.LAUNCHED", 0)
    one, two = nd.ones((300, 300), ctx=mx.cpu(0)) * 2, nd.ones((300, 300), ctx=mx.cpu(1)) * 3

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(QUEUE, "_make_room", interrupted)
        with pytest.raises(KeyboardInterrupt):
            one.wait_to_read()
    np.testing.assert_array_equal(one.asnumpy(), np.full((300, 300), 2))
    with pytest.raises(EngineError, match="interrupted"):
        two.wait_to_read()
    nd.waitall()
