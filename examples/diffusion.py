"""Draws the handwritten digits that it is asked for, out of noise: a small diffusion model.

    python examples/diffusion.py [--steps N] [--picture FILE]

A noisy image is cos(t) image + sin(t) noise. The network is told t and the digit, and learns to turn by a quarter: it finds
cos(t) noise - sin(t) image, from which both image and noise follow at every t without a division by a small number. Sampling begins
with noise alone, and takes 50 steps to t = 0, each with the image and the noise that the network sees. A classifier of real digits
reads what has been drawn.

Sources: Ho, Jain and Abbeel, "Denoising diffusion probabilistic models", NeurIPS 2020; for the steps Song, Meng and Ermon, "Denoising
diffusion implicit models", ICLR 2021; for what is learned Salimans and Ho, "Progressive distillation for fast sampling of diffusion
models", ICLR 2022.
"""

import argparse
from collections.abc import Callable

import numpy

import twofold as mx
from twofold import autograd, gluon, np, npx
from twofold.command.digits import digits
from twofold.gluon import nn

BATCH, LEVELS, KINDS = 64, 50, 10
ANGLES = numpy.linspace(0.02, 0.99, LEVELS, dtype="float32") * (numpy.pi / 2)
#: How much of the image and of the noise is left at each level of noise, (LEVELS, 1).
IMAGE, NOISE = numpy.cos(ANGLES)[:, None], numpy.sin(ANGLES)[:, None]


class Denoiser(gluon.HybridBlock):
    """Noisy images (n, pixels), their levels (n,) and digits (n,) to cos(t) noise - sin(t) image: a residual perceptron."""

    def __init__(self, pixels: int, units: int = 256, blocks: int = 4) -> None:
        super().__init__()
        with self.name_scope():
            # nothing is predicted at first, so that training begins with small steps
            self.first, self.last = nn.Dense(units), nn.Dense(pixels, weight_initializer="zeros")
            self.level, self.kind = nn.Embedding(LEVELS, units), nn.Embedding(KINDS, units)
            self.blocks = nn.HybridSequential()
            for _ in range(blocks):
                block = nn.HybridSequential()
                block.add(nn.LayerNorm(), nn.Dense(2 * units), nn.SiLU(), nn.Dense(units))
                self.blocks.add(block)

    def hybrid_forward(self, F, x, level, kind):
        """The image turned by a quarter."""
        x, asked = self.first(x), self.level(level) + self.kind(kind)
        for block in self.blocks:
            x = x + block(x + asked)
        return self.last(x)


def drawn(net: Denoiser, kinds: mx.np.ndarray, pixels: int) -> mx.np.ndarray:
    """Images (n, pixels) of the digits ``kinds`` (n,), out of noise."""
    x = np.array(numpy.random.default_rng(3).normal(size=(len(kinds), pixels)).astype("float32"))
    for k in reversed(range(LEVELS)):
        turned = net(x, np.full(len(kinds), k), kinds)
        image, noise = IMAGE[k] * x - NOISE[k] * turned, NOISE[k] * x + IMAGE[k] * turned
        x = IMAGE[k - 1] * image + NOISE[k - 1] * noise if k else image
    return x


def train(net: gluon.HybridBlock, loss_of: Callable[[], mx.np.ndarray], steps: int, report: int = 0) -> None:
    """Minimize what ``loss_of`` returns, by Adam; write a line every ``report`` steps."""
    net.initialize(mx.init.Xavier(magnitude=2))
    net.hybridize()
    schedule = mx.lr_scheduler.CosineScheduler(steps, 0.002, final_lr=1e-4, warmup_steps=min(100, steps // 10))
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.002, "lr_scheduler": schedule})
    error = 0.0
    for step in range(1, steps + 1):
        with autograd.record():
            loss = loss_of()
        loss.backward()
        trainer.step(1)
        error += float(loss)
        if report and step % report == 0:
            print(f"step {step:4}: error {error / report:.3f}", flush=True)
            error = 0.0


def main(steps: int, picture: str | None) -> None:
    """Train both networks, draw each digit 20 times, and print how many of them the classifier takes for what was asked."""
    mx.random.seed(1)
    draw, data = numpy.random.default_rng(1), digits()
    # MNIST's images at half their size
    half = (lambda x: x.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4))) if data.images.shape[1] == 28 else (lambda x: x)
    side = half(data.images[:1]).shape[1]
    images, held_out = (np.array(half(x).reshape(-1, side * side) * 2 - 1) for x in (data.images, data.held_out_images))
    labels, held_out_labels = np.array(data.labels), data.held_out_labels

    def turned_missed() -> mx.np.ndarray:
        rows, level = draw.integers(len(images), size=BATCH), draw.integers(LEVELS, size=BATCH)
        x, noise = images[rows], np.array(draw.normal(size=(BATCH, side * side)).astype("float32"))
        left, added = np.array(IMAGE[level]), np.array(NOISE[level])
        return ((net(left * x + added * noise, np.array(level), labels[rows]) - (left * noise - added * x)) ** 2).mean()

    def labels_missed() -> mx.np.ndarray:
        rows = draw.integers(len(images), size=BATCH)
        return gluon.loss.SoftmaxCrossEntropyLoss()(classifier(images[rows].reshape(-1, 1, side, side)), labels[rows]).mean()

    net, classifier = Denoiser(side * side), nn.HybridSequential()
    classifier.add(nn.Conv2D(32, 3, activation="relu"), nn.MaxPool2D(), nn.Dense(64, activation="relu"), nn.Dense(KINDS))
    train(classifier, labels_missed, 400)
    train(net, turned_missed, steps, max(steps // 5, 1))
    asked = numpy.repeat(numpy.arange(KINDS), 20)
    found = drawn(net, np.array(asked), side * side)
    for name, x, kinds in (("real digits", held_out, held_out_labels), ("drawings", found, asked)):
        likely = npx.softmax(classifier(x.reshape(-1, 1, side, side))).asnumpy()
        right, sure = (likely.argmax(axis=1) == kinds).mean(), (likely.max(axis=1) > 0.9).mean()
        print(f"{name}: {right:.3f} read as what they are, {sure:.2f} for sure")
    if picture:
        import matplotlib.pyplot as plt

        # six of each digit in a column, with paper between them
        shown = numpy.pad(found.asnumpy().reshape(KINDS, 20, side, side)[:, :6], ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-1)
        sheet = shown.transpose(1, 2, 0, 3).reshape(6 * (side + 2), -1)
        plt.imsave(picture, numpy.repeat(numpy.repeat(sheet, 4, 0), 4, 1), cmap="Greys", vmin=-1, vmax=1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--picture")
    main(**vars(parser.parse_args()))
