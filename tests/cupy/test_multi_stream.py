"""Multi-stream capture: independent steps become branches of the graph, right in every order that it allows."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.config import SETTINGS
from twofold.errors import IndexingError
from twofold.graph.tables import drop_generation

from tests.cases import later_in_ci, spread_in_ci
from tests.cupy.captured import STEPS, bits, drawn, same, trained
from tests.cupy.captured import perceptron as chain
from tests.cupy.conftest import SIMULATION, simulated

multi_stream = pytest.importorskip("twofold_cupy.multi_stream")
capture = pytest.importorskip("twofold_cupy.capture")


class Beside(gluon.HybridBlock):
    """Blocks on one input, with their results concatenated."""

    def __init__(self, *blocks):
        super().__init__()
        with self.name_scope():
            for block in blocks:
                self.register_child(block)

    def hybrid_forward(self, F, x):
        return F.concat(*[block(x) for block in self._children.values()], dim=1)


def started(ctx, *blocks):
    mx.random.seed(3)
    net = gluon.nn.HybridSequential()
    net.add(*blocks)
    net.initialize(mx.init.Xavier(), ctx=ctx)
    net.hybridize()
    return net


def sequence(*blocks):
    together = gluon.nn.HybridSequential()
    together.add(*blocks)
    return together


def wide(ctx, count=3):
    """A net with several paths from one input, which are joined."""
    dense, norm = gluon.nn.Dense, gluon.nn.LayerNorm
    paths = [sequence(dense(8 + k, activation="tanh"), norm(), dense(6, activation="sigmoid")) for k in range(count)]
    return started(ctx, dense(12, activation="tanh"), Beside(*paths), dense(5))


def images(ctx, *blocks):
    """A net with convolutions on paths of different lengths."""
    convolution = gluon.nn.Conv2D
    joined = [
        Beside(sequence(convolution(4, 3, padding=1), gluon.nn.BatchNorm(), gluon.nn.Activation("relu")), convolution(3, 1))
        for _ in range(2)
    ]
    return started(ctx, joined[0], gluon.nn.MaxPool2D(), joined[1], gluon.nn.Flatten(), *blocks, gluon.nn.Dense(5))


def steps_of(net, ctx, shape, optimizer="sgd"):
    """Train for some steps; return all losses and the weights."""
    trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.05})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    losses = []
    for k in range(STEPS):  # a step's leftovers in the graph's memory are wrong for the next step
        data, label = nd.array(drawn(*shape, seed=k), ctx=ctx), nd.array((np.arange(shape[0]) + k) % 5, ctx=ctx)
        with autograd.record():
            loss = loss_of(net(data), label)
        loss.backward()
        trainer.step(shape[0])
        losses.append(loss)
    return [*losses, *[p.data(ctx) for p in net.collect_params().values()]]


NETS = {
    "a chain": lambda ctx: trained(ctx, chain(ctx)),
    "paths": lambda ctx: steps_of(wide(ctx), ctx, (8, 20)),
    "paths, Adam": lambda ctx: steps_of(wide(ctx, 5), ctx, (8, 20), "adam"),
    "convolutions": lambda ctx: steps_of(images(ctx), ctx, (3, 2, 6, 6)),
    "dropout": lambda ctx: steps_of(images(ctx, gluon.nn.Dropout(0.3)), ctx, (3, 2, 6, 6)),
}


@pytest.fixture
def used(monkeypatch):
    """The number of streams of each capture."""
    found = []
    real = multi_stream.MultiStreamCapture.run

    def run(self, program, given):
        results = real(self, program, given)
        found.append(self.used)
        return results

    monkeypatch.setattr(multi_stream.MultiStreamCapture, "run", run)
    return found


@pytest.mark.sanitizer
@pytest.mark.usefixtures("schedule")
@pytest.mark.parametrize("net", spread_in_ci(NETS))
def test_branches_change_no_bit(gpus, monkeypatch, graphs, used, net):
    same(lambda: NETS[net](gpus[0]), monkeypatch, graphs)
    assert max(used) >= 2


@simulated
@pytest.mark.parametrize("net", later_in_ci(NETS))
def test_every_order_a_graph_allows_gives_the_same_bits(gpus, monkeypatch, graphs, net):
    for seed in range(8):
        SIMULATION.schedule("random", seed)
        same(lambda: NETS[net](gpus[0]), monkeypatch, graphs)
        graphs.counts.launched = 0


def test_one_stream_has_no_branches(gpus, monkeypatch, graphs, used):
    monkeypatch.setattr(SETTINGS, "gpu_streams", 1)
    same(lambda: NETS["paths"](gpus[0]), monkeypatch, graphs)
    assert set(used) == {1}


def paths(ctx):
    """An executor with two paths that check indices."""
    data, first, second = mx.sym.var("data"), mx.sym.var("first"), mx.sym.var("second")
    ends = [mx.sym.take(mx.sym.dot(data, data), at, mode="raise").sum(axis=0).tanh() for at in (first, second)]
    return mx.sym.concat(*ends, dim=0).simple_bind(ctx, data=(4, 4), first=(3,), second=(2,))


@pytest.mark.usefixtures("schedule")
@pytest.mark.parametrize("wrong", ["first", "second"])
def test_indices_are_checked_in_every_branch(gpus, graphs, used, wrong):
    executor = paths(gpus[0])
    executor.arg_dict["data"][:] = drawn(4, 4)
    for _ in range(5):
        want = executor.forward()[0].asnumpy()
    assert used == [3]  # one branch checks indices
    assert "on 3 streams" in executor.explain()
    executor.arg_dict[wrong][:] = 7
    with pytest.raises(IndexingError):
        executor.forward()[0].asnumpy()
    executor.arg_dict[wrong][:] = 0
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), want)


@pytest.mark.usefixtures("schedule")
def test_results_of_branches_are_joined(gpus, graphs, used):
    data = mx.sym.var("data")
    square = mx.sym.dot(data, data)
    ends = [mx.sym.dot(square, data), mx.sym.dot(mx.sym.dot(data, square), square)]
    executor = mx.sym.Group(ends).simple_bind(gpus[0], data=(4, 4))
    for k in range(6):
        x = drawn(4, 4, seed=k)
        executor.arg_dict["data"][:] = x
        for out, power in zip(executor.forward(), (3, 5), strict=True):
            np.testing.assert_allclose(out.asnumpy(), np.linalg.matrix_power(x, power), rtol=1e-4, atol=1e-4)
    assert used == [2]
    assert (graphs.counts.captured, graphs.counts.failed, graphs.counts.refused) == (1, 0, 0)


def test_an_error_in_a_branch_leaves_all_streams(gpus, monkeypatch, graphs, used):
    real = multi_stream.MultiStreamCapture.step

    def step(self, read, written):
        real(self, read, written)
        if self._number:
            raise ValueError("not here")

    executor = paths(gpus[0])
    want = executor.forward()[0].asnumpy()
    with monkeypatch.context() as patch:
        patch.setattr(multi_stream.MultiStreamCapture, "step", step)
        for _ in range(5):
            np.testing.assert_array_equal(executor.forward()[0].asnumpy(), want)
    assert "step by step for now: ValueError: not here" in executor.explain()
    other = paths(gpus[0])  # of the same program, with its own graphs
    for _ in range(5):
        np.testing.assert_array_equal(other.forward()[0].asnumpy(), want)
    assert used == [3]  # one branch checks indices


def test_blocks_are_split_and_merged():
    blocks, block = multi_stream.UsedMemory(), multi_stream.MemoryRange
    blocks.put(0, block(100, ((0, 1),), ()))
    blocks.put(100, block(200, ((1, 1),), ((0, 2),)))
    assert blocks.pop_merged(20, 60) == (0, block(100, ((0, 1),), ()))  # the whole block is removed
    blocks.put(0, block(100, ((0, 1),), ()))
    assert blocks.pop_merged(50, 250) == (0, block(250, ((0, 1), (1, 1), (0, 2)), ()))  # a reader waits for all writers
    assert blocks.pop_overlapping(0, 1000) == []
    blocks.put(40, block(60, (), ()))
    assert blocks.pop_overlapping(0, 40) == blocks.pop_overlapping(60, 80) == []
    assert blocks.pop_overlapping(59, 60) == [(40, block(60, (), ()))]


@simulated
def test_the_unused_rest_of_a_freed_block_is_still_tracked(gpus, backend):
    with backend.graphs.capturing(0) as streams:
        pointers = iter([0x1000, 0x1200, 0x1400])

        def allocate(size):
            return SimpleNamespace(ptr=(at := next(pointers)), mem=SimpleNamespace(ptr=at, size=size))

        own = multi_stream.MultiStreamCapture(streams, allocate)
        own._issued[0, 0] = multi_stream.IssuedStep(streams[0].record(), (0,) * len(streams), 0)
        own.step((), ())
        own.malloc(0x600)
        own.step((), ())
        own.malloc(0x200)
        assert own._blocks.pop_overlapping(0, 1 << 20) == [
            (0x1000, multi_stream.MemoryRange(0x1200, ((0, 1),), ())),
            (0x1200, multi_stream.MemoryRange(0x1400, ((0, 2),), ())),
            (0x1400, multi_stream.MemoryRange(0x1600, ((0, 1),), ())),
        ]
        own.leave()


@simulated
def test_a_step_that_allocates_follows_the_memorys_earlier_users(gpus, backend):
    with backend.graphs.capturing(0) as streams:
        own = multi_stream.MultiStreamCapture(streams, lambda size: SimpleNamespace(ptr=0x1000, mem=SimpleNamespace(ptr=0x1000, size=size)))
        own._issued[0, 0] = multi_stream.IssuedStep(streams[0].record(), (0,) * len(streams), 0)
        for _ in range(3):
            own.step((), ())
        assert own._step == (1, 1)
        own.malloc(0x200)  # this array dies
        own.step((), ())
        assert own._after[2] == (0, 0, 0, 0)
        own.malloc(0x200)
        assert own._after[2] == (0, 1, 0, 0)
        own.leave()


@simulated
def test_a_step_that_writes_follows_all_readers(gpus, backend):
    read, first, second = (backend.empty((1000,), "float32") for _ in range(3))
    with backend.graphs.capturing(0) as streams:
        own = multi_stream.MultiStreamCapture(streams, lambda size: None)
        own._issued[0, 0] = multi_stream.IssuedStep(streams[0].record(), (0,) * len(streams), 0)
        own.step((), ())
        for written in (first, second):
            own.step((read,), (written,))
        assert own._step == (1, 1)  # readers do not wait for one another
        assert own._after[1] == (0, 0, 0, 0)
        own.step((), (read,))
        assert own._step == (0, 3)
        assert own._after[0] == (2, 1, 0, 0)
        own.leave()


def ignoring(number, run, monkeypatch):
    """A function's results when its capture omits one wait between streams; and for each wait the waiting step and the awaited one.

    Also the steps that neither write nor allocate memory: they launch nothing.
    """
    waits, views = [], set()
    real, follow, begin, allocate = (getattr(multi_stream.MultiStreamCapture, name) for name in ("run", "_wait_for", "step", "malloc"))

    def captured(self, program, given):
        SIMULATION.ignore_wait(number)
        try:
            return real(self, program, given)
        finally:
            SIMULATION.ignore_wait(-1)

    def followed(self, place):
        step = self._step if self._step is not None and self._step[0] == self._number else (self._number, self._count[self._number] + 1)
        waits.append((step, place, self._issued[place].after))
        follow(self, place)

    def begun(self, reads, writes):
        begin(self, reads, writes)
        (views.discard if writes else views.add)(self._step)

    def allocated(self, size):
        views.discard(self._step)
        return allocate(self, size)

    with monkeypatch.context() as patch:
        for name, own in (("run", captured), ("_wait_for", followed), ("step", begun), ("malloc", allocated)):
            patch.setattr(multi_stream.MultiStreamCapture, name, own)
        got = bits(run())
    return got, waits, views


def needed(waits, views):
    """The numbers of the waits that are not repeated by a later wait of the same step, for memory that it allocates.

    Those for, and of, steps that launch nothing are left out, and those for the begin of all.
    """

    def is_said_again(k):
        step, (stream, count), _ = waits[k]
        return any(other == step and after[stream] >= count for other, _, after in waits[k + 1 :])

    idle = {*views, (0, 1)}
    return [k for k, (step, place, _) in enumerate(waits) if idle.isdisjoint((step, place)) and not is_said_again(k)]


@simulated
@pytest.mark.parametrize("net", later_in_ci(["paths", "convolutions"]))
def test_each_wait_between_branches_is_needed(gpus, monkeypatch, graphs, net):
    """With each omitted in turn, a result is wrong in some order, or CUDA rejects the capture."""
    run = partial(NETS[net], gpus[0])
    SIMULATION.schedule("late")
    want, waits, views = ignoring(-1, run, monkeypatch)
    missed = []
    for number in needed(waits, views):
        for schedule, seed in [("late", 0), *[("random", seed) for seed in range(8)]]:
            drop_generation()
            SIMULATION.schedule(schedule, seed)
            failed = graphs.counts.failed
            got, *_ = ignoring(number, run, monkeypatch)
            if graphs.counts.failed > failed or not all(map(np.array_equal, got, want)):
                break
        else:
            missed.append((number, waits[number]))
    assert len(needed(waits, views)) > 5
    assert not missed
