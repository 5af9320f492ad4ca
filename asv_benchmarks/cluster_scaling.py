"""Trains an MLP and LeNet with one worker and with two, of one thread each, and prints the ratios of their speeds.

Run it by hand, on a quiet machine with two cores or more: ``python asv_benchmarks/cluster_scaling.py``. "weak" are two workers with as
large a batch each as one worker has; "strong" are two with half of it. All configurations take turns; the best of several rounds counts,
which is what a run takes that nothing else disturbs. "CPU" are the seconds of processor for an image in all workers, beside those of one
worker alone: what sums and waiting for them cost, which depends less on what else runs. The data is random: only the time matters.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
#: Images of one step of one worker, and steps that are timed.
BATCH, STEPS = {"MLP": 256, "LeNet": 128}, {"MLP": 150, "LeNet": 30}
#: Workers and the part of the batch that each has.
CONFIGURATIONS = {"one": (1, 1.0), "weak": (2, 1.0), "strong": (2, 0.5)}


def symbol(mx: Any, name: str) -> Any:
    """The layers, up to the scores of 10 classes."""
    x = mx.sym.var("data")
    if name == "LeNet":
        for k, filters in enumerate((20, 50)):
            x = mx.sym.Activation(mx.sym.Convolution(x, kernel=(5, 5), num_filter=filters, name=f"conv{k}"), act_type="tanh")
            x = mx.sym.Pooling(x, pool_type="max", kernel=(2, 2), stride=(2, 2))
        x = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=500, name="fc"), act_type="tanh")
    else:
        for k, units in enumerate((512, 256)):
            x = mx.sym.Activation(mx.sym.FullyConnected(x, num_hidden=units, name=f"fc{k}"), act_type="relu")
    return mx.sym.FullyConnected(x, num_hidden=10, name="scores")


def by_trainer(mx: Any, name: str, images: Any, labels: Any, store: Any) -> Any:
    """A function that makes a step with Gluon."""
    from twofold import autograd, gluon

    net = gluon.SymbolBlock(symbol(mx, name), [mx.sym.var("data")])
    net.initialize(mx.init.Uniform(0.05))
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9}, kvstore=store)
    loss, batch = gluon.loss.SoftmaxCrossEntropyLoss(), len(labels) * store.num_workers

    def step() -> None:
        with autograd.record():
            losses = loss(net(images), labels)
        losses.backward()
        trainer.step(batch)

    return step


def by_module(mx: Any, name: str, images: Any, labels: Any, store: Any) -> Any:
    """A function that makes a step with a module."""
    module = mx.mod.Module(mx.sym.SoftmaxOutput(symbol(mx, name), name="softmax"))
    module.bind([("data", images.shape)], [("softmax_label", labels.shape)])
    module.init_params(mx.init.Uniform(0.05))
    module.init_optimizer(store, "sgd", {"learning_rate": 0.01, "momentum": 0.9})
    batch = mx.io.DataBatch([images], [labels])

    def step() -> None:
        module.forward_backward(batch)
        module.update()

    return step


def work(name: str, way: str, batch: int) -> None:
    """Train as one of the workers; the first prints the images per second of all."""
    import twofold as mx

    store = mx.kv.create("dist_sync")
    draw = np.random.RandomState(store.rank)
    shape = (batch, 1, 28, 28) if name == "LeNet" else (batch, 784)
    images, labels = mx.nd.array(draw.rand(*shape)), mx.nd.array(draw.randint(0, 10, batch))
    step = (by_trainer if way == "Trainer" else by_module)(mx, name, images, labels, store)
    for _ in range(5):
        step()
    mx.nd.waitall()
    store.barrier()
    start, used = time.perf_counter(), time.process_time()
    for _ in range(STEPS[name]):
        step()
    mx.nd.waitall()
    store.barrier()
    seconds, used = time.perf_counter() - start, time.process_time() - used
    counts = mx.kv.create("dist_sync")
    counts.init("seconds of processor", mx.nd.zeros(1))
    counts.pushpull("seconds of processor", total := mx.nd.array([used]))
    if store.rank == 0:
        count = STEPS[name] * batch * store.num_workers
        print("figures", json.dumps([count / seconds, total.asscalar().item() / count]), flush=True)


def measured(name: str, way: str, configuration: str) -> tuple[float, float]:
    """Images per second of a configuration, and seconds of processor per image."""
    workers, part = CONFIGURATIONS[configuration]
    words = [sys.executable, "-m", "twofold", "launch", "-n", str(workers), __file__]
    words += ["--work", name, way, str(round(BATCH[name] * part))]
    path = os.pathsep.join([*(str(ROOT / folder) for folder in ("src", "backends")), os.environ.get("PYTHONPATH", "")])
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TWOFOLD_THREADS"), "1")
    done = subprocess.run(
        words, env={**os.environ, **threads, "PYTHONPATH": path}, capture_output=True, text=True, timeout=600, check=False
    )
    line = next((text for text in done.stdout.splitlines() if "figures " in text), None)
    if done.returncode or line is None:
        raise SystemExit(done.stdout + done.stderr)
    speed, used = json.loads(line.partition("figures ")[2])
    return speed, used


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        name, way, batch = given.work
        work(name, way, int(batch))
        return
    print("| | batch | one worker, images/s | weak | strong | CPU, weak | CPU, strong |\n|---|---|---|---|---|---|---|")
    for name in BATCH:
        for way in ("Trainer", "Module"):
            found: dict[str, list[tuple[float, float]]] = {configuration: [] for configuration in CONFIGURATIONS}
            for _ in range(given.rounds):
                for configuration in CONFIGURATIONS:
                    found[configuration].append(measured(name, way, configuration))
            speeds = {configuration: max(speed for speed, _ in some) for configuration, some in found.items()}
            costs = {configuration: min(used for _, used in some) for configuration, some in found.items()}
            ratios = [f"{best[c] / best['one']:.2f}" for best in (speeds, costs) for c in ("weak", "strong")]
            print(f"| {name}, {way} | {BATCH[name]} | {speeds['one']:,.0f} | {' | '.join(ratios)} |", flush=True)
    print(f"best of {given.rounds} rounds, one thread per worker; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
