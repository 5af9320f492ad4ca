"""Fine-tunes a network of the model zoo: its features are kept, and only a new output layer is trained.

    python -m twofold run examples/fine_tuning.py

The published parameters were trained on a million photographs. Here the network is first trained to tell eight drawn shapes apart, and its
parameters are written to a file, which stands for the published one (which ``pretrained=True`` loads). Then it learns four new shapes from
only a few images. A network that starts from the features of the file learns them; a network that starts from random weights does not.
"""

import pathlib
import tempfile

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet.gluon.model_zoo import vision

SIZE, OLD, NEW = 32, 8, 4
rng = np.random.RandomState(0)


def drawn(kinds: list[int], count: int) -> tuple[mx.nd.NDArray, mx.nd.NDArray]:
    """Noisy images (count, 3, SIZE, SIZE) of shapes, each in a color of its own, and the place of each one's kind in the list (count,)."""
    labels = rng.randint(len(kinds), size=count)
    images = rng.normal(scale=0.2, size=(count, 3, SIZE, SIZE))
    y, x = np.mgrid[:SIZE, :SIZE]
    for image, label in zip(images, labels, strict=True):
        row, column = rng.uniform(11, SIZE - 11, size=2)
        radius = rng.uniform(6, 10)
        a, b = (y - row) / radius, (x - column) / radius
        image += rng.uniform(1, 2, size=(3, 1, 1)) * inside(kinds[label], a, b)
    return mx.nd.array(images), mx.nd.array(labels)


def inside(kind: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Where a shape is, given the coordinates of the pixels from its middle."""
    far, near = np.maximum(abs(a), abs(b)), np.minimum(abs(a), abs(b))
    disk, square, diamond = np.hypot(a, b) < 1, far < 0.9, abs(a) + abs(b) < 1
    return [
        disk,
        square,
        diamond,
        (near < 0.25) & square,  # a plus
        (abs(abs(a) - abs(b)) < 0.3) & square,  # a cross
        disk & (np.hypot(a, b) > 0.6),  # a ring
        square & (far > 0.6),  # a frame
        (abs(a) < 0.3) & square,  # a bar
        (abs(b) < 0.3) & square,  # an upright bar
        disk & (a < 0),  # a half disk
        square & (a > b),  # a triangle
        diamond & (abs(a) + abs(b) > 0.6),  # an open diamond
    ][kind]


def train(net: gluon.HybridBlock, params: gluon.ParameterDict, data: tuple[mx.nd.NDArray, mx.nd.NDArray], epochs: int) -> None:
    """Train some of a network's parameters."""
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(params, "adam", {"learning_rate": 0.003})
    for _ in range(epochs):
        for images, labels in gluon.data.DataLoader(gluon.data.ArrayDataset(*data), 32, shuffle=True):
            with autograd.record():
                loss = loss_of(net(images), labels)
            loss.backward()
            trainer.step(len(images))


def accuracy(net: gluon.HybridBlock, images: mx.nd.NDArray, labels: mx.nd.NDArray) -> float:
    """The part of the images that a network recognizes."""
    return float((net(images).argmax(axis=1) == labels).mean().asscalar())


def network(classes: int) -> vision.MobileNet:
    """A network of the model zoo, with new parameters."""
    net = vision.mobilenet0_25(classes=classes)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return net


def main() -> None:
    """Train on many images of the old shapes, then on few of the new ones, and print accuracies on new images."""
    mx.random.seed(0)
    np.random.seed(0)  # noqa: NPY002  (samplers shuffle with NumPy's global generator)
    path = str(pathlib.Path(tempfile.mkdtemp(), "mobilenet0.25.params"))
    old_kinds, new_kinds = list(range(OLD)), list(range(OLD, OLD + NEW))
    first = network(OLD)
    train(first, first.collect_params(), drawn(old_kinds, 2048), epochs=16)
    first.save_parameters(path)
    print(f"old shapes: {accuracy(first, *drawn(old_kinds, 512)):.3f}")

    few, test = drawn(new_kinds, 64), drawn(new_kinds, 512)
    pretrained = vision.mobilenet0_25(classes=OLD)
    pretrained.load_parameters(path)
    tuned = network(NEW)
    tuned.features = pretrained.features
    tuned.features.collect_params().setattr("grad_req", "null")
    train(tuned, tuned.output.collect_params(), few, epochs=30)
    print(f"new shapes, from the features of the old ones: {accuracy(tuned, *test):.3f}")

    anew = network(NEW)
    train(anew, anew.collect_params(), few, epochs=30)
    print(f"new shapes, anew: {accuracy(anew, *test):.3f}")


if __name__ == "__main__":
    main()
