"""Values of every metric over two batches, local and global, and how metrics are named, created and combined."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from tests.oracle_programs import fails

RANDOM = np.random.RandomState(0)
SCORES = RANDOM.dirichlet([1, 1, 1], 6).astype("float32")
CLASSES = np.array([0, 1, 2, 1, 0, 2], "float32")
PAIR_SCORES = RANDOM.dirichlet([1, 1], 6).astype("float32")
PAIR_CLASSES = np.array([0, 1, 1, 1, 0, 0], "float32")
NUMBERS = RANDOM.rand(6, 1).astype("float32")
TARGETS = RANDOM.rand(6).astype("float32")


def _figures(mx: Any, metric: Any, *batches: tuple[np.ndarray, np.ndarray]) -> Any:
    """The metric's values after each batch, then the global ones after a local reset."""
    figures = [metric.get()]
    for label, pred in batches:
        metric.update([mx.nd.array(label)], [mx.nd.array(pred)])
        figures.append([metric.get(), metric.get_global()])
    metric.reset_local()
    figures.append([metric.get(), metric.get_global()])
    metric.update([mx.nd.array(batches[0][0])], [mx.nd.array(batches[0][1])])
    figures.append([metric.get(), metric.get_global()])
    metric.reset()
    return [figures, metric.get_name_value(), metric.get_global_name_value(), metric.get_config()]


def accuracy(mx: Any) -> Any:
    a = mx.metric.Accuracy
    return [
        _figures(mx, a(), (CLASSES, SCORES), (CLASSES[::-1], SCORES)),
        _figures(mx, a(axis=0, name="columns"), (CLASSES[:3], SCORES)),
        _figures(mx, a(), (CLASSES, CLASSES[::-1])),
        _figures(mx, a(), (CLASSES[:, None], SCORES)),
        _figures(mx, a(), (CLASSES.reshape(2, 3), SCORES.reshape(2, 3, 3).transpose(0, 2, 1))),
        fails(lambda: _figures(mx, a(), (CLASSES[:2], SCORES))),
        fails(lambda: _figures(mx, a(), (CLASSES[:, None], CLASSES))),
    ]


def top_k_accuracy(mx: Any) -> Any:
    t = mx.metric.TopKAccuracy
    return [
        _figures(mx, t(2), (CLASSES, SCORES), (CLASSES[::-1], SCORES)),
        _figures(mx, t(3, name="best"), (CLASSES, SCORES)),
        _figures(mx, t(2), (CLASSES[:, None], SCORES)),
        fails(lambda: t()),
        fails(lambda: _figures(mx, t(2), (CLASSES, SCORES.reshape(2, 3, 3)))),
    ]


def cross_entropy(mx: Any) -> Any:
    c = mx.metric.CrossEntropy
    return [
        _figures(mx, c(), (CLASSES, SCORES), (CLASSES[::-1], SCORES)),
        _figures(mx, c(eps=0.1), (CLASSES[:, None], SCORES)),
        _figures(mx, mx.metric.NegativeLogLikelihood(), (CLASSES, SCORES)),
        fails(lambda: _figures(mx, c(), (CLASSES[:4], SCORES))),
    ]


def perplexity(mx: Any) -> Any:
    p = mx.metric.Perplexity
    zeros = np.array([[0, 1], [1, 0]], "float32")
    return [
        _figures(mx, p(None), (CLASSES, SCORES), (CLASSES[::-1], SCORES)),
        _figures(mx, p(1), (CLASSES, SCORES), (CLASSES[::-1], SCORES)),
        _figures(mx, p(None), (CLASSES.reshape(2, 3), SCORES)),
        _figures(mx, p(None), (np.zeros(2), zeros)),
        fails(lambda: _figures(mx, p(1), (CLASSES[:2], SCORES))),
        fails(p),
    ]


def distances(mx: Any) -> Any:
    both = [(TARGETS, NUMBERS), (NUMBERS[:3], NUMBERS[3:])]
    wide = (np.c_[TARGETS, TARGETS], np.c_[NUMBERS, NUMBERS + 1])
    kinds = [mx.metric.MSE, mx.metric.MAE, mx.metric.RMSE]
    results = [[_figures(mx, kind(), *both), _figures(mx, kind(), wide), _figures(mx, kind(), (TARGETS, NUMBERS[:, 0]))] for kind in kinds]
    return [results, [fails(lambda kind=kind: _figures(mx, kind(), (TARGETS[:4], NUMBERS))) for kind in kinds]]


