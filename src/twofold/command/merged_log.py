"""Runs a program that starts many processes, and shows their output as one log: each line with its process's name."""

import os
import re
import signal
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, NamedTuple

from .attendance import Attendance

#: Seconds that processes have to end after an interrupt.
PATIENCE = 8.0
#: Seconds between looks for processes that have ended.
LOOK = 1.0
#: The most lines of a launcher of MPI that are kept.
SAID = 200
#: The messages of Open MPI, MPICH and Slurm about the process that ended first.
FIRST_ENDED = (
    re.compile(r"MPI_ABORT was invoked on rank (?P<rank>\d+)"),
    re.compile(r"application called MPI_Abort\(.*\) - process (?P<rank>\d+)"),
    re.compile(r"Process name: *\[.*,(?P<rank>\d+)\]"),
    re.compile(r"process rank (?P<rank>\d+) with PID \d+ .*"),
    re.compile(r"rank (?P<rank>\d+) in job \d+ "),
    re.compile(r"srun: error: \S+ tasks? (?P<rank>\d+)[-,\d]*: "),
)
#: Lines that Open MPI prints when a process ends the others. They appear in the middle of that process's error, and the launcher's message
#: says more.
ABORT = re.compile(
    r"MPI_ABORT was invoked on rank|  Proc: \[\[|  Errorcode: \d+$|NOTE: invoking MPI_ABORT causes|You may or may not see output from"
    r"|exactly when Open MPI kills them\.|prterun has exited due to process rank|\"abort\"\. This may have caused other processes"
    r"|terminated by signals sent by prterun"
)
#: What a process says just before it ends all the others; see `kvstore.cluster`. The first form is this library's, and the status is 1.
ENDS_ALL = re.compile(r"(?P<own>twofold: (worker|server) \d+: )|\[.*\] \*\*\* MPI_ERRORS_ARE_FATAL")
#: What Open MPI says when a process ends all the others, after an error of the program for example.
ABORTED = re.compile(r"MPI_ABORT was invoked on rank \d+|  Errorcode: (?P<status>\d+)$")
#: Open MPI's status when the connection to a machine has ended, whatever the processes' statuses are.
LOST = 255
#: The line above and below each message of Open MPI.
RULE = "-" * 74


class Ended(NamedTuple):
    """How the processes ended.

    Attributes
    ----------
    status
        The exit status: 0 if all succeeded; 128 plus the signal's number after an interrupt.
    rank
        The process that failed first; None if no process did, or if it is unknown.
    said
        What the launcher of MPI itself said, up to `SAID` lines.
    ends_all
        The process that said that it ends all others; None if there is none.
    place
        The machine of the process that failed; empty if it follows from the order of the hosts.
    is_machine_lost
        Whether the connection to a machine has ended. The status is 1 then, unless a process has failed by itself.
    """

    status: int
    rank: int | None
    said: str = ""
    ends_all: int | None = None
    place: str = ""
    is_machine_lost: bool = False


def say(text: str) -> None:
    """Print a line of the launcher's own, to standard error."""
    print(f"launch: {text}", file=sys.stderr, flush=True)


def run_labelled(
    command: Sequence[str],
    environment: Mapping[str, str],
    label: re.Pattern[str],
    name: Callable[[int], str],
    attendance: Attendance | None = None,
) -> Ended:
    """Run a command, and print its output with the names of processes instead of labels. An interrupt ends all processes of the command.

    Parameters
    ----------
    command
        The program and its arguments.
    environment
        Its environment variables.
    label
        Matches the beginning of a labelled line; the group ``rank`` is the process's rank.
    name
        A process's name by rank.
    attendance
        The processes that are left if machines are lost; None if the launcher of MPI ends by itself whatever happens.

    Raises
    ------
    OSError
        If the output cannot be written. All processes have ended then.
    """
    # a group of its own, so that an interrupt from a keyboard reaches it once: from here
    process = subprocess.Popen(
        command,
        env=dict(environment),
        # the processes share one terminal: which of them would get its input?
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # a program may print bytes that are no text
        errors="replace",
        start_new_session=True,
    )
    interrupts, ending = _Interrupts(process, attendance), _Ending(process, attendance)
    output = _Output(label, name, ending, attendance)
    assert process.stdout is not None
    assert process.stderr is not None
    pairs = ((process.stdout, sys.stdout), (process.stderr, sys.stderr))
    readers = [threading.Thread(target=output.show, args=pair) for pair in pairs]
    with interrupts, _ending_with_this_process(process.pid), process.stdout, process.stderr:
        for reader in readers:
            reader.start()
        while attendance is not None and process.poll() is None and not attendance.is_decided:
            with suppress(subprocess.TimeoutExpired):
                process.wait(LOOK)
            attendance.look()
        if attendance is not None and attendance.is_decided:
            ending.begin(None, None)
        status = process.wait()
        # the pipes may still hold lines when the process has ended
        for reader in readers:
            reader.join()
    ending.cancel()
    if output.error is not None and not interrupts.number:
        raise output.error
    if interrupts.number:
        return Ended(128 + interrupts.number, None)
    if attendance is not None:
        if attendance.is_decided and not (ending.has_failed or (status and attendance.has_ended_itself)):
            status, first = attendance.verdict()
            return Ended(status, first, "".join(output.said))
        if ending.has_begun:
            status = status or ending.status or 1  # Open MPI's is 0 if a connection to a machine has ended
    return _ended(status, output.found, "".join(output.said), ending)


