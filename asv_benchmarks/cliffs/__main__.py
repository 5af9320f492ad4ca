"""`make bench-cliffs`: measures every operation at every size, and prints those that are slower than they should be."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded

from asv_benchmarks.cliffs import plot, report
from asv_benchmarks.cliffs.measure import FLOORS, points
from asv_benchmarks.cliffs.operations import OPERATIONS, PATTERNS, Operation
from asv_benchmarks.peers.report import cores, write

ROOT = Path(__file__).resolve().parents[2]
ALL = (*OPERATIONS, *PATTERNS)
SIZES = tuple(10**k for k in range(8))
SMOKE = (10, 10_000, 100_000)
#: Seconds for one point, about.
BOX, SMOKE_BOX = 0.03, 0.004


def parse_operations(text: str) -> tuple[Operation, ...]:
    """Parse a semicolon-separated list of groups, titles, and parts of titles.

    Raises
    ------
    argparse.ArgumentTypeError
        If nothing has such a name.
    """
    found: dict[Operation, None] = {}
    for name in text.split(";"):
        chosen = [o for o in ALL if name in (o.group, o.title)] or [o for o in ALL if name in o.title]
        if not chosen:
            raise argparse.ArgumentTypeError(
                f"no operation {name}; give a group ({', '.join(dict.fromkeys(o.group for o in ALL))}) or a title"
            )
        found |= dict.fromkeys(chosen)
    return tuple(found)


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="bench-cliffs", description="Measure operations and patterns at every size beside NumPy.")
    parser.add_argument("--smoke", action="store_true", help="a few sizes, eager, for CI")
    parser.add_argument("--only", type=parse_operations, default=(), metavar="NAME;…", help="some groups or operations")
    parser.add_argument(
        "--ways", type=lambda text: tuple(w for w in FLOORS if w in text.split(",")), metavar="WAY,…", help=", ".join(FLOORS)
    )
    parser.add_argument(
        "--sizes", type=lambda text: tuple(int(float(n)) for n in text.split(",")), metavar="N,…", help="numbers of elements"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the points to a file")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; return 1 if a point fails."""
    options = parse_arguments(arguments)
    sizes = options.sizes or (SMOKE if options.smoke else SIZES)
    ways = options.ways or (("eager",) if options.smoke else tuple(FLOORS))
    print("\n".join(report.heading()), flush=True)
    found = []
    for operation in options.only or ALL:
        own = list(points(operation, ways, sizes, SMOKE_BOX if options.smoke else BOX))
        found += own
        slow = [f"{p.way} {p.size:g}: {p.failure[:60] or format(p.ratio, '.1f')}" for p in own if p.is_cliff]
        if slow and not options.smoke:
            print(f"{operation.title:<40} {'; '.join(slow)}", flush=True)
    record = report.record(found)
    print("\n" + "\n".join([*report.table(found), "", *report.summary(found)]))
    if options.json is not None:
        write(record, options.json)
    elif not (options.smoke or options.only or options.ways or options.sizes):
        write(record, ROOT / "asv_benchmarks" / "results" / f"cliffs-{cores()}-cores.json")
        plot.draw(record, ROOT / "docs" / "inside" / "cliffs.svg")
    wrong = report.complaints(found)
    print("failed: " + "; ".join(wrong) if wrong else "nothing failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
