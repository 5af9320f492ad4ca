"""The pages of examples are those of `tools/gallery.py`: none is missing, each has a picture, and they say what the sources say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.house.sources import ROOT
from tools.gallery import EXAMPLES, LISTED, PAGES, about, command_of, index, picture_of
from tools.gallery_charts import Bars, Flow, Lines, Stacks, draw

if TYPE_CHECKING:
    from pathlib import Path

#: The most bytes of a picture: the page of all shows thirty.
MOST = 60_000


def test_every_example_has_a_page():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(LISTED)
    assert {path.stem for path in PAGES.glob("*.md")} == {*LISTED, "index"}


@pytest.mark.parametrize("name", LISTED)
def test_a_page_says_what_its_example_says(name: str):
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert about(name) in page, f"run `make gallery ARGS={name}`"
    assert f"$ {command_of(name)}\n" in page


@pytest.mark.parametrize("name", LISTED)
def test_a_page_has_a_picture(name: str):
    picture, shown = picture_of(name), LISTED[name].picture
    assert len(shown) > 10
    assert f"\n![{shown}]({picture.name})\n" in (PAGES / f"{name}.md").read_text(encoding="utf-8"), f"run `make gallery ARGS={name}`"
    assert 1000 < picture.stat().st_size <= MOST


def test_no_picture_is_left_over():
    pictures = {path.name for path in PAGES.iterdir() if path.suffix != ".md"}
    assert pictures == {picture_of(name).name for name in LISTED}


PRINTED = """by chance: 3
worker 1 | epoch 1: loss 1.5
worker 0 | epoch 1: loss 2.5
worker 1 | epoch 3: loss 0.5
worker 0 | epoch 3: loss 1
losses 4 3.5 3
"""


def test_lines_are_what_was_printed():
    by_worker = Lines(r"(?P<name>worker \d) \| epoch (?P<x>\d+): loss (?P<y>\S+)", "epoch", "loss")
    assert by_worker.points(PRINTED) == {"worker 1": ([1, 3], [1.5, 0.5]), "worker 0": ([1, 3], [2.5, 1])}
    assert Lines(r"losses (?P<y>.*)", "step", "loss", every=5).points(PRINTED) == {"": ([0, 5, 10], [4, 3.5, 3])}


def test_bars_are_what_was_printed_or_is_known():
    assert Bars("loss", {"chance": r"chance: (\d)", "best": 0.25}).lengths(PRINTED) == [3, 0.25]


def test_stacks_have_the_sums_that_were_printed():
    assert Stacks("bytes", {"at once": (r"chance: (\d)", {"a": 1, "b": 2})}).sums(PRINTED) == [3]
    with pytest.raises(ValueError, match="at once: 3 was printed, not 4"):
        Stacks("bytes", {"at once": (r"chance: (\d)", {"a": 2, "b": 2})}).sums(PRINTED)


def test_a_flow_shows_what_was_printed_or_is_known():
    flow = Flow({"push": {"worker 0": 1, "worker 1": 2}, "sum": {"store": r"chance: (\d)"}})
    assert flow.boxes(PRINTED) == [[("worker 0", 1), ("worker 1", 2)], [("store", 3)]]


def test_charts_say_what_they_show(tmp_path: Path):
    pytest.importorskip("matplotlib")
    lines = Lines(r"(?P<name>worker \d) .* (?P<y>\S+)$", "epoch", "loss", level=("chance", r"chance: (\d)"))
    stacks = Stacks("sums", {"both": (r"chance: (\d)", {"first": 1, "second": 2})})
    flow = Flow({"push": {"device": 1}, "pull": {"store": r"chance: (\d)"}})
    draw(tmp_path / "chart.svg", (lines, Bars("bytes", {"at once": r"chance: (\d)"}), stacks, flow), PRINTED)
    texts = re.findall(r"<text[^>]*>([^<]+)</text>", (tmp_path / "chart.svg").read_text(encoding="utf-8"))
    assert {"epoch", "loss", "worker 0", "worker 1", "chance", "bytes", "at once"} <= set(texts)
    assert {"sums", "both", "first", "second", "push", "device: 1", "pull", "store: 3"} <= set(texts)


def test_a_chart_of_what_is_not_printed_is_an_error():
    with pytest.raises(ValueError, match="nothing printed matches 'accuracy: "):
        Bars("accuracy", {"network": r"accuracy: (\d)"}).lengths(PRINTED)


def test_the_list_is_current():
    assert (ROOT / "docs/gallery/index.md").read_text(encoding="utf-8") == index(), "run `make gallery`"
