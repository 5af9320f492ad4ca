"""Every training program gives the results of the real MXNet (values.json, written by make_values.py)."""

from __future__ import annotations

import pytest

from tests.against_mxnet import Program, each_program, mxnets_results, result_of
from tests.oracle_programs import difference
from tests.training.programs import all_programs

EXPECTED = mxnets_results(__file__)
#: MXNet computes 1 - beta in single precision, with an error of 1e-5.
TOLERANCES = {"optimizers.weights_of_16_bits": 2e-3, "optimizers.adam": 1e-4, "optimizers.states_survive_a_file": 1e-4}


@pytest.mark.filterwarnings("ignore:.*can lead to poor accuracy", "ignore:.* replaces .* as ", "ignore:.*has been overwritten")
@each_program(all_programs())
def test_program_gives_what_mxnet_gives(name: str, program: Program) -> None:
    assert difference(result_of(program), EXPECTED[name], TOLERANCES.get(name, 2e-5)) is None


def test_every_stored_value_has_its_program() -> None:
    assert list(EXPECTED) == list(all_programs())
