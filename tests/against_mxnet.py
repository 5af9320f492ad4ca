"""Tests of programs whose results on the real MXNet stand in the file values.json beside them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import twofold as mx

from tests.cases import each
from tests.oracle_programs import plain

Program = Callable[[Any], Any]


def mxnets_results(test_file: str) -> dict[str, Any]:
    """The stored results by program, in the order of the programs."""
    found: dict[str, Any] = json.loads((Path(test_file).parent / "values.json").read_text(encoding="utf-8"))
    return found


def each_program(programs: Mapping[str, Program]) -> Any:
    """Run a test's function for the ``name`` and the ``program`` of each; those of one file in one test."""
    return each("name, program", [pytest.param(n, p, id=n) for n, p in programs.items()], by=lambda name, _: name.partition(".")[0])


def result_of(program: Program) -> Any:
    """What a program gives here. Automatic names do not depend on what ran before."""
    with mx.name.NameManager():
        return plain(program(mx))
