"""Train a small network, write it as an ONNX file, run that with onnxruntime, read it back and train it further on other data.

pip install 'twofold[onnx]' onnxruntime
python examples/onnx_round_trip.py [--picture FILE]

The network that was read back can be drawn as SVG, into the FILE of `--picture`.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import twofold as mx
from twofold import autograd, gluon, nd

SIDE = 12
KINDS = ("horizontal", "vertical", "diagonal")


def drawn(count: int, thickness: int, rng: np.random.Generator) -> tuple[nd.NDArray, nd.NDArray]:
    """Noisy images of bars in three directions, and which direction it is."""
    images, labels = rng.normal(0, 0.3, (count, 1, SIDE, SIDE)), rng.integers(0, len(KINDS), count)
    row, column = np.indices((SIDE, SIDE))
    for image, kind in zip(images, labels, strict=True):
        place = rng.integers(2, SIDE - 2 - thickness)
        distance = (row - place, column - place, row - column)[kind]
        image[0, (distance >= 0) & (distance < thickness)] += 1
    return nd.array(images), nd.array(labels)


def trained(net: gluon.Block, images: nd.NDArray, labels: nd.NDArray, steps: int) -> None:
    """Train a network on batches of 64."""
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    for step in range(steps):
        batch = slice(step * 64 % len(images), step * 64 % len(images) + 64)
        with autograd.record():
            value = loss(net(images[batch]), labels[batch])
        value.backward()
        trainer.step(64)


def accuracy(scores: np.ndarray, labels: nd.NDArray) -> float:
    """The share of images whose kind has the highest score."""
    return float((scores.argmax(1) == labels.asnumpy()).mean())


def main(picture: str | None) -> None:
    """Run the round trip."""
    mx.random.seed(0)
    rng = np.random.default_rng(0)
    images, labels = drawn(640, 2, rng)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(8, 3, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.MaxPool2D(), gluon.nn.Dense(len(KINDS)))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trained(net, images, labels, steps=60)
    wanted = net(images).asnumpy()
    print(f"trained: {accuracy(wanted, labels):.1%} of the bars are told")

    with tempfile.TemporaryDirectory() as folder:
        prefix = str(Path(folder) / "bars")
        net.export(prefix)
        files = f"{prefix}-symbol.json", f"{prefix}-0000.params"
        path = mx.onnx.export_model(*files, [(1, 1, SIDE, SIDE)], onnx_file_path=f"{prefix}.onnx", dynamic=True)
        described = mx.contrib.onnx.get_model_metadata(path)
        print(f"written: {Path(path).stat().st_size} bytes, inputs {described['input_tensor_data']}")
        if find_spec("onnxruntime") is not None:
            import onnxruntime

            (found,) = onnxruntime.InferenceSession(path).run(None, {"data": images.asnumpy()})
            print(f"onnxruntime: the largest difference is {np.abs(found - wanted).max():.0e}")
        again = mx.contrib.onnx.import_to_gluon(path, ctx=mx.cpu())
        if picture:
            drawing = mx.viz.plot_network(again, shape={"data": (1, 1, SIDE, SIDE)}, save_format="svg")
            shutil.copy(drawing.render(prefix), picture)
    print(f"read back: the largest difference is {np.abs(again(images).asnumpy() - wanted).max():.0e}")

    thick, kinds = drawn(640, 4, rng)
    before = accuracy(again(thick).asnumpy(), kinds)
    trained(again, thick, kinds, steps=60)
    print(f"trained further: thick bars told {before:.1%} before, {accuracy(again(thick).asnumpy(), kinds):.1%} after")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--picture")
    main(**vars(parser.parse_args()))
