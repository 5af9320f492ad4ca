"""Every training program gives the results of the real MXNet (values.json, written by make_values.py)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import twofold as mx

from tests.oracle_programs import difference, plain
from tests.training.programs import all_programs

EXPECTED = json.loads((Path(__file__).parent / "values.json").read_text(encoding="utf-8"))
#: MXNet computes 1 - beta in single precision, with an error of 1e-5.
TOLERANCES = {"optimizers.weights_of_16_bits": 2e-3, "optimizers.adam": 1e-4, "optimizers.states_survive_a_file": 1e-4}


@pytest.mark.filterwarnings("ignore:.*can lead to poor accuracy", "ignore:.* replaces .* as ", "ignore:.*has been overwritten")
@pytest.mark.parametrize(("name", "program"), all_programs().items(), ids=list(all_programs()))
def test_program_gives_what_mxnet_gives(name: str, program: Callable[[Any], Any]) -> None:
    assert difference(plain(program(mx)), EXPECTED[name], TOLERANCES.get(name, 2e-5)) is None


def test_every_stored_value_has_its_program() -> None:
    assert list(EXPECTED) == list(all_programs())
