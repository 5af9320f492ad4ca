"""Times a GPT's training, generation and transforms, by Twofold, torch and JAX in one process: ``python asv_benchmarks/training.py``.

The libraries take turns. Run it with the Python of an environment that has Twofold, torch and jax.

The three networks have the same weights, and their losses must agree before anything is timed. Each library computes with one thread (or
``--threads N``), so that processor time is the time of the computation whatever else runs. ``--only TEXT`` selects rows, ``--json FILE``
writes the seconds.
"""

import argparse
import gc
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

if __name__ == "__main__":  # before NumPy is loaded; the path makes this package importable from the repository
    THREADS = sys.argv[sys.argv.index("--threads") + 1] if "--threads" in sys.argv else "1"
    os.environ.update(OPENBLAS_NUM_THREADS=THREADS, OMP_NUM_THREADS=THREADS, TWOFOLD_CPU_WORKERS=THREADS)
    if THREADS == "1":
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy

from asv_benchmarks import functions, gpt

#: What each row compares: functions that run once, by library. Each waits for its result.
Ways = dict[str, Callable[[], Any]]


def alternately(ways: Ways, rounds: int) -> dict[str, tuple[float, float]]:
    """The median processor time and wall time of a call, in seconds; the first two calls of each are not counted."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for turn in range(rounds + 2):
        for name, call in ways.items():
            gc.collect()
            start = time.process_time(), time.perf_counter()
            call()
            if turn > 1:
                taken[name].append((time.process_time() - start[0], time.perf_counter() - start[1]))
    return {name: (median(t[0] for t in times), median(t[1] for t in times)) for name, times in taken.items()}


def many(call: Callable[[], Any], times: int) -> Callable[[], None]:
    """A function that calls another many times."""

    def repeated() -> None:
        for _ in range(times):
            call()

    return repeated


def training() -> Ways:
    """A step of training."""
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
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(3):
        lib.step(x, y)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


ROWS: dict[str, Callable[[], Ways]] = {f.__name__: f for f in (training, generation, scalar_gradient, first_calls, small_problems)}
#: The programs of the tutorial's page on functions of functions, 10 times each.
ROWS.update({name: partial(functions.ways, name) for name in functions.PROGRAMS})


def main() -> None:
    """Print the times of each row, and each library's time relative to Twofold's."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads")
    parser.add_argument("--json")
    parser.add_argument("--peak", help="print the memory of one library's training, and do nothing else")
    given = parser.parse_args()
    if given.peak:
        print(f"{peak(given.peak):.0f}")
        return
    found: dict[str, Any] = {"load": os.getloadavg()[0]}
    for name, make in ROWS.items():
        if given.only in name:
            times = found[name] = alternately(make(), given.rounds)
            base = next(iter(times.values()))
            for library, (cpu, wall) in times.items():
                print(
                    f"{name:16} {library:14} {cpu:9.4f} s of CPU ({cpu / base[0]:5.2f})  {wall:9.4f} s ({wall / base[1]:5.2f})", flush=True
                )
    if given.only in "memory":
        for way in ("twofold", "checkpoint", "torch"):
            words = [sys.executable, __file__, "--peak", way]
            found[f"peak of {way}"] = megabytes = float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
            print(f"memory           {way:14} {megabytes:6.0f} MB")
    if given.json:
        Path(given.json).write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
