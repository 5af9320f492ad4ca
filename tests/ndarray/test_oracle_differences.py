"""Results that differ from MXNet 1.9.1 on purpose: its own are in values.json, and rows of docs/reference/compatibility.md say why."""

import json
from pathlib import Path

import pytest

import twofold as mx
from twofold import mxnet_numpy
from twofold.mxnet_numpy import extension

from tests.ndarray.programs import Dialect, differing_programs
from tests.oracle_programs import difference, plain

MXNETS = json.loads((Path(__file__).parent / "values.json").read_text(encoding="utf-8"))
MX = Dialect(mx, mxnet_numpy, extension)


def _array(values, dtype="float32"):
    return {"shape": [len(values)], "dtype": dtype, "values": values}


#: By program: as the definitions have it.
OURS = {
    "where_with_a_scalar": [_array([1.0, 0.0, 1.0]), _array([0.0, 1.0, 0.0])],
    "nesterovs_momentum": [[_array([1.053, 2.162]), _array([0.17, 0.18])]] * 2,
    "bools_with_true": [
        _array([True, False, True], "bool"),
        _array([True, False, True], "bool"),
        _array([True, True, True], "bool"),
        _array([0.0, 2.0]),
    ],
    "bools_as_indices_of_writes": [_array([0.0, 9.0, 2.0]), _array([9.0, 1.0, 2.0])],
    "numbers_on_the_left_of_sparse_arrays": [[[1.0, 2.0, 0.0], [2.0, 2.0, -2.0]], [1.0, 0.5]],
    "gradients_of_what_is_not_stored": [[[2.0, 2.0], [0.0, 0.0]], [[2.0, 0.0], [0.0, 0.0]]],
    "heads_given_twice": [[4.0, 8.0, 12.0], [22.0, 48.0, 78.0]],
    "weights_after_a_prediction": [[[3.0], [7.0]], [[6.0], [14.0]]],
    "shapes_of_volumes": [[True, True], [True, True], [[3, 4]]],
}


@pytest.mark.filterwarnings("ignore:.*are made dense")
@pytest.mark.parametrize(("name", "program"), differing_programs().items(), ids=list(differing_programs()))
def test_program_gives_what_its_definition_says(name, program):
    found = plain(program(MX))
    assert difference(found, OURS[name.partition(".")[2]], 1e-6) is None
    assert difference(found, MXNETS[name], 1e-6) is not None
