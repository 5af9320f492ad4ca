"""Trains one network on MNIST with every kind of store of two workers, and prints the accuracies beside that of one worker.

``python asv_benchmarks/cluster_accuracy.py --folder MNIST`` with the folder of MNIST's four files. All rows run the same program with the
same number of epochs, seeds, and images per step of all workers; only the store differs. A row is the mean over the seeds.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).parents[1]
#: Images per step of all workers together.
BATCH = 100
#: Points of accuracy by which a store may be worse than synchronous training.
ALLOWED = 0.5


class Row(NamedTuple):
    """A store, and how it is trained with."""

    name: str
    workers: int
    servers: int
    kind: str
    staleness: float | None = None
    #: Seconds for which worker 1 sleeps in each step.
    delay: float = 0
    #: Whether gradients are divided by the images of one worker, not of all.
    is_mean_of_own: bool = False


ROWS = [
    Row("one worker", 1, 0, "dist_sync"),
    Row("`dist_sync`, sums over workers", 2, 0, "dist_sync"),
    Row("`dist_sync`, by a server", 2, 1, "dist_sync"),
    Row("`dist_async`, staleness 0", 2, 1, "dist_async", 0),
    Row("`dist_async`, staleness 4", 2, 1, "dist_async", 4),
    Row("`dist_async`, staleness 4, worker 1 slow", 2, 1, "dist_async", 4, delay=0.004),
    Row("`dist_async`, staleness ∞", 2, 1, "dist_async", math.inf),
    Row("`dist_async`, staleness ∞, worker 1 slow", 2, 1, "dist_async", math.inf, delay=0.004),
    Row("`dist_async`, staleness ∞, means of own images", 2, 1, "dist_async", math.inf, is_mean_of_own=True),
]


def train(row: Row, folder: str, epochs: int, seed: int, momentum: float) -> None:
    """Train as one of the workers; the first prints the accuracy on the test images."""
    import twofold as mx
    from twofold import autograd, gluon
    from twofold.command.digits import digits

    kv = mx.kv.create(row.kind, staleness=row.staleness) if row.staleness is not None else mx.kv.create(row.kind)
    data = digits(folder)
    mx.random.seed(seed)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(128, activation="relu"), gluon.nn.Dense(64, activation="relu"), gluon.nn.Dense(10))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    # with momentum m each gradient moves the weights 1 / (1 - m) times as far
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1 * (1 - momentum), "momentum": momentum}, kvstore=kv)
    own = BATCH // kv.num_workers
    sampler = gluon.data.SplitSampler(len(data.labels), kv.num_workers, kv.rank, even_size=True, seed=seed)
    samples = gluon.data.ArrayDataset(data.images.reshape(len(data.images), -1), data.labels)
    batches = gluon.data.DataLoader(samples, own, sampler=sampler, last_batch="discard")
    begun = time.perf_counter()
    for _ in range(epochs):
        for images, labels in batches:
            with autograd.record():
                losses = loss(net(images), labels)
            losses.backward()
            trainer.step(own if row.is_mean_of_own else BATCH)
            if row.delay and kv.rank:
                time.sleep(row.delay)
    kv.barrier()
    seconds = time.perf_counter() - begun
    for key, (_, parameter) in enumerate(sorted(net.collect_params().items())):  # the trainer's order
        if row.staleness is not None:
            kv.pull(key, out=parameter.data())  # what the others have pushed since this worker's last step
    scores = net(mx.nd.array(data.held_out_images.reshape(-1, 784))).asnumpy()
    if kv.rank == 0:
        accuracy = 100 * float(np.mean(scores.argmax(axis=1) == data.held_out_labels))
        print("figures", json.dumps([accuracy, seconds]), flush=True)


def figures(number: int, given: argparse.Namespace, seed: int) -> list[float]:
    """The accuracy in percent and the seconds of one run."""
    row = ROWS[number]
    words = [sys.executable, "-m", "twofold", "launch", "-n", row.workers, "-s", row.servers, __file__]
    words += ["--work", number, "--seed", seed, "--folder", given.folder, "--epochs", given.epochs, "--momentum", given.momentum]
    path = os.pathsep.join([*(str(ROOT / name) for name in ("src", "backends")), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "TWOFOLD_THREADS": "1"}
    done = subprocess.run([str(w) for w in words], env=environment, capture_output=True, text=True, timeout=1200, check=False)
    line = next((text for text in done.stdout.splitlines() if "figures [" in text), None)
    if done.returncode or line is None:
        raise SystemExit(done.stdout + done.stderr)
    return json.loads(line.partition("figures ")[2])


def main() -> int:
    """Print the table; the status is 1 if a store with the same steps is more than `ALLOWED` points worse than `dist_sync`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True, help="the folder with MNIST's four files")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--momentum", type=float, default=0.0)
    parser.add_argument("--seeds", type=int, default=3, help="runs of each row")
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    given: Any = parser.parse_args()
    if given.work is not None:
        train(ROWS[given.work], given.folder, given.epochs, given.seed, given.momentum)
        return 0
    print(f"{given.epochs} epochs, {BATCH} images per step, momentum {given.momentum:g}; {given.seeds} seeds")
    print("| | accuracy, % | least | seconds |\n|---|---|---|---|")
    means = []
    for number, row in enumerate(ROWS):
        found = [figures(number, given, seed) for seed in range(given.seeds)]
        means.append(fmean(accuracy for accuracy, _ in found))
        least = min(accuracy for accuracy, _ in found)
        print(f"| {row.name} | {means[-1]:.2f} | {least:.2f} | {fmean(seconds for _, seconds in found):.0f} |", flush=True)
    load = os.getloadavg()[0]
    worst = max(means[1] - mean for mean in means)
    print(f"load {load:.1f}; at most {worst:.2f} points below dist_sync")
    return int(worst > ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
