"""Elastic training: decides when to start a job and with how many workers, when to restart it from its checkpoint, and when to give up.

`Policy` only decides: its caller passes the state and the time. `supervise` carries the decisions out. A slot has the CPUs, and perhaps
GPUs, for one process; `ray_slots` provides slots.
"""

import argparse
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import NamedTuple, Protocol

from ..launcher_notes import last_checkpoint
from .arguments import count, positive_integer, positive_number
from .hosts import Host
from .merged_log import Interruptible, say

#: The options that only elastic jobs have, and the names of their values.
OPTIONS = {"--min": "fewest"} | {f"--{name}": name for name in ("retries", "wait", "cpus", "gpus")}

#: Seconds between two decisions.
EVERY = 0.1
#: Seconds that a job has to end after the signal. The launcher itself gives its processes eight.
PATIENCE = 20.0
#: A job waits this many times longer for the fewest workers than for all workers.
LONGER = 10
#: The defaults of `Limits`.
RETRIES, WAIT = 3, 60.0
#: The exit status of a process that a signal has killed is this plus the signal's number.
KILLED = 128
#: The exit status of a Python program that raises an error, and of a program whose arguments are wrong.
WRONG = (1, 2)


@dataclass(frozen=True)
class Limits:
    """The options of an elastic job.

    Attributes
    ----------
    workers
        The number of workers to train with.
    fewest
        The smallest number to train with if there are no slots for all.
    servers
        The number of servers.
    retries
        How many times in a row the job is started again without having written a new checkpoint.
    wait
        Seconds to wait for slots for all workers before going on with fewer; ten times as long for the fewest.
    """

    workers: int
    fewest: int
    servers: int = 0
    retries: int = RETRIES
    wait: float = WAIT


class Observation(NamedTuple):
    """The state of a job and its slots.

    Attributes
    ----------
    slots
        How many slots there are.
    is_lost
        Whether a slot that the job uses is gone.
    status
        The job's exit status; None while it runs, or without a job.
    checkpoint
        The name of the last checkpoint; empty if none has been written.
    """

    slots: int
    is_lost: bool = False
    status: int | None = None
    checkpoint: str = ""


class Start(NamedTuple):
    """Start the job."""

    workers: int


class Stop(NamedTuple):
    """End the job's processes, and wait until they have ended."""

    reason: str


class End(NamedTuple):
    """Nothing more is to be done."""

    status: int
    reason: str = ""


Action = Start | Stop | End | None


