"""Prints the contents of a file: as tables of rich on a terminal, as aligned text elsewhere."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import zip_longest

from ...errors import printable
from .content import Content, Fact, Table
from .wording import arrays_table, fact_text, samples_table, size_in_bytes

#: Rows of a table that are printed.
MOST_ROWS = 400
#: Columns of texts longer than this may be folded to it.
FOLDED = 16
#: Characters between two columns of a table of rich.
BETWEEN = 3


def print_content(content: Content) -> None:
    """Print the facts, then the tables."""
    facts = {"file": printable(content.path), "kind": content.kind, "size": size_in_bytes(content.size)}
    facts |= {printable(name): fact_text(value) for name, value in content.facts.items()}
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:<{width}}  {value}")
    tables = [table for table in content.tables if table.rows]
    tables += [arrays_table(content.arrays)] if content.arrays else []
    tables += [samples_table(content)] if content.samples and any(sample.facts for sample in content.samples) else []
    show = _print_rich if find_spec("rich") is not None and sys.stdout.isatty() else _print_plain
    for table in tables:
        print()
        # a table of a large file would scroll the facts away
        left_out = len(table.rows) - MOST_ROWS
        show(Table(table.title, table.heads, table.rows[:MOST_ROWS]))
        if left_out > 0:
            print(f"… and {left_out:,} more; --json and --html list all")


def _is_number(value: Fact) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _aligned_right(table: Table) -> Sequence[bool]:
    columns = zip_longest(*table.rows)
    return [all(_is_number(value) or value is None for value in column) for column in columns]


def _print_plain(table: Table) -> None:
    rows = [list(table.heads), *([fact_text(value) for value in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = _aligned_right(table)
    print(printable(table.title))
    for row in rows:
        cells = [cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(row, widths, right, strict=True)]
        print(f"  {'  '.join(cells)}".rstrip())


def _print_rich(table: Table) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console()
    longest = [max([len(head), *(len(fact_text(row[k])) for row in table.rows)]) for k, head in enumerate(table.heads)]
    # where the terminal is narrow, long texts are folded and numbers stay in one line
    least = [min(width, FOLDED) if k == 0 or width > FOLDED else width for k, width in enumerate(longest)]
    if sum(least) + BETWEEN * len(least) > console.width:
        _print_plain(table)  # rich would leave out columns
        return
    # text objects: brackets in a name are no markup
    shown = RichTable(title=Text(printable(table.title)), title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for head, right, width in zip(table.heads, _aligned_right(table), least, strict=True):
        shown.add_column(Text(head), justify="right" if right else "left", overflow="fold", min_width=width)
    for row in table.rows:
        shown.add_row(*(Text(fact_text(value)) for value in row))
    console.print(shown)
