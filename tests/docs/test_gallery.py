"""The pages of examples are those of `tools/gallery.py`: none is missing, and what they say of an example is what its source says."""

from __future__ import annotations

import pytest

from tests.house.sources import ROOT
from tools.gallery import EXAMPLES, LISTED, PAGES, about, command_of, index

#: Runs on files that are not in the repository.
WITHOUT_PAGE = {"mnist_cnn"}


def test_every_example_has_a_page():
    assert {path.stem for path in EXAMPLES.glob("*.py")} - WITHOUT_PAGE == set(LISTED)
    assert {path.stem for path in PAGES.glob("*.md")} == {*LISTED, "index"}


@pytest.mark.parametrize("name", LISTED)
def test_a_page_says_what_its_example_says(name: str):
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert about(name) in page, f"run `make gallery ARGS={name}`"
    assert f"$ {command_of(name)}\n" in page


def test_the_list_is_current():
    assert (ROOT / "docs/gallery/index.md").read_text(encoding="utf-8") == index(), "run `make gallery`"
