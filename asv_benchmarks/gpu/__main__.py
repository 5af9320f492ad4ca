"""`make bench-gpu`: the same work on a GPU in Twofold and in its rivals, and the table of the figures to reach."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from asv_benchmarks.gpu import plot, report
from asv_benchmarks.gpu.items import FULL, GROUPS, SMOKE, Sizes, items
from asv_benchmarks.gpu.table import OWN, libraries
from asv_benchmarks.gpu.targets import bandwidth, verdicts
from asv_benchmarks.peers.contest import Contest, Effort, Measured, contest
from asv_benchmarks.peers.report import write
from asv_benchmarks.peers.table import ROOT

RESULTS, PICTURE = ROOT / "asv_benchmarks" / "results", ROOT / "docs" / "inside" / "gpu.svg"
EFFORT = Effort(rounds=9, turn=0.2, compiled=True, patience=(0.5, 60))
#: One turn of one call.
BRIEF = Effort(rounds=1, turn=1e-6, compiled=True, patience=(0, 0))


def groups(text: str) -> tuple[str, ...]:
    """The groups that a list with commas names.

    Raises
    ------
    argparse.ArgumentTypeError
        If there is no such group.
    """
    names = tuple(text.split(","))
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no group {', '.join(unknown)}; give some of {', '.join(GROUPS)}")
    return names


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="bench-gpu", description="Twofold and its rivals on a GPU.")
    parser.add_argument("--smoke", action="store_true", help="tiny arrays: whether it runs")
    parser.add_argument("--only", type=groups, default=(), metavar="GROUP,…", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw them there")
    return parser.parse_args(arguments)


def measured(running: Contest, sizes: Sizes, only: Sequence[str]) -> list[Measured]:
    """Measure the items one by one, and print each."""
    found: list[Measured] = []
    for item in items(sizes):
        if only and item.group not in only:
            continue
        found.append(running.measured(item))
        rate = bandwidth({m.item.key: m.medians for m in found}, sizes)
        print("\n" + report.table(found[-1], rate), flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the contest; 1 if there is no GPU, or if Twofold failed somewhere or gave what no other gave."""
    options = parsed(arguments)
    sizes = SMOKE if options.smoke else FULL
    with contest(BRIEF if options.smoke else EFFORT, libraries()) as running:
        if OWN not in running.about:
            print(f"bench-gpu: no GPU that can be used: {report.first_line(running.absent[OWN])}", file=sys.stderr)
            print("`python -m twofold doctor` says more", file=sys.stderr)
            return 1
        print(report.heading(running), flush=True)
        found = measured(running, sizes, options.only)
        medians = {m.item.key: m.medians for m in found}
        left_out = {f"{m.item.key}: {name}": reason for m in found for name, reason in m.wrong.items()}
        judged, rate = verdicts(medians, {**running.absent, **left_out}, sizes), bandwidth(medians, sizes)
        print(f"\n{'tiny arrays, once: the figures say nothing' if options.smoke else ''}\n{report.verdict_table(judged)}")
        command = " ".join(["python -m asv_benchmarks.gpu", *(sys.argv[1:] if arguments is None else arguments)])
        record = report.record(running, found, judged, rate, command)
        is_whole = not (options.smoke or options.only or options.json or options.plot)
        json_file = RESULTS / report.file_name(report.device_of(running)) if is_whole else options.json
        picture = PICTURE if is_whole else options.plot
        if json_file is not None:
            write(record, json_file)
        if picture is not None:
            plot.draw(record, picture)
    return 1 if any(name.startswith(OWN) for m in found for name in m.wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
