"""What a search is, and the process that runs some of its trials: ``python -m tests.campaign.trials SEARCH FIRST COUNT``.

Each trial is a line of JSON, ``[seed, outcome, note]``, written as soon as it ends: the trial that ends the process is the one behind
the last line.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

#: What a trial of a file may take: seconds of the processor, and bytes beside ten times the file.
SECONDS, ALLOWANCE = 2.0, 64 << 20
#: After so many seconds of the processor a trial is ended.
ENDED_AFTER = 20.0


class Ended(NamedTuple):
    """How a trial ended."""

    outcome: str
    note: str = ""


Trial = Callable[[int], Ended]


class Search(NamedTuple):
    """Trials by seed.

    Attributes
    ----------
    title
        What is tried, for the page.
    make
        Returns the trial; it is called once in each process, in an empty folder.
    promised
        The outcomes that are no failures.
    goal
        How many trials are wanted.
    batch
        How many trials a process runs.
    smoke
        How many trials the tests run.
    environment
        Settings of the process.
    """

    title: str
    make: Callable[[Path], Trial]
    promised: tuple[str, ...]
    goal: int = 30_000
    batch: int = 500
    smoke: int = 20
    environment: dict[str, str] = {}  # noqa: RUF012


class TooSlow(BaseException):
    """A trial has had its time; no Exception, so that no reader takes it for an error of the file."""


def too_slow(*_: object) -> NoReturn:
    """The handler of the timer."""
    raise TooSlow


def described(error: BaseException) -> str:
    """An error in one line, with the place where it was raised."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {str(error)[:200]} at {at.filename.rpartition('/')[2]}:{at.lineno}"


def peak() -> int:
    """The most memory that the process has had since `forget_peak`, in bytes."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))


def forget_peak() -> None:
    """Let the peak begin anew, at what the process has now."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def measured(action: Callable[[], Ended], size: int) -> Ended:
    """What an action on a file of some bytes gives, or that it takes too much time or memory."""
    forget_peak()
    before, start = peak(), time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, ENDED_AFTER)
    try:
        ended = action()
    except TooSlow:
        return Ended("too slow", f"more than {ENDED_AFTER} s")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    seconds, grown = time.process_time() - start, peak() - before
    if seconds > SECONDS:
        return Ended("too slow", f"{seconds:.1f} s, {ended.outcome}")
    if grown > 10 * size + ALLOWANCE:
        return Ended("too much memory", f"{grown >> 20} MB for a file of {size} bytes, {ended.outcome}")
    return ended


def run(search: Search, seeds: range, folder: Path, out: int) -> None:
    """Run trials and write how each ended."""
    os.chdir(folder)
    trial = search.make(folder)
    for seed in seeds:
        try:
            ended = trial(seed)
        except (Exception, TooSlow) as error:
            ended = Ended("undocumented error", described(error))
        os.write(out, (json.dumps([seed, ended.outcome, ended.note]) + "\n").encode())


def main(names: str, first: int, count: int) -> None:
    """Run trials of searches by their names; a count of 0 stands for that of the tests."""
    from tests.campaign.searches import SEARCHES

    out = os.dup(1)
    os.dup2(2, 1)  # what a reader prints is no result
    signal.signal(signal.SIGVTALRM, too_slow)
    warnings.simplefilter("ignore")
    for name in names.split(","):
        search = SEARCHES[name]
        with tempfile.TemporaryDirectory() as folder:
            run(search, range(first, first + (count or search.smoke)), Path(folder), out)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
