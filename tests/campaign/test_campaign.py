"""The campaign: some trials of each search end as promised, and failures are noticed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import twofold as mx

from tests.campaign import programs, saves
from tests.campaign.__main__ import ROOT, environment, lines_of
from tests.campaign.files import told
from tests.campaign.page import row
from tests.campaign.saves import Save
from tests.campaign.searches import SEARCHES
from tests.campaign.trials import Ended, Search, measured
from tests.conftest import absent

#: Searches that one process can run one after another.
GROUPS = {
    "files": [name for name in SEARCHES if name.startswith("file ")],
    "guided": ["guided"],
    "graphs": ["symbol parameters", "symbol grammar", "onnx grammar"],
    "saves": ["kill", "full disk"],
    "processes": ["interrupts", "forks", "full memory", "allocations", "threads"],
    "beside MXNet": ["beside mxnet"],
    "programs": ["programs", "three ways", "folding", "leaks"],
}


@pytest.mark.ci
@pytest.mark.fuzz
@pytest.mark.parametrize("group", GROUPS)
def test_some_trials_of_each_search_end_as_promised(group: str, shared: Path, request: pytest.FixtureRequest) -> None:
    if group == "saves" and (reason := saves.can_trace()):
        absent(reason)
    if group == "guided":
        pytest.importorskip("atheris")
    if group == "beside MXNet":  # skipped where it cannot be installed
        request.getfixturevalue("oracle")("import mxnet")
    names = GROUPS[group]
    command = [sys.executable, "-W", "ignore", "-m", "tests.campaign.trials", ",".join(names), "0", "0"]
    own = environment() | SEARCHES[names[-1]].environment
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=own, check=False, timeout=900)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    promised = {outcome for name in names for outcome in SEARCHES[name].promised}
    assert not [line for line in lines if line[1] not in promised]
    assert (done.returncode, len(lines)) == (0, sum(SEARCHES[name].smoke for name in names)), done.stderr[-2000:]


def test_every_search_is_in_a_group() -> None:
    assert sorted(SEARCHES) == sorted(name for names in GROUPS.values() for name in names)


def test_a_trial_that_ends_its_process_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SEARCHES, "ends", SEARCHES["kill"])  # in this process only: the other finds no such search
    [(seed, outcome, note)] = lines_of("ends", 7, 2)
    assert (seed, outcome) == (7, "crash")
    assert "KeyError" in note


@pytest.mark.parametrize(
    ("action", "outcome"),
    [(lambda: Ended("right"), "right"), (lambda: Ended("right", str(len(bytearray(200 << 20)))), "too much memory")],
    ids=["small", "large"],
)
def test_memory_beyond_the_allowance_is_noticed(action: Any, outcome: str) -> None:
    assert measured(action, 1000).outcome == outcome


def test_a_sparse_array_is_told_by_its_parts() -> None:
    shape = (1 << 40, 2)  # as a dense array, 8 TB
    first, second = (mx.nd.sparse.row_sparse_array(([[1, value]], [5]), shape=shape) for value in (2, 3))
    assert told(first) != told(second)
    assert told(first) == told(mx.nd.sparse.row_sparse_array(([[1, 2]], [5]), shape=shape))


def _in_place(folder: Path, version: int) -> None:
    with open(folder / "a", "w", buffering=1) as file:
        for _ in range(5):
            file.write(f"{version}\n")


def test_a_save_in_place_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := saves.can_trace():
        absent(reason)
    monkeypatch.setattr(saves, "SAVES", {"in place": Save(_in_place, ("a",), lambda name: Path(name).read_text())})
    trial = saves.kills(tmp_path)
    outcomes = Counter(trial(seed).outcome for seed in range(20))
    assert outcomes["neither old nor new"] > 2
    assert outcomes["none left"] > 0


def _longer(folder: Path) -> Any:
    text = bytearray()
    return lambda: text.extend(bytes(100))


def _one_object(folder: Path) -> Any:
    kept: list[object] = []
    return lambda: kept.append(object())


def _in_steps(folder: Path) -> Any:
    kept: list[object] = []
    return lambda: kept.clear() if len(kept) == 100 else kept.append(object())


@pytest.mark.parametrize(
    ("make", "outcome"),
    [(_one_object, "grows"), (_longer, "grows"), (_in_steps, "level"), (lambda _: lambda: [object()], "level")],
    ids=["an object a step", "100 bytes a step", "100 objects at most", "none"],
)
def test_a_loop_that_leaves_memory_behind_is_noticed(make: Any, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "LOOPS", {"loop": make})
    monkeypatch.setattr(programs.adapter, "MOST_SCALARS", 16)
    assert programs.leaks(tmp_path)(0).outcome == outcome


def test_the_page_counts_failures_that_are_left() -> None:
    found = {"counts": {"right": 1500, "crash": 2, "none left": 9}, "seen": 5, "date": "2026-01-02", "commit": "abc"}
    search = Search("some files", lambda folder: lambda seed: Ended("right"), ("right",))
    line = row(search.title, found, 30_000, search.promised)
    assert line == "| some files | 1,502 | 30,000 | right 1,500, crash 2 | 5 | 2 | 2026-01-02 | abc |"
