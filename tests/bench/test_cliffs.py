"""The benchmark of every size: what it runs is right, what is slow is listed, and the gate is closed to what has no reason."""

import json
import re

import pytest

from asv_benchmarks.cliffs import __main__ as command
from asv_benchmarks.cliffs import plot, report
from asv_benchmarks.cliffs.arrays import arrays
from asv_benchmarks.cliffs.measure import FLOORS, Point, points, prepared
from asv_benchmarks.cliffs.operations import OPERATIONS, PATTERNS, Operation
from asv_benchmarks.cliffs.reasons import REASONS, RECORDED_FUNCTIONS
from asv_benchmarks.ratios import recorded_frames


def _point(title="x + y", way="eager", size=100_000, own=1.0, failure=""):
    return Point(title, "group", way, size, 0.1, own, 0.0, failure)


def test_there_are_enough_operations_and_patterns():
    titles = [o.title for o in (*OPERATIONS, *PATTERNS)]
    assert len(OPERATIONS) >= 120
    assert len(PATTERNS) >= 20
    assert len(set(titles)) == len(titles)
    assert set(titles) >= REASONS.keys()


@pytest.mark.parametrize("operation", [*OPERATIONS, *PATTERNS], ids=lambda o: o.title)
def test_results_are_numpys(operation):
    found = list(points(operation, ("eager", "recorded"), (1, 40), 0.0))
    assert [p.failure for p in found] == [""] * 6


@pytest.mark.parametrize("title", RECORDED_FUNCTIONS)
def test_recorded_operations_enter_no_more_functions_than_their_reason_says(title):
    operation = next(o for o in (*OPERATIONS, *PATTERNS) if o.title == title)
    given = arrays(frozenset(re.findall(r"\w+", operation.text)), 10)
    call = prepared(operation, "recorded", given, 10)
    assert min(recorded_frames(call) for _ in range(2)) <= RECORDED_FUNCTIONS[title]


@pytest.mark.parametrize(
    ("text", "count"),
    [("x[0]", 1), ("x[-1]", 1), ("-x", 1), ("A.T @ c", 2), ("x[1:] += y[:-1]", 3), ("np.where(x > 0.5, x, 0.0)", 2), ("x[j[:8]]", 2)],
)
def test_the_operations_of_a_statement_are_counted(text, count):
    assert Operation(text, "group").operations(10) == count


def test_what_is_below_the_floor_is_no_cliff():
    assert Point("x", "g", "eager", 1, 1e-7, 4e-7, FLOORS["eager"]).ratio == 0.0
    assert not Point("x", "g", "eager", 1, 1e-7, 5.1e-7, FLOORS["eager"]).is_cliff
    assert Point("x", "g", "eager", 1, 1e-7, 5.3e-7, FLOORS["eager"]).is_cliff


def test_slow_large_operations_without_a_reason_and_wrong_results_fail():
    known = next(iter(REASONS))
    passing = [_point(size=1000), _point(own=0.4), _point(title=known), _point(way="first")]
    failing = [_point(), _point(title=known, own=0.1, failure="differs")]
    assert report.complaints(passing) == []
    assert len(report.complaints([*passing, *failing])) == 2


def test_a_selection_is_measured_and_written(tmp_path, capsys):
    file = tmp_path / "figures.json"
    assert command.main(["--only", "x + y", "--sizes", "10,1e5", "--json", str(file)]) == 0
    record = json.loads(file.read_text())
    assert {(p["way"], p["size"]) for p in record["points"]} == {
        *[(way, n) for way in ("first", "eager", "recorded") for n in (10, 100_000)],
        ("folded", 100_000),
    }
    assert "| operation | way |" in capsys.readouterr().out
    plot.draw(record, tmp_path / "picture.svg")
    assert "elements" in (tmp_path / "picture.svg").read_text()
