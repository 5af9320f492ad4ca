"""The vocabulary of the convention tables: one setup, many expressions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RowSpec:
    """An expression, the statements that run before it, and a word to find it by."""

    topic: str
    setup: str
    expression: str


def rows(topic: str, setup: str, *expressions: str) -> list[RowSpec]:
    """A row for each expression, every one of them after a fresh run of the setup."""
    return [RowSpec(topic, setup, expression) for expression in expressions]
