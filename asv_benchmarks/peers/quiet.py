"""Waits until the machine is idle, so that a turn does not share the cores with earlier work or other programs.

OpenBLAS' threads spin for some 70 ms after a matrix product, OpenMP's for less; other programs may run longer.
"""

from __future__ import annotations

import time
from pathlib import Path

#: Seconds over which the load is sampled, and the load below which the machine counts as idle.
LOOK, REST = 0.06, 0.1


def ticks(text: str) -> tuple[int, int]:
    """Idle and total ticks of all cores since boot, from the first line of Linux' ``/proc/stat``."""
    numbers = [int(word) for word in text.splitlines()[0].split()[1:9]]
    return numbers[3] + numbers[4], sum(numbers)


class Patience:
    """Waits for idle cores, within limits.

    Parameters
    ----------
    turn
        Maximum wait before one turn, in seconds.
    total
        Maximum wait in total, in seconds.

    Attributes
    ----------
    turns, disturbed
        Number of turns, and how many of them started on busy cores.
    """

    def __init__(self, turn: float, total: float) -> None:
        self.turn, self.left = turn, total
        self.turns = self.disturbed = 0
        self.load = Path("/proc/stat")

    def rested(self) -> bool:
        """Wait until the machine is idle; return whether it is. Without ``/proc/stat``, pause briefly."""
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
