"""ONNX forms of the primitives that rearrange elements, fill arrays and gather elements."""

import math

from ...opdef import broadcast_shapes, sliced_shape, window_size
from .. import primitive_gather as gather
from .. import primitive_shape as shapes
from ..joining import concat_arrays, stack
from ..reshaping import expand_dims, flatten, reshape_array

#: Beyond any axis: the end of a slice that reaches its end.
FAR = 2**31 - 1


shapes.reshape.onnx(lambda onnx, node, data: onnx.reshaped(data, node.shape))


@reshape_array.onnx
def _(onnx, node, data):
    codes = node.bound_op.params["shape"]
    # 0 and -1 mean the same in ONNX; other codes have no counterpart, so the definition's reshape to the known shape is written
    if not codes or node.bound_op.params["reverse"] or any(n is None or n < -1 for n in codes) or not data.shape:
        return None
    return onnx.Reshape(data, onnx.ints(codes))


flatten.onnx(lambda onnx, node, data: onnx.Flatten(data) if node.shape[1:] == (math.prod(data.shape[1:]),) else None)


@expand_dims.onnx
def _(onnx, node, data):
    return onnx.Unsqueeze(data, onnx.ints([node.bound_op.params["axis"] % len(node.shape)])) if data.shape else None


shapes.permute_dims.onnx(lambda onnx, node, data: onnx.Transpose(data, perm=[a % len(data.shape) for a in node.bound_op.params["axes"]]))


@shapes.broadcast_to.onnx
def _(onnx, node, data):
    # runtimes do not broadcast to a size of 0
    return onnx.expanded(data, node.shape) if node.size else onnx.empty(node.shape, node.dtype)


shapes.contiguous.onnx(lambda onnx, node, data: data)


def _bounds(key, shape):
    """(starts, ends, axes, steps) of ONNX's Slice for a key of Python slices."""
    rows = []
    for axis, (triple, size) in enumerate(zip(key, shape, strict=False)):
        start, stop, step = slice(*triple).indices(size)
        whole = triple[0] in (None, 0) and triple[1] is None and step == 1
        if not whole:
            # an end of None or beyond the axis is far away, so that it does not depend on the size of the axis
            end = stop if triple[1] is not None and stop != size else FAR
            # a backward slice to the beginning has the stop -1 here, which ONNX would count from the end
            end = (-FAR if stop < 0 else stop) if step < 0 else end
            # negative bounds mean the same in ONNX, and stay right if the axis has another size there
            end = triple[1] if triple[1] is not None and -size <= triple[1] < 0 else end
            begin = triple[0] if triple[0] is not None and triple[0] < 0 and -triple[0] <= size else start
            begin = FAR if step < 0 and triple[0] is None else begin
            rows.append((begin, end, axis, step))
    return [list(column) for column in zip(*rows, strict=True)]


@shapes.slice.onnx
def _(onnx, node, data):
    bounds = _bounds(node.bound_op.params["key"], data.shape)
    return onnx.Slice(data, *[onnx.ints(column) for column in bounds]) if bounds else data


@shapes.slice_update.onnx
def _(onnx, node, data, value):
    key, np = node.bound_op.params["key"], onnx.np
    target = sliced_shape(data.shape, key)
    (part,) = onnx.in_dtype(node.dtype, value)
    if 0 in target:
        return data
    places = [np.arange(*slice(*triple).indices(n)) for triple, n in zip(key, data.shape, strict=False)]
    places += [np.arange(n) for n in data.shape[len(places) :]]
    if not places:
        return onnx.expanded(part, node.shape)
    # ONNX has no assignment to slices: the positions of all elements are a constant of the model
    index = np.stack(np.meshgrid(*places, indexing="ij"), -1).astype("int64")
    return onnx.ScatterND(data, onnx.constant(index), onnx.expanded(part, target))


def _joined(onnx, node, arrays, axis):
    filled = [a for a in arrays if 0 not in a.shape] or arrays[:1]
    return onnx.Concat(*onnx.in_dtype(node.dtype, *filled), axis=axis % len(node.shape))


def _concatenated(onnx, node, *arrays):
    return _joined(onnx, node, arrays, node.bound_op.params["axis"])


shapes.concat.onnx(_concatenated)


@concat_arrays.onnx
def _(onnx, node, *arrays):
    if any(len(a.shape) != len(node.shape) for a in arrays):
        return None
    return _joined(onnx, node, arrays, node.bound_op.params["dim"])


@stack.onnx
def _(onnx, node, *arrays):
    axis = node.bound_op.params["axis"] % len(node.shape)
    return onnx.Concat(*[onnx.Unsqueeze(a, onnx.ints([axis])) for a in onnx.in_dtype(node.dtype, *arrays)], axis=axis)


@shapes.pad.onnx
def _(onnx, node, data):
    width, value = node.bound_op.params["width"], node.bound_op.params["value"]
    pads = [before for before, _ in width] + [after for _, after in width]
    return onnx.Pad(data, onnx.ints(pads), onnx.number(value, node.dtype)) if any(pads) else data


