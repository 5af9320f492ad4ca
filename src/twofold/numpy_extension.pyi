"""Written by ``make stubs`` from the operator table and ``numpy_extension.py``."""

# ruff: noqa: I001

import os
from collections.abc import Sequence
from typing import Literal, overload
from contextlib import AbstractContextManager
from functools import partial
from typing import Any
from .backend.loader import gpu_count
from .device import Device, current_device
from .ndarray.functions import waitall
from .ndarray.saving import Loaded
from .ndarray.types import ArrayLike, DTypeLike, Order, Shape
from .numpy.array import ndarray
from .random import seed

image: Any
random: Any
cpu, cpu_pinned, gpu = partial(Device, "cpu"), partial(Device, "cpu_pinned"), partial(Device, "gpu")
current_context = current_device
num_gpus = gpu_count
__all__ = [
    "bernoulli",
    "constraint_check",
    "cpu",
    "cpu_pinned",
    "current_context",
    "gpu",
    "gpu_memory_info",
    "image",
    "is_np_array",
    "is_np_shape",
    "load",
    "nonzero",
    "normal_n",
    "np_array",
    "np_shape",
    "num_gpus",
    "random",
    "reset_np",
    "reshape",
    "save",
    "seed",
    "set_np",
    "set_np_shape",
    "uniform_n",
    "use_np",
    "use_np_array",
    "use_np_shape",
    "waitall",
]

