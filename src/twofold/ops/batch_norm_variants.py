"""Relatives of BatchNorm: followed by a rectifier, over several devices, and under its former name."""

from ..opdef import Training, along_axis, op
from .batch_norm import DECLARED, batch_norm, moved_averages, result_dtypes
from .elementwise_math import relu

#: Parameters that came to `BatchNorm` later.
UNUSED = ("cudnn_off", "min_calib_range", "max_calib_range")


def _sample(draw, **params):
    channels = draw.real((3,))
    states = (draw.real((3,)), draw.real((3,), low=0.5, high=2))
    return draw(draw.real((4, 3, 2)), channels, channels, *states, fix_gamma=False, **params)


@op("BatchNorm_v1", like=batch_norm, without=("axis", *UNUSED), **DECLARED)
def batch_norm_v1(xp, *arrays, **params):
    """`BatchNorm` over axis 1 under its former name, in files of MXNet 0.x."""
    return batch_norm(xp, *arrays, **params)


@op("_contrib_SyncBatchNorm", like=batch_norm, without=("axis", *UNUSED, "is_train"), **DECLARED)
def sync_batch_norm(xp, *arrays, ndev: int = 1, key: str, is_train: Training = False, **params):
    """`BatchNorm` over axis 1 for models that are trained on several devices.

    The statistics are those of the device's own part of the batch: ``ndev`` and ``key``, the number of devices and the layer's name, have
    no effect.
    """
    return batch_norm(xp, *arrays, is_train=is_train, **params)


@op("_contrib_BatchNormWithReLU", like=batch_norm, **DECLARED, workspaces=1)
def batch_norm_with_relu(xp, *arrays, **params):
    """`relu` of `BatchNorm`. ``cudnn_off`` and the calibration ranges have no effect."""
    out, mean, rate = batch_norm(xp, *arrays, **params)
    return relu(xp, out), mean, rate


# no gradient rules: as composites they are differentiated through the BatchNorm that they call
for _variant in (batch_norm_v1, sync_batch_norm, batch_norm_with_relu):
    _variant.infer(lambda shapes, *, axis=1, **_: along_axis(shapes, axis))
    _variant.dtypes(result_dtypes)
    _variant.on_backward(moved_averages)

batch_norm_v1.sample(_sample)
sync_batch_norm.sample(lambda draw: _sample(draw, key="layer"))
batch_norm_with_relu.sample(_sample)
