"""Every program on the support modules gives the results of the real MXNet (values.json, written by make_values.py)."""

from __future__ import annotations

from tests.against_mxnet import Program, each_program, mxnets_results, result_of
from tests.oracle_programs import difference
from tests.support.programs import all_programs

EXPECTED = mxnets_results(__file__)


@each_program(all_programs())
def test_program_gives_what_mxnet_gives(name: str, program: Program) -> None:
    assert difference(result_of(program), EXPECTED[name], 1e-6) is None


def test_every_stored_value_has_its_program() -> None:
    assert list(EXPECTED) == list(all_programs())
