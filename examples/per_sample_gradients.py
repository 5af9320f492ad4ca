"""Finds wrong labels by the gradient of each example alone: `vmap` of `grad` over a network.

    python examples/per_sample_gradients.py [--epochs N] [--picture FILE]

One label in twenty of the training digits is replaced by a wrong one. After a short training the examples with the longest gradients are
looked at: most of them are the wrong ones. ``vmap(grad(loss))`` computes all gradients at once; a loop over the examples gives the same.
"""

import argparse
import time

import numpy

import twofold as mx
from twofold import autograd, gluon, np
from twofold.command.digits import digits
from twofold.func import functional_call, grad, jit, vmap
from twofold.gluon import nn

SHARE, MOST = 0.05, 1400


def main(epochs: int, picture: str | None) -> None:
    """Train on partly wrong labels, and print how many of the suspects are wrong."""
    mx.random.seed(1)
    draw, data = numpy.random.default_rng(1), digits()
    count = min(len(data.labels), MOST)
    images = np.array(data.images[:count].reshape(count, -1))
    is_wrong = draw.random(count) < SHARE
    labels = np.array(numpy.where(is_wrong, (data.labels[:count] + draw.integers(1, 10, count)) % 10, data.labels[:count]))

    net = nn.HybridSequential()
    net.add(nn.Dense(64, activation="relu", in_units=images.shape[1]), nn.Dense(10, in_units=64))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.003})
    for _ in range(epochs):
        for rows in numpy.array_split(draw.permutation(count), count // 50):
            with autograd.record():
                loss = loss_of(net(images[rows]), labels[rows]).mean()
            loss.backward()
            trainer.step(1)

    def loss(params, image, label):
        return loss_of(functional_call(net, params, image[None]), label[None]).sum()

    params = {name: p.data() for name, p in net.collect_params().items()}
    per_sample = jit(vmap(grad(loss), in_axes=(None, 0, 0)))

    def lengths(images, labels):
        gradients = per_sample(params, images, labels)
        return numpy.sqrt(sum((g.asnumpy().reshape(len(images), -1) ** 2).sum(axis=1) for g in gradients.values()))

    found = lengths(images, labels)
    one = jit(grad(loss))
    seconds = []
    for way in (lambda: per_sample(params, images, labels), lambda: [one(params, *pair) for pair in zip(images, labels, strict=True)]):
        for _ in range(2):  # the second time, all is compiled
            start = time.process_time()
            way()
            mx.nd.waitall()
        seconds.append(time.process_time() - start)
    suspects = numpy.argsort(found)[::-1][: is_wrong.sum()]
    print(f"{is_wrong.sum()} of {count} labels are wrong; of as many suspects, {is_wrong[suspects].mean():.3f} are")
    print(f"length of the gradient: right labels {numpy.median(found[~is_wrong]):.3f}, wrong ones {numpy.median(found[is_wrong]):.3f}")
    print(f"all at once, gradients take 1/{seconds[1] / seconds[0]:.0f} of a loop's time")
    if picture:
        plot(picture, data.images[suspects[:20]], labels[suspects[:20]].asnumpy(), is_wrong[suspects[:20]])


def plot(file: str, images: numpy.ndarray, labels: numpy.ndarray, is_wrong: numpy.ndarray) -> None:
    """Draw the first suspects with their labels: red where the label is wrong."""
    import matplotlib.pyplot as plt

    figure, places = plt.subplots(4, 5, figsize=(5, 4.8), layout="constrained")
    for place, image, label, wrong in zip(places.flat, images, labels, is_wrong, strict=True):
        place.imshow(image, cmap="Greys")
        place.set_title(f"{label:.0f}", color="red" if wrong else "black")
        place.set(xticks=[], yticks=[])
    figure.savefig(file, dpi=70)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--picture")
    main(**vars(parser.parse_args()))
