"""Trains a small convolutional network on MNIST, in one pass over the images.

    python examples/mnist_cnn.py [FOLDER] [--picture FILE]

MNIST's four files are those of the folder that is named, of `$TWOFOLD_DATA/mnist` or of `~/.mxnet/datasets/mnist`. With FILE, digits that
are misread are drawn.
"""

import argparse

import numpy as np

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.gluon import nn


def to_floats(image, label):
    """A sample as the network takes it: the image as (1, 28, 28), from 0 to 1."""
    return nd.transpose(image, (2, 0, 1)).astype("float32") / 255, label


def main(folder: str | None, images: int, picture: str | None) -> None:
    """Train, and print the accuracy on the held-out images."""
    place = {} if folder is None else {"root": folder}
    train = gluon.data.vision.MNIST(train=True, transform=to_floats, **place).take(images)
    held_out = gluon.data.vision.MNIST(train=False, transform=to_floats, **place)
    mx.random.seed(1)  # for the initial weights
    np.random.seed(1)  # noqa: NPY002  (samplers shuffle with NumPy's global generator)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(16, 3, activation="relu"), nn.MaxPool2D(), nn.Flatten(), nn.Dense(64, activation="relu"), nn.Dense(10))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.003})
    for data, labels in gluon.data.DataLoader(train, batch_size=100, shuffle=True):
        with autograd.record():
            loss = loss_of(net(data), labels)
        loss.backward()
        trainer.step(len(labels))

    metric = mx.metric.Accuracy()
    misread = []
    for data, labels in gluon.data.DataLoader(held_out, batch_size=1000):
        scores = net(data)
        metric.update([labels], [scores])
        read = scores.asnumpy().argmax(axis=1)
        misread += [(data[k, 0].asnumpy(), labels[k].asscalar(), read[k]) for k in np.flatnonzero(read != labels.asnumpy())]
    print("accuracy:", metric.get()[1])
    if picture:
        plot(picture, misread[:20])


def plot(file: str, misread: list[tuple[np.ndarray, int, int]]) -> None:
    """Draw misread digits, with what they are and what they are read as."""
    import matplotlib.pyplot as plt

    figure, places = plt.subplots(4, 5, figsize=(5, 4.8), layout="constrained")
    for place, (image, label, read) in zip(places.flat, misread, strict=False):
        place.imshow(image, cmap="Greys")
        place.set_title(f"{label} as {read}")
    for place in places.flat:
        place.set(xticks=[], yticks=[])
    figure.savefig(file, dpi=70)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--images", type=int, default=60_000)
    parser.add_argument("--picture")
    main(**vars(parser.parse_args()))
