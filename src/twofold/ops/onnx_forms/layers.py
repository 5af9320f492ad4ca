"""ONNX forms of the layers of networks: products, convolutions, pooling, normalization, activations, softmax, embedding, resizing."""

import math

from .. import primitive_convolve as convolve
from .. import primitive_integer_products as integers
from ..activation import SELU_ALPHA, SELU_SCALE, activation, leaky_relu
from ..batch_norm import batch_norm
from ..convolution import convolution, deconvolution
from ..dropout import dropout
from ..elementwise_math import relu, sigmoid
from ..fully_connected import fully_connected
from ..gathering import embedding
from ..loss_outputs import softmax_output
from ..normalization import instance_norm, layer_norm, local_response_norm
from ..pooling import pooling
from ..resizing import bilinear_resize
from ..softmax import log_softmax, softmax
from ..spatial import up_sampling
from ..windows import is_channels_last

# products


@fully_connected.onnx
def _(onnx, node, data, weight, bias):
    rows = data
    if node.bound_op.params["flatten"]:
        rows = data if len(data.shape) == 2 else onnx.Flatten(data)
        return onnx.Gemm(rows, weight, bias, transB=1)
    product = onnx.MatMul(rows, onnx.Transpose(weight, perm=[1, 0]))
    return product if bias is None else onnx.Add(product, bias)


def _window(params, names=("kernel", "stride", "dilate")):
    """ONNX's attributes for a window's parameters; parameters that are not given have the same defaults in ONNX."""
    spelt = {"kernel": "kernel_shape", "stride": "strides", "dilate": "dilations"}
    return {spelt[n]: list(params[n]) for n in names if params[n]}


def _both_sides(pad):
    """Padding for ONNX: before each axis, then after each."""
    return {"pads": [*pad, *pad]} if any(pad) else {}


@convolution.onnx
def _(onnx, node, data, weight, bias):
    params = node.bound_op.params
    # ONNX has channels first only; the definition transposes
    if is_channels_last(params["layout"]):
        return None
    return onnx.Conv(data, weight, bias, **_window(params), **_both_sides(params["pad"]), group=params["num_group"])


@deconvolution.onnx
def _(onnx, node, data, weight, bias):
    params = node.bound_op.params
    # the padding that follows from a target shape is that of the definition
    if is_channels_last(params["layout"]) or any(params["target_shape"]):
        return None
    adj = {"output_padding": list(params["adj"])} if any(params["adj"]) else {}
    return onnx.ConvTranspose(data, weight, bias, **_window(params), **_both_sides(params["pad"]), **adj, group=params["num_group"])


@convolve.convolve.onnx
def _(onnx, node, data, weight):
    params = node.bound_op.params
    if params["channels_last"]:
        return None
    window = {"strides": list(params["stride"]), "dilations": list(params["dilate"]), "group": params["groups"]}
    return onnx.Conv(*onnx.in_dtype(node.dtype, data, weight), **window, **_both_sides(params["pad"]))


@convolve.convolve_data.onnx
def _(onnx, node, result, weight):
    params, kernel = node.bound_op.params, weight.shape[2:]
    facts = zip(params["size"], params["stride"], params["dilate"], params["pad"], kernel, result.shape[2:], strict=True)
    # ONNX computes the size of the result from the windows; `output_padding` adds the elements that no window covers
    beyond = [size - (stride * (n - 1) + dilate * (k - 1) + 1 - 2 * pad) for size, stride, dilate, pad, k, n in facts]
    if params["channels_last"] or any(not 0 <= b < s for b, s in zip(beyond, params["stride"], strict=True)):
        return None
    window = {"strides": list(params["stride"]), "dilations": list(params["dilate"]), "group": params["groups"], "output_padding": beyond}
    return onnx.ConvTranspose(*onnx.in_dtype(node.dtype, result, weight), **window, **_both_sides(params["pad"]))


@integers.integer_matmul.onnx
def _(onnx, node, rows, weight):
    columns = onnx.Transpose(weight, perm=[1, 0])
    if rows.dtype == "int8":
        return onnx.MatMulInteger(rows, columns)
    # Of uint8 rows and an int8 weight ONNX Runtime adds pairs of products in 16 bits, clipped, where the CPU has AVX2 but not
    # VNNI. Its other three products are exact: so the weight is written as uint8 numbers with the zero point 128.
    moved = onnx.in_dtype("uint8", onnx.Add(*onnx.in_dtype("int32", columns), onnx.number(128, "int32")))[0]
    return onnx.MatMulInteger(rows, moved, onnx.number(0, "uint8"), onnx.number(128, "uint8"))


