"""No page for users is a dead end: each says at its end where to go next."""

from __future__ import annotations

import re

import pytest

from tests.house.sources import ROOT

FOLDERS = ("tutorial", "how-to", "guide")
#: Lines at the end of a page that are looked at.
END = 8
LINK = re.compile(r"\]\((?!https?:)[^)]+\.md[^)]*\)")


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_page_ends_with_a_way_on(folder):
    pages = [page for page in (ROOT / "docs" / folder).glob("*.md") if page.name != "index.md"]
    assert len(pages) > 5
    ends = {page.name: "\n".join(page.read_text(encoding="utf-8").rstrip().splitlines()[-END:]) for page in pages}
    assert [name for name, end in ends.items() if not LINK.search(end)] == []


def test_the_first_steps_lead_through_each_other():
    order = re.search(
        r"## First steps.*?```\{toctree\}\n:maxdepth: 1\n\n(.*?)\n```", (ROOT / "docs/tutorial/index.md").read_text(), re.DOTALL
    )[1]
    assert order.split()[:2] == ["arrays", "autograd"]
    for page, following in zip(order.split(), order.split()[1:], strict=False):
        assert f"]({following}.md" in (ROOT / f"docs/tutorial/{page}.md").read_text(encoding="utf-8"), (
            f"{page} does not lead to {following}"
        )
