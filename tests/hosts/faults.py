"""``make test-hosts``: faults of the network between hosts, at random points of a training, and a table of what happened.

A job either goes on and ends well, or ends within its deadline, and names the process and the host that it waited for. In no case may a sum
be wrong, the job hang, or the last checkpoint be damaged.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.hosts.namespaces import ROOT, Hosts, address, missing, name
from tests.hosts.network import Link

#: Steps of an epoch, and the seconds after which a job hangs.
STEPS, LIMIT = 25, 240
#: `TWOFOLD_KV_TIMEOUT` of the jobs, and the seconds after a fault within which they must have ended if they cannot go on: that and the
#: time for the answers of the others, on loaded cores.
TIMEOUT, PROMISED = 20, 45
#: What follows a fault: the job trains to its end, ends with an error, or does the one or the other.
GOES_ON, ENDS, EITHER = "goes on", "ends", "goes on or ends"


class Role(NamedTuple):
    """A kind of job, with a process on each host. Those after the first may be struck by faults."""

    title: str
    kind: str
    workers: int
    servers: int = 0
    spares: int = 0
    is_tolerant: bool = False

    @property
    def hosts(self) -> int:
        """The number of hosts."""
        return self.workers + self.servers + self.spares

    def process(self, host: int) -> str:
        """The name of a host's process."""
        return f"worker {host - 1}" if host <= self.workers else f"server {host - 1 - self.workers}"


ROLES = (
    Role("`dist_sync`, 3 workers", "dist_sync", 3),
    Role("`dist_sync`, 2 workers, a server", "dist_sync", 2, 1),
    Role("`dist_async`, 2 workers, a server", "dist_async", 2, 1),
    Role("`dist_sync`, 3 workers, `--ft`", "dist_sync", 3, is_tolerant=True),
    Role("`dist_async`, 2 workers, 2 servers, `--ft`", "dist_async", 2, 2, is_tolerant=True),
    Role("`dist_sync`, 2 workers, a spare, `--ft`", "dist_sync", 2, spares=1, is_tolerant=True),
)


class Fault(NamedTuple):
    """A fault of the network.

    Attributes
    ----------
    title
        Its name in the table.
    link
        How packets go while it lasts.
    seconds
        How long it lasts; 0 for ever.
    promise, tolerant
        What follows without and with ``--ft``.
    pair
        Whether it lies between two hosts, or between one and all others.
    both_ways
        Whether it concerns both directions.
    vanishes
        Whether the host is gone, too.
    """

    title: str
    link: Link
    seconds: float = 0.0
    promise: str = GOES_ON
    tolerant: str = GOES_ON
    pair: bool = False
    both_ways: bool = True
    vanishes: bool = False


CUT = Link(is_cut=True)
FAULTS = (
    Fault("1 ms delay", Link(delay=0.001)),
    Fault("10 ms delay", Link(delay=0.01)),
    Fault("100 ms delay", Link(delay=0.1)),
    Fault("1 % loss", Link(loss=0.01)),
    Fault("5 % reordered", Link(reordered=0.05)),
    Fault("10 Mbit/s", Link(rate=1.25e6)),
    Fault("cut for 1 s", CUT, 1, pair=True),
    Fault("cut for 10 s", CUT, 10, pair=True),
    Fault("cut for 60 s", CUT, 60, ENDS, EITHER, pair=True),
    Fault("cut one way for 10 s", CUT, 10, pair=True, both_ways=False),
    Fault("cut one way for 60 s", CUT, 60, ENDS, EITHER, pair=True, both_ways=False),
    Fault("a host vanishes", CUT, promise=ENDS, vanishes=True),
)


class Outcome(NamedTuple):
    """What a job did after a fault. ``seconds`` are those from the fault to the end of the job."""

    role: Role
    fault: Fault
    seed: int
    hosts: tuple[int, int]
    seconds: float
    status: int
    is_named: bool
    is_whole: bool
    is_trained: bool
    log: str

    @property
    def is_as_promised(self) -> bool:
        """Whether the job did what the page promises."""
        if "wrong sum" in self.log or not self.is_whole or self.seconds >= LIMIT:
            return False
        promise = self.fault.tolerant if self.role.is_tolerant else self.fault.promise
        ended = self.status != 0 and self.is_named and self.seconds <= PROMISED
        return (promise != ENDS and self.is_trained) or (promise != GOES_ON and ended)