@integers.integer_convolve.onnx
def _(onnx, node, data, weight):
    # ONNX has ConvInteger, which ONNX Runtime computes for uint8 weights only; sums of floats are exact up to 2^24
    params = node.bound_op.params
    window = {"strides": list(params["stride"]), "dilations": list(params["dilate"]), "group": params["groups"]}
    sums = onnx.Conv(*onnx.in_dtype("float32", data, weight), **window, **_both_sides(params["pad"]))
    return onnx.in_dtype("int32", sums)[0]


@embedding.onnx
def _(onnx, node, data, weight):
    # the operator clips indices, so those that are out of range must be clipped in the model too
    index = onnx.as_index(data)
    last = onnx.number(weight.shape[0] - 1, "int64")
    return onnx.Gather(weight, onnx.Min(onnx.Max(index, onnx.number(0, "int64")), last), axis=0)


# pooling

#: Pooling over all positions, by kind.
_GLOBAL = {"max": "GlobalMaxPool", "avg": "GlobalAveragePool", "lp": "GlobalLpPool"}


def _reaches_over(node, data, params):
    """How far the last window of each axis extends beyond the padding if sizes are rounded up."""
    ones = [1] * len(params["kernel"])
    facts = zip(data.shape[2:], node.shape[2:], params["kernel"], params["stride"] or ones, params["pad"] or [0] * len(ones), strict=True)
    return [max(0, (out - 1) * stride + kernel - size - 2 * pad) for size, out, kernel, stride, pad in facts]


@pooling.onnx
def _(onnx, node, data):
    params = node.bound_op.params
    kind, convention = params["pool_type"], params["pooling_convention"]
    if is_channels_last(params["layout"]) or (kind == "lp" and params["p_value"] != 2) or convention == "same":
        return None  # ONNX's norms are of magnitudes, these are not: they agree for squares
    # there is no such pooling in ONNX: the definition adds up windows
    if kind == "sum":
        return None
    if params["global_pool"]:
        return getattr(onnx, _GLOBAL[kind])(data, **({"p": 2} if kind == "lp" else {}))
    pad = params["pad"] or [0] * len(params["kernel"])
    over = _reaches_over(node, data, params) if convention == "full" else [0] * len(pad)
    if kind != "max" and any(over):
        return None  # how the part beyond the padding counts differs between versions of ONNX
    window = {**_window(params, ("kernel", "stride")), "pads": [*pad, *pad]}
    if convention == "full" and not any(pad) and all(k >= s for k, s in zip(params["kernel"], params["stride"] or pad, strict=True)):
        window["ceil_mode"] = 1
    elif convention == "full":
        # with padding, ONNX leaves out windows that begin after the image, and MXNet does not: their extent is written as padding
        onnx.depends_on(*data.shape[2:])
        window["pads"] = [*pad, *[p + o for p, o in zip(pad, over, strict=True)]]
    if kind == "max":
        # runtimes demand that the padding is smaller than the kernel
        return onnx.MaxPool(data, **window) if all(p < k for p, k in zip(window["pads"], params["kernel"] * 2, strict=True)) else None
    if kind == "lp":
        return onnx.LpPool(data, p=2, **window)
    return onnx.AveragePool(data, **window, count_include_pad=int(params["count_include_pad"] is not False))


# normalization


@batch_norm.onnx
def _(onnx, node, data, gamma, beta, mean, variance):
    params = node.bound_op.params
    # ONNX normalizes axis 1, gives no statistics outside training, and before version 15 takes scales of the data's dtype only
    if params["axis"] % len(data.shape) != 1 or params["output_mean_var"] or data.dtype != gamma.dtype:
        return None
    # with `fix_gamma` the stored gamma is not used, whatever it contains
    scale = onnx.constant(onnx.np.ones(gamma.shape, onnx.numpy_dtype(gamma.dtype))) if params["fix_gamma"] else gamma
    return (onnx.BatchNormalization(data, scale, beta, mean, variance, epsilon=params["eps"], momentum=params["momentum"]),)


