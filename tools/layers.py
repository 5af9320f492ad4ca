"""Writes the table of layers into docs/inside/architecture.md: the lines of the import contract, with the first sentence of each docstring.

`make layers` writes it; `tests/house/test_layers.py` fails where it is stale.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/inside/architecture.md"
BEGIN, END = "<!-- written by `make layers` -->\n", "<!-- end of what `make layers` writes -->\n"


def layers() -> list[list[str]]:
    """The names in each line of the import contract, the highest line first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    (lines,) = [contract["layers"] for contract in contracts if contract["id"] == "layers"]
    return [re.findall(r"\w+", line) for line in lines]


def purpose_of(docstring: str) -> str:
    """The first sentence of a docstring, as Markdown."""
    first = docstring.split("\n\n")[0].replace("\n", " ")
    return re.split(r"\.(?:\s|$)", first)[0].replace("``", "`")


def file_of(name: str) -> Path:
    """The file with the docstring of a package or module."""
    package = ROOT / "src/twofold" / name
    return package / "__init__.py" if package.is_dir() else package.with_suffix(".py")


def table(rows: list[list[str]]) -> str:
    """The table of the modules of each line."""
    lines = ["| layer | module | contents |", "|---|---|---|"]
    for number, names in zip(range(len(rows), 0, -1), rows, strict=True):
        for name in sorted(names):
            docstring = ast.get_docstring(ast.parse(file_of(name).read_text(encoding="utf-8"))) or ""
            lines.append(f"| {number if name == min(names) else ''} | `{name}` | {purpose_of(docstring)} |")
    return "\n".join(lines) + "\n"


def with_table(page: str) -> str:
    """The page with the table as it should be."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + "\n" + table(layers()) + "\n" + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
