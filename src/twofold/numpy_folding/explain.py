"""Which lines of a program fold, which fall back to NumPy, and why."""

from collections import Counter
from typing import NamedTuple

from .sites import SITES, Site


class Line(NamedTuple):
    """What a line of the program did with large arrays.

    Attributes
    ----------
    file, line
        Where it is.
    folded
        How many of its operations waited for others.
    joined
        How often its arrays became part of a chain.
    elements
        How many elements it has computed.
    reasons
        Why other operations did not wait, with how many.
    """

    file: str
    line: int
    folded: int
    joined: int
    elements: int
    reasons: dict[str, int]


def line_of(where: Site) -> int:
    """The line of a site."""
    found = next((n for begin, end, n in where.code.co_lines() if begin <= where.instruction < end), None)
    return found or where.code.co_firstlineno


def lines() -> list[Line]:
    """The lines that computed large arrays, those with the most elements first.

    Examples
    --------
    >>> from twofold.numpy_folding.explain import lines
    >>> isinstance(lines(), list)
    True
    """
    sites: dict[tuple[str, int], list[Site]] = {}
    for where in list(SITES.values()):
        sites.setdefault((where.code.co_filename, line_of(where)), []).append(where)
    found = []
    for (file, line), own in sites.items():
        reasons: Counter[str] = Counter()
        for where in own:
            reasons.update(where.reasons)
        counts = sum(s.folded for s in own), sum(s.joined for s in own), sum(s.elements for s in own)
        if counts[0] or reasons:
            found.append(Line(file, line, *counts, dict(reasons)))
    return sorted(found, key=lambda entry: (-entry.elements, entry.file, entry.line))


def text() -> str:
    """`lines` as a table."""
    rows = []
    for entry in lines():
        reasons = ", ".join(f"{reason} ({count})" for reason, count in sorted(entry.reasons.items(), key=lambda r: -r[1]))
        rows.append(f"{entry.file}:{entry.line}: {entry.folded} folded" + (f"; at once: {reasons}" if reasons else ""))
    return "\n".join(rows)
