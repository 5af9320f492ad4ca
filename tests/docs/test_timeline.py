"""The picture of two devices at work is up to date with the code."""

import runpy
from pathlib import Path

from tests.devices import fake_gpus

INSIDE = Path(__file__).parents[2] / "docs" / "inside"


def test_the_timeline_is_up_to_date():
    with fake_gpus(2):
        drawn = runpy.run_path(str(INSIDE / "timeline.py"))
        assert drawn["picture"](drawn["intervals_of"]()) == (INSIDE / "timeline.svg").read_text(encoding="utf-8")
