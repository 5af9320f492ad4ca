"""The table of ratios: what is met, what is missed, what fails; and that it can be written as JSON."""

import json

import pytest

from asv_benchmarks import ratios
from asv_benchmarks.ratios import Row, count, ratio
from asv_benchmarks.timing import frames, medians


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (ratio("r", 3.0, 2.0, 1.5), "met"),
        (ratio("r", 5.0, 2.0, 1.5), "missed"),
        (ratio("r", 7.0, 2.0, 1.5), "FAILED"),
        (ratio("r", 7.0, 2.0, None), ""),
        (count("c", 2, "", 2), "met"),
        (count("c", 3, "", 2), "FAILED"),
        (count("c", 3, "", 2, limit=4), "missed"),
        (Row("seconds", 9.0, "s", 0.25), "missed"),
    ],
)
def test_the_verdict_on_a_row(row, verdict):
    assert row.verdict == verdict


@pytest.mark.parametrize(("value", "status"), [(1, 0), (3, 1)])
def test_a_count_above_its_limit_fails_the_run(value, status, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ratios, "SECTIONS", (lambda size: iter([count("frames", value, "", 2)]),))
    file = tmp_path / "rows.json"
    assert ratios.main(["--smoke", "--json", str(file)]) == status
    (row,) = json.loads(file.read_text())
    assert row == {"name": "frames", "value": value, "unit": "", "target": 2, "limit": 2, "verdict": "FAILED" if status else "met"}
    assert "frames" in capsys.readouterr().out


def test_a_section_that_fails_in_a_quick_run_is_measured_once_more_at_full_length(monkeypatch, capsys):
    def section(size):
        yield count("frames", 3 if size is ratios.SMOKE else 2, "", 2)

    monkeypatch.setattr(ratios, "SECTIONS", (section,))
    assert ratios.main(["--smoke"]) == 0
    assert "once more, at full length" in capsys.readouterr().out


def test_functions_take_turns():
    order = []
    medians([lambda: order.append("a"), lambda: order.append("b")], repetitions=2, calls=1)
    assert order == ["a"] * 3 + ["b"] * 3 + ["a", "b"] * 2


def test_frames_counts_python_functions():
    def inner():
        return len(())

    assert frames(lambda: inner()) == 1
