"""Normalizations without running statistics: layer, root mean square, instance, group, L2 and local response."""

import math
from typing import Literal

from ..errors import ParameterError, ShapeError
from ..opdef import Count, along_axis, normalized_axis, op


def _normalized(xp, x, axes, eps):
    """``x`` with mean 0 and variance 1 over axes; its mean; and its deviation sqrt(var + eps)."""
    mean = xp.mean(x, axis=axes, keepdims=True)
    # two passes: E[x²] - E[x]² would cancel where the mean is large
    centered = x - mean
    deviation = xp.sqrt(xp.mean(centered * centered, axis=axes, keepdims=True) + eps)
    return centered / deviation, mean, deviation


def _rows(xp, x, kept):
    """``x`` with all axes after the first few flattened: the normalized elements become a row, so that row kernels can fuse it."""
    return xp.reshape(xp.upcast(x), shape=(*x.shape[:kept], math.prod(x.shape[kept:])))


def _normalization_grad(xp, dnormal, normal, deviation, axes):
    """The gradient through `_normalized`: the component orthogonal to 1 and to the result, over the deviation."""
    along = xp.mean(dnormal * normal, axis=axes, keepdims=True)
    # dx = (dy - mean(dy) - y · mean(dy · y)) / deviation for the normalized y, because mean and deviation depend on every element
    return (dnormal - xp.mean(dnormal, axis=axes, keepdims=True) - normal * along) / deviation


def _as_results(xp, data, *statistics):
    """Statistics as additional results: without gradient, in the data's dtype."""
    return (xp.cast_like(xp.stop_gradient(v), data) for v in statistics)


def _check(name, vectors, wanted):
    for v in vectors:
        if v.shape != wanted:
            raise ShapeError(f"{name}: gamma and beta have the wrong shape", f"a shape of {v.shape}", f"pass both with shape {wanted}")


def _others(ndim, *kept):
    return tuple(k for k in range(ndim) if k not in kept)


def _three_or_one(output_mean_var, **_):
    return 3 if output_mean_var else 1


STATISTICS = {"outputs": 3, "visible": _three_or_one, "output_names": ("output", "mean", "std")}


# LayerNorm


@op("LayerNorm", "_npx_layer_norm", alike=True, real=True, keeps_shape=True, **STATISTICS)
def layer_norm(xp, data, gamma, beta, *, axis: int = -1, eps: float = 1e-5, output_mean_var: bool = False):
    """``(data - mean) / sqrt(var + eps) * gamma + beta`` with the mean and biased variance along an axis.

    With ``output_mean_var`` the mean and sqrt(var + eps) are further results, without gradient.
    Source: Ba, Kiros & Hinton, "Layer normalization", 2016.
    """
    axis = normalized_axis(axis, len(data.shape), "LayerNorm: axis")
    _check("LayerNorm", (gamma, beta), (data.shape[axis],))
    column = tuple(-1 if k == axis else 1 for k in range(len(data.shape)))
    normal, mean, deviation = _normalized(xp, xp.upcast(data), (axis,), eps)
    out = normal * xp.reshape(gamma, shape=column) + xp.reshape(beta, shape=column)
    return xp.cast_like(out, data), *_as_results(xp, data, mean, deviation)


layer_norm.infer(lambda shapes, *, axis, **_: along_axis(shapes, axis))


@layer_norm.grad
def _(xp, dout, data, gamma, *, axis, eps, **_):
    if dout[0] is None:
        return None, None, None
    axis = axis % len(data.shape)
    column = tuple(-1 if k == axis else 1 for k in range(len(data.shape)))
    normal, _, deviation = _normalized(xp, xp.upcast(data), (axis,), eps)
    # sums of 16-bit gradients over a batch are taken in float32
    head, others = xp.upcast(dout[0]), _others(len(data.shape), axis)
    dnormal = head * xp.reshape(xp.upcast(gamma), shape=column)
    return _normalization_grad(xp, dnormal, normal, deviation, (axis,)), xp.sum(head * normal, axis=others), xp.sum(head, axis=others)


