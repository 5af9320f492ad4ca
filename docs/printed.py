"""Pages printed from what they describe: the directives ``operator-table``, ``settings-table``, ``error-tree`` and ``suites-table``."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from operator_pages import parameters
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from twofold import errors
from twofold import ndarray as _registers_the_operators  # noqa: F401
from twofold.config import TABLE
from twofold.opdef.frontend import place_of
from twofold.opdef.registry import NAMES

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

    from twofold.opdef.spec import Op

ROOT = Path(__file__).parents[1]

#: Where operators stand in ``mx.nd`` and ``mx.sym``, in the order of the page.
PLACES = {
    "": "Functions of `mx.nd` and `mx.sym`",
    "linalg": "`linalg`",
    "contrib": "`contrib`",
    "image": "`image`",
    "random": "What `mx.nd.random` and `mx.sym.random` stand for, registered as `_random_…` and `_sample_…`",
    "_internal": "`_internal`: what Python's operators and the hand-written functions stand for",
}


def cell(text: str) -> str:
    """A text as it may stand in a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def summary(op: Op) -> str:
    """The first sentence of an operator's documentation."""
    first = inspect.cleandoc(op.doc).partition("\n\n")[0]
    return first or f"{op.title.strip('_')}."


def arguments(op: Op) -> str:
    """Arrays and parameters with their defaults, as the generated function takes them."""
    arrays = [f"*{i.name}" if op.variadic and i is op.inputs[-1] else i.name for i in op.inputs if not i.injected]
    return ", ".join(f"`{part}`" for part in [*arrays, *parameters(op)])


def operator_tables() -> Iterable[str]:
    """A table for each place, with one row for each operator under its first name there."""
    rows: dict[str, dict[Op, list[str]]] = {}
    for registered, op in sorted(NAMES.items()):
        where, name = place_of(registered)
        rows.setdefault(where, {}).setdefault(op, []).append(name)
    for where, title in PLACES.items():
        if found := rows.get(where):
            yield f"## {title}\n\n| name | arrays and parameters | what |\n|---|---|---|"
            for op, names in found.items():
                yield f"| {', '.join(f'`{n}`' for n in names)} | {cell(arguments(op))} | {cell(summary(op))} |"
            yield ""


def settings_table() -> Iterable[str]:
    """A row for each setting."""
    yield "| variable | default | meaning |\n|---|---|---|"
    for setting in TABLE:
        yield f"| `{setting.variable}` | `{setting.default}` | {cell(setting.meaning)} |"


def error_tree() -> Iterable[str]:
    """The tree as the module draws it."""
    doc = inspect.getdoc(errors) or ""
    drawn = doc.partition("::\n\n")[2].partition("\nA message has")[0]
    yield f"```text\n{inspect.cleandoc(drawn)}\n```"


def number(path: str, pattern: str) -> int:
    """A number that a file below the root states, such as one of another page: it is written once."""
    found = re.search(pattern, (ROOT / path).read_text(encoding="utf-8"), re.DOTALL)
    if found is None:
        raise ExtensionError(f"suites-table: {path} says nothing like {pattern!r} any more; mend the pattern")
    return int(found[1].replace(",", ""))


def suites_table() -> Iterable[str]:
    """A row for each suite: what passes, of how many."""
    names, nodes, arrays = "docs/reference/mxnet-names.md", "docs/reference/onnx-node-tests.md", "docs/inside/folding-arrays.md"
    present = number(names, r"([\d,]+) names are the same") + number(names, r"([\d,]+) better")
    cases = json.loads((ROOT / "tests/oracle_values/cases.json").read_text(encoding="utf-8"))["cases"]
    rows = [
        ("Public names of MXNet 1.9.1", "[What runs](mxnet-names.md)", present, present + number(names, r"([\d,]+) absent\.")),
        (
            "NumPy's own tests, on folding arrays",
            "[Folding arrays](../inside/folding-arrays.md)",
            number(arrays, r"([\d,]+) pass, [\d.]+ %"),
            number(arrays, r"Of the ([\d,]+) tests"),
        ),
        (
            "ONNX's tests of single nodes",
            "[ONNX's node tests](onnx-node-tests.md)",
            number(nodes, r"passes\s([\d,]+) of them"),
            number(nodes, r"ships ([\d,]+) tests"),
        ),
    ]
    yield "| suite | passes | of | share | which |\n|---|---:|---:|---:|---|"
    for suite, page, passing, total in rows:
        yield f"| {suite} | {passing:,} | {total:,} | {passing / total:.1%} | {page} |"
    yield (
        f"\nBeside these, {len(cases):,} calls of operators are compared with what the real MXNet 1.9.1 answered, in each run of the "
        "tests; where Twofold differs on purpose, a row of [the differences](compatibility.md) says why."
    )


class Printed(SphinxDirective):
    """A directive whose content is Markdown made by a function."""

    content_of: Any = None

    def run(self) -> list[nodes.Node]:
        """The parsed text."""
        return self.parse_text_to_nodes("\n".join(type(self).content_of()), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx of the directives."""
    printed = {"operator-table": operator_tables, "settings-table": settings_table, "error-tree": error_tree, "suites-table": suites_table}
    for name, content in printed.items():
        app.add_directive(name, type(content.__name__, (Printed,), {"content_of": staticmethod(content)}))
    return {"parallel_read_safe": True}
