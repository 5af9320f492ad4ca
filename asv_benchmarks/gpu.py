"""`make bench-gpu`: the same work on a GPU by Twofold, by CuPy, and by torch and JAX where they are installed, as ratios.

Times are the host's clock around so many calls and a wait for the device, the median of several rounds in which all take turns.
Nothing is measured without a GPU.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.config import SETTINGS

Work = Callable[[], Any]
OWN = "twofold"


class Item(NamedTuple):
    """One kind of work.

    Attributes
    ----------
    name
        What is done.
    nbytes
        Bytes that have to move at least; 0 where that is not what limits it.
    ways
        Who does it, by name: functions that issue the work.
    """

    name: str
    nbytes: int
    ways: dict[str, Work]


def installed(package: str) -> Any:
    """A package, or None."""
    return importlib.import_module(package) if importlib.util.find_spec(package) else None


def chain(xp: Any, x: Any) -> Any:
    """Eight element-wise operations."""
    return xp.tanh(x * 2 + 1) * xp.exp(-x) - xp.sqrt(x * x)


def softmax(xp: Any, x: Any) -> Any:
    """Softmax over the last axis, by its definition."""
    e = xp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def items(size: int, batch: int, *, smoke: bool = False) -> Iterator[Item]:
    """What is measured, on square arrays of a size and nets at a batch size."""
    cupy, torch, jax = installed("cupy"), installed("torch"), installed("jax")
    host = np.random.default_rng(0).normal(size=(size, size)).astype(np.float32)
    own, plain = nd.array(host, ctx=mx.gpu(0)), cupy.asarray(host)
    work = {"chain": (chain, lambda: ((own * 2 + 1).tanh() * (-own).exp() - (own * own).sqrt()).wait_to_read())}
    work["softmax"] = softmax, lambda: nd.softmax(own).wait_to_read()
    for name, (formula, mine) in work.items():
        ways: dict[str, Work] = {OWN: mine, "cupy": lambda f=formula: f(cupy, plain)}
        if name == "chain":
            fused = cupy.fuse(kernel_name="chain")(lambda x: chain(cupy, x))
            ways["cupy.fuse"] = lambda f=fused: f(plain)
        ways |= _peers(name, formula, host, torch, jax)
        yield Item(name, 2 * host.nbytes, ways)
    products: dict[str, Work] = {OWN: lambda: nd.dot(own, own).wait_to_read()}
    if not smoke:  # simulated GPUs have no cuBLAS for CuPy
        products["cupy"] = lambda: plain @ plain
    yield Item("matmul", 0, products)
    yield Item("LeNet step", 0, {OWN: lenet_step(batch), "step by step": without_graphs(lenet_step(batch))})


def _peers(name: str, formula: Callable[..., Any], host: np.ndarray, torch: Any, jax: Any) -> dict[str, Work]:
    ways: dict[str, Work] = {}
    if torch is not None and torch.cuda.is_available():
        there = torch.as_tensor(host, device="cuda")
        eager = (lambda: torch.softmax(there, -1)) if name == "softmax" else (lambda: formula(torch, there))
        ways |= {"torch": eager, "torch.compile": torch.compile(eager)}
    if jax is not None and jax.default_backend() == "gpu":
        compiled, placed = jax.jit(lambda x: formula(jax.numpy, x)), jax.numpy.asarray(host)
        ways["jax"] = lambda: compiled(placed).block_until_ready()
    return ways


def lenet_step(batch: int) -> Work:
    """A training step of LeNet on drawn digits."""
    ctx, layers = mx.gpu(0), gluon.nn
    net = layers.HybridSequential()
    for channels in (20, 50):
        net.add(layers.Conv2D(channels, kernel_size=5, activation="tanh"), layers.MaxPool2D(2, 2))
    net.add(layers.Dense(500, activation="tanh"), layers.Dense(10))
    net.initialize(mx.init.Xavier(), ctx=ctx)
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    data, label = nd.random.uniform(shape=(batch, 1, 28, 28), ctx=ctx), nd.array(np.arange(batch) % 10, ctx=ctx)

    def step() -> None:
        with autograd.record():
            loss = loss_of(net(data), label)
        loss.backward()
        trainer.step(batch)
        loss.wait_to_read()

    return step


def without_graphs(work: Work) -> Work:
    """The same work with its programs issued step by step."""

    def run() -> None:
        SETTINGS.cuda_graphs = False
        try:
            work()
        finally:
            SETTINGS.cuda_graphs = True

    return run


def seconds(ways: dict[str, Work], rounds: int, calls: int) -> dict[str, float]:
    """The median seconds of a call of each."""
    wait = installed("cupy").cuda.runtime.deviceSynchronize
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for k in range(rounds + 1):  # the first round compiles
        for name, work in ways.items():
            wait()
            start = time.perf_counter()
            for _ in range(calls):
                work()
            wait()
            taken[name] += [(time.perf_counter() - start) / calls] if k else []
    return {name: statistics.median(times) for name, times in taken.items()}


def report(item: Item, found: dict[str, float]) -> dict[str, Any]:
    """Print a row and return it."""
    own = found[OWN]
    rate = f", {item.nbytes / own / 1e9:.0f} GB/s" if item.nbytes else ""
    others = "  ".join(f"{name} {took / own:.2f}x" for name, took in found.items() if name != OWN)
    print(f"{item.name:<12} {own * 1e6:10.1f} us{rate}   {others}", flush=True)
    return {"name": item.name, "nbytes": item.nbytes, "seconds": found}


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Bars of how often the others' time is ours."""
    pyplot = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(figsize=(8, 4))
    bars = [(f"{row['name']}: {name}", took / row["seconds"][OWN]) for row in rows for name, took in row["seconds"].items() if name != OWN]
    axes.barh([label for label, _ in bars], [ratio for _, ratio in bars])
    axes.axvline(1, color="black")
    axes.set_xlabel("time of the others / time of Twofold")
    figure.tight_layout()
    figure.savefig(path)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and write what was asked for; 1 if there is no GPU."""
    parser = argparse.ArgumentParser(prog="bench-gpu", description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="tiny arrays: whether it runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the ratios there")
    options = parser.parse_args(arguments)
    if mx.num_gpus() == 0:
        print("bench-gpu: no GPU that can be used; `python -m twofold doctor` says why", file=sys.stderr)
        return 1
    size, batch, rounds, calls = (16, 2, 1, 1) if options.smoke else (8192, 64, 9, 20)
    rows = [report(item, seconds(item.ways, rounds, calls)) for item in items(size, batch, smoke=options.smoke)]
    if options.json:
        versions = {name: installed(name).__version__ for name in ("cupy", "torch", "jax") if installed(name)}
        options.json.write_text(json.dumps({"versions": versions, "rows": rows}, indent=1), encoding="utf-8")
    if options.plot:
        draw(rows, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
