"""Every stored figure of a comparison is in the documentation's tables."""

import json

import pytest

from asv_benchmarks.pages import NO_BREAK, RESULTS, comparison, comparisons, format_amount, format_target, has_history


@pytest.mark.parametrize(
    ("value", "unit", "text"), [(1.5, "s", "1.5 s"), (2.5e-3, "s", "2.5 ms"), (3.25e-7, "s", "325 ns"), (583e6, "B", "583 MB")]
)
def test_an_amount_has_three_digits(value, unit, text):
    assert format_amount(value, unit) == text


@pytest.mark.parametrize(
    ("value", "target", "text"), [(3.1722, ">= 2.5 x", "3.17 x, ≥ 2.5 x"), (3.572e-07, "<= 0.4 µs", "357 ns, ≤ 0.4 µs")]
)
def test_a_result_has_the_unit_of_its_target(value, target, text):
    assert ", ".join(format_target({"value": value, "target": target})).replace(NO_BREAK, " ") == text


def test_every_comparison_has_a_table_with_every_work_and_way():
    kept = sorted(RESULTS.glob("peers-*.json"))
    assert kept
    text = "\n".join(comparisons(RESULTS))
    for file in kept:
        for item in json.loads(file.read_text(encoding="utf-8"))["items"].values():
            assert f"### {item['text']}\n" in text
            for way, value in item["medians"].items():
                assert f"| {way} | {format_amount(value, item['unit'])} |" in text


def test_small_operations_and_loops_have_tables(tmp_path):
    rows = [
        {"name": "x + x: over NumPy", "value": 0.4567, "unit": "µs", "target": 0.3},
        {"name": "x + x: Python frames", "value": 1, "unit": "", "target": 1},
        {"name": "all of them / NumPy, geometric mean", "value": 1.234, "unit": "x", "target": 2.0},
    ]
    (tmp_path / "small-2-cores.json").write_text(json.dumps(rows))
    (tmp_path / "loops-2-cores.json").write_text(json.dumps({"slow": 2.0, "fast": 0.5}))
    text = "\n".join(comparisons(tmp_path))
    assert "| `x + x` | 0.46 µs | 0.30 µs |\n\n* all of them / NumPy, geometric mean: 1.23" in text
    assert "geometric mean 1.00" in text
    assert "| fast | 0.50 |\n| slow | 2.00 |" in text
    assert "frames" not in text


def test_the_fastest_is_first_and_the_others_are_relative_to_it():
    items = {"a": {"text": "work", "unit": "s", "medians": {"slow": 3.0, "fast": 2.0}}}
    record = {"date": "2026-01-01", "cores": 2, "libraries": {"slow": {"version": "1"}}, "verdicts": [], "items": items}
    *_, table = comparison(record)
    assert table.splitlines()[2:] == ["| fast | 2 s | 1.00 |", "| slow | 3 s | 1.50 |"]


def test_targets_that_were_judged_are_counted():
    verdicts = [
        {"work": "w", "own": "o", "against": "a", "value": value, "target": ">= 1 x", "verdict": verdict}
        for value, verdict in ((2.0, "met"), (0.5, "missed"), (None, "not measured"))
    ]
    text = "\n".join(comparison({"date": "2026-01-01", "cores": 2, "libraries": {}, "verdicts": verdicts, "items": {}}))
    assert "1 of 2 are met" in text
    assert "| w | o | a | 0.50 x | ≥ 1 x | missed |" in text.replace(NO_BREAK, " ")


def test_a_history_is_there_where_asv_keeps_one(tmp_path):
    assert not has_history(tmp_path)
    machine = tmp_path / "asv" / "a machine"
    machine.mkdir(parents=True)
    (machine / "machine.json").write_text("{}")
    assert has_history(tmp_path)
