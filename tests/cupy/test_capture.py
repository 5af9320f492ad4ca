"""Captured programs: bit for bit what they are step by step, in one launch, with results that nobody overwrites."""

import gc
import threading
from contextlib import suppress

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.backend.kernel import ProgramTraits
from twofold.config import SETTINGS
from twofold.device import Device
from twofold.errors import IndexingError
from twofold.graph.ir import drop_generation
from twofold.imperative import window

from tests.core import random_programs
from tests.cupy.conftest import SIMULATION

cupy = pytest.importorskip("cupy")
capture = pytest.importorskip("twofold_cupy.capture")
simulated = pytest.mark.skipif(SIMULATION is None, reason="needs the simulation's schedules and counts")
GPU = Device("gpu", 0)
#: Iterations: enough for two runs that are only observed, captures after changes, and some launches.
STEPS = 9


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.fixture
def graphs(backend):
    """The adapter's graphs, none of another test's, in memory that holds no right numbers of one."""
    drop_generation()
    gc.collect()
    backend.trim()
    backend.graphs.counts = capture.Counts()
    return backend.graphs


def bits(arrays):
    return [np.asarray(a.asnumpy() if isinstance(a, nd.NDArray) else a) for a in arrays]


def step_by_step(run, monkeypatch):
    """What a function gives without graphs."""
    with monkeypatch.context() as patch:
        patch.setattr(SETTINGS, "cuda_graphs", False)
        return bits(run())


def same(run, monkeypatch, graphs, least=STEPS - 4):
    """Hold what a function gives with graphs to what it gives without, bit for bit; at least so many graphs were launched."""
    want = step_by_step(run, monkeypatch)
    assert graphs.counts.launched == 0
    got = bits(run())
    assert graphs.counts.launched >= least
    assert len(got) == len(want)
    for number, (g, w) in enumerate(zip(got, want, strict=True)):
        np.testing.assert_array_equal(g.view(np.uint8) if g.ndim else g, w.view(np.uint8) if w.ndim else w, err_msg=f"result {number}")


def perceptron(ctx, *layers, units=(20, 12, 5)):
    mx.random.seed(3)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(units[1], activation="relu", in_units=units[0]), *layers, gluon.nn.Dense(units[2], in_units=units[1]))
    net.initialize(mx.init.Xavier(), ctx=ctx)
    net.hybridize()
    return net


def trained(ctx, net, optimizer="sgd", options=None, batches=None, each=None):
    """Train for some steps; the losses and the weights."""
    trainer = gluon.Trainer(net.collect_params(), optimizer, options or {"learning_rate": 0.1})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    fixed = nd.array(drawn(16, 20), ctx=ctx), nd.array(np.arange(16) % 5, ctx=ctx)
    losses = []
    for k in range(STEPS):
        data, label = fixed if batches is None else batches(k)
        with autograd.record():
            loss = loss_of(net(data), label)
        loss.backward()
        trainer.step(len(data))
        if each is not None:
            each(k, net, trainer, loss, losses)
    losses.append(loss)
    return [*losses, *[p.data(ctx) for p in net.collect_params().values()]]


# what runs


@pytest.mark.usefixtures("schedule")
def test_a_training_loop(gpus, monkeypatch, graphs):
    same(lambda: trained(gpus[0], perceptron(gpus[0])), monkeypatch, graphs)


def mnist_step(ctx, fresh):
    """A function that trains the perceptron on 64 digits, on the same or on new ones each time."""
    net = perceptron(ctx, units=(784, 128, 10))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()

    def batch(k):
        return nd.array(drawn(64, 784, seed=k), ctx=ctx), nd.array(np.arange(64) % 10, ctx=ctx)

    fixed = batch(0)

    def step(k):
        data, label = batch(k) if fresh else fixed
        with autograd.record():
            loss = loss_of(net(data), label)
        loss.backward()
        trainer.step(64)

    return step


@simulated
@pytest.mark.parametrize(("fresh", "launches"), [(False, 1), (True, 2)])
def test_a_step_of_the_mnist_perceptron_is_one_launch(gpus, graphs, fresh, launches):
    """And one more where the batch is another each time: it copies the batch to where the graph reads it. The host never waits."""
    step = mnist_step(gpus[0], fresh)
    for k in range(6):
        step(k)
    for k in range(6, 10):
        before = SIMULATION.counts()
        step(k)
        spent = [b - a for a, b in zip(before, SIMULATION.counts(), strict=True)]
        found = dict(zip(before._fields, spent, strict=True))
        assert (found["graph_launches"], found["launches"]) == (1, launches)
        assert (found["copies"], found["synchronisations"]) == (2 * fresh, 0)
    assert graphs.counts.captured == 1


