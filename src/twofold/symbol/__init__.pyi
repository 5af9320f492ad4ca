"""Written by ``make stubs`` from the operator table: the functions of ``twofold.symbol`` that are operators."""

from collections.abc import Sequence
from typing import Any, Literal, overload

from ..ndarray.types import DeviceLike, DTypeLike
from . import random
from .compilation import compile
from .compose import group as Group
from .compose import variable as Variable
from .compose import variable as var
from .custom import Custom
from .functions import arange, eye, full, histogram, linspace, load, load_json, ones, split_v2, zeros
from .python_operators import hypot, maximum, minimum, power
from .python_operators import power as pow
from .symbol import Symbol

__all__ = [
    "Custom",
    "Group",
    "Symbol",
    "Variable",
    "arange",
    "compile",
    "eye",
    "full",
    "histogram",
    "hypot",
    "linspace",
    "load",
    "load_json",
    "maximum",
    "minimum",
    "ones",
    "pow",
    "power",
    "random",
    "split_v2",
    "var",
    "zeros",
]

@overload
def Activation(
    data: Symbol | None = None,
    *,
    act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"],
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def Activation(
    data: Symbol | None,
    act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"],
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def BatchNorm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    moving_mean: Symbol | None = None,
    moving_var: Symbol | None = None,
    eps: float = 0.001,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def BatchNorm_v1(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    moving_mean: Symbol | None = None,
    moving_var: Symbol | None = None,
    eps: float = 0.001,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def BilinearSampler(
    data: Symbol | None = None,
    grid: Symbol | None = None,
    cudnn_off: bool | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def BlockGrad(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def CTCLoss(
    data: Symbol | None = None,
    label: Symbol | None = None,
    data_lengths: Symbol | None = None,
    label_lengths: Symbol | None = None,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def Cast(
    data: Symbol | None = None,
    *,
    dtype: DTypeLike,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def Cast(data: Symbol | None, dtype: DTypeLike, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def Concat(*data: Symbol, dim: int = 1, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
@overload
def Convolution(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
    *,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    num_filter: int,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
    cudnn_off: bool = False,
    layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def Convolution(
    data: Symbol | None,
    weight: Symbol | None,
    bias: Symbol | None,
    kernel: int | Sequence[int],
    stride: int | Sequence[int],
    dilate: int | Sequence[int],
    pad: int | Sequence[int],
    num_filter: int,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
    cudnn_off: bool = False,
    layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def Convolution_v1(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
    *,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    num_filter: int,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
    cudnn_off: bool = False,
    layout: Literal["NCDHW", "NCHW", "NDHWC", "NHWC"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def Convolution_v1(
    data: Symbol | None,
    weight: Symbol | None,
    bias: Symbol | None,
    kernel: int | Sequence[int],
    stride: int | Sequence[int],
    dilate: int | Sequence[int],
    pad: int | Sequence[int],
    num_filter: int,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
    cudnn_off: bool = False,
    layout: Literal["NCDHW", "NCHW", "NDHWC", "NHWC"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def Correlation(
    data1: Symbol | None = None,
    data2: Symbol | None = None,
    kernel_size: int = 1,
    max_displacement: int = 1,
    stride1: int = 1,
    stride2: int = 1,
    pad_size: int = 0,
    is_multiply: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def Crop(
    *data: Symbol,
    offset: int | Sequence[int] = (0, 0),
    h_w: int | Sequence[int] = (0, 0),
    center_crop: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def Deconvolution(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
    *,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    adj: int | Sequence[int] = (),
    target_shape: int | Sequence[int] = (),
    num_filter: int,
    num_group: int = 1,
    workspace: int = 512,
    no_bias: bool = True,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
    cudnn_off: bool = False,
    layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def Deconvolution(
    data: Symbol | None,
    weight: Symbol | None,
    bias: Symbol | None,
    kernel: int | Sequence[int],
    stride: int | Sequence[int],
    dilate: int | Sequence[int],
    pad: int | Sequence[int],
    adj: int | Sequence[int],
    target_shape: int | Sequence[int],
    num_filter: int,
    num_group: int = 1,
    workspace: int = 512,
    no_bias: bool = True,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
    cudnn_off: bool = False,
    layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def Dropout(
    data: Symbol | None = None,
    p: float = 0.5,
    mode: Literal["always", "training"] = "training",
    axes: int | Sequence[int] = (),
    cudnn_off: bool | None = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def ElementWiseSum(*args: Symbol, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
@overload
def Embedding(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    *,
    input_dim: int,
    output_dim: int,
    dtype: DTypeLike = "float32",
    sparse_grad: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def Embedding(
    data: Symbol | None,
    weight: Symbol | None,
    input_dim: int,
    output_dim: int,
    dtype: DTypeLike = "float32",
    sparse_grad: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def Flatten(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
@overload
def FullyConnected(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
    *,
    num_hidden: int,
    no_bias: bool = False,
    flatten: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def FullyConnected(
    data: Symbol | None,
    weight: Symbol | None,
    bias: Symbol | None,
    num_hidden: int,
    no_bias: bool = False,
    flatten: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def GridGenerator(
    data: Symbol | None = None,
    *,
    transform_type: Literal["affine", "warp"],
    target_shape: int | Sequence[int] = (0, 0),
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def GridGenerator(
    data: Symbol | None,
    transform_type: Literal["affine", "warp"],
    target_shape: int | Sequence[int] = (0, 0),
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def GroupNorm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    num_groups: int = 1,
    eps: float = 1e-05,
    output_mean_var: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def IdentityAttachKLSparseReg(
    data: Symbol | None = None,
    moving_avg: Symbol | None = None,
    sparseness_target: float = 0.1,
    penalty: float = 0.001,
    momentum: float = 0.9,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def InstanceNorm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    eps: float = 0.001,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def L2Normalization(
    data: Symbol | None = None,
    eps: float = 1e-10,
    mode: Literal["channel", "instance", "spatial"] = "instance",
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def LRN(
    data: Symbol | None = None,
    *,
    alpha: float = 0.0001,
    beta: float = 0.75,
    knorm: float = 2.0,
    nsize: int,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def LRN(
    data: Symbol | None,
    alpha: float,
    beta: float,
    knorm: float,
    nsize: int,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def LayerNorm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    axis: int = -1,
    eps: float = 1e-05,
    output_mean_var: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def LeakyReLU(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    act_type: Literal["elu", "gelu", "leaky", "prelu", "rrelu", "selu"] = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def LinearRegressionOutput(
    data: Symbol | None = None,
    label: Symbol | None = None,
    grad_scale: float = 1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def LogisticRegressionOutput(
    data: Symbol | None = None,
    label: Symbol | None = None,
    grad_scale: float = 1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def MAERegressionOutput(
    data: Symbol | None = None,
    label: Symbol | None = None,
    grad_scale: float = 1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def MakeLoss(
    data: Symbol | None = None,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: Literal["batch", "null", "valid"] = "null",
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def NDabs(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def NDnorm(
    data: Symbol | None = None,
    ord: int = 2,
    axis: int | Sequence[int] | None = None,
    out_dtype: DTypeLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def Pad(
    data: Symbol | None = None,
    *,
    mode: Literal["constant", "edge", "reflect"],
    pad_width: int | Sequence[int],
    constant_value: float = 0.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def Pad(
    data: Symbol | None,
    mode: Literal["constant", "edge", "reflect"],
    pad_width: int | Sequence[int],
    constant_value: float = 0.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def Pooling(
    data: Symbol | None = None,
    kernel: int | Sequence[int] = (),
    pool_type: Literal["avg", "lp", "max", "sum"] = "max",
    global_pool: bool = False,
    cudnn_off: bool = False,
    pooling_convention: Literal["full", "same", "valid"] = "valid",
    stride: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def Pooling_v1(
    data: Symbol | None = None,
    kernel: int | Sequence[int] = (),
    pool_type: Literal["avg", "max", "sum"] = "max",
    global_pool: bool = False,
    pooling_convention: Literal["full", "valid"] = "valid",
    stride: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def RNN(
    data: Symbol | None = None,
    parameters: Symbol | None = None,
    state: Symbol | None = None,
    state_cell: Symbol | None = None,
    sequence_length: Symbol | None = None,
    *,
    state_size: int,
    num_layers: int,
    bidirectional: bool = False,
    mode: Literal["gru", "lstm", "rnn_relu", "rnn_tanh"],
    p: float = 0.0,
    state_outputs: bool = False,
    projection_size: int | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def RNN(
    data: Symbol | None,
    parameters: Symbol | None,
    state: Symbol | None,
    state_cell: Symbol | None,
    sequence_length: Symbol | None,
    state_size: int,
    num_layers: int,
    bidirectional: bool,
    mode: Literal["gru", "lstm", "rnn_relu", "rnn_tanh"],
    p: float = 0.0,
    state_outputs: bool = False,
    projection_size: int | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def ROIPooling(
    data: Symbol | None = None,
    rois: Symbol | None = None,
    *,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def ROIPooling(
    data: Symbol | None,
    rois: Symbol | None,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def Reshape(
    data: Symbol | None = None,
    shape: int | Sequence[int] = (),
    reverse: bool = False,
    target_shape: int | Sequence[int] = (),
    keep_highest: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def SVMOutput(
    data: Symbol | None = None,
    label: Symbol | None = None,
    margin: float = 1.0,
    regularization_coefficient: float = 1.0,
    use_linear: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def SequenceLast(
    data: Symbol | None = None,
    sequence_length: Symbol | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def SequenceMask(
    data: Symbol | None = None,
    sequence_length: Symbol | None = None,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: int = 0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def SequenceReverse(
    data: Symbol | None = None,
    sequence_length: Symbol | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def SliceChannel(
    data: Symbol | None = None,
    *,
    num_outputs: int,
    axis: int = 1,
    squeeze_axis: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def SliceChannel(
    data: Symbol | None,
    num_outputs: int,
    axis: int = 1,
    squeeze_axis: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def Softmax(
    data: Symbol | None = None,
    label: Symbol | None = None,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Literal["batch", "null", "valid"] = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def SoftmaxActivation(
    data: Symbol | None = None,
    mode: Literal["channel", "instance"] = "instance",
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def SoftmaxOutput(
    data: Symbol | None = None,
    label: Symbol | None = None,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Literal["batch", "null", "valid"] = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def SpatialTransformer(
    data: Symbol | None = None,
    loc: Symbol | None = None,
    *,
    target_shape: int | Sequence[int] = (0, 0),
    transform_type: Literal["affine"],
    sampler_type: Literal["bilinear"],
    cudnn_off: bool | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def SpatialTransformer(
    data: Symbol | None,
    loc: Symbol | None,
    target_shape: int | Sequence[int],
    transform_type: Literal["affine"],
    sampler_type: Literal["bilinear"],
    cudnn_off: bool | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def SwapAxis(
    data: Symbol | None = None,
    dim1: int = 0,
    dim2: int = 0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def UpSampling(
    *data: Symbol,
    scale: int,
    num_filter: int = 0,
    sample_type: Literal["bilinear", "nearest"],
    multi_input_mode: Literal["concat", "sum"] = "concat",
    workspace: int = 512,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def abs(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
@overload
def adam_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    mean: Symbol | None = None,
    var: Symbol | None = None,
    *,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def adam_update(
    weight: Symbol | None,
    grad: Symbol | None,
    mean: Symbol | None,
    var: Symbol | None,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def add_n(*args: Symbol, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def all_finite(
    data: Symbol | None = None,
    init_output: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def amp_cast(
    data: Symbol | None = None,
    *,
    dtype: DTypeLike,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def amp_cast(data: Symbol | None, dtype: DTypeLike, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def amp_multicast(
    *data: Symbol,
    num_outputs: int,
    cast_narrow: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def arccos(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def arccosh(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def arcsin(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def arcsinh(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def arctan(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def arctanh(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def argmax(
    data: Symbol | None = None,
    axis: int | None = None,
    keepdims: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def argmax_channel(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def argmin(
    data: Symbol | None = None,
    axis: int | None = None,
    keepdims: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def argsort(
    data: Symbol | None = None,
    axis: int | None = -1,
    is_ascend: bool = True,
    dtype: DTypeLike = "float32",
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def batch_dot(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Literal["default", "csr", "row_sparse"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def batch_take(
    a: Symbol | None = None,
    indices: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_add(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_axes(
    data: Symbol | None = None,
    axis: int | Sequence[int] = (),
    size: int | Sequence[int] = (),
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_axis(
    data: Symbol | None = None,
    axis: int | Sequence[int] = (),
    size: int | Sequence[int] = (),
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_div(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_greater(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_greater_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_hypot(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_lesser(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_lesser_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_like(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    lhs_axes: int | Sequence[int] | None = None,
    rhs_axes: int | Sequence[int] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_logical_and(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_logical_or(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_logical_xor(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_maximum(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_minimum(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_minus(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_mod(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_mul(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_not_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_plus(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_power(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_sub(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def broadcast_to(
    data: Symbol | None = None,
    shape: int | Sequence[int] = (),
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def cast(
    data: Symbol | None = None,
    *,
    dtype: DTypeLike,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def cast(data: Symbol | None, dtype: DTypeLike, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
@overload
def cast_storage(
    data: Symbol | None = None,
    *,
    stype: Literal["default", "row_sparse", "csr"],
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def cast_storage(
    data: Symbol | None,
    stype: Literal["default", "row_sparse", "csr"],
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def cbrt(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def ceil(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def choose_element_0index(
    data: Symbol | None = None,
    index: Symbol | None = None,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def clip(
    data: Symbol | None = None,
    *,
    a_min: float,
    a_max: float,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def clip(
    data: Symbol | None,
    a_min: float,
    a_max: float,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def col2im(
    data: Symbol | None = None,
    *,
    output_size: int | Sequence[int],
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def col2im(
    data: Symbol | None,
    output_size: int | Sequence[int],
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def concat(*data: Symbol, dim: int = 1, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def cos(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def cosh(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
@overload
def crop(
    data: Symbol | None = None,
    *,
    begin: int | Sequence[int],
    end: int | Sequence[int],
    step: int | Sequence[int] = (),
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def crop(
    data: Symbol | None,
    begin: int | Sequence[int],
    end: int | Sequence[int],
    step: int | Sequence[int] = (),
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def ctc_loss(
    data: Symbol | None = None,
    label: Symbol | None = None,
    data_lengths: Symbol | None = None,
    label_lengths: Symbol | None = None,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def cumsum(
    a: Symbol | None = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def degrees(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
@overload
def depth_to_space(
    data: Symbol | None = None,
    *,
    block_size: int,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def depth_to_space(
    data: Symbol | None,
    block_size: int,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def diag(
    data: Symbol | None = None,
    k: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def dot(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Literal["default", "csr", "row_sparse"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def elemwise_add(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def elemwise_div(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def elemwise_mul(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def elemwise_sub(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def erf(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def erfinv(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def exp(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
@overload
def expand_dims(
    data: Symbol | None = None,
    *,
    axis: int,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def expand_dims(data: Symbol | None, axis: int, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def expm1(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def fill_element_0index(
    lhs: Symbol | None = None,
    mhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def fix(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def flatten(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
@overload
def flip(
    data: Symbol | None = None,
    *,
    axis: int | Sequence[int],
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def flip(
    data: Symbol | None,
    axis: int | Sequence[int],
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def floor(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
@overload
def ftml_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    d: Symbol | None = None,
    v: Symbol | None = None,
    z: Symbol | None = None,
    *,
    lr: float,
    beta1: float = 0.6,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    t: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_grad: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def ftml_update(
    weight: Symbol | None,
    grad: Symbol | None,
    d: Symbol | None,
    v: Symbol | None,
    z: Symbol | None,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    t: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_grad: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def ftrl_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    z: Symbol | None = None,
    n: Symbol | None = None,
    *,
    lr: float,
    lamda1: float = 0.01,
    beta: float = 1.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def ftrl_update(
    weight: Symbol | None,
    grad: Symbol | None,
    z: Symbol | None,
    n: Symbol | None,
    lr: float,
    lamda1: float = 0.01,
    beta: float = 1.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def gamma(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def gammaln(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def gather_nd(
    data: Symbol | None = None,
    indices: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def hard_sigmoid(
    data: Symbol | None = None,
    alpha: float = 0.2,
    beta: float = 0.5,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def identity(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
@overload
def im2col(
    data: Symbol | None = None,
    *,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def im2col(
    data: Symbol | None,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def khatri_rao(*args: Symbol, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
@overload
def lamb_update_phase1(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    mean: Symbol | None = None,
    var: Symbol | None = None,
    *,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-06,
    t: float,
    bias_correction: bool = True,
    wd: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def lamb_update_phase1(
    weight: Symbol | None,
    grad: Symbol | None,
    mean: Symbol | None,
    var: Symbol | None,
    beta1: float,
    beta2: float,
    epsilon: float,
    t: float,
    bias_correction: bool,
    wd: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def lamb_update_phase2(
    weight: Symbol | None = None,
    g: Symbol | None = None,
    r1: Symbol | None = None,
    r2: Symbol | None = None,
    *,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def lamb_update_phase2(
    weight: Symbol | None,
    g: Symbol | None,
    r1: Symbol | None,
    r2: Symbol | None,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def linalg_det(A: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def linalg_extractdiag(
    A: Symbol | None = None,
    offset: int = 0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def linalg_extracttrian(
    A: Symbol | None = None,
    offset: int = 0,
    lower: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def linalg_gelqf(A: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def linalg_gemm(
    A: Symbol | None = None,
    B: Symbol | None = None,
    C: Symbol | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def linalg_gemm2(
    A: Symbol | None = None,
    B: Symbol | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: int = -2,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def linalg_inverse(A: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def linalg_makediag(
    A: Symbol | None = None,
    offset: int = 0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def linalg_maketrian(
    A: Symbol | None = None,
    offset: int = 0,
    lower: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def linalg_potrf(
    A: Symbol | None = None,
    lower: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def linalg_potri(
    A: Symbol | None = None,
    lower: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def linalg_slogdet(A: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def linalg_sumlogdiag(A: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def linalg_syevd(A: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def linalg_syrk(
    A: Symbol | None = None,
    transpose: bool = False,
    alpha: float = 1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def linalg_trmm(
    A: Symbol | None = None,
    B: Symbol | None = None,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def linalg_trsm(
    A: Symbol | None = None,
    B: Symbol | None = None,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def log(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def log10(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def log1p(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def log2(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def log_softmax(
    data: Symbol | None = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    use_length: bool | None = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def logical_not(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def make_loss(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def max(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def max_axis(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def mean(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def min(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def min_axis(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def moments(
    data: Symbol | None = None,
    axes: int | Sequence[int] | None = None,
    keepdims: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def mp_lamb_update_phase1(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    mean: Symbol | None = None,
    var: Symbol | None = None,
    weight32: Symbol | None = None,
    *,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-06,
    t: float,
    bias_correction: bool = True,
    wd: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def mp_lamb_update_phase1(
    weight: Symbol | None,
    grad: Symbol | None,
    mean: Symbol | None,
    var: Symbol | None,
    weight32: Symbol | None,
    beta1: float,
    beta2: float,
    epsilon: float,
    t: float,
    bias_correction: bool,
    wd: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def mp_lamb_update_phase2(
    weight: Symbol | None = None,
    g: Symbol | None = None,
    r1: Symbol | None = None,
    r2: Symbol | None = None,
    weight32: Symbol | None = None,
    *,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def mp_lamb_update_phase2(
    weight: Symbol | None,
    g: Symbol | None,
    r1: Symbol | None,
    r2: Symbol | None,
    weight32: Symbol | None,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def mp_nag_mom_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    mom: Symbol | None = None,
    weight32: Symbol | None = None,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def mp_nag_mom_update(
    weight: Symbol | None,
    grad: Symbol | None,
    mom: Symbol | None,
    weight32: Symbol | None,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def mp_sgd_mom_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    mom: Symbol | None = None,
    weight32: Symbol | None = None,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def mp_sgd_mom_update(
    weight: Symbol | None,
    grad: Symbol | None,
    mom: Symbol | None,
    weight32: Symbol | None,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def mp_sgd_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    weight32: Symbol | None = None,
    *,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def mp_sgd_update(
    weight: Symbol | None,
    grad: Symbol | None,
    weight32: Symbol | None,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def multi_all_finite(
    *data: Symbol,
    init_output: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def multi_lars(
    lrs: Symbol | None = None,
    weights_sum_sq: Symbol | None = None,
    grads_sum_sq: Symbol | None = None,
    wds: Symbol | None = None,
    *,
    eta: float,
    eps: float,
    rescale_grad: float = 1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def multi_lars(
    lrs: Symbol | None,
    weights_sum_sq: Symbol | None,
    grads_sum_sq: Symbol | None,
    wds: Symbol | None,
    eta: float,
    eps: float,
    rescale_grad: float = 1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def multi_mp_sgd_mom_update(
    *data: Symbol,
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def multi_mp_sgd_update(
    *data: Symbol,
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def multi_sgd_mom_update(
    *data: Symbol,
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def multi_sgd_update(
    *data: Symbol,
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def multi_sum_sq(*data: Symbol, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
@overload
def nag_mom_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    mom: Symbol | None = None,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def nag_mom_update(
    weight: Symbol | None,
    grad: Symbol | None,
    mom: Symbol | None,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def nanprod(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def nansum(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def negative(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def norm(
    data: Symbol | None = None,
    ord: int = 2,
    axis: int | Sequence[int] | None = None,
    out_dtype: DTypeLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def one_hot(
    indices: Symbol | None = None,
    *,
    depth: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def one_hot(
    indices: Symbol | None,
    depth: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def ones_like(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
@overload
def pad(
    data: Symbol | None = None,
    *,
    mode: Literal["constant", "edge", "reflect"],
    pad_width: int | Sequence[int],
    constant_value: float = 0.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def pad(
    data: Symbol | None,
    mode: Literal["constant", "edge", "reflect"],
    pad_width: int | Sequence[int],
    constant_value: float = 0.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def pick(
    data: Symbol | None = None,
    index: Symbol | None = None,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def preloaded_multi_mp_sgd_mom_update(
    *data: Symbol,
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def preloaded_multi_mp_sgd_update(
    *data: Symbol,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def preloaded_multi_sgd_mom_update(
    *data: Symbol,
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def preloaded_multi_sgd_update(
    *data: Symbol,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def prod(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def radians(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def random_exponential(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def random_gamma(
    alpha: float = 1.0,
    beta: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def random_generalized_negative_binomial(
    mu: float = 1.0,
    alpha: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def random_negative_binomial(
    k: float = 1,
    p: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def random_normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def random_pdf_dirichlet(
    sample: Symbol | None = None,
    alpha: Symbol | None = None,
    is_log: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def random_pdf_exponential(
    sample: Symbol | None = None,
    lam: Symbol | None = None,
    is_log: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def random_pdf_gamma(
    sample: Symbol | None = None,
    alpha: Symbol | None = None,
    beta: Symbol | None = None,
    is_log: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def random_pdf_generalized_negative_binomial(
    sample: Symbol | None = None,
    mu: Symbol | None = None,
    alpha: Symbol | None = None,
    is_log: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def random_pdf_negative_binomial(
    sample: Symbol | None = None,
    k: Symbol | None = None,
    p: Symbol | None = None,
    is_log: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def random_pdf_normal(
    sample: Symbol | None = None,
    mu: Symbol | None = None,
    sigma: Symbol | None = None,
    is_log: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def random_pdf_poisson(
    sample: Symbol | None = None,
    lam: Symbol | None = None,
    is_log: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def random_pdf_uniform(
    sample: Symbol | None = None,
    low: Symbol | None = None,
    high: Symbol | None = None,
    is_log: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def random_poisson(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def random_randint(
    low: float,
    high: float,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["int32", "int64"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def random_uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def ravel_multi_index(
    data: Symbol | None = None,
    shape: int | Sequence[int] = (),
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def rcbrt(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def reciprocal(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def relu(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
@overload
def repeat(
    data: Symbol | None = None,
    *,
    repeats: int,
    axis: int | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def repeat(
    data: Symbol | None,
    repeats: int,
    axis: int | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def reset_arrays(*data: Symbol, num_arrays: int, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def reshape(
    data: Symbol | None = None,
    shape: int | Sequence[int] = (),
    reverse: bool = False,
    target_shape: int | Sequence[int] = (),
    keep_highest: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def reshape_like(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def reverse(
    data: Symbol | None = None,
    *,
    axis: int | Sequence[int],
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def reverse(
    data: Symbol | None,
    axis: int | Sequence[int],
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def rint(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
@overload
def rmsprop_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    n: Symbol | None = None,
    *,
    lr: float,
    gamma1: float = 0.95,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def rmsprop_update(
    weight: Symbol | None,
    grad: Symbol | None,
    n: Symbol | None,
    lr: float,
    gamma1: float = 0.95,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def rmspropalex_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    n: Symbol | None = None,
    g: Symbol | None = None,
    delta: Symbol | None = None,
    *,
    lr: float,
    gamma1: float = 0.95,
    gamma2: float = 0.9,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def rmspropalex_update(
    weight: Symbol | None,
    grad: Symbol | None,
    n: Symbol | None,
    g: Symbol | None,
    delta: Symbol | None,
    lr: float,
    gamma1: float = 0.95,
    gamma2: float = 0.9,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def round(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def rsqrt(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def sample_exponential(
    lam: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def sample_gamma(
    alpha: Symbol | None = None,
    beta: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def sample_generalized_negative_binomial(
    mu: Symbol | None = None,
    alpha: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def sample_multinomial(
    data: Symbol | None = None,
    shape: int | Sequence[int] = (),
    get_prob: bool = False,
    dtype: Literal["float16", "float32", "float64", "int32", "uint8"] = "int32",
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def sample_negative_binomial(
    k: Symbol | None = None,
    p: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def sample_normal(
    mu: Symbol | None = None,
    sigma: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def sample_poisson(
    lam: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def sample_uniform(
    low: Symbol | None = None,
    high: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def scatter_nd(
    data: Symbol | None = None,
    indices: Symbol | None = None,
    *,
    shape: int | Sequence[int],
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def scatter_nd(
    data: Symbol | None,
    indices: Symbol | None,
    shape: int | Sequence[int],
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def sgd_mom_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    mom: Symbol | None = None,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def sgd_mom_update(
    weight: Symbol | None,
    grad: Symbol | None,
    mom: Symbol | None,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def sgd_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    *,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def sgd_update(
    weight: Symbol | None,
    grad: Symbol | None,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def shape_array(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def shuffle(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def sigmoid(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def sign(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
@overload
def signsgd_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    *,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def signsgd_update(
    weight: Symbol | None,
    grad: Symbol | None,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def signum_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    mom: Symbol | None = None,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    wd_lh: float = 0.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def signum_update(
    weight: Symbol | None,
    grad: Symbol | None,
    mom: Symbol | None,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    wd_lh: float = 0.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def sin(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def sinh(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def size_array(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
@overload
def slice(
    data: Symbol | None = None,
    *,
    begin: int | Sequence[int],
    end: int | Sequence[int],
    step: int | Sequence[int] = (),
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def slice(
    data: Symbol | None,
    begin: int | Sequence[int],
    end: int | Sequence[int],
    step: int | Sequence[int] = (),
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def slice_axis(
    data: Symbol | None = None,
    *,
    axis: int,
    begin: int,
    end: int | None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def slice_axis(
    data: Symbol | None,
    axis: int,
    begin: int,
    end: int | None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def slice_like(
    data: Symbol | None = None,
    shape_like: Symbol | None = None,
    axes: int | Sequence[int] = (),
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def smooth_l1(
    data: Symbol | None = None,
    scalar: float = 1.0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def softmax(
    data: Symbol | None = None,
    length: Symbol | None = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    use_length: bool | None = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def softmax_cross_entropy(
    data: Symbol | None = None,
    label: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def softmin(
    data: Symbol | None = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    use_length: bool | None = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def softsign(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def sort(
    data: Symbol | None = None,
    axis: int | None = -1,
    is_ascend: bool = True,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def space_to_depth(
    data: Symbol | None = None,
    *,
    block_size: int,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def space_to_depth(
    data: Symbol | None,
    block_size: int,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def split(
    data: Symbol | None = None,
    *,
    num_outputs: int,
    axis: int = 1,
    squeeze_axis: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def split(
    data: Symbol | None,
    num_outputs: int,
    axis: int = 1,
    squeeze_axis: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def sqrt(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def square(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def squeeze(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def stack(*data: Symbol, axis: int = 0, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def stop_gradient(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def sum(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def sum_axis(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def swapaxes(
    data: Symbol | None = None,
    dim1: int = 0,
    dim2: int = 0,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def take(
    a: Symbol | None = None,
    indices: Symbol | None = None,
    axis: int = 0,
    mode: Literal["clip", "raise", "wrap"] = "clip",
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def tan(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def tanh(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
@overload
def tile(
    data: Symbol | None = None,
    *,
    reps: int | Sequence[int],
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
@overload
def tile(
    data: Symbol | None,
    reps: int | Sequence[int],
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def topk(
    data: Symbol | None = None,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: Literal["both", "indices", "mask", "value"] = "indices",
    is_ascend: bool = False,
    dtype: DTypeLike = "float32",
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def transpose(
    data: Symbol | None = None,
    axes: int | Sequence[int] = (),
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def trunc(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
def uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def unravel_index(
    data: Symbol | None = None,
    shape: int | Sequence[int] = (),
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def where(
    condition: Symbol | None = None,
    x: Symbol | None = None,
    y: Symbol | None = None,
    name: str | None = None,
    attr: Any = None,
    out: Any = None,
    **other: Any,
) -> Symbol: ...
def zeros_like(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...

op: Any
_internal: Any

class contrib:
    from .contrib_functions import adamw_update, mp_adamw_update, rand_zipfian
    from .control_flow import cond, foreach, while_loop

    @staticmethod
    def AdaptiveAvgPooling2D(
        data: Symbol | None = None,
        output_size: int | Sequence[int] = (),
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def BatchNormWithReLU(
        data: Symbol | None = None,
        gamma: Symbol | None = None,
        beta: Symbol | None = None,
        moving_mean: Symbol | None = None,
        moving_var: Symbol | None = None,
        eps: float = 0.001,
        momentum: float = 0.9,
        fix_gamma: bool = True,
        use_global_stats: bool = False,
        output_mean_var: bool = False,
        axis: int = 1,
        cudnn_off: bool = False,
        min_calib_range: float | None = None,
        max_calib_range: float | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def BilinearResize2D(
        data: Symbol | None = None,
        like: Symbol | None = None,
        height: int = 1,
        width: int = 1,
        scale_height: float | None = None,
        scale_width: float | None = None,
        mode: Literal["like", "odd_scale", "size", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"] = "size",
        align_corners: bool = True,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def CTCLoss(
        data: Symbol | None = None,
        label: Symbol | None = None,
        data_lengths: Symbol | None = None,
        label_lengths: Symbol | None = None,
        use_data_lengths: bool = False,
        use_label_lengths: bool = False,
        blank_label: Literal["first", "last"] = "first",
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def DeformableConvolution(
        data: Symbol | None = None,
        offset: Symbol | None = None,
        weight: Symbol | None = None,
        bias: Symbol | None = None,
        *,
        kernel: int | Sequence[int],
        stride: int | Sequence[int] = (),
        dilate: int | Sequence[int] = (),
        pad: int | Sequence[int] = (),
        num_filter: int,
        num_group: int = 1,
        num_deformable_group: int = 1,
        workspace: int = 1024,
        no_bias: bool = False,
        layout: Literal["NCW", "NCHW", "NCDHW"] | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def DeformableConvolution(
        data: Symbol | None,
        offset: Symbol | None,
        weight: Symbol | None,
        bias: Symbol | None,
        kernel: int | Sequence[int],
        stride: int | Sequence[int],
        dilate: int | Sequence[int],
        pad: int | Sequence[int],
        num_filter: int,
        num_group: int = 1,
        num_deformable_group: int = 1,
        workspace: int = 1024,
        no_bias: bool = False,
        layout: Literal["NCW", "NCHW", "NCDHW"] | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def DeformablePSROIPooling(
        data: Symbol | None = None,
        rois: Symbol | None = None,
        trans: Symbol | None = None,
        *,
        spatial_scale: float,
        output_dim: int,
        group_size: int,
        pooled_size: int,
        part_size: int = 0,
        sample_per_part: int = 1,
        trans_std: float = 0.0,
        no_trans: bool = False,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def DeformablePSROIPooling(
        data: Symbol | None,
        rois: Symbol | None,
        trans: Symbol | None,
        spatial_scale: float,
        output_dim: int,
        group_size: int,
        pooled_size: int,
        part_size: int = 0,
        sample_per_part: int = 1,
        trans_std: float = 0.0,
        no_trans: bool = False,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def ModulatedDeformableConvolution(
        data: Symbol | None = None,
        offset: Symbol | None = None,
        mask: Symbol | None = None,
        weight: Symbol | None = None,
        bias: Symbol | None = None,
        *,
        kernel: int | Sequence[int],
        stride: int | Sequence[int] = (),
        dilate: int | Sequence[int] = (),
        pad: int | Sequence[int] = (),
        num_filter: int,
        num_group: int = 1,
        num_deformable_group: int = 1,
        workspace: int = 1024,
        no_bias: bool = False,
        im2col_step: int = 64,
        layout: Literal["NCW", "NCHW", "NCDHW"] | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def ModulatedDeformableConvolution(
        data: Symbol | None,
        offset: Symbol | None,
        mask: Symbol | None,
        weight: Symbol | None,
        bias: Symbol | None,
        kernel: int | Sequence[int],
        stride: int | Sequence[int],
        dilate: int | Sequence[int],
        pad: int | Sequence[int],
        num_filter: int,
        num_group: int = 1,
        num_deformable_group: int = 1,
        workspace: int = 1024,
        no_bias: bool = False,
        im2col_step: int = 64,
        layout: Literal["NCW", "NCHW", "NCDHW"] | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def MultiBoxDetection(
        cls_prob: Symbol | None = None,
        loc_pred: Symbol | None = None,
        anchor: Symbol | None = None,
        clip: bool = True,
        threshold: float = 0.01,
        background_id: int = 0,
        nms_threshold: float = 0.5,
        force_suppress: bool = False,
        variances: float | Sequence[float] = (0.1, 0.1, 0.2, 0.2),
        nms_topk: int = -1,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def MultiBoxPrior(
        data: Symbol | None = None,
        sizes: float | Sequence[float] = (1.0,),
        ratios: float | Sequence[float] = (1.0,),
        clip: bool = False,
        steps: float | Sequence[float] = (-1.0, -1.0),
        offsets: float | Sequence[float] = (0.5, 0.5),
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def MultiBoxTarget(
        anchor: Symbol | None = None,
        label: Symbol | None = None,
        cls_pred: Symbol | None = None,
        overlap_threshold: float = 0.5,
        ignore_label: float = -1.0,
        negative_mining_ratio: float = -1.0,
        negative_mining_thresh: float = 0.5,
        minimum_negative_samples: int = 0,
        variances: float | Sequence[float] = (0.1, 0.1, 0.2, 0.2),
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def MultiProposal(
        cls_prob: Symbol | None = None,
        bbox_pred: Symbol | None = None,
        im_info: Symbol | None = None,
        rpn_pre_nms_top_n: int = 6000,
        rpn_post_nms_top_n: int = 300,
        threshold: float = 0.7,
        rpn_min_size: int = 16,
        scales: float | Sequence[float] = (4.0, 8.0, 16.0, 32.0),
        ratios: float | Sequence[float] = (0.5, 1.0, 2.0),
        feature_stride: int = 16,
        output_score: bool = False,
        iou_loss: bool = False,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def PSROIPooling(
        data: Symbol | None = None,
        rois: Symbol | None = None,
        *,
        spatial_scale: float,
        output_dim: int,
        pooled_size: int,
        group_size: int = 0,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def PSROIPooling(
        data: Symbol | None,
        rois: Symbol | None,
        spatial_scale: float,
        output_dim: int,
        pooled_size: int,
        group_size: int = 0,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def Proposal(
        cls_prob: Symbol | None = None,
        bbox_pred: Symbol | None = None,
        im_info: Symbol | None = None,
        rpn_pre_nms_top_n: int = 6000,
        rpn_post_nms_top_n: int = 300,
        threshold: float = 0.7,
        rpn_min_size: int = 16,
        scales: float | Sequence[float] = (4.0, 8.0, 16.0, 32.0),
        ratios: float | Sequence[float] = (0.5, 1.0, 2.0),
        feature_stride: int = 16,
        output_score: bool = False,
        iou_loss: bool = False,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def ROIAlign(
        data: Symbol | None = None,
        rois: Symbol | None = None,
        *,
        pooled_size: int | Sequence[int],
        spatial_scale: float,
        sample_ratio: int = -1,
        position_sensitive: bool = False,
        aligned: bool = False,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def ROIAlign(
        data: Symbol | None,
        rois: Symbol | None,
        pooled_size: int | Sequence[int],
        spatial_scale: float,
        sample_ratio: int = -1,
        position_sensitive: bool = False,
        aligned: bool = False,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def RROIAlign(
        data: Symbol | None = None,
        rois: Symbol | None = None,
        *,
        pooled_size: int | Sequence[int],
        spatial_scale: float,
        sampling_ratio: int = -1,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def RROIAlign(
        data: Symbol | None,
        rois: Symbol | None,
        pooled_size: int | Sequence[int],
        spatial_scale: float,
        sampling_ratio: int = -1,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def SparseEmbedding(
        data: Symbol | None = None,
        weight: Symbol | None = None,
        *,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        sparse_grad: bool = False,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def SparseEmbedding(
        data: Symbol | None,
        weight: Symbol | None,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        sparse_grad: bool = False,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def SyncBatchNorm(
        data: Symbol | None = None,
        gamma: Symbol | None = None,
        beta: Symbol | None = None,
        moving_mean: Symbol | None = None,
        moving_var: Symbol | None = None,
        *,
        eps: float = 0.001,
        momentum: float = 0.9,
        fix_gamma: bool = True,
        use_global_stats: bool = False,
        output_mean_var: bool = False,
        ndev: int = 1,
        key: str,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def SyncBatchNorm(
        data: Symbol | None,
        gamma: Symbol | None,
        beta: Symbol | None,
        moving_mean: Symbol | None,
        moving_var: Symbol | None,
        eps: float,
        momentum: float,
        fix_gamma: bool,
        use_global_stats: bool,
        output_mean_var: bool,
        ndev: int,
        key: str,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def allclose(
        a: Symbol | None = None,
        b: Symbol | None = None,
        rtol: float = 1e-05,
        atol: float = 1e-08,
        equal_nan: bool = True,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def arange_like(
        data: Symbol | None = None,
        start: float = 0.0,
        step: float = 1.0,
        repeat: int = 1,
        ctx: str = "",
        axis: int | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def backward_gradientmultiplier(
        data: Symbol | None = None,
        scalar: float = 1.0,
        is_int: bool = True,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def backward_hawkesll(
        dout: Symbol | None = None,
        lda: Symbol | None = None,
        alpha: Symbol | None = None,
        beta: Symbol | None = None,
        state: Symbol | None = None,
        lags: Symbol | None = None,
        marks: Symbol | None = None,
        valid_length: Symbol | None = None,
        max_time: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def backward_index_copy(
        ograd: Symbol | None = None,
        index_vector: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def backward_quadratic(
        ograd: Symbol | None = None,
        data: Symbol | None = None,
        a: float = 0.0,
        b: float = 0.0,
        c: float = 0.0,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def bipartite_matching(
        data: Symbol | None = None,
        *,
        is_ascend: bool = False,
        threshold: float,
        topk: int = -1,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def bipartite_matching(
        data: Symbol | None,
        is_ascend: bool,
        threshold: float,
        topk: int = -1,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def boolean_mask(
        data: Symbol | None = None,
        index: Symbol | None = None,
        axis: int = 0,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def box_decode(
        data: Symbol | None = None,
        anchors: Symbol | None = None,
        std0: float = 1.0,
        std1: float = 1.0,
        std2: float = 1.0,
        std3: float = 1.0,
        clip: float = -1.0,
        format: Literal["center", "corner"] = "center",
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def box_encode(
        samples: Symbol | None = None,
        matches: Symbol | None = None,
        anchors: Symbol | None = None,
        refs: Symbol | None = None,
        means: Symbol | None = None,
        stds: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def box_iou(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        format: Literal["center", "corner"] = "corner",
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def box_nms(
        data: Symbol | None = None,
        overlap_thresh: float = 0.5,
        valid_thresh: float = 0.0,
        topk: int = -1,
        coord_start: int = 2,
        score_index: int = 1,
        id_index: int = -1,
        background_id: int = -1,
        force_suppress: bool = False,
        in_format: Literal["center", "corner"] = "corner",
        out_format: Literal["center", "corner"] = "corner",
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def box_non_maximum_suppression(
        data: Symbol | None = None,
        overlap_thresh: float = 0.5,
        valid_thresh: float = 0.0,
        topk: int = -1,
        coord_start: int = 2,
        score_index: int = 1,
        id_index: int = -1,
        background_id: int = -1,
        force_suppress: bool = False,
        in_format: Literal["center", "corner"] = "corner",
        out_format: Literal["center", "corner"] = "corner",
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def calibrate_entropy(
        hist: Symbol | None = None,
        hist_edges: Symbol | None = None,
        num_quantized_bins: int = 255,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def count_sketch(
        data: Symbol | None = None,
        h: Symbol | None = None,
        s: Symbol | None = None,
        *,
        out_dim: int,
        processing_batch_size: int = 32,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def count_sketch(
        data: Symbol | None,
        h: Symbol | None,
        s: Symbol | None,
        out_dim: int,
        processing_batch_size: int = 32,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def ctc_loss(
        data: Symbol | None = None,
        label: Symbol | None = None,
        data_lengths: Symbol | None = None,
        label_lengths: Symbol | None = None,
        use_data_lengths: bool = False,
        use_label_lengths: bool = False,
        blank_label: Literal["first", "last"] = "first",
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def dequantize(
        data: Symbol | None = None,
        min_range: Symbol | None = None,
        max_range: Symbol | None = None,
        out_type: Literal["float32"] = "float32",
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def div_sqrt_dim(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def edge_id(
        data: Symbol | None = None,
        u: Symbol | None = None,
        v: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def fft(
        data: Symbol | None = None,
        compute_size: int = 128,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def getnnz(
        data: Symbol | None = None,
        axis: int | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def gradientmultiplier(
        data: Symbol | None = None,
        scalar: float = 1.0,
        is_int: bool = True,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def group_adagrad_update(
        weight: Symbol | None = None,
        grad: Symbol | None = None,
        history: Symbol | None = None,
        *,
        lr: float,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        epsilon: float = 1e-05,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def group_adagrad_update(
        weight: Symbol | None,
        grad: Symbol | None,
        history: Symbol | None,
        lr: float,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        epsilon: float = 1e-05,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def hawkesll(
        lda: Symbol | None = None,
        alpha: Symbol | None = None,
        beta: Symbol | None = None,
        state: Symbol | None = None,
        lags: Symbol | None = None,
        marks: Symbol | None = None,
        valid_length: Symbol | None = None,
        max_time: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def ifft(
        data: Symbol | None = None,
        compute_size: int = 128,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def index_array(
        data: Symbol | None = None,
        axes: int | Sequence[int] | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def index_copy(
        old_tensor: Symbol | None = None,
        index_vector: Symbol | None = None,
        new_tensor: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def interleaved_matmul_encdec_qk(
        queries: Symbol | None = None,
        keys_values: Symbol | None = None,
        *,
        heads: int,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def interleaved_matmul_encdec_qk(
        queries: Symbol | None,
        keys_values: Symbol | None,
        heads: int,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def interleaved_matmul_encdec_valatt(
        keys_values: Symbol | None = None,
        attention: Symbol | None = None,
        *,
        heads: int,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def interleaved_matmul_encdec_valatt(
        keys_values: Symbol | None,
        attention: Symbol | None,
        heads: int,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def interleaved_matmul_selfatt_qk(
        queries_keys_values: Symbol | None = None,
        *,
        heads: int,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def interleaved_matmul_selfatt_qk(
        queries_keys_values: Symbol | None,
        heads: int,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def interleaved_matmul_selfatt_valatt(
        queries_keys_values: Symbol | None = None,
        attention: Symbol | None = None,
        *,
        heads: int,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def interleaved_matmul_selfatt_valatt(
        queries_keys_values: Symbol | None,
        attention: Symbol | None,
        heads: int,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def quadratic(
        data: Symbol | None = None,
        a: float = 0.0,
        b: float = 0.0,
        c: float = 0.0,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def quantize(
        data: Symbol | None = None,
        min_range: Symbol | None = None,
        max_range: Symbol | None = None,
        out_type: Literal["int8", "uint8"] = "uint8",
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def quantize_asym(
        data: Symbol | None = None,
        min_calib_range: float | None = None,
        max_calib_range: float | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def quantize_v2(
        data: Symbol | None = None,
        out_type: Literal["auto", "int8", "uint8"] = "int8",
        min_calib_range: float | None = None,
        max_calib_range: float | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def quantized_act(
        data: Symbol | None = None,
        min_data: Symbol | None = None,
        max_data: Symbol | None = None,
        *,
        act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"],
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def quantized_act(
        data: Symbol | None,
        min_data: Symbol | None,
        max_data: Symbol | None,
        act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"],
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def quantized_batch_norm(
        data: Symbol | None = None,
        gamma: Symbol | None = None,
        beta: Symbol | None = None,
        moving_mean: Symbol | None = None,
        moving_var: Symbol | None = None,
        min_data: Symbol | None = None,
        max_data: Symbol | None = None,
        eps: float = 0.001,
        momentum: float = 0.9,
        fix_gamma: bool = True,
        use_global_stats: bool = False,
        output_mean_var: bool = False,
        axis: int = 1,
        cudnn_off: bool = False,
        min_calib_range: float | None = None,
        max_calib_range: float | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def quantized_concat(
        *data: Symbol,
        num_args: int,
        dim: int = 1,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def quantized_conv(
        data: Symbol | None = None,
        weight: Symbol | None = None,
        bias: Symbol | None = None,
        min_data: Symbol | None = None,
        max_data: Symbol | None = None,
        min_weight: Symbol | None = None,
        max_weight: Symbol | None = None,
        min_bias: Symbol | None = None,
        max_bias: Symbol | None = None,
        *,
        kernel: int | Sequence[int],
        stride: int | Sequence[int] = (),
        dilate: int | Sequence[int] = (),
        pad: int | Sequence[int] = (),
        num_filter: int,
        num_group: int = 1,
        workspace: int = 1024,
        no_bias: bool = False,
        cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
        cudnn_off: bool = False,
        layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def quantized_conv(
        data: Symbol | None,
        weight: Symbol | None,
        bias: Symbol | None,
        min_data: Symbol | None,
        max_data: Symbol | None,
        min_weight: Symbol | None,
        max_weight: Symbol | None,
        min_bias: Symbol | None,
        max_bias: Symbol | None,
        kernel: int | Sequence[int],
        stride: int | Sequence[int],
        dilate: int | Sequence[int],
        pad: int | Sequence[int],
        num_filter: int,
        num_group: int = 1,
        workspace: int = 1024,
        no_bias: bool = False,
        cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
        cudnn_off: bool = False,
        layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def quantized_elemwise_add(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        lhs_min: Symbol | None = None,
        lhs_max: Symbol | None = None,
        rhs_min: Symbol | None = None,
        rhs_max: Symbol | None = None,
        min_calib_range: float | None = None,
        max_calib_range: float | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def quantized_elemwise_mul(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        lhs_min: Symbol | None = None,
        lhs_max: Symbol | None = None,
        rhs_min: Symbol | None = None,
        rhs_max: Symbol | None = None,
        min_calib_range: float | None = None,
        max_calib_range: float | None = None,
        enable_float_output: bool = False,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def quantized_embedding(
        data: Symbol | None = None,
        weight: Symbol | None = None,
        min_weight: Symbol | None = None,
        max_weight: Symbol | None = None,
        *,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        sparse_grad: bool = False,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def quantized_embedding(
        data: Symbol | None,
        weight: Symbol | None,
        min_weight: Symbol | None,
        max_weight: Symbol | None,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        sparse_grad: bool = False,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def quantized_flatten(
        data: Symbol | None = None,
        min_data: Symbol | None = None,
        max_data: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def quantized_fully_connected(
        data: Symbol | None = None,
        weight: Symbol | None = None,
        bias: Symbol | None = None,
        min_data: Symbol | None = None,
        max_data: Symbol | None = None,
        min_weight: Symbol | None = None,
        max_weight: Symbol | None = None,
        min_bias: Symbol | None = None,
        max_bias: Symbol | None = None,
        *,
        num_hidden: int,
        no_bias: bool = False,
        flatten: bool = True,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def quantized_fully_connected(
        data: Symbol | None,
        weight: Symbol | None,
        bias: Symbol | None,
        min_data: Symbol | None,
        max_data: Symbol | None,
        min_weight: Symbol | None,
        max_weight: Symbol | None,
        min_bias: Symbol | None,
        max_bias: Symbol | None,
        num_hidden: int,
        no_bias: bool = False,
        flatten: bool = True,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def quantized_pooling(
        data: Symbol | None = None,
        min_data: Symbol | None = None,
        max_data: Symbol | None = None,
        kernel: int | Sequence[int] = (),
        pool_type: Literal["avg", "lp", "max", "sum"] = "max",
        global_pool: bool = False,
        cudnn_off: bool = False,
        pooling_convention: Literal["full", "same", "valid"] = "valid",
        stride: int | Sequence[int] = (),
        pad: int | Sequence[int] = (),
        p_value: int | None = None,
        count_include_pad: bool | None = None,
        layout: Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def quantized_rnn(
        data: Symbol | None = None,
        parameters: Symbol | None = None,
        state: Symbol | None = None,
        state_cell: Symbol | None = None,
        data_scale: Symbol | None = None,
        data_shift: Symbol | None = None,
        *,
        state_size: int,
        num_layers: int,
        bidirectional: bool = False,
        mode: Literal["gru", "lstm", "rnn_relu", "rnn_tanh"],
        p: float = 0.0,
        state_outputs: bool = False,
        projection_size: int | None = None,
        lstm_state_clip_min: float | None = None,
        lstm_state_clip_max: float | None = None,
        lstm_state_clip_nan: bool = False,
        use_sequence_length: bool = False,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def quantized_rnn(
        data: Symbol | None,
        parameters: Symbol | None,
        state: Symbol | None,
        state_cell: Symbol | None,
        data_scale: Symbol | None,
        data_shift: Symbol | None,
        state_size: int,
        num_layers: int,
        bidirectional: bool,
        mode: Literal["gru", "lstm", "rnn_relu", "rnn_tanh"],
        p: float = 0.0,
        state_outputs: bool = False,
        projection_size: int | None = None,
        lstm_state_clip_min: float | None = None,
        lstm_state_clip_max: float | None = None,
        lstm_state_clip_nan: bool = False,
        use_sequence_length: bool = False,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def requantize(
        data: Symbol | None = None,
        min_range: Symbol | None = None,
        max_range: Symbol | None = None,
        out_type: Literal["auto", "int8", "uint8"] = "int8",
        min_calib_range: float | None = None,
        max_calib_range: float | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def rms_norm(
        data: Symbol | None = None,
        gamma: Symbol | None = None,
        axis: int = -1,
        eps: float = 1e-06,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def rotary_embedding(
        data: Symbol | None = None,
        positions: Symbol | None = None,
        base: float = 10000.0,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def round_ste(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def scaled_dot_product_attention(
        query: Symbol | None = None,
        key: Symbol | None = None,
        value: Symbol | None = None,
        mask: Symbol | None = None,
        scale: float | None = None,
        causal: bool = False,
        use_mask: bool = False,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def sign_ste(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...

class image:
    @overload
    @staticmethod
    def adjust_lighting(
        data: Symbol | None = None,
        *,
        alpha: float | Sequence[float],
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def adjust_lighting(
        data: Symbol | None,
        alpha: float | Sequence[float],
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def crop(
        data: Symbol | None = None,
        *,
        x: int,
        y: int,
        width: int,
        height: int,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def crop(
        data: Symbol | None,
        x: int,
        y: int,
        width: int,
        height: int,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def flip_left_right(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def flip_top_bottom(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def normalize(
        data: Symbol | None = None,
        mean: float | Sequence[float] = (0.0, 0.0, 0.0, 0.0),
        std: float | Sequence[float] = (1.0, 1.0, 1.0, 1.0),
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def random_brightness(
        data: Symbol | None = None,
        *,
        min_factor: float,
        max_factor: float,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def random_brightness(
        data: Symbol | None,
        min_factor: float,
        max_factor: float,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def random_color_jitter(
        data: Symbol | None = None,
        *,
        brightness: float,
        contrast: float,
        saturation: float,
        hue: float,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def random_color_jitter(
        data: Symbol | None,
        brightness: float,
        contrast: float,
        saturation: float,
        hue: float,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def random_contrast(
        data: Symbol | None = None,
        *,
        min_factor: float,
        max_factor: float,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def random_contrast(
        data: Symbol | None,
        min_factor: float,
        max_factor: float,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def random_flip_left_right(
        data: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def random_flip_top_bottom(
        data: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def random_hue(
        data: Symbol | None = None,
        *,
        min_factor: float,
        max_factor: float,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def random_hue(
        data: Symbol | None,
        min_factor: float,
        max_factor: float,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def random_lighting(
        data: Symbol | None = None,
        alpha_std: float = 0.05,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def random_saturation(
        data: Symbol | None = None,
        *,
        min_factor: float,
        max_factor: float,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def random_saturation(
        data: Symbol | None,
        min_factor: float,
        max_factor: float,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def resize(
        data: Symbol | None = None,
        size: int | Sequence[int] = (),
        keep_ratio: bool = False,
        interp: int = 1,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def to_tensor(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...

class linalg:
    @staticmethod
    def det(A: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def extractdiag(
        A: Symbol | None = None,
        offset: int = 0,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def extracttrian(
        A: Symbol | None = None,
        offset: int = 0,
        lower: bool = True,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def gelqf(A: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def gemm(
        A: Symbol | None = None,
        B: Symbol | None = None,
        C: Symbol | None = None,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        beta: float = 1.0,
        axis: int = -2,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def gemm2(
        A: Symbol | None = None,
        B: Symbol | None = None,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        axis: int = -2,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def inverse(A: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def makediag(
        A: Symbol | None = None,
        offset: int = 0,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def maketrian(
        A: Symbol | None = None,
        offset: int = 0,
        lower: bool = True,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def potrf(
        A: Symbol | None = None,
        lower: bool = True,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def potri(
        A: Symbol | None = None,
        lower: bool = True,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def slogdet(A: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def sumlogdiag(A: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def syevd(A: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def syrk(
        A: Symbol | None = None,
        transpose: bool = False,
        alpha: float = 1.0,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def trmm(
        A: Symbol | None = None,
        B: Symbol | None = None,
        transpose: bool = False,
        rightside: bool = False,
        lower: bool = True,
        alpha: float = 1.0,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def trsm(
        A: Symbol | None = None,
        B: Symbol | None = None,
        transpose: bool = False,
        rightside: bool = False,
        lower: bool = True,
        alpha: float = 1.0,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...

class sparse:
    @staticmethod
    def ElementWiseSum(*args: Symbol, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @overload
    @staticmethod
    def Embedding(
        data: Symbol | None = None,
        weight: Symbol | None = None,
        *,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        sparse_grad: bool = False,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def Embedding(
        data: Symbol | None,
        weight: Symbol | None,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        sparse_grad: bool = False,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def FullyConnected(
        data: Symbol | None = None,
        weight: Symbol | None = None,
        bias: Symbol | None = None,
        *,
        num_hidden: int,
        no_bias: bool = False,
        flatten: bool = True,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def FullyConnected(
        data: Symbol | None,
        weight: Symbol | None,
        bias: Symbol | None,
        num_hidden: int,
        no_bias: bool = False,
        flatten: bool = True,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def LinearRegressionOutput(
        data: Symbol | None = None,
        label: Symbol | None = None,
        grad_scale: float = 1.0,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def LogisticRegressionOutput(
        data: Symbol | None = None,
        label: Symbol | None = None,
        grad_scale: float = 1.0,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def MAERegressionOutput(
        data: Symbol | None = None,
        label: Symbol | None = None,
        grad_scale: float = 1.0,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def _contrib_round_ste(
        data: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def _contrib_sign_ste(
        data: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def abs(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @overload
    @staticmethod
    def adagrad_update(
        weight: Symbol | None = None,
        grad: Symbol | None = None,
        history: Symbol | None = None,
        *,
        lr: float,
        epsilon: float = 1e-07,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def adagrad_update(
        weight: Symbol | None,
        grad: Symbol | None,
        history: Symbol | None,
        lr: float,
        epsilon: float = 1e-07,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def adam_update(
        weight: Symbol | None = None,
        grad: Symbol | None = None,
        mean: Symbol | None = None,
        var: Symbol | None = None,
        *,
        lr: float,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def adam_update(
        weight: Symbol | None,
        grad: Symbol | None,
        mean: Symbol | None,
        var: Symbol | None,
        lr: float,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def add_n(*args: Symbol, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def arccos(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def arccosh(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def arcsin(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def arcsinh(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def arctan(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def arctanh(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def broadcast_add(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def broadcast_div(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def broadcast_minus(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def broadcast_mul(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def broadcast_plus(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def broadcast_sub(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def cast_storage(
        data: Symbol | None = None,
        *,
        stype: Literal["default", "row_sparse", "csr"],
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def cast_storage(
        data: Symbol | None,
        stype: Literal["default", "row_sparse", "csr"],
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def cbrt(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def ceil(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @overload
    @staticmethod
    def clip(
        data: Symbol | None = None,
        *,
        a_min: float,
        a_max: float,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def clip(
        data: Symbol | None,
        a_min: float,
        a_max: float,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def concat(*data: Symbol, dim: int = 1, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def cos(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def cosh(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def degrees(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def dot(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        transpose_a: bool = False,
        transpose_b: bool = False,
        forward_stype: Literal["default", "csr", "row_sparse"] | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def elemwise_add(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def elemwise_div(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def elemwise_mul(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def elemwise_sub(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def exp(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def expm1(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def fix(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def floor(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @overload
    @staticmethod
    def ftrl_update(
        weight: Symbol | None = None,
        grad: Symbol | None = None,
        z: Symbol | None = None,
        n: Symbol | None = None,
        *,
        lr: float,
        lamda1: float = 0.01,
        beta: float = 1.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def ftrl_update(
        weight: Symbol | None,
        grad: Symbol | None,
        z: Symbol | None,
        n: Symbol | None,
        lr: float,
        lamda1: float = 0.01,
        beta: float = 1.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def gamma(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def gammaln(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def log(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def log10(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def log1p(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def log2(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def make_loss(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def mean(
        data: Symbol | None = None,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def negative(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def norm(
        data: Symbol | None = None,
        ord: int = 2,
        axis: int | Sequence[int] | None = None,
        out_dtype: DTypeLike | None = None,
        keepdims: bool = False,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def radians(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def relu(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def retain(
        data: Symbol | None = None,
        indices: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def rint(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def round(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def rsqrt(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @overload
    @staticmethod
    def sgd_mom_update(
        weight: Symbol | None = None,
        grad: Symbol | None = None,
        mom: Symbol | None = None,
        *,
        lr: float,
        momentum: float = 0.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def sgd_mom_update(
        weight: Symbol | None,
        grad: Symbol | None,
        mom: Symbol | None,
        lr: float,
        momentum: float = 0.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def sgd_update(
        weight: Symbol | None = None,
        grad: Symbol | None = None,
        *,
        lr: float,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def sgd_update(
        weight: Symbol | None,
        grad: Symbol | None,
        lr: float,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def sigmoid(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def sign(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def sin(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def sinh(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @overload
    @staticmethod
    def slice(
        data: Symbol | None = None,
        *,
        begin: int | Sequence[int],
        end: int | Sequence[int],
        step: int | Sequence[int] = (),
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @overload
    @staticmethod
    def slice(
        data: Symbol | None,
        begin: int | Sequence[int],
        end: int | Sequence[int],
        step: int | Sequence[int] = (),
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def sqrt(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def square(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def stop_gradient(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def sum(
        data: Symbol | None = None,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def tan(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def tanh(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def trunc(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
    @staticmethod
    def where(
        condition: Symbol | None = None,
        x: Symbol | None = None,
        y: Symbol | None = None,
        name: str | None = None,
        attr: Any = None,
        out: Any = None,
        **other: Any,
    ) -> Symbol: ...
    @staticmethod
    def zeros_like(data: Symbol | None = None, name: str | None = None, attr: Any = None, out: Any = None, **other: Any) -> Symbol: ...
