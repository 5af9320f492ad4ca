"""Aggregate statistics, and their output as MXNet's table or JSON."""

import json
from collections.abc import Iterable, Iterator

TITLE = "\nProfile Statistics:\n\tNote the difference in units for different entries.\n"
#: Column headings by kind of statistic, and the divisor of its values.
COLUMNS = {
    "Time": (("Time (ms)", "Min Time (ms)", "Max Time (ms)", "Avg Time (ms)"), 1e6),
    "Memory": (("Min Use  (kB)", "Max Use  (kB)", "Avg Use  (kB)"), 1e3),
    "Counter": (("Last", "Min", "Max", "Avg"), 1.0),
}
SORTS = ("total", "avg", "min", "max", "count")


class Row:
    """The values of one name: count, sum, bounds, and the last value."""

    __slots__ = ("count", "last", "max", "min", "total")

    def __init__(self) -> None:
        self.count, self.total, self.last = 0, 0, 0
        self.min, self.max = float("inf"), float("-inf")

    def add(self, value: float) -> None:
        """Add a value."""
        self.count += 1
        self.total += value
        self.last = value
        self.min, self.max = min(self.min, value), max(self.max, value)

    @property
    def avg(self) -> float:
        """The mean."""
        return self.total / self.count


class Statistics:
    """Rows by kind (``"Time"`` in nanoseconds, ``"Memory"`` in bytes, ``"Counter"``), category and name."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, dict[str, Row]]] = {kind: {} for kind in COLUMNS}
        self.is_kept = False

    def add(self, kind: str, category: str, name: str, value: float) -> None:
        """Add a value to the row of a name."""
        self.is_kept = True
        self._rows[kind].setdefault(category, {}).setdefault(name, Row()).add(value)

    def _sort(self, kind: str, category: str, sort_by: str, ascending: bool) -> Iterator[tuple[str, Row]]:
        rows = self._rows[kind][category].items()
        yield from sorted(rows, key=lambda row: getattr(row[1], sort_by), reverse=not ascending)

    def table(self, sort_by: str, ascending: bool) -> str:
        """The table that MXNet prints; empty if nothing was recorded."""
        text = TITLE if self.is_kept else ""
        places = [(category, kind) for kind in COLUMNS for category in self._rows[kind]]
        for category, kind in sorted(places):
            headings, unit = COLUMNS[kind]
            text += f"{category}\n=================\n{_line('Name', 'Total Count', headings)}"
            text += _line("----", "-----------", ["-" * len(h) for h in headings])
            for name, row in self._sort(kind, category, sort_by, ascending):
                first = {"Time": [row.total], "Memory": [], "Counter": [row.last]}[kind]
                values = [*first, row.min, row.max, row.avg]
                text += _line(name, str(row.count), [f"{v / unit:.4f}" for v in values])
            text += "\n"
        return text

    def json(self, sort_by: str, ascending: bool) -> str:
        """The statistics as JSON: kind, category, name, values."""
        out: dict[str, object] = {}
        for kind, (_, unit) in COLUMNS.items():
            if kind == "Counter" and not self._rows[kind]:  # MXNet has no such table, so it is there only if it is needed
                continue
            out[kind] = {
                category: {name: _values(kind, row, unit) for name, row in self._sort(kind, category, sort_by, ascending)}
                for category in sorted(self._rows[kind])
            }
        out["Unit"] = {"Time": "ms", "Memory": "kB"}
        return json.dumps(out, indent=4) + "\n"


def _line(name: str, count: str, columns: Iterable[str]) -> str:
    start = f"{name:<30}{count:>11}" if len(name) < 30 else f"{name}{count:>16}"
    return start + "".join(f"{c:>17}" for c in columns) + "\n"


def _values(kind: str, row: Row, unit: float) -> dict[str, float]:
    first = {"Time": {"Total": row.total / unit}, "Memory": {}, "Counter": {"Last": row.last}}[kind]
    return {"Count": row.count, **first, "Min": row.min / unit, "Max": row.max / unit, "Avg": row.avg / unit}
