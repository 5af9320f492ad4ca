"""Trains a network on handwritten digits in several processes.

Run it with ``make demo-cluster``, or::

    python -m twofold launch -n 2 --trace cluster.json examples/digits_cluster.py

Each worker computes the gradients of its part of every batch; the store sums them while the rest of the backward pass runs. So two workers
train as one does with their joined batches. The digits are those of ``make demo``.
"""

import argparse
import logging

import numpy as np

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.command.digits import Digits, digits


def network(inputs: int) -> gluon.nn.HybridSequential:
    """The layers: of 128 and 64 units for MNIST's images, of 64 for small ones."""
    net = gluon.nn.HybridSequential()
    for units in (128, 64) if inputs > 100 else (64,):
        net.add(gluon.nn.Dense(units, activation="relu"))
    net.add(gluon.nn.Dense(10))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return net


def train(data: Digits, epochs: int, batch_size: int, learning_rate: float) -> float:
    """Train, and return the accuracy on the images held out.

    Parameters
    ----------
    data
        The digits.
    epochs, batch_size, learning_rate
        ``batch_size`` counts the images of all workers together.
    """
    kv = mx.kv.create("dist_sync")
    net, loss = network(data.images[0].size), gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": learning_rate}, kvstore=kv)
    sampler = gluon.data.SplitSampler(len(data.labels), kv.num_workers, kv.rank, even_size=True, seed=0)
    samples = gluon.data.ArrayDataset(data.images.reshape(len(data.images), -1), data.labels)
    batches = gluon.data.DataLoader(samples, batch_size // kv.num_workers, sampler=sampler, last_batch="discard")
    for epoch in range(epochs):
        total = nd.zeros((1,))
        for images, labels in batches:
            with autograd.record():
                losses = loss(net(images), labels)
            losses.backward()
            trainer.step(batch_size)
            total += losses.mean()
        logging.info("epoch %d: loss %.4f", epoch, total.asscalar() / len(batches))
    # each worker counts in its part of the images held out
    part = slice(kv.rank, None, kv.num_workers)
    found = net(nd.array(data.held_out_images[part].reshape(-1, data.images[0].size))).asnumpy().argmax(axis=1)
    right = nd.array([np.count_nonzero(found == data.held_out_labels[part])])
    counts = mx.kv.create("dist_sync")  # the trainer's store has its own keys; servers would allow one store
    counts.init("right", nd.zeros((1,)))
    counts.pushpull("right", right)
    return float(right.asscalar()) / len(data.held_out_labels)


def main() -> None:
    """Train, and print the accuracy on worker 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, help="number of passes over all images")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    mx.random.seed(0)
    data = digits()
    is_small = data.images[0].size <= 100
    accuracy = train(data, given.epochs or (20 if is_small else 5), 32 if is_small else 100, 0.2 if is_small else 0.1)
    if mx.kv.create("dist_sync").rank == 0:
        print(f"{data.source}\naccuracy: {accuracy:.4f}")


if __name__ == "__main__":
    main()
