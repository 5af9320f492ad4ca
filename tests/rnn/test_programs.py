"""Every program with recurrent cells gives the results of the real MXNet (values.json, written by make_values.py)."""

from __future__ import annotations

import pytest

from tests.against_mxnet import Program, each_program, mxnets_results, result_of
from tests.oracle_programs import difference
from tests.rnn.programs import all_programs

EXPECTED = mxnets_results(__file__)
#: MXNet's layers sum in single precision in another order.
TOLERANCE = 1e-4


@pytest.mark.filterwarnings("ignore:discarded")
@each_program(all_programs())
def test_program_gives_what_mxnet_gives(name: str, program: Program) -> None:
    assert difference(result_of(program), EXPECTED[name], TOLERANCE) is None


def test_every_stored_value_has_its_program() -> None:
    assert list(EXPECTED) == list(all_programs())
