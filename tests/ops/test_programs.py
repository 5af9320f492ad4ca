"""Every operator program gives the results of the real MXNet (values.json, written by make_values.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.against_mxnet import Program, each_program, mxnets_results, result_of
from tests.ops.programs import all_programs
from tests.oracle_programs import difference

EXPECTED = mxnets_results(__file__)
#: Results of 16 bits have rounding errors of 5e-4; MXNet computes 1 - beta in single precision, with an error of 1e-5.
ROUNDED = ("multi_sgd", "multi_momentum", "preloaded_sgd", "preloaded_momentum", "sums_of_squares", "lamb_phases_of_16_bits")
TOLERANCES = {f"updates.{name}": 1e-3 for name in (*ROUNDED, "multi_lamb", "adamw", "multi_adamw", "ftml")}
TOLERANCES |= {"quantized.thresholds": 2e-4}  # sums over thousands of bins in single precision
#: oneDNN sums quantized numbers in another order before it rounds them.
BY_ONE = ("quantized.calibrated_sums", "quantized.batch_norm", "quantized.products")


def within_one(found: Any, expected: Any) -> bool:
    """Whether two values are equal but for integers, in arrays of one shape and dtype, that differ by 1."""
    if isinstance(expected, dict) and "values" in expected:
        same = (found["shape"], found["dtype"]) == (expected["shape"], expected["dtype"])
        integers = "int" in expected["dtype"]
        return same and np.allclose(found["values"], expected["values"], rtol=0 if integers else 1e-5, atol=int(integers))
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(within_one, found, expected))
    return found == expected


@each_program(all_programs())
def test_program_gives_what_mxnet_gives(name: str, program: Program) -> None:
    if name in BY_ONE:
        assert within_one(result_of(program), EXPECTED[name])
        return
    assert difference(result_of(program), EXPECTED[name], TOLERANCES.get(name, 2e-5)) is None


def test_every_stored_value_has_its_program() -> None:
    assert list(EXPECTED) == list(all_programs())