layer_norm.sample(lambda draw: draw(draw.real((3, 4)), draw.real((4,)), draw.real((4,))))
layer_norm.sample(lambda draw: draw(draw.real((2, 3, 4)), draw.real((3,)), draw.real((3,)), axis=1))


# RMSNorm


@op("_contrib_rms_norm", npx_name="rms_norm", alike=True, real=True, keeps_shape=True)
def rms_norm(xp, data, gamma, *, axis: int = -1, eps: float = 1e-6):
    """``data / sqrt(mean(data²) + eps) * gamma`` along an axis, whose size is that of gamma.

    Source: Zhang & Sennrich, "Root mean square layer normalization", NeurIPS 2019.
    """
    axis = normalized_axis(axis, len(data.shape), "rms_norm: axis")
    _check("rms_norm", (gamma,), (data.shape[axis],))
    column = tuple(-1 if k == axis else 1 for k in range(len(data.shape)))
    x = xp.upcast(data)
    out = x / xp.sqrt(xp.mean(x * x, axis=axis, keepdims=True) + eps) * xp.reshape(gamma, shape=column)
    return xp.cast_like(out, data)


rms_norm.infer(lambda shapes, *, axis, **_: along_axis(shapes, axis))
rms_norm.sample(lambda draw: draw(draw.real((3, 4)), draw.real((4,))))
rms_norm.sample(lambda draw: draw(draw.real((2, 3, 4)), draw.real((3,)), axis=1))


# InstanceNorm


@op("InstanceNorm", npx_name="instance_norm", alike=True, real=True, keeps_shape=True, output_names=("output", "mean", "var"), workspaces=2)
def instance_norm(xp, data, gamma, beta, *, eps: float = 1e-3):
    """Each channel of each sample (n, c, d…) normalized over its spatial positions, times gamma (c,) plus beta (c,).

    Source: Ulyanov, Vedaldi & Lempitsky, "Instance normalization", 2016.
    """
    if len(data.shape) < 3:
        raise ShapeError("InstanceNorm: the data needs spatial axes", data.shape, "give it as (n, c, d…)")
    _check("InstanceNorm", (gamma, beta), data.shape[1:2])
    normal, _, _ = _normalized(xp, _rows(xp, data, 2), (2,), eps)
    out = normal * xp.reshape(gamma, shape=(-1, 1)) + xp.reshape(beta, shape=(-1, 1))
    return xp.cast_like(xp.reshape(out, shape=data.shape), data)


@instance_norm.shown
def _(xp, data, gamma, beta, *, eps):
    _, mean, deviation = _normalized(xp, _rows(xp, data, 2), (2,), 0.0)
    return tuple(xp.reshape(v, shape=data.shape[:2]) for v in _as_results(xp, data, mean, deviation * deviation))


instance_norm.assumes(lambda names, **_: ["float32"] * len(names))
instance_norm.infer(lambda shapes, **_: along_axis(shapes, 1))


@instance_norm.grad
def _(xp, dout, data, gamma, *, eps):
    normal, _, deviation = _normalized(xp, _rows(xp, data, 2), (2,), eps)
    head = _rows(xp, dout, 2)
    dnormal = head * xp.reshape(xp.upcast(gamma), shape=(-1, 1))
    ddata = xp.reshape(_normalization_grad(xp, dnormal, normal, deviation, (2,)), shape=data.shape)
    return ddata, xp.sum(head * normal, axis=(0, 2)), xp.sum(head, axis=(0, 2))


instance_norm.sample(lambda draw: draw(draw.real((2, 3, 4)), draw.real((3,)), draw.real((3,))))


# GroupNorm


