"""Written by ``make stubs`` from the operator table: the functions of ``twofold.ndarray`` that are operators."""

from collections.abc import Sequence
from typing import Any, Literal, overload

from ..ndarray.types import DeviceLike, DTypeLike
from . import random
from .array import NDArray
from .custom import Custom
from .decoding import imdecode
from .functions import (
    add,
    concatenate,
    divide,
    equal,
    greater,
    greater_equal,
    histogram,
    lesser,
    lesser_equal,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    modulo,
    moveaxis,
    multiply,
    not_equal,
    onehot_encode,
    power,
    split_v2,
    subtract,
    to_dlpack_for_read,
    to_dlpack_for_write,
    true_divide,
    waitall,
)
from .new_arrays import arange, array, empty, from_dlpack, from_numpy, full, ones, zeros
from .ranges import eye, linspace
from .saving import load, load_frombuffer, save

__all__ = [
    "Custom",
    "NDArray",
    "add",
    "arange",
    "array",
    "concatenate",
    "divide",
    "empty",
    "equal",
    "eye",
    "from_dlpack",
    "from_numpy",
    "full",
    "greater",
    "greater_equal",
    "histogram",
    "imdecode",
    "lesser",
    "lesser_equal",
    "linspace",
    "load",
    "load_frombuffer",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "modulo",
    "moveaxis",
    "multiply",
    "not_equal",
    "onehot_encode",
    "ones",
    "power",
    "random",
    "save",
    "split_v2",
    "subtract",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
    "true_divide",
    "waitall",
    "zeros",
]

