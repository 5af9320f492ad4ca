"""Generates tables and plots from the figures in `results/`: comparisons with other libraries, and asv's history (``make asv-pages``).

Comparisons are in `results/peers-*.json`, one file per machine; the documentation has their tables. asv keeps its figures in
`results/asv/`, one folder per machine, and plots their history itself.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

HERE = Path(__file__).parent
RESULTS, PAGES = HERE / "results", HERE / ".asv" / "html"
#: How a table is aligned: names to the left, figures to the right.
LEFT, RIGHT = "---", "---:"
#: A space at which lines are not broken.
NO_BREAK = "\N{NO-BREAK SPACE}"


def format_amount(value: float, unit: str) -> str:
    """Format seconds or bytes with three digits and a suitable prefix."""
    steps = ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")) if unit == "s" else ((1e6, "MB"), (1e3, "kB"), (1, "B"))
    factor, name = next((step for step in steps if value >= step[0]), steps[-1])
    return f"{value / factor:.3g} {name}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], aligned: Sequence[str]) -> str:
    """Format a Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, aligned, *rows))


def comparisons(results: Path) -> Iterator[str]:
    """All comparisons in a folder, as Markdown."""
    for kind, written in (("peers", comparison), ("small", small_operations), ("loops", loops)):
        for file in sorted(results.glob(f"{kind}-*.json")):
            yield from written(json.loads(file.read_text(encoding="utf-8")))


def small_operations(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What ``make bench-small`` has written: microseconds of single operations beyond NumPy's."""
    yield "## Small operations\n"
    yield "What a statement takes beyond NumPy's time, by `make bench-small`; `nd:` is `mx.nd`, whose targets are its own.\n"
    over = [row for row in rows if row["name"].endswith(": over NumPy")]
    lines = [(f"`{row['name'].removesuffix(': over NumPy')}`", f"{row['value']:.2f} µs", f"{row['target']:.2f} µs") for row in over]
    yield table(("statement", "beyond NumPy", "target"), lines, (LEFT, RIGHT, RIGHT)) + "\n"
    for row in rows:
        if row["name"].endswith("geometric mean"):
            yield f"* {row['name']}: {row['value']:.2f}"
    yield ""


def loops(ratios: Mapping[str, float]) -> Iterator[str]:
    """What ``make bench-loops`` has written: the time of loops over elements and small parts, relative to NumPy's."""
    yield "## Loops over elements\n"
    mean = geometric_mean(ratios.values())
    yield f"Loops over elements, rows and parts of small arrays, by `make bench-loops`; geometric mean {mean:.2f}.\n"
    rows = [(name, f"{ratio:.2f}") for name, ratio in sorted(ratios.items(), key=lambda item: item[1])]
    yield table(("loop", "time over NumPy's"), rows, (LEFT, RIGHT)) + "\n"


def comparison(record: Mapping[str, Any]) -> Iterator[str]:
    """One comparison: the libraries, the targets, and a table per workload, fastest first, relative to the fastest."""
    yield f"## {record['cores']} cores, {record['date']}\n"
    libraries = [(name, found["version"], ", ".join(found.get("blas", ()))) for name, found in record["libraries"].items()]
    yield table(("library", "version", "matrix products by"), libraries, (LEFT, LEFT, LEFT)) + "\n"
    judged = [v for v in record["verdicts"] if v["verdict"] in ("met", "missed")]
    if judged:
        yield "### Targets\n"
        yield f"{sum(v['verdict'] == 'met' for v in judged)} of {len(judged)} are met. A result with an x is how many times as fast,"
        yield "or of memory, how many times as much it takes.\n"
        rows = [(v["work"], v["own"], v["against"], *format_target(v), v["verdict"]) for v in judged]
        yield table(("workload", "measured", "beside", "result", "target", "verdict"), rows, (LEFT, LEFT, LEFT, RIGHT, RIGHT, LEFT)) + "\n"
    for item in record["items"].values():
        medians = sorted(item["medians"].items(), key=lambda entry: entry[1])
        rows = [(name, format_amount(v, item["unit"]), f"{v / medians[0][1]:.2f}") for name, v in medians]
        yield f"### {item['text']}\n"
        yield table(("library and way", "median", "against the best"), rows, (LEFT, RIGHT, RIGHT)) + "\n"


def format_target(verdict: Mapping[str, Any]) -> tuple[str, str]:
    """Format what is judged, and its target, in the unit of the target: a ratio, or a time. Neither is broken between lines."""
    target = verdict["target"]
    result = f"{verdict['value']:.2f} x" if target.endswith("x") else format_amount(verdict["value"], "s")
    return result.replace(" ", NO_BREAK), target.replace("<=", "≤").replace(">=", "≥").replace(" ", NO_BREAK)


def has_history(results: Path) -> bool:
    """Whether asv has stored figures for any machine."""
    return any((results / "asv").glob("*/machine.json"))


def main(arguments: list[str] | None = None) -> int:
    """Have asv plot the history, if there is one."""
    parser = argparse.ArgumentParser(description="Plot the history that asv keeps in asv_benchmarks/results.")
    parser.add_argument("--out", type=Path, default=PAGES, help="folder of the pages")
    out = parser.parse_args(arguments).out.resolve()
    if not has_history(RESULTS):
        print("no history yet; run make asv to record one")
        return 0
    return subprocess.run([sys.executable, "-m", "asv", "publish", "--html-dir", str(out)], cwd=HERE, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
