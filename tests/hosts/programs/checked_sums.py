"""Trains two epochs, checks every sum, and writes a checkpoint after each epoch; see `main`."""

from __future__ import annotations

import os
import sys
import time
from itertools import combinations
from pathlib import Path

import numpy as np

import twofold as mx

EPOCHS, SIZE, PAUSE = 2, 30_000, 0.05


def possible(workers: int) -> list[float]:
    """What a step may add: the sum over all workers or, if others may go on, over some of them, scaled up as a mean would be.

    Each worker gives its own power of two, so that no two sets of workers have the same sum.
    """
    ranks = range(workers)
    sizes = range(1, workers + 1) if os.environ["TWOFOLD_FAULT_TOLERANT"] == "1" else [workers]
    return [sum(2.0**rank for rank in some) * workers / size for size in sizes for some in combinations(ranks, size)]


def main(kind: str, folder: Path, steps: int) -> None:
    """Train by a store of a kind, with checkpoints and each worker's progress in a folder, for some steps an epoch."""
    store = mx.kv.create(kind)
    weight = mx.nd.zeros(SIZE)
    store.init("w", weight)
    store.set_optimizer(mx.optimizer.SGD(learning_rate=1.0, wd=0.0))
    total, sums = 0.0, np.array(possible(store.num_workers))
    for epoch in store.epochs(EPOCHS, {"w": weight}):
        total = float(weight[0].asscalar())  # in a spare: what the others have
        for step in range(1, steps + 1):
            store.push("w", mx.nd.ones(SIZE) * -(2.0**store.rank))
            store.pull("w", out=weight)
            found = weight.asnumpy()
            change, total = float(found[0]) - total, float(found[0])
            if "async" in kind:  # the others' pushes come at any time, but none is taken twice or undone
                is_right = 0 < change <= EPOCHS * steps * sums[-1]
            else:
                is_right = np.isclose(sums, change, rtol=1e-3).any() and (found == found[0]).all()
            if not is_right:
                print(f"wrong sum: {change} in step {step}", flush=True)
            (folder / f"progress{store.rank}").write_text(str(epoch * steps + step))
            time.sleep(PAUSE)
        mx.kv.save_checkpoint(folder / "run", epoch + 1, store, {"w": weight}, store.save_optimizer_states)
    print("trained", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
