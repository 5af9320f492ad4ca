"""`Profile`: a trace as a table and a page, which notebooks show."""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any

from ..extension_points import shown_in_notebooks
from ..formats.files import write_file
from .recorder import RECORDER
from .trace import Trace

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Twofold: profile</title><style>body {{ font-family: sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; }}</style></head>
<body>{}</body></html>
"""


@dataclass(frozen=True)
class Spent:
    """The time of everything of one name.

    Attributes
    ----------
    category, name
        What it is.
    count
        How often it ran.
    total, longest
        Milliseconds of all together and of the longest.
    """

    category: str
    name: str
    count: int
    total: float
    longest: float


class Profile:
    """A recording, which notebooks show as a timeline, a table of times and a button that opens the trace in Perfetto.

    Parameters
    ----------
    trace
        The trace.

    Attributes
    ----------
    trace
        The content of its file: a dict with ``traceEvents``, in Chrome's trace format.
    """

    def __init__(self, trace: Trace) -> None:
        self._text = b"".join(trace.chunks())
        self.trace: dict[str, Any] = json.loads(self._text)

    def chunks(self) -> Iterator[bytes]:
        """The trace as a file, in pieces."""
        yield self._text

    @property
    def times(self) -> list[Spent]:
        """Times by category and name, the longest in total first. A program's time contains that of its kernels."""
        found: dict[tuple[str, str], list[float]] = defaultdict(list)
        for event in self.trace["traceEvents"]:
            if event["ph"] == "X":
                found[event["cat"], event["name"]].append(event["dur"] / 1e3)
        rows = [Spent(category, name, len(times), sum(times), max(times)) for (category, name), times in found.items()]
        return sorted(rows, key=lambda row: -row.total)

    def save(self, filename: str | PathLike[str]) -> None:
        """Write the page that notebooks show to a file, which also works offline.

        Parameters
        ----------
        filename
            The file, such as ``"profile.html"``.

        Raises
        ------
        FileAccessError
            If it cannot be written.
        """
        write_file(filename, [PAGE.format(self._repr_html_()).encode()])

    def __str__(self) -> str:
        lines = [
            f"{row.category:<12} {row.name:<40} {row.count:>7}x {row.total:>10.3f} ms, at most {row.longest:.3f} ms" for row in self.times
        ]
        return "\n".join(lines) or "nothing was recorded"

    def __repr__(self) -> str:
        return str(self)

    _repr_html_ = shown_in_notebooks("profile")


def report() -> Profile:
    """The profiler's records so far, as a table and a page.

    Returns
    -------
    Profile
        The trace, which notebooks show; `Profile.save` writes it as a page.

    Examples
    --------
    >>> import tempfile
    >>> import twofold as mx
    >>> mx.profiler.set_config(filename=f"{tempfile.mkdtemp()}/run.json", continuous_dump=False)
    >>> mx.profiler.set_state("run")
    >>> total = (mx.nd.ones((300, 300)) * 2).sum().asscalar()
    >>> mx.profiler.set_state("stop")
    >>> "window" in [row.category for row in mx.profiler.report().times]
    True
    """
    RECORDER.fold()
    return Profile(RECORDER.trace)
