"""Blocks as functions of their parameters: dtypes."""

from typing import Any

import numpy as onp
import pytest

import twofold as mx
from twofold import func


def network(hybridized: bool) -> Any:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(3, in_units=2, activation="tanh"), mx.gluon.nn.Dense(2, in_units=3))
    net.initialize(mx.init.Uniform(1.0))
    if hybridized:
        net.hybridize()
    return net


@pytest.mark.parametrize("arrays", [mx.nd, mx.np], ids=["nd", "np"])
@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_a_block_computes_in_the_dtype_of_the_arrays(arrays: Any, hybridized: bool, dtype: str) -> None:
    net, x = network(hybridized), onp.array([[1.0, 2.0], [0.3, -4.0]])
    own = {name: p.data().asnumpy().astype(dtype) for name, p in net.collect_params().items()}
    params = {name: arrays.array(a, dtype=dtype) for name, a in own.items()}
    first, bias1, second, bias2 = own.values()
    expected = onp.tanh(x.astype(dtype) @ first.T + bias1) @ second.T + bias2
    for call in (func.functional_call, func.jit(lambda block, *inputs: func.functional_call(block, *inputs))):
        result = call(net, params, arrays.array(x, dtype=dtype))
        assert result.dtype == onp.dtype(dtype)
        onp.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-12 if dtype == "float64" else 1e-2)
    # the block's own parameters are as they were
    assert net(arrays.array(x, dtype="float32")).dtype == onp.float32
    assert {onp.dtype(p.dtype) for p in net.collect_params().values()} == {onp.dtype("float32")}


def test_second_derivatives_in_double_precision_of_a_block_that_is_declared_in_single() -> None:
    net = mx.gluon.nn.Dense(1, in_units=1, use_bias=False, prefix="d_")
    net.initialize()
    cube = func.grad(func.grad(lambda x: func.functional_call(net, {"d_weight": mx.np.array([[1.5]])}, x.reshape(1, 1)).sum() ** 3))
    assert float(cube(mx.np.array(2.0))) == pytest.approx(6 * 1.5**3 * 2, rel=1e-12)
