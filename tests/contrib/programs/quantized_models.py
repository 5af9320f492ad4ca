"""Graphs, weights and calibrated ranges of quantized models."""

from __future__ import annotations

import json
from importlib import import_module

import numpy as np


def _quantization(mx):
    return import_module(f"{mx.__name__}.contrib.quantization")


def _network(mx):
    conv = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, name="conv")
    norm = mx.sym.BatchNorm(conv, fix_gamma=False, name="bn")
    pool = mx.sym.Pooling(mx.sym.Activation(norm, act_type="relu", name="act"), kernel=(2, 2), stride=(2, 2), name="pool")
    dense = mx.sym.FullyConnected(mx.sym.Flatten(pool, name="flat"), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(dense, name="softmax")


def _made(mx, symbol=None, samples=None, **options):
    """The nodes and the weights of a quantized model."""
    symbol = _network(mx) if symbol is None else symbol
    rng = np.random.RandomState(0)
    arguments, _, states = symbol.infer_shape(data=(2, 1, 8, 8))
    shapes = {n: s for n, s in zip(symbol.list_arguments(), arguments) if n not in ("data", "softmax_label")}  # noqa: B905
    args = {n: mx.nd.array(rng.randn(*s)) for n, s in shapes.items()}
    aux = {n: mx.nd.array(abs(rng.randn(*s))) for n, s in zip(symbol.list_auxiliary_states(), states)}  # noqa: B905
    if options["calib_mode"] != "none":
        options["calib_data"] = mx.io.NDArrayIter(rng.randn(8, 1, 8, 8).astype("float32"), np.zeros(8), batch_size=2)
    new, weights, _ = _quantization(mx).quantize_model(symbol, args, aux, num_calib_examples=samples, **options)
    nodes = json.loads(new.tojson())["nodes"]
    kept = ("out_type", "min_calib_range", "max_calib_range")
    # MXNet leaves the range of a normalization's results out, and then cannot run it
    own = [{} if n["op"] == "_contrib_quantized_batch_norm" else n.get("attrs", {}) for n in nodes]
    attrs = [{k: v for k, v in a.items() if k in kept} for a in own]
    listed = [[n["op"], n["name"], a, [[nodes[i]["name"], k] for i, k, _ in n["inputs"]]] for n, a in zip(nodes, attrs)]  # noqa: B905
    return [listed, {name: array.astype("float32") for name, array in sorted(weights.items())}]


def modes(mx):
    return [_made(mx, calib_mode="none", quantize_mode=m, quantized_dtype=d) for m in ("full", "smart") for d in ("int8", "uint8", "auto")]


def calibrated_ranges(mx):
    options = [("naive", "int8", None), ("naive", "auto", 4), ("entropy", "int8", None), ("entropy", "auto", None)]
    return [_made(mx, calib_mode=m, quantized_dtype=d, samples=n) for m, d, n in options]


def excluded_layers(mx):
    return _made(mx, calib_mode="none", quantize_mode="full", excluded_sym_names=["conv"], excluded_op_names=["Pooling"])


def only_between_convolutions(mx):
    conv = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), pad=(1, 1), num_filter=1, name="c1")
    other = mx.sym.Convolution(mx.sym.Activation(conv, act_type="relu", name="r"), kernel=(3, 3), pad=(1, 1), num_filter=1, name="c2")
    made = [
        mx.sym.elemwise_add(other, conv, name="sum"),
        mx.sym.elemwise_mul(other, conv, name="mul"),
        mx.sym.concat(conv, other, name="cc"),
    ]
    return [_made(mx, s, calib_mode="none", quantize_mode=mode) for s in made for mode in ("full", "smart")]


class _Collector:
    """The ranges of a program's own collector, as `calib_graph` reads them."""

    min_max_dict = {"data": (-1.5, 2.0), "fc_output": (np.array([-3.0], "f4"), np.array([4.0], "f4")), "other": (0.0, 1.0)}  # noqa: RUF012
    hist_dict = {  # noqa: RUF012
        name: (np.bincount(np.arange(8001) % 7 * 1000, minlength=8001), np.linspace(-bound, bound, 8002), -bound, bound, bound)
        for name, bound in (("data", 2.0), ("fc_output", 4.0))
    }


def own_collectors(mx):
    dense = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    weights = {"fc_weight": mx.nd.arange(32).reshape((4, 8)) / 10, "fc_bias": mx.nd.arange(4)}
    out = []
    for mode in ("naive", "entropy"):
        symbol, _, states, _ = _quantization(mx).quantize_graph(dense, weights, {}, mx.cpu(), calib_mode=mode)
        new, arrays, _ = _quantization(mx).calib_graph(symbol, weights, states, _Collector(), calib_mode=mode, quantized_dtype="int8")
        attrs = {n: a for n, a in sorted(new.attr_dict().items()) if "min_calib_range" in a}
        ranges = {n: [float(a["min_calib_range"]), float(a["max_calib_range"])] for n, a in attrs.items()}
        out.append([ranges, {name: array.astype("float32") for name, array in sorted(arrays.items())}])
    return out


def histograms(mx):
    old = (np.array([1, 2, 3, 2, 1]), np.linspace(-2, 2, 6), -1.5, 1.8, 2.0)
    more = [(np.array([0.5, -1.2, 1.9]), -1.2, 1.9, 1.9), (np.array([3.0, -2.5, 0.1]), -2.5, 3.0, 3.0)]
    return [list(_quantization(mx).combine_histogram(old, *new)) for new in more]