def nonzero(a: ArrayLike) -> ndarray: ...
def constraint_check(x: ArrayLike, msg: str) -> ndarray: ...
def reshape(a: ArrayLike, newshape: Shape, reverse: bool = False, order: Order = "C") -> ndarray: ...
def save(file: str | os.PathLike[str], arr: Any) -> None: ...
def load(file: str | os.PathLike[str]) -> Loaded: ...
def gpu_memory_info(device_id: int = 0) -> tuple[int, int]: ...
def set_np(shape: bool = True, array: bool = True) -> None: ...
def reset_np() -> None: ...
def is_np_shape() -> bool: ...
def is_np_array() -> bool: ...
def set_np_shape(active: bool) -> bool: ...
def np_shape(active: bool = True) -> AbstractContextManager[None]: ...
def np_array(active: bool = True) -> AbstractContextManager[None]: ...
def use_np_shape(func: Any) -> Any: ...
def use_np_array(func: Any) -> Any: ...
def use_np(func: Any) -> Any: ...
def bernoulli(
    prob: Any = None,
    logit: Any = None,
    size: Shape | None = None,
    dtype: DTypeLike = None,
    ctx: Device | None = None,
    out: ndarray | None = None,
) -> ndarray: ...
def uniform_n(
    low: ArrayLike = 0.0, high: ArrayLike = 1.0, batch_shape: Shape | None = None, dtype: DTypeLike = None, ctx: Device | None = None
) -> ndarray: ...
def normal_n(
    loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, batch_shape: Shape | None = None, dtype: DTypeLike = None, ctx: Device | None = None
) -> ndarray: ...
def activation(
    data: ndarray,
    act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"],
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def arange_like(
    data: ndarray,
    start: float = 0.0,
    step: float = 1.0,
    repeat: int = 1,
    ctx: str = "",
    axis: int | None = None,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def batch_dot(
    lhs: ndarray,
    rhs: ndarray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Literal["default", "csr", "row_sparse"] | None = None,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def batch_flatten(data: ndarray, out: ndarray | None = None, name: str | None = None) -> ndarray: ...
def batch_norm(
    data: ndarray,
    gamma: ndarray,
    beta: ndarray,
    moving_mean: ndarray,
    moving_var: ndarray,
    eps: float = 0.001,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    out: ndarray | None = None,
    name: str | None = None,
) -> Any: ...
def broadcast_like(
    lhs: ndarray,
    rhs: ndarray,
    lhs_axes: int | Sequence[int] | None = None,
    rhs_axes: int | Sequence[int] | None = None,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def cast(data: ndarray, dtype: DTypeLike, out: ndarray | None = None, name: str | None = None) -> ndarray: ...
@overload
def convolution(
    data: ndarray,
    weight: ndarray,
    bias: ndarray | None = None,
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
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
@overload
def convolution(
    data: ndarray,
    weight: ndarray,
    bias: ndarray | None,
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
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def ctc_loss(
    data: ndarray,
    label: ndarray,
    data_lengths: ndarray | None = None,
    label_lengths: ndarray | None = None,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
@overload
def deconvolution(
    data: ndarray,
    weight: ndarray,
    bias: ndarray | None = None,
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
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
@overload
def deconvolution(
    data: ndarray,
    weight: ndarray,
    bias: ndarray | None,
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
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def digamma(data: ndarray, out: ndarray | None = None, name: str | None = None) -> ndarray: ...
def dropout(
    data: ndarray,
    p: float = 0.5,
    mode: Literal["always", "training"] = "training",
    axes: int | Sequence[int] = (),
    cudnn_off: bool | None = False,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def embedding(
    data: ndarray,
    weight: ndarray,
    input_dim: int,
    output_dim: int,
    dtype: DTypeLike = "float32",
    sparse_grad: bool = False,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def erf(data: ndarray, out: ndarray | None = None, name: str | None = None) -> ndarray: ...
def erfinv(data: ndarray, out: ndarray | None = None, name: str | None = None) -> ndarray: ...
@overload
def fully_connected(
    data: ndarray,
    weight: ndarray,
    bias: ndarray | None = None,
    *,
    num_hidden: int,
    no_bias: bool = False,
    flatten: bool = True,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
@overload
def fully_connected(
    data: ndarray,
    weight: ndarray,
    bias: ndarray | None,
    num_hidden: int,
    no_bias: bool = False,
    flatten: bool = True,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def gamma(data: ndarray, out: ndarray | None = None, name: str | None = None) -> ndarray: ...
def gammaln(data: ndarray, out: ndarray | None = None, name: str | None = None) -> ndarray: ...
def gather_nd(data: ndarray, indices: ndarray, out: ndarray | None = None, name: str | None = None) -> ndarray: ...
def group_norm(
    data: ndarray,
    gamma: ndarray,
    beta: ndarray,
    num_groups: int = 1,
    eps: float = 1e-05,
    output_mean_var: bool = False,
    out: ndarray | None = None,
    name: str | None = None,
) -> Any: ...
def hard_sigmoid(data: ndarray, alpha: float = 0.2, beta: float = 0.5, out: ndarray | None = None, name: str | None = None) -> ndarray: ...
def instance_norm(
    data: ndarray,
    gamma: ndarray,
    beta: ndarray,
    eps: float = 0.001,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def l2_normalization(
    data: ndarray,
    eps: float = 1e-10,
    mode: Literal["channel", "instance", "spatial"] = "instance",
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def layer_norm(
    data: ndarray,
    gamma: ndarray,
    beta: ndarray,
    axis: int = -1,
    eps: float = 1e-05,
    output_mean_var: bool = False,
    out: ndarray | None = None,
    name: str | None = None,
) -> Any: ...
def leaky_relu(
    data: ndarray,
    gamma: ndarray | None = None,
    act_type: Literal["elu", "gelu", "leaky", "prelu", "rrelu", "selu"] = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
    out: ndarray | None = None,
    name: str | None = None,
) -> Any: ...
def log_sigmoid(data: ndarray, out: ndarray | None = None, name: str | None = None) -> ndarray: ...
def log_softmax(
    data: ndarray,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    use_length: bool | None = False,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def logit(data: ndarray, out: ndarray | None = None, name: str | None = None) -> ndarray: ...
def logsumexp(
    data: ndarray,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def multibox_detection(
    cls_prob: ndarray,
    loc_pred: ndarray,
    anchor: ndarray,
    clip: bool = True,
    threshold: float = 0.01,
    background_id: int = 0,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: float | Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    nms_topk: int = -1,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def multibox_prior(
    data: ndarray,
    sizes: float | Sequence[float] = (1.0,),
    ratios: float | Sequence[float] = (1.0,),
    clip: bool = False,
    steps: float | Sequence[float] = (-1.0, -1.0),
    offsets: float | Sequence[float] = (0.5, 0.5),
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def multibox_target(
    anchor: ndarray,
    label: ndarray,
    cls_pred: ndarray,
    overlap_threshold: float = 0.5,
    ignore_label: float = -1.0,
    negative_mining_ratio: float = -1.0,
    negative_mining_thresh: float = 0.5,
    minimum_negative_samples: int = 0,
    variances: float | Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    out: ndarray | None = None,
    name: str | None = None,
) -> list[ndarray]: ...
def one_hot(
    indices: ndarray,
    depth: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: DTypeLike = "float32",
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def pick(
    data: ndarray,
    index: ndarray,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def pooling(
    data: ndarray,
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
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def relu(data: ndarray, out: ndarray | None = None, name: str | None = None) -> ndarray: ...
def reshape_like(
    lhs: ndarray,
    rhs: ndarray,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def rms_norm(
    data: ndarray,
    gamma: ndarray,
    axis: int = -1,
    eps: float = 1e-06,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
@overload
def rnn(
    data: ndarray,
    parameters: ndarray,
    state: ndarray,
    state_cell: ndarray | None = None,
    sequence_length: ndarray | None = None,
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
    out: ndarray | None = None,
    name: str | None = None,
) -> Any: ...
@overload
def rnn(
    data: ndarray,
    parameters: ndarray,
    state: ndarray,
    state_cell: ndarray | None,
    sequence_length: ndarray | None,
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
    out: ndarray | None = None,
    name: str | None = None,
) -> Any: ...
def roi_pooling(
    data: ndarray,
    rois: ndarray,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def rotary_embedding(
    data: ndarray,
    positions: ndarray,
    base: float = 10000.0,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def scaled_dot_product_attention(
    query: ndarray,
    key: ndarray,
    value: ndarray,
    mask: ndarray | None = None,
    scale: float | None = None,
    causal: bool = False,
    use_mask: bool = False,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def sequence_last(
    data: ndarray,
    sequence_length: ndarray | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def sequence_mask(
    data: ndarray,
    sequence_length: ndarray | None = None,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: int = 0,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def sequence_reverse(
    data: ndarray,
    sequence_length: ndarray | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def shape_array(data: ndarray, out: ndarray | None = None, name: str | None = None) -> ndarray: ...
def sigmoid(data: ndarray, out: ndarray | None = None, name: str | None = None) -> ndarray: ...
def silu(data: ndarray, out: ndarray | None = None, name: str | None = None) -> ndarray: ...
def slice(
    data: ndarray,
    begin: int | Sequence[int],
    end: int | Sequence[int],
    step: int | Sequence[int] = (),
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def smooth_l1(data: ndarray, scalar: float = 1.0, out: ndarray | None = None, name: str | None = None) -> ndarray: ...
def softmax(
    data: ndarray,
    length: ndarray | None = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    use_length: bool | None = False,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def softmin(
    data: ndarray,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    use_length: bool | None = False,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray: ...
def softplus(data: ndarray, out: ndarray | None = None, name: str | None = None) -> ndarray: ...
def softsign(data: ndarray, out: ndarray | None = None, name: str | None = None) -> ndarray: ...
def stop_gradient(data: ndarray, out: ndarray | None = None, name: str | None = None) -> ndarray: ...
def topk(
    data: ndarray,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: Literal["both", "indices", "mask", "value"] = "indices",
    is_ascend: bool = False,
    dtype: DTypeLike = "float32",
    out: ndarray | None = None,
    name: str | None = None,
) -> Any: ...
def __getattr__(name: str) -> Any: ...
