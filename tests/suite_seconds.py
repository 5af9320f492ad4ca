"""Pytest plugin: seconds per suite, tests/<suite>/, against its budget, before pytest's own last line."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

BUDGETS = Path(__file__).parent / "house" / "budgets.toml"


def suite_of(nodeid: str) -> str:
    """The suite of a test: the folder of tests/ that it lies in, or tests itself."""
    folders = nodeid.partition("::")[0].split("/")[:-1]
    return folders[1] if len(folders) > 1 else "tests"


def table(seconds: dict[str, float], budgets: dict[str, float]) -> list[str]:
    """One line per suite, the slowest first; a suite without a budget of its own has the default one."""
    rows = [(suite, spent, budgets.get(suite, budgets["default"])) for suite, spent in seconds.items()]
    rows.sort(key=lambda row: (-row[1], row[0]))
    return [f"{suite:<20} {spent:8.1f} s of {budget:4.0f}{'  over budget' if spent > budget else ''}" for suite, spent, budget in rows]


class SuiteSeconds:
    """Adds up set-up, call and tear-down of each test; with xdist the reports of all workers arrive here."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[suite_of(report.nodeid)] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.seconds or terminalreporter.verbosity < 0:
            return
        budgets = tomllib.loads(BUDGETS.read_text(encoding="utf-8"))["suite_seconds"]
        terminalreporter.section("seconds per suite")
        for line in table(self.seconds, budgets):
            terminalreporter.write_line(line)


def pytest_configure(config: pytest.Config) -> None:
    """Start counting."""
    config.pluginmanager.register(SuiteSeconds(), "suite_seconds")