@simulated
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_step_of_a_module_is_two_launches(gpus, graphs, optimizer):
    """The graph, and what copies the batch and Adam's rate to it: weights and the optimizer's states stay where they are."""
    net = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=128, name="one"), act_type="relu")
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=10, name="two"), name="softmax")
    module = mx.mod.Module(net, context=gpus[0])
    module.bind([("data", (64, 784))], [("softmax_label", (64,))])
    module.init_params()
    module.init_optimizer(optimizer=optimizer)
    for k in range(10):
        batch = mx.io.DataBatch([nd.array(drawn(64, 784, seed=k))], [nd.array(np.arange(64) % 10)])
        before = SIMULATION.counts()
        module.forward_backward(batch)
        module.update()
        after = SIMULATION.counts()
        assert k < 6 or (after.launches - before.launches, after.graph_launches - before.graph_launches) == (2, 1)


@pytest.mark.usefixtures("schedule")
def test_an_imperative_loop(gpus, monkeypatch, graphs):
    def run():
        w, x = nd.array(drawn(8, 8), ctx=gpus[0]), nd.array(drawn(8, 8, seed=1), ctx=gpus[0])
        w.attach_grad()
        for _ in range(STEPS):
            with autograd.record():
                loss = ((nd.dot(w, x) * 2).tanh() * 0.5).sum()
            loss.backward()
            w -= 0.1 * w.grad
        return w, w.grad, loss

    same(run, monkeypatch, graphs)


def bound(ctx, requests="write"):
    data = mx.sym.var("data")
    hidden = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=6, name="one"), act_type="tanh")
    out = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=4, name="two"), name="softmax")
    executor = out.simple_bind(ctx, grad_req=requests, data=(3, 5), softmax_label=(3,))
    for k, (name, array) in enumerate(executor.arg_dict.items()):
        array[:] = drawn(*array.shape, seed=k) if name != "softmax_label" else np.arange(3)
    return executor


@pytest.mark.usefixtures("schedule")
@pytest.mark.parametrize("requests", ["write", "add"])
def test_an_executor(gpus, monkeypatch, graphs, requests):
    def run():
        executor, found = bound(gpus[0], requests), []
        for k in range(STEPS):
            executor.forward(is_train=True, data=nd.array(drawn(3, 5, seed=20 + k), ctx=gpus[0]))
            executor.backward()
            found.append(executor.outputs[0].copy())
        return [*found, *[executor.grad_dict[n] for n in ("one_weight", "two_bias", "data")]]

    same(run, monkeypatch, graphs)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_module_that_is_fitted(gpus, monkeypatch, graphs, optimizer):
    def run():
        mx.random.seed(5)
        data = mx.io.NDArrayIter(drawn(48, 5), np.arange(48) % 4, batch_size=8, label_name="softmax_label")
        net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=12, name="one")
        net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Activation(net, act_type="relu"), num_hidden=4, name="two"), name="softmax")
        module = mx.mod.Module(net, context=gpus[0])
        module.fit(data, num_epoch=3, optimizer=optimizer, optimizer_params={"learning_rate": 0.05}, initializer=mx.init.Xavier())
        return [module.get_params()[0][n] for n in ("one_weight", "one_bias", "two_weight")]

    same(run, monkeypatch, graphs)


def test_one_program_serves_whoever_runs_it(gpus, monkeypatch, graphs):
    """A hybridized block that is only called: its inputs and results lie elsewhere each time."""

    def run():
        net, found = perceptron(gpus[0]), []
        for k in range(STEPS):
            found.append(net(nd.array(drawn(7, 20, seed=k), ctx=gpus[0])))
            found[-1].wait_to_read()
        return found

    same(run, monkeypatch, graphs)


