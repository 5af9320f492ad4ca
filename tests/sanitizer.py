"""``python -m tests.sanitizer``: some tests of the CuPy adapter on a real GPU, under NVIDIA's compute-sanitizer, a tool at a time.

Tests marked ``sanitizer`` run: each kind of kernel once, and a captured loop. Arrays are allocated separately, not from a pool,
so that accesses out of bounds are detected.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

#: What is looked for: reads and writes outside of memory; threads of a block that meet in shared memory; reads of what nobody wrote.
TOOLS = ("memcheck", "racecheck", "initcheck")
NAME = "compute-sanitizer"
#: Its exit status if it has found something.
FOUND = 86
MISSING = f"{NAME} is not there: it comes with NVIDIA's CUDA toolkit (cuda-sanitizer); put it on PATH, or set CUDA_PATH"


def located() -> str | None:
    """The program on PATH, or in the toolkit's folder."""
    homes = [os.environ[name] for name in ("CUDA_PATH", "CUDA_HOME") if os.environ.get(name)]
    folders = [os.environ.get("PATH", ""), *[str(Path(home, "bin")) for home in homes], "/usr/local/cuda/bin"]
    return shutil.which(NAME, path=os.pathsep.join(folders))


def command(program: str, tool: str, tests: Sequence[str]) -> list[str]:
    """The command of a tool on the marked tests.

    Parameters
    ----------
    program
        The path of compute-sanitizer.
    tool
        One of `TOOLS`.
    tests
        Further arguments of pytest's.
    """
    options = ["--tool", tool, "--error-exitcode", str(FOUND), "--target-processes", "application-only", "--print-limit", "20"]
    if tool == "memcheck":  # NVIDIA's Python bindings ask the driver for functions that it may lack
        options += ["--report-api-errors", "no"]
    return [program, *options, sys.executable, "-m", "pytest", "tests/cupy", "-m", "sanitizer", "-p", "no:cacheprovider", *tests]


def environment() -> dict[str, str]:
    """Use a real device without a time limit per test: kernels run many times slower."""
    return {**os.environ, "TWOFOLD_TEST_GPU": "device", "TWOFOLD_TEST_SANITIZER": "1", "PYTEST_TIMEOUT": "0"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run each tool; 0 if none has found anything or, with ``--optional``, if the sanitizer is not installed."""
    parser = argparse.ArgumentParser(prog="python -m tests.sanitizer", description=__doc__)
    parser.add_argument("--optional", action="store_true", help="do nothing where compute-sanitizer is not installed")
    parser.add_argument("--tool", choices=TOOLS, action="append", help="only this one")
    options, tests = parser.parse_known_args(arguments)
    program = located()
    if program is None:
        print(MISSING, file=sys.stderr)
        return 0 if options.optional else 2
    status = {}
    for tool in options.tool or TOOLS:
        print(f"== {NAME} --tool {tool}", flush=True)
        status[tool] = subprocess.run(command(program, tool, tests), env=environment(), check=False).returncode
    for tool, code in status.items():
        print(f"{tool}: {'nothing found' if code == 0 else f'exit status {code}' + (': it has found something' if code == FOUND else '')}")
    return 1 if any(status.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
