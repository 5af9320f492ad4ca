"""Every program on records and images gives the results of the real MXNet (values.json, written by make_values.py)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import twofold as mx

from tests.data.programs import all_programs
from tests.oracle_programs import difference, plain

EXPECTED = json.loads((Path(__file__).parent / "values.json").read_text(encoding="utf-8"))
#: MXNet computes where pixels of resized and rotated images come from in single precision, in another order.
TOLERANCE = 1e-4


@pytest.mark.parametrize(("name", "program"), all_programs().items(), ids=list(all_programs()))
def test_program_gives_what_mxnet_gives(name: str, program: Callable[[Any], Any]) -> None:
    assert difference(plain(program(mx)), EXPECTED[name], TOLERANCE) is None


def test_every_stored_value_has_its_program() -> None:
    assert list(EXPECTED) == list(all_programs())
