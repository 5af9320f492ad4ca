"""Prints for each folder the lines of code, their change since a revision, comments, `type: ignore`, and public functions that say `Any`.

A line of code has a token other than a comment or a docstring. Run by `make code-lines` (REV names the revision compared with); the
marks of `marks.py` stand below.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}


@dataclass
class Texture:
    """What is counted of a file, or of many."""

    code: int = 0
    comments: int = 0
    ignores: int = 0
    public: int = 0
    says_any: int = 0

    def __add__(self, other: Texture) -> Texture:
        return Texture(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def docstring_lines(nodes: Iterable[ast.AST]) -> set[int]:
    """The lines of all strings that stand alone as statements."""
    lone = (n for n in nodes if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant) and isinstance(n.value.value, str))
    return {line for n in lone for line in range(n.lineno, (n.end_lineno or n.lineno) + 1)}


def annotations_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The texts of a function's annotations."""
    given = function.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    return [ast.unparse(a) for a in (*(x.annotation for x in arguments), function.returns) if a is not None]


@cache
def code_and_comments(text: str) -> tuple[set[int], int]:
    """The numbers of the lines of code, docstrings included, and how many comments there are."""
    code, comments = set[int](), 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            # what a tool is told is no comment for a reader
            comments += not re.match(r"#\s*(type:|noqa|ruff:|pyright:|pragma)", token.string)
        elif token.type not in SKIPPED:
            code.update(range(token.start[0], token.end[0] + 1))
    return code, comments


def texture_of(text: str) -> Texture:
    """The counts of one file's text."""
    tree = ast.parse(text)
    code, comments = code_and_comments(text)
    public = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef) and not f.name.startswith("_")]
    typed = [notes for f in public if (notes := annotations_of(f))]
    says_any = sum(any(re.search(r"\bAny\b", note) for note in notes) for notes in typed)
    return Texture(
        len(code - docstring_lines(ast.walk(tree))), comments, len(re.findall(r"#\s*type:\s*ignore", text)), len(typed), says_any
    )


def folder_of(path: str) -> str:
    """The row that a file counts for: an adapter, a package of twofold, or its single modules."""
    top, *rest = path.split("/")
    if top == "backends":
        return rest[0]
    return rest[1] if len(rest) > 2 else "modules"


def files_at(revision: str | None) -> dict[str, str]:
    """Path to text of the Python files of src and backends, in the working tree or at a revision."""
    if revision is None:
        paths = sorted(p for top in ("src", "backends") for p in (ROOT / top).rglob("*.py"))
        return {str(p.relative_to(ROOT)): p.read_text(encoding="utf-8") for p in paths}
    names = git("ls-tree", "-r", "--name-only", revision, "src", "backends").split()
    return {name: git("show", f"{revision}:{name}") for name in names if name.endswith(".py")}


def git(*words: str) -> str:
    """What a git command prints."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def by_folder(files: dict[str, str]) -> dict[str, Texture]:
    """The counts by folder."""
    found: dict[str, Texture] = {}
    for path, text in files.items():
        folder = folder_of(path)
        found[folder] = found.get(folder, Texture()) + texture_of(text)
    return found


def row(name: str, found: Texture, change: str) -> str:
    """One line of the table."""
    comments, says_any = found.comments / (found.code or 1), found.says_any / (found.public or 1)
    return f"{name:20} {found.code:8,} {change:>8} {comments:9.1%} {found.ignores:8} {says_any:5.0%}"


def print_folders(now: dict[str, Texture], before: dict[str, Texture], revision: str | None) -> None:
    """Print the table of folders, with the totals in its last line."""
    for table in (now, before):
        table["total"] = sum(table.values(), Texture())
    print(f"{'':20} {'lines':>8} {'change' if revision else '':>8} {'comments':>9} {'ignores':>8} {'Any':>5}")
    for name in [*sorted({*now, *before} - {"total"}), "total"]:
        found, old = now.get(name, Texture()), before.get(name, Texture())
        print(row(name, found, f"{found.code - old.code:+,}" if revision else ""))


def main(words: list[str]) -> None:
    """Print both tables: folders and marks."""
    parser = argparse.ArgumentParser(description="Count lines, comments and other marks of src and backends.")
    parser.add_argument("revision", nargs="?", help="a revision to compare with")
    parser.add_argument("--lower", action="store_true", help="write marks that are better than their limits into tests/house/ceilings.toml")
    given = parser.parse_args(words)
    now, before = files_at(None), files_at(given.revision) if given.revision else {}
    print_folders(by_folder(now), by_folder(before), given.revision)
    sys.path.insert(0, str(ROOT))
    from tools.marks import print_marks

    print_marks(now, before, given.lower)


if __name__ == "__main__":
    main(sys.argv[1:])
