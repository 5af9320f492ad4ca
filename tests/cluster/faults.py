"""``make test-cluster``: kills and stops each kind of process at many points, and prints a table of what happened.

In every run all processes must end, within ten seconds of the fault and with a status other than 0; no run may hang; and the file that
worker 0 writes every few steps must be whole.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.cluster.conftest import HERE, environment

#: Kind of store, workers, servers, number and name of the victim.
ROLES = [
    ("dist_sync", 2, 0, 0, "worker 0"),
    ("dist_sync", 3, 0, 1, "worker 1 of 3"),
    ("dist_sync", 2, 1, 1, "worker 1, with a server"),
    ("dist_sync", 2, 1, 2, "server"),
    ("dist_async", 2, 1, 1, "worker 1"),
    ("dist_async", 2, 1, 2, "server"),
]
LIMIT = 60


def faults(points: int) -> Iterator[tuple[str, str, str, list[tuple[float, int, bool, bool]]]]:
    """For each role and signal the outcomes: seconds from the fault to the end, status, whether it was named, whether the file is whole."""
    for kind, workers, servers, victim, name in ROLES:
        for sign in ("SIGKILL", "SIGSTOP"):
            yield kind, name, sign, [outcome(kind, workers, servers, victim, sign, point) for point in range(1, points + 1)]


def outcome(kind: str, workers: int, servers: int, victim: int, sign: str, point: int) -> tuple[float, int, bool, bool]:
    """Run a training in which one process is killed or stopped."""
    with TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "twofold", "launch", "-n", str(workers), "-s", str(servers)]
        words += [str(HERE / "programs" / "faulty.py"), kind, str(victim), sign, str(point), folder]
        started = subprocess.Popen(
            words,
            env=environment({"TWOFOLD_KV_TIMEOUT": "60"}),  # as by default
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            log, _ = started.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            return LIMIT, 0, False, False
        when = Path(folder, "when")
        seconds = time.time() - float(when.read_text()) if when.exists() else float("nan")
        is_named = named(log, "worker", victim) if victim < workers else named(log, "server", victim - workers, victim)
        return seconds, started.returncode, is_named, is_whole(Path(folder, "weights.params"))


def named(log: str, role: str, number: int, process: int | None = None) -> bool:
    """Whether a log says which process is at fault: by the launcher, or by those that have waited for it."""
    missing = f"missing {role}s: [{number if process is None else process}]"
    return f"launch: {role} {number} failed" in log or missing in log or f"{role} {number} has not" in log or f"from {role} {number}" in log


def is_whole(file: Path) -> bool:
    """Whether a file of parameters that may have been written can be read."""
    import twofold as mx

    return not file.exists() or set(mx.nd.load(str(file))) == {"a", "b", "c"}


def main() -> int:
    """Print the table; the status is 1 if something was not as promised."""
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print("| store | who | signal | runs | ended, status not 0 | named in the log | file whole | median s to the end | most |")
    print("|---|---|---|---|---|---|---|---|---|")
    failed = False
    for kind, name, sign, found in faults(points):
        there = [one for one in found if one[0] == one[0]]  # points that the run reached
        ended = sum(1 for seconds, status, _, _ in there if status and seconds < LIMIT)
        seconds = [one[0] for one in there]
        named, whole = sum(one[2] for one in there), sum(one[3] for one in there)
        print(
            f"| `{kind}` | {name} | {sign} | {len(there)} | {ended} | {named} | {whole} | {median(seconds):.1f} | {max(seconds):.1f} |",
            flush=True,
        )
        failed |= ended < len(there) or whole < len(there)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
