"""`make bench-gpu`: runs the comparison on a GPU, and prints the results and the table of targets."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from asv_benchmarks.gpu import plot, report
from asv_benchmarks.gpu.items import FULL, GROUPS, SMOKE, Sizes, items
from asv_benchmarks.gpu.table import OWN, libraries
from asv_benchmarks.gpu.targets import Verdict, bandwidth, verdicts
from asv_benchmarks.peers.contest import Contest, Effort, Measured, contest
from asv_benchmarks.peers.report import write
from asv_benchmarks.peers.table import ROOT

RESULTS, PICTURE = ROOT / "asv_benchmarks" / "results", ROOT / "docs" / "inside" / "gpu.svg"
EFFORT = Effort(rounds=5, turn=0.2, compiled=True, patience=(0.1, 10))
#: A single turn of one call.
BRIEF = Effort(rounds=1, turn=1e-6, compiled=True, patience=(0, 0))


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


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="bench-gpu", description="Compare Twofold with other libraries on a GPU.")
    parser.add_argument("--smoke", action="store_true", help="tiny arrays, to check that everything runs")
    parser.add_argument("--only", type=parse_groups, default=(), metavar="GROUP,…", help=f"some of {', '.join(GROUPS)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to a file")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="plot the results to a file")
    return parser.parse_args(arguments)


def measure(running: Contest, sizes: Sizes, only: Sequence[str], keep: Callable[[list[Measured]], object]) -> list[Measured]:
    """Measure the items one by one, print each result, and keep all of them so far."""
    found: list[Measured] = []
    for item in items(sizes):
        if only and item.group not in only:
            continue
        found.append(running.measure(item))
        rate = bandwidth({m.item.key: m.medians for m in found}, sizes)
        print("\n" + report.table(found[-1], rate), flush=True)
        keep(found)
    return found


def judge(running: Contest, found: list[Measured], sizes: Sizes, command: str) -> tuple[list[Verdict], dict[str, Any]]:
    """The verdicts on the targets, and the record of all results."""
    medians = {m.item.key: m.medians for m in found}
    left_out = {f"{m.item.key}: {name}": reason for m in found for name, reason in m.wrong.items()}
    judged = verdicts(medians, {**running.absent, **left_out}, sizes)
    return judged, report.record(running, found, judged, bandwidth(medians, sizes), command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return 1 if there is no usable GPU, or if Twofold failed or gave a wrong result."""
    options = parse_arguments(arguments)
    sizes = SMOKE if options.smoke else FULL
    with contest(BRIEF if options.smoke else EFFORT, libraries()) as running:
        if OWN not in running.about:
            print(f"bench-gpu: no usable GPU: {report.first_line(running.absent[OWN])}", file=sys.stderr)
            print("`python -m twofold doctor` says more", file=sys.stderr)
            return 1
        print(report.heading(running), flush=True)
        command = " ".join(["python -m asv_benchmarks.gpu", *(sys.argv[1:] if arguments is None else arguments)])
        is_whole = not (options.smoke or options.only or options.json or options.plot)
        json_file = RESULTS / report.file_name(report.device_of(running)) if is_whole else options.json
        picture = PICTURE if is_whole else options.plot

        def keep(found: list[Measured]) -> None:
            if json_file is not None:  # after each item: a run that is cut off keeps what it has measured
                write(judge(running, found, sizes, command)[1], json_file)

        found = measure(running, sizes, options.only, keep)
        judged, record = judge(running, found, sizes, command)
        print(f"\n{'tiny arrays, one run: the figures are meaningless' if options.smoke else ''}\n{report.verdict_table(judged)}")
        if picture is not None:
            plot.draw(record, picture)
    return 1 if any(name.startswith(OWN) for m in found for name in m.wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
