"""Pieces of reStructuredText for the pages that are written: titles, examples, entries of the index, tables of links."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple


def first_sentence(text: str) -> str:
    """The first paragraph of a docstring, on one line."""
    return escaped(" ".join(inspect.cleandoc(text).partition("\n\n")[0].split()))


def escaped(text: str) -> str:
    """A docstring in which stars and bars outside of code are themselves, as in docstrings of Markdown's habits."""
    parts = re.split(r"(``.*?``)", text, flags=re.DOTALL)
    return "".join(part if k % 2 else re.sub(r"([*|])", r"\\\1", part) for k, part in enumerate(parts))


def titled(title: str, *lines: str) -> str:
    """A page of reStructuredText."""
    return "\n".join([title, "=" * len(title), "", *lines, ""])


def example_lines(example: str) -> list[str]:
    """A session under its heading."""
    return [".. rubric:: Example", "", ".. code-block:: pycon", "", *[f"   {line}".rstrip() for line in example.split("\n")], ""]


def inside(lines: list[str]) -> list[str]:
    """Lines as the content of a directive."""
    return [f"   {line}".rstrip() for line in lines]


def searched(*names: str) -> list[str]:
    """Entries of the index by which the search finds a page under names that are not in its text, such as ``mxnet.gluon.Trainer``."""
    return [f".. index:: {', '.join(f'! mxnet.{name}' for name in dict.fromkeys(names))}", ""]


class Entry(NamedTuple):
    """A name with a page: where the page is, its first sentence, and its text."""

    name: str
    page: str
    summary: str
    text: str


def table(entries: Iterable[Entry]) -> Iterator[str]:
    """A table of entries with links, and the hidden list that places their pages below this one."""
    entries = list(entries)
    yield from (".. list-table::", "   :widths: 30 70", "")
    for entry in entries:
        yield f"   * - :doc:`{entry.name} <{entry.page}>`"
        yield f"     - {entry.summary or '…'}"
    yield from ("", ".. toctree::", "   :hidden:", "")
    yield from (f"   {entry.name} <{entry.page}>" for entry in entries)
