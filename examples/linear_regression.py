"""Linear regression twice: from scratch with arrays and autograd, and with Gluon's layer, loss and trainer.

Run: python examples/linear_regression.py [--picture FILE]
"""

import argparse

import numpy as np

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.gluon import nn

rng = np.random.RandomState(0)
x = nd.array(rng.normal(size=(1000, 2)))
y = nd.dot(x, nd.array([2, -3.4])) + 4.2 + nd.array(rng.normal(scale=0.01, size=1000))
BATCH, EPOCHS, RATE = 10, 3, 0.1


def batches():
    """Yield mini-batches of points and values."""
    for start in range(0, len(x), BATCH):
        yield x[start : start + BATCH], y[start : start + BATCH]


weight, bias = nd.zeros((2,)), nd.zeros((1,))
for parameter in (weight, bias):
    parameter.attach_grad()
course = []
for _ in range(EPOCHS):
    for points, values in batches():
        course.append(weight.asnumpy())
        with autograd.record():
            loss = ((nd.dot(points, weight) + bias - values) ** 2).mean() / 2
        loss.backward()
        for parameter in (weight, bias):
            parameter -= RATE * parameter.grad
print("from scratch:", weight.asnumpy(), bias.asnumpy())

net, loss_of = nn.Dense(1), gluon.loss.L2Loss()
net.initialize(mx.init.Zero())
net.hybridize()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": RATE})
for _ in range(EPOCHS):
    for points, values in batches():
        with autograd.record():
            loss = loss_of(net(points), values)
        loss.backward()
        trainer.step(BATCH)
print("with Gluon:  ", net.weight.data().asnumpy()[0], net.bias.data().asnumpy())

parser = argparse.ArgumentParser()
parser.add_argument("--picture")
if picture := parser.parse_args().picture:
    import matplotlib.pyplot as plt

    figure, place = plt.subplots(figsize=(6, 3.6), layout="constrained")
    first, second = np.meshgrid(np.linspace(-1, 3, 60), np.linspace(-4.5, 1, 60))
    # the inputs are independent and have variance 1, so the error grows with the squared distance
    place.contour(first, second, (first - 2) ** 2 + (second + 3.4) ** 2, levels=12, cmap="Greys")
    place.plot(*np.transpose(course), "o-", markersize=3, label="weights after each batch")
    place.plot(*net.weight.data().asnumpy()[0], "x", markersize=12, label="weights that Gluon found")
    place.set(xlabel="first weight", ylabel="second weight")
    place.legend(loc="lower left")
    figure.savefig(picture, dpi=90)
