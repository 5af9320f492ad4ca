"""``make test-hosts``: faults of the network between hosts, at random points of a training, and a table of what happened.

A job either goes on and ends well, or ends within its deadline, and names the process and the host that it waited for. In no case may a sum
be wrong, the job hang, or the last checkpoint be damaged.
"""

from __future__ import annotations

import argparse
import json
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
TIMEOUT, PROMISED = 30, 60
#: The page with the table, and the lines around it.
PAGE = ROOT / "docs" / "inside" / "faults-of-clusters.md"
BEGIN, END = "<!-- written by tests/hosts/faults.py -->\n", "<!-- end -->"
#: What a worker prints at its end; without its label once the launcher has ended.
TRAINED = r"(?:^|\| )trained$"
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
        # with --ft one side of a long cut may go on, and the other ends as soon as it learns that it is alone
        is_one_side = promise == EITHER and re.search(TRAINED, self.log, re.MULTILINE) is not None
        goes_on = (self.is_trained and self.status == 0) or is_one_side
        return (promise != ENDS and goes_on) or (promise != GOES_ON and ended)


def outcome(role: Role, fault: Fault, seed: int, steps: int = STEPS) -> Outcome:
    """Run a job of some steps an epoch, and let a fault happen at a point that a seed decides."""
    chance = random.Random(f"{role.title} {fault.title} {seed}")
    victim = chance.randrange(2, role.workers + role.servers + 1)
    other = chance.choice([host for host in range(1, role.workers + role.servers + 1) if host != victim])
    step = chance.randrange(1, 2 * STEPS - 5)
    with Hosts(role.hosts, seed=seed) as hosts:
        places = ",".join(f"{name(k)}:1" for k in range(1, role.hosts + 1))
        counts = ["-n", str(role.workers), "-s", str(role.servers), "--spares", str(role.spares), *["--ft"] * role.is_tolerant]
        program = [str(ROOT / "tests" / "hosts" / "programs" / "checked_sums.py"), role.kind, str(hosts.folder), str(steps)]
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
    is_trained = not hangs and len(re.findall(TRAINED, log, re.MULTILINE)) >= wanted
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


class Record(NamedTuple):
    """What is kept of an outcome."""

    role: str
    fault: str
    seed: int
    seconds: float
    is_trained: bool
    is_as_promised: bool
    note: str
    date: str

    @classmethod
    def of(cls, one: Outcome) -> Record:
        """The record of an outcome."""
        note = f"{one.role.title}, {one.fault.title}, seed {one.seed}, {name(one.hosts[0])}: {one.seconds:.0f} s, status {one.status}"
        note += f"{', trained' * one.is_trained}{', named' * one.is_named}{', checkpoint damaged' * (not one.is_whole)}"
        note += ", wrong sum" * ("wrong sum" in one.log)
        date = time.strftime("%Y-%m-%d")
        return cls(one.role.title, one.fault.title, one.seed, round(one.seconds, 1), one.is_trained, one.is_as_promised, note, date)


def table(found: list[Record]) -> list[str]:
    """A row for each fault, a column for each kind of job, and what was not as promised."""
    lines = ["| fault | " + " | ".join(role.title for role in ROLES) + " | median s | most |", "|" + "---|" * (len(ROLES) + 3)]
    for fault in FAULTS:
        own = [one for one in found if one.fault == fault.title]
        cells = [_cell([one for one in own if one.role == role.title]) for role in ROLES]
        times = [one.seconds for one in own]
        if own:
            lines.append(f"| {fault.title} | {' | '.join(cells)} | {median(times):.0f} | {max(times):.0f} |")
    good, dates = sum(one.is_as_promised for one in found), sorted({one.date for one in found})
    lines += [
        "",
        f"{good} of {len(found)} faults as promised, {' to '.join(dict.fromkeys((dates[0], dates[-1])))}, on {os.cpu_count()} cores with",
    ]
    lines[-1] += f" `TWOFOLD_KV_TIMEOUT={TIMEOUT}`. Seconds are those from the fault to the end of the job."
    bad = [f"* {one.note}" for one in found if not one.is_as_promised]
    return [*lines, *(["", "Not as promised:", "", *bad] if bad else [])]


def _cell(here: list[Record]) -> str:
    trained = sum(one.is_trained for one in here)
    what = "went on" if trained == len(here) else "ended" if not trained else f"{trained} went on"
    return f"{sum(one.is_as_promised for one in here)} of {len(here)}, {what}" if here else ""


def write(found: list[Record]) -> None:
    """Write the table into the page."""
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text("\n".join([before + BEGIN, *table(found), END]) + rest.partition(END)[2])


def main() -> int:
    """Print the table; the status is 1 if something was not as promised."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4, help="how often each fault strikes each kind of job")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", default="", help="only faults and jobs in whose names this text is")
    parser.add_argument("--jobs", type=int, default=2, help="jobs at the same time")
    parser.add_argument("--logs", action="store_true", help="print the logs of jobs that did not do as promised")
    parser.add_argument("--keep", type=Path, default=Path(os.devnull), help="a file of outcomes: those in it are not tried again")
    parser.add_argument("--write", action="store_true", help="write the table into the page")
    given = parser.parse_args()
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        return 0
    found = [Record(*json.loads(line)) for line in (given.keep.read_text().splitlines() if given.keep.exists() else ())]
    known, seeds = {one[:3] for one in found}, range(given.first, given.first + given.seeds)
    todo = [(role, fault, seed) for seed in seeds for fault in FAULTS for role in ROLES if given.only in f"{role.title}, {fault.title}"]
    todo = [each for each in todo if (each[0].title, each[1].title, each[2]) not in known]
    with ThreadPoolExecutor(given.jobs) as pool, given.keep.open("a") as kept:
        for one in pool.map(lambda each: outcome(*each), todo):
            record = Record.of(one)
            found.append(record)
            print(json.dumps(record), file=kept, flush=True)
            print(f"{'as promised' if one.is_as_promised else 'NOT AS PROMISED'}: {record.note}", flush=True)
            if given.logs and not one.is_as_promised:
                print(one.log, flush=True)
    print("\n".join(table(found)))
    if given.write:
        write(found)
    return int(not all(one.is_as_promised for one in found))


if __name__ == "__main__":
    sys.exit(main())
