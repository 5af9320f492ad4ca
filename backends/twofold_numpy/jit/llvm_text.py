"""LLVM functions that no kernel changes, from files in ``llvm/`` with ``$WORDS`` for what only Python knows."""

from functools import cache
from pathlib import Path
from string import Template


@cache
def llvm_text(name: str, **words: str | int) -> str:
    """The text of ``llvm/<name>.ll`` with its words filled in."""
    return Template((Path(__file__).parent / "llvm" / f"{name}.ll").read_text(encoding="utf-8")).substitute(words)
