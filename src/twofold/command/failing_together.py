"""A program that fails in one process of a cluster ends the others too, instead of leaving them to wait for it forever."""

import atexit
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from ..config import SETTINGS
from ..launcher_notes import FINISHED, WITHOUT_STORE, notes_folder, number_in
from ..stopped_process import end_if_stopped, note_failed, note_status

#: The environment variable with the process that the launcher started. Programs that this process starts do not belong to the cluster.
PROGRAM = "TWOFOLD_PROGRAM"
_exit = os._exit


@contextmanager
def failing_together() -> Iterator[None]:
    """While it is entered, an error, or an exit with a status other than 0, ends all processes that `launch` has started.

    Without this, MPI would wait at exit for the other processes, and they may wait for this one. A process that is stopped (SIGSTOP) is
    ended, which counts as a failure.
    """
    if "TWOFOLD_WORKERS" in os.environ:
        folder = notes_folder()
        end_if_stopped(str(folder / WITHOUT_STORE) if folder is not None else "", 10 * SETTINGS.kv_timeout)
        # children inherit the variable, which shows them that they are not the program
        os.environ.setdefault(PROGRAM, str(os.getpid()))
    process = os.getpid()
    if os.environ.get("TWOFOLD_FAULT_TOLERANT") == "1":
        os._exit = _exit_alone
    try:
        yield
    except BaseException as error:
        _end_after(error, is_fork=os.getpid() != process)
        raise
    _end_after(SystemExit(), is_fork=os.getpid() != process)


def _end_after(error: BaseException, is_fork: bool) -> None:
    """End all processes if an error, or an exit with another status than 0, ends the program; if it ends a fork of it, end only that."""
    # as Python does: None is success, and a text is printed and means 1
    code = error.code if isinstance(error, SystemExit) else 1
    # a system passes on eight bits of a status: 256 must not become success
    status = code & 255 or int(code != 0) if isinstance(code, int) else int(code is not None)
    if not is_fork:
        _tell(status)
        if not status:
            _note_success()
            return
    if not _is_one_of_several():
        note_failed()
        return
    # printed here, as Python would do after this: neither of the functions below returns
    if not isinstance(error, SystemExit):
        sys.excepthook(type(error), error, error.__traceback__)
    elif code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
    (_end_fork if is_fork else _end_all)(status)


def _exit_alone(status: int) -> NoReturn:
    """``os._exit`` with ``--ft``: a status other than 0 is noted, and the process ends in the way of which the others are told."""
    if status and os.environ.get(PROGRAM) == str(os.getpid()) and _is_one_of_several():
        note_status(status & 255 or 1)
        status = 0  # see `_end_all`
    _exit(status)


def _end_fork(status: int) -> None:
    # Python's own end of the process would call MPI_Finalize, which waits for the other processes: they do not know of this one
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _tell(status: int) -> None:
    if os.environ.get(PROGRAM) == str(os.getpid()):  # not in a process that the program has forked
        note_status(status)


def _note_success() -> None:
    """Tell a launcher on this machine that a worker has finished: with ``--ft`` no status says so if others have died."""
    folder, rank = notes_folder(), os.environ.get("OMPI_COMM_WORLD_RANK")
    if folder is not None and rank is not None and number_in(os.environ, "OMPI_COMM_WORLD_RANK") < number_in(os.environ, "TWOFOLD_WORKERS"):
        (folder / FINISHED).touch()
    # finished without ever calling MPI_Init: the others would wait there for this process, and their watchers end them by this note
    if folder is not None and rank is not None and not _is_one_of_several() and os.environ.get(PROGRAM) == str(os.getpid()):
        (folder / WITHOUT_STORE).write_text(f"process {rank}", encoding="utf-8")


def _is_one_of_several() -> bool:
    """Whether MPI connects this process with others."""
    module = sys.modules.get("mpi4py.MPI")  # a program that has not imported it ends as any other
    return module is not None and module.Is_initialized() and not module.Is_finalized()


def _end_all(status: int) -> None:
    # `Abort` and `_exit` end the process without flushing
    sys.stdout.flush()
    sys.stderr.flush()
    if os.environ.get("TWOFOLD_FAULT_TOLERANT") == "1":
        # Only this process ends, and the others go on without it. Open MPI's launcher does not tell them of a process that ends by itself
        # with another status than 0. It tells them of one that ends without MPI_Finalize, as this one does.
        os._exit(0)
    sys.modules["mpi4py.MPI"].COMM_WORLD.Abort(status)
