"""Which lines of a program fold, which fall back to NumPy, and why."""

from collections import Counter
from typing import NamedTuple

from ..extension_points import STANDING_REPORTS
from ..origin import in_brief
from .sites import SITES, Site


class Line(NamedTuple):
    """Figures on a program line's operations on large arrays.

    Attributes
    ----------
    file, line
        Where it is.
    folded
        How many of its operations waited for others.
    made
        How many folding arrays it made, such as by ``zeros``.
    joined
        How often its arrays became part of a chain.
    elements
        How many elements its operations that may wait have computed.
    reasons
        Why NumPy computed other operations immediately, or made an array of its own, with their numbers.
    """

    file: str
    line: int
    folded: int
    made: int
    joined: int
    elements: int
    reasons: dict[str, int]

    def __str__(self) -> str:
        counts = ", ".join(f"{number} {what}" for number, what in ((self.folded, "folded"), (self.made, "made")) if number)
        reasons = ", ".join(f"{reason} ({count})" for reason, count in sorted(self.reasons.items(), key=lambda r: -r[1]))
        return f"{in_brief(self.file, self.line)}: " + "; ".join(filter(None, (counts, reasons and f"at once: {reasons}")))


def lines() -> list[Line]:
    """The lines that computed or made large arrays, by the number of elements computed, then in the order of the program.

    Examples
    --------
    >>> from twofold.numpy_folding.explain import lines
    >>> isinstance(lines(), list)
    True
    """
    sites: dict[tuple[str, int], list[Site]] = {}
    # A line has one site for each instruction that makes arrays. The list is copied since other threads may add sites.
    for where in list(SITES.values()):
        sites.setdefault((where.code.co_filename, where.line), []).append(where)
    found = []
    for (file, line), own in sites.items():
        reasons: Counter[str] = Counter()
        for where in own:
            reasons.update(where.reasons)
        folded, made, joined, elements = (sum(getattr(s, name) for s in own) for name in ("folded", "made", "joined", "elements"))
        if folded or made or reasons:
            found.append(Line(file, line, folded, made, joined, elements, dict(reasons)))
    return sorted(found, key=lambda entry: (-entry.elements, entry.file, entry.line))


def text() -> str:
    """`lines` as a table."""
    return "\n".join(map(str, lines()))


STANDING_REPORTS.append(text)