@layer_norm.onnx
def _(onnx, node, data, gamma, beta):
    params = node.bound_op.params
    # LayerNormalization came with version 17; it normalizes all axes from a given one on, here only the last
    if onnx.opset < 17 or params["axis"] % len(data.shape) != len(data.shape) - 1 or params["output_mean_var"]:
        return None
    return (onnx.LayerNormalization(data, gamma, beta, epsilon=params["eps"], axis=-1),)


instance_norm.onnx(lambda onnx, node, data, gamma, beta: onnx.InstanceNormalization(data, gamma, beta, epsilon=node.bound_op.params["eps"]))


@local_response_norm.onnx
def _(onnx, node, data):
    params = node.bound_op.params
    return onnx.LRN(data, alpha=params["alpha"], beta=params["beta"], bias=params["knorm"], size=params["nsize"])


# a model predicts: only dropout that is always active remains
dropout.onnx(lambda onnx, node, data, key=None: None if node.bound_op.draws else data)


# activations

_ACTIVATIONS = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "softrelu": "Softplus", "softsign": "Softsign"}


@activation.onnx
def _(onnx, node, data):
    return getattr(onnx, _ACTIVATIONS[node.bound_op.params["act_type"]])(data) if onnx.is_float(data.dtype) else None


relu.onnx(lambda onnx, node, data: onnx.Relu(data) if onnx.is_float(data.dtype) else None)
sigmoid.onnx(lambda onnx, node, data: onnx.Sigmoid(data) if onnx.is_float(data.dtype) else None)


@leaky_relu.onnx
def _(onnx, node, data, gamma, key=None):
    params = node.bound_op.params
    kind = params["act_type"]
    if kind == "leaky":
        return onnx.LeakyRelu(data, alpha=params["slope"])
    if kind == "elu":
        return onnx.Elu(data, alpha=params["slope"])
    if kind == "selu":
        return onnx.Selu(data, alpha=SELU_ALPHA, gamma=SELU_SCALE)
    if kind == "prelu":
        ndim = len(data.shape)
        # slopes (c,) broadcast from the last axis in ONNX, so spatial axes are appended
        return onnx.PRelu(data, gamma if ndim <= 2 else onnx.Unsqueeze(gamma, onnx.ints(range(1, ndim - 1))))
    if kind == "gelu" and onnx.opset >= 20:
        return onnx.Gelu(data)
    return None


# softmax


def _along_axis(name):
    def rule(onnx, node, data, length=None):
        params = node.bound_op.params
        # ONNX's softmax has no lengths, keeps the dtype, and needs an axis
        if length is not None or data.dtype != node.dtype or not data.shape:
            return None
        temperature = params["temperature"]
        scaled = data if temperature in (None, 1) else onnx.Div(data, onnx.number(temperature, data.dtype))
        return getattr(onnx, name)(scaled, axis=params["axis"] % len(data.shape))

    return rule


softmax.onnx(_along_axis("Softmax"))
log_softmax.onnx(_along_axis("LogSoftmax"))


@softmax_output.onnx
def _(onnx, node, data, label):
    params, ndim = node.bound_op.params, len(data.shape)
    if params["multi_output"]:
        return onnx.Softmax(data, axis=1)
    if params["preserve_shape"] or ndim == 2:
        return onnx.Softmax(data, axis=ndim - 1)
    rows = onnx.Softmax(onnx.Flatten(data), axis=1)
    return onnx.reshaped(rows, node.shape)


# images of another size


@up_sampling.onnx
def _(onnx, node, *data):
    params, (image, *others) = node.bound_op.params, data
    if params["sample_type"] != "nearest" or others:
        return None
    scales = onnx.constant(onnx.np.array([1, 1, params["scale"], params["scale"]], "float32"))
    return onnx.Resize(image, None, scales, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")


@bilinear_resize.onnx
def _(onnx, node, data, like):
    if not onnx.is_float(data.dtype):
        return None
    place = "align_corners" if node.bound_op.params["align_corners"] else "half_pixel"
    sizes = onnx.ints(node.shape)
    if math.prod(node.shape[2:]) == 1:
        return None  # runtimes disagree about a single pixel with aligned corners
    return onnx.Resize(data, None, None, sizes, mode="linear", coordinate_transformation_mode=place)