def Activation(
    data: NDArray,
    act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"],
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def BatchNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
    eps: float = 0.001,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
def BatchNorm_v1(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    moving_mean: NDArray,
    moving_var: NDArray,
    eps: float = 0.001,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
def BilinearSampler(
    data: NDArray,
    grid: NDArray,
    cudnn_off: bool | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def BlockGrad(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def CTCLoss(
    data: NDArray,
    label: NDArray,
    data_lengths: NDArray | None = None,
    label_lengths: NDArray | None = None,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Cast(data: NDArray, dtype: DTypeLike, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def Concat(*data: NDArray, dim: int = 1, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
@overload
def Convolution(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None = None,
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
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
@overload
def Convolution(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None,
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
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
@overload
def Convolution_v1(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None = None,
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
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
@overload
def Convolution_v1(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None,
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
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Correlation(
    data1: NDArray,
    data2: NDArray,
    kernel_size: int = 1,
    max_displacement: int = 1,
    stride1: int = 1,
    stride2: int = 1,
    pad_size: int = 0,
    is_multiply: bool = True,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Crop(
    *data: NDArray,
    offset: int | Sequence[int] = (0, 0),
    h_w: int | Sequence[int] = (0, 0),
    center_crop: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
@overload
def Deconvolution(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None = None,
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
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
@overload
def Deconvolution(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None,
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
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Dropout(
    data: NDArray,
    p: float = 0.5,
    mode: Literal["always", "training"] = "training",
    axes: int | Sequence[int] = (),
    cudnn_off: bool | None = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def ElementWiseSum(*args: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def Embedding(
    data: NDArray,
    weight: NDArray,
    input_dim: int,
    output_dim: int,
    dtype: DTypeLike = "float32",
    sparse_grad: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Flatten(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
@overload
def FullyConnected(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None = None,
    *,
    num_hidden: int,
    no_bias: bool = False,
    flatten: bool = True,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
@overload
def FullyConnected(
    data: NDArray,
    weight: NDArray,
    bias: NDArray | None,
    num_hidden: int,
    no_bias: bool = False,
    flatten: bool = True,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def GridGenerator(
    data: NDArray,
    transform_type: Literal["affine", "warp"],
    target_shape: int | Sequence[int] = (0, 0),
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def GroupNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    num_groups: int = 1,
    eps: float = 1e-05,
    output_mean_var: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
def IdentityAttachKLSparseReg(
    data: NDArray,
    moving_avg: NDArray,
    sparseness_target: float = 0.1,
    penalty: float = 0.001,
    momentum: float = 0.9,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def InstanceNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    eps: float = 0.001,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def L2Normalization(
    data: NDArray,
    eps: float = 1e-10,
    mode: Literal["channel", "instance", "spatial"] = "instance",
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
@overload
def LRN(
    data: NDArray,
    *,
    alpha: float = 0.0001,
    beta: float = 0.75,
    knorm: float = 2.0,
    nsize: int,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
@overload
def LRN(
    data: NDArray,
    alpha: float,
    beta: float,
    knorm: float,
    nsize: int,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def LayerNorm(
    data: NDArray,
    gamma: NDArray,
    beta: NDArray,
    axis: int = -1,
    eps: float = 1e-05,
    output_mean_var: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
def LeakyReLU(
    data: NDArray,
    gamma: NDArray | None = None,
    act_type: Literal["elu", "gelu", "leaky", "prelu", "rrelu", "selu"] = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
def LinearRegressionOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def LogisticRegressionOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def MAERegressionOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def MakeLoss(
    data: NDArray,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: Literal["batch", "null", "valid"] = "null",
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def NDabs(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def NDnorm(
    data: NDArray,
    ord: int = 2,
    axis: int | Sequence[int] | None = None,
    out_dtype: DTypeLike | None = None,
    keepdims: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Pad(
    data: NDArray,
    mode: Literal["constant", "edge", "reflect"],
    pad_width: int | Sequence[int],
    constant_value: float = 0.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Pooling(
    data: NDArray,
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
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Pooling_v1(
    data: NDArray,
    kernel: int | Sequence[int] = (),
    pool_type: Literal["avg", "max", "sum"] = "max",
    global_pool: bool = False,
    pooling_convention: Literal["full", "valid"] = "valid",
    stride: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
@overload
def RNN(
    data: NDArray,
    parameters: NDArray,
    state: NDArray,
    state_cell: NDArray | None = None,
    sequence_length: NDArray | None = None,
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
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
@overload
def RNN(
    data: NDArray,
    parameters: NDArray,
    state: NDArray,
    state_cell: NDArray | None,
    sequence_length: NDArray | None,
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
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
def ROIPooling(
    data: NDArray,
    rois: NDArray,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def Reshape(
    data: NDArray,
    shape: int | Sequence[int] = (),
    reverse: bool = False,
    target_shape: int | Sequence[int] = (),
    keep_highest: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def SVMOutput(
    data: NDArray,
    label: NDArray,
    margin: float = 1.0,
    regularization_coefficient: float = 1.0,
    use_linear: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def SequenceLast(
    data: NDArray,
    sequence_length: NDArray | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def SequenceMask(
    data: NDArray,
    sequence_length: NDArray | None = None,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: int = 0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def SequenceReverse(
    data: NDArray,
    sequence_length: NDArray | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def SliceChannel(
    data: NDArray,
    num_outputs: int,
    axis: int = 1,
    squeeze_axis: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
def Softmax(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Literal["batch", "null", "valid"] = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def SoftmaxActivation(
    data: NDArray,
    mode: Literal["channel", "instance"] = "instance",
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def SoftmaxOutput(
    data: NDArray,
    label: NDArray,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Literal["batch", "null", "valid"] = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
@overload
def SpatialTransformer(
    data: NDArray,
    loc: NDArray,
    *,
    target_shape: int | Sequence[int] = (0, 0),
    transform_type: Literal["affine"],
    sampler_type: Literal["bilinear"],
    cudnn_off: bool | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
@overload
def SpatialTransformer(
    data: NDArray,
    loc: NDArray,
    target_shape: int | Sequence[int],
    transform_type: Literal["affine"],
    sampler_type: Literal["bilinear"],
    cudnn_off: bool | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def SwapAxis(
    data: NDArray,
    dim1: int = 0,
    dim2: int = 0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def UpSampling(
    *data: NDArray,
    scale: int,
    num_filter: int = 0,
    sample_type: Literal["bilinear", "nearest"],
    multi_input_mode: Literal["concat", "sum"] = "concat",
    workspace: int = 512,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def abs(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def adam_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def add_n(*args: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def all_finite(
    data: NDArray,
    init_output: bool = True,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def amp_cast(data: NDArray, dtype: DTypeLike, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def amp_multicast(
    *data: NDArray,
    num_outputs: int,
    cast_narrow: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
def arccos(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def arccosh(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def arcsin(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def arcsinh(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def arctan(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def arctanh(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def argmax(
    data: NDArray,
    axis: int | None = None,
    keepdims: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def argmax_channel(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def argmin(
    data: NDArray,
    axis: int | None = None,
    keepdims: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def argsort(
    data: NDArray,
    axis: int | None = -1,
    is_ascend: bool = True,
    dtype: DTypeLike = "float32",
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def batch_dot(
    lhs: NDArray,
    rhs: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Literal["default", "csr", "row_sparse"] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def batch_take(a: NDArray, indices: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def broadcast_add(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def broadcast_axes(
    data: NDArray,
    axis: int | Sequence[int] = (),
    size: int | Sequence[int] = (),
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_axis(
    data: NDArray,
    axis: int | Sequence[int] = (),
    size: int | Sequence[int] = (),
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_div(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def broadcast_equal(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def broadcast_greater(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def broadcast_greater_equal(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_hypot(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def broadcast_lesser(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def broadcast_lesser_equal(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_like(
    lhs: NDArray,
    rhs: NDArray,
    lhs_axes: int | Sequence[int] | None = None,
    rhs_axes: int | Sequence[int] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_logical_and(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_logical_or(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_logical_xor(
    lhs: NDArray,
    rhs: NDArray,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def broadcast_maximum(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def broadcast_minimum(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def broadcast_minus(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def broadcast_mod(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def broadcast_mul(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def broadcast_not_equal(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def broadcast_plus(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def broadcast_power(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def broadcast_sub(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def broadcast_to(
    data: NDArray,
    shape: int | Sequence[int] = (),
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def cast(data: NDArray, dtype: DTypeLike, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def cast_storage(
    data: NDArray,
    stype: Literal["default", "row_sparse", "csr"],
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def cbrt(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def ceil(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def choose_element_0index(
    data: NDArray,
    index: NDArray,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def clip(data: NDArray, a_min: float, a_max: float, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def col2im(
    data: NDArray,
    output_size: int | Sequence[int],
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def concat(*data: NDArray, dim: int = 1, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def cos(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def cosh(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def crop(
    data: NDArray,
    begin: int | Sequence[int],
    end: int | Sequence[int],
    step: int | Sequence[int] = (),
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def ctc_loss(
    data: NDArray,
    label: NDArray,
    data_lengths: NDArray | None = None,
    label_lengths: NDArray | None = None,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def cumsum(
    a: NDArray,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def degrees(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def depth_to_space(data: NDArray, block_size: int, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def diag(
    data: NDArray,
    k: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def dot(
    lhs: NDArray,
    rhs: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Literal["default", "csr", "row_sparse"] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def elemwise_add(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def elemwise_div(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def elemwise_mul(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def elemwise_sub(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def erf(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def erfinv(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def exp(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def expand_dims(data: NDArray, axis: int, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def expm1(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def fill_element_0index(
    lhs: NDArray,
    mhs: NDArray,
    rhs: NDArray,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def fix(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def flatten(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def flip(data: NDArray, axis: int | Sequence[int], out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def floor(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
@overload
def ftml_update(
    weight: NDArray,
    grad: NDArray,
    d: NDArray,
    v: NDArray,
    z: NDArray,
    *,
    lr: float,
    beta1: float = 0.6,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    t: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_grad: float = -1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
@overload
def ftml_update(
    weight: NDArray,
    grad: NDArray,
    d: NDArray,
    v: NDArray,
    z: NDArray,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    t: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_grad: float = -1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def ftrl_update(
    weight: NDArray,
    grad: NDArray,
    z: NDArray,
    n: NDArray,
    lr: float,
    lamda1: float = 0.01,
    beta: float = 1.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def gamma(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def gammaln(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def gather_nd(data: NDArray, indices: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def hard_sigmoid(
    data: NDArray,
    alpha: float = 0.2,
    beta: float = 0.5,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def identity(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def im2col(
    data: NDArray,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def khatri_rao(*args: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
@overload
def lamb_update_phase1(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    *,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-06,
    t: float,
    bias_correction: bool = True,
    wd: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
@overload
def lamb_update_phase1(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    beta1: float,
    beta2: float,
    epsilon: float,
    t: float,
    bias_correction: bool,
    wd: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def lamb_update_phase2(
    weight: NDArray,
    g: NDArray,
    r1: NDArray,
    r2: NDArray,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_det(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def linalg_extractdiag(A: NDArray, offset: int = 0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def linalg_extracttrian(
    A: NDArray,
    offset: int = 0,
    lower: bool = True,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_gelqf(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]: ...
def linalg_gemm(
    A: NDArray,
    B: NDArray,
    C: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_gemm2(
    A: NDArray,
    B: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: int = -2,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_inverse(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def linalg_makediag(A: NDArray, offset: int = 0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def linalg_maketrian(
    A: NDArray,
    offset: int = 0,
    lower: bool = True,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_potrf(A: NDArray, lower: bool = True, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def linalg_potri(A: NDArray, lower: bool = True, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def linalg_slogdet(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]: ...
def linalg_sumlogdiag(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def linalg_syevd(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]: ...
def linalg_syrk(
    A: NDArray,
    transpose: bool = False,
    alpha: float = 1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_trmm(
    A: NDArray,
    B: NDArray,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def linalg_trsm(
    A: NDArray,
    B: NDArray,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def log(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def log10(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def log1p(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def log2(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def log_softmax(
    data: NDArray,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    use_length: bool | None = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def logical_not(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def make_loss(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def max(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def max_axis(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def mean(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def min(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def min_axis(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def moments(
    data: NDArray,
    axes: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]: ...
@overload
def mp_lamb_update_phase1(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    weight32: NDArray,
    *,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-06,
    t: float,
    bias_correction: bool = True,
    wd: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
@overload
def mp_lamb_update_phase1(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    weight32: NDArray,
    beta1: float,
    beta2: float,
    epsilon: float,
    t: float,
    bias_correction: bool,
    wd: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def mp_lamb_update_phase2(
    weight: NDArray,
    g: NDArray,
    r1: NDArray,
    r2: NDArray,
    weight32: NDArray,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def mp_nag_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    weight32: NDArray,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def mp_sgd_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    weight32: NDArray,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def mp_sgd_update(
    weight: NDArray,
    grad: NDArray,
    weight32: NDArray,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def multi_all_finite(
    *data: NDArray,
    init_output: bool = True,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def multi_lars(
    lrs: NDArray,
    weights_sum_sq: NDArray,
    grads_sum_sq: NDArray,
    wds: NDArray,
    eta: float,
    eps: float,
    rescale_grad: float = 1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def multi_mp_sgd_mom_update(
    *data: NDArray,
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
def multi_mp_sgd_update(
    *data: NDArray,
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
def multi_sgd_mom_update(
    *data: NDArray,
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
def multi_sgd_update(
    *data: NDArray,
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
def multi_sum_sq(*data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def nag_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def nanprod(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def nansum(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def negative(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def norm(
    data: NDArray,
    ord: int = 2,
    axis: int | Sequence[int] | None = None,
    out_dtype: DTypeLike | None = None,
    keepdims: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def one_hot(
    indices: NDArray,
    depth: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: DTypeLike = "float32",
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def ones_like(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def pad(
    data: NDArray,
    mode: Literal["constant", "edge", "reflect"],
    pad_width: int | Sequence[int],
    constant_value: float = 0.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def pick(
    data: NDArray,
    index: NDArray,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def preloaded_multi_mp_sgd_mom_update(
    *data: NDArray,
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
def preloaded_multi_mp_sgd_update(
    *data: NDArray,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
def preloaded_multi_sgd_mom_update(
    *data: NDArray,
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
def preloaded_multi_sgd_update(
    *data: NDArray,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
def prod(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def radians(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def random_exponential(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_gamma(
    alpha: float = 1.0,
    beta: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_generalized_negative_binomial(
    mu: float = 1.0,
    alpha: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_negative_binomial(
    k: float = 1,
    p: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_pdf_dirichlet(
    sample: NDArray,
    alpha: NDArray,
    is_log: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_pdf_exponential(
    sample: NDArray,
    lam: NDArray,
    is_log: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_pdf_gamma(
    sample: NDArray,
    alpha: NDArray,
    beta: NDArray,
    is_log: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_pdf_generalized_negative_binomial(
    sample: NDArray,
    mu: NDArray,
    alpha: NDArray,
    is_log: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_pdf_negative_binomial(
    sample: NDArray,
    k: NDArray,
    p: NDArray,
    is_log: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_pdf_normal(
    sample: NDArray,
    mu: NDArray,
    sigma: NDArray,
    is_log: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_pdf_poisson(
    sample: NDArray,
    lam: NDArray,
    is_log: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_pdf_uniform(
    sample: NDArray,
    low: NDArray,
    high: NDArray,
    is_log: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_poisson(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_randint(
    low: float,
    high: float,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["int32", "int64"] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def random_uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def ravel_multi_index(
    data: NDArray,
    shape: int | Sequence[int] = (),
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def rcbrt(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def reciprocal(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def relu(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def repeat(
    data: NDArray,
    repeats: int,
    axis: int | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def reset_arrays(
    *data: NDArray,
    num_arrays: int,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> list[NDArray]: ...
def reshape(
    data: NDArray,
    shape: int | Sequence[int] = (),
    reverse: bool = False,
    target_shape: int | Sequence[int] = (),
    keep_highest: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def reshape_like(
    lhs: NDArray,
    rhs: NDArray,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def reverse(
    data: NDArray,
    axis: int | Sequence[int],
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def rint(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def rmsprop_update(
    weight: NDArray,
    grad: NDArray,
    n: NDArray,
    lr: float,
    gamma1: float = 0.95,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def rmspropalex_update(
    weight: NDArray,
    grad: NDArray,
    n: NDArray,
    g: NDArray,
    delta: NDArray,
    lr: float,
    gamma1: float = 0.95,
    gamma2: float = 0.9,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def round(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def rsqrt(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def sample_exponential(
    lam: NDArray,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sample_gamma(
    alpha: NDArray,
    beta: NDArray,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sample_generalized_negative_binomial(
    mu: NDArray,
    alpha: NDArray,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sample_multinomial(
    data: NDArray,
    shape: int | Sequence[int] = (),
    get_prob: bool = False,
    dtype: Literal["float16", "float32", "float64", "int32", "uint8"] = "int32",
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
def sample_negative_binomial(
    k: NDArray,
    p: NDArray,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sample_normal(
    mu: NDArray,
    sigma: NDArray,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sample_poisson(
    lam: NDArray,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sample_uniform(
    low: NDArray,
    high: NDArray,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def scatter_nd(
    data: NDArray,
    indices: NDArray,
    shape: int | Sequence[int],
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sgd_mom_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sgd_update(
    weight: NDArray,
    grad: NDArray,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def shape_array(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def shuffle(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def sigmoid(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def sign(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def signsgd_update(
    weight: NDArray,
    grad: NDArray,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def signum_update(
    weight: NDArray,
    grad: NDArray,
    mom: NDArray,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    wd_lh: float = 0.0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sin(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def sinh(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def size_array(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def slice(
    data: NDArray,
    begin: int | Sequence[int],
    end: int | Sequence[int],
    step: int | Sequence[int] = (),
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def slice_axis(
    data: NDArray,
    axis: int,
    begin: int,
    end: int | None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def slice_like(
    data: NDArray,
    shape_like: NDArray,
    axes: int | Sequence[int] = (),
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def smooth_l1(data: NDArray, scalar: float = 1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def softmax(
    data: NDArray,
    length: NDArray | None = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    use_length: bool | None = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def softmax_cross_entropy(
    data: NDArray,
    label: NDArray,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def softmin(
    data: NDArray,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    use_length: bool | None = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def softsign(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def sort(
    data: NDArray,
    axis: int | None = -1,
    is_ascend: bool = True,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def space_to_depth(data: NDArray, block_size: int, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def split(
    data: NDArray,
    num_outputs: int,
    axis: int = 1,
    squeeze_axis: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
def sqrt(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def square(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def squeeze(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def stack(*data: NDArray, axis: int = 0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def stop_gradient(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def sum(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def sum_axis(
    data: NDArray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def swapaxes(
    data: NDArray,
    dim1: int = 0,
    dim2: int = 0,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def take(
    a: NDArray,
    indices: NDArray,
    axis: int = 0,
    mode: Literal["clip", "raise", "wrap"] = "clip",
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def tan(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def tanh(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def tile(data: NDArray, reps: int | Sequence[int], out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def topk(
    data: NDArray,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: Literal["both", "indices", "mask", "value"] = "indices",
    is_ascend: bool = False,
    dtype: DTypeLike = "float32",
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> Any: ...
def transpose(
    data: NDArray,
    axes: int | Sequence[int] = (),
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def trunc(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
def uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: int | Sequence[int] | None = None,
    ctx: DeviceLike = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def unravel_index(
    data: NDArray,
    shape: int | Sequence[int] = (),
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def where(
    condition: NDArray,
    x: NDArray,
    y: NDArray,
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray: ...
def zeros_like(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...

op: Any
_internal: Any

class contrib:
    from .contrib_functions import (
        adamw_update,
        dgl_adjacency,
        dgl_csr_neighbor_non_uniform_sample,
        dgl_csr_neighbor_uniform_sample,
        dgl_graph_compact,
        dgl_subgraph,
        isfinite,
        isinf,
        isnan,
        mp_adamw_update,
        multi_adamw_update,
        multi_lamb_update,
        multi_mp_adamw_update,
        multi_mp_lamb_update,
        rand_zipfian,
    )
    from .control_flow import cond, foreach, while_loop

    @staticmethod
    def AdaptiveAvgPooling2D(
        data: NDArray,
        output_size: int | Sequence[int] = (),
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def BatchNormWithReLU(
        data: NDArray,
        gamma: NDArray,
        beta: NDArray,
        moving_mean: NDArray,
        moving_var: NDArray,
        eps: float = 0.001,
        momentum: float = 0.9,
        fix_gamma: bool = True,
        use_global_stats: bool = False,
        output_mean_var: bool = False,
        axis: int = 1,
        cudnn_off: bool = False,
        min_calib_range: float | None = None,
        max_calib_range: float | None = None,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> Any: ...
    @staticmethod
    def BilinearResize2D(
        data: NDArray,
        like: NDArray | None = None,
        height: int = 1,
        width: int = 1,
        scale_height: float | None = None,
        scale_width: float | None = None,
        mode: Literal["like", "odd_scale", "size", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"] = "size",
        align_corners: bool = True,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def CTCLoss(
        data: NDArray,
        label: NDArray,
        data_lengths: NDArray | None = None,
        label_lengths: NDArray | None = None,
        use_data_lengths: bool = False,
        use_label_lengths: bool = False,
        blank_label: Literal["first", "last"] = "first",
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @overload
    @staticmethod
    def DeformableConvolution(
        data: NDArray,
        offset: NDArray,
        weight: NDArray,
        bias: NDArray | None = None,
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
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @overload
    @staticmethod
    def DeformableConvolution(
        data: NDArray,
        offset: NDArray,
        weight: NDArray,
        bias: NDArray | None,
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
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @overload
    @staticmethod
    def DeformablePSROIPooling(
        data: NDArray,
        rois: NDArray,
        trans: NDArray | None = None,
        *,
        spatial_scale: float,
        output_dim: int,
        group_size: int,
        pooled_size: int,
        part_size: int = 0,
        sample_per_part: int = 1,
        trans_std: float = 0.0,
        no_trans: bool = False,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @overload
    @staticmethod
    def DeformablePSROIPooling(
        data: NDArray,
        rois: NDArray,
        trans: NDArray | None,
        spatial_scale: float,
        output_dim: int,
        group_size: int,
        pooled_size: int,
        part_size: int = 0,
        sample_per_part: int = 1,
        trans_std: float = 0.0,
        no_trans: bool = False,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @overload
    @staticmethod
    def ModulatedDeformableConvolution(
        data: NDArray,
        offset: NDArray,
        mask: NDArray,
        weight: NDArray,
        bias: NDArray | None = None,
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
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @overload
    @staticmethod
    def ModulatedDeformableConvolution(
        data: NDArray,
        offset: NDArray,
        mask: NDArray,
        weight: NDArray,
        bias: NDArray | None,
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
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def MultiBoxDetection(
        cls_prob: NDArray,
        loc_pred: NDArray,
        anchor: NDArray,
        clip: bool = True,
        threshold: float = 0.01,
        background_id: int = 0,
        nms_threshold: float = 0.5,
        force_suppress: bool = False,
        variances: float | Sequence[float] = (0.1, 0.1, 0.2, 0.2),
        nms_topk: int = -1,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def MultiBoxPrior(
        data: NDArray,
        sizes: float | Sequence[float] = (1.0,),
        ratios: float | Sequence[float] = (1.0,),
        clip: bool = False,
        steps: float | Sequence[float] = (-1.0, -1.0),
        offsets: float | Sequence[float] = (0.5, 0.5),
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def MultiBoxTarget(
        anchor: NDArray,
        label: NDArray,
        cls_pred: NDArray,
        overlap_threshold: float = 0.5,
        ignore_label: float = -1.0,
        negative_mining_ratio: float = -1.0,
        negative_mining_thresh: float = 0.5,
        minimum_negative_samples: int = 0,
        variances: float | Sequence[float] = (0.1, 0.1, 0.2, 0.2),
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @staticmethod
    def MultiProposal(
        cls_prob: NDArray,
        bbox_pred: NDArray,
        im_info: NDArray,
        rpn_pre_nms_top_n: int = 6000,
        rpn_post_nms_top_n: int = 300,
        threshold: float = 0.7,
        rpn_min_size: int = 16,
        scales: float | Sequence[float] = (4.0, 8.0, 16.0, 32.0),
        ratios: float | Sequence[float] = (0.5, 1.0, 2.0),
        feature_stride: int = 16,
        output_score: bool = False,
        iou_loss: bool = False,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> Any: ...
    @staticmethod
    def PSROIPooling(
        data: NDArray,
        rois: NDArray,
        spatial_scale: float,
        output_dim: int,
        pooled_size: int,
        group_size: int = 0,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def Proposal(
        cls_prob: NDArray,
        bbox_pred: NDArray,
        im_info: NDArray,
        rpn_pre_nms_top_n: int = 6000,
        rpn_post_nms_top_n: int = 300,
        threshold: float = 0.7,
        rpn_min_size: int = 16,
        scales: float | Sequence[float] = (4.0, 8.0, 16.0, 32.0),
        ratios: float | Sequence[float] = (0.5, 1.0, 2.0),
        feature_stride: int = 16,
        output_score: bool = False,
        iou_loss: bool = False,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> Any: ...
    @staticmethod
    def ROIAlign(
        data: NDArray,
        rois: NDArray,
        pooled_size: int | Sequence[int],
        spatial_scale: float,
        sample_ratio: int = -1,
        position_sensitive: bool = False,
        aligned: bool = False,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def RROIAlign(
        data: NDArray,
        rois: NDArray,
        pooled_size: int | Sequence[int],
        spatial_scale: float,
        sampling_ratio: int = -1,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def SparseEmbedding(
        data: NDArray,
        weight: NDArray,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        sparse_grad: bool = False,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @overload
    @staticmethod
    def SyncBatchNorm(
        data: NDArray,
        gamma: NDArray,
        beta: NDArray,
        moving_mean: NDArray,
        moving_var: NDArray,
        *,
        eps: float = 0.001,
        momentum: float = 0.9,
        fix_gamma: bool = True,
        use_global_stats: bool = False,
        output_mean_var: bool = False,
        ndev: int = 1,
        key: str,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> Any: ...
    @overload
    @staticmethod
    def SyncBatchNorm(
        data: NDArray,
        gamma: NDArray,
        beta: NDArray,
        moving_mean: NDArray,
        moving_var: NDArray,
        eps: float,
        momentum: float,
        fix_gamma: bool,
        use_global_stats: bool,
        output_mean_var: bool,
        ndev: int,
        key: str,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> Any: ...
    @staticmethod
    def allclose(
        a: NDArray,
        b: NDArray,
        rtol: float = 1e-05,
        atol: float = 1e-08,
        equal_nan: bool = True,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def arange_like(
        data: NDArray,
        start: float = 0.0,
        step: float = 1.0,
        repeat: int = 1,
        ctx: str = "",
        axis: int | None = None,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def backward_gradientmultiplier(
        data: NDArray,
        scalar: float = 1.0,
        is_int: bool = True,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def backward_hawkesll(
        dout: NDArray,
        lda: NDArray,
        alpha: NDArray,
        beta: NDArray,
        state: NDArray,
        lags: NDArray,
        marks: NDArray,
        valid_length: NDArray,
        max_time: NDArray,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @staticmethod
    def backward_index_copy(
        ograd: NDArray,
        index_vector: NDArray,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @staticmethod
    def backward_quadratic(
        ograd: NDArray,
        data: NDArray,
        a: float = 0.0,
        b: float = 0.0,
        c: float = 0.0,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @overload
    @staticmethod
    def bipartite_matching(
        data: NDArray,
        *,
        is_ascend: bool = False,
        threshold: float,
        topk: int = -1,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @overload
    @staticmethod
    def bipartite_matching(
        data: NDArray,
        is_ascend: bool,
        threshold: float,
        topk: int = -1,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @staticmethod
    def boolean_mask(
        data: NDArray,
        index: NDArray,
        axis: int = 0,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def box_decode(
        data: NDArray,
        anchors: NDArray,
        std0: float = 1.0,
        std1: float = 1.0,
        std2: float = 1.0,
        std3: float = 1.0,
        clip: float = -1.0,
        format: Literal["center", "corner"] = "center",
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def box_encode(
        samples: NDArray,
        matches: NDArray,
        anchors: NDArray,
        refs: NDArray,
        means: NDArray,
        stds: NDArray,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @staticmethod
    def box_iou(
        lhs: NDArray,
        rhs: NDArray,
        format: Literal["center", "corner"] = "corner",
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def box_nms(
        data: NDArray,
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
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def box_non_maximum_suppression(
        data: NDArray,
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
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def calibrate_entropy(
        hist: NDArray,
        hist_edges: NDArray,
        num_quantized_bins: int = 255,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @staticmethod
    def count_sketch(
        data: NDArray,
        h: NDArray,
        s: NDArray,
        out_dim: int,
        processing_batch_size: int = 32,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def ctc_loss(
        data: NDArray,
        label: NDArray,
        data_lengths: NDArray | None = None,
        label_lengths: NDArray | None = None,
        use_data_lengths: bool = False,
        use_label_lengths: bool = False,
        blank_label: Literal["first", "last"] = "first",
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def dequantize(
        data: NDArray,
        min_range: NDArray,
        max_range: NDArray,
        out_type: Literal["float32"] = "float32",
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def div_sqrt_dim(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def edge_id(
        data: NDArray,
        u: NDArray,
        v: NDArray,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def fft(data: NDArray, compute_size: int = 128, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def getnnz(
        data: NDArray,
        axis: int | None = None,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def gradientmultiplier(
        data: NDArray,
        scalar: float = 1.0,
        is_int: bool = True,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def group_adagrad_update(
        weight: NDArray,
        grad: NDArray,
        history: NDArray,
        lr: float,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        epsilon: float = 1e-05,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def hawkesll(
        lda: NDArray,
        alpha: NDArray,
        beta: NDArray,
        state: NDArray,
        lags: NDArray,
        marks: NDArray,
        valid_length: NDArray,
        max_time: NDArray,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @staticmethod
    def ifft(
        data: NDArray,
        compute_size: int = 128,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def index_array(
        data: NDArray,
        axes: int | Sequence[int] | None = None,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def index_copy(
        old_tensor: NDArray,
        index_vector: NDArray,
        new_tensor: NDArray,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def interleaved_matmul_encdec_qk(
        queries: NDArray,
        keys_values: NDArray,
        heads: int,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def interleaved_matmul_encdec_valatt(
        keys_values: NDArray,
        attention: NDArray,
        heads: int,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def interleaved_matmul_selfatt_qk(
        queries_keys_values: NDArray,
        heads: int,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def interleaved_matmul_selfatt_valatt(
        queries_keys_values: NDArray,
        attention: NDArray,
        heads: int,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def quadratic(
        data: NDArray,
        a: float = 0.0,
        b: float = 0.0,
        c: float = 0.0,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def quantize(
        data: NDArray,
        min_range: NDArray,
        max_range: NDArray,
        out_type: Literal["int8", "uint8"] = "uint8",
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @staticmethod
    def quantize_asym(
        data: NDArray,
        min_calib_range: float | None = None,
        max_calib_range: float | None = None,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @staticmethod
    def quantize_v2(
        data: NDArray,
        out_type: Literal["auto", "int8", "uint8"] = "int8",
        min_calib_range: float | None = None,
        max_calib_range: float | None = None,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @staticmethod
    def quantized_act(
        data: NDArray,
        min_data: NDArray,
        max_data: NDArray,
        act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"],
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @staticmethod
    def quantized_batch_norm(
        data: NDArray,
        gamma: NDArray,
        beta: NDArray,
        moving_mean: NDArray,
        moving_var: NDArray,
        min_data: NDArray,
        max_data: NDArray,
        eps: float = 0.001,
        momentum: float = 0.9,
        fix_gamma: bool = True,
        use_global_stats: bool = False,
        output_mean_var: bool = False,
        axis: int = 1,
        cudnn_off: bool = False,
        min_calib_range: float | None = None,
        max_calib_range: float | None = None,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @staticmethod
    def quantized_concat(
        *data: NDArray,
        num_args: int,
        dim: int = 1,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @overload
    @staticmethod
    def quantized_conv(
        data: NDArray,
        weight: NDArray,
        bias: NDArray | None = None,
        min_data: NDArray | None = None,
        max_data: NDArray | None = None,
        min_weight: NDArray | None = None,
        max_weight: NDArray | None = None,
        min_bias: NDArray | None = None,
        max_bias: NDArray | None = None,
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
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @overload
    @staticmethod
    def quantized_conv(
        data: NDArray,
        weight: NDArray,
        bias: NDArray | None,
        min_data: NDArray | None,
        max_data: NDArray | None,
        min_weight: NDArray | None,
        max_weight: NDArray | None,
        min_bias: NDArray | None,
        max_bias: NDArray | None,
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
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @staticmethod
    def quantized_elemwise_add(
        lhs: NDArray,
        rhs: NDArray,
        lhs_min: NDArray,
        lhs_max: NDArray,
        rhs_min: NDArray,
        rhs_max: NDArray,
        min_calib_range: float | None = None,
        max_calib_range: float | None = None,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @staticmethod
    def quantized_elemwise_mul(
        lhs: NDArray,
        rhs: NDArray,
        lhs_min: NDArray,
        lhs_max: NDArray,
        rhs_min: NDArray,
        rhs_max: NDArray,
        min_calib_range: float | None = None,
        max_calib_range: float | None = None,
        enable_float_output: bool = False,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> Any: ...
    @staticmethod
    def quantized_embedding(
        data: NDArray,
        weight: NDArray,
        min_weight: NDArray,
        max_weight: NDArray,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        sparse_grad: bool = False,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @staticmethod
    def quantized_flatten(
        data: NDArray,
        min_data: NDArray,
        max_data: NDArray,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @overload
    @staticmethod
    def quantized_fully_connected(
        data: NDArray,
        weight: NDArray,
        bias: NDArray | None = None,
        min_data: NDArray | None = None,
        max_data: NDArray | None = None,
        min_weight: NDArray | None = None,
        max_weight: NDArray | None = None,
        min_bias: NDArray | None = None,
        max_bias: NDArray | None = None,
        *,
        num_hidden: int,
        no_bias: bool = False,
        flatten: bool = True,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @overload
    @staticmethod
    def quantized_fully_connected(
        data: NDArray,
        weight: NDArray,
        bias: NDArray | None,
        min_data: NDArray | None,
        max_data: NDArray | None,
        min_weight: NDArray | None,
        max_weight: NDArray | None,
        min_bias: NDArray | None,
        max_bias: NDArray | None,
        num_hidden: int,
        no_bias: bool = False,
        flatten: bool = True,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @staticmethod
    def quantized_pooling(
        data: NDArray,
        min_data: NDArray,
        max_data: NDArray,
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
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @overload
    @staticmethod
    def quantized_rnn(
        data: NDArray,
        parameters: NDArray,
        state: NDArray,
        state_cell: NDArray | None = None,
        data_scale: NDArray | None = None,
        data_shift: NDArray | None = None,
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
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> Any: ...
    @overload
    @staticmethod
    def quantized_rnn(
        data: NDArray,
        parameters: NDArray,
        state: NDArray,
        state_cell: NDArray | None,
        data_scale: NDArray | None,
        data_shift: NDArray | None,
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
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> Any: ...
    @staticmethod
    def requantize(
        data: NDArray,
        min_range: NDArray,
        max_range: NDArray,
        out_type: Literal["auto", "int8", "uint8"] = "int8",
        min_calib_range: float | None = None,
        max_calib_range: float | None = None,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> list[NDArray]: ...
    @staticmethod
    def rms_norm(
        data: NDArray,
        gamma: NDArray,
        axis: int = -1,
        eps: float = 1e-06,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def rotary_embedding(
        data: NDArray,
        positions: NDArray,
        base: float = 10000.0,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def round_ste(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def scaled_dot_product_attention(
        query: NDArray,
        key: NDArray,
        value: NDArray,
        mask: NDArray | None = None,
        scale: float | None = None,
        causal: bool = False,
        use_mask: bool = False,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def sign_ste(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...

class image:
    @staticmethod
    def adjust_lighting(
        data: NDArray,
        alpha: float | Sequence[float],
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def crop(
        data: NDArray,
        x: int,
        y: int,
        width: int,
        height: int,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def flip_left_right(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def flip_top_bottom(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def normalize(
        data: NDArray,
        mean: float | Sequence[float] = (0.0, 0.0, 0.0, 0.0),
        std: float | Sequence[float] = (1.0, 1.0, 1.0, 1.0),
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def random_brightness(
        data: NDArray,
        min_factor: float,
        max_factor: float,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def random_color_jitter(
        data: NDArray,
        brightness: float,
        contrast: float,
        saturation: float,
        hue: float,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def random_contrast(
        data: NDArray,
        min_factor: float,
        max_factor: float,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def random_flip_left_right(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def random_flip_top_bottom(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def random_hue(
        data: NDArray,
        min_factor: float,
        max_factor: float,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def random_lighting(
        data: NDArray,
        alpha_std: float = 0.05,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def random_saturation(
        data: NDArray,
        min_factor: float,
        max_factor: float,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def resize(
        data: NDArray,
        size: int | Sequence[int] = (),
        keep_ratio: bool = False,
        interp: int = 1,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def to_tensor(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...

class linalg:
    @staticmethod
    def det(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def extractdiag(A: NDArray, offset: int = 0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def extracttrian(
        A: NDArray,
        offset: int = 0,
        lower: bool = True,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def gelqf(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]: ...
    @staticmethod
    def gemm(
        A: NDArray,
        B: NDArray,
        C: NDArray,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        beta: float = 1.0,
        axis: int = -2,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def gemm2(
        A: NDArray,
        B: NDArray,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        axis: int = -2,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def inverse(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def makediag(A: NDArray, offset: int = 0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def maketrian(
        A: NDArray,
        offset: int = 0,
        lower: bool = True,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def potrf(A: NDArray, lower: bool = True, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def potri(A: NDArray, lower: bool = True, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def slogdet(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]: ...
    @staticmethod
    def sumlogdiag(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def syevd(A: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]: ...
    @staticmethod
    def syrk(
        A: NDArray,
        transpose: bool = False,
        alpha: float = 1.0,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def trmm(
        A: NDArray,
        B: NDArray,
        transpose: bool = False,
        rightside: bool = False,
        lower: bool = True,
        alpha: float = 1.0,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def trsm(
        A: NDArray,
        B: NDArray,
        transpose: bool = False,
        rightside: bool = False,
        lower: bool = True,
        alpha: float = 1.0,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...

class sparse:
    from .sparse import (
        BaseSparseNDArray,
        CSRNDArray,
        RowSparseNDArray,
        add,
        array,
        csr_matrix,
        divide,
        empty,
        gs_retain,
        multiply,
        row_sparse_array,
        subtract,
        zeros,
    )

    @staticmethod
    def ElementWiseSum(*args: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def Embedding(
        data: NDArray,
        weight: NDArray,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        sparse_grad: bool = False,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @overload
    @staticmethod
    def FullyConnected(
        data: NDArray,
        weight: NDArray,
        bias: NDArray | None = None,
        *,
        num_hidden: int,
        no_bias: bool = False,
        flatten: bool = True,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @overload
    @staticmethod
    def FullyConnected(
        data: NDArray,
        weight: NDArray,
        bias: NDArray | None,
        num_hidden: int,
        no_bias: bool = False,
        flatten: bool = True,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def LinearRegressionOutput(
        data: NDArray,
        label: NDArray,
        grad_scale: float = 1.0,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def LogisticRegressionOutput(
        data: NDArray,
        label: NDArray,
        grad_scale: float = 1.0,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def MAERegressionOutput(
        data: NDArray,
        label: NDArray,
        grad_scale: float = 1.0,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def _contrib_round_ste(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def _contrib_sign_ste(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def abs(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def adagrad_update(
        weight: NDArray,
        grad: NDArray,
        history: NDArray,
        lr: float,
        epsilon: float = 1e-07,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def adam_update(
        weight: NDArray,
        grad: NDArray,
        mean: NDArray,
        var: NDArray,
        lr: float,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def add_n(*args: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def arccos(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def arccosh(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def arcsin(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def arcsinh(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def arctan(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def arctanh(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def broadcast_add(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def broadcast_div(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def broadcast_minus(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def broadcast_mul(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def broadcast_plus(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def broadcast_sub(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def cast_storage(
        data: NDArray,
        stype: Literal["default", "row_sparse", "csr"],
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def cbrt(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def ceil(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def clip(
        data: NDArray,
        a_min: float,
        a_max: float,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def concat(*data: NDArray, dim: int = 1, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def cos(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def cosh(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def degrees(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def dot(
        lhs: NDArray,
        rhs: NDArray,
        transpose_a: bool = False,
        transpose_b: bool = False,
        forward_stype: Literal["default", "csr", "row_sparse"] | None = None,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def elemwise_add(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def elemwise_div(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def elemwise_mul(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def elemwise_sub(lhs: NDArray, rhs: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def exp(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def expm1(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def fix(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def floor(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def ftrl_update(
        weight: NDArray,
        grad: NDArray,
        z: NDArray,
        n: NDArray,
        lr: float,
        lamda1: float = 0.01,
        beta: float = 1.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def gamma(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def gammaln(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def log(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def log10(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def log1p(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def log2(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def make_loss(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def mean(
        data: NDArray,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def negative(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def norm(
        data: NDArray,
        ord: int = 2,
        axis: int | Sequence[int] | None = None,
        out_dtype: DTypeLike | None = None,
        keepdims: bool = False,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def radians(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def relu(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def retain(data: NDArray, indices: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def rint(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def round(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def rsqrt(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def sgd_mom_update(
        weight: NDArray,
        grad: NDArray,
        mom: NDArray,
        lr: float,
        momentum: float = 0.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def sgd_update(
        weight: NDArray,
        grad: NDArray,
        lr: float,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def sigmoid(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def sign(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def sin(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def sinh(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def slice(
        data: NDArray,
        begin: int | Sequence[int],
        end: int | Sequence[int],
        step: int | Sequence[int] = (),
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def sqrt(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def square(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def stop_gradient(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def sum(
        data: NDArray,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def tan(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def tanh(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def trunc(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
    @staticmethod
    def where(
        condition: NDArray,
        x: NDArray,
        y: NDArray,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray: ...
    @staticmethod
    def zeros_like(data: NDArray, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray: ...
