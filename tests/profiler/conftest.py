"""The profiler for a test: set up, and reset afterwards as if it had never run."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from twofold import profiler
from twofold.profiler.recorder import RECORDER


@pytest.fixture
def profile(tmp_path) -> Iterator[Callable[..., list[dict[str, Any]]]]:
    """``profile(function, **keywords of set_config)``: the events that a function leaves in the trace."""
    path = tmp_path / "trace.json"

    def run(function: Callable[[], Any], **given: Any) -> list[dict[str, Any]]:
        profiler.set_config(**{"profile_all": True, "continuous_dump": False, "filename": path, **given})
        profiler.set_state("run")
        function()
        profiler.set_state("stop")
        profiler.dump()
        return json.loads(path.read_text(encoding="utf-8"))["traceEvents"]

    yield run
    profiler.set_state("stop")
    config = RECORDER.config
    RECORDER.__init__()
    RECORDER.config = config
    profiler.set_config()


def names(events: list[dict[str, Any]], category: str, phase: str = "X") -> list[str]:
    """Names of a category's events, in order of time."""
    found = [e for e in events if e.get("cat") == category and e["ph"] == phase]
    return [e["name"] for e in sorted(found, key=lambda e: e["ts"])]
