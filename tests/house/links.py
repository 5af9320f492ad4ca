"""Checks of links: what the Markdown files of the repository link to exists."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping

FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1[`~]*\s*$", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s+<?(\S+?)>?\s*$", re.MULTILINE)
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")


def prose(text: str) -> str:
    """The text without its code, in which brackets mean something else."""
    return INLINE_CODE.sub("", FENCE.sub("", text))


def anchors(text: str) -> set[str]:
    """The fragments that the headings of a Markdown text make, as GitHub and MyST spell them."""
    titles = HEADING.findall(FENCE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def targets(text: str) -> list[str]:
    """The targets of all links that stay inside the repository."""
    found = (inline or reference for inline, reference in LINK.findall(prose(text)))
    return [target for target in found if not ELSEWHERE.match(target)]


def broken_links(pages: Mapping[str, str], paths: Collection[str]) -> Iterator[str]:
    """
    Links of Markdown pages to a file, folder or heading that does not exist.

    Parameters
    ----------
    pages : mapping
        Path of each Markdown file, from the root, to its text.
    paths : collection of str
        All files that a link may lead to.
    """
    places = {place for path in paths for place in (path, *folders_of(path))}
    for page, text in pages.items():
        for target in targets(text):
            file, _, fragment = target.partition("#")
            goal = posixpath.normpath(posixpath.join(posixpath.dirname(page), file)) if file else page
            if goal not in places:
                yield f"{page}: {target}: no such file"
            elif fragment and goal in pages and fragment not in anchors(pages[goal]):
                yield f"{page}: {target}: no such heading"


def folders_of(path: str) -> Iterator[str]:
    """All folders that a path lies in; the root is a dot."""
    while path := posixpath.dirname(path):
        yield path
    yield "."
