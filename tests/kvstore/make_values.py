"""Runs programs on a cluster of the real MXNet: a scheduler, a server and two workers. Writes what workers pulled to `values.npz`.

../shared/tools/oracle tests/kvstore/make_values.py
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


class Store:
    """The real store with the interface of `random_programs.run`."""

    def __init__(self, mx, mode):
        """Creates the store of a mode."""
        self.mx, self.kv = mx, mx.kv.create("dist_sync")
        if "compression" in mode:
            self.kv.set_gradient_compression(mode["compression"])
        if "optimizer" in mode:
            name, kwargs = mode["optimizer"]
            self.kv.set_optimizer(mx.optimizer.create(name, **kwargs))

    def init(self, name, value, is_sparse):
        """Initializes a key."""
        array = self.mx.nd.array(value)
        self.kv.init(name, array.tostype("row_sparse") if is_sparse else array)

    def push(self, name, shape, value):
        """Pushes an array."""
        self.kv.push(name, self.mx.nd.array(value))

    def rows(self, name, shape, ids, rows):
        """Pushes rows."""
        self.kv.push(name, self.mx.nd.sparse.row_sparse_array((rows, ids), shape=shape))

    def pull(self, name, shape):
        """Pulls an array."""
        out = self.mx.nd.zeros(shape)
        self.kv.pull(name, out=out)
        return out.asnumpy()

    def pull_rows(self, name, shape, ids):
        """Pulls rows, the others are 0."""
        out = self.mx.nd.sparse.zeros("row_sparse", shape)
        self.kv.row_sparse_pull(name, out=out, row_ids=self.mx.nd.array(ids))
        return out.asnumpy()


def work(mode, folder):
    """Runs all programs of a mode as one worker."""
    import mxnet as mx
    from random_programs import MODES, PROGRAMS, mode_of, run

    store = Store(mx, MODES[mode])
    rank = store.kv.rank
    numbers = [n for n in range(PROGRAMS) if mode_of(n) == mode]
    found = [np.concatenate([a.reshape(-1) for a in run(store, n, rank)]) for n in numbers]
    np.savez(os.path.join(folder, f"{mode}.{rank}.npz"), **dict(zip(map(str, numbers), found)))


def start_cluster(mode, folder):
    """Starts a scheduler, a server and two workers, and waits for the workers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = {"DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_NODE_HOST": "127.0.0.1", "DMLC_NUM_SERVER": "1", "DMLC_NUM_WORKER": "2"}
    environment = {**os.environ, **common, "DMLC_PS_ROOT_PORT": str(port), "OMP_NUM_THREADS": "1"}
    environment.pop("PORT", None)  # ps-lite reads it too

    def start(role, *command):
        return subprocess.Popen([sys.executable, *command], env={**environment, "DMLC_ROLE": role}, cwd=HERE)

    others = [start(role, "-c", "import mxnet") for role in ("scheduler", "server")]
    workers = [start("worker", Path(__file__).name, mode, folder) for _ in range(2)]
    try:
        for process in workers:
            if process.wait(timeout=60):
                raise SystemExit(f"a worker of {mode!r} failed")
    finally:
        for process in (*workers, *others):
            process.kill()


def main():
    """Writes the values of all programs."""
    from random_programs import MODES, PROGRAMS

    arrays = {}
    with tempfile.TemporaryDirectory() as folder:
        for mode in MODES:
            start_cluster(mode, folder)
            for rank in range(2):
                with np.load(os.path.join(folder, f"{mode}.{rank}.npz")) as archive:
                    arrays.update({(int(name), rank): archive[name] for name in archive.files})
    parts = [arrays[number, rank] for number in range(PROGRAMS) for rank in range(2)]
    # one array, and where each worker's part of each program ends
    np.savez_compressed(HERE / "values.npz", values=np.concatenate(parts), ends=np.cumsum([len(p) for p in parts]))
    print(f"{PROGRAMS} programs")


if __name__ == "__main__":
    work(*sys.argv[1:]) if len(sys.argv) > 1 else main()
