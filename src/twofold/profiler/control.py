"""The profiler's controls and output: ``set_config``, ``set_state``, ``pause``, ``resume``, ``dump``, ``dumps``."""

import atexit
import os
import threading
from time import perf_counter
from typing import Any
from warnings import warn

from ..errors import InvalidValue, MXNetError, UnknownKey
from ..formats.files import write_file
from ..launcher_notes import launched
from .config import Config, process
from .recorder import RECORDER
from .servers import send
from .statistics import SORTS

STATES = ("stop", "run")
#: The pause after a periodic write is at least this many times as long as the write, so that writing takes at most 5 % of the time.
PAUSE_PER_WRITE = 20


def set_config(**kwargs: object) -> None:
    """Configure which events are recorded and where they are written. Options not given are reset to their defaults.

    Parameters
    ----------
    filename : str
        The trace file; default ``"profile.json"``.
    profile_all : bool
        Enable the four options below; default False.
    profile_symbolic, profile_imperative : bool
        Record graphs (executors, hybridized blocks, ``mx.compile``), and imperative code; default True.
    profile_memory : bool
        Track the memory of arrays on each device; default True.
    profile_api : bool
        Has no effect: there are no calls into a C library; default True.
    continuous_dump : bool
        Write the file periodically while the profiler runs, not only when it stops; default True.
    dump_period : float
        Seconds between periodic writes; default 1.
    aggregate_stats : bool
        Keep the statistics that `dumps` returns; default False.
    profile_process : str
        ``"worker"``, this process, or ``"server"``, the servers of the store; see `set_kvstore_handle`. Server 0 writes the file
        ``rank0_profile.json``, and so on.

    Raises
    ------
    ParameterError
        For unknown options and values of the wrong type.

    Examples
    --------
    >>> import twofold as mx
    >>> mx.profiler.set_config(filename="run.json", aggregate_stats=True, continuous_dump=False)
    >>> mx.profiler.set_config()
    """
    if kwargs.get("profile_process") == "server":
        given: dict[str, Any] = {name: value for name, value in kwargs.items() if name != "profile_process"}
        Config().assign(given)  # checked here, where the mistake is
        if "filename" in given:
            given["filename"] = os.fspath(given["filename"])
        send("set_config", given)
        return
    RECORDER.configure(kwargs)


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Start the profiler, or stop it and write the trace.

    Parameters
    ----------
    state
        ``"run"`` or ``"stop"``.
    profile_process
        ``"worker"``, this process, or ``"server"``, the servers of the store; see `set_kvstore_handle`.

    Raises
    ------
    ParameterError
        If an argument is unknown.
    """
    if state not in STATES:
        raise UnknownKey("set_state: unknown state", repr(state), f"use one of {', '.join(STATES)}")
    if process(profile_process) == "server":
        send("set_state", {"state": state})
        return
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
    """The state set last: ``"run"`` or ``"stop"``."""
    return RECORDER.state


def pause(profile_process: str = "worker") -> None:
    """Stop recording until `resume`.

    Parameters
    ----------
    profile_process
        ``"worker"``, this process, or ``"server"``, the servers of the store; see `set_kvstore_handle`.
    """
    if process(profile_process) == "server":
        send("pause", {})
        return
    RECORDER.pause()


def resume(profile_process: str = "worker") -> None:
    """Continue recording after `pause`, if the profiler runs.

    Parameters
    ----------
    profile_process
        ``"worker"``, this process, or ``"server"``, the servers of the store; see `set_kvstore_handle`.
    """
    if process(profile_process) == "server":
        send("resume", {})
        return
    RECORDER.resume()


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Write the trace: a JSON file that https://ui.perfetto.dev and chrome://tracing open.

    The file is replaced atomically.

    Parameters
    ----------
    finished
        Whether the trace ends here, so that the next ``set_state("run")`` begins a new one.
    profile_process
        ``"worker"``, this process, or ``"server"``, the servers of the store; see `set_kvstore_handle`.

    Raises
    ------
    MXNetError
        If the profiler never ran.
    FileAccessError
        If the file cannot be written.
    """
    if process(profile_process) == "server":
        send("dump", {"finished": finished})
        return
    if not RECORDER.has_run:
        raise MXNetError("dump: Profiler hasn't been run", None, "configure and start it first")
    _write()
    if finished:
        RECORDER.finish()