def outcome(role: Role, fault: Fault, seed: int) -> Outcome:
    """Run a job, and let a fault happen at a point that a seed decides."""
    chance = random.Random(f"{role.title} {fault.title} {seed}")
    victim = chance.randrange(2, role.workers + role.servers + 1)
    other = chance.choice([host for host in range(1, role.workers + role.servers + 1) if host != victim])
    step = chance.randrange(1, 2 * STEPS - 5)
    with Hosts(role.hosts, seed=seed) as hosts:
        places = ",".join(f"{name(k)}:1" for k in range(1, role.hosts + 1))
        counts = ["-n", str(role.workers), "-s", str(role.servers), "--spares", str(role.spares), *["--ft"] * role.is_tolerant]
        program = [str(ROOT / "tests" / "hosts" / "programs" / "checked_sums.py"), role.kind, str(hosts.folder), str(STEPS)]
        words = [sys.executable, "-m", "twofold", "launch", "--hosts", places, *counts, *program]
        job = hosts.start(words, {"TWOFOLD_KV_TIMEOUT": str(TIMEOUT), "MXNET_KVSTORE_BIGARRAY_BOUND": "1000"})
        with ThreadPoolExecutor(1) as pool:
            reading = pool.submit(lambda: job.communicate()[0])
            progress = hosts.folder / "progress0"
            _until(lambda: job.poll() is not None or (progress.exists() and int(progress.read_text() or "0") >= step), LIMIT)
            begun = time.monotonic()
            _strike(hosts, role, fault, victim, other, lambda: job.poll() is not None)
            _until(lambda: job.poll() is not None, LIMIT - (time.monotonic() - begun))
            seconds = time.monotonic() - begun
            hangs = job.poll() is None
            is_whole = _is_whole(hosts.folder / "run")
            hosts.end()
            log = reading.result() + "\nhangs" * hangs
    wanted = role.workers - (fault.vanishes and victim <= role.workers and not role.spares)
    is_trained = not hangs and len(re.findall(r"\| trained$", log, re.MULTILINE)) >= wanted
    struck = [victim, other] if fault.pair else [victim]
    is_named = any(
        name(host) in line for host in struck for line in log.splitlines() if "launch: 2" not in line and " on node1, " not in line
    )
    return Outcome(role, fault, seed, (victim, other), seconds, job.returncode or 0, is_named, is_whole, is_trained, log)


def _strike(hosts: Hosts, role: Role, fault: Fault, victim: int, other: int, is_over: Callable[[], bool]) -> None:
    network, ends = hosts.network, [address(other)] if fault.pair else [address(k) for k in range(1, role.hosts + 1) if k != victim]
    assert network is not None
    network.set([address(victim)], ends, fault.link, both_ways=fault.both_ways)
    if fault.vanishes:
        hosts.vanish(victim)
    if fault.seconds:
        _until(is_over, fault.seconds)
        network.set([address(victim)], ends, Link(), both_ways=fault.both_ways)


def _until(is_met: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not is_met() and time.monotonic() < end:
        time.sleep(0.02)


def _is_whole(folder: Path) -> bool:
    """Whether the last checkpoint, if there is one, can be read."""
    if not any(re.fullmatch(r"step-\d+\.json", file.name) for file in folder.glob("*")):
        return True
    code = f"import twofold as mx; assert set(mx.kv.load_checkpoint({str(folder)!r}).arrays) == {{'w'}}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def rows(found: list[Outcome]) -> list[str]:
    """The table: a row for each fault, a column for each kind of job."""
    lines = ["| fault | " + " | ".join(role.title for role in ROLES) + " | median s | most |", "|" + "---|" * (len(ROLES) + 3)]
    for fault in FAULTS:
        own = [one for one in found if one.fault is fault]
        cells = []
        for role in ROLES:
            here = [one for one in own if one.role is role]
            trained = sum(one.is_trained for one in here)
            what = "went on" if trained == len(here) else "ended" if not trained else f"{trained} went on"
            good = sum(one.is_as_promised for one in here)
            cells.append(f"{good} of {len(here)}, {what}" if here else "")
        times = [one.seconds for one in own]
        if own:
            lines.append(f"| {fault.title} | {' | '.join(cells)} | {median(times):.0f} | {max(times):.0f} |")
    return lines


def main() -> int:
    """Print the table; the status is 1 if something was not as promised."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4, help="how often each fault strikes each kind of job")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", default="", help="only faults and jobs in whose names this text is")
    parser.add_argument("--jobs", type=int, default=2, help="jobs at the same time")
    parser.add_argument("--logs", action="store_true", help="print the logs of jobs that did not do as promised")
    given = parser.parse_args()
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        return 0
    seeds = range(given.first, given.first + given.seeds)
    todo = [(role, fault, seed) for seed in seeds for fault in FAULTS for role in ROLES if given.only in f"{role.title}, {fault.title}"]
    found: list[Outcome] = []
    notes: list[str] = []
    begun = time.monotonic()
    with ThreadPoolExecutor(given.jobs) as pool:
        for one in pool.map(lambda each: outcome(*each), todo):
            found.append(one)
            what = "as promised" if one.is_as_promised else "NOT AS PROMISED"
            line = f"{one.role.title}, {one.fault.title}, seed {one.seed}, {name(one.hosts[0])}: {one.seconds:.0f} s, status {one.status}"
            line += f"{', trained' * one.is_trained}{', named' * one.is_named}{', checkpoint damaged' * (not one.is_whole)}"
            print(f"{what}: {line}", flush=True)
            if not one.is_as_promised:
                notes.append(line)
                print(one.log if given.logs else "", flush=True)
    lines = [*rows(found), ""]
    minutes, load = (time.monotonic() - begun) / 60, os.getloadavg()[0]
    good = sum(one.is_as_promised for one in found)
    lines += [
        f"{time.strftime('%Y-%m-%d')}, load {load:.0f} on {os.cpu_count()} cores, `TWOFOLD_KV_TIMEOUT={TIMEOUT}`, seeds {seeds[0]} to"
    ]
    lines[-1] += f" {seeds[-1]}: {good} of {len(found)} faults as promised, in {minutes:.0f} minutes."
    lines += ["", "Not as promised:", "", *(f"* {note}" for note in notes)] if notes else []
    print("\n".join(lines))
    return int(bool(notes))


if __name__ == "__main__":
    sys.exit(main())
