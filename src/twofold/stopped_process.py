"""`end_if_stopped` starts a small watching process for a process of a cluster, and ends the watched process if it is stopped (SIGSTOP).

A stopped process does not answer. To the others it looks like a process that computes for a long time, so they would wait for
`TWOFOLD_KV_TIMEOUT` seconds; the state in ``/proc`` distinguishes the two. Once the stopped process has ended, the others treat it like
any process that dies. This is impossible before it has connected: under a launcher that keeps the others running, they would wait in
MPI_Init forever, so the watching process ends the launcher too. A process in MPI_Init cannot notice either that another process has
ended without making a store and will never connect; its watching process ends it.

This file is also the program of the watching process, so it imports little.
"""

import atexit
import os
import select
import signal
import sys
from contextlib import suppress
from time import monotonic

#: Seconds between looks, and how long a process may be stopped.
EVERY, LIMIT = 0.5, 5.0
#: The end of a pipe that is open for as long as this process lives.
_held: list[int] = []


def end_if_stopped(missing: str = "") -> None:
    """Have this process ended if it is stopped for five seconds. Works on Linux; elsewhere it does nothing. Only the first call counts.

    Parameters
    ----------
    missing
        A file that names a process that will never connect, as soon as there is one: this process is then ended if it waits for that.
    """
    if _held or not os.path.exists(f"/proc/{os.getpid()}/stat"):
        return
    end, held = os.pipe()
    _held.append(held)
    launcher = os.getppid() if os.environ.get("TWOFOLD_FAULT_TOLERANT") == "1" else 0
    words = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(launcher), missing]
    files = [(os.POSIX_SPAWN_DUP2, end, 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    os.posix_spawn(sys.executable, words, os.environ, file_actions=files)
    os.close(end)
    atexit.register(note_connected)  # a process that ends normally is not watched to its end


def note_connecting() -> None:
    """From now on this process waits until all others have connected."""
    for held in _held:
        os.write(held, b"w")


def note_connected() -> None:
    """From now on the other processes notice the death of this one."""
    for held in _held:
        os.write(held, b"c")


def _look_after(process: int, launcher: int, missing: str) -> None:
    """Look at a process until it has ended, which closes the standard input of this one. End its launcher if it had not connected."""
    if b"c" not in _end_if_stuck(process, missing) and launcher:
        print("twofold: this process died before all had connected, so all end", file=sys.stderr, flush=True)
        os.kill(launcher, signal.SIGTERM)


def _end_if_stuck(process: int, missing: str) -> bytes:
    """What the process has written until it ended: that it connects, and that it has."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the process itself
    looked = since = monotonic()
    written = b""
    told = select.poll()
    told.register(0, select.POLLIN)
    while True:
        if told.poll(1000 * EVERY):
            more = os.read(0, 16)
            if not more:
                return written
            written += more
        now = monotonic()
        # a gap between looks says that this process was stopped as well, such as by Ctrl-Z
        if not _is_stopped(process) or now - looked > 4 * EVERY:
            since = now
        elif now - since > LIMIT:
            return _end(process, f"this process has been stopped for {LIMIT:g} s, and is ended", written)
        if written == b"w" and missing and os.path.exists(missing):
            with open(missing, encoding="utf-8") as file:
                name = file.read()
            reason = f"mx.kv.create waits for {name}, which has finished without a store: create one in every process; this one is ended"
            return _end(process, reason, written)
        looked = now


def _end(process: int, reason: str, written: bytes) -> bytes:
    print(f"twofold: {reason}", file=sys.stderr, flush=True)
    os.kill(process, signal.SIGKILL)
    return written


def _is_stopped(process: int) -> bool:
    with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


if __name__ == "__main__":
    with suppress(OSError):  # the process has ended
        _look_after(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
