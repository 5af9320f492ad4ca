"""Programs on arrays give the results of the real MXNet (values.json, written by make_values.py)."""

import json
from pathlib import Path

import pytest

import twofold as mx
from twofold import mxnet_numpy
from twofold.mxnet_numpy import extension

from tests.ndarray.programs import Dialect, differing_programs, equal_programs
from tests.oracle_programs import difference, plain

EXPECTED = json.loads((Path(__file__).parent / "values.json").read_text(encoding="utf-8"))
MX = Dialect(mx, mxnet_numpy, extension)


@pytest.mark.filterwarnings("ignore:.*this array carries no gradient", "ignore:.*are made dense")
@pytest.mark.parametrize(("name", "program"), equal_programs().items(), ids=list(equal_programs()))
def test_program_gives_what_mxnet_gives(name, program):
    assert difference(plain(program(MX)), EXPECTED[name], 2e-6) is None


def test_every_stored_value_has_its_program():
    assert list(EXPECTED) == [*equal_programs(), *differing_programs()]


def test_a_head_without_a_gradient_is_named():
    x = mx.nd.ones(2)
    x.attach_grad()
    with mx.autograd.record():
        y = x.shape_array()
    with pytest.warns(UserWarning, match="this array carries no gradient: given dtype int64"):
        y.backward()


def test_head_gradients_of_sparse_results_have_their_shape():
    x = mx.nd.ones((2, 2)).tostype("csr")
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2
    with pytest.raises(mx.errors.ShapeError, match="the head gradient's shape differs"):
        y.backward(mx.nd.ones(4))
    (gradient,) = mx.autograd.grad([y], [x], [mx.nd.array([[1, 2], [3, 4]])])
    assert gradient.asnumpy().tolist() == [[2, 4], [6, 8]]
