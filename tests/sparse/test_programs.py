"""Every program on sparse arrays gives the results of the real MXNet (values.json, written by make_values.py)."""

from __future__ import annotations

import pytest

from tests.against_mxnet import Program, each_program, mxnets_results, result_of
from tests.oracle_programs import difference
from tests.sparse.programs import all_programs
from tests.sparse.programs.graphs import STYPES

EXPECTED = mxnets_results(__file__)
#: MXNet's values are float32.
TOLERANCE = 1e-4
KEEPING_ZEROS = ("double", "half", "square", "negative", "abs", "relu", "identity", "stopped")
#: Programs with entries that MXNet refuses: operands without a form, such as some products.
REFUSED = ("storage.", "graphs.")
#: Entries that differ, each for a reason that compatibility.md gives.
DIFFERENT = {
    # a gradient through a csr matrix: MXNet leaves zeros, or twice the values; the gradient of a csr head is dense here
    "graphs.products": [
        "activated, default and csr",
        "twice, default and csr",
        "and its sum, default and csr",
        "a regression, default and csr",
    ],
    "graphs.functions": [f"{name}, {x} and csr" for name in KEEPING_ZEROS for x in STYPES],
    "graphs.storage": [f"csr, {x} and {w}" for x in STYPES for w in ("default", "csr")],
    "graphs.pairs": [
        "sum, csr and csr",
        "difference, csr and csr",
        # the same values, of which rows of zeros are not stored while training
        "product, default and row_sparse",
        "product, row_sparse and row_sparse",
    ],
}


@pytest.mark.filterwarnings("ignore:.*are made dense")
@each_program(all_programs())
def test_program_gives_what_mxnet_gives(name: str, program: Program) -> None:
    found, expected = result_of(program), EXPECTED[name]
    if name.startswith(REFUSED) and isinstance(expected, dict):
        left_out = {*DIFFERENT.get(name, ()), *[k for k, v in expected.items() if v == "raises"]}
        found, expected = ({k: v for k, v in values.items() if k not in left_out} for values in (found, expected))
    assert difference(found, expected, TOLERANCE) is None


def test_every_stored_value_has_its_program() -> None:
    assert list(EXPECTED) == list(all_programs())
