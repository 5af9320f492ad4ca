"""Trains a small convolutional network on drawn shapes, in float32, which is then converted to float16, and in mixed precision.

In mixed precision the loss falls a little later: the first steps are skipped until the loss is scaled so that no gradient overflows.

Run: python examples/mixed_precision_cnn.py
"""

import numpy as np

import twofold as mx
from twofold import autograd, gluon
from twofold.contrib import amp
from twofold.gluon import nn

rng = np.random.default_rng(0)


def shapes(count):
    """Noisy 12x12 images (n, 1, 12, 12) of a horizontal bar, a vertical bar, a square or a cross; and which it is (n,)."""
    kinds = rng.integers(4, size=count)
    images = rng.normal(scale=0.2, size=(count, 1, 12, 12))
    for image, kind in zip(images[:, 0], kinds, strict=True):
        row, column = rng.integers(1, 7, size=2)
        if kind in (0, 3):
            image[row + 2, column : column + 5] += 1
        if kind in (1, 3):
            image[row : row + 5, column + 2] += 1
        if kind == 2:
            image[row : row + 5, column : column + 5] += 1
    return mx.nd.array(images), mx.nd.array(kinds)


def network():
    """A small convolutional network, with the same initial weights each time."""
    mx.random.seed(1)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(), nn.Dense(4))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return net


def accuracy(net):
    """The fraction of the test images that a network recognizes."""
    return float((net(test_images).astype("float32").argmax(axis=1) == test_kinds).mean().asscalar())


images, kinds = shapes(800)
test_images, test_kinds = shapes(400)
loss_of = gluon.loss.SoftmaxCrossEntropyLoss()


def train(net, scaled):
    """Train a network, on a scaled loss or as usual; the mean loss of each pass over the images."""
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    if scaled:
        amp.init_trainer(trainer)
    losses = []
    for start in [*range(0, 800, 50)] * 6:
        with autograd.record():
            loss = loss_of(net(images[start : start + 50]), kinds[start : start + 50])
            if scaled:
                with amp.scale_loss(loss, trainer) as scaled_loss:
                    autograd.backward(scaled_loss)
        if not scaled:
            loss.backward()
        trainer.step(50)
        losses.append(loss.astype("float32").mean().asscalar())
    return np.mean(np.reshape(losses, (6, -1)), axis=1)


def size(net):
    """The bytes of a network's parameters."""
    return sum(p.data().asnumpy().nbytes for p in net.collect_params().values())


plain = network()
losses = train(plain, scaled=False)
print(f"float32: accuracy {accuracy(plain):.4f}, {size(plain)} bytes, losses", *losses.round(4))
half = amp.convert_hybrid_block(plain, ctx=mx.cpu(), cast_optional_params=True)
print(f"converted to float16: accuracy {accuracy(half):.4f}, {size(half)} bytes")

amp.init()
mixed = network()
losses = train(mixed, scaled=True)
assert mixed(test_images).dtype == np.float16
print(f"mixed precision: accuracy {accuracy(mixed):.4f}, {size(mixed)} bytes, losses", *losses.round(4))
