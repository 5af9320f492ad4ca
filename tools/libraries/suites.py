"""The libraries' own tests, by pytest."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from .processes import command, variables

if TYPE_CHECKING:
    from pathlib import Path

    from .environment import Library

#: Of one test.
SECONDS = 120


def outcomes_of(library: Library, side: str, report: Path, seconds: float) -> dict[str, Any]:
    """The tests by outcome: how many pass and are skipped, and the last line of each failure."""
    ignored = [f"--ignore={path}" for path in library.ignored if path.startswith("test")]
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
        "--rootdir=.",
        f"--timeout={SECONDS}",
        "--continue-on-collection-errors",
        f"--junitxml={report}",
    ]
    words = command(side, ["-m", "pytest", *options, *ignored, *library.tests])
    with report.with_suffix(".log").open("w", encoding="utf-8") as log:
        try:
            subprocess.run(
                words, cwd=library.unpacked, env=variables(library, side, 1), stdout=log, stderr=log, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return {"error": f"took more than {seconds:.0f} s"}
    return read(report) if report.exists() else {"error": "pytest has not ended"}


def read(report: Path) -> dict[str, Any]:
    """The outcomes that a report of pytest holds."""
    found: dict[str, Any] = {"passed": 0, "skipped": 0, "failed": {}}
    for case in ElementTree.parse(report).iter("testcase"):
        wrong = next((case.find(kind) for kind in ("failure", "error") if case.find(kind) is not None), None)
        if wrong is not None:
            name = f"{case.get('classname')}::{case.get('name')}"
            found["failed"][name] = " ".join((wrong.get("message") or "").split())[:200]
        else:
            found["skipped" if case.find("skipped") is not None else "passed"] += 1
    return found
