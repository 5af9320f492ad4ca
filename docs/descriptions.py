"""Describes each page of the site for search engines and previews of links, by its first paragraph."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from docutils import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

#: What search engines show of a description, in characters.
SHOWN = 160


def parents_of(node: nodes.Node) -> Iterator[nodes.Node]:
    """The nodes that hold a node, from the inside out."""
    while (node := node.parent) is not None:
        yield node


def description_of(doctree: nodes.document | None, title: str) -> str:
    """The beginning of a page's first paragraph of prose, cut between words; without one, what the page is called."""
    # a paragraph in a table or a list is a label more often than a sentence
    apart = (nodes.table, nodes.list_item, nodes.Admonition)
    for found in doctree.findall(nodes.paragraph) if doctree else ():
        text = " ".join(found.astext().split())
        if len(text) > 25 and not any(isinstance(parent, apart) for parent in parents_of(found)):
            return text if len(text) <= SHOWN else f"{text[: SHOWN - 1].rpartition(' ')[0]} …"
    return f"{title}: Twofold, arrays and deep learning in Python"


def add(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Add the description to a page's head, unless the page has one of its own."""
    if 'name="description"' not in context.get("metatags", ""):
        text = escape(description_of(doctree, context.get("title") or page.capitalize()))
        context["metatags"] = f'{context.get("metatags", "")}<meta name="description" content="{text}" />\n'


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("html-page-context", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
