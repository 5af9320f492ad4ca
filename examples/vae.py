"""Trains a variational autoencoder on handwritten digits, and draws the plane in which it has laid them out.

    python examples/vae.py [--epochs N] [--picture FILE]

The encoder gives each image a normal distribution in the plane, the decoder draws a point of it as an image. The loss is the bound on the
negative log-likelihood, in nats for each image: what the decoder misses, and how far the encoder's distribution is from the prior.

Source: Kingma and Welling, "Auto-encoding variational Bayes", ICLR 2014.
"""

import argparse

import numpy

import twofold as mx
from twofold import autograd, gluon, np
from twofold.command.digits import digits
from twofold.gluon import nn

PLANE, BATCH, MOST = 2, 50, 10_000


class VAE(gluon.HybridBlock):
    """Images (n, pixels) to the bound (n,)."""

    def __init__(self, pixels: int, units: int = 128) -> None:
        super().__init__()
        with self.name_scope():
            self.encoder, self.decoder = nn.HybridSequential(), nn.HybridSequential()
            self.encoder.add(nn.Dense(units, activation="relu"), nn.Dense(units, activation="relu"), nn.Dense(2 * PLANE))
            self.decoder.add(nn.Dense(units, activation="relu"), nn.Dense(units, activation="relu"), nn.Dense(pixels))

    def hybrid_forward(self, F, x, noise):
        """The bound: the cross-entropy of the pixels, and the divergence from the prior. ``noise`` (n, PLANE) selects a point."""
        code = self.encoder(x)
        mean, log_variance = code[:, :PLANE], code[:, PLANE:]
        logits = self.decoder(mean + F.np.exp(log_variance / 2) * noise)
        missed = F.np.log1p(F.np.exp(-F.np.abs(logits))) + F.np.maximum(logits, 0) - logits * x
        divergence = (F.np.exp(log_variance) + mean**2 - 1 - log_variance) / 2
        return missed.sum(axis=1) + divergence.sum(axis=1)


def main(epochs: int, picture: str | None) -> None:
    """Train, and print the bound on images that the network has not seen."""
    mx.random.seed(1)
    draw, data = numpy.random.default_rng(1), digits()
    count, side = min(len(data.images), MOST), data.images.shape[1]
    images, held_out = (np.array(x.reshape(len(x), -1)) for x in (data.images[:count], data.held_out_images))
    mean = images.mean(axis=0).clip(0.001, 0.999)
    apart = -(held_out * np.log(mean) + (1 - held_out) * np.log(1 - mean)).sum(axis=1).mean()
    print(f"{count} images; nats for an image if pixels were independent: {float(apart):.1f}")
    net = VAE(side * side)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    normal = lambda n: np.array(draw.normal(size=(n, PLANE)).astype("float32"))  # noqa: E731
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.002})
    for epoch in range(1, epochs + 1):
        for rows in numpy.array_split(draw.permutation(count), count // BATCH):
            with autograd.record():
                loss = net(images[rows], normal(len(rows))).mean()
            loss.backward()
            trainer.step(1)
        if epoch % max(epochs // 5, 1) == 0:
            print(f"epoch {epoch:2}: {float(net(held_out, normal(len(held_out))).mean()):.1f}", flush=True)
    if picture:
        places = net.encoder(held_out).asnumpy()[:, :PLANE]
        axis = numpy.linspace(-2, 2, 14)
        grid = np.array([[x, y] for y in axis[::-1] for x in axis], dtype="float32")
        shown = 1 / (1 + np.exp(-net.decoder(grid)))
        plot(picture, shown.asnumpy().reshape(14, 14, side, side), places, data.held_out_labels)


def plot(file: str, shown: numpy.ndarray, places: numpy.ndarray, labels: numpy.ndarray) -> None:
    """Draw what the decoder makes of points of the plane, and where the encoder puts new images."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
    left.imshow(shown.transpose(0, 2, 1, 3).reshape(shown.shape[0] * shown.shape[2], -1), cmap="Greys", interpolation="nearest")
    left.set(xticks=[], yticks=[], title="the plane as the decoder draws it")
    dots = right.scatter(*places.T, c=labels, cmap="tab10", s=8)
    right.set(title="new digits in the plane")
    right.legend(*dots.legend_elements(), fontsize=8, loc="upper right")
    figure.savefig(file, dpi=70)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--picture")
    main(**vars(parser.parse_args()))
