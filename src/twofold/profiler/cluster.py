"""One trace of all processes of a cluster, made from the traces that each of them has written."""

import json
from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from typing import Any

from ..errors import FormatError, ParameterError
from ..formats.files import read_file, write_file
from ..formats.json_text import parse_json
from .trace import trace_chunks

#: Processes of a viewer (devices and domains) for each process of the cluster.
PROCESSES_EACH = 1000
#: No trace is that many microseconds long.
FOREVER = 1e18
#: The category of the workers' joint operations, with the operation's number among ``args``.
COMMUNICATION = "communication"

Path = str | PathLike[str]


def merge_traces(filenames: Sequence[Path], filename: Path, names: Sequence[str] | None = None) -> None:
    """Merge the traces of the processes of a cluster into one file, which Perfetto and `mx.viz.plot_cluster` show.

    Parameters
    ----------
    filenames
        A trace of each process, in the order of ranks.
    filename
        The file to write. It is replaced atomically.
    names
        Names of the processes; ``"worker 0"``, ``"worker 1"``, … if None.

    Raises
    ------
    MissingFileError
        If a trace is missing.
    FormatError
        If a file is not a trace.
    ParameterError
        If there are no files, or another number of names.

    Notes
    -----
    Clocks of different machines are aligned by the sums over workers: none ends, on any worker, before all workers have begun it. Each sum
    bounds the difference of two clocks from both sides; the middle between the closest bounds is taken, or 0 if 0 is between them, as on
    one machine.
    """
    given = [f"worker {rank}" for rank in range(len(filenames))] if names is None else list(names)
    if not filenames or len(given) != len(filenames):
        raise ParameterError("merge_traces: one name for each trace", f"{len(given)} names, {len(filenames)} traces", "pass the traces")
    traces = [read_trace(name) for name in filenames]
    sums = [_sums(trace) for trace in traces]
    offsets = [_offset(sums[0], own) for own in sums]
    lines = (json.dumps(e) for rank, trace in enumerate(traces) for e in _of_cluster(trace, rank, given[rank], offsets[rank]))
    write_file(filename, trace_chunks(lines, {"processes": given, "clock_offsets_us": offsets}))


def read_trace(filename: Path) -> dict[str, Any]:
    """The content of a trace.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FormatError
        If it is not a trace.
    """
    todo = "pass a file that mx.profiler has written"
    try:
        found = parse_json(read_file(filename), "a trace")
    except FormatError as error:
        raise error.at_path(fspath(filename)) from None
    if not isinstance(found, dict) or not isinstance(found.get("traceEvents"), list):
        raise FormatError("not a trace", None, todo, path=fspath(filename))
    for event in found["traceEvents"]:
        if not _is_event(event):
            raise FormatError("not an event of a trace", f"{event!r:.80}", todo, path=fspath(filename))
    return found


def _is_event(event: object) -> bool:
    """Whether an event has what its readers rely on."""
    if not isinstance(event, dict) or not isinstance(event.get("tid", 0), int):
        return False
    match event:
        case {"name": "process_name" | "thread_name", "pid": int()}:
            return isinstance(event.get("args"), dict) and isinstance(event["args"].get("name"), str)
        case {"name": str(), "pid": int()}:
            args, times = event.get("args", {}), [event[key] for key in ("ts", "dur") if key in event]
            if not isinstance(args, dict) or not all(isinstance(time, int | float) and abs(time) < FOREVER for time in times):
                return False
            is_span = event.get("ph") == "X"
            if event.get("cat") == COMMUNICATION and not (is_span and isinstance(args.get("operation", 0), int)):
                return False
            return not is_span or (len(times) == 2 and isinstance(event.get("cat"), str) and "tid" in event)
    return False


def _sums(trace: dict[str, Any]) -> dict[int, tuple[float, float]]:
    """Begin and end of each numbered sum, in microseconds of the process's own clock."""
    found = {}
    for event in trace["traceEvents"]:
        number = event.get("args", {}).get("operation")
        if event.get("cat") == COMMUNICATION and number is not None:
            found[number] = event["ts"], event["ts"] + event["dur"]
    return found


def _offset(first: dict[int, tuple[float, float]], own: dict[int, tuple[float, float]]) -> float:
    """The difference of a process's clock from the first one's, in microseconds."""
    both = first.keys() & own.keys()
    if not both or first is own:
        return 0.0
    # no sum ends before it has begun everywhere: own begin - offset <= first's end, and first's begin <= own end - offset
    low = max(own[k][0] - first[k][1] for k in both)
    high = min(own[k][1] - first[k][0] for k in both)
    return 0.0 if low <= 0 <= high else (low + high) / 2


def _of_cluster(trace: dict[str, Any], rank: int, name: str, offset: float) -> Iterator[dict[str, Any]]:
    """The events of a process, with unique process numbers and the first process's clock."""
    for event in trace["traceEvents"]:
        # every process numbers its devices from 0, so the joint trace needs unique numbers
        moved = {**event, "pid": event["pid"] + rank * PROCESSES_EACH}
        if "ts" in event:
            moved["ts"] = event["ts"] - offset
        if event["name"] == "process_name":
            moved["args"] = {"name": f"{name}: {event['args']['name']}"}
        elif event["name"] == "process_sort_index":
            moved["args"] = {"sort_index": moved["pid"]}
        yield moved
