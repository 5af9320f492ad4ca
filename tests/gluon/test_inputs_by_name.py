"""Blocks that are called with inputs by name."""

from collections.abc import Callable
from typing import Any

import numpy as onp
import pytest

import twofold as mx
from twofold.errors import WrongArgument
from twofold.gluon import nn


class Scaled(mx.gluon.Block):
    def forward(self, x: Any, scale: float = 2.0, *, shift: float = 0.0) -> Any:
        return x * scale + shift


class Sum(mx.gluon.HybridBlock):
    def __init__(self) -> None:
        super().__init__()
        self.weight = self.params.get("weight", shape=(2,), init=mx.init.Constant(3))

    def hybrid_forward(self, F: Any, x: Any, left: Any = None, right: Any = None, weight: Any = None) -> Any:
        y = x * weight
        y = y if left is None else y + 10 * left
        return y if right is None else y + 100 * right


ARRAYS: list[Any] = [mx.nd, mx.np]


@pytest.mark.parametrize("arrays", ARRAYS, ids=["nd", "np"])
@pytest.mark.parametrize("hybridized", [False, True])
def test_an_input_after_omitted_ones_is_passed_by_name(arrays: Any, hybridized: bool) -> None:
    block = Sum()
    block.initialize()
    if hybridized:
        block.hybridize()
    result = block(arrays.array([1.0, 2.0]), right=arrays.array([3.0, 4.0]))
    assert type(result) is type(arrays.ones(1))
    assert result.asnumpy().tolist() == [303.0, 406.0]


def test_numbers_are_passed_by_name_to_a_forward_of_ones_own() -> None:
    block, x = Scaled(), mx.nd.array([1, 2])
    assert block(x, scale=3.0).asnumpy().tolist() == [3, 6]
    assert block(shift=1.0, x=x).asnumpy().tolist() == [3, 5]


@pytest.mark.parametrize("hybridized", [False, True])
def test_masks_of_a_decoder_layer_by_name(hybridized: bool) -> None:
    layer = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0)
    layer.initialize(mx.init.Uniform(1.0))
    x, memory = mx.nd.random.normal(shape=(2, 5, 8)), mx.nd.random.normal(shape=(2, 4, 8))
    mask = mx.nd.array([[[[1, 0, 1, 1]]], [[[1, 1, 0, 0]]]])
    expected, unmasked = layer(x, memory, None, mask).asnumpy(), layer(x, memory).asnumpy()
    assert abs(expected - unmasked).max() > 1e-3
    if hybridized:
        layer.hybridize()
    onp.testing.assert_allclose(layer(x, memory, memory_mask=mask).asnumpy(), expected, rtol=1e-5, atol=1e-6)
    params = {name: p.data() for name, p in layer.collect_params().items()}
    called = mx.func.functional_call(layer, params, x, memory, memory_mask=mask)
    onp.testing.assert_allclose(called.asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_hooks_get_the_inputs_in_order() -> None:
    block, seen = Scaled(), []
    block.register_forward_pre_hook(lambda _, inputs: seen.append(inputs))
    x = mx.nd.ones(2)
    block(scale=3.0, x=x)
    assert seen == [(x, 3.0)]


@pytest.mark.parametrize(
    ("block", "call", "message"),
    [
        (Scaled, lambda b, x: b(x, scal=3.0), "Scaled: there is no input 'scal'; did you mean 'scale'?"),
        (Scaled, lambda b, x: b(x, x=x), "Scaled: x is passed twice: given 1 input in order, and x=; pass it once"),
        (Scaled, lambda b, x: b(scale=3.0), "Scaled: there is no value for x: given scale; pass x as well"),
        (Sum, lambda b, x: b(x, weight=x), "Sum: there is no input 'weight'; it takes x, left, right"),
        (Sum, lambda b, x: b(x, rihgt=x), "Sum: there is no input 'rihgt'; did you mean 'right'?"),
    ],
)
def test_a_wrong_name_is_an_error_that_suggests_one(block: type, call: Callable[..., object], message: str) -> None:
    with pytest.raises(WrongArgument) as raised:
        call(block(), mx.nd.ones(2))
    assert str(raised.value) == message


def test_keywords_are_passed_on_to_a_forward_that_takes_any() -> None:
    class Around(mx.gluon.Block):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Scaled()

        def forward(self, x: Any, **options: Any) -> Any:
            return self.inner(x, **options)

    assert Around()(mx.nd.ones(1), shift=4.0).asscalar() == 6
