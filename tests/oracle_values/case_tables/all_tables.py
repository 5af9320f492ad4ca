"""Joins the tables of cases in a fixed order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import (
    binary,
    convolution,
    creation,
    detection,
    gathering,
    image,
    joining,
    linear,
    linear_algebra,
    losses,
    normalization,
    optimizer,
    ordering,
    pooling,
    recurrent,
    reduction,
    regions,
    reshaping,
    scalar,
    slicing,
    softmax,
    spatial,
    unary,
)

if TYPE_CHECKING:
    from .declare import CaseSpec

TABLES = (
    unary,
    binary,
    scalar,
    creation,
    reduction,
    reshaping,
    joining,
    slicing,
    gathering,
    ordering,
    linear,
    linear_algebra,
    convolution,
    pooling,
    normalization,
    softmax,
    losses,
    recurrent,
    optimizer,
    image,
    spatial,
    detection,
    regions,
)


def all_cases() -> list[CaseSpec]:
    """Every case of every table."""
    return [item for table in TABLES for item in table.CASES]
