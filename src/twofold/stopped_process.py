"""`end_if_stopped` starts a small watcher process beside a process of a cluster, which ends that process if it is stopped by SIGSTOP.

A stopped process does not answer. To the other processes it looks like a process that computes for a long time, so they would wait for
`TWOFOLD_KV_TIMEOUT` seconds. The state in ``/proc`` distinguishes a stopped process from a busy one. Once the watcher has ended the stopped
process, the others treat it as a process that has died.

Before all have connected, two more cases need the watcher. If a process dies then, a launcher with ``--ft`` lets the others wait in
MPI_Init forever, so the watcher ends the launcher. And a process that waits in MPI_Init cannot see that another one has finished without a
store and will never come, so its watcher ends it: when a note says so, which processes of this machine leave, or when its patience is over.

A launcher of processes on several machines asks by a variable to be told when each has connected and ended: the launcher of MPI does not
say so once a machine is lost. A watcher says it even if the process was killed.

This file is also the watcher's program, so it imports little.
"""

import atexit
import os
import select
import signal
import sys
from contextlib import suppress
from time import monotonic

#: Seconds between two looks of the watcher, and seconds that a process may be stopped.
EVERY, LIMIT = 0.5, 5.0
#: Seconds that a process waits for others to connect: ten times the default of TWOFOLD_KV_TIMEOUT, as in a first step.
PATIENCE = 600.0
#: The variable by which a launcher asks to be told, how the watcher's lines to it begin, before the rank, and the folder in which a watcher
#: on its machine also writes a file when the process has ended: its name is `ENDED` and the rank.
TELL, SAYS, FOLDER, ENDED = "TWOFOLD_TELL", "twofold-process: ", "TWOFOLD_RUN_FOLDER", "ended-"
#: The variable with the rank.
RANK = "OMPI_COMM_WORLD_RANK"
#: The writing end of the watcher's pipe, once there is one. It closes when this process ends, and so notifies the watcher.
_held: list[int] = []


def end_if_stopped(missing: str = "", patience: float = PATIENCE) -> None:
    """Start a watcher that ends this process once it has been stopped for five seconds. Only the first call counts, and only on Linux.

    Parameters
    ----------
    missing
        A file that is written if a process will never connect, and names that process. This process is then ended if it waits in MPI_Init.
    patience
        Seconds that this process may wait in MPI_Init for others.
    """
    if _held or not os.path.exists(f"/proc/{os.getpid()}/stat"):
        return
    end, held = os.pipe()
    _held.append(held)
    launcher = os.getppid() if os.environ.get("TWOFOLD_FAULT_TOLERANT") == "1" else 0
    words = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(launcher), missing, str(patience)]
    files = [(os.POSIX_SPAWN_DUP2, end, 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    # a launcher that ends the process and its group leaves a watcher that says so
    os.posix_spawn(sys.executable, words, os.environ, file_actions=files, setsid=bool(os.environ.get(TELL)))
    os.close(end)
    atexit.register(note_connected)  # a process that ends normally must not take the launcher with it


def note_connecting() -> None:
    """Tell the watcher that this process waits until all others have connected."""
    for held in _held:
        os.write(held, b"w")


def note_connected() -> None:
    """Tell the watcher that this process has connected: from now on the others notice its death."""
    for held in _held:
        os.write(held, b"c")


def note_failed() -> None:
    """Let the watcher take this process for one that has died, unless it has connected: the others would wait for it."""
    atexit.unregister(note_connected)


def note_status(status: int) -> None:
    """Tell the watcher with which status this process is about to end."""
    for held in _held:
        os.write(held, b"=%d;" % status)


def _look_after(process: int, launcher: int, missing: str, patience: float) -> None:
    """In the watcher: watch a process until it ends, and then end its launcher if the process had not connected."""
    tells = bool(os.environ.get(TELL))
    notes = _end_if_stuck(process, missing, patience, tells)
    if tells:
        _tell_the_end(notes.partition(b"=")[2].partition(b";")[0].decode())
    if b"c" not in notes and launcher:
        print("twofold: this process died before all had connected, so all end", file=sys.stderr, flush=True)
        os.kill(launcher, signal.SIGTERM)


def _say(what: str) -> None:
    # The rank is in the line, as its label may be another's: Open MPI puts lines together that programs have not ended.
    with suppress(OSError):
        os.write(2, f"{SAYS}{os.environ.get(RANK, '')} {what}".rstrip().encode() + b"\n")


def _tell_the_end(status: str) -> None:
    _say(f"ended {status}")
    # Open MPI's launcher passes on nothing more once it has decided to end all
    folder = os.environ.get(FOLDER, "")
    if os.path.isdir(folder):
        name = os.path.join(folder, ENDED + os.environ.get(RANK, ""))
        with suppress(OSError), open(f"{name}.new", "w", encoding="utf-8") as file:
            file.write(status)
        with suppress(OSError):
            os.replace(f"{name}.new", name)


def _end_if_stuck(process: int, missing: str, patience: float, tells: bool) -> bytes:
    """The notes that the process wrote until it ended: that it connects, that it has connected, and its status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the process itself
    looked = since = connecting = monotonic()
    written = b""
    told = select.poll()
    told.register(0, select.POLLIN)
    while True:
        if told.poll(1000 * EVERY):
            more = os.read(0, 16)
            if not more:
                return written
            connecting = connecting if written else monotonic()
            if tells and b"c" in more and b"c" not in written:
                _say("connected")
            written += more
        now = monotonic()
        try:
            is_stopped = _is_stopped(process)
        except OSError:  # it has ended, and a process that it has started holds the pipe open
            while told.poll(0) and (more := os.read(0, 16)):
                written += more
            return written
        # a gap between two looks means that the watcher was stopped too, as Ctrl-Z stops both: start counting the seconds again
        if not is_stopped or now - looked > 4 * EVERY:
            since = now
        elif now - since > LIMIT:
            return _end(process, f"this process has been stopped for {LIMIT:g} s, and is ended", written)
        if written == b"w" and missing and os.path.exists(missing):
            with open(missing, encoding="utf-8") as file:
                name = file.read()
            reason = f"mx.kv.create waits for {name}, which has finished without a store: create one in every process; this one is ended"
            return _end(process, reason, written)
        if written == b"w" and now - connecting > patience:
            todo = "every process has to call mx.kv.create; TWOFOLD_KV_TIMEOUT sets a tenth of this time"
            return _end(process, f"mx.kv.create has waited {patience:g} s for the other processes, and is ended: {todo}", written)
        looked = now


def _end(process: int, reason: str, written: bytes) -> bytes:
    print(f"twofold: {reason}", file=sys.stderr, flush=True)
    os.kill(process, signal.SIGKILL)
    return written


def _is_stopped(process: int) -> bool:
    with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


if __name__ == "__main__":
    with suppress(OSError):  # the watched process has ended
        _look_after(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4]))
