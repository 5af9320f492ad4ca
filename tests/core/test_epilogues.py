"""Epilogues fused into matrix products: which are, and that none overwrites its operands."""

import numpy as np
import pytest

from twofold.config import SETTINGS
from twofold.graph.build import G
from twofold.graph.ir import leaf
from twofold.program.compile import Program

from .test_horizontal_fusion import APART, Together, data_of


def told(outputs, leaves, **options):
    """The steps of a program with fused epilogues, after checking that it gives the bits of one without."""
    few, many = (Program(outputs, leaves, backend, big=1, **options) for backend in (Together(), APART))
    for _ in range(2):
        for got, want in zip(few.run(data_of(leaves)), many.run(data_of(leaves)), strict=True):
            np.testing.assert_array_equal(got, want)
    return few.explain().split("\n")


def layer(*lead, n=4, k=4):
    return leaf("x", (*lead, k), "float32"), leaf("w", (k, n), "float32"), leaf("b", (n,), "float32")


@pytest.mark.parametrize("lead", [(3,), (2, 3)])
def test_bias_and_relu_are_fused_into_the_product(lead):
    x, w, b = layer(*lead, k=5)
    assert told([G.matmul(x, w) + b], [x, w, b]) == ["matmul + add"]
    assert told([b + G.matmul(x, w)], [x, w, b]) == ["matmul + add"]
    assert told([G.maximum(G.matmul(x, w) + b, 0)], [x, w, b]) == ["matmul + add + maximum"]


def test_the_bias_gradient_sum_is_fused_into_the_weight_gradient():
    d, x = leaf("d", (5, 3), "float32"), leaf("x", (5, 4), "float32")
    weight, bias = G.matmul(G.permute_dims(d, axes=(1, 0)), x), G.sum(d, axis=0)
    for outputs in ([weight, bias], [bias, weight], [G.exp(bias), weight * 2.0]):
        assert "matmul + sum" in told(outputs, [d, x])


def test_values_with_other_readers_are_not_fused_into_the_product():
    x, w, b = layer(3)
    product = G.matmul(x, w)
    added = product + b
    assert told([product, added], [x, w, b]) == ["matmul", "add"]
    assert told([G.maximum(added, 0), added], [x, w, b]) == ["matmul", "add + maximum"]
    assert told([G.maximum(added, 1)], [x, w, b]) == ["matmul", "add + maximum"]
    assert told([G.exp(G.maximum(added, 0))], [x, w, b]) == ["matmul", "add + maximum + exp"]
    matrix = leaf("m", (3, 4), "float32")
    assert told([product + matrix], [x, w, matrix]) == ["matmul", "add"]


def test_a_product_does_not_overwrite_its_operand():
    x, w, b = layer(4)
    inner = G.tanh(x)
    assert "matmul + add" in told([G.matmul(inner, w) + b], [x, w, b])
    outputs, leaves = [G.matmul(x, w) + b], [x, w, b]
    assert "matmul + add" in told(outputs, leaves, donated=leaves)
    assert not Program(outputs, leaves, Together(), big=1, donated=leaves).plan.donated
    again = G.maximum(G.matmul(inner, w) + b, 0)
    assert told([G.maximum(G.matmul(again, w) + b, 0)], [x, w, b]).count("matmul + add + maximum") == 2


def test_the_setting_disables_epilogue_fusion(monkeypatch):
    x, w, b = layer(3)
    monkeypatch.setattr(SETTINGS, "epilogues", False)
    assert told([G.matmul(x, w) + b], [x, w, b]) == ["matmul", "add"]
