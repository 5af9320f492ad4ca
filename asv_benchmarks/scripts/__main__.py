"""`make bench-scripts`: runs the scripts in each way, and prints the table, the targets and what differs."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from asv_benchmarks.peers.report import cores, write
from asv_benchmarks.scripts import plot, report
from asv_benchmarks.scripts.rounds import ROOT, measured
from asv_benchmarks.scripts.table import BY_NAME, NUMPY, SCRIPTS, WAYS, Script, Way

RESULTS, DOCS = ROOT / "asv_benchmarks" / "results", ROOT / "docs" / "inside"
ROUNDS = 5
PICTURE = "![Speed of each script relative to NumPy](scripts.svg)"


def parse_scripts(text: str) -> tuple[Script, ...]:
    """Parse a comma-separated list of scripts and groups.

    Raises
    ------
    argparse.ArgumentTypeError
        If there is no such script or group.
    """
    found: list[Script] = []
    for name in text.split(","):
        chosen = [s for s in SCRIPTS if name in (s.name, s.group) or (name == "chains" and s.chain)]
        if not chosen:
            raise argparse.ArgumentTypeError(f"no script or group {name}; give chains, a group, or some of {', '.join(BY_NAME)}")
        found += chosen
    return tuple(found)


def parse_ways(text: str) -> tuple[Way, ...]:
    """Parse a comma-separated list of ways; NumPy always takes part.

    Raises
    ------
    argparse.ArgumentTypeError
        If there is no such way.
    """
    by_name = {way.name: way for way in WAYS}
    names = text.split(",")
    if not by_name.keys() >= set(names):
        raise argparse.ArgumentTypeError(f"no way {text}; give some of {', '.join(by_name)}")
    return (NUMPY, *[by_name[name] for name in names if name != NUMPY.name])


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="bench-scripts", description="Run NumPy scripts with NumPy and with Twofold.")
    parser.add_argument("--smoke", action="store_true", help="one round of a few scripts, for CI")
    parser.add_argument("--only", type=parse_scripts, default=(), metavar="NAME,…", help="some scripts, groups, or chains")
    parser.add_argument("--ways", type=parse_ways, default=WAYS, metavar="WAY,…", help="run, np")
    parser.add_argument("--rounds", type=int, metavar="N", help=f"rounds ({ROUNDS})")
    parser.add_argument("--cores", type=int, metavar="N", help="run everything on the first N cores (Linux)")
    parser.add_argument("--write", action="store_true", help="write the table, plot and JSON as a complete run does")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to a file")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run the scripts; return 1 if one stopped or printed something else."""
    options = parse_arguments(arguments)
    if options.cores is not None:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    scripts = options.only or tuple(s for s in SCRIPTS if s.smoke or not options.smoke)
    rounds, ways = options.rounds or (1 if options.smoke else ROUNDS), options.ways
    print("\n".join(report.head(ways)), flush=True)
    results = []
    for script in scripts:
        results.append(measured(script, ways, rounds))
        print(report.line(results[-1], ways), flush=True)
    print("\n" + "\n".join(report.summary(results, ways)))
    record = report.record(results, ways, rounds)
    if options.json is not None:
        write(record, options.json)
    elif options.write or (scripts == SCRIPTS and ways == WAYS and options.rounds is None and options.cores is None):
        write(record, RESULTS / f"scripts-{cores()}-cores.json")
        plot.draw(record, DOCS / "scripts.svg")
        lines = report.summary(results, ways)
        report.write_page(DOCS / "peers.md", ["", PICTURE, "", *report.table(results, ways), "", *[f"* {text}" for text in lines], ""])
    wrong = report.complaints(results, ways)
    print("\n".join(wrong) if wrong else "all results agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
