"""Relatives of BatchNorm: followed by a rectifier, over several devices, and under its former name."""

from ..opdef.declare import op
from ..opdef.params import Training
from ..opdef.partial_shapes import along_axis
from .batch_norm import DECLARED, Mean, Variance, Wide, batch_norm, moved_averages, result_dtypes
from .elementwise_math import relu


def _sample(draw, **params):
    channels = draw.real((3,))
    states = (draw.real((3,)), draw.real((3,), low=0.5, high=2))
    return draw(draw.real((4, 3, 2)), channels, channels, *states, fix_gamma=False, **params)


@op("BatchNorm_v1", **DECLARED)
def batch_norm_v1(
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
    is_train: Training = False,
):
    """`BatchNorm` over axis 1 under its former name, in files of MXNet 0.x."""
    given = {"eps": eps, "momentum": momentum, "fix_gamma": fix_gamma, "use_global_stats": use_global_stats}
    return batch_norm(xp, data, gamma, beta, moving_mean, moving_var, **given, is_train=is_train)


@op("_contrib_SyncBatchNorm", **DECLARED)
def sync_batch_norm(
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
    ndev: int = 1,
    key: str,
    is_train: Training = False,
):
    """`BatchNorm` over axis 1 for models that are trained on several devices.

    The statistics are those of the device's own part of the batch: ``ndev`` and ``key``, the number of devices and the layer's name, have
    no effect.
    """
    given = {"eps": eps, "momentum": momentum, "fix_gamma": fix_gamma, "use_global_stats": use_global_stats}
    return batch_norm(xp, data, gamma, beta, moving_mean, moving_var, **given, is_train=is_train)


@op("_contrib_BatchNormWithReLU", **DECLARED)
def batch_norm_with_relu(
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
    """`relu` of `BatchNorm`. ``cudnn_off`` and the calibration ranges have no effect."""
    given = {"eps": eps, "momentum": momentum, "fix_gamma": fix_gamma, "use_global_stats": use_global_stats, "axis": axis}
    out, mean, rate = batch_norm(xp, data, gamma, beta, moving_mean, moving_var, **given, is_train=is_train)
    return relu(xp, out), mean, rate


for _variant in (batch_norm_v1, sync_batch_norm, batch_norm_with_relu):
    _variant.infer(lambda shapes, *, axis=1, **_: along_axis(shapes, axis))
    _variant.dtypes(result_dtypes)
    _variant.on_backward(moved_averages)

batch_norm_v1.sample(_sample)
sync_batch_norm.sample(lambda draw: _sample(draw, key="layer"))
batch_norm_with_relu.sample(_sample)
