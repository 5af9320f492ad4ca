"""`Attendance`: which processes of a job with ``--ft`` on several machines are left, by what they and the relays of their machines say.

Open MPI's launcher waits for the processes of a lost machine for ever. So each process says when it has connected and when it has ended,
as `stopped_process` describes; each relay says when its machine is lost, as `ssh_relay` describes; and the job is over when all processes
that are left have ended.
"""

import math
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import monotonic

from ..launcher_notes import FINISHED
from ..stopped_process import ENDED, SAYS
from .ssh_relay import OVER
from .ssh_relay import SAYS as RELAY

#: What a process or a relay says, at the end of a line, whose beginning may be the program's own.
LINE = re.compile(rf"(?:{SAYS}(?P<rank>\d+) (?P<what>connected|ended)(?: (?P<status>\d+))?|{RELAY}(?P<how>lost|ended) (?P<machine>\S*))$")
#: Seconds for the others to end after a worker has ended with status 0: a worker waits for the ends of all others' programs.
REST = 120.0


class Attendance:
    """The processes of a job, and the machines that are lost.

    Parameters
    ----------
    machines
        The name of each process's machine, by rank.
    others
        The names of the machines other than this one.
    workers
        The number of workers and spares, which have the lowest ranks: a job with spares has no servers. A spare that was not needed ends
        after the workers.
    folder
        The folder of notes.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> found = Attendance(["node1", "node2"], ["node2"], workers=2, folder=Path(mkdtemp()))
    >>> for rank in (0, 1):
    ...     _ = found.take(f"twofold-process: {rank} connected", is_labelled=True)
    >>> found.take("twofold-machine: lost node2", is_labelled=False)
    ('', 'node2 is lost; the processes on other machines go on')
    >>> found.take("50 %twofold-process: 0 ended 0", is_labelled=True)
    ('50 %', '')
    >>> found.is_decided, found.verdict()
    (True, (0, None))
    """

    def __init__(self, machines: Sequence[str], others: Collection[str], workers: int, folder: Path) -> None:
        self._machines, self._others, self._workers, self._folder = machines, set(others), workers, folder
        self._connected: set[int] = set()
        #: The status of each process that has ended, in their order; None if it did not end by itself.
        self._ended: dict[int, int | None] = {}
        #: The machines to which the connections have ended, and those whose daemon has ended them.
        self._lost: list[str] = []
        self._left: set[str] = set()
        #: When nothing is waited for any more, though a process may have ended without being heard.
        self._deadline = math.inf
        #: Whether a machine was lost while a process still waited for the others to connect, which never happens then.
        self._is_broken = False
        #: Whether machines are lost, and nothing is left to wait for: `verdict` says how the job has ended.
        self.is_decided = False
        self._lock = Lock()

    def take(self, line: str, is_labelled: bool) -> tuple[str, str] | None:
        """Note what a line says. None if it is an ordinary one, else what the program wrote before it, and what to tell the user.

        Parameters
        ----------
        line
            Without its label.
        is_labelled
            Whether it has a label, as those of processes have, but not those of relays.
        """
        found = LINE.search(line)
        if found is None or is_labelled != (found["rank"] is not None):
            return None
        with self._lock:
            rank = int(found["rank"] or 0)
            if not is_labelled:
                self._lost.append(found["machine"])
                self._left |= {found["machine"]} if found["how"] == "ended" else set()
            elif found["what"] == "connected":
                self._connected.add(rank)
            else:
                self._end(rank, found["status"])
            was_broken = self._is_broken
            self._decide()
            told = self._told(found["machine"], found["how"]) if not (is_labelled or was_broken) else ""
        return line[: found.start()], told

    def look(self) -> None:
        """Look for processes of this machine that have ended without saying so here: Open MPI's launcher may pass on nothing more."""
        with self._lock:
            if self._lost and not self.is_decided:
                for rank in range(len(self._machines)):
                    note = self._folder / f"{ENDED}{rank}"
                    if note.is_file():
                        self._end(rank, note.read_text(encoding="utf-8"))
                self._decide()

    def _end(self, rank: int, status: str | None) -> None:
        if rank not in self._ended:
            self._ended[rank] = int(status) if status else None
            if rank < self._workers and self._ended[rank] == 0:
                self._deadline = min(self._deadline, monotonic() + REST)

    @property
    def has_ended_itself(self) -> bool:
        """Whether Open MPI's launcher seems to have ended all: its daemons on all other machines have ended."""
        return self._left >= self._others

    def _told(self, machine: str, how: str) -> str:
        name = machine or "a machine"
        if self._is_broken and not any(self._ended.values()):  # a process that has failed says so itself
            return f"the connection to {name} has ended before all processes had connected, so that all end"
        # the last processes may have ended together with their machine's daemon, so that nothing goes on
        return "" if self.is_decided or how == "ended" else f"{name} is lost; the processes on other machines go on"

    def _decide(self) -> None:
        left = [rank for rank in range(len(self._machines)) if rank not in self._ended and self._machines[rank] not in self._lost]
        if self._lost and not self.is_decided:
            # a relay that does not know its machine leaves open which processes are lost
            self._is_broken = "" in self._lost or any(rank not in self._connected for rank in left)
            self.is_decided = self._is_broken or not left or monotonic() > self._deadline
        if self.is_decided or not left:
            self.end_relays()

    def end_relays(self) -> None:
        """Let the connections to machines end, and Open MPI's launcher with them: the job is over, or about to end."""
        with suppress(OSError):  # relays take it for the end, too, if something has removed the folder
            (self._folder / OVER).touch()

    def verdict(self) -> tuple[int, int | None]:
        """The status of a job that has lost machines, and the process that failed first, if one has."""
        failed = next(((status, rank) for rank, status in self._ended.items() if status), None)
        if failed is not None:
            return failed
        is_noted = (self._folder / FINISHED).is_file()
        has_finished = is_noted or any(rank < self._workers for rank, status in self._ended.items() if status == 0)
        return int(self._is_broken or not has_finished), None
