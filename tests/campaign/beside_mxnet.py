"""Random whole programs beside the real MXNet 1.9.1."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from twofold.config import SETTINGS

from tests.campaign.trials import Ended, Trial
from tests.whole_programs.compare import first_difference
from tests.whole_programs.known import ROWS
from tests.whole_programs.oracle import Oracle

if TYPE_CHECKING:
    from pathlib import Path

#: The kinds of programs, in turn; functions run hybridized and as symbols too.
KINDS = ("statements", "wide", "statements", "functions")
#: By name: the engine, and from how many elements operations wait.
MODES = {"at once": ("naive", 1 << 40), "deferred": ("window", 1), "defaults": (SETTINGS.engine, SETTINGS.defer_elements)}
#: What a program that agrees may be counted as: the first row that tells a difference which it has.
AGREES = ("alike", "ends MXNet's process", "Rounding", *ROWS)


def programs(_: Path) -> Trial:
    """Trials of programs of 10 to 40 statements: at once and deferred, or in one mode in each of nine ways."""
    oracle = Oracle()

    def trial(seed: int) -> Ended:
        kind = KINDS[seed % len(KINDS)]
        if (answers := oracle.answers(kind, seed)) is None:
            return Ended("ends MXNet's process")
        rows = Counter[str]()
        modes = [[*MODES][seed // len(KINDS) % 3]] if kind == "functions" else ["at once", "deferred"]
        for mode in modes:
            SETTINGS.engine, SETTINGS.defer_elements = MODES[mode]
            if difference := first_difference(kind, seed, answers, rows):
                return Ended("differs", f"{mode}, {difference[-4000:]}")
        return Ended(next(iter(rows), "alike"))

    return trial
