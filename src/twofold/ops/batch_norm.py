"""BatchNorm: each channel normalized by the mean and variance of the batch, or outside training by their moving averages."""

import math
from typing import Annotated, Any

from ..dtype import HALVES
from ..errors import DTypeError, ShapeError
from ..opdef import Input, Operand, Training, along_axis, normalized_axis, op


def _along(xp, values, ndim, axis):
    """Values per channel (c,), reshaped to broadcast over the data."""
    return xp.reshape(values, shape=tuple(-1 if k == axis else 1 for k in range(ndim)))


def _uses_batch(use_global_stats, is_train):
    return is_train and not use_global_stats


def _centered(xp, data, mean, axis):
    """The data minus the mean of each channel, in the dtype of the statistics."""
    return xp.cast(data, xp.dtype_of(mean)) - _along(xp, mean, len(data.shape), axis)


#: Scales and statistics stay float32 for 16-bit data.
Wide = Annotated[Operand, Input(wide=True)]
Mean = Annotated[Operand, Input(auxiliary=True, initial='["zero", {}]', wide=True)]
Variance = Annotated[Operand, Input(auxiliary=True, initial='["one", {}]', wide=True)]


#: The declaration that `BatchNorm` and its variants share. The results are the data, and the mean and rate in use.
DECLARED: dict[str, Any] = {
    "drawn_as": "norm",
    "real": True,
    "keeps_shape": True,
    "outputs": 3,
    "visible": lambda output_mean_var, **_: 3 if output_mean_var else 1,
    "output_names": ("output", "mean", "var"),
}


@op("BatchNorm", "_npx_batch_norm", **DECLARED)
def batch_norm(
    xp,
    data,
    gamma: Wide,
    beta: Wide,
    moving_mean: Mean,
    moving_var: Variance,
    *,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    is_train: Training = False,
):
    """``(data - mean) / sqrt(var + eps) * gamma + beta`` for each channel along ``axis``; with ``fix_gamma`` gamma is taken as 1.

    Training uses the batch's mean and (biased) variance, and the backward pass moves the moving averages toward them by 1 - momentum.
    Outside training, and with ``use_global_stats``, the moving averages are used. With ``output_mean_var`` the mean and
    ``1 / sqrt(var + eps)`` in use are additional results, without gradient. ``cudnn_off`` and the calibration ranges have no effect.
    Source: Ioffe & Szegedy, "Batch normalization", ICML 2015.
    """
    axis = normalized_axis(axis, len(data.shape), "BatchNorm: axis")
    _check(data, (gamma, beta, moving_mean, moving_var), axis)
    _check_dtypes(xp, data, (gamma, beta, moving_mean, moving_var))
    mean, centered, rate = _statistics(xp, data, moving_mean, moving_var, axis, eps, _uses_batch(use_global_stats, is_train))
    scale = _along(xp, rate if fix_gamma else rate * gamma, len(data.shape), axis)
    out = centered * scale + _along(xp, beta, len(data.shape), axis)
    return xp.cast_like(out, data), xp.stop_gradient(mean), xp.stop_gradient(rate)


def _statistics(xp, data, moving_mean, moving_var, axis, eps, of_batch):
    """(mean, centered data, 1 / sqrt(var + eps)). The gradient recomputes them from the data, so that it can be differentiated in turn."""
    if of_batch:
        if math.prod(data.shape) == 0:
            raise ShapeError("BatchNorm: no data to compute statistics from", data.shape, "pass at least one sample")
        axes = tuple(k for k in range(len(data.shape)) if k != axis)
        mean = xp.mean(xp.cast(data, xp.dtype_of(xp.upcast(moving_mean))), axis=axes)
        centered = _centered(xp, data, mean, axis)  # two passes: E[x²] - E[x]² would cancel where the mean is large
        var = xp.mean(centered * centered, axis=axes)
    else:
        mean, var = xp.upcast(moving_mean), xp.upcast(moving_var)
        centered = _centered(xp, data, mean, axis)
    return mean, centered, 1 / xp.sqrt(var + eps)


