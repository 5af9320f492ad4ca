"""``make test-cluster``: kills and stops each kind of process at 20 points of a training, and writes a table of what happened.

In every run all processes must end, within ten seconds of the fault and with a status other than 0, or go on where that is promised; no run
may hang; and the last checkpoint must be whole.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.cluster.conftest import HERE, environment
from tests.cluster.programs.faulty import SERVER, WORKER

PAGE = HERE.parents[1] / "docs" / "inside" / "faults-of-clusters.md"
#: Seconds after which a run counts as one that hangs, and within which all processes must have ended.
LIMIT, PROMISED = 90, 10


class Role(NamedTuple):
    """A process of some cluster."""

    name: str
    kind: str
    workers: int
    servers: int
    victim: int
    #: Whether the others are to go on.
    go_on: bool = False
    spares: int = 0


ROLES = (
    Role("`dist_sync`, worker 0 of 2", "dist_sync", 2, 0, 0),
    Role("`dist_sync`, worker 1 of 3", "dist_sync", 3, 0, 1),
    Role("`dist_sync` by a server, worker 1 of 2", "dist_sync", 2, 1, 1),
    Role("`dist_sync`, server", "dist_sync", 2, 1, 2),
    Role("`dist_async`, worker 1 of 2", "dist_async", 2, 1, 1),
    Role("`dist_async`, server", "dist_async", 2, 1, 2),
    Role("`dist_sync`, worker 1 of 3, `--ft`", "dist_sync", 3, 0, 1, True),
    Role("`dist_async`, worker 1 of 2, `--ft`", "dist_async", 2, 1, 1, True),
    Role("`dist_sync`, server 0 of 2, `--ft`", "dist_sync", 2, 2, 2, True),
    Role("`dist_async`, server 0 of 2, `--ft`", "dist_async", 2, 2, 2, True),
    Role("`dist_sync`, worker 1 of 2, `--ft --spares 1`", "dist_sync", 2, 0, 1, True, 1),
)


class Outcome(NamedTuple):
    """What happened in a run."""

    point: str
    #: From the fault to the end of all processes; None if the run did not come to the point.
    seconds: float | None
    status: int
    is_named: bool
    is_whole: bool
    has_gone_on: bool
    log: str


def outcome(role: Role, sign: str, point: str, timeout: float) -> Outcome:
    """Run a training in which one process is killed or stopped."""
    with TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "twofold", "launch", "-n", str(role.workers), "-s", str(role.servers), *["--ft"] * role.go_on]
        words += ["--spares", str(role.spares)]
        words += [str(HERE / "programs" / "faulty.py"), role.kind, str(role.victim), sign, point, folder]
        started = subprocess.Popen(
            words,
            env=environment(
                {"TWOFOLD_KV_TIMEOUT": str(timeout), "MXNET_KVSTORE_BIGARRAY_BOUND": "3"}
            ),  # each server has a part of each key
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            log, _ = started.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            _end_group(started.pid)
            return Outcome(point, LIMIT, 0, False, _is_whole(Path(folder, "run")), False, f"hangs: {started.communicate()[0]}")
        when = Path(folder, "when")
        seconds = time.time() - float(when.read_text()) if when.exists() else None
        number = role.victim - role.workers
        is_named = named(log, "worker", role.victim) if number < 0 else named(log, "server", number, role.victim)
        wanted = role.workers - (number < 0 and not role.spares)  # a spare takes the place of a worker
        trained = len(re.findall(r"\| trained$", log, re.MULTILINE))
        return Outcome(point, seconds, started.returncode, is_named, _is_whole(Path(folder, "run")), trained >= wanted, log)


def _end_group(process: int) -> None:
    """Kill a launcher and all that it has started, whose groups are their own."""
    found = subprocess.run(["ps", "-o", "pid=", "-g", str(process)], capture_output=True, text=True, check=False).stdout.split()
    children = [process, *map(int, found)]
    for parent in children:  # grows while it is read
        text = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True, check=False).stdout
        children += [child for child in map(int, text.split()) if child not in children]
    for child in children:
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            continue


def named(log: str, role: str, number: int, process: int | None = None) -> bool:
    """Whether a log says which process is at fault: by the launcher, or by those that have waited for it."""
    missing = f"missing {role}s: [{number if process is None else process}]"
    said = (
        f"{role} {number} failed",
        f"{role} {number} has not",
        f"from {role} {number}",
        f"{role} {number} has died",
        f"{role} {number} | twofold:",
        missing,
    )
    return any(text in log for text in said)


def _is_whole(folder: Path) -> bool:
    """Whether the last checkpoint, if there is one, can be read."""
    import twofold as mx
    from twofold.errors import MissingFileError

    try:
        return set(mx.kv.load_checkpoint(folder).arrays) == {"a", "b", "c"}
    except MissingFileError:
        return not any(re.fullmatch(r"step-\d+\.json", file.name) for file in folder.glob("*"))


def _as_promised(role: Role, found: Outcome) -> bool:
    if role.go_on and found.point != "before it connects":  # there is nothing yet with which the others could go on
        return found.has_gone_on
    return found.status != 0 and found.seconds is not None and found.seconds <= PROMISED


def _row(role: Role, sign: str, found: list[Outcome]) -> str:
    times = [one.seconds for one in found if one.seconds is not None]
    good = sum(_as_promised(role, one) for one in found)
    named, whole = sum(one.is_named for one in found), sum(one.is_whole for one in found)
    promise = "go on, with the spare" if role.spares else "go on" if role.go_on else "end"
    return f"| {role.name} | {sign} | {promise} | {good} of {len(found)} | {named} | {whole} | {median(times):.1f} | {max(times):.1f} |"


def main() -> int:
    """Print the table, and write it into the page; the status is 1 if something was not as promised."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("points", nargs="?", type=int, default=20, help="how many of the 20 points")
    parser.add_argument("--roles", default="", help="only roles in whose names this text is")
    parser.add_argument("--signals", nargs="+", default=["SIGKILL", "SIGSTOP"])
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time")
    parser.add_argument("--timeout", type=float, default=60, help="TWOFOLD_KV_TIMEOUT; 60 is its default")
    parser.add_argument("--logs", action="store_true", help="print the logs of runs that did not go as promised")
    given = parser.parse_args()
    lines = ["| who | signal | the others | as promised | named | checkpoint whole | median s | most |", "|" + "---|" * 8]
    print("\n".join(lines))
    faults: list[str] = []
    runs = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for role in ROLES:
            points = list(SERVER if role.victim >= role.workers else WORKER)
            chosen = points[:: max(1, len(points) // given.points)]
            for sign in given.signals if given.roles in role.name else ():
                found = list(pool.map(lambda point, role=role, sign=sign: outcome(role, sign, point, given.timeout), chosen))
                lines.append(_row(role, sign, found))
                runs += len(found)
                print(lines[-1], flush=True)
                for one in found:
                    if not _as_promised(role, one) or not one.is_whole:
                        seconds = "not met" if one.seconds is None else f"{one.seconds:.1f} s"
                        faults.append(f"{role.name}, {sign}, {one.point}: {seconds}, status {one.status}")
                        print(faults[-1], one.log if given.logs else "", sep="\n", flush=True)
    date, load = time.strftime("%Y-%m-%d"), os.getloadavg()[0]
    lines += ["", f"{date}, load {load:.0f} on {os.cpu_count()} cores, `TWOFOLD_KV_TIMEOUT={given.timeout:g}`: {runs} runs."]
    if given.points == 20 and not given.roles:
        _write(lines + ["", "Not as promised:", ""] * bool(faults) + [f"* {text}" for text in faults])
    return int(bool(faults))


def _write(lines: list[str]) -> None:
    """Replace the first table of the page, and what follows it up to the next heading."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition("| who |")
    _, heading, after = rest.partition("\n## ")
    PAGE.write_text(before + "\n".join(lines) + "\n" + heading + after, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
