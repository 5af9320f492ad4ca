"""Linear quantization, and products of integers, computed in float32 and float64, in which they are exact."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....symbol.symbol import Symbol
from ..op_reader import reads, reads_like, unsupported
from ..values import Graph, Tensor
from .elementwise import dtype_of_code
from .functions import NP, as_dtype
from .layers import Conv

#: The ranges of what is quantized to.
_RANGES = {"uint8": (0, 255), "int8": (-128, 127), "uint16": (0, 65535), "int16": (-32768, 32767)}


def _spread(graph: Graph, factor: Tensor | None, data: Tensor, axis: int, block_size: int) -> Any:
    """A scale or zero point, shaped to broadcast against the data: one for all, one for each place of an axis, or one for each block."""
    if factor is None:
        return None
    if factor.ndim == 0 or factor.known_sizes == (1,):
        return NP.reshape(factor.np, ())
    at = data.axis(axis)
    if block_size:
        # the last block may extend beyond the axis
        whole = NP.repeat(factor.np, block_size, axis=at)
        return NP.take(whole, graph.constant(np.arange(data.size(at)), "int64").np, axis=at, mode="clip")
    return NP.reshape(factor.np, tuple(-1 if k == at else 1 for k in range(data.ndim)))


@reads
def QuantizeLinear(graph, x, y_scale, y_zero_point=None, *, axis=1, block_size=0, output_dtype=0, saturate=1, precision=0):
    """round(x / scale) + zero point, within the range of the dtype."""
    dtype = dtype_of_code(graph, output_dtype) if output_dtype else "uint8" if y_zero_point is None else str(y_zero_point.dtype)
    if dtype not in _RANGES:
        raise unsupported(graph, "quantization to this dtype is not supported", dtype, f"use one of {', '.join(_RANGES)}")
    scale, zero = (_spread(graph, t, x, axis, block_size) for t in (y_scale, y_zero_point))
    rounded = NP.around(as_dtype(x.symbol, "float32") / as_dtype(scale, "float32"))
    if zero is not None:
        rounded = rounded + as_dtype(zero, "float32")
    low, high = _RANGES[dtype]
    return as_dtype(NP.minimum(NP.maximum(rounded, float(low)), float(high)), dtype)


@reads
def DequantizeLinear(graph, x, x_scale, x_zero_point=None, *, axis=1, block_size=0, output_dtype=0):
    """(x - zero point) · scale."""
    dtype = dtype_of_code(graph, output_dtype) if output_dtype else str(x_scale.dtype)
    scale, zero = (_spread(graph, t, x, axis, block_size) for t in (x_scale, x_zero_point))
    wide = as_dtype(x.symbol, "float32")
    return as_dtype((wide if zero is None else wide - as_dtype(zero, "float32")) * as_dtype(scale, "float32"), dtype)


def _shifted(graph: Graph, x: Tensor, zero: Tensor | None, axis: int) -> Symbol:
    # float64 holds the products of bytes, and sums of 2^37 of them, exactly
    wide = as_dtype(x.symbol, "float64")
    return wide if zero is None else wide - as_dtype(_spread(graph, zero, x, axis, 0), "float64")


@reads
def MatMulInteger(graph, a, b, a_zero_point=None, b_zero_point=None):
    """A product of matrices of integers, in int32."""
    return as_dtype(NP.matmul(_shifted(graph, a, a_zero_point, -2), _shifted(graph, b, b_zero_point, -1)), "int32")


def _requantized(total: Symbol, scale: Symbol, zero: Tensor) -> Symbol:
    low, high = _RANGES[str(zero.dtype)]
    found = NP.around(total * as_dtype(scale, "float64")) + as_dtype(NP.reshape(zero.np, ()), "float64")
    return as_dtype(NP.minimum(NP.maximum(found, float(low)), float(high)), str(zero.dtype))


@reads
def QLinearMatMul(graph, a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point):
    """A product of quantized matrices, quantized."""
    if str(y_zero_point.dtype) not in _RANGES:
        raise unsupported(graph, "quantization to this dtype is not supported", y_zero_point.dtype)
    total = NP.matmul(_shifted(graph, a, a_zero_point, -2), _shifted(graph, b, b_zero_point, -1))
    scale = as_dtype(_spread(graph, a_scale, a, -2, 0), "float64") * as_dtype(_spread(graph, b_scale, b, -1, 0), "float64")
    return _requantized(total, scale / as_dtype(NP.reshape(y_scale.np, ()), "float64"), y_zero_point)


def _convolution(graph: Graph, x: Tensor, x_zero: Tensor | None, w: Tensor, w_zero: Tensor | None, attributes: Mapping[str, object]) -> Any:
    data = graph.computed(f"{x.name}.shifted", _shifted(graph, x, x_zero, 1), x.roots)
    weight = graph.computed(f"{w.name}.shifted", _shifted(graph, w, w_zero, 0), w.roots)
    return Conv(graph, data, weight, None, **attributes)


@reads_like(Conv)
def ConvInteger(graph, x, w, x_zero_point=None, w_zero_point=None, **attributes):
    """A convolution of integers, in int32."""
    return as_dtype(_convolution(graph, x, x_zero_point, w, w_zero_point, attributes), "int32")


@reads_like(Conv)
def QLinearConv(graph, x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, b=None, **attributes):
    """A convolution of quantized arrays, quantized."""
    total = _convolution(graph, x, x_zero_point, w, w_zero_point, attributes).as_np_ndarray()
    column = (1, -1, *[1] * (x.ndim - 2))
    if b is not None:
        total = total + as_dtype(NP.reshape(b.np, column), "float64")
    per_filter = as_dtype(NP.reshape(w_scale.np, column if w_scale.ndim else ()), "float64")
    scale = as_dtype(NP.reshape(x_scale.np, ()), "float64") * per_filter / as_dtype(NP.reshape(y_scale.np, ()), "float64")
    return _requantized(total, scale, y_zero_point)
