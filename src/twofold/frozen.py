"""`end_if_stopped` starts a small process beside a process of a cluster, which ends that one if it is stopped, as SIGSTOP does.

A stopped process answers nobody, and to the others it looks like one that computes for long: they would wait for `TWOFOLD_KV_TIMEOUT`
seconds. Its state in ``/proc`` tells the two apart. Once it has ended the others deal with it as with any process that dies. They cannot
if it dies before it has connected: a launcher that lets the others go on lets them wait in MPI_Init forever, so it is ended too.

This file is also the program of the small process, so it imports little.
"""

import atexit
import os
import select
import signal
import sys
from contextlib import suppress
from time import monotonic

__all__ = ["end_if_stopped", "note_connected"]

#: Seconds between looks, and how long a process may be stopped.
EVERY, LIMIT = 0.5, 5.0
#: The end of a pipe that is open for as long as this process lives.
_held: list[int] = []


def end_if_stopped() -> None:
    """Have this process ended if it is stopped for five seconds. Works on Linux; elsewhere it does nothing. Once is enough."""
    if _held or not os.path.exists(f"/proc/{os.getpid()}/stat"):
        return
    end, held = os.pipe()
    _held.append(held)
    launcher = os.getppid() if os.environ.get("TWOFOLD_FAULT_TOLERANT") == "1" else 0
    words = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(launcher)]
    files = [(os.POSIX_SPAWN_DUP2, end, 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    os.posix_spawn(sys.executable, words, os.environ, file_actions=files)
    os.close(end)
    atexit.register(note_connected)  # nobody waits for a process that ends of its own will


def note_connected() -> None:
    """From now on the other processes notice the death of this one."""
    for held in _held:
        os.write(held, b"c")


def _look_after(process: int, launcher: int) -> None:
    """Look at a process until it has ended, which closes the standard input of this one. End its launcher if it had not connected."""
    _end_if_stopped(process)
    if launcher and not os.read(0, 1):
        print("twofold: this process died before all had connected, so all end", file=sys.stderr, flush=True)
        os.kill(launcher, signal.SIGTERM)


def _end_if_stopped(process: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is meant for the process itself
    looked = since = monotonic()
    ended = select.poll()
    ended.register(0, 0)  # what has been written is read later
    while not ended.poll(1000 * EVERY):
        now = monotonic()
        # a gap between looks says that this process was stopped as well, such as by Ctrl-Z
        if not _is_stopped(process) or now - looked > 4 * EVERY:
            since = now
        elif now - since > LIMIT:
            print(f"twofold: this process has been stopped for {LIMIT:g} s, and is ended", file=sys.stderr, flush=True)
            os.kill(process, signal.SIGKILL)
            return
        looked = now


def _is_stopped(process: int) -> bool:
    with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


if __name__ == "__main__":
    with suppress(OSError):  # the process has ended
        _look_after(int(sys.argv[1]), int(sys.argv[2]))
