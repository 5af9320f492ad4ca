"""The picture of staleness is up to date with the code."""

import runpy
from pathlib import Path

INSIDE = Path(__file__).parents[2] / "docs" / "inside"


def test_the_picture_of_staleness_is_up_to_date():
    drawn = runpy.run_path(str(INSIDE / "staleness.py"))
    assert drawn["picture"](drawn["runs"]()) == (INSIDE / "staleness.svg").read_text(encoding="utf-8")