def test_a_loop_of_symbols_is_captured_with_its_body(gpus, monkeypatch, graphs):
    def run():
        step, _ = mx.sym.contrib.foreach(lambda x, s: (x + s, (x + s) * 0.5), mx.sym.var("data"), mx.sym.var("state"))
        executor = mx.sym.Group([(step * 2).tanh(), step.sum()]).simple_bind(gpus[0], data=(4, 3), state=(3,))
        for k in range(STEPS):
            executor.forward(data=nd.array(drawn(4, 3, seed=k), ctx=gpus[0]), state=nd.array(drawn(3), ctx=gpus[0]))
        return executor.outputs

    same(run, monkeypatch, graphs, 1)


# what changes from run to run


@pytest.mark.usefixtures("schedule")
@pytest.mark.parametrize(
    ("optimizer", "options", "falls"),
    [("sgd", {"momentum": 0.9, "wd": 0.01}, False), ("adam", {"learning_rate": 0.02}, False), ("sgd", {"momentum": 0.9}, True)],
)
def test_hyperparameters_change(gpus, monkeypatch, graphs, optimizer, options, falls):
    """Momentum; Adam's count of steps; a rate that falls at each step."""

    def run():
        rates = {"lr_scheduler": mx.lr_scheduler.FactorScheduler(1, 0.7, base_lr=0.3)} if falls else {}
        return trained(gpus[0], perceptron(gpus[0]), optimizer, options | rates)

    same(run, monkeypatch, graphs)


def test_a_rate_that_changes_is_one_launch_more(gpus, graphs):
    if SIMULATION is None:
        pytest.skip("counts launches of the simulation")
    spent = []

    def each(k, net, trainer, loss, losses):
        spent.append(SIMULATION.counts().launches)
        if k >= 5:
            trainer.set_learning_rate(0.1 / k)

    trained(gpus[0], perceptron(gpus[0]), each=each)
    nd.waitall()
    assert np.diff(spent)[4:].tolist() == [1, 1, 2, 2]  # a step runs where the next one begins


@pytest.mark.usefixtures("schedule")
def test_dropout_draws_anew(gpus, monkeypatch, graphs):
    losses = []

    def run():
        losses.clear()
        return trained(
            gpus[0], perceptron(gpus[0], gluon.nn.Dropout(0.5)), options={"learning_rate": 0.0}, each=lambda *a: losses.append(a[3])
        )

    same(run, monkeypatch, graphs)
    assert len({float(loss.sum().asscalar()) for loss in losses}) == STEPS, "the same mask twice"


@pytest.mark.usefixtures("schedule")
def test_states_are_kept(gpus, monkeypatch, graphs):
    same(lambda: trained(gpus[0], perceptron(gpus[0], gluon.nn.BatchNorm(in_channels=12))), monkeypatch, graphs)


@pytest.mark.usefixtures("schedule")
def test_batches_change(gpus, monkeypatch, graphs):
    def batches(k):
        count = (16, 16, 16, 9)[k % 4]
        return nd.array(drawn(count, 20, seed=k), ctx=gpus[0]), nd.array(np.arange(count) % 5, ctx=gpus[0])

    same(lambda: trained(gpus[0], perceptron(gpus[0]), batches=batches), monkeypatch, graphs, 3)


@pytest.mark.usefixtures("schedule")
def test_results_are_kept(gpus, monkeypatch, graphs):
    """Losses and gradients that the user keeps are those of their step."""

    def each(k, net, trainer, loss, losses):
        if k % 3 != 1:
            losses += [loss, net[0].weight.grad(gpus[0]).copy()]
        if k == 6:
            losses.append(net[1].weight.grad(gpus[0])[1:3])

    same(lambda: trained(gpus[0], perceptron(gpus[0]), each=each), monkeypatch, graphs, 3)


@pytest.mark.usefixtures("schedule")
def test_gradients_add_up(gpus, monkeypatch, graphs):
    def run():
        net = perceptron(gpus[0])
        net.collect_params().setattr("grad_req", "add")
        data = nd.array(drawn(16, 20), ctx=gpus[0])
        for _ in range(STEPS):
            with autograd.record():
                loss = (net(data) ** 2).sum()
            loss.backward()
        return [loss, *[p.grad(gpus[0]) for p in net.collect_params().values()]]

    same(run, monkeypatch, graphs)


