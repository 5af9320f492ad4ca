"""Trains a small convolutional network on handwritten digits, and converts it to 8-bit integers in two ways.

    python -m twofold run examples/quantized_cnn.py [FOLDER]

FOLDER contains MNIST's four files; without it scikit-learn's 1,797 digits are used. `quantize_net` converts the Gluon network,
`quantize_model` its exported symbol and parameters, as programs with `mx.mod.Module` have them. Both calibrate the ranges of the values on
training images.
"""

import pathlib
import sys
import tempfile

import mxnet as mx
from mxnet import autograd, gluon
from mxnet.contrib.quantization import quantize_model, quantize_net
from mxnet.gluon import nn

from twofold.command.digits import digits

EPOCHS, BATCH, CALIBRATION = 8, 64, 512


def network() -> nn.HybridSequential:
    """Two convolutions and two fully connected layers."""
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(16, 3, padding=1, activation="relu"),
        nn.Conv2D(16, 3, padding=1, activation="relu"),
        nn.MaxPool2D(),
        nn.Flatten(),
        nn.Dense(64, activation="relu"),
        nn.Dense(10),
    )
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return net


def train(net: nn.HybridSequential, images: mx.nd.NDArray, labels: mx.nd.NDArray) -> None:
    """Train a network with Adam."""
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.003})
    loader = gluon.data.DataLoader(gluon.data.ArrayDataset(images, labels), BATCH, shuffle=True)
    for _ in range(EPOCHS):
        for batch, their_labels in loader:
            with autograd.record():
                loss = loss_of(net(batch), their_labels)
            loss.backward()
            trainer.step(len(batch))


def module_of(symbol: mx.sym.Symbol, args: dict, states: dict, shape: tuple[int, ...]) -> mx.mod.Module:
    """A module with the symbol and the parameters."""
    module = mx.mod.Module(symbol, label_names=None)
    module.bind([("data", shape)], for_training=False)
    module.set_params(args, states)
    return module


def kilobytes(path: pathlib.Path) -> float:
    """The size of a file."""
    return path.stat().st_size / 1000


def main(folder: str | None) -> None:
    """Train, convert, and print accuracies on held-out images and sizes of the files of parameters."""
    mx.random.seed(1)
    data = digits(folder)
    images, held_out = (mx.nd.array(x[:, None]) for x in (data.images, data.held_out_images))
    labels, held_out_labels = mx.nd.array(data.labels), mx.nd.array(data.held_out_labels)
    net = network()
    train(net, images, labels)

    work = pathlib.Path(tempfile.mkdtemp())
    metric = mx.metric.Accuracy()

    def report(name: str, scores: mx.nd.NDArray, path: pathlib.Path) -> None:
        metric.reset()
        metric.update([held_out_labels], [scores])
        print(f"{name}: accuracy {metric.get()[1]:.4f}, {kilobytes(path):.0f} kB")

    net.export(str(work / "float32"))
    report("float32", net(held_out), work / "float32-0000.params")

    loader = gluon.data.DataLoader(gluon.data.ArrayDataset(images, labels), BATCH)
    small = quantize_net(net, calib_mode="entropy", calib_data=loader, num_calib_examples=CALIBRATION)
    small.export(str(work / "net"))
    report("quantize_net", small(held_out), work / "net-0000.params")

    symbol, args, states = mx.model.load_checkpoint(str(work / "float32"), 0)
    samples = mx.io.NDArrayIter(images, batch_size=BATCH)
    converted = quantize_model(symbol, args, states, calib_mode="naive", calib_data=samples, num_calib_examples=CALIBRATION)
    module = module_of(*converted, held_out.shape)
    module.save_checkpoint(str(work / "model"), 0)
    scores = module.predict(mx.io.NDArrayIter(held_out, batch_size=len(held_out)))
    report("quantize_model", scores, work / "model-0000.params")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