@contextmanager
def _ending_with_this_process(command: int) -> Iterator[None]:
    """While it is entered, a command gets SIGTERM if this process is killed, for example for a lack of memory, and cannot end it itself."""
    # the standard input of this shell ends with this process, however that ends
    words = ["/bin/sh", "-c", 'read -r _ || kill -TERM "$1"', "sh", str(command)]
    null = subprocess.DEVNULL
    watcher = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=null, stderr=null, start_new_session=True)
    try:
        yield
    finally:
        watcher.communicate(b"\n")


class _Output:
    """Prints what the processes of a job and their launcher say, and notes what the launcher must know."""

    def __init__(self, label: re.Pattern[str], name: Callable[[int], str], ending: "_Ending", attendance: Attendance | None) -> None:
        self._label, self._name, self._ending, self._attendance = label, name, ending, attendance
        #: The processes that the launcher of MPI has named as the first that ended, and what it has said.
        self.found, self.said = list[int](), list[str]()
        #: Why the log cannot be written, such as a full disk or a reader that has ended; None if it can.
        self.error: OSError | None = None
        self._logs: dict[tuple[int, str], _Log] = {}
        self._printing = threading.Lock()

    def show(self, source: IO[str], target: IO[str]) -> None:
        """Print all lines of a stream, with the names of processes instead of labels."""
        for line in source:
            match = self._label.match(line)
            if match is None:
                # only lines without a label: they come from the launcher of MPI, and not from the program
                self.found.extend(int(m["rank"]) for pattern in FIRST_ENDED if (m := pattern.search(line)))
                self.said.extend([line] * (len(self.said) < SAID))
            prefix = "" if match is None else f"{self._name(int(match['rank']))} | "
            # Open MPI ends its messages with a zero byte, which may come before the next line
            own = self._heard(line[match.end() if match else 0 :].rstrip("\n").strip("\0"), match is not None)
            # a line of Open MPI that is a zero byte alone is dropped, an empty line of the program is not
            if own or (own is not None and line.endswith("\n")):
                self._note(own, match)
                # one lock for both streams: on a terminal a line of one must not cut a line of the other
                with self._printing:
                    for text in self._logs.setdefault((source.fileno(), prefix), _Log()).take(own):
                        self._print(prefix + text, target)
        # at the end of the stream: a rule that no message followed was the program's own
        for (number, prefix), log in self._logs.items():
            if number == source.fileno() and log.held:
                self._print(prefix + log.held, target)

    def _print(self, text: str, target: IO[str]) -> None:
        if self.error is None:
            try:
                print(text, file=target, flush=True)
            except OSError as error:
                # the rest is read and dropped: processes that nobody reads would wait in their next print, and not end
                self.error = error
                self._ending.end()

    def _heard(self, line: str, is_labelled: bool) -> str | None:
        """What to print of a line that may be for the launcher; None if that is nothing."""
        if self._attendance is None:
            return line
        found = self._attendance.take(line, is_labelled)
        if found is None:
            # dropped is what Open MPI says of lost machines at the end
            return line if is_labelled or not self._attendance.is_decided else None
        own, told = found
        if told:
            say(told)
        return own or None

    def _note(self, line: str, match: re.Match[str] | None) -> None:
        if match is not None and (end := ENDS_ALL.match(line)):
            self._ending.begin(*(int(match["rank"]), 1) if end["own"] else (None, None))
        elif abort := ABORTED.match(line):
            self._ending.begin(None, int(abort["status"]) if abort["status"] else None)


