"""Trains a network on handwritten digits by Gluon's Estimator, which validates, saves checkpoints and stops early.

    python -m twofold run examples/estimator.py [FOLDER]

FOLDER contains MNIST's four files; without it scikit-learn's 1,797 digits are used.
"""

import pathlib
import sys
import tempfile

import mxnet as mx
import numpy
from mxnet import gluon
from mxnet.gluon import nn
from mxnet.gluon.contrib.estimator import CheckpointHandler, EarlyStoppingHandler, Estimator

from twofold.command.digits import digits

EPOCHS, BATCH = 12, 64


def main(folder: str | None) -> None:
    """Train, and print the accuracy of the best checkpoint on held-out images."""
    mx.random.seed(1)
    numpy.random.seed(1)  # noqa: NPY002  (samplers shuffle with NumPy's global generator)
    data = digits(folder)
    sets = [(data.images, data.labels), (data.held_out_images, data.held_out_labels)]
    training, held_out = (
        gluon.data.DataLoader(gluon.data.ArrayDataset(mx.nd.array(x[:, None]), mx.nd.array(y)), BATCH, shuffle=k == 0)
        for k, (x, y) in enumerate(sets)
    )
    net = nn.HybridSequential()
    net.add(nn.Conv2D(16, 3, activation="relu"), nn.MaxPool2D(), nn.Flatten(), nn.Dense(64, activation="relu"), nn.Dense(10))
    net.initialize(mx.init.Xavier())
    net.hybridize()

    accuracy = mx.metric.Accuracy()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.003})
    estimator = Estimator(net, gluon.loss.SoftmaxCrossEntropyLoss(), train_metrics=accuracy, trainer=trainer)
    watched = estimator.val_metrics[0]
    with tempfile.TemporaryDirectory() as checkpoints:
        handlers = [
            CheckpointHandler(checkpoints, model_prefix="digits", monitor=watched, mode="max", save_best=True),
            EarlyStoppingHandler(monitor=watched, mode="max", patience=3),
        ]
        estimator.fit(training, val_data=held_out, epochs=EPOCHS, event_handlers=handlers)
        best = next(pathlib.Path(checkpoints).glob("digits-best.params"))
        net.load_parameters(str(best))
    estimator.evaluate(held_out)
    print(f"accuracy: {estimator.val_metrics[0].get()[1]:.4f}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
