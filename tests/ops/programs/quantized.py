"""8-bit integers: quantization, calibration, layers. The real MXNet runs these with oneDNN."""

from __future__ import annotations

from typing import Any

import numpy as np

RANDOM = np.random.RandomState(11)
REALS = RANDOM.uniform(-1.7, 1.6, (4, 32)).astype("float32")
SIGNED, OTHER = (RANDOM.randint(-128, 128, (4, 32)) for _ in range(2))
UNSIGNED = RANDOM.randint(0, 256, (4, 32))
IMAGES = RANDOM.randint(-128, 128, (2, 3, 6, 6))
WIDE = RANDOM.randint(-(2**31), 2**31 - 1, (4, 32), dtype="int64").astype("int32")
WEIGHT, ROWS, BIAS = RANDOM.randint(-128, 128, (7, 20)), RANDOM.randint(-128, 128, (5, 20)), RANDOM.randint(-128, 128, 7)
CALIBRATED = {"min_calib_range": -2.5, "max_calib_range": 2.6}


def _array(mx: Any, values: Any, dtype: str = "float32") -> Any:
    return mx.nd.array(values, dtype=dtype)


def _range(mx: Any, low: float, high: float) -> Any:
    return _array(mx, [low]), _array(mx, [high])


def quantize(mx: Any) -> Any:
    limits = [_range(mx, -1.5, 1.3), _range(mx, 0, 1.3)]
    return [mx.nd.contrib.quantize(_array(mx, REALS), *r, out_type=t) for r in limits for t in ("int8", "uint8")]


def quantize_by_calibration(mx: Any) -> Any:
    x, found = _array(mx, REALS), []
    for kind in ("int8", "uint8", "auto"):
        found.append(mx.nd.contrib.quantize_v2(x, out_type=kind))
        found.append(mx.nd.contrib.quantize_v2(x, out_type=kind, min_calib_range=-1.5, max_calib_range=1.3))
        found.append(mx.nd.contrib.quantize_v2(x, out_type=kind, min_calib_range=0.0, max_calib_range=1.3))
    return [*found, mx.nd.contrib.quantize_v2(_array(mx, SIGNED, "int8"))]


def quantize_without_symmetry(mx: Any) -> Any:
    x = _array(mx, RANDOM_STEPS)
    limits: list[Any] = [{}, {"min_calib_range": -1.5, "max_calib_range": 1.3}]
    symbols = [mx.sym.contrib.quantize_asym(mx.sym.Variable("x"), name="q", **r) for r in limits]
    return [[s.list_outputs(), s.bind(mx.cpu(), {"x": x}).forward()] for s in symbols]


RANDOM_STEPS = np.random.RandomState(1).uniform(-1.7, 1.6, (3, 2, 32)).astype("float32")


def dequantize(mx: Any) -> Any:
    signed = mx.nd.contrib.dequantize(_array(mx, SIGNED, "int8"), *_range(mx, -1.5, 1.3))
    return [signed, mx.nd.contrib.dequantize(_array(mx, UNSIGNED, "uint8"), *_range(mx, 0, 1.3))]


def requantize(mx: Any) -> Any:
    x, limits = _array(mx, WIDE, "int32"), _range(mx, -4, 4.5)
    ways: list[Any] = [{}, {"min_calib_range": -3.0, "max_calib_range": 2.0}]
    ways += [{"min_calib_range": 0.0, "max_calib_range": 2.0, "out_type": kind} for kind in ("uint8", "auto")]
    return [mx.nd.contrib.requantize(x, *limits, **way) for way in ways]


def thresholds(mx: Any) -> Any:
    random = np.random.RandomState(0)
    normal = np.histogram(random.normal(size=10000), bins=2001, range=(-5, 5))
    one_sided = np.histogram(np.abs(random.normal(size=1000)), bins=501, range=(-5, 5))
    cases = [(normal, 255), (normal, 63), (one_sided, 255)]
    found = [mx.nd.contrib.calibrate_entropy(*[_array(mx, x) for x in h], num_quantized_bins=n) for h, n in cases]
    return [[threshold, divergence * 1000] for threshold, divergence in found]


