"""The page that says what the campaign has found: written from the results, so that it claims no more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.campaign.searches import SEARCHES

PAGE = Path(__file__).parents[2] / "docs" / "inside" / "campaign.md"

HEAD = """# The campaign

`make campaign` runs random searches for hours: files that are damaged, graphs that no honest writer makes, saves that are killed, calls
that are interrupted or find no memory, threads, forks, random programs, and loops that might grow. A later run goes on where the last
one stopped (`.campaign/progress.json`), and runs what has failed once more with `ARGS=--again`. `ARGS="--minutes 30 --only params,symbol"`
limits it, `ARGS=--list` lists the searches, and `ARGS=--write` writes this page. The tests run some trials of each search
(`tests/campaign/test_campaign.py`). One search needs `pip install .[fuzz]`: atheris sees which lines of a reader an input reaches, and
changes those that reach new ones further; they stay in `.campaign/corpus`, and inputs that fail in `.campaign/failed`.

Trials have seeds from 0 up. A trial fails if a reader raises an error that is not documented, takes more than 2 seconds of the processor or
more memory than ten times the file and 64 MB, accepts a value other than the one that was written although the format has a checksum, or
ends the process; if a save leaves neither the old file nor the new one, or the next save fails; if a program that goes on after an
interrupt, a fork or an allocation that failed gets a wrong result; if a statement of a whole program gives another outcome than the real
MXNet, and no row of the [compatibility page](../reference/compatibility.md) says why; or if every one of five rounds of a loop leaves
objects behind.
A format without a checksum cannot tell another value from the right one: those are counted as *different*, and are no failure.

"""

TABLE = """## What was found

| search | trials | wanted | outcomes | failures found | still failing | date | commit |
|---|---:|---:|---|---:|---:|---|---|
"""

TAIL = """
A search of which fewer trials were run than wanted is not finished. *Trials* leaves out seeds for which nothing was left to try, such as
system calls behind the last one. *Commit* is that of the last trial; earlier ones ran on earlier commits, and those that failed were run
again after the mend.
"""


def row(title: str, found: dict[str, Any], goal: int, promised: tuple[str, ...]) -> str:
    """A row of the table."""
    counts = {outcome: n for outcome, n in found["counts"].items() if outcome != "none left"}
    bad = sum(n for outcome, n in counts.items() if outcome not in promised)
    outcomes = ", ".join(f"{outcome} {n:,}" for outcome, n in sorted(counts.items(), key=lambda item: -item[1]))
    cells = [title, f"{sum(counts.values()):,}", f"{goal:,}", outcomes, f"{found.get('seen', 0):,}", f"{bad:,}"]
    return f"| {' | '.join([*cells, found['date'], found['commit']])} |"


def write_page(results: Path, page: Path = PAGE) -> None:
    """Write the page."""
    kept = json.loads(results.read_text())
    rows = [
        row(search.title, kept[name], search.goal, search.promised) for name, search in SEARCHES.items() if kept.get(name, {}).get("counts")
    ]
    notes = results.with_name("notes.md").read_text()
    page.write_text(HEAD + TABLE + "\n".join(rows) + "\n" + TAIL + "\n" + notes)
