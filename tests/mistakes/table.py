"""A table of mistakes: short programs that fail, each with the whole text of its error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import twofold as mx


class Mistakes:
    """The mistakes of one file of tests."""

    def __init__(self) -> None:
        self.rows: list[object] = []

    def __call__(self, message: str) -> Callable[[Callable[[], object]], Callable[[], object]]:
        """A decorator that enters a program with the message of its error."""

        def enter(program: Callable[[], object]) -> Callable[[], object]:
            self.rows.append(pytest.param(program, message, id=program.__name__))
            return program

        return enter


def message_of(program: Callable[[], object]) -> str:
    """Run a program that fails with an error of the package, and return the text of the error."""
    with mx.name.NameManager(), pytest.raises(mx.MXNetError) as found:  # names of layers count from 0 in each program
        program()
    assert not type(found.value).__name__.startswith("_")
    return str(found.value).replace(str(Path.cwd()), "here")
