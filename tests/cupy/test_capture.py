"""Captured programs: the same bits as step by step, in one launch, with results that nobody overwrites."""

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.errors import IndexingError

from tests.cupy.captured import STEPS, bound, drawn, perceptron, same, trained
from tests.cupy.conftest import SIMULATION, simulated

# what runs


@pytest.mark.sanitizer
@pytest.mark.usefixtures("schedule")
def test_a_training_loop(gpus, monkeypatch, graphs):
    same(lambda: trained(gpus[0], perceptron(gpus[0])), monkeypatch, graphs)


def mnist_step(ctx, fresh):
    """A function that trains the perceptron on 64 digits, the same ones or new ones each time."""
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
def test_an_mnist_perceptron_step_is_one_launch(gpus, graphs, fresh, launches):
    """Plus one if the batch changes: it copies the batch to where the graph reads it. The host never waits."""
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
def test_a_module_step_is_two_launches(gpus, graphs, optimizer):
    """The graph, and the copy of the batch and Adam's learning rate into it; weights and optimizer states stay in place."""
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
def test_fitting_a_module(gpus, monkeypatch, graphs, optimizer):
    def run():
        mx.random.seed(5)
        data = mx.io.NDArrayIter(drawn(48, 5), np.arange(48) % 4, batch_size=8, label_name="softmax_label")
        net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=12, name="one")
        net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Activation(net, act_type="relu"), num_hidden=4, name="two"), name="softmax")
        module = mx.mod.Module(net, context=gpus[0])
        module.fit(data, num_epoch=3, optimizer=optimizer, optimizer_params={"learning_rate": 0.05}, initializer=mx.init.Xavier())
        return [module.get_params()[0][n] for n in ("one_weight", "one_bias", "two_weight")]

    same(run, monkeypatch, graphs)


def test_one_program_serves_all_callers(gpus, monkeypatch, graphs):
    """A hybridized block that is only called: its inputs and results have new addresses each time."""

    def run():
        net, found = perceptron(gpus[0]), []
        for k in range(STEPS):
            found.append(net(nd.array(drawn(7, 20, seed=k), ctx=gpus[0])))
            found[-1].wait_to_read()
        return found

    same(run, monkeypatch, graphs)


def test_a_symbol_loop_is_captured_with_its_body(gpus, monkeypatch, graphs):
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
def test_changing_hyperparameters(gpus, monkeypatch, graphs, optimizer, options, falls):
    """Momentum; Adam's step count; a learning rate that falls at each step."""

    def run():
        rates = {"lr_scheduler": mx.lr_scheduler.FactorScheduler(1, 0.7, base_lr=0.3)} if falls else {}
        return trained(gpus[0], perceptron(gpus[0]), optimizer, options | rates)

    same(run, monkeypatch, graphs)


@simulated
def test_a_changing_learning_rate_costs_one_more_launch(gpus, graphs):
    spent = []

    def each(k, net, trainer, loss, losses):
        spent.append(SIMULATION.counts().launches)
        if k >= 5:
            trainer.set_learning_rate(0.1 / k)

    trained(gpus[0], perceptron(gpus[0]), each=each)
    nd.waitall()
    assert np.diff(spent)[4:].tolist() == [1, 1, 2, 2]  # a step runs when the next one begins


@pytest.mark.usefixtures("schedule")
def test_dropout_draws_a_new_mask_per_step(gpus, monkeypatch, graphs):
    losses = []

    def run():
        losses.clear()
        return trained(
            gpus[0], perceptron(gpus[0], gluon.nn.Dropout(0.5)), options={"learning_rate": 0.0}, each=lambda *a: losses.append(a[3])
        )

    same(run, monkeypatch, graphs)
    assert len({float(loss.sum().asscalar()) for loss in losses}) == STEPS, "the same mask twice"


@pytest.mark.usefixtures("schedule")
def test_auxiliary_states_are_preserved(gpus, monkeypatch, graphs):
    same(lambda: trained(gpus[0], perceptron(gpus[0], gluon.nn.BatchNorm(in_channels=12))), monkeypatch, graphs)


@pytest.mark.sanitizer
@pytest.mark.usefixtures("schedule")
def test_changing_batches(gpus, monkeypatch, graphs):
    def batches(k):
        count = (16, 16, 16, 9)[k % 4]
        return nd.array(drawn(count, 20, seed=k), ctx=gpus[0]), nd.array(np.arange(count) % 5, ctx=gpus[0])

    same(lambda: trained(gpus[0], perceptron(gpus[0]), batches=batches), monkeypatch, graphs, 3)


@pytest.mark.usefixtures("schedule")
def test_results_the_user_keeps_are_preserved(gpus, monkeypatch, graphs):
    """Losses and gradients that the user keeps stay those of their step."""

    def each(k, net, trainer, loss, losses):
        if k % 3 != 1:
            losses += [loss, net[0].weight.grad(gpus[0]).copy()]
        if k == 6:
            losses.append(net[1].weight.grad(gpus[0])[1:3])

    same(lambda: trained(gpus[0], perceptron(gpus[0]), each=each), monkeypatch, graphs, 3)


@pytest.mark.usefixtures("schedule")
def test_gradients_accumulate(gpus, monkeypatch, graphs):
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
    """The user writes weights in place, replaces them, keeps views of them, and shares them with another library."""

    def each(k, net, trainer, loss, losses):
        weight = net[0].weight.data(gpus[0])
        if k == 4:
            weight[1:3] = 0.25
        if k == 5:
            losses.append(weight[0])
        if k == 6:
            net[-1].weight.set_data(nd.array(drawn(5, 12, seed=9), ctx=gpus[0]))
        if k == 7:
            loss[:] = 3
            losses += [loss, weight.copy()]

    same(lambda: trained(gpus[0], perceptron(gpus[0]), each=each), monkeypatch, graphs, 3)


def test_transposed_views_are_captured(gpus, monkeypatch, graphs):
    def run():
        found = []
        for k in range(STEPS):
            x = mx.np.array(drawn(6, 8, seed=k), ctx=gpus[0])
            y = x.T
            found.append(mx.np.sum(mx.np.exp(mx.np.dot(y, x)) * y[:, :1] + 1.5).asnumpy())
        return found

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
                nd.waitall()
            else:
                found.append(out.asnumpy())
        return found

    same(run, monkeypatch, graphs, 4)


class Picking(gluon.HybridBlock):
    """Steps before and after an index check."""

    def hybrid_forward(self, F, weight, index):
        return F.softmax(F.dot(F.tanh(F.take(weight, index, mode="raise")), F.transpose(weight)))


def test_an_invalid_index_is_reported_while_later_launches_run(gpus, schedule):
    weight, net = nd.array(drawn(6, 3), ctx=gpus[0]), Picking()
    weight.attach_grad()
    net.hybridize()

    def train():
        for k in range(24):
            index = nd.array([6 if k == 15 else k % 6, 2], ctx=gpus[0])
            with autograd.record():
                loss = net(weight, index).sum(axis=0)[0]
            loss.backward()
            weight[:] = weight - 0.1 * weight.grad
            if k % 5 == 4:
                loss.asnumpy()

    with pytest.raises(IndexingError, match=r"index 6(\.0)? for size 6"):
        train()