class Policy:
    """Decides what to do next.

    Examples
    --------
    >>> policy = Policy(Limits(workers=4, fewest=2, wait=60))
    >>> policy.decide(0, Observation(slots=3))  # waits for the fourth
    >>> policy.decide(60, Observation(slots=3))
    Start(workers=3)
    >>> policy.decide(100, Observation(slots=2, is_lost=True, checkpoint="step-1"))
    Stop(reason='a slot is lost')
    >>> policy.decide(101, Observation(slots=2, status=143, checkpoint="step-1"))  # waits for the third
    >>> policy.decide(161, Observation(slots=2, checkpoint="step-1"))
    Start(workers=2)
    >>> policy.decide(170, Observation(slots=4, checkpoint="step-1"))  # more are used from the next checkpoint on
    >>> policy.decide(180, Observation(slots=4, checkpoint="step-2"))
    Stop(reason='4 workers can go on instead of 2')
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        #: The number of running workers.
        self._workers = 0
        #: The number of workers to wait for, and since when. After a failure that is the number that ran before.
        self._wanted = limits.workers
        self._since: float | None = None
        #: The last checkpoint when the job was started, which distinguishes progress from a repeated failure; and the last one when the job
        #: used all slots. To grow, the job is stopped only after a newer one, so that little work is lost.
        self._at_start, self._before_growth = "", ""
        #: Failures in a row without a new checkpoint.
        self._failures = 0
        self._is_stopping = self._is_growing = False

    def decide(self, now: float, view: Observation) -> Action:
        """The next thing to do, None to wait.

        Parameters
        ----------
        now
            The time in seconds, which only grows.
        view
            The observation. After a `Start`, ``status`` is the status of the job that was started last.
        """
        if not self._workers:
            return self._start(now, view)
        if view.status is None:
            return None if self._is_stopping else self._interrupt(view)
        return self._go_on(now, view)

    def _start(self, now: float, view: Observation) -> Action:
        limits = self._limits
        if self._since is None:
            self._since = now
        waited, workers = now - self._since, min(view.slots - limits.servers, limits.workers)
        # after a failure `_wanted` is the number that ran before: a job that ran with fewer does not wait for all workers again
        if workers >= self._wanted or (workers >= limits.fewest and waited >= limits.wait):
            self._workers, self._since = workers, None
            self._is_stopping = self._is_growing = False
            self._at_start = self._before_growth = view.checkpoint
            return Start(workers)
        if waited >= LONGER * limits.wait:
            places = limits.fewest + limits.servers
            return End(1, f"given up: in {waited:.0f} seconds only {view.slots} of at least {places} slots were found")
        return None

    def _interrupt(self, view: Observation) -> Action:
        """Stop a running job if a slot is lost, or if there are slots for more workers and a new checkpoint."""
        if view.is_lost:
            self._is_stopping = True
            return Stop("a slot is lost")
        more = min(view.slots - self._limits.servers, self._limits.workers)
        if more <= self._workers:
            # only a checkpoint that is newer than the additional slots makes a stop cheap, so the last one without them is remembered
            self._before_growth = view.checkpoint
            return None
        if view.checkpoint == self._before_growth:
            return None
        self._is_stopping = self._is_growing = True
        return Stop(f"{more} workers can go on instead of {self._workers}")

    def _go_on(self, now: float, view: Observation) -> Action:
        """Decide after the job has ended."""
        # noted before anything is decided: `_start` waits for this number of workers
        status, limits = view.status or 0, self._limits
        self._wanted, self._workers = self._workers, 0
        if not status:
            return End(0)
        # stopped on purpose: whatever its status is, this is no failure
        if self._is_growing:
            return self._start(now, view)
        self._failures = 1 if view.checkpoint != self._at_start else self._failures + 1
        # an error that the program would raise again; a lost slot, or a signal, could have other outcomes the next time
        if not view.checkpoint and status in WRONG and not view.is_lost:
            return End(status, "the program failed before its first checkpoint, so it is not started again")
        if self._failures > limits.retries:
            return End(status, f"given up after {self._failures} failure{'s' * (self._failures > 1)} in a row without a new checkpoint")
        return self._start(now, view)


class Slots(Protocol):
    """Where processes can run."""

    def hosts(self) -> list[Host]:
        """The machines with the numbers of slots that they have now. The first machine runs worker 0."""
        ...

    def use(self, count: int) -> tuple[list[Host], Mapping[str, str]]:
        """Take ``count`` slots for a job. Returns their machines, and the variables that the job's launcher needs."""
        ...

    def is_lost(self) -> bool:
        """Whether one of the slots in use is gone."""
        ...

    def check(self) -> None:
        """Find out which slots are gone, including failures not yet noticed."""
        ...

    def attend(self) -> None:
        """Serve the job: start processes on other machines, and bring notes of the last checkpoint into its folder."""
        ...


def supervise(limits: Limits, slots: Slots, folder: Path, command: Callable[[int, Sequence[Host]], list[str]]) -> int:
    """Run a job until it has succeeded or is given up.

    Parameters
    ----------
    limits
        The options of the job.
    slots
        Where its processes can run.
    folder
        The folder of notes to the launcher.
    command
        Returns the command line that starts some workers on some machines. The command must end all of them after SIGTERM, and when its
        standard input ends.

    Returns
    -------
    int
        0, or the status of the last failure; 128 plus the signal's number after an interrupt.
    """
    policy, job, has_run = Policy(limits), _LaunchedJob(), False
    with job:
        while True:
            # First, because the job may wait for it: from here processes are started on other machines, and notes are brought from there.
            slots.attend()
            status = job.status()
            # A job often fails because its machine is gone, long before Ray misses the machine. Without this check the policy would take
            # the failure for the program's own, and start it again in a slot that does not exist.
            if status and not job.interrupt:
                slots.check()
            # read after the status: a checkpoint that the job wrote just before its end counts
            checkpoint = last_checkpoint(folder)
            view = Observation(sum(host.slots for host in slots.hosts()), slots.is_lost(), status, checkpoint)
            # after an interrupt nothing is decided any more; the signal has been sent on, and the loop only waits for the job's end
            if job.interrupt and (status is not None or not job.is_there):
                return KILLED + job.interrupt
            action = None if job.interrupt else policy.decide(time.monotonic(), view)
            if isinstance(action, End):
                if action.reason:
                    say(f"{action.reason}; {f'last checkpoint: {checkpoint}' if checkpoint else 'no checkpoint was written'}")
                return action.status
            if isinstance(action, Stop):
                say(f"{action.reason}: the job is ended, and started again from {checkpoint or 'the beginning'}")
                job.stop(signal.SIGTERM)  # the loop continues: once a status says that the job has ended, the policy starts it again
            elif isinstance(action, Start):
                # the slots are taken only now: until the decision another machine may have come or gone
                hosts, variables = slots.use(action.workers + limits.servers)
                if has_run:
                    say(f"started again with {action.workers} of {limits.workers} workers")
                has_run = True
                job.start(command(action.workers, hosts), variables)
            time.sleep(EVERY)