def _grouped(xp, data, num_groups):
    """The data as (n, groups, elements of a group)."""
    if num_groups < 1 or len(data.shape) < 2 or data.shape[1] % num_groups:
        given = f"num_groups {num_groups} for data {data.shape}"
        raise ParameterError("GroupNorm: the groups do not divide the channels", given, "pass a divisor of data.shape[1]")
    return xp.reshape(xp.upcast(data), shape=(data.shape[0], num_groups, math.prod(data.shape[1:]) // num_groups))


def _per_value(xp, x, vector, num_groups, channels):
    """``x`` as (n, values, elements per value), for a vector with one value per group (g,) or per channel (c,)."""
    if vector.shape not in ((num_groups,), (channels,)):
        given = f"a shape of {vector.shape} for {num_groups} groups of {channels} channels"
        raise ShapeError(
            "GroupNorm: gamma and beta have the wrong shape", given, f"pass {num_groups} values, one per group, or one per channel"
        )
    # with the elements that share a value as the last axis, the vector broadcasts as a column
    return xp.reshape(x, shape=(x.shape[0], vector.shape[0], math.prod(x.shape[1:]) // max(vector.shape[0], 1)))


@op("GroupNorm", npx_name="group_norm", alike=True, real=True, keeps_shape=True, **STATISTICS)
def group_norm(xp, data, gamma, beta, *, num_groups: int = 1, eps: float = 1e-5, output_mean_var: bool = False):
    """Groups of channels of each sample (n, c, d…) normalized jointly, times gamma plus beta, each with one value per group (or channel).

    With ``output_mean_var`` the mean and sqrt(var + eps), each (n, groups), are further results, without gradient.
    Source: Wu & He, "Group normalization", ECCV 2018.
    """
    normal, mean, deviation = _normalized(xp, _grouped(xp, data, num_groups), (2,), eps)
    out = _per_value(xp, normal, gamma, num_groups, data.shape[1]) * xp.reshape(gamma, shape=(-1, 1))
    out = _per_value(xp, out, beta, num_groups, data.shape[1]) + xp.reshape(beta, shape=(-1, 1))
    out = xp.cast_like(xp.reshape(out, shape=data.shape), data)
    return out, *(xp.reshape(v, shape=(data.shape[0], num_groups)) for v in _as_results(xp, data, mean, deviation))


@group_norm.infer
def _(shapes, *, num_groups, **_):
    return [shapes[0], *[s if s is not None and s[0] is not None else (num_groups,) for s in shapes[1:]]]


@group_norm.grad
def _(xp, dout, data, gamma, *, num_groups, eps, **_):
    if dout[0] is None:
        return None, None, None
    x = _grouped(xp, data, num_groups)
    normal, _, deviation = _normalized(xp, x, (2,), eps)
    head = _per_value(xp, xp.upcast(dout[0]), gamma, num_groups, data.shape[1])
    dnormal = xp.reshape(head * xp.reshape(xp.upcast(gamma), shape=(-1, 1)), shape=x.shape)
    ddata = xp.reshape(_normalization_grad(xp, dnormal, normal, deviation, (2,)), shape=data.shape)
    return ddata, xp.sum(head * xp.reshape(normal, shape=head.shape), axis=(0, 2)), xp.sum(head, axis=(0, 2))


group_norm.sample(lambda draw: draw(draw.real((2, 4, 3)), draw.real((2,)), draw.real((2,)), num_groups=2))


# L2Normalization and LRN


@op("L2Normalization", npx_name="l2_normalization", real=True, keeps_shape=True, output_names=("output", "norm"), workspaces=1)
def l2_normalization(xp, data, *, eps: float = 1e-10, mode: Literal["channel", "instance", "spatial"] = "instance"):
    """``data / sqrt(Σ data² + eps)``, with the sum over a sample ("instance"), axis 1 ("channel") or the spatial axes ("spatial")."""
    x = _norm_rows(xp, data, data, mode)
    return xp.downcast(xp.reshape(x / _norm(xp, x, mode, eps), shape=data.shape), data)


#: For each mode, the axis of `_norm_rows` along which squares are summed.
_NORM_AXIS = {"instance": 1, "channel": 1, "spatial": 2}


def _norm_rows(xp, x, data, mode):
    """``x``, of the data's shape, reshaped so that one axis is normalized."""
    if mode != "instance" and len(data.shape) < 3:
        raise ShapeError(f"L2Normalization: mode {mode} needs spatial axes", data.shape, "pass the data as (n, c, d…)")
    return xp.upcast(x) if mode == "channel" else _rows(xp, x, _NORM_AXIS[mode])


def _norm(xp, rows, mode, eps):
    return xp.sqrt(xp.sum(rows * rows, axis=_NORM_AXIS[mode], keepdims=True) + eps)


@l2_normalization.shown
def _(xp, data, *, eps, mode):
    norm = xp.cast_like(_norm(xp, _norm_rows(xp, data, data, mode), mode, eps), data)
    return norm if mode == "channel" else xp.reshape(norm, shape=data.shape[: _NORM_AXIS[mode]])


@l2_normalization.grad
def _(xp, dout, out, data, *, eps, mode):
    axis = _NORM_AXIS[mode]
    rows, normal, head = (_norm_rows(xp, v, data, mode) for v in (data, out, dout))
    norm = _norm(xp, rows, mode, eps)
    # dx = (dy - y · Σ dy · y) / norm: only the part orthogonal to y changes the direction
    return xp.reshape((head - normal * xp.sum(head * normal, axis=axis, keepdims=True)) / norm, shape=data.shape)


l2_normalization.sample(lambda draw: [draw(draw.real((2, 3, 2)), mode=mode, eps=0.5) for mode in ("instance", "channel", "spatial")])


def _sum_of_neighbors(xp, x, nsize):
    """Sums over ``nsize`` channels (axis 1) around each, or ``nsize - 1`` if it is even; channels beyond the ends count as 0."""
    # MXNet's windows are symmetric, so an even size loses a channel
    half = (nsize - 1) // 2
    wide = xp.pad(x, width=((0, 0), (half, half), *[(0, 0)] * (len(x.shape) - 2)))
    parts = [xp.take_slice(wide, k, k + x.shape[1], 1) for k in range(2 * half + 1)]
    return sum(parts[1:], parts[0])


def _response(xp, data, alpha, knorm, nsize):
    if nsize < 1:
        raise ParameterError("LRN: nsize must be positive", nsize, "pass a number of channels")
    return _sum_of_neighbors(xp, data * data, nsize) * (alpha / nsize) + knorm


@op("LRN", real=True, keeps_shape=True, output_names=("output", "tmp_norm"), workspaces=1)
def local_response_norm(xp, data, *, alpha: float = 1e-4, beta: float = 0.75, knorm: float = 2.0, nsize: Count):
    """``data / (knorm + alpha / nsize · Σ data²)^beta``, with the sum over ``nsize`` channels around each.

    If ``nsize`` is even, over one channel less, but still divided by ``nsize``.

    Source: Krizhevsky, Sutskever & Hinton, "ImageNet classification with deep convolutional neural networks", NeurIPS 2012.
    """
    x = xp.upcast(data)
    return xp.downcast(x * xp.power(_response(xp, x, alpha, knorm, nsize), -beta), data)


@local_response_norm.shown
def _(xp, data, *, alpha, beta, knorm, nsize):
    return xp.downcast(_response(xp, xp.upcast(data), alpha, knorm, nsize), data)


@local_response_norm.grad
def _(xp, dout, out, data, *, alpha, beta, knorm, nsize):
    dout, out, data = (xp.upcast(v) for v in (dout, out, data))
    response = _response(xp, data, alpha, knorm, nsize)
    # ∂out[j] / ∂x[i] = δ[i, j] · r[j]^-β - 2αβ / n · x[i] · out[j] / r[j], for channels i and j within a window
    shared = _sum_of_neighbors(xp, dout * out / response, nsize)  # the window is symmetric: it is its own transpose
    return dout * xp.power(response, -beta) - data * shared * (2 * alpha * beta / nsize)


local_response_norm.sample(lambda draw: draw(draw.real((2, 4, 2, 2)), nsize=3, alpha=0.5))