def _windows(onnx, node, data):
    """Windows along the trailing axes: each axis by a gather of (windows, kernel) places, then the kernels' axes moved to the end."""
    params, np = node.bound_op.params, onnx.np
    count, lead = len(params["kernel"]), len(data.shape) - len(params["kernel"])
    for k in reversed(range(count)):
        kernel, stride, dilate = (params[name][k] for name in ("kernel", "stride", "dilate"))
        number = window_size(data.shape[lead + k], kernel, stride, dilate)
        places = np.arange(number)[:, None] * stride + np.arange(kernel) * dilate
        data = onnx.shaped(onnx.Gather(data, onnx.constant(places.astype("int64")), axis=lead + k), data.shape)
    order = [*range(lead), *[lead + 2 * k for k in range(count)], *[lead + 2 * k + 1 for k in range(count)]]
    return onnx.Transpose(data, perm=order)


shapes.unfold.onnx(_windows)


@shapes.full.onnx
def _(onnx, node):
    value, dtype = node.bound_op.params["value"], node.dtype
    if math.prod(node.shape) <= 1:
        return onnx.constant(onnx.np.full(node.shape, value, onnx.numpy_dtype(dtype)))
    filled = onnx.constant_tensor(onnx.np.full((1,), value, onnx.numpy_dtype(dtype)))
    return onnx.ConstantOfShape(onnx.ints(node.shape), value=filled)


shapes.iota.onnx(lambda onnx, node: onnx.constant(onnx.np.arange(node.bound_op.params["size"]).astype(onnx.numpy_dtype(node.dtype))))


# gathers


@gather.take.onnx
def _(onnx, node, data, index):
    return onnx.Gather(data, onnx.as_index(index), axis=node.bound_op.params["axis"] % len(data.shape))


@gather.take_along_axis.onnx
def _(onnx, node, data, index):
    axis = node.bound_op.params["axis"] % len(data.shape)
    # an axis of size 1 broadcasts in NumPy; in ONNX the data may be larger than the index, but not smaller
    wide = tuple(n if k == axis else node.shape[k] for k, n in enumerate(data.shape))
    places = onnx.as_index(index)
    data = data if wide == data.shape else onnx.expanded(data, wide)
    places = places if index.shape == node.shape else onnx.expanded(places, node.shape)
    return onnx.GatherElements(data, places, axis=axis)


def _places(onnx, arrays, key, shape):
    """(permutation that puts the indexed axes first, places (…, axes)), for gathers and scatters at index arrays."""
    # GatherND and ScatterND index the first axes of an array, so the indexed ones are moved there
    used = [k for k, place in enumerate(key) if place is not None]
    extent = broadcast_shapes("index", [a.shape for a in arrays])
    columns = []
    for axis in used:
        array = arrays[key[axis]]
        wide = onnx.as_index(array)
        if array.shape != extent:
            wide = onnx.expanded(wide, extent)
        columns.append(onnx.Unsqueeze(wide, onnx.ints([len(extent)])))
    places = columns[0] if len(columns) == 1 else onnx.Concat(*columns, axis=len(extent))
    return [*used, *[k for k in range(len(shape)) if k not in used]], places, extent


def _moved(extent, key, ndim):
    """Where the axes of the places go in the result of NumPy's indexing: the permutation of (places, other axes)."""
    # GatherND gives the places' axes first; NumPy puts them where the indexed axes were, if these are neighbors
    front = gather.index_axis((*key, *[None] * (ndim - len(key))))
    count, rest = len(extent), ndim - sum(k is not None for k in key)
    return [*range(count, count + front), *range(count), *range(count + front, count + rest)]


def _transposed(onnx, data, order):
    return data if order == sorted(order) else onnx.Transpose(data, perm=order)


def _inverse(order):
    return sorted(range(len(order)), key=order.__getitem__)


@gather.index.onnx
def _(onnx, node, data, *arrays):
    key = node.bound_op.params["key"]
    order, places, extent = _places(onnx, arrays, key, data.shape)
    found = onnx.GatherND(_transposed(onnx, data, order), places)
    return _transposed(onnx, found, _moved(extent, key, len(data.shape)))


def _scattered(reduction):
    """A write at index arrays, or an addition there, which came with version 16."""

    def rule(onnx, node, data, value, *arrays):
        if reduction is not None:
            onnx.require(16, node)
        key, ndim = node.bound_op.params["key"], len(data.shape)
        order, places, extent = _places(onnx, arrays, key, data.shape)
        moved = _moved(extent, key, ndim)
        full = gather.indexed_shape(data.shape, arrays, key)
        (part,) = onnx.in_dtype(node.dtype, value)
        part = part if value.shape == full else onnx.expanded(part, full)
        # the value has the axes of NumPy's indexing, ScatterND wants those of GatherND
        part = _transposed(onnx, part, _inverse(moved))
        options = {} if reduction is None else {"reduction": reduction}
        found = onnx.ScatterND(_transposed(onnx, data, order), places, part, **options)
        return _transposed(onnx, found, _inverse(order))

    return rule


gather.index_add.onnx(_scattered("add"))
gather.index_update.onnx(_scattered(None))


@gather.checked_index.onnx
def _(onnx, node, index):
    # the runtime reports an index out of bounds, since a model cannot raise errors
    if not node.bound_op.params["negative"]:
        return index
    zero, size = onnx.number(0, node.dtype), onnx.number(node.bound_op.params["size"], node.dtype)
    return onnx.Where(onnx.Less(index, zero), onnx.Add(index, size), index)
