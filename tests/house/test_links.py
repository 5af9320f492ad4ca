"""What the Markdown pages link to exists."""

from __future__ import annotations

import pytest

from tests.house.links import anchors, broken_links, targets
from tests.house.sources import text_files, tracked_paths
from tests.house.verdict import expect_none

PATHS = ["README.md", "docs/index.md", "docs/inside/laws.md"]


@pytest.mark.parametrize(
    "target", ["inside/laws.md", "../README.md", "../docs/", "..", "#a-law", "inside/laws.md#a-law", "https://numpy.org/x"]
)
def test_a_link_that_leads_somewhere_passes(target: str):
    pages = {"docs/index.md": f"# A law\n[text]({target})", "docs/inside/laws.md": "## A law"}
    assert not list(broken_links(pages, PATHS))


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("laws.md", "no such file"),
        ("../../README.md", "no such file"),
        ("#no-law", "no such heading"),
        ("inside/laws.md#no-law", "no such heading"),
    ],
)
def test_a_link_that_leads_nowhere_is_found(target: str, reason: str):
    pages = {"docs/index.md": f"# A law\n[text]({target})", "docs/inside/laws.md": "## A law"}
    assert list(broken_links(pages, PATHS)) == [f"docs/index.md: {target}: {reason}"]


def test_links_are_read_in_both_forms_and_never_in_code():
    text = "[a](one.md) ![b](<two.png>) [c](three.md 'title')\n\n[d]: four.md\n\n`x[0](five)`\n\n```python\ny[1](six)\n```\n"
    assert targets(text) == ["one.md", "two.png", "three.md", "four.md"]


def test_an_anchor_is_spelt_as_github_spells_it():
    assert anchors("# Set up\n## What's `mx.nd`?\n```\n# no heading\n```\n") == {"set-up", "whats-mxnd"}


def test_every_link_leads_somewhere():
    pages = {source.path: source.text for source in text_files() if source.path.endswith(".md")}
    expect_none(broken_links(pages, tracked_paths()))