def binary_scores(mx: Any) -> Any:
    swapped = (1 - PAIR_CLASSES, PAIR_SCORES)
    fewer = (PAIR_CLASSES[1:], PAIR_SCORES[:-1])
    constant = (PAIR_CLASSES * 0, PAIR_SCORES)
    results = []
    for kind in (mx.metric.F1, mx.metric.MCC):
        results += [
            _figures(mx, kind(), (PAIR_CLASSES, PAIR_SCORES), swapped),
            _figures(mx, kind(), (PAIR_CLASSES, PAIR_SCORES), fewer, constant)[1:],
            _figures(mx, kind(average="micro"), (PAIR_CLASSES, PAIR_SCORES), fewer, swapped),
            _figures(mx, kind(), constant),
            _figures(mx, kind(), (PAIR_CLASSES[:, None], PAIR_SCORES)),
            _figures(mx, kind(), (PAIR_CLASSES * 2 - 1, PAIR_SCORES)),
            fails(lambda kind=kind: _figures(mx, kind(), (CLASSES, SCORES))),
            fails(lambda kind=kind: _figures(mx, kind(), (PAIR_CLASSES, PAIR_CLASSES))),
        ]
    return results


def class_correlation(mx: Any) -> Any:
    p = mx.metric.PCC
    return [
        _figures(mx, p(), (CLASSES, SCORES), (CLASSES[::-1], SCORES)),
        _figures(mx, p(), (PAIR_CLASSES, PAIR_SCORES), (CLASSES, SCORES)),
    ]


def pearson(mx: Any) -> Any:
    p = mx.metric.PearsonCorrelation
    column = NUMBERS[:, 0]
    micro = p(average="micro")
    batches = [(TARGETS, column), (TARGETS[:4], column[:4] ** 2), (TARGETS * 3 + 100, column)]
    figures = []
    for label, pred in batches:
        micro.update([mx.nd.array(label)], [mx.nd.array(pred)])
        figures.append(micro.get())
    return [
        _figures(mx, p(), (TARGETS, column), (TARGETS, column**2)),
        figures,
        fails(lambda: _figures(mx, p(), (TARGETS, NUMBERS))),
        fails(lambda: _figures(mx, p(), (TARGETS[:2], NUMBERS))),
    ]


def losses(mx: Any) -> Any:
    kinds = (mx.metric.Loss, mx.metric.Torch, mx.metric.Caffe)
    return [_figures(mx, kind(), (CLASSES, SCORES), (CLASSES, NUMBERS)) for kind in kinds]


def lists_of_arrays(mx: Any) -> Any:
    labels, preds = (
        [mx.nd.array(CLASSES), mx.nd.array(CLASSES[:3], ctx=mx.cpu(1))],
        [mx.nd.array(SCORES), mx.nd.array(SCORES[:3], ctx=mx.cpu(1))],
    )
    names = ["acc", "ce", "mse", "loss"]
    found = []
    for metric in [mx.metric.create(name) for name in names]:
        metric.update(labels, preds)
        found.append([metric.get(), metric.num_inst])
    for metric in [mx.metric.create(name) for name in names]:
        metric.update(mx.nd.array(CLASSES), mx.nd.array(SCORES))
        found.append([metric.get(), metric.num_inst])
    return [found, [fails(lambda m=m: mx.metric.create(m).update(labels[:1], preds)) for m in ("acc", "ce", "mse")]]


def batches_by_name(mx: Any) -> Any:
    label = OrderedDict(softmax_label=mx.nd.array(CLASSES), other=mx.nd.array(CLASSES[::-1].copy()))
    pred = OrderedDict(softmax_output=mx.nd.array(SCORES), x=mx.nd.array(SCORES[::-1].copy()))
    a = mx.metric.Accuracy
    metrics = [
        a(),
        a(output_names=["x"], label_names=["softmax_label"]),
        a(output_names=["x", "softmax_output"], label_names=["other", "softmax_label"]),
        mx.metric.CompositeEvalMetric(["acc", a(output_names=["x"], label_names=["other"])]),
        mx.metric.CompositeEvalMetric(["acc"], output_names=["x"], label_names=["other"]),
    ]
    for metric in metrics:
        metric.update_dict(label, pred)
    absent = [a(output_names=["x"]), a(output_names=["zz"], label_names=["softmax_label"])]
    return [[m.get() for m in metrics], [fails(lambda m=m: m.update_dict(label, pred)) for m in absent]]


