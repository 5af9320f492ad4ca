"""`make bench-peers`: runs the comparison, and prints the results and the table of targets."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from asv_benchmarks.peers import plot, report
from asv_benchmarks.peers.contest import FULL, QUICK, Contest, Measured, contest
from asv_benchmarks.peers.items import GROUPS, selected
from asv_benchmarks.peers.table import KERNEL, ROOT, libraries
from asv_benchmarks.peers.targets import ELSEWHERE, Row, rows

RESULTS, PICTURE = ROOT / "asv_benchmarks" / "results", ROOT / "docs" / "inside" / "peers.svg"


def parse_groups(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list of groups.

    Raises
    ------
    argparse.ArgumentTypeError
        If a group does not exist.
    """
    names = tuple(text.split(","))
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no group {', '.join(unknown)}; give some of {', '.join(GROUPS)}")
    return names


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="bench-peers", description="Compare Twofold with other libraries.")
    parser.add_argument("--quick", action="store_true", help="a minute: fewer items and rounds, no torch.compile")
    parser.add_argument("--only", type=parse_groups, default=(), metavar="GROUP,…", help=f"some of {', '.join(GROUPS)}")
    parser.add_argument("--libraries", type=lambda text: text.split(","), default=[], metavar="NAME,…", help="only these libraries")
    parser.add_argument("--cores", type=int, metavar="N", help="run everything on the first N cores (Linux)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to a file")
    return parser.parse_args(arguments)


def judged_rows(running: Contest, measured: list[Measured], preset: str | None) -> list[Row]:
    """Judge the targets."""
    wrong = {f"{m.item.key}: {name}": f"wrong: {reason}" for m in measured for name, reason in m.wrong.items()}
    absent = {**ELSEWHERE, **running.absent, **wrong}
    if not running.effort.compiled:
        absent["torch compile"] = "left out of a quick run"
    return rows({m.item.key: m.medians for m in measured}, {m.item.key: m.cpu for m in measured}, absent, preset)


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison; return 1 if a result was wrong."""
    options, preset = parse_arguments(arguments), os.environ.get(KERNEL)
    if options.cores is not None:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    candidates = [library for library in libraries(preset) if not options.libraries or library.name.split(" (")[0] in options.libraries]
    with contest(QUICK if options.quick else FULL, candidates) as running:
        print(report.heading(running), flush=True)
        measured = []
        for item in selected(options.only, options.quick):
            measured.append(running.measure(item))
            print("\n" + report.table(measured[-1]), flush=True)
        table = judged_rows(running, measured, preset)
        print("\n" + report.verdict_table(table, preset))
        print(report.disturbance(running))
        record = report.record(running, measured, table)
        if options.json is not None:
            report.write(record, options.json)
        elif not (options.quick or options.only or options.libraries or options.cores):
            report.write(record, RESULTS / report.file_name(running))
            plot.draw(record, PICTURE)
    wrong = [f"{m.item.key}: {name}" for m in measured for name in m.wrong]
    print("wrong: " + "; ".join(wrong) if wrong else "all results agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
