"""Runs the Python blocks of a Markdown page in one namespace; a comment after a ``print(…)`` must be its output.

``python -m tests.docs.pages PAGE`` runs a page in a separate process, since pages register operators and set the environment.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

BLOCK = re.compile(r"^(?P<fence>`{3,})(?P<language>[^`\n]*)\n(?P<text>.*?)^(?P=fence)\s*$", re.MULTILINE | re.DOTALL)
EXPECTED = re.compile(r"^print\(.*\)\s+# (.*)$")


class Block(NamedTuple):
    """A block of a page: its language, its text, and the number of its first line."""

    language: str
    text: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, except directives."""
    for match in (m for m in BLOCK.finditer(page) if not m["language"].startswith("{")):
        yield Block(match["language"], match["text"], page.count("\n", 0, match.start("text")) + 1)


def same_text(got: str, wanted: str) -> bool:
    """Whether two texts are equal up to whitespace; ``…`` in the expected one matches anything."""
    parts = ["".join(part.split()) for part in wanted.split("…")]
    return re.fullmatch(".*".join(map(re.escape, parts)), "".join(got.split())) is not None


def run_block(block: Block, name: str, namespace: dict[str, Any]) -> Iterator[str]:
    """Run a block statement by statement; returns the mismatches in its output."""
    lines = block.text.splitlines()
    for statement in ast.parse(block.text).body:
        ast.increment_lineno(statement, block.line - 1)
        code = compile(ast.Module([statement], []), name, "exec", dont_inherit=True)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, namespace)
        expected = EXPECTED.match(lines[(statement.end_lineno or 0) - block.line])
        if expected and not same_text(printed.getvalue(), expected[1]):
            yield f"{name}:{statement.lineno}: printed {printed.getvalue().strip()!r}, the page says {expected[1]!r}"


def run_page(path: Path) -> list[str]:
    """Run all Python blocks of a page in order; returns the mismatches in their output."""
    # where errors of floating-point numbers are exceptions, arrays of `run --numpy` do not wait
    warnings.filterwarnings("default", category=RuntimeWarning)
    namespace: dict[str, Any] = {"__name__": "page"}
    found = [block for block in blocks(path.read_text(encoding="utf-8")) if block.language == "python"]
    return [wrong for block in found for wrong in run_block(block, path.name, namespace)]


if __name__ == "__main__":
    wrongs = run_page(Path(sys.argv[1]))
    print("\n".join(wrongs))
    sys.exit(bool(wrongs))
