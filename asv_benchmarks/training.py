"""Times the training of networks by Twofold, torch, MXNet and JAX: ``make bench-training``.

Nine networks (`asv_benchmarks.trained`) and a GPT, whose generation and transforms are timed too. The libraries take turns in one process,
but for MXNet, which has its own. The networks have the same weights, and their losses must agree before anything is timed. Each library
computes with one thread (or ``--threads N``), so that processor time is the time of the computation whatever else runs. ``--only WORDS``
selects rows, ``--json FILE`` writes the seconds, and ``--write`` a table of the documentation.
"""

import argparse
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

if __name__ == "__main__":  # before NumPy is loaded; the path makes this package importable from the repository
    THREADS = sys.argv[sys.argv.index("--threads") + 1] if "--threads" in sys.argv else "1"
    os.environ.update(OPENBLAS_NUM_THREADS=THREADS, OMP_NUM_THREADS=THREADS, TWOFOLD_THREADS=THREADS)
    if THREADS == "1":
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy

from asv_benchmarks import functions, gpt
from asv_benchmarks.trained import report
from asv_benchmarks.trained.inputs import TASKS
from asv_benchmarks.trained.ways import Remote, peaks, ways
from asv_benchmarks.workers import many, memory, seconds

#: What each row compares: functions that run once, by library. Each waits for its result.
Ways = dict[str, Callable[[], Any]]


def alternately(ways: Mapping[str, Callable[[], Any] | Remote], rounds: int) -> dict[str, tuple[float, float]]:
    """The median processor time and wall time of a call, in seconds; the first two calls of each are not counted."""
    taken: dict[str, list[list[float]]] = {name: [] for name in ways}
    for turn in range(rounds + 2):
        for name, call in ways.items():
            gc.collect()
            times = call.seconds() if isinstance(call, Remote) else seconds(call)
            if turn > 1:
                taken[name].append(times)
    return {name: (median(cpu for _, cpu in times), median(wall for wall, _ in times)) for name, times in taken.items()}


def gpt_step() -> Ways:
    """A step of a GPT's training."""
    ours, torchs, jaxs = gpt.Twofold(), gpt.Torch(), gpt.Jax()
    torchs.take(ours.weights())
    jaxs.take(ours.weights())
    x, y = gpt.data()
    losses = [lib.step(x, y) for lib in (ours, torchs, jaxs)]
    numpy.testing.assert_allclose(losses, losses[0], rtol=1e-4)
    ways: Ways = {"twofold": lambda: ours.step(x, y), "torch": lambda: torchs.step(x, y), "jax.jit": lambda: jaxs.step(x, y)}
    compiled = torchs.compiled()
    return ways if compiled is None else {**ways, "torch.compile": lambda: compiled(x, y)}


def generation() -> Ways:
    """100 characters, one after the other, with caches of keys and values."""
    ours, torchs = gpt.Twofold(), gpt.Torch()
    torchs.take(ours.weights())
    assert ours.generate(20) == torchs.generate(20)
    return {"twofold": lambda: ours.generate(100), "torch": lambda: torchs.generate(100)}


def scalar_gradient() -> Ways:
    """1,000 gradients of a sum of 10 elements, compiled."""
    import jax

    import twofold as mx

    ours = mx.func.jit(mx.func.grad(lambda x: (x * x).sum()))
    theirs = jax.jit(jax.grad(lambda x: (x * x).sum()))
    a, b = mx.np.ones(10, "float32"), jax.numpy.ones(10, "float32")
    # without a wait, so that only the dispatch of jax counts
    return {"twofold": many(lambda: ours(a), 1000), "jax.jit": many(lambda: theirs(b), 1000)}


def first_calls() -> Ways:
    """The first call of a function that has not been seen before: the gradient of a perceptron's loss."""
    import jax

    import twofold as mx

    draw = numpy.random.default_rng(0)
    sizes = iter(range(20, 1000))

    def first(lib: Any, func: Any, wait: Callable[[Any], Any]) -> None:
        n = next(sizes)
        weights = [lib.array(draw.normal(size=s).astype("float32")) for s in ((8, n), (n, n), (n, 1))]
        x = lib.ones((16, 8), "float32")

        def loss(w: Any) -> Any:
            return (lib.dot(lib.tanh(lib.dot(lib.tanh(lib.dot(x, w[0])), w[1])), w[2]) ** 2).mean()

        wait(func.jit(func.grad(loss))(weights)[0])

    return {"twofold": lambda: first(mx.np, mx.func, lambda a: a.asnumpy()), "jax.jit": lambda: first(jax.numpy, jax, numpy.asarray)}


