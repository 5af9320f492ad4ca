"""What a wheel must do where nothing but it and what it requires is installed; run by `make release`, without the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import twofold as mx
from twofold import autograd, gluon


def arrays() -> None:
    """Arrays of both conventions, small and large, with gradients."""
    x = mx.nd.array([[1, 2], [3, 4]])
    x.attach_grad()
    with autograd.record():
        y = (x * x).sum()
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [[2, 4], [6, 8]])
    z = mx.np.linspace(0, 1, 1_000_000)
    np.testing.assert_allclose((mx.np.exp(z) * 2 + 1).mean(), 2 * (np.e - 1) + 1, rtol=1e-6)


def network() -> None:
    """A hybridized network that learns, and gives the same after it was saved and loaded."""
    mx.random.seed(1)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(4, 3, activation="relu"), gluon.nn.MaxPool2D(), gluon.nn.Flatten(), gluon.nn.Dense(2))
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    data = mx.nd.random.normal(shape=(16, 1, 8, 8))
    label = (data.sum(axis=(1, 2, 3)) > 0).astype("float32")
    losses = []
    for _ in range(20):
        with autograd.record():
            value = loss(net(data), label)
        value.backward()
        trainer.step(16)
        losses.append(float(value.mean().asscalar()))
    assert losses[-1] < losses[0], losses
    net.export("net")
    again = gluon.SymbolBlock.imports("net-symbol.json", ["data"], "net-0000.params")
    np.testing.assert_allclose(again(data).asnumpy(), net(data).asnumpy(), rtol=1e-5)


def module() -> None:
    """A symbol that is trained by `Module.fit`."""
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2), name="softmax")
    data = np.random.RandomState(0).randn(64, 5).astype("float32")
    batches = mx.io.NDArrayIter(data, (data[:, 0] > 0).astype("float32"), 16)
    trained = mx.mod.Module(net)
    trained.fit(batches, num_epoch=5, optimizer_params={"learning_rate": 0.5})
    (_, accuracy), *_ = trained.score(batches, "acc")
    assert accuracy > 0.9, accuracy


def programs() -> None:
    """Programs of MXNet and of NumPy, run as they are, and the other commands."""
    Path("old.py").write_text("import mxnet as mx\nprint(mx.nd.ones((2, 3)).sum().asscalar())\n", encoding="utf-8")
    Path("simulation.py").write_text("import numpy as np\nx = np.arange(1e6)\nprint((x * 2 + 1).sum())\n", encoding="utf-8")
    twofold = [sys.executable, "-I", "-m", "twofold"]
    for words, printed in [
        (["run", "old.py"], "6.0"),
        (["run", "--numpy", "simulation.py"], "1000000000000.0"),
        (["doctor"], mx.__version__),
        (["show", "net-0000.params"], "weight"),
    ]:
        done = subprocess.run([*twofold, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, (words, done.stderr)
        assert printed in done.stdout, (words, done.stdout)


def missing_extras() -> None:
    """What an extra brings says so where the extra is missing."""
    Path("a.onnx").write_bytes(b"\x08\x08")
    for use in (lambda: mx.onnx.import_model("a.onnx"), lambda: mx.image.imdecode(b"\x89PNG")):
        said = "no error"
        try:
            use()
        except ImportError as error:
            said = str(error)
        assert "pip install" in said, said


def main() -> None:
    """Run all of the above in a folder of its own."""
    parts = (arrays, network, module, programs, missing_extras)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for part in parts:
            part()
        os.chdir("/")
    lock = "" if getattr(sys, "_is_gil_enabled", lambda: True)() else ", free-threaded"
    print(f"Python {sys.version.split()[0]}{lock}, NumPy {np.__version__}, Twofold {mx.__version__}: {len(parts)} of {len(parts)}")


if __name__ == "__main__":
    main()
