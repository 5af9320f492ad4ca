"""Numbers, sizes and names as the terminal and the page show them."""

from collections.abc import Sequence
from math import prod

from ...errors import printable
from .content import ArrayContent, Content, Fact, Table

BARS = " ▁▂▃▄▅▆▇█"
UNITS = ("bytes", "kB", "MB", "GB", "TB")
#: Characters of a text that a table shows.
LONGEST = 120
#: Intervals of a histogram in a line of text.
BARS_SHOWN = 12
DISTRIBUTION = "distribution"


def fact_text(value: Fact) -> str:
    """A value as text, of limited length."""
    match value:
        case None:
            return ""
        case bool() | str():
            text = printable(str(value))
            return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
        case int():
            return f"{value:,}"
    return f"{value:.4g}"


def size_in_bytes(size: int) -> str:
    """A number of bytes in the unit that fits it."""
    unit = 0
    scaled = float(size)
    while scaled >= 1000 and unit < len(UNITS) - 1:
        scaled, unit = scaled / 1000, unit + 1
    return f"{size} {UNITS[0]}" if unit == 0 else f"{scaled:.3g} {UNITS[unit]}"


def sparkline(counts: Sequence[int]) -> str:
    """A histogram as bars of characters. Intervals that are not empty have at least the lowest bar."""
    if not counts:
        return ""
    step = max(1, len(counts) // BARS_SHOWN)
    merged = [sum(counts[k : k + step]) for k in range(0, len(counts), step)]
    most = max(merged) or 1
    # rounded up: only an empty interval is blank
    return "".join(BARS[-(-count * (len(BARS) - 1) // most)] for count in merged)


def arrays_table(arrays: Sequence[ArrayContent], with_histograms: bool = True) -> Table:
    """A row for each array, and their total. Columns that are empty in all rows are left out."""
    stored = any(a.storage != "default" for a in arrays)
    not_finite = any(a.statistics is not None and a.statistics.nans + a.statistics.infinities for a in arrays)
    heads = ["name", "shape", "dtype", *(["storage"] if stored else []), "size", "min", "mean", "max", "zeros"]
    heads += ["NaN", "inf"] if not_finite else []
    heads += [DISTRIBUTION] if with_histograms else []
    rows = []
    for a in arrays:
        s = a.statistics
        row: list[Fact] = [a.name, "none" if a.shape is None else str(a.shape), a.dtype, *([a.storage] if stored else [])]
        row += [size_in_bytes(a.size), *((s.minimum, s.mean, s.maximum, s.zeros) if s is not None else (None,) * 4)]
        row += ([s.nans, s.infinities] if s is not None else [None, None]) if not_finite else []
        rows.append([*row, *([sparkline(s.histogram) if s is not None else ""] if with_histograms else [])])
    elements = sum(prod(a.shape) for a in arrays if a.shape is not None)
    title = f"{len(arrays):,} array{'s' * (len(arrays) != 1)}, {elements:,} elements, {size_in_bytes(sum(a.size for a in arrays))}"
    return Table(title, heads, rows)


def samples_table(content: Content) -> Table:
    """A row for each sample."""
    names = list(dict.fromkeys(name for sample in content.samples for name in sample.facts))
    faulty = any(sample.fault for sample in content.samples)
    rows = [[sample.number, *(sample.facts.get(name) for name in names), *([sample.fault] if faulty else [])] for sample in content.samples]
    return Table("Samples", ["number", *names, *(["fault"] if faulty else [])], rows)
