"""``make campaign``: runs the searches in turn, goes on where the last run stopped, and writes the table of what was found."""

from __future__ import annotations

import argparse
import json
import os
import select
import subprocess
import sys
import time
from collections import Counter
from datetime import date
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from tests.campaign.page import write_page
from tests.campaign.searches import SEARCHES

if TYPE_CHECKING:
    from tests.campaign.trials import Search

ROOT = Path(__file__).parents[2]
#: Where a run goes on: not a part of the repository.
PROGRESS = ROOT / ".campaign" / "progress.json"
RESULTS = Path(__file__).with_name("results.json")
#: Seconds in which a trial must end, or its process is killed; and for which one search runs before the next.
HANGS, TURN = 180.0, 30.0
#: How many failures of a search are kept with their notes.
KEPT = 200

Found = dict[str, Any]


def lines_of(name: str, first: int, count: int) -> list[tuple[int, str, str]]:
    """How the trials of one process ended; the trial that ends or stops the process is the last."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.campaign.trials", name, str(first), str(count)]
    found: list[tuple[int, str, str]] = []
    with (
        TemporaryFile() as said,
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=said, env=environment() | SEARCHES[name].environment) as process,
    ):
        assert process.stdout is not None
        text = b""
        while chunk := _chunk(process.stdout.fileno(), HANGS):
            text += chunk
        if hangs := chunk is None:
            process.kill()
        status = process.wait()
        said.seek(0)
        end = said.read().decode(errors="replace")[-600:]
    found += [tuple(json.loads(line)) for line in text.decode().splitlines()]
    at = found[-1][0] + 1 if found else first
    if hangs:
        found.append((at, "hangs", ""))
    elif status or at < first + count:
        found.append((at, "crash", f"status {status}: {end}"))
    return found


def _chunk(descriptor: int, seconds: float) -> bytes | None:
    """What a process writes next; nothing at its end, None if it does not write in time."""
    ready, _, _ = select.select([descriptor], [], [], seconds)
    return os.read(descriptor, 1 << 20) if ready else None


def environment() -> dict[str, str]:
    """The environment of trials: what waits must wait on small arrays too, and nothing is left in the user's folders."""
    return os.environ | {"TWOFOLD_JIT": "0", "OPENBLAS_NUM_THREADS": "1", "TWOFOLD_CACHE": str(PROGRESS.parent / "cache")}


def revision() -> str:
    """The commit that is tried."""
    return subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def add(found: Found, search: Search, trials: list[tuple[int, str, str]]) -> None:
    """Count trials."""
    for seed, outcome, note in trials:
        found["counts"][outcome] = found["counts"].get(outcome, 0) + 1
        found["next"] = max(found["next"], seed + 1)
        if outcome not in search.promised:
            found["failures"] = [*found["failures"], [seed, outcome, note]][:KEPT]
            found["seen"] = found.get("seen", 0) + 1
    found |= {"commit": revision(), "date": date.today().isoformat()}


def again(name: str, found: Found) -> None:
    """Run the trials that failed once more; those that are mended now count as what they are."""
    failures, found["failures"] = found["failures"], []
    for seed, outcome, _ in failures:
        found["counts"][outcome] -= 1
        [*trials] = lines_of(name, seed, 1)
        seen = found.get("seen", 0)
        add(found, SEARCHES[name], trials)
        found["seen"] = seen
    found["counts"] = {outcome: count for outcome, count in found["counts"].items() if count}


def campaign(names: list[str], minutes: float, progress: dict[str, Found], most: int | None) -> None:
    """Run searches in turn until the time is over, or all have had their trials."""
    end = time.monotonic() + 60 * minutes
    waiting = [name for name in names if progress[name]["next"] < (most or SEARCHES[name].goal)]
    while waiting and time.monotonic() < end:
        for name in list(waiting):
            search, found, turn = SEARCHES[name], progress[name], min(end, time.monotonic() + TURN)
            begun = time.monotonic()
            while time.monotonic() < turn and found["next"] < (most or search.goal):
                count = min(search.batch, (most or search.goal) - found["next"])
                add(found, search, lines_of(name, found["next"], count))
                keep(progress)
            found["seconds"] = round(found.get("seconds", 0) + time.monotonic() - begun, 1)
            bad = {outcome: n for outcome, n in found["counts"].items() if outcome not in search.promised}
            print(f"{name}: {found['next']} trials, {dict(Counter(found['counts']))}{' FAILED ' if bad else ''}", flush=True)
            if found["next"] >= (most or search.goal):
                waiting.remove(name)


def keep(progress: dict[str, Found]) -> None:
    """Write where a later run goes on."""
    PROGRESS.parent.mkdir(exist_ok=True)
    beside = PROGRESS.with_suffix(".new")
    beside.write_text(json.dumps(progress, indent=1))
    beside.replace(PROGRESS)


def main() -> int:
    """Run the campaign; 1 if a trial failed."""
    parser = argparse.ArgumentParser(prog="make campaign", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60, help="how long, 60 by default")
    parser.add_argument("--only", help="searches, separated by commas; a part of their names is enough")
    parser.add_argument("--trials", type=int, help="so many trials of each search instead of its goal")
    parser.add_argument("--again", action="store_true", help="first run what has failed once more")
    parser.add_argument("--write", action="store_true", help="write the results and their page")
    parser.add_argument("--list", action="store_true", help="list the searches")
    given = parser.parse_args()
    if given.list:
        print("\n".join(f"{name:28} {search.title}" for name, search in SEARCHES.items()))
        return 0
    progress: dict[str, Found] = json.loads(PROGRESS.read_text()) if PROGRESS.exists() else {}
    parts = (given.only or "").split(",")
    names = [name for name in SEARCHES if any(part in name for part in parts)]
    for name in names:
        progress.setdefault(name, {"next": 0, "counts": {}, "failures": [], "seen": 0})
        if given.again and progress[name]["failures"]:
            again(name, progress[name])
            keep(progress)
    campaign(names, given.minutes, progress, given.trials)
    failures = [(name, *failure) for name in names for failure in progress[name]["failures"]]
    for name, seed, outcome, note in failures:
        print(f"{name}: seed {seed}: {outcome}: {note}")
    if given.write:
        results = json.loads(RESULTS.read_text()) | {name: progress[name] for name in names}  # other searches ran elsewhere
        RESULTS.write_text(json.dumps({name: results[name] for name in SEARCHES if name in results}, indent=1) + "\n")
        write_page(RESULTS)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
