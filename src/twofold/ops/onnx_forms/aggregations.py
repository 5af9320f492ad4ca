"""ONNX forms of reductions, scans, sorting, and products of matrices."""

from ...opdef import normalized_axes
from .. import primitive_reduce as reduce
from ..determinants import det
from ..ordering import topk
from ..reduction import mean_axis


def _reduced(name, computing_in=None):
    """A reduction over axes; ``computing_in`` is the dtype in which ONNX has it, if not the operand's."""

    def rule(onnx, node, data):
        params = node.bound_op.params
        axes = normalized_axes(params["axis"], len(data.shape))
        (given,) = onnx.in_dtype(computing_in or node.dtype, data)
        # without axes ONNX would reduce all axes, and NumPy none
        found = onnx.reduced(name, given, axes, params["keepdims"]) if axes else given
        return onnx.in_dtype(node.dtype, found)[0]

    return rule


reduce.sum.onnx(_reduced("ReduceSum"))
reduce.prod.onnx(_reduced("ReduceProd"))
reduce.max.onnx(_reduced("ReduceMax"))
reduce.min.onnx(_reduced("ReduceMin"))
# of zeros and ones the maximum is a disjunction, the minimum a conjunction
reduce.any.onnx(lambda onnx, node, data: _of_truths("ReduceMax", onnx, node, data))
reduce.all.onnx(lambda onnx, node, data: _of_truths("ReduceMin", onnx, node, data))


def _of_truths(name, onnx, node, data):
    axes = normalized_axes(node.bound_op.params["axis"], len(data.shape))
    # before version 20 ONNX has these reductions for numbers only
    truths = onnx.in_dtype("int32", *onnx.in_dtype("bool", data))[0]
    found = onnx.reduced(name, truths, axes, node.bound_op.params["keepdims"]) if axes else truths
    return onnx.in_dtype("bool", found)[0]


@mean_axis.onnx
def _(onnx, node, data):
    params = node.bound_op.params
    if data.dtype not in ("float32", "float64") or params["exclude"] or not data.shape:
        return None
    axes = normalized_axes(params["axis"], len(data.shape))
    # a mean of all elements is (1,) in `nd` and 0-d in ONNX: it is written by its definition, as are all forms that return None
    keeps = params["keepdims"] or len(axes) < len(data.shape)
    return onnx.reduced("ReduceMean", data, axes, params["keepdims"]) if keeps and axes else None


def _place_of(name):
    def rule(onnx, node, data):
        axis, keepdims = node.bound_op.params["axis"], node.bound_op.params["keepdims"]
        if data.dtype == "bool":
            (data,) = onnx.in_dtype("int32", data)
        if axis is not None:
            return getattr(onnx, name)(data, axis=axis % len(data.shape), keepdims=int(keepdims))
        found = getattr(onnx, name)(onnx.Reshape(data, onnx.ints([-1])), axis=0, keepdims=0)
        return onnx.reshaped(found, node.shape) if keepdims else found

    return rule


reduce.argmax.onnx(_place_of("ArgMax"))
reduce.argmin.onnx(_place_of("ArgMin"))


@reduce.cumulative_sum.onnx
def _(onnx, node, data):
    (given,) = onnx.in_dtype(node.dtype, data)
    return onnx.CumSum(given, onnx.number(node.bound_op.params["axis"] % len(data.shape), "int64"))


@reduce.cumulative_prod.onnx
def _(onnx, node, data):
    onnx.require(26, node)
    (given,) = onnx.in_dtype(node.dtype, data)
    return onnx.CumProd(given, onnx.number(node.bound_op.params["axis"] % len(data.shape), "int64"))


def _in_order(place):
    """The elements along an axis in order, or their places."""

    def rule(onnx, node, data):
        axis = node.bound_op.params["axis"] % len(data.shape)
        first = node.bound_op.params.get("first")
        count = onnx.ints([data.shape[axis] if first is None else first])
        (given,) = onnx.in_dtype("int32", data) if data.dtype == "bool" else (data,)
        # ONNX has no sort, but the largest n of n elements are given in order; bools cannot be compared there
        found = onnx.TopK(given, count, axis=axis, largest=int(node.bound_op.params["descending"]), outputs=2)
        return onnx.typed(found[1], "int64") if place else found[0]

    return rule


reduce.sort.onnx(_in_order(0))
reduce.argsort.onnx(_in_order(1))


@topk.onnx
def _(onnx, node, data):
    params = node.bound_op.params
    kind, axis = params["ret_typ"], params["axis"]
    # TopK has an axis and gives no mask
    if axis is None or kind == "mask" or not onnx.is_float(data.dtype):
        return None
    axis %= len(data.shape)
    count = params["k"] if params["k"] > 0 else data.shape[axis]
    values, places = onnx.TopK(data, onnx.ints([count]), axis=axis, largest=int(not params["is_ascend"]), outputs=2)
    found = onnx.in_dtype(params["dtype"], onnx.typed(places, "int64"))[0]
    return {"value": values, "indices": found, "both": (values, found)}[kind]


reduce.matmul.onnx(lambda onnx, node, lhs, rhs: onnx.MatMul(*onnx.in_dtype(node.dtype, lhs, rhs)))


@reduce.einsum.onnx
def _(onnx, node, *arrays):
    return onnx.Einsum(*onnx.in_dtype(node.dtype, *arrays), equation=node.bound_op.params["subscripts"])


det.onnx(lambda onnx, node, data: onnx.Det(data))