@pytest.mark.usefixtures("schedule")
def test_views_and_writes_between_steps(gpus, monkeypatch, graphs):
    """The user writes weights in place, exchanges them, keeps views of them, and shares them with another library."""

    def each(k, net, trainer, loss, losses):
        weight = net[0].weight.data(gpus[0])
        if k == 4:
            weight[1:3] = 0.25
        if k == 5:
            losses.append(weight[0])
        if k == 6:
            net[1].weight.set_data(nd.array(drawn(5, 12, seed=9), ctx=gpus[0]))
        if k == 7:
            loss[:] = 3
            losses += [loss, weight.copy()]

    same(lambda: trained(gpus[0], perceptron(gpus[0]), each=each), monkeypatch, graphs, 3)


def test_strided_inputs_keep_their_strides(gpus, monkeypatch, graphs):
    def run():
        found = []
        for k in range(STEPS):
            x = mx.np.array(drawn(6, 8, seed=k), ctx=gpus[0])
            x.wait_to_read()
            y = x.T
            y.wait_to_read()
            found.append(mx.np.sum(mx.np.exp(mx.np.dot(y, x)) * y[:, :1] + 1.5))
        return [f.asnumpy() for f in found]

    same(run, monkeypatch, graphs)


def test_indices_are_checked_at_each_launch(gpus, monkeypatch, graphs):
    def run():
        weight = nd.array(drawn(6, 4), ctx=gpus[0])
        found = []
        for k in range(STEPS):
            index = nd.array([k % 6, 1, 5 if k != 7 else 6], ctx=gpus[0])
            out = nd.softmax(nd.dot(nd.take(weight, index, mode="raise").tanh(), weight.T)).sum(axis=0) * 0.5
            if k == 7:
                with pytest.raises(IndexingError, match=r"index 6(\.0)? for size 6"):
                    out.wait_to_read()
            else:
                found.append(out.asnumpy())
        return found

    same(run, monkeypatch, graphs, 4)


# what bounds graphs


def test_the_graphs_used_last_are_kept(gpus, monkeypatch, graphs):
    monkeypatch.setattr(capture, "MOST_GRAPHS", 3)
    net = perceptron(gpus[0])

    def run(count):
        for k in range(4):
            net(nd.array(drawn(count, 20, seed=k), ctx=gpus[0])).wait_to_read()

    for count in range(2, 8):
        run(count)
        assert len(graphs) <= 3
    assert graphs.counts.dropped == 3
    before, held = graphs.counts.captured, graphs.nbytes
    run(7)
    assert graphs.counts.captured == before, "the last one is there"
    run(2)
    assert graphs.counts.captured == before + 1, "the first one is made again"
    assert held > 0


def test_a_programs_graphs_end_with_it(gpus, graphs):
    trained(gpus[0], perceptron(gpus[0]))
    assert len(graphs) == 1
    window._programs.clear()
    gc.collect()
    assert len(graphs) == 0


@simulated
def test_graphs_give_their_memory_to_who_needs_it(gpus, backend, graphs):
    x = nd.array(drawn(4, 250_000), ctx=gpus[0])
    for _ in range(5):
        y = ((x.sum() + x).sum() * x).tanh() + 1 / x.max()
        y.wait_to_read()
    assert graphs.nbytes > 4_000_000
    free, _ = backend.memory_info(GPU)
    del y
    big = backend.empty((free + 2_000_000,), "uint8")
    assert (len(graphs), graphs.counts.dropped) == (0, 1)
    del big
    backend.trim()


def test_what_has_no_room_for_a_graph_runs_step_by_step(gpus, backend, graphs, monkeypatch):
    def full(size):
        raise cupy.cuda.memory.OutOfMemoryError(size, 0)

    net, data = perceptron(gpus[0]), nd.array(drawn(7, 20), ctx=gpus[0])
    want = net(data).asnumpy()
    monkeypatch.setattr(capture, "_allocated", full)
    for _ in range(6):
        np.testing.assert_array_equal(net(data).asnumpy(), want)
    assert (graphs.counts.launched, graphs.counts.refused) == (0, 1)
    (told,) = reports(lambda: net(data).wait_to_read())
    assert "does not fit into memory" in told


@simulated
def test_a_graph_keeps_its_blocks_where_memory_is_found_elsewhere(gpus, backend, graphs):
    """While it is captured memory runs out: what the pool of all has is given back, not what earlier steps of the graph have."""
    xp = backend.xp

    def run(arrays):
        first = xp.add(arrays[0], arrays[0])
        total = xp.sum(first, axis=0)
        del first  # its block is free, and part of the graph
        return [xp.add(xp.concat(*arrays * 3, axis=0), total)]

    replay = capture.GraphReplay(graphs, run, ProgramTraits(9, frozenset(), frozenset(), frozenset(), ()))
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
    assert graphs.nbytes >= 7_000_000, "the first block was given up"
    assert ballast.size


