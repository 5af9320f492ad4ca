"""Behavior that libraries and test-suites lean on, against the real MXNet: thousands of probes, see `tests.probes.evaluation`."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cases import later_in_ci
from tests.probes.comparison import agrees

HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in (HERE / "texts").glob("*.txt"))
#: Probes (after the name of their file) that differ on purpose, by the rule or the row of docs/reference/compatibility.md that says why.
DIFFERENCES: dict[str, dict[str, list[str]]] = tomllib.loads((HERE / "differences.toml").read_text(encoding="utf-8"))
KEPT = [text for group in DIFFERENCES.values() for texts in group.values() for text in texts]


def outcomes(name: str) -> dict[str, object]:
    """The outcomes of a file's probes on Twofold, in a process of its own."""
    command = [sys.executable, str(HERE / "evaluation.py"), "--twofold", str(HERE / "texts" / f"{name}.txt")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    lines = [json.loads(line) for line in printed.splitlines()]
    return dict(zip(lines[::2], lines[1::2], strict=True))


@pytest.mark.parametrize("name", later_in_ci(NAMES, 2))
def test_outcomes_are_mxnets_but_for_the_listed_ones(name):
    wanted = json.loads((HERE / "answers" / f"{name}.json").read_text(encoding="utf-8"))
    found = outcomes(name)
    assert found.keys() == wanted.keys()  # otherwise make the answers again
    kept = {text.removeprefix(f"{name}: ") for text in KEPT if text.startswith(f"{name}: ")}
    differ = {text for text, value in found.items() if wanted[text] != "crash" and not agrees(value, wanted[text])}
    assert [f"{text}: {found[text]} for {wanted[text]}" for text in found if text in differ - kept] == []
    assert sorted(kept - differ) == [], "these agree now, or are no longer asked: remove them from differences.toml"


def test_every_difference_has_its_row():
    rows = (HERE.parents[1] / "docs" / "reference" / "compatibility.md").read_text(encoding="utf-8")
    assert [row for row in DIFFERENCES["rows"] if f"**{row}**" not in rows] == []
    assert len(KEPT) == len(set(KEPT))
