"""Times calls of libraries in a script with NumPy's arrays and with folding ones, ``run --numpy``: ``make bench-library-calls``.

The calls are those of ``tests/numpy_folding/everyday_calls.py``, whose arrays have 300,000 elements. Both ways run in processes of their
own, which take turns; the least time of each counts. Libraries that are not installed are left out. ``--write`` writes the table of a page.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from statistics import geometric_mean

from asv_benchmarks.scripts.report import write_page
from asv_benchmarks.workers import ROOT

CALLS = ROOT / "tests" / "numpy_folding" / "everyday_calls.py"
PAGE = ROOT / "docs" / "inside" / "folding-arrays.md"
BEGIN, END = "<!-- calls: written by make bench-library-calls -->", "<!-- calls: end -->"
LIBRARIES = ("pandas", "polars", "pyarrow", "scipy", "sklearn", "matplotlib", "PIL", "cv2", "shapely", "sympy", "tables", "zarr", "python")
#: Turns of the two ways, and passes in each.
TURNS, PASSES = 4, 5
#: A call is listed by its name if it takes this many times as long.
SLOW = 1.1

Seconds = dict[str, dict[str, float]]


def times(library: str, folds: bool) -> dict[str, float]:
    """The least seconds of each call of a library, in a process of its own."""
    words = ["-m", "twofold", "run", "--numpy"] if folds else []
    variables = os.environ | {"OPENBLAS_NUM_THREADS": "1", "TWOFOLD_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *words, str(CALLS), f"--passes={PASSES}", library]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    found: Seconds = json.loads(done.stdout.splitlines()[-1])
    return found[library]


def measured(libraries: list[str], turns: int) -> dict[str, dict[str, list[float]]]:
    """For each library and call the least seconds with NumPy's arrays and with folding ones."""
    found = {}
    for library in libraries:
        ways: list[dict[str, float]] = [{}, {}]
        for _ in range(turns):
            for least, folds in zip(ways, (False, True), strict=True):
                for call, taken in times(library, folds).items():
                    least[call] = min(taken, least.get(call, taken))
        found[library] = {call: [way[call] for way in ways] for call in ways[0]}
        print(row(library, found[library]), flush=True)
    return found


def row(library: str, calls: dict[str, list[float]]) -> str:
    """A row of the table."""
    ratios = {call: folding / plain for call, (plain, folding) in calls.items()}
    slow = [f"`{call}` {ratio:.2f} ({1e3 * calls[call][0]:.2g} ms)" for call, ratio in ratios.items() if ratio > SLOW]
    name = "Python itself" if library == "python" else library
    return f"| {name} | {len(calls)} | {geometric_mean(ratios.values()):.2f} | {', '.join(slow)} |"


def table(found: dict[str, dict[str, list[float]]]) -> list[str]:
    """The table, in Markdown."""
    ratios = [folding / plain for calls in found.values() for plain, folding in calls.values()]
    return [
        f"Measured on {time.strftime('%Y-%m-%d')}, one thread: {len(ratios)} calls, geometric mean {geometric_mean(ratios):.2f}, "
        f"{sum(ratio > SLOW for ratio in ratios)} above {SLOW}.",
        "",
        f"| library | calls | time relative to NumPy's arrays, geometric mean | calls above {SLOW}, with their time |",
        "|---|---|---|---|",
        *(row(library, calls) for library, calls in found.items()),
    ]


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description="Time calls of libraries with NumPy's arrays and with folding ones.")
    parser.add_argument("--only", default=",".join(LIBRARIES), help="libraries, separated by commas")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    parser.add_argument("--write", action="store_true", help=f"write the table of {PAGE.relative_to(ROOT)}")
    given = parser.parse_args()
    found = measured([name for name in given.only.split(",") if name == "python" or find_spec(name)], given.turns)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if given.write:
        write_page(PAGE, ["", *table(found), ""], BEGIN, END)
    return 0


if __name__ == "__main__":
    sys.exit(main())
