"""Where metrics go beyond MXNet's: NumPy arrays, 16-bit floats, devices; one transfer per array. The rest is in the programs."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

import twofold as mx
from twofold.errors import ParameterError, ShapeError

SCORES = np.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]], np.float32)
CLASSES = np.array([1, 1, 1], np.float32)
ALL = ["acc", "top_k_acc", "f1", "mcc", "pcc", "ce", "nll_loss", "perplexity", "mse", "mae", "rmse", "loss"]


def make(name):
    return mx.metric.create(name, **({"top_k": 2} if name == "top_k_acc" else {"ignore_label": None} if name == "perplexity" else {}))


@pytest.mark.parametrize("name", ALL)
def test_each_array_is_copied_to_the_host_once(name, monkeypatch):
    transfers = []
    original = mx.nd.NDArray.asnumpy
    monkeypatch.setattr(mx.nd.NDArray, "asnumpy", lambda self: transfers.append(id(self)) or original(self))
    labels, preds = [mx.nd.array(CLASSES)] * 2, [mx.nd.array(SCORES), mx.nd.array(SCORES)]
    make(name).update(labels, preds)
    assert len(transfers) == (2 if name == "loss" else 4)


@pytest.mark.parametrize("name", ALL)
def test_metrics_accept_numpy_arrays(name):
    ours, theirs = make(name), make(name)
    ours.update([mx.nd.array(CLASSES)], [mx.nd.array(SCORES)])
    theirs.update([CLASSES], [SCORES])
    np.testing.assert_equal(ours.get(), theirs.get())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_float16_metrics_are_summed_in_float32(dtype):
    metric = mx.metric.Loss()
    metric.update(None, [mx.nd.ones((4096,), dtype=dtype), mx.nd.ones((1,), dtype=dtype)])
    assert metric.sum_metric == 4097


def test_metrics_accept_arrays_on_several_devices(gpus):
    metric = mx.metric.create(["acc", "ce"])
    metric.update([mx.nd.array(CLASSES, ctx=g) for g in gpus], [mx.nd.array(SCORES, ctx=g) for g in gpus])
    expected = -(log(0.9) + log(0.2) + log(0.7)) / 3
    assert metric.get()[1] == [pytest.approx(2 / 3), pytest.approx(expected, rel=1e-6)]


def test_perplexity_takes_distributions_along_any_axis():
    scores = np.moveaxis(np.stack([SCORES, SCORES]), -1, 1)  # (2, classes, 3)
    metric = mx.metric.Perplexity(None, axis=1)
    metric.update([np.stack([CLASSES, CLASSES])], [scores])
    assert metric.get()[1] == pytest.approx(exp(-(log(0.9) + log(0.2) + log(0.7)) / 3), rel=1e-6)


def test_perplexity_of_nothing_but_padding_is_undefined():
    metric = mx.metric.Perplexity(1)
    metric.update([CLASSES], [SCORES])
    assert np.isnan(metric.get()[1])


def test_top_k_of_fewer_classes_finds_all():
    metric = mx.metric.TopKAccuracy(5)
    metric.update([CLASSES], [SCORES])
    assert metric.get() == ("top_k_accuracy_5", 1.0)


def test_classes_may_be_given_instead_of_scores():
    metric = mx.metric.TopKAccuracy(2)
    metric.update([CLASSES], [np.array([1, 0, 1])])
    assert metric.get()[1] == pytest.approx(2 / 3)


def test_micro_pearson_keeps_a_global_value():
    metric = mx.metric.PearsonCorrelation(average="micro")
    x, y = np.arange(6.0), np.array([1.0, 3, 2, 5, 4, 6])
    metric.update([x[:3]], [y[:3]])
    metric.reset_local()
    metric.update([x[3:]], [y[3:]])
    assert metric.get_global()[1] == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert metric.get()[1] == pytest.approx(np.corrcoef(x[3:], y[3:])[0, 1])


def test_multiclass_correlation_matches_binary_for_two_classes():
    rng = np.random.default_rng(3)
    labels, scores = rng.integers(0, 2, 50), rng.random((50, 2))
    mcc, pcc = mx.metric.MCC(), mx.metric.PCC()
    mcc.update([labels], [scores])
    pcc.update([labels], [scores])
    assert pcc.get()[1] == pytest.approx(mcc.get()[1])


@pytest.mark.parametrize("metric", [mx.metric.F1, mx.metric.MCC, mx.metric.PearsonCorrelation])
def test_an_unknown_average_is_rejected(metric):
    with pytest.raises(ParameterError, match="unknown average"):
        metric(average="median")


def test_errors_name_shapes():
    with pytest.raises(ShapeError, match=r"Shape of labels 1 does not match shape of predictions 2"):
        mx.metric.Accuracy().update([CLASSES], [SCORES, SCORES])


def test_a_metric_class_can_be_instantiated():
    assert isinstance(mx.metric.create(mx.metric.MSE), mx.metric.MSE)


def test_a_function_without_a_name_is_called_custom():
    def errors(label, pred):
        return 0.0

    assert mx.metric.np(lambda label, pred: 0.0).name == "custom(<lambda>)"
    assert (mx.metric.np(errors).name, mx.metric.np(errors, name="<e>").name) == ("errors", "<e>")


def test_there_is_no_metric_beyond_the_last():
    with pytest.raises(ValueError, match="out of range"):
        mx.metric.create(["acc", "mse"]).get_metric(9)