def _check(data, vectors, axis):
    for v in vectors:
        if v.shape != (data.shape[axis],):
            given = f"a parameter of shape {v.shape} for data {data.shape}, axis {axis}"
            raise ShapeError("BatchNorm: the parameters have the wrong shape", given, f"pass all of them with shape {(data.shape[axis],)}")


def _check_dtypes(xp, data, vectors):
    """Check that parameters have the data's dtype; for 16-bit data they may be float32 (in MXNet they must)."""
    kinds = {xp.dtype_of(v) for v in vectors}
    fitting = (xp.dtype_of(data), xp.dtype_of(xp.upcast(data)))
    if len(kinds) > 1 or not kinds <= set(fitting):
        given = f"data {fitting[0]}, parameters {', '.join(sorted(kinds))}"
        raise DTypeError("BatchNorm: the dtypes do not match", given, f"cast the parameters to {fitting[1]}")


batch_norm.infer(lambda shapes, *, axis, **_: along_axis(shapes, axis))


@batch_norm.dtypes
def result_dtypes(dtypes, **_):
    """The dtypes of the results: statistics of 16-bit data are float32."""
    wide = "float32" if dtypes[0] in HALVES else dtypes[0]
    return [dtypes[0], wide, wide]


@batch_norm.grad
def _(xp, dout, data, gamma, moving_mean, moving_var, *, axis, eps, fix_gamma, use_global_stats, is_train, **_):
    if dout[0] is None:
        return None, None, None
    ndim, axis = len(data.shape), axis % len(data.shape)
    axes = tuple(k for k in range(ndim) if k != axis)
    mean, centered, rate = _statistics(xp, data, moving_mean, moving_var, axis, eps, _uses_batch(use_global_stats, is_train))
    head = xp.cast_like(dout[0], mean)
    # with x̂ = centered · rate: dβ = Σ dout, dγ = Σ dout · x̂, and dx = γ · rate · (dout - mean(dout) - x̂ · mean(dout · x̂))
    dbeta = xp.sum(head, axis=axes)
    product = xp.sum(head * centered, axis=axes)
    # with fix_gamma the parameter exists but is not used; MXNet gives it a gradient of 0
    dgamma = xp.zeros_like(gamma) if fix_gamma else product * rate
    scale = _along(xp, rate if fix_gamma else rate * gamma, ndim, axis)
    if _uses_batch(use_global_stats, is_train):
        # the batch's statistics depend on the data: subtract the components of the head along 1 and along the normalized data
        share = 1 / math.prod(data.shape[k] for k in axes)
        head = head - _along(xp, dbeta * share, ndim, axis) - centered * _along(xp, product * rate * rate * share, ndim, axis)
    return head * scale, dgamma, dbeta


@batch_norm.on_backward
def moved_averages(xp, out, data, gamma, beta, moving_mean, moving_var, *, eps, momentum, use_global_stats, is_train, **_):
    """The moving averages after a training step."""
    # frozen statistics are written back unchanged, so that the operator mutates the same inputs in every mode
    if not _uses_batch(use_global_stats, is_train):
        return {"moving_mean": moving_mean, "moving_var": moving_var}
    _, mean, rate = out
    var = 1 / (rate * rate) - eps  # from the saved result: the data need not be read again
    return {
        "moving_mean": xp.downcast(moving_mean * momentum + mean * (1 - momentum), moving_mean),
        "moving_var": xp.downcast(moving_var * momentum + var * (1 - momentum), moving_var),
    }


@batch_norm.sample
def _(draw):
    channels = draw.real((3,))
    states = (draw.real((3,)), draw.real((3,), low=0.5, high=2))
    return [
        draw(draw.real((4, 3, 2)), channels, channels, *states, fix_gamma=False),
        draw(draw.real((2, 2, 3)), channels, channels, *states, fix_gamma=False, axis=-1, use_global_stats=True, gradient=False),
    ]
