"""`end_if_stopped` starts a small watcher process beside a process of a cluster, which ends that process if it is stopped by SIGSTOP.

A stopped process does not answer. To the other processes it looks like a process that computes for a long time, so they would wait for
`TWOFOLD_KV_TIMEOUT` seconds. The state in ``/proc`` distinguishes a stopped process from a busy one. Once the watcher has ended the stopped
process, the others treat it as a process that has died.

Before all have connected, two more cases need the watcher. If a process dies then, a launcher with ``--ft`` lets the others wait in
MPI_Init forever, so the watcher ends the launcher. And a process that waits in MPI_Init cannot see that another one has finished without a
store and will never come, so its watcher ends it: when a note says so, which processes of this machine leave, or when its patience is over.

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
    os.posix_spawn(sys.executable, words, os.environ, file_actions=files)
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


def _look_after(process: int, launcher: int, missing: str, patience: float) -> None:
    """In the watcher: watch a process until it ends, and then end its launcher if the process had not connected."""
    if b"c" not in _end_if_stuck(process, missing, patience) and launcher:
        print("twofold: this process died before all had connected, so all end", file=sys.stderr, flush=True)
        os.kill(launcher, signal.SIGTERM)


def _end_if_stuck(process: int, missing: str, patience: float) -> bytes:
    """The notes that the process wrote until it ended: that it connects, and that it has connected."""
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
            written += more
        now = monotonic()
        # a gap between two looks means that the watcher was stopped too, as Ctrl-Z stops both: start counting the seconds again
        if not _is_stopped(process) or now - looked > 4 * EVERY:
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
