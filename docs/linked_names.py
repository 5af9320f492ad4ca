"""Links the page of MXNet's names: each name to the page that describes it, each title of a difference to its row.

The page itself has neither links nor titles of pages: it is written from an inventory, and there is a page for a name or not.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from docutils import nodes
from names_of_users import further_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sphinx.application import Sphinx
    from sphinx.domains.python import ObjectEntry

NAMES, DIFFERENCES = "reference/mxnet-names", "reference/compatibility"


def titled_rows(doctree: nodes.document) -> Iterator[tuple[nodes.row, str]]:
    """The rows of tables whose first cell has text in bold, with the text of the cell."""
    for row in doctree.findall(nodes.row):
        if any(row[0].findall(nodes.strong)):
            yield row, row[0].astext().strip()


def row_id(title: str) -> str:
    """The anchor of a row."""
    return f"row-{nodes.make_id(title)}"


def name_rows(app: Sphinx, doctree: nodes.document) -> None:
    """Give the rows of the page of differences anchors."""
    if app.env.docname == DIFFERENCES:
        for row, title in titled_rows(doctree):
            row["ids"].append(row_id(title))


@cache
def users_names(count: int) -> Mapping[str, str]:
    """The names of users that pages do not have, for so many objects of `described`."""
    return further_names(described)


#: The objects that pages describe, by name: those of the domain for Python, once the pages have been read.
described: dict[str, ObjectEntry] = {}


def entry_of(name: str) -> ObjectEntry | None:
    """Where a name such as ``mx.gluon.nn.Dense`` is described."""
    return described.get(name) or described.get(users_names(len(described)).get(name, ""))


def link(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link the names and the titles of the page of names."""
    if page != NAMES or app.builder.format != "html":
        return
    described.update(app.env.get_domain("py").data["objects"])
    doctree[0]["classes"].append("names")
    for literal in list(doctree.findall(nodes.literal)):
        if entry := entry_of(literal.astext()):
            place = app.builder.get_relative_uri(page, entry.docname)
            # a page of one name begins with it
            anchor = "" if place.endswith(f"{literal.astext().removeprefix('mx.')}.html") else f"#{entry.node_id}"
            literal.replace_self(nodes.reference("", literal.astext(), internal=True, refuri=place + anchor))
    differences = app.builder.get_relative_uri(page, DIFFERENCES)
    for reference in doctree.findall(nodes.reference):
        if reference.get("refuri") == differences and isinstance(reference.parent.parent, nodes.list_item):
            reference["refuri"] += f"#{row_id(reference.astext())}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx of it."""
    app.connect("doctree-read", name_rows)
    app.connect("doctree-resolved", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