def dumps(reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False) -> str:
    """The statistics recorded while ``aggregate_stats`` was enabled.

    Parameters
    ----------
    reset
        Whether to reset the statistics.
    format
        ``"table"``, as printed by MXNet, or ``"json"``.
    sort_by
        ``"total"``, ``"avg"``, ``"min"``, ``"max"`` or ``"count"``.
    ascending
        Whether to sort in ascending order.

    Returns
    -------
    str
        Times in milliseconds, memory in kB (1000 bytes), counters unchanged. The table is empty if nothing was recorded.

    Raises
    ------
    ParameterError
        If an argument is unknown.
    """
    for given, known, what in ((format, ("table", "json"), "format"), (sort_by, SORTS, "sort_by"), (ascending, (False, True), "ascending")):
        if given not in known:
            raise InvalidValue(f"dumps: Invalid value provided for {what}", repr(given), f"use one of {', '.join(map(str, known))}")
    found = RECORDER.take_statistics(reset)
    return found.table(sort_by, ascending) if format == "table" else found.json(sort_by, ascending)


# deprecated names


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """Deprecated: `set_config`.

    Parameters
    ----------
    mode
        ``"symbolic"``, ``"imperative"``, ``"api"``, ``"memory"`` or ``"all"``: enabled in addition to the defaults.
    filename
        The trace file.
    """
    _deprecated("profiler_set_config", "set_config")
    set_config(**{f"profile_{mode}": True, "filename": filename})


def profiler_set_state(state: str = "stop") -> None:
    """Deprecated: `set_state`.

    Parameters
    ----------
    state
        See `set_state`.
    """
    _deprecated("profiler_set_state", "set_state")
    set_state(state)


def dump_profile() -> None:
    """Deprecated: `dump`."""
    _deprecated("dump_profile", "dump")
    dump(True)


def _deprecated(old: str, new: str) -> None:
    warn(f"profiler.{old}() is deprecated. Please use profiler.{new}() instead", UserWarning, stacklevel=3)


# periodic writing


class _Writer:
    """The thread that writes the file periodically. It exists only while the profiler runs with ``continuous_dump``."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, if configured."""
        if RECORDER.config.continuous_dump and (self._thread is None or not self._thread.is_alive()):
            self._stopped = threading.Event()
            self._thread = threading.Thread(target=self._work, args=(self._stopped,), name="twofold-profiler", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop the thread, and wait for a write in progress."""
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
                except MXNetError as error:  # must not make the user's program fail
                    warn(f"profiler: no further periodic writes: {error}", stacklevel=1)
                    return
            wait = max(RECORDER.config.dump_period, PAUSE_PER_WRITE * (perf_counter() - began))


_WRITER = _Writer()


def _write() -> None:
    with RECORDER.writing:
        RECORDER.fold()
        write_file(RECORDER.config.filename, RECORDER.trace.chunks())


def _at_exit() -> None:
    """A profiler that runs at exit is stopped, and its trace written."""
    if RECORDER.state == "run":
        set_state("stop")


atexit.register(_at_exit)
if "TWOFOLD_TRACE" in os.environ:  # `launch --trace`: each process writes one file into this folder
    set_config(filename=os.path.join(os.environ["TWOFOLD_TRACE"], f"{launched()[0]}.json"))
    set_state("run")
elif os.environ.get("MXNET_PROFILER_AUTOSTART", "0") == "1":
    set_state("run")
