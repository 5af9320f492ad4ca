"""Links code that pages name, such as ``graph/fuse.py:steps_of``, to its place in the listings of the source."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from docutils import nodes
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.nodes import make_refnode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
NAMED = re.compile(r"([\w/]+\.py)(?::([\w.]+))?")
#: The folders that hold what is imported, and those below which pages name files without the folder.
SOURCES, SHORT = (ROOT / "src", ROOT / "backends"), ROOT / "src/twofold"


class Place(NamedTuple):
    """A file that is imported, and a name in it, which may be empty."""

    file: Path
    name: str

    @property
    def module(self) -> str:
        """The module that the file is, such as ``twofold.graph.fuse``."""
        folder = next(folder for folder in SOURCES if self.file.is_relative_to(folder))
        return ".".join(self.file.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")

    @property
    def page(self) -> str:
        """The page that lists the module."""
        return f"_modules/{self.module.replace('.', '/')}"


def place_of(text: str) -> Place | None:
    """What a piece of code names, if it names a file that is imported."""
    if match := NAMED.fullmatch(text):
        for file in (SHORT / match[1], ROOT / match[1]):
            if file.is_file() and any(file.is_relative_to(folder) for folder in SOURCES):
                return Place(file, match[2] or "")
    return None


@cache
def listing(file: Path, module: str) -> tuple[str, dict[str, tuple[str, int, int]]]:
    """The text of a file, and the first and last line of all that it defines: assignments too, which Sphinx does not count."""
    analyzer = ModuleAnalyzer.for_file(file, module)
    analyzer.find_tags()
    return analyzer.code, {name: ("data", *lines) for name, lines in assigned(ast.parse(analyzer.code).body)} | analyzer.tags


def assigned(body: list[ast.stmt]) -> Iterator[tuple[str, tuple[int, int]]]:
    """The names to which statements assign, inside conditions too, with their lines."""
    for node in body:
        if isinstance(node, ast.If):
            yield from assigned(node.body)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []:
            for name in ast.walk(target):
                if isinstance(name, ast.Name):
                    yield name.id, (node.lineno, node.end_lineno or node.lineno)


def named(doctree: nodes.document) -> Iterator[tuple[nodes.literal, Place]]:
    """The code on a page that names a place, unless it is a link already."""
    for literal in list(doctree.findall(nodes.literal)):
        if not isinstance(literal.parent, nodes.reference) and (place := place_of(literal.astext())):
            yield literal, place


def link(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link what a page names."""
    if app.builder.format == "html":
        for literal, place in named(doctree):
            shown = nodes.literal("", literal.astext())
            literal.replace_self(make_refnode(app.builder, page, place.page, place.name, shown, place.name or place.module))


def remember(app: Sphinx, doctree: nodes.document) -> None:
    """Keep what a page names until the listings are written, and give the first mention of each an anchor, for the way back."""
    places = {}
    for literal, place in named(doctree):
        if place.name and place not in places:
            literal["ids"].append(f"{place.module}.{place.name}")
        places[place] = app.env.docname
    if places:
        app.env.metadata[app.env.docname]["named sources"] = places


def list_sources(app: Sphinx) -> list[tuple[str, dict[str, object], str]]:
    """Have ``sphinx.ext.viewcode`` list the files that pages name, beside those of the API reference. There are no other pages to add."""
    listed = app.env._viewcode_modules
    for found in list(app.env.metadata.values()):
        for place, page in found.get("named sources", {}).items():
            code, lines = listing(place.file, place.module)
            code, tags, used, _ = listed.get(place.module) or listed.setdefault(place.module, (code, lines, {}, place.module))
            if place.name:
                tags.setdefault(place.name, lines[place.name])
                used.setdefault(place.name, page)
    return []


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx of it, before ``viewcode`` writes its listings."""
    app.connect("doctree-read", remember)
    app.connect("doctree-resolved", link)
    app.connect("html-collect-pages", list_sources, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