def creation(mx: Any) -> Any:
    create = mx.metric.create
    made = [
        create("acc"),
        create(["acc", "mse"]),
        create(["acc", mx.metric.MSE()]),
        create("top_k_acc", top_k=3),
        create("ce", eps=0.1),
        create('["accuracy", {"axis": 2}]'),
        create({"metric": "acc", "axis": 2}),
        create("composite"),
        create(mx.metric.MSE().get_config()),
        create("perplexity", ignore_label=None),
        create("acc", axis=1, name="zz"),
        create("nll_loss"),
        create("pearsonr"),
        create("RMSE"),
    ]
    failing = [
        fails(lambda: create("nope")),
        fails(lambda: create(None)),
        fails(lambda: create("perplexity")),
        fails(lambda: create("acc", bogus=2)),
        fails(lambda: create(mx.metric.MSE(), 1)),
    ]
    return [[m.name for m in made], [m.get_config() for m in made], [str(m) for m in made], failing]


def composite(mx: Any) -> Any:
    c = mx.metric.CompositeEvalMetric(["acc", mx.metric.CrossEntropy()])
    c.update([mx.nd.array(CLASSES)], [mx.nd.array(SCORES)])
    story = [c.get(), c.get_global(), c.get_name_value(), c.get_metric(0).name, str(mx.metric.CompositeEvalMetric(["acc", "mse"]))]
    c.reset_local()
    story += [c.get(), c.get_global()]
    c.add("mse")
    c.reset()
    return [*story, c.get(), c.get_global_name_value(), mx.metric.CompositeEvalMetric().get()]


def functions_as_metrics(mx: Any) -> Any:
    def errors(label: Any, pred: Any) -> float:
        return float(np.abs(label - pred.argmax(1)).sum())

    def counted(label: Any, pred: Any) -> Any:
        return errors(label, pred), len(label)

    results = []
    for metric in (
        mx.metric.CustomMetric(errors),
        mx.metric.CustomMetric(counted, name="n"),
        mx.metric.CustomMetric(lambda label, pred: 1.5),
        mx.metric.np(errors),
        mx.metric.np(counted, name="x", allow_extra_outputs=True),
        mx.metric.create(errors),
    ):
        for _ in range(2):
            metric.update([mx.nd.array(CLASSES)], [mx.nd.array(SCORES)])
        results.append([metric.name, metric.get(), metric.get_global(), metric.num_inst, fails(metric.get_config)])
    extra = [mx.nd.array(SCORES), mx.nd.array(SCORES)]
    return [
        results,
        fails(lambda: mx.metric.np(errors).update([mx.nd.array(CLASSES)], extra)),
        fails(lambda: mx.metric.np(errors, allow_extra_outputs=True).update([mx.nd.array(CLASSES)], extra)),
    ]


def a_subclass_that_keeps_no_global_sums(mx: Any) -> Any:
    class Mine(mx.metric.EvalMetric):
        def __init__(self) -> None:
            super().__init__("mine")

        def update(self, labels: Any, preds: Any) -> None:
            self.sum_metric += 3
            self.num_inst += 2

    mine = mx.metric.register(Mine)()
    mine.update(None, None)
    story = [mine.get(), mine.get_global(), mine.get_global_name_value()]
    mine.reset_local()
    named = [mx.metric.create("mine").name, mx.metric.alias("other_name")(Mine) is Mine, mx.metric.create("Other_Name").name]
    return [*story, mine.get(), named, fails(lambda: mx.metric.EvalMetric("a").update(1, 1))]


def checks_of_lengths_and_shapes(mx: Any) -> Any:
    check, label, pred = mx.metric.check_label_shapes, mx.nd.array(CLASSES), mx.nd.array(SCORES)
    wrapped = [list(x) for x in check(label, label, wrap=True)]
    return [fails(lambda: check([1], [2, 3])), fails(lambda: check(label, pred)), fails(lambda: check(label, pred, shape=True)), wrapped]


def sums_of_single_precision(mx: Any) -> Any:
    metric = mx.metric.np(lambda label, pred: pred.sum(), name="sum")
    for value in (2.0**24, 1.0, 1.0):
        metric.update([mx.nd.ones((1,))], [mx.nd.full((1,), value)])
    return [metric.get(), float(metric.sum_metric)]