def small_problems() -> Ways:
    """1,000 problems of ridge regression's loss by ``vmap``, and the same written with a batch axis; 20 times."""
    import twofold as mx

    np = mx.np
    draw = numpy.random.default_rng(0)
    a, w, b = (np.array(draw.normal(size=s).astype("float32")) for s in ((1000, 20, 5), (1000, 5), (1000, 20)))
    one = mx.func.jit(mx.func.vmap(lambda a, w, b: np.sqrt(((np.dot(a, w) - b) ** 2).sum() + 0.1 * (w * w).sum())))
    by_hand = mx.func.jit(lambda a, w, b: np.sqrt(((np.matmul(a, w[..., None])[..., 0] - b) ** 2).sum(axis=1) + 0.1 * (w * w).sum(axis=1)))
    return {"vmap": many(lambda: one(a, w, b).asnumpy(), 20), "by hand": many(lambda: by_hand(a, w, b).asnumpy(), 20)}


def peak(way: str) -> float:
    """The growth of the resident memory in three steps of training, in MB; to be run in a process of its own."""
    lib = gpt.Torch() if way == "torch" else gpt.Twofold(checkpoint=way == "checkpoint")
    x, y = gpt.data()
    lib.step(x[:1], y[:1])
    before = memory("VmHWM")
    for _ in range(3):
        lib.step(x, y)
    return (memory("VmHWM") - before) / 1e6


ROWS: dict[str, Callable[[], Ways]] = {f.__name__: f for f in (gpt_step, generation, scalar_gradient, first_calls, small_problems)}
#: The programs of the tutorial's page on functions of functions, 10 times each.
ROWS.update({name: partial(functions.ways, name) for name in functions.PROGRAMS})


def measured(name: str, rounds: int) -> dict[str, tuple[float, float]]:
    """The median processor and wall time of a row's call, or of a network's step, by library."""
    if name not in TASKS:
        return alternately(ROWS[name](), rounds)
    calls, steps = ways(name)
    times = alternately(calls, rounds)
    for call in calls.values():
        if isinstance(call, Remote):
            call.close()
    return {library: (cpu / steps, wall / steps) for library, (cpu, wall) in times.items()}


def of_gpt() -> dict[str, float]:
    """The memory of a GPT's training in MB, by library and, of Twofold's, with layers that are computed again."""
    words = [sys.executable, __file__, "--peak"]
    return {way: float(subprocess.run([*words, way], capture_output=True, text=True, check=True).stdout) for way in gpt.WAYS}


def measure(names: list[str], rounds: int) -> dict[str, Any]:
    """Measure rows, and print each as it comes: times, and each library's relative to Twofold's. A row whose losses differ is left out."""
    found: dict[str, Any] = {"load": os.getloadavg()[0], "memory": {}, "wrong": {}}
    for name in names:
        try:
            times = found[name] = measured(name, rounds)
        except AssertionError as error:
            found["wrong"][name] = " ".join(str(error).split())[:300]
            print(f"{name:16} {found['wrong'][name]}", flush=True)
            continue
        base = next(iter(times.values()))
        for library, (cpu, wall) in times.items():
            print(f"{name:16} {library:14} {cpu:9.5f} s of CPU ({cpu / base[0]:5.2f})  {wall:9.5f} s ({wall / base[1]:5.2f})", flush=True)
        if name in TASKS or name == "gpt_step":
            found["memory"][name] = peaks(name) if name in TASKS else of_gpt()
            print(f"{name:16} memory         {', '.join(f'{k} {v:.0f}' for k, v in found['memory'][name].items())} MB", flush=True)
    return found


def main() -> int:
    """Run the benchmark; return 1 if losses differ."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="measure the rows whose names contain one of these words, separated by commas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads")
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    parser.add_argument("--read", type=Path, help="take the figures from a file, and measure only the rows of --only anew")
    parser.add_argument("--write", action="store_true", help="write the table of networks into the documentation")
    parser.add_argument("--peak", help="print the memory of one way of training a GPT, and do nothing else")
    given = parser.parse_args()
    if given.peak:
        print(f"{peak(given.peak):.0f}")
        return 0
    found = json.loads(given.read.read_text()) if given.read else {"memory": {}}
    if given.only or not given.read:
        new = measure([name for name in (*TASKS, *ROWS) if any(word in name for word in given.only.split(","))], given.rounds)
        found = {**found, **new, "memory": {**found["memory"], **new["memory"]}}
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if given.write:
        report.write(found)
    return bool(found.get("wrong"))


if __name__ == "__main__":
    sys.exit(main())
