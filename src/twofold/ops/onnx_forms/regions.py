"""ONNX forms of the pooling of regions, and of random numbers."""

from ..random_sampling import random_normal, random_normal_like, random_uniform, random_uniform_like
from ..regions import roi_align, roi_pooling


@roi_pooling.onnx
def _(onnx, node, data, rois):
    params = node.bound_op.params
    return onnx.MaxRoiPool(data, rois, pooled_shape=list(params["pooled_size"]), spatial_scale=params["spatial_scale"])


@roi_align.onnx
def _(onnx, node, data, rois):
    params = node.bound_op.params
    # before version 16 regions were not moved by half a pixel, and there was no choice
    if params["position_sensitive"] or (params["aligned"] and onnx.opset < 16):
        return None
    image = onnx.Squeeze(onnx.Slice(rois, onnx.ints([0]), onnx.ints([1]), onnx.ints([1])), onnx.ints([1]))
    corners = onnx.Slice(rois, onnx.ints([1]), onnx.ints([5]), onnx.ints([1]))
    height, width = params["pooled_size"]
    options = {"output_height": height, "output_width": width, "spatial_scale": params["spatial_scale"]}
    # a number of samples that follows from the region's size is -1 in MXNet and 0 in ONNX
    options |= {"sampling_ratio": max(params["sample_ratio"], 0)}
    if onnx.opset >= 16:
        options["coordinate_transformation_mode"] = "half_pixel" if params["aligned"] else "output_half_pixel"
    return onnx.RoiAlign(data, corners, onnx.as_index(image), **options)


# random numbers: the same distribution, drawn by the runtime


@random_uniform.onnx
def _(onnx, node, key, low, high):
    dtype = onnx.numpy_dtype(node.dtype)
    return onnx.typed(onnx.RandomUniform(low=float(low.number), high=float(high.number), shape=list(node.shape), dtype=dtype), node.dtype)


@random_normal.onnx
def _(onnx, node, key, loc, scale):
    dtype = onnx.numpy_dtype(node.dtype)
    return onnx.typed(onnx.RandomNormal(mean=float(loc.number), scale=float(scale.number), shape=list(node.shape), dtype=dtype), node.dtype)


@random_uniform_like.onnx
def _(onnx, node, data, key, low, high):
    return onnx.RandomUniformLike(data, low=float(low.number), high=float(high.number))


@random_normal_like.onnx
def _(onnx, node, data, key, loc, scale):
    return onnx.RandomNormalLike(data, mean=float(loc.number), scale=float(scale.number))
