"""Waits until the machine is at rest, so that a turn does not share its cores with what ran before or with other programs.

The threads of OpenBLAS spin for some 70 ms after a product, those of OpenMP for less; other programs may take longer.
"""

from __future__ import annotations

import time
from pathlib import Path

#: Seconds over which the load is looked at, and the share of the cores' time below which they are at rest.
LOOK, REST = 0.06, 0.1


def ticks(text: str) -> tuple[int, int]:
    """Idle and all ticks of all cores since the start, from the first line of Linux' ``/proc/stat``."""
    numbers = [int(word) for word in text.splitlines()[0].split()[1:9]]
    return numbers[3] + numbers[4], sum(numbers)


class Patience:
    """Waits for rest, within limits.

    Parameters
    ----------
    turn
        Seconds that are waited at most before one turn.
    total
        Seconds that are waited at most in all.

    Attributes
    ----------
    turns, disturbed
        How many turns were waited for, and how many of them had to begin without rest.
    """

    def __init__(self, turn: float, total: float) -> None:
        self.turn, self.left = turn, total
        self.turns = self.disturbed = 0
        self.load = Path("/proc/stat")

    def rested(self) -> bool:
        """Wait until the machine is at rest; whether it is. Where the system does not say, a pause must do."""
        self.turns += 1
        allowed = min(self.turn, self.left)
        start = time.monotonic()
        while self._busy():
            if time.monotonic() - start > allowed:
                self.left -= allowed
                self.disturbed += 1
                return False
        self.left -= max(0.0, time.monotonic() - start - LOOK)
        return True

    def _busy(self) -> bool:
        if not self.load.exists():
            time.sleep(LOOK)
            return False
        idle, everything = ticks(self.load.read_text())
        time.sleep(LOOK)
        idle_then, everything_then = ticks(self.load.read_text())
        passed = everything_then - everything
        return passed > 0 and (idle_then - idle) < (1 - REST) * passed
