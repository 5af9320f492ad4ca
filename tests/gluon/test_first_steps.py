"""The second step of training runs the program of the first."""

import pytest

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.program import compile as programs


def network(deferred, width):
    channels = (lambda n: {}) if deferred else (lambda n: {"in_channels": n})
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Conv2D(width, 3, padding=1, **channels(3)),
        gluon.nn.BatchNorm(**channels(width)),
        gluon.nn.Conv2D(128, 3, padding=1, use_bias=False, **channels(width)),
        gluon.nn.BatchNorm(**channels(128)),
        gluon.nn.GlobalAvgPool2D(),
        gluon.nn.Dense(10, in_units=0 if deferred else 128),
    )
    net.initialize()
    return net


@pytest.mark.parametrize("deferred", [False, True])
def test_the_second_step_compiles_nothing(monkeypatch, deferred):
    made, init = [], programs.Program.__init__

    def counting(self, *args, **options):
        if options["title"].category != "operator":  # programs of single operations are made when these are used again
            made.append(self)
        init(self, *args, **options)

    monkeypatch.setattr(programs.Program, "__init__", counting)
    net = network(deferred, 128 + deferred)  # programs of its own; copies of its weights wait in windows
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    measure = gluon.loss.SoftmaxCrossEntropyLoss()
    x, y = nd.random.uniform(shape=(4, 3, 32, 32)), nd.array([1, 2, 3, 0])
    x.wait_to_read()  # on GPUs the draw waits in a window, too
    counts = []
    for _ in range(2):
        with autograd.record():
            loss = measure(net(x), y)
        loss.backward()
        trainer.step(4)
        mx.nd.waitall()
        counts.append(len(made))
    assert 0 < counts[0] == counts[1]
