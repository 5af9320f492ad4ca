"""Every Gluon program gives the results of the real MXNet (values.json, written by make_values.py)."""

from __future__ import annotations

import pytest

from tests.against_mxnet import Program, each_program, mxnets_results, result_of
from tests.gluon.programs import all_programs
from tests.oracle_programs import difference

EXPECTED = mxnets_results(__file__)
#: MXNet's convolutions and layers sum in single precision in another order.
TOLERANCE = 1e-4


@pytest.mark.filterwarnings("ignore:.*already initialized", "ignore:.*has been overwritten", "ignore:.*is not used by any computation")
@each_program(all_programs())
def test_program_gives_what_mxnet_gives(name: str, program: Program) -> None:
    assert difference(result_of(program), EXPECTED[name], TOLERANCE) is None


def test_every_stored_value_has_its_program() -> None:
    assert list(EXPECTED) == list(all_programs())
