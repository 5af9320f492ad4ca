"""The picture of two devices at work is up to date with the code."""

import runpy
from pathlib import Path

import pytest

from tests.devices import fake_gpus

INSIDE = Path(__file__).parents[2] / "docs" / "inside"


def test_the_timeline_is_up_to_date():
    with fake_gpus(2):
        drawn = runpy.run_path(str(INSIDE / "timeline.py"))
        assert drawn["picture"](drawn["intervals_of"]()) == (INSIDE / "timeline.svg").read_text(encoding="utf-8")


def test_the_picture_of_an_iterators_threads_shows_each_of_them(tmp_path: Path):
    pytest.importorskip("PIL.Image")
    drawn = runpy.run_path(str(INSIDE / "feeding.py"))
    found = drawn["steps"](str(tmp_path), batches=2, batch_size=4)
    by_row = [{step.name for step in found if step.row == row} for row in range(3)]
    assert by_row[0] == {"training", "wait for images"}
    assert {"decode", "resize and normalize", "read record"} == by_row[1] | by_row[2]
    assert sum(step.name == "decode" for step in found) == 8
    assert drawn["picture"](found).count("<rect") == len(found) + len(drawn["COLORS"])