def _ended(status: int, failed: Sequence[int], said: str, ending: "_Ending") -> Ended:
    """How the processes ended, by the status of their launcher, the ranks that it named, what it said, and who ended all others."""
    is_machine_lost = status == LOST and (ending.status is not None or not failed)
    if ending.is_forced or is_machine_lost:
        first = failed[0] if failed else ending.rank
        return Ended(ending.status or 1, first, said, ending.rank, is_machine_lost=is_machine_lost)
    # Popen reports a signal as a negative number, a shell as 128 plus the number
    return Ended(status if status >= 0 else 128 - status, failed[0] if failed and status else None, said, ending.rank)


class _Ending:
    """Ends a launcher of MPI that should end, but waits for a machine that has vanished without a word."""

    def __init__(self, process: subprocess.Popen[str], attendance: Attendance | None) -> None:
        self._process, self._attendance, self.is_forced = process, attendance, False
        #: The first process that has said so by this library's message, and the status with which the first ended all.
        self.rank: int | None = None
        self.status: int | None = None
        self._timer = threading.Timer(PATIENCE, self._end)
        self._timer.daemon = True
        self._lock = threading.Lock()

    def begin(self, rank: int | None, status: int | None) -> None:
        """A process has said that it ends all: from now on the launcher has some seconds."""
        with self._lock:
            self.rank = rank if self.rank is None else self.rank
            self.status = status if self.status is None else self.status
            if not self.has_begun:
                self._timer.start()
                if self._attendance is not None:
                    self._attendance.end_relays()

    def end(self) -> None:
        """End the launcher, which ends its processes; it has some seconds for that."""
        self.begin(None, None)
        self._process.terminate()

    @property
    def has_begun(self) -> bool:
        """Whether the launcher should end."""
        return self._timer.ident is not None

    @property
    def has_failed(self) -> bool:
        """Whether a process has ended all others."""
        return self.rank is not None or self.status is not None

    def cancel(self) -> None:
        """The launcher has ended."""
        self._timer.cancel()

    def _end(self) -> None:
        self.is_forced = True
        # its children first: an ssh to a lost machine would hold the launcher's output open
        for child in [*descendants_of(self._process.pid), self._process.pid]:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


def children_of(process: int) -> list[int]:
    """The processes that a process has started, on Linux; elsewhere none is known."""
    try:
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def descendants_of(process: int) -> list[int]:
    """The processes that a process has started, after those that they have started themselves."""
    return [each for child in children_of(process) for each in (*descendants_of(child), child)]


class _Log:
    """The output of a process, without Open MPI's messages about its end."""

    def __init__(self) -> None:
        #: A line like `RULE` that is not printed yet, because it may begin such a message; else empty.
        self.held = ""
        self._is_inside = False

    def take(self, line: str) -> list[str]:
        """The lines to print once this one has come."""
        # the line of dashes above the message has been held back; drop it too
        if ABORT.match(line):
            self.held, self._is_inside = "", True
            return []
        if self._is_inside and (not line or line == RULE):
            self._is_inside = line != RULE
            return []
        before = [self.held] if self.held else []
        self.held = line if line == RULE else ""
        return before if self.held else [*before, line]


class Interruptible(ABC):
    """A context in which interrupts of this process call `_interrupted`. In threads other than the main one it has no effect."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __enter__(self) -> None:
        is_main = threading.current_thread() is threading.main_thread()  # only there can signals be handled
        self._before = {number: signal.signal(number, self._interrupted) for number in self.SIGNALS} if is_main else {}

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @abstractmethod
    def _interrupted(self, number: int, _: FrameType | None) -> None:
        """Handle a signal."""


class _Interrupts(Interruptible):
    """A context in which an interrupt of this process ends the processes that another one has started."""

    def __init__(self, process: subprocess.Popen[str], attendance: Attendance | None) -> None:
        self._process, self._attendance, self.number = process, attendance, 0

    def _interrupted(self, number: int, _: FrameType | None) -> None:
        again, self.number = bool(self.number), number
        if self._attendance is not None:
            self._attendance.end_relays()
        # the first interrupt lets the launcher end its processes; a second one does not wait for that
        self._process.send_signal(signal.SIGKILL if again else signal.SIGTERM)
        if not again:
            timer = threading.Timer(PATIENCE, self._process.kill)
            timer.daemon = True
            timer.start()
