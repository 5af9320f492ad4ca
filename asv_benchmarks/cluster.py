"""``make bench-cluster``: how long workers wait for their sums, beside bare MPI and a cluster of the real MXNet, in one run.

Times are medians of worker 0: a push and a pull of one float32 array by two workers, with all processes on this machine. ``hidden`` is
how much of the time for sums passes while a device computes that leaves the processor idle, here one that sleeps.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
#: Where the real MXNet runs, if it does.
ORACLE = ROOT.parent / "shared" / "tools" / "oracle"
SIZES = {"4 KB": (1024, 400), "1 MB": (262_144, 80), "25 MB": (6_553_600, 12)}
#: Layers whose gradients are made one after the other, their elements, and the seconds that each takes to compute. ResNet-50 has as many
#: convolutions and weights.
LAYERS, ELEMENTS, SECONDS = 50, 512_000, 0.003
OVERLAPS = "overlap, pushed at once", "overlap, pushed by layer"


def timed(action: Callable[[], object], rounds: int, meet: Callable[[], object]) -> float:
    """The median duration in microseconds; all processes begin each round together."""
    found = []
    for _ in range(rounds):
        meet()
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return 1e6 * median(found)


def push_and_pull(mx: Any, kind: str) -> dict[str, float]:
    """The times of a store, of Twofold or of the real MXNet, which runs this under Python 3.9."""
    store, found = mx.kv.create(kind), {}
    if "async" in kind:
        store.init("unused", mx.nd.zeros(1))
        store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1))
    for name, (size, rounds) in SIZES.items():
        value, out = mx.nd.ones((size,)), mx.nd.zeros((size,))
        store.init(name, mx.nd.zeros((size,)))

        def once(name: str = name, value: Any = value, out: Any = out) -> None:
            store.push(name, value)
            store.pull(name, out=out)
            out.wait_to_read()

        once()
        found[name] = timed(once, rounds, store._barrier)
    return found if store.rank == 0 else {}


def bare() -> dict[str, float]:
    """The times of MPI's own sum, in messages of 4 MB."""
    from mpi4py import MPI

    comm, found = MPI.COMM_WORLD, {}
    for name, (size, rounds) in SIZES.items():
        value, out = np.ones(size, np.float32), np.empty(size, np.float32)

        def once(size: int = size, value: Any = value, out: Any = out) -> None:
            for start in range(0, size, 1 << 20):
                comm.Allreduce(value[start : start + (1 << 20)], out[start : start + (1 << 20)])

        once()
        found[name] = timed(once, rounds, comm.Barrier)
    return found if comm.rank == 0 else {}


def overlap(mx: Any, at_once: bool) -> dict[str, float]:
    """How much of the sums' time is hidden behind a device that computes the gradients of layers one after the other.

    Either the program issues all work and pushes all gradients at once, before they exist, as `Trainer.step` does; or the thread itself
    waits for each layer and then pushes its gradient. The device computes whatever the host does meanwhile: it is an absolute time at
    which the next gradient is there.
    """
    from twofold.backend.kernel import ArrayType
    from twofold.device import CPU
    from twofold.imperative.cell import wrap
    from twofold.imperative.pending import issue
    from twofold.scheduler.variable import Lane, Var

    store, keys, order = mx.kv.create("dist_sync"), list(range(LAYERS)), Var()
    data = [np.ones(ELEMENTS, np.float32) for _ in keys]
    grads, outs = [mx.nd.array(array) for array in data], [mx.nd.zeros((ELEMENTS,)) for _ in keys]
    store.init(keys, outs)

    def until(end: float) -> None:
        time.sleep(max(0.0, end - time.perf_counter()))

    def computed(k: int, end: float) -> Any:
        def run(_: object) -> list[np.ndarray]:
            until(end)
            return [data[k]]

        found = issue(run, [], [ArrayType((ELEMENTS,), "float32")], CPU, float("inf"), Lane("device"), order)
        return wrap(mx.nd.NDArray, found[0])

    def all_at_once(computes: bool, sums: bool) -> None:
        start = time.perf_counter()
        made = [computed(k, start + (LAYERS - k) * SECONDS) for k in reversed(keys)][::-1] if computes else grads
        if sums:
            store.push(keys, made)
            store.pull(keys, out=outs)
        for array in outs if sums else made:
            array.wait_to_read()

    def by_layer(computes: bool, sums: bool) -> None:
        start = time.perf_counter()
        for k in reversed(keys):
            if computes:
                until(start + (LAYERS - k) * SECONDS)
            if sums:
                store.push(k, grads[k])
        if sums:
            store.pull(keys, out=outs)
            for out in outs:
                out.wait_to_read()

    step = all_at_once if at_once else by_layer
    step(False, True)
    compute, alone, both = (timed(lambda c=c, s=s: step(c, s), 8, store._barrier) for c, s in ((True, False), (False, True), (True, True)))
    found = {"compute": compute, "sums": alone, "both": both, "hidden": 1 - (both - compute) / alone}
    return found if store.rank == 0 else {}


