"""Blocks beyond MXNet's behaviour: summaries, losses and layers against formulas, cells inside compiled blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd
from twofold.errors import DTypeError, MXNetError, ParameterError
from twofold.gluon import nn, rnn, summary

from tests.gluon.programs.running import fill, real


def test_the_summary_lists_layers_and_parameter_counts(capsys: pytest.CaptureFixture[str]) -> None:
    shared = nn.Dense(4, in_units=4)
    net = nn.HybridSequential()
    net.add(shared, nn.BatchNorm(), shared)
    net.initialize()
    net.summary(nd.ones((2, 4)))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[3:7]] == ["Input", "Dense-1", "BatchNorm-2", "Dense-3"]
    assert lines[4].split() == ["Dense-1", "(2,", "4)", "20"]
    assert [line.rsplit(maxsplit=1)[-1] for line in lines[9:14]] == ["56", "48", "8", "20", "36"]


def test_the_summary_names_no_private_class(capsys: pytest.CaptureFixture[str]) -> None:
    net = nn.TransformerEncoderLayer(8, 2, 16)
    net.initialize()
    net.summary(nd.ones((1, 3, 8)))
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert any(line.startswith("FeedForward-") for line in lines)
    assert not any(line.startswith("_") for line in lines)


def test_rich_draws_the_summary_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    monkeypatch.setattr(summary, "is_shown_by_rich", lambda stream: True)
    monkeypatch.setenv("COLUMNS", "100")
    shared = nn.Dense(40, in_units=40)
    net = nn.HybridSequential(prefix="whole_")
    net.add(shared, nn.BatchNorm(), shared)
    net.initialize()
    net.summary(nd.ones((2, 40)))
    text = capsys.readouterr().out
    rows = [line.split() for line in text.splitlines() if line.strip()]
    assert rows[0] == ["whole"]
    assert ["Dense-1", "(2,", "40)", "1,640", "██████████"] in rows  # 1,640 of 1,640 + 160 + 1,640, in twentieths
    assert rows[-1] == ["1,800", "parameters,", "80", "of", "them", "not", "trained,", "1,640", "shared"]


def test_a_hybridized_block_has_no_summary() -> None:
    net = nn.Dense(2, in_units=2)
    net.initialize()
    net.hybridize()
    with pytest.raises(ParameterError, match="must not be hybridized"):
        net.summary(nd.ones((1, 2)))


def test_the_error_of_a_summary_names_the_block_whose_summary_it_is() -> None:
    net = nn.HybridSequential(prefix="whole_")
    net.add(nn.Dense(2, in_units=2, activation="relu"))
    net.initialize()
    net.hybridize()
    with pytest.raises(ParameterError, match=r'^"whole" must not be hybridized to print summary; call hybridize\(False\) first$'):
        net.summary(nd.ones((1, 2)))


def test_a_hook_handle_may_outlive_its_block() -> None:
    net = nn.Dense(2)
    handle = net.register_forward_hook(lambda *_: None)
    del net
    handle.detach()


def test_a_child_that_is_not_a_block_raises() -> None:
    with pytest.raises(DTypeError, match="must be a Block"):
        nn.Sequential().add(3)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="must also be HybridBlock"):
        nn.HybridSequential().add(lambda x: x)  # type: ignore[arg-type]


def test_undefined_methods_of_a_subclass_are_named() -> None:
    with pytest.raises(NotImplementedError, match="define forward"):
        mx.gluon.Block()(1)
    with pytest.raises(MXNetError, match="define hybrid_forward"):
        mx.gluon.HybridBlock()(nd.ones((1,)))


def test_selu_and_its_gradient() -> None:
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    layer, x = nn.SELU(), nd.array([-1.0, -0.2, 0.5])
    x.attach_grad()
    with autograd.record():
        y = layer(x)
    y.backward()
    v = x.asnumpy()
    np.testing.assert_allclose(y.asnumpy(), scale * np.where(v > 0, v, alpha * np.expm1(v)), rtol=1e-5)
    np.testing.assert_allclose(x.grad.asnumpy(), scale * np.where(v > 0, 1, alpha * np.exp(v)), rtol=1e-5)


def test_batch_norm_with_relu() -> None:
    x = nd.array(real(4, 3))
    plain, clipped = nn.BatchNorm(prefix="b_"), nn.BatchNormReLU(prefix="b_")
    for layer in (plain, clipped):
        layer.initialize()
        layer(x)
        fill(mx, layer)
    with autograd.train_mode():
        np.testing.assert_array_equal(clipped(x).asnumpy(), np.maximum(plain(x).asnumpy(), 0))


def test_statistics_of_16_bit_models_stay_in_single_precision() -> None:
    layer = nn.BatchNorm(in_channels=2)
    layer.initialize()
    layer.cast("float16")
    assert layer.running_mean.data().dtype == np.float32


@pytest.mark.parametrize("layer", [nn.BatchNorm, nn.GroupNorm, nn.InstanceNorm, nn.LayerNorm])
def test_a_hybridized_layer_that_was_cast_infers_its_sizes_from_its_first_input(layer: Any) -> None:
    block = layer()
    block.cast("float16")
    block.initialize()
    block.hybridize()
    assert block(nd.ones((4, 6, 3), dtype="float16")).dtype == np.float16


def test_the_metric_learning_loss_can_be_hybridized() -> None:
    loss, a, b = mx.gluon.loss.SDMLLoss(), nd.array(real(3, 4)), nd.array(real(3, 4, seed=2))
    want = loss(a, b).asnumpy()
    loss.hybridize()
    np.testing.assert_allclose(loss(a, b).asnumpy(), want, rtol=1e-6)


def test_the_poisson_loss_of_a_count_of_zero_has_no_stirling_term() -> None:
    loss = mx.gluon.loss.PoissonNLLLoss(compute_full=True)
    np.testing.assert_allclose(loss(nd.zeros((1, 2)), nd.array([[0, 1]])).asnumpy(), [1.0])


@pytest.mark.parametrize(("layer", "cell"), [(rnn.LSTM, rnn.LSTMCell), (rnn.GRU, rnn.GRUCell)])
def test_a_recurrent_layer_equals_its_unrolled_cell(layer: Any, cell: Any, tmp_path: object) -> None:
    whole, single = layer(3, input_size=2), cell(3, input_size=2)
    whole.initialize(mx.init.Uniform(1))
    whole.save_parameters(f"{tmp_path}/p")
    nd.save(f"{tmp_path}/q", {name.replace("_unfused.0.", ""): value for name, value in nd.load(f"{tmp_path}/p").items()})
    single.load_parameters(f"{tmp_path}/q", ctx=mx.current_context())
    x = nd.array(real(5, 4, 2))
    np.testing.assert_allclose(whole(x).asnumpy(), single.unroll(5, x, layout="TNC", merge_outputs=True)[0].asnumpy(), rtol=1e-5, atol=1e-6)


def test_a_recurrent_layer_stops_at_sequence_lengths() -> None:
    layer, x = rnn.LSTM(3, input_size=2, use_sequence_length=True), nd.array(real(4, 2, 2))
    layer.initialize()
    out, (h, _) = layer(x, layer.begin_state(2), nd.array([2, 4]))
    short, (last, _) = layer(x[:2], layer.begin_state(2), nd.array([2, 2]))
    np.testing.assert_allclose(out.asnumpy()[:2, 0], short.asnumpy()[:, 0], rtol=1e-6)
    assert not out.asnumpy()[2:, 0].any()
    np.testing.assert_allclose(h.asnumpy()[0, 0], last.asnumpy()[0, 0], rtol=1e-6)


def test_a_bidirectional_cell_stops_at_sequence_lengths() -> None:
    cell = rnn.BidirectionalCell(rnn.RNNCell(2, prefix="l_"), rnn.RNNCell(2, prefix="r_"))
    cell.initialize(mx.init.Constant(0.1))
    x = nd.array(real(2, 3, 2))
    out, _ = cell.unroll(3, x, valid_length=nd.array([2, 3]))
    alone, _ = cell.unroll(2, x[:, :2], merge_outputs=True)
    np.testing.assert_allclose(out.asnumpy()[0, :2], alone.asnumpy()[0], rtol=1e-6)
    assert not out.asnumpy()[0, 2].any()


def test_zoneout_keeps_previous_outputs_in_training() -> None:
    cell = rnn.ZoneoutCell(rnn.RNNCell(50, input_size=1), zoneout_outputs=0.5)
    cell.initialize(mx.init.One())
    cell.hybridize()
    mx.random.seed(1)
    with autograd.train_mode():
        first, second = cell.unroll(2, nd.array([[[1], [2]]]))[0]
    kept = second.asnumpy() == first.asnumpy()
    assert 5 < kept.sum() < 45


def test_recurrent_layers_take_a_single_state_without_a_list() -> None:
    layer = rnn.GRU(3, input_size=2)
    layer.initialize()
    x = nd.ones((4, 2, 2))
    out, states = layer(x, layer.begin_state(2)[0])
    assert (out.shape, len(states)) == ((4, 2, 3), 1)


def test_training_reduces_the_loss() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(16, activation="tanh"), nn.Dense(1))
    mx.random.seed(0)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    x = nd.array(real(32, 2))
    y = x[:, 0:1] * x[:, 1:2]
    loss, trainer = mx.gluon.loss.L2Loss(), mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    values = []
    for _ in range(60):
        with autograd.record():
            value = loss(net(x), y).mean()
        value.backward()
        trainer.step(1)
        values.append(value.asscalar())
    assert values[-1] < values[0] / 10


def test_layers_take_numpys_numbers() -> None:
    padded = nn.ReflectionPad2D(np.int64(1))(nd.arange(9).reshape((1, 1, 3, 3)))
    np.testing.assert_array_equal(padded[0, 0].asnumpy(), np.pad(np.arange(9.0).reshape(3, 3), 1, mode="reflect"))
    pooled = nn.AdaptiveAvgPool2D(np.int32(2))(nd.arange(16).reshape((1, 1, 4, 4)))
    assert pooled.asnumpy().tolist() == [[[[2.5, 4.5], [10.5, 12.5]]]]
    assert repr(rnn.DropoutCell(np.float32(0.5))) == "DropoutCell(rate=0.5, axes=())"


@pytest.mark.parametrize("merges", [None, True, False])
@pytest.mark.parametrize("layout", ["NTC", "TNC"])
def test_a_dropout_cell_masks_no_steps(layout: str, merges: bool | None) -> None:
    # MXNet 1.9.1's DropoutCell ignores valid_length, with merged outputs or a list
    x = nd.arange(1, 13).reshape((2, 3, 2) if layout == "NTC" else (3, 2, 2))
    out, _ = rnn.DropoutCell(0.5).unroll(3, x, layout=layout, merge_outputs=merges, valid_length=nd.array([1, 2]))
    found = nd.stack(*out, axis=layout.index("T")) if isinstance(out, list) else out
    np.testing.assert_array_equal(found.asnumpy(), x.asnumpy())
