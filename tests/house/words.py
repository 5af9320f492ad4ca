"""Checks of wording: words that no file in the repository may contain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.house.sources import Source

# One letter of each forbidden word is in brackets, so that this file passes its own check.
FORBIDDEN = {
    "machine path": re.compile(r"(?<![\w.])/(?:wor[k]|roo[t]|hom[e]|User[s]|op[t]|mn[t])(?=[/\s\"'`),;:]|$)|\bC:\\User[s]"),
    "registry host": re.compile(r"\b(?:pyp[i]|pythonhoste[d]|anacond[a]|npmj[s])\.(?:org|com)\b|--(?:extra-)?index-ur[l]|--find-link[s]"),
    "development tool": re.compile(r"\b(?i:claud[e]|anthropi[c]|chatgp[t]|copilo[t]|code[x])\b|\bA[I]\b|\bLL[M]s?\b"),
    "way of working": re.compile(
        r"(?i)(?<!user-)(?<!user_)\b(?:sub)?agen[t]s?\b|\bsession[s]\b|\b(?:this|our|my|last|next|previous|earlier) sessio[n]\b"
    ),
    "unfinished merge": re.compile(r"^(?:<{7}|>{7}) "),
    "unfinished mark": re.compile(r"\b(?:TOD[O]|FIXM[E]|XX[X])\b|\braise NotImplementedErro[r]\s*(?:\(\s*\)\s*)?(?:#|$)"),
}
# Paths that may contain one kind of forbidden word, each with its reason.
EXEMPT: dict[tuple[str, str], str] = {}
# File names that say nothing about the contents.
SILENT_NAMES = frozenset({"common.py", "helper.py", "helpers.py", "misc.py", "util.py", "utils.py"})


def forbidden_words(source: Source) -> Iterator[str]:
    """The lines of a file that contain forbidden words."""
    kinds = [(kind, pattern) for kind, pattern in FORBIDDEN.items() if (source.path, kind) not in EXEMPT]
    for number, line in enumerate(source.text.splitlines(), 1):
        for kind, pattern in kinds:
            if match := pattern.search(line):
                yield f"{source.path}:{number}: {kind}: {match.group().strip()!r}"


def silent_names(paths: Iterable[str]) -> list[str]:
    """The files with meaningless names."""
    return [f"{path}: name it for what it holds" for path in paths if path.rpartition("/")[2] in SILENT_NAMES]
