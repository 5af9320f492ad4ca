"""Traces of a cluster: merged over processes whose clocks differ, and drawn."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

import twofold as mx
from twofold.errors import FormatError, MissingFileError, ParameterError

if TYPE_CHECKING:
    from pathlib import Path


def event(name: str, category: str, begin: float, end: float, **details: Any) -> dict[str, Any]:
    return {"name": name, "cat": category, "ph": "X", "ts": begin, "dur": end - begin, "pid": 0, "tid": 1, "args": details}


def write(path: Path, events: list[dict[str, Any]], clock: float) -> Path:
    """A trace of one process, whose clock shows more than the first one's."""
    shifted = [{**e, "ts": e["ts"] + clock} for e in events]
    named = {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "cpu/0"}}
    path.write_text(json.dumps({"traceEvents": [named, *shifted], "otherData": {}}))
    return path


#: Two workers: the second is slow, so that the first waits for it in its sum number 1, from 1100 to 1600 us.
FIRST = [event("forward", "program", 1000, 1100), event("push", "communication", 1100, 2000, operation=1, bytes=800_000)]
SECOND = [event("forward", "program", 1000, 1600), event("push", "communication", 1600, 2001, operation=1, bytes=800_000)]
MORE = [event("push", "communication", 2100, 2110, operation=2), event("push", "communication", 2200, 2210, operation=3)]


@pytest.fixture(params=[0.0, 7.5e9, -3e8], ids=["one machine", "two hours ahead", "behind"])
def merged(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    late = [{**e, "ts": e["ts"] + 4} for e in MORE]
    files = [write(tmp_path / "0.json", FIRST + MORE, 0), write(tmp_path / "1.json", SECOND + late, request.param)]
    mx.profiler.merge_traces(files, tmp_path / "all.json")
    return tmp_path / "all.json"


def test_clocks_are_aligned_by_the_sums(merged: Path) -> None:
    events = json.loads(merged.read_text())["traceEvents"]
    begins = {e["pid"]: e["ts"] for e in events if e["name"] == "forward"}
    # a sum takes 10 us: the closest that two clocks can be compared by it
    assert begins[0] == 1000
    assert begins[1000] == pytest.approx(1000, abs=10)
    assert {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"} == {0: "worker 0: cpu/0", 1000: "worker 1: cpu/0"}


def test_the_drawing_shows_for_whom_a_worker_waits(merged: Path) -> None:
    drawing = mx.viz.plot_cluster(str(merged))
    titles = re.findall("<title>(.*?)</title>", drawing)
    assert "computes for 0.100 ms" in titles
    assert "computes for 0.600 ms" in titles
    (wait,) = [t for t in titles if t.startswith(("waits 0.5", "waits 0.49"))]
    assert wait.endswith("for worker 1")
    assert sum(t.startswith("push (1): 800000 bytes in 0.4") for t in titles) == 2
    part = mx.viz.plot_cluster(merged, begin=0.0011, end=0.00125)
    assert "push (3)" in part
    assert "push (1)" not in mx.viz.plot_cluster(merged, sums=2)
    assert "push (1)" not in part


def test_what_processes_record_can_be_merged(tmp_path: Path) -> None:
    for rank in range(2):
        mx.profiler.set_config(filename=str(tmp_path / f"{rank}.json"), continuous_dump=False)
        mx.profiler.set_state("run")
        (mx.nd.ones((300, 300)) * 2).asnumpy()
        mx.profiler.dump()
        mx.profiler.set_state("stop")
    mx.profiler.set_config()
    mx.profiler.merge_traces([tmp_path / "0.json", tmp_path / "1.json"], tmp_path / "all.json", ["worker 0", "server 0"])
    drawing = mx.viz.plot_cluster(tmp_path / "all.json")
    assert "server 0" in drawing
    assert "computes for" in drawing


def test_files_that_are_no_traces(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        mx.profiler.merge_traces([tmp_path / "absent.json"], tmp_path / "all.json")
    (tmp_path / "0.json").write_text("{")
    with pytest.raises(FormatError, match=r"0\.json: byte 1: a trace is not JSON"):
        mx.profiler.merge_traces([tmp_path / "0.json"], tmp_path / "all.json")
    with pytest.raises(ParameterError, match="one name for each trace"):
        mx.profiler.merge_traces([], tmp_path / "all.json")
    with pytest.raises(FormatError, match="not the trace of a cluster"):
        mx.viz.plot_cluster(write(tmp_path / "0.json", FIRST, 0))


def test_a_time_without_events(merged: Path) -> None:
    with pytest.raises(ParameterError, match="nothing to draw: given 5 s to 6 s of"):
        mx.viz.plot_cluster(merged, 5, 6)
