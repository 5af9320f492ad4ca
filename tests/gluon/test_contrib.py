"""``gluon.contrib``: what random draws and errors show; values are those of test_programs.py."""

from __future__ import annotations

import numpy as np
import pytest

import twofold as mx
from twofold.errors import InvalidValue
from twofold.gluon import rnn
from twofold.gluon.contrib import cnn, data, nn
from twofold.gluon.contrib.rnn import Conv2DRNNCell, VariationalDropoutCell, dynamic_unroll


def test_variational_dropout_keeps_its_masks_until_it_is_reset() -> None:
    cell = VariationalDropoutCell(rnn.RNNCell(40, input_size=40), 0.5, 0.5, 0.5)
    cell.initialize()
    with mx.autograd.record():
        cell.unroll(3, mx.nd.ones((2, 3, 40)))
        first = cell.drop_inputs_mask.asnumpy()
        cell(mx.nd.ones((2, 40)), cell.begin_state(batch_size=2))
        assert (cell.drop_inputs_mask.asnumpy() == first).all()
        cell.unroll(3, mx.nd.ones((2, 3, 40)))
    assert set(first.ravel()) == {0, 2}
    assert (cell.drop_inputs_mask.asnumpy() != first).any()


def test_variational_dropout_drops_the_same_outputs_in_all_steps() -> None:
    cell = VariationalDropoutCell(rnn.LSTMCell(50, input_size=4), drop_outputs=0.5)
    cell.initialize(mx.init.Uniform(1))
    cell.hybridize()
    with mx.autograd.record():
        outputs, _ = cell.unroll(4, mx.nd.ones((1, 4, 4)), merge_outputs=True)
    dropped = outputs.asnumpy()[0] == 0
    assert (dropped == dropped[0]).all()
    assert 5 < dropped[0].sum() < 45


def test_dynamic_unroll_drops_the_same_inputs_in_all_steps() -> None:
    class Echo(rnn.RecurrentCell):
        def forward(self, inputs, states):
            return inputs, states

    with mx.autograd.record():
        outputs, _ = dynamic_unroll(Echo(), mx.nd.ones((3, 1, 60)), [mx.nd.zeros((1, 1))], drop_inputs=0.5)
    found = outputs.asnumpy()[:, 0]
    assert set(found.ravel()) == {0, 2}
    assert (found == found[0]).all()


def test_dynamic_unroll_of_a_symbol_takes_any_number_of_steps() -> None:
    cell = rnn.GRUCell(3, input_size=2, prefix="a_")
    outputs, states = dynamic_unroll(cell, mx.sym.Variable("x"), [mx.sym.Variable("h")], valid_length=mx.sym.Variable("n"))
    cell.initialize()
    weights = {p.name: p.data() for p in cell.collect_params().values()}
    for steps in (2, 5):
        x, h, n = mx.nd.random.normal(shape=(steps, 2, 2)), mx.nd.zeros((2, 3)), mx.nd.array([1, steps])
        found = mx.sym.Group([outputs, states[0]]).eval(x=x, h=h, n=n, **weights)
        expected, (state,) = cell.unroll(steps, x, [h], layout="TNC", merge_outputs=True, valid_length=n)
        np.testing.assert_allclose(found[0].asnumpy(), expected.asnumpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found[1].asnumpy(), state.asnumpy(), rtol=1e-5, atol=1e-6)


def test_a_modulated_deformable_convolution_has_the_gradients_of_its_sum() -> None:
    layer = cnn.ModulatedDeformableConvolution(2, kernel_size=3, padding=1, in_channels=2)
    layer.initialize()
    plain = mx.gluon.nn.Conv2D(2, 3, padding=1, in_channels=2)
    plain.initialize()
    plain.weight.set_data(layer.deformable_conv_weight.data())
    results = []
    for block in (layer, plain):
        x = mx.nd.arange(32).reshape((1, 2, 4, 4))
        x.attach_grad()
        with mx.autograd.record():
            y = block(x)
        y.backward()
        results.append([y.asnumpy(), x.grad.asnumpy()])
    # Offsets start at 0 and factors at 2 · sigmoid(0) = 1: a plain convolution.
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-5, atol=1e-5)


def test_blocks_inside_a_block_without_prefix_are_counted_by_the_block_around_it() -> None:
    net = mx.gluon.nn.HybridSequential(prefix="outer_")
    with net.name_scope():
        inner = mx.gluon.nn.HybridSequential(prefix="")
        with inner.name_scope():
            inner.add(mx.gluon.nn.Dense(1), mx.gluon.nn.Dense(1))
        net.add(inner, mx.gluon.nn.Dense(1))
    assert [name for name in net.collect_params() if name.endswith("weight")] == [f"outer_dense{k}_weight" for k in range(3)]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: nn.PixelShuffle2D((1, 2, 3)), "pass 2 numbers"),
        (lambda: data.IntervalSampler(3, 5), "Interval 5 must be smaller than or equal to length 3"),
        (lambda: Conv2DRNNCell((3, 8, 8), 4, 3, 2), "Only support odd number"),
        (lambda: Conv2DRNNCell((3, 8), 4, 3, 3), "pass the shape of one sample"),
        (lambda: Conv2DRNNCell((3, 8, 8), 4, (3, 3, 3), 3), "For 2D convolution, i2h_kernel"),
        (lambda: dynamic_unroll(rnn.RNNCell(2), mx.nd.ones((2, 2, 2)), [], layout="CTN"), "unsupported layout"),
        (lambda: VariationalDropoutCell(rnn.BidirectionalCell(rnn.RNNCell(2), rnn.RNNCell(2)), drop_states=0.5), "Bidirectional"),
    ],
)
def test_wrong_arguments_are_refused(action, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        action()