def fully_connected(mx: Any) -> Any:
    weight, bias, limits = _array(mx, WEIGHT, "int8"), _array(mx, BIAS, "int8"), (*_range(mx, -2, 1.9), *_range(mx, -0.5, 0.6))
    found = []
    for kind, low in (("int8", -1.0), ("uint8", 0.0)):
        rows = _array(mx, ROWS + (128 if kind == "uint8" else 0), kind)
        own = _range(mx, low, 1.1)
        found.append(mx.nd.contrib.quantized_fully_connected(rows, weight, bias, *own, *limits, num_hidden=7))
        found.append(mx.nd.contrib.quantized_fully_connected(rows, weight, *own, *limits[:2], num_hidden=7, no_bias=True))
        found.append(mx.nd.contrib.quantized_fully_connected(rows, weight, None, *own, *limits[:2], None, None, num_hidden=7, no_bias=True))
    return found


def convolution(mx: Any) -> Any:
    data, weight = _array(mx, IMAGES + 128, "uint8"), _array(mx, np.random.RandomState(2).randint(-128, 128, (4, 3, 3, 3)), "int8")
    ways: list[Any] = [{}, {"stride": (2, 2), "pad": (1, 1)}]
    arrays = data, weight, *_range(mx, 0, 1.1), *_range(mx, -2, 1.9)
    found = [mx.nd.contrib.quantized_conv(*arrays, num_filter=4, kernel=(3, 3), no_bias=True, **way) for way in ways]
    return [out[0] for out in found]  # the ranges are twice too large, see the table of differences


def pooling(mx: Any) -> Any:
    windows: list[Any] = [{"kernel": (2, 2), "stride": (2, 2)}, {"kernel": (3, 3), "pad": (1, 1)}, {"kernel": (2, 2), "global_pool": True}]
    windows += [{"kernel": (3, 3), "pad": (1, 1), "count_include_pad": False}]
    data = [(_array(mx, IMAGES, "int8"), _range(mx, -1, 1.5)), (_array(mx, IMAGES + 128, "uint8"), _range(mx, 0, 1.5))]
    return [mx.nd.contrib.quantized_pooling(x, *r, pool_type=t, **w) for x, r in data for w in windows for t in ("max", "avg")]


def activation(mx: Any) -> Any:
    return mx.nd.contrib.quantized_act(_array(mx, SIGNED, "int8"), *_range(mx, -1, 1.5), act_type="relu")


def flatten(mx: Any) -> Any:
    return mx.nd.contrib.quantized_flatten(_array(mx, IMAGES, "int8"), *_range(mx, -1, 1.5))


def concat(mx: Any) -> Any:
    limits = (*_range(mx, -1, 1.1), *_range(mx, -2, 1.9))
    positive = (*_range(mx, 0, 1.1), *_range(mx, 0, 1.9))
    signed, other, unsigned = _array(mx, SIGNED, "int8"), _array(mx, OTHER, "int8"), _array(mx, UNSIGNED, "uint8")
    join = mx.nd.contrib.quantized_concat
    both = join(signed, other, *limits, dim=0, num_args=2)
    mixed = join(unsigned, other, *positive[:2], *limits[2:], dim=1, num_args=2)
    return [both, mixed, join(unsigned, unsigned, *positive, num_args=2)]


def sums(mx: Any) -> Any:
    limits, positive = (*_range(mx, -1, 1.1), *_range(mx, -2, 1.9)), (*_range(mx, 0, 1.1), *_range(mx, 0, 1.9))
    signed, other, unsigned = _array(mx, SIGNED, "int8"), _array(mx, OTHER, "int8"), _array(mx, UNSIGNED, "uint8")
    add, found = mx.nd.contrib.quantized_elemwise_add, []
    for arrays in ((signed, other, *limits), (unsigned, unsigned, *positive)):
        out, low, high = add(*arrays)
        found.append([out.astype("float32"), low, high])
    return found


