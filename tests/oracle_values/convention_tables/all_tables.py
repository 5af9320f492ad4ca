"""Joins the tables of expressions in a fixed order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import arrays, conversion, differentiation, indexing, symbols

if TYPE_CHECKING:
    from .declare import RowSpec


def all_rows() -> list[RowSpec]:
    """Every row of every table."""
    return [row for table in (arrays, indexing, conversion, differentiation, symbols) for row in table.ROWS]
