"""Every training program gives what the real MXNet gave (values.json, written by make_values.py)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import twofold as mx

from tests.training.programs import all_programs
from tests.training.programs.outcome import plain

EXPECTED = json.loads((Path(__file__).parent / "values.json").read_text(encoding="utf-8"))
#: MXNet takes 1 - beta of single precision, which is 1e-5 off.
TOLERANCES = {"optimizers.weights_of_16_bits": 2e-3, "optimizers.adam": 1e-4, "optimizers.states_survive_a_file": 1e-4}


def difference(found: Any, expected: Any, tolerance: float, place: str = "") -> str | None:
    """Where two values differ first; None if they do not, numbers up to a tolerance."""
    if isinstance(expected, dict) and isinstance(found, dict) and found.keys() == expected.keys():
        pairs = [(f"{place}.{key}", found[key], expected[key]) for key in expected]
    elif isinstance(expected, list) and isinstance(found, list) and len(found) == len(expected):
        pairs = [(f"{place}[{k}]", f, e) for k, (f, e) in enumerate(zip(found, expected, strict=True))]
    elif isinstance(expected, float) and isinstance(found, (int, float)) and not isinstance(found, bool):
        return None if math.isclose(found, expected, rel_tol=tolerance, abs_tol=tolerance / 10) else f"{place}: {found} for {expected}"
    else:
        return None if found == expected else f"{place}: {found!r} for {expected!r}"
    return next((text for where, f, e in pairs if (text := difference(f, e, tolerance, where))), None)


@pytest.mark.filterwarnings("ignore:.*can lead to poor accuracy", "ignore:.*takes the name", "ignore:.*has been overwritten")
@pytest.mark.parametrize(("name", "program"), all_programs().items(), ids=list(all_programs()))
def test_program_gives_what_mxnet_gives(name: str, program: Callable[[Any], Any]) -> None:
    assert difference(plain(program(mx)), EXPECTED[name], TOLERANCES.get(name, 2e-5)) is None


def test_every_stored_value_has_its_program() -> None:
    assert list(EXPECTED) == list(all_programs())