def calibrated_sums(mx: Any) -> Any:
    limits, positive = (*_range(mx, -1, 1.1), *_range(mx, -2, 1.9)), (*_range(mx, 0, 1.1), *_range(mx, 0, 1.9))
    signed, other, unsigned = _array(mx, SIGNED, "int8"), _array(mx, OTHER, "int8"), _array(mx, UNSIGNED, "uint8")
    add = mx.nd.contrib.quantized_elemwise_add
    mixed = add(unsigned, other, *positive[:2], *limits[2:], **CALIBRATED)
    return [add(signed, other, *limits, **CALIBRATED), mixed, add(unsigned, unsigned, *positive, **CALIBRATED)]


def products(mx: Any) -> Any:
    values = {"a": _array(mx, SIGNED, "int8"), "b": _array(mx, OTHER, "int8")}
    values |= dict(zip(("c", "d", "e", "f"), (*_range(mx, -1, 1.1), *_range(mx, -2, 1.9))))  # noqa: B905
    ways: list[Any] = [{}, {"min_calib_range": -2.5, "max_calib_range": 2.6}, {"enable_float_output": True}]
    symbols = [mx.sym.contrib.quantized_elemwise_mul(*map(mx.sym.Variable, values), name="m", **way) for way in ways]
    return [[s.list_outputs(), s.bind(mx.cpu(), values).forward()] for s in symbols]


def batch_norm(mx: Any) -> Any:
    random = np.random.RandomState(3)
    vectors = [_array(mx, random.uniform(low, high, 3)) for low, high in ((0.5, 1.5), (-0.5, 0.5), (-0.5, 0.5), (0.5, 1.5))]
    norm, settings = mx.nd.contrib.quantized_batch_norm, {"min_calib_range": -2.1, "max_calib_range": 2.0}
    signed = [norm(_array(mx, IMAGES, "int8"), *vectors, *_range(mx, -1, 1.2), fix_gamma=f, **settings) for f in (False, True)]
    return [signed, norm(_array(mx, IMAGES + 128, "uint8"), *vectors, *_range(mx, 0, 1.2), fix_gamma=False, **settings)]


def embedding(mx: Any) -> Any:
    weight = _array(mx, [[1, 2], [3, 4], [5, 6]], "int8")
    return mx.nd.contrib.quantized_embedding(_array(mx, [1, 0, 7]), weight, *_range(mx, -1, 1), input_dim=3, output_dim=2)


def arguments_of_symbols(mx: Any) -> Any:
    found = []
    settings: Any = {
        "quantized_conv": {"kernel": (3, 3), "num_filter": 8},
        "quantized_fully_connected": {"num_hidden": 3},
        "quantized_pooling": {"kernel": (2, 2)},
        "quantized_act": {"act_type": "relu"},
        "quantized_flatten": {},
        "quantized_batch_norm": {},
        "quantized_embedding": {"input_dim": 3, "output_dim": 4},
        "requantize": {},
        "dequantize": {},
        "quantize_v2": {},
        "quantized_elemwise_add": {},
        "quantized_elemwise_mul": {},
        "calibrate_entropy": {},
    }
    for name, params in settings.items():
        symbol = getattr(mx.sym.contrib, name)(mx.sym.Variable("data"), name="x", **params)
        found.append([symbol.list_arguments(), symbol.list_auxiliary_states(), symbol.list_outputs()])
    bare = mx.sym.contrib.quantized_fully_connected(mx.sym.Variable("data"), name="x", num_hidden=3, no_bias=True)
    types = [[np.dtype(t).name for t in group] for group in bare.infer_type(data="int8")]
    return [found, bare.list_arguments(), types, bare.infer_shape(data=(2, 5))]
