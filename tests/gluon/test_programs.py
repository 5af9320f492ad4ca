"""Every Gluon program gives the results of the real MXNet (values.json, written by make_values.py)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import twofold as mx

from tests.gluon.programs import all_programs
from tests.oracle_programs import difference, plain

EXPECTED = json.loads((Path(__file__).parent / "values.json").read_text(encoding="utf-8"))
#: MXNet's convolutions and layers sum in single precision in another order.
TOLERANCE = 1e-4


@pytest.mark.filterwarnings("ignore:.*already initialized", "ignore:.*has been overwritten", "ignore:.*is not used by any computation")
@pytest.mark.parametrize(("name", "program"), all_programs().items(), ids=list(all_programs()))
def test_program_gives_what_mxnet_gives(name: str, program: Callable[[Any], Any]) -> None:
    with mx.name.NameManager():  # automatic names do not depend on the programs that ran before
        assert difference(plain(program(mx)), EXPECTED[name], TOLERANCE) is None


def test_every_stored_value_has_its_program() -> None:
    assert list(EXPECTED) == list(all_programs())
