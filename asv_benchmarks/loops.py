"""Times loops over elements, rows and parts of small arrays, by `twofold.np` and by NumPy alternately in one process: ``make bench-loops``.

Each kernel is a function of the module and of arrays that it may overwrite. The results of both must be equal to 1e-9. Where llvmlite is
installed, methods are in machine code, as after the first 60,000 operations of a program; ``TWOFOLD_JIT=0`` shows the ratios before that.
``--only TEXT`` selects kernels by their names, and ``--json FILE`` writes the ratios.
"""

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

if __name__ == "__main__":  # the path makes this package importable from the repository
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy

from asv_benchmarks.loop_kernels import KERNELS, Module
from twofold import np as twofold_np
from twofold.numpy.machine_code import MACHINE_CODE


def arguments(module: Module, drawn: list[Any]) -> list[Any]:
    """Fresh arguments of a kernel."""
    return [module.array(a) if isinstance(a, numpy.ndarray) else a for a in drawn]


def seconds(function: Callable[..., Any], module: Module, drawn: list[Any]) -> float:
    """CPU time of one run, without making its arguments."""
    args = arguments(module, drawn)
    start = time.process_time()
    function(module, *args)
    return time.process_time() - start


def measured(name: str, repetitions: int) -> tuple[float, float]:
    """Median seconds of NumPy's run, and the ratio of Twofold's to it."""
    function, draw = KERNELS[name]
    drawn = draw(numpy.random.default_rng(0))
    expected, found = (numpy.asarray(function(module, *arguments(module, drawn))) for module in (numpy, twofold_np))
    numpy.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    function(twofold_np, *arguments(twofold_np, drawn))
    gc.disable()
    try:
        pairs = [[seconds(function, module, drawn) for module in (numpy, twofold_np)] for _ in range(repetitions)]
    finally:
        gc.enable()
    reference, own = (median(column) for column in zip(*pairs, strict=True))
    return reference, own / reference


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default="", metavar="TEXT", help="kernels whose names contain it")
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the ratios to a file")
    options = parser.parse_args()
    if MACHINE_CODE is not None:
        MACHINE_CODE.install()
    found: dict[str, float] = {}
    for name in KERNELS:
        if options.only in name:
            reference, found[name] = measured(name, options.repetitions)
            print(f"{name:<36} {reference * 1e3:8.2f} ms {found[name]:7.2f}x", flush=True)
    if found:
        print(f"{'geometric mean':<36} {'':8}    {geometric_mean(found.values()):7.2f}x   worst {max(found.values()):.2f}x")
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
