"""Every loss: values and gradients of predictions, with and without weights, imperative and hybridized."""

from __future__ import annotations

from typing import Any

import numpy as np

from .running import real

PRED, OTHER, THIRD = real(3, 4), real(3, 4, seed=2), real(3, 4, seed=3)
SIGNS = np.where(OTHER > 0, 1, -1).astype("float32")
CHANCES = real(3, 4, low=0.05, high=0.95, seed=4)
WEIGHTS = real(3, 1, low=0.1, seed=5)
CLASSES = np.array([0, 3, 1], "float32")


def _each(mx: Any, loss: Any, *inputs: np.ndarray) -> Any:
    """Value and gradients of the first two inputs, at once and hybridized."""
    found = []
    for hybrid in (False, True):
        if hybrid:
            loss.hybridize()
        arrays = [mx.nd.array(x) for x in inputs]
        arrays[0].attach_grad()
        with mx.autograd.record():
            value = loss(*arrays)
        value.backward()
        found.append([value, arrays[0].grad.copy()])
    return found


def l1_and_l2(mx: Any) -> Any:
    L = mx.gluon.loss
    losses = [L.L1Loss(), L.L2Loss(), L.L1Loss(weight=0.3, batch_axis=1), L.L2Loss(weight=2.0)]
    return [_each(mx, loss, PRED, OTHER) for loss in losses] + [_each(mx, L.L2Loss(), PRED, OTHER.reshape(12), WEIGHTS)]


def huber(mx: Any) -> Any:
    L = mx.gluon.loss
    return [_each(mx, L.HuberLoss(), PRED, OTHER), _each(mx, L.HuberLoss(0.3), PRED, OTHER, WEIGHTS)]


def poisson(mx: Any) -> Any:
    L = mx.gluon.loss
    counts = np.array([[3, 1, 2, 4]] * 3, "float32")
    return [
        _each(mx, L.PoissonNLLLoss(), PRED, counts),
        _each(mx, L.PoissonNLLLoss(from_logits=False), CHANCES, counts, WEIGHTS),
        L.PoissonNLLLoss(compute_full=True)(mx.nd.array(PRED), mx.nd.array(counts)),  # MXNet cannot record it
    ]


def sigmoid_cross_entropy(mx: Any) -> Any:
    L = mx.gluon.loss
    labels = (SIGNS + 1) / 2
    return [
        _each(mx, L.SigmoidBCELoss(), 30 * PRED, labels),
        _each(mx, L.SigmoidBinaryCrossEntropyLoss(from_sigmoid=True), CHANCES, labels, WEIGHTS),
        _each(mx, L.SigmoidBCELoss(), PRED, labels, WEIGHTS, CHANCES[:1]),
        _each(mx, L.SigmoidBCELoss(from_sigmoid=True), CHANCES, labels, WEIGHTS, CHANCES[:1]),
    ]


def softmax_cross_entropy(mx: Any) -> Any:
    L = mx.gluon.loss
    return [
        _each(mx, L.SoftmaxCELoss(), 50 * PRED, CLASSES),
        _each(mx, L.SoftmaxCrossEntropyLoss(sparse_label=False, weight=0.5), PRED, CHANCES),
        _each(mx, L.SoftmaxCELoss(from_logits=True), PRED, CLASSES, WEIGHTS),
        _each(mx, L.SoftmaxCELoss(axis=1), real(2, 3, 2), np.array([[0, 2], [1, 1]], "float32")),
    ]


def divergence(mx: Any) -> Any:
    L = mx.gluon.loss
    return [_each(mx, L.KLDivLoss(), PRED, CHANCES), _each(mx, L.KLDivLoss(from_logits=False, weight=0.5), PRED, CHANCES, WEIGHTS)]


def connectionist_temporal_classification(mx: Any) -> Any:
    L = mx.gluon.loss
    data, labels = real(2, 5, 4), np.array([[1, 0, -1], [2, 1, 1]], "float32")
    return [
        _each(mx, L.CTCLoss(), data, labels),
        _each(mx, L.CTCLoss("TNC", "TN", weight=0.5), data.transpose(1, 0, 2), labels.T),
    ]


def margins(mx: Any) -> Any:
    L = mx.gluon.loss
    losses = [L.HingeLoss(), L.SquaredHingeLoss(0.5), L.LogisticLoss(), L.HingeLoss(weight=2)]
    return [_each(mx, loss, PRED, SIGNS) for loss in losses] + [
        _each(mx, L.LogisticLoss(label_format="binary"), PRED, (SIGNS + 1) / 2, WEIGHTS)
    ]


def triplets(mx: Any) -> Any:
    return [_each(mx, mx.gluon.loss.TripletLoss(margin), PRED, OTHER, THIRD) for margin in (1, 3)]


def cosines(mx: Any) -> Any:
    L = mx.gluon.loss
    signs = np.array([1, -1, -1], "float32")
    return [
        _each(mx, L.CosineEmbeddingLoss(), PRED, OTHER, signs),
        _each(mx, L.CosineEmbeddingLoss(margin=0.1, weight=2), PRED, OTHER, signs, WEIGHTS),
    ]


def metric_learning(mx: Any) -> Any:
    """Not hybridized: MXNet's asks for the shape, which symbols have not."""
    loss, first, second = mx.gluon.loss.SDMLLoss(0.2), mx.nd.array(PRED), mx.nd.array(OTHER)
    first.attach_grad()
    with mx.autograd.record():
        value = loss(first, second)
    value.backward()
    return [value, first.grad, repr(loss)]
