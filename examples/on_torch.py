"""Trains a network on the arrays of another library, through the generic adapter, and compares the losses with those on NumPy.

The library is named on the command line: torch, array_api_strict (the reference implementation of the array API standard), or any other
that follows the standard.

Run: make example-torch (which installs torch in .venv-torch), or, if the library is installed,
python examples/on_torch.py torch (or array_api_strict, …)
"""

import importlib.util
import json
import os
import subprocess
import sys

import numpy as np

STEPS = 20


def train():
    """Train a small network to tell which half of an image is brighter; nothing here depends on the array library."""
    import twofold as mx
    from twofold import autograd, gluon, nd
    from twofold.gluon import nn

    mx.random.seed(0)
    images = np.random.RandomState(0).uniform(size=(64, 1, 8, 8))
    labels = images[:, 0, :4].sum((1, 2)) > images[:, 0, 4:].sum((1, 2))
    images, labels = nd.array(images), nd.array(labels)
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(8, 3, activation="relu"), nn.MaxPool2D(), nn.BatchNorm(), nn.Dense(16, activation="tanh"), nn.Dropout(0.1), nn.Dense(2)
    )
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.5})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    losses = []
    for _ in range(STEPS):
        with autograd.record():
            loss = loss_of(net(images), labels)
        loss.backward()
        trainer.step(len(images))
        losses.append(float(loss.mean().asscalar()))
    return losses


def losses_on(**variables):
    """Train in a new process, because a device's adapter is selected only once; return the losses."""
    command = [sys.executable, __file__, "--train"]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **variables})
    return json.loads(result.stdout)


def compare(library):
    """Train on a library's arrays and on NumPy's, and print the losses of both."""
    if importlib.util.find_spec(library) is None:
        sys.exit(f"{library} is not installed; `make example-torch` creates an environment with torch")
    there = losses_on(TWOFOLD_BACKEND_CPU="array_api", TWOFOLD_ARRAY_API=library)
    here = losses_on(TWOFOLD_BACKEND_CPU="numpy")
    for name, losses in ((library, there), ("numpy", here)):
        print(f"{name}:".ljust(18), "loss", *[f"{loss:.4f}" for loss in losses[:: STEPS // 5]], f"… {losses[-1]:.4f}")
    print("largest difference", f"{max(abs(a - b) for a, b in zip(there, here, strict=True)):.1e}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--train"]:
        print(json.dumps(train()))
    else:
        compare(sys.argv[1] if len(sys.argv) > 1 else "torch")