class _LaunchedJob(Interruptible):
    """The launcher as a child process, which is started and ended many times. While entered, interrupts of this process end the job."""

    def __init__(self) -> None:
        #: The number of the signal that has interrupted this process, or 0. A signal handler writes it.
        self.interrupt = 0
        self._process: subprocess.Popen[bytes] | None = None
        #: The time to kill a job that got the signal to end: it may wait for a machine that is gone.
        self._deadline: float | None = None

    @property
    def is_there(self) -> bool:
        """Whether a job has been started whose status has not been returned yet."""
        return self._process is not None

    def start(self, command: Sequence[str], variables: Mapping[str, str]) -> None:
        # a session of its own, so that an interrupt from a keyboard reaches the job once, from here
        # a pipe as standard input, which ends with this process, so that the job does not outlive it
        self._deadline = None
        self._process = subprocess.Popen(command, env=dict(variables), stdin=subprocess.PIPE, start_new_session=True)
        if self.interrupt:  # it came before there was a process to send it to
            self.stop(signal.SIGTERM)

    def status(self) -> int | None:
        """The exit status of a job that has ended, returned once."""
        process = self._process
        if process is None:
            return None
        # the launcher itself may hang: its processes end with it, since their standard input does
        if self._deadline is not None and time.monotonic() > self._deadline:
            process.kill()
        status = process.poll()
        if status is None:
            return None
        assert process.stdin is not None
        process.stdin.close()
        self._process = None
        return status if status >= 0 else KILLED - status

    def stop(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)
            self._deadline = time.monotonic() + PATIENCE

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        if self._process is not None:  # an error ended the loop
            self._process.terminate()
            self._process.communicate()

    def _interrupted(self, number: int, _: FrameType | None) -> None:
        # only noted: the loop of `supervise` sees it, and returns when the job has ended
        self.interrupt = number
        self.stop(signal.SIGTERM)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of elastic jobs."""
    add = parser.add_argument_group("elastic", "start the job again from its last checkpoint if it fails").add_argument
    add("--ray", metavar="ADDRESS", help="run on a Ray cluster: auto for the one of this machine, local to start one here, or HOST:PORT")
    add("--min", dest="fewest", type=positive_integer, metavar="N", help="go on with as few workers as this (default: with all only)")
    add("--retries", type=count, metavar="N", help=f"give up after so many restarts in a row without a new checkpoint (default: {RETRIES})")
    add(
        "--wait",
        type=positive_number,
        metavar="S",
        help=f"seconds to wait for all workers before going on with fewer (default: {WAIT:.0f})",
    )
    add("--cpus", type=positive_integer, metavar="N", help="CPUs of each process (default: 1)")
    add("--gpus", type=count, metavar="N", help="GPUs of each process (default: none)")


def execute(given: argparse.Namespace, workers: int, servers: int, command: Callable[[Path, int, Sequence[Host]], list[str]]) -> int:
    """Run a job on a Ray cluster.

    Parameters
    ----------
    given
        The parsed arguments.
    workers, servers
        The numbers of processes.
    command
        Returns the command line that starts some workers on some machines, with a folder for notes.

    Returns
    -------
    int
        See `supervise`.
    """
    from .ray_slots import RaySlots, SlotRequest, connected

    fewest = given.fewest or workers
    if fewest > workers:
        given.usage_error(f"--min {fewest} is more than -n {workers}")
    limits = Limits(workers, fewest, servers, RETRIES if given.retries is None else given.retries, given.wait or WAIT)
    request = SlotRequest(workers + servers, given.cpus or 1, given.gpus or 0)
    with connected(given.ray, request) as ray, TemporaryDirectory(prefix="twofold-launch-", ignore_cleanup_errors=True) as folder:
        slots = RaySlots(ray, request, Path(folder))
        try:
            return supervise(limits, slots, Path(folder), lambda count, hosts: command(Path(folder), count, hosts))
        finally:
            slots.close()


def check(given: argparse.Namespace) -> None:
    """Refuse options that exclude each other."""
    if given.ray:
        for name in ("hosts", "hostfile", "ft", "k8s", "plan", "launcher"):
            if getattr(given, name):
                given.usage_error(f"--ray and --{name} exclude each other")
        return
    for option, name in OPTIONS.items():
        if getattr(given, name) is not None:
            given.usage_error(f"{option} needs --ray")
