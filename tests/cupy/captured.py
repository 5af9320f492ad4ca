"""Shared by tests of captured programs: nets to train, and comparisons with results computed without graphs."""

import numpy as np

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.config import SETTINGS

#: Iterations: enough for two observed runs, captures after changes, and some launches.
STEPS = 9


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def bits(arrays):
    return [np.asarray(a.asnumpy() if isinstance(a, nd.NDArray) else a) for a in arrays]


def step_by_step(run, monkeypatch):
    """A function's results without graphs."""
    with monkeypatch.context() as patch:
        patch.setattr(SETTINGS, "cuda_graphs", False)
        return bits(run())


def same(run, monkeypatch, graphs, least=STEPS - 4):
    """Check that a function gives the same bits with and without graphs, and that at least that many graphs were launched."""
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
    hidden = gluon.nn.Dense(units[1], activation="tanh", in_units=units[1])  # an activation that is not fused into the product
    first, last = gluon.nn.Dense(units[1], activation="relu", in_units=units[0]), gluon.nn.Dense(units[2], in_units=units[1])
    net.add(first, hidden, *layers, last)
    net.initialize(mx.init.Xavier(), ctx=ctx)
    net.hybridize()
    return net


def trained(ctx, net, optimizer="sgd", options=None, batches=None, each=None):
    """Train for some steps; return the losses and the weights."""
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


def bound(ctx, requests="write"):
    data = mx.sym.var("data")
    hidden = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=6, name="one"), act_type="tanh")
    out = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=4, name="two"), name="softmax")
    executor = out.simple_bind(ctx, grad_req=requests, data=(3, 5), softmax_label=(3,))
    for k, (name, array) in enumerate(executor.arg_dict.items()):
        array[:] = drawn(*array.shape, seed=k) if name != "softmax_label" else np.arange(3)
    return executor
