"""The profiler's switches and what it gives: ``set_config``, ``set_state``, ``pause``, ``resume``, ``dump``, ``dumps``."""

import atexit
import os
import threading
from time import perf_counter
from typing import Any
from warnings import warn

from ..errors import MXNetError, ParameterError
from ..formats.files import write_file
from .config import process
from .recorder import RECORDER
from .statistics import SORTS

STATES = ("stop", "run")
#: A write may take this part of the time at most: the pause after it is so many times as long.
PATIENCE = 20


def set_config(**kwargs: Any) -> None:
    """Say what is recorded, and where it goes. What is not named gets its default.

    Parameters
    ----------
    filename : str
        The trace's file; ``"profile.json"``.
    profile_all : bool
        As if the four others were on; False.
    profile_symbolic, profile_imperative : bool
        Record what graphs run (executors, hybridized blocks, ``mx.compile``), and what imperative code runs; both True.
    profile_memory : bool
        Follow the bytes of arrays on each device; True.
    profile_api : bool
        No effect: there are no calls into a C library; True.
    continuous_dump : bool
        Write the file every so often while the profiler runs, not only when it stops; True.
    dump_period : float
        Seconds between two writes; 1.
    aggregate_stats : bool
        Keep the statistics that `dumps` shows; False.
    profile_process : str
        ``"worker"``, this process: there are no servers.

    Raises
    ------
    ParameterError
        For other names and for values of another kind.

    Examples
    --------
    >>> import twofold as mx
    >>> mx.profiler.set_config(filename="run.json", aggregate_stats=True, continuous_dump=False)
    >>> mx.profiler.set_config()
    """
    RECORDER.configure(kwargs)


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Start, or stop and write the trace.

    Parameters
    ----------
    state
        ``"run"`` or ``"stop"``.
    profile_process
        ``"worker"``, this process.

    Raises
    ------
    ParameterError
        If a word is none of these.
    """
    process(profile_process)
    if state not in STATES:
        raise ParameterError("set_state: no such state", repr(state), f"it is one of {', '.join(STATES)}")
    if state == "run":
        RECORDER.start()
        _WRITER.start()
        return
    was_on = RECORDER.state == "run"
    RECORDER.stop()
    _WRITER.stop()
    if was_on and RECORDER.is_traced:
        _write()


def state() -> str:
    """``"run"`` or ``"stop"``, whatever was set last."""
    return RECORDER.state


def pause(profile_process: str = "worker") -> None:
    """Record nothing until `resume`.

    Parameters
    ----------
    profile_process
        ``"worker"``, this process.
    """
    process(profile_process)
    RECORDER.pause()


def resume(profile_process: str = "worker") -> None:
    """Record again after `pause`, if the profiler runs.

    Parameters
    ----------
    profile_process
        ``"worker"``, this process.
    """
    process(profile_process)
    RECORDER.resume()


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Write the trace: a JSON file that https://ui.perfetto.dev and chrome://tracing open.

    The file is replaced in one step: a reader finds the old content or the new.

    Parameters
    ----------
    finished
        Whether the trace ends here: the next ``set_state("run")`` begins a new one. Otherwise it goes on.
    profile_process
        ``"worker"``, this process.

    Raises
    ------
    MXNetError
        If the profiler never ran.
    FileAccessError
        If the file cannot be written.
    """
    process(profile_process)
    if not RECORDER.has_run:
        raise MXNetError("dump: Profiler hasn't been run", None, "configure and start it first")
    _write()
    if finished:
        RECORDER.finish()


def dumps(reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False) -> str:
    """The statistics of what was recorded while ``aggregate_stats`` was on.

    Parameters
    ----------
    reset
        Whether to begin them anew.
    format
        ``"table"`` as MXNet prints it, or ``"json"``.
    sort_by
        ``"total"``, ``"avg"``, ``"min"``, ``"max"`` or ``"count"``.
    ascending
        Whether the smallest comes first.

    Returns
    -------
    str
        Times in milliseconds, memory in kB (1000 bytes), counters as they are; an empty table if nothing was kept.

    Raises
    ------
    ParameterError
        If a word is none of these.
    """
    for given, known, what in ((format, ("table", "json"), "format"), (sort_by, SORTS, "sort_by")):
        if given not in known:
            raise ParameterError(f"dumps: Invalid value provided for {what}", repr(given), f"it is one of {', '.join(known)}")
    found = RECORDER.take_statistics(reset)
    return found.table(sort_by, ascending) if format == "table" else found.json(sort_by, ascending)


def set_kvstore_handle(handle: object) -> None:
    """No effect: in MXNet it is through this that servers of a store are profiled.

    Parameters
    ----------
    handle
        Not looked at.
    """


# deprecated names


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """Deprecated: `set_config`.

    Parameters
    ----------
    mode
        ``"symbolic"``, ``"imperative"``, ``"api"``, ``"memory"`` or ``"all"``: what is on, beside what is on by default.
    filename
        The trace's file.
    """
    _deprecated("profiler_set_config", "set_config")
    set_config(**{f"profile_{mode}": True, "filename": filename})


def profiler_set_state(state: str = "stop") -> None:
    """Deprecated: `set_state`.

    Parameters
    ----------
    state
        See there.
    """
    _deprecated("profiler_set_state", "set_state")
    set_state(state)


def dump_profile() -> None:
    """Deprecated: `dump`."""
    _deprecated("dump_profile", "dump")
    dump(True)


def _deprecated(old: str, new: str) -> None:
    warn(f"profiler.{old}() is deprecated. Please use profiler.{new}() instead", UserWarning, stacklevel=3)


# the file


class _Writer:
    """The thread that writes the file every so often; it is there only while the profiler runs with ``continuous_dump``."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, if it is wanted."""
        if RECORDER.config.continuous_dump and (self._thread is None or not self._thread.is_alive()):
            self._stopped = threading.Event()
            self._thread = threading.Thread(target=self._work, args=(self._stopped,), name="twofold-profiler", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End, and wait for a write that is going on."""
        self._stopped.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _work(self, stopped: threading.Event) -> None:
        wait = RECORDER.config.dump_period
        while not stopped.wait(wait):
            began = perf_counter()
            if RECORDER.is_traced:
                try:
                    _write()
                except MXNetError as error:  # the user's program must not fail because of it
                    warn(f"profiler: no further periodic writes: {error}", stacklevel=1)
                    return
            wait = max(RECORDER.config.dump_period, PATIENCE * (perf_counter() - began))


_WRITER = _Writer()


def _write() -> None:
    with RECORDER.writing:
        RECORDER.fold()
        write_file(RECORDER.config.filename, RECORDER.trace.chunks())


def _at_exit() -> None:
    """What runs until the end is written as by ``set_state("stop")``."""
    if RECORDER.state == "run":
        set_state("stop")


atexit.register(_at_exit)
if os.environ.get("MXNET_PROFILER_AUTOSTART", "0") == "1":
    set_state("run")