# what is not captured


def reports(run):
    with mx.explain() as report:
        run()
    return [f.issued for f in report.flushes if f.issued]


def test_what_is_captured_is_told(gpus, graphs):
    net, data = perceptron(gpus[0]), nd.array(drawn(7, 20), ctx=gpus[0])
    for _ in range(4):
        net(data).wait_to_read()
    assert reports(lambda: net(data).wait_to_read()) == ["one CUDA graph of 4 steps; 0 inputs, 0 numbers and 0 results are copied"]
    executor = bound(gpus[0])
    assert "step by step so far" in executor.explain()
    for _ in range(4):
        executor.forward()
    assert "one CUDA graph of" in executor.explain()


def test_code_of_the_user_runs_each_time(gpus, graphs):
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
    assert len(calls) == 5
    assert "step by step: user_forward runs on the host" in executor.explain()


def test_what_the_host_decides_runs_step_by_step(gpus, monkeypatch, graphs):
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


def test_a_capture_that_fails_is_left_and_not_tried_again(gpus, monkeypatch, graphs):
    net, data = perceptron(gpus[0]), nd.array(drawn(7, 20), ctx=gpus[0])
    want, tried = net(data).asnumpy(), []

    def fails(inner):
        tried.append(inner)
        raise ValueError("no products today")

    real = capture._captured

    def captured(stream, run, given):
        return real(stream, lambda arrays: (run(arrays), fails(stream)), given)

    monkeypatch.setattr(capture, "_captured", captured)
    for _ in range(6):
        np.testing.assert_array_equal(net(data).asnumpy(), want)
    assert len(tried) == 1
    assert not tried[0].cuda.is_capturing()
    assert reports(lambda: net(data).wait_to_read()) == ["step by step: ValueError: no products today"]
    assert (graphs.counts.refused, graphs.counts.launched) == (1, 0)
    monkeypatch.undo()
    trained(gpus[0], perceptron(gpus[0]))  # others are captured
    assert graphs.counts.launched > 3


@simulated
def test_what_cuda_forbids_in_a_capture_is_told(gpus, monkeypatch, backend, graphs):
    net, data = perceptron(gpus[0]), nd.array(drawn(7, 20), ctx=gpus[0])
    want = net(data).asnumpy()
    real = capture._captured

    def captured(stream, run, given):
        return real(stream, lambda arrays: (run(arrays), stream.cuda.synchronize()), given)

    monkeypatch.setattr(capture, "_captured", captured)
    for _ in range(6):
        np.testing.assert_array_equal(net(data).asnumpy(), want)
    (told,) = reports(lambda: net(data).wait_to_read())
    assert "cudaErrorStreamCaptureUnsupported" in told


def test_it_can_be_switched_off(gpus, monkeypatch, graphs):
    monkeypatch.setattr(SETTINGS, "cuda_graphs", False)
    trained(gpus[0], perceptron(gpus[0]))
    assert graphs.counts.captured == 0


def test_arrays_that_never_come_to_rest_are_copied(gpus, monkeypatch, graphs):
    """After a few captures all arrays count as moving, and no more are made."""

    def each(k, net, trainer, loss, losses):
        net[k % 2].weight.set_data(net[k % 2].weight.data(gpus[0]) * 1.5)
        losses.append(net[0].weight.data(gpus[0]))

    same(lambda: trained(gpus[0], perceptron(gpus[0]), each=each), monkeypatch, graphs, 1)
    assert graphs.counts.captured <= 2 * capture.MOST_CHANGES


# threads and devices


@pytest.mark.usefixtures("schedule")
def test_two_threads(gpus, monkeypatch, graphs):
    """Both run one program, each on arrays of its own."""

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


@simulated
@pytest.mark.usefixtures("schedule")
def test_two_devices(gpus, monkeypatch, graphs):
    """Data-parallel training: each device has a graph of its own, and gradients are copied between them at each step."""

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


# random programs


def gathered(seeds, ctx):
    """Have the texts of programs compiled together, which takes a fraction of the time."""
    with SIMULATION.gathering():
        for seed in seeds:
            for record in (False, True):
                for _ in range(3):
                    with suppress(Exception):  # what they read is nonsense
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