def work(what: str) -> None:
    """Measure, as one of the processes."""
    if what == "bare":
        found = bare()
    elif what.startswith("real"):
        import mxnet as real

        found = push_and_pull(real, what[5:])
    else:
        sys.path[:0] = [str(ROOT / name) for name in ("src", "backends")]
        import twofold as mx

        found = overlap(mx, what == OVERLAPS[0]) if what in OVERLAPS else push_and_pull(mx, what)
    if found:
        print("figures", json.dumps(found), flush=True)


def measured(words: list[str], environment: dict[str, str]) -> dict[str, float]:
    """What worker 0 of some processes prints."""
    done = subprocess.run(words, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600, check=False)
    line = next((text for text in done.stdout.splitlines() if text.startswith("figures ")), None)
    if line is None:
        raise SystemExit(done.stdout + done.stderr)
    return json.loads(line[8:])


def by_mpi(what: str, processes: int, tcp: bool) -> dict[str, float]:
    """The figures of processes under mpiexec; those beyond the second are servers."""
    environment = {"TWOFOLD_SERVERS": str(processes - 2), "OMP_NUM_THREADS": "1", "MXNET_KVSTORE_BIGARRAY_BOUND": "100000000"}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if tcp:
        environment |= {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_if_include": "lo"}
    mpiexec = str(Path(sys.executable).parent / "mpiexec")
    return measured([mpiexec, "-n", str(processes), "--oversubscribe", sys.executable, __file__, "--work", what], environment)


def by_mxnet(kind: str) -> dict[str, float]:
    """The figures of a scheduler, a server and two workers of the real MXNet."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    shared = {"DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": str(port), "DMLC_NUM_WORKER": "2", "DMLC_NUM_SERVER": "1"}
    shared |= {"DMLC_NODE_HOST": "127.0.0.1", "OMP_NUM_THREADS": "1"}
    words = [str(ORACLE), __file__, "--work", f"real {kind}"]
    others = [
        subprocess.Popen(words, env={**os.environ, **shared, "DMLC_ROLE": role}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for role in ("scheduler", "server")
    ]
    workers = [
        subprocess.Popen(words, env={**os.environ, **shared, "DMLC_ROLE": "worker"}, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    logs = [worker.communicate(timeout=600)[0] for worker in workers]
    for process in others:
        process.wait(timeout=60)
    return next(json.loads(line[8:]) for log in logs for line in log.splitlines() if line.startswith("figures "))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tcp", action="store_true", help="send by TCP over the loopback interface, not by shared memory")
    parser.add_argument("--no-mxnet", action="store_true", help="leave out the real MXNet")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.work)
        return
    rows = {
        "MPI, sum of 2": by_mpi("bare", 2, given.tcp),
        "dist_sync, 2 workers": by_mpi("dist_sync", 2, given.tcp),
        "dist_async, 2 workers, 1 server": by_mpi("dist_async", 3, given.tcp),
    }
    if ORACLE.exists() and not given.no_mxnet:
        rows |= {f"MXNet {kind}, 2 workers, 1 server": by_mxnet(kind) for kind in ("dist_sync", "dist_async")}
    print(f"push and pull, {'TCP' if given.tcp else 'shared memory'}; load {os.getloadavg()[0]:.1f}")
    print("| | 4 KB, µs | 1 MB, ms | 25 MB, ms |\n|---|---|---|---|")
    for name, row in rows.items():
        print(f"| {name} | {row['4 KB']:.0f} | {row['1 MB'] / 1e3:.2f} | {row['25 MB'] / 1e3:.1f} |")
    for what in OVERLAPS:
        found = by_mpi(what, 2, given.tcp)
        times = ", ".join(f"{name} {found[name] / 1e3:.1f} ms" for name in ("compute", "sums", "both"))
        print(f"{what}, beside a device with {LAYERS} layers of {ELEMENTS * 4 / 1e6:.0f} MB: {times}; hidden {found['hidden']:.0%}")


if __name__ == "__main__":
    main()
