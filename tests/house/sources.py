"""The files of the repository, as the structure tests see them: what git tracks or would track, read once."""

from __future__ import annotations

import subprocess
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.edits import parsed

if TYPE_CHECKING:
    import ast

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Source:
    """A text file: its path from the repository's root, with slashes, and its text."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree of a Python file."""
        return parsed(self.text)

    @property
    def folder(self) -> str:
        """The path of the file's folder; empty at the root."""
        return self.path.rpartition("/")[0]


@cache
def tracked_paths() -> tuple[str, ...]:
    """Paths of all files that git tracks, and of new ones that it does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return tuple(path for path in sorted(set(listing.split("\0")) - {""}) if (ROOT / path).is_file())


def decoded(content: bytes) -> str | None:
    """The content as text, or None where it is something else."""
    try:
        return None if b"\0" in content else content.decode("utf-8")
    except UnicodeDecodeError:
        return None


@cache
def text_files() -> tuple[Source, ...]:
    """All files that are text."""
    contents = ((path, decoded((ROOT / path).read_bytes())) for path in tracked_paths())
    return tuple(Source(path, text) for path, text in contents if text is not None)


def python_files(*folders: str) -> list[Source]:
    """All Python files, or those below the folders given."""
    below = tuple(f"{folder}/" for folder in folders)
    return [source for source in text_files() if source.path.endswith(".py") and (not below or source.path.startswith(below))]


@cache
def budgets() -> dict[str, Any]:
    """The tables of budgets.toml."""
    return tomllib.loads((ROOT / "tests/house/budgets.toml").read_text(encoding="utf-8"))
