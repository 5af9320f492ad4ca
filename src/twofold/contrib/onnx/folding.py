"""Computes nodes whose inputs are all constants while a graph is read: most are computations of shapes."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...errors import FormatError
from .package import onnx_package
from .values import Graph, Tensor

if TYPE_CHECKING:
    from onnx import NodeProto

#: The operators that are computed, by the reference implementation in ONNX's package.
_FOLDED_NAMES = (
    "Abs Add And Cast CastLike Ceil Concat ConstantOfShape Div Equal Expand Flatten Floor Gather GatherElements GatherND Greater "
    "GreaterOrEqual Identity Less LessOrEqual Max Mean Min Mod Mul Neg Not Or Pow Range ReduceMax ReduceMin ReduceProd ReduceSum Relu "
    "Reshape Round ScatterElements ScatterND Sign Size Slice Split Sqrt Squeeze Sub Sum Tile Transpose Unsqueeze Where Xor"
)
_FOLDED = frozenset(_FOLDED_NAMES.split())
#: Those whose operands are broadcast.
_BROADCAST_NAMES = "Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mod Mul Or Pow Sub Sum Where Xor"
_BROADCAST = frozenset(_BROADCAST_NAMES.split())
#: The most elements of a result whose size is a number in the file.
LARGEST = 1 << 24
#: Elements of the operands and results that are computed even if all results so far take much memory: those of shapes.
_SMALL = 1 << 10
#: The results of a node, None for those that it leaves out.
Results = Sequence[np.ndarray | Tensor | None]


def folded(graph: Graph, node: "NodeProto", inputs: Sequence[Tensor | None]) -> Results | None:
    """The results of a node as arrays; None if the node should not be computed while reading."""
    shape = _shape_of(node, inputs)
    if shape is not None:
        return shape
    if any(t is not None and t.partial is not None for t in inputs):
        return _rearranged(graph, node, inputs)
    arrays = [None if t is None else t.array for t in inputs]
    if node.op_type not in _FOLDED or any(t is not None and a is None for t, a in zip(inputs, arrays, strict=True)):
        return None
    given = [a for a in arrays if a is not None]
    # All inputs are omitted.
    if not given and node.input:
        return None
    # numbers in a damaged file must not ask for memory without bounds: neither one result, nor all of them
    size = sum(a.size for a in given) + _result_size(node, given)
    if size > LARGEST or (size > _SMALL and graph.expansion.left < 0):
        return None
    # ONNX's package lets NumPy wrap these indices, which subtracts the size as often as it takes: for 2**62 that is years
    if node.op_type == "GatherElements" and len(given) == 2 and not np.all(abs(given[1].astype(float)) <= max(given[0].shape, default=0)):
        raise FormatError(f"{graph.place}: its constant inputs do not fit", "an index beyond its axis")
    found = _computed(graph, node, arrays)
    graph.expansion.left -= sum(a.nbytes for a in found if isinstance(a, np.ndarray))
    return found


def _shape_of(node: "NodeProto", inputs: Sequence[Tensor | None]) -> Results | None:
    """The result of an operator that reads an array's shape, if the shape is known; None for other operators."""
    if node.op_type not in ("Shape", "Size") or not inputs or inputs[0] is None:
        return None
    sizes = inputs[0].shape
    bounds = {a.name: a.i for a in node.attribute}
    if sizes is not None:
        # `Shape` may ask for a range of axes; `Size` has no such attributes.
        sizes = sizes[slice(bounds.get("start", 0), bounds.get("end"))]
    if sizes is None:
        return None
    if None in sizes:
        return _partly_known(inputs[0], node, bounds)
    found = np.array(sizes, np.int64)
    return [found if node.op_type == "Shape" else np.array(math.prod(found.tolist()), np.int64)]


def _partial(graph: Graph, name: str, elements: np.ndarray) -> Tensor:
    """A computation of shapes with unknown sizes, as a value."""
    found = Tensor(graph, name, shape=elements.shape, dtype="int64")
    found.partial = elements
    return found


def _partly_known(tensor: Tensor, node: "NodeProto", bounds: Mapping[str, int]) -> Results | None:
    """The shape of a value with unknown sizes; None for the number of its elements."""
    if node.op_type == "Size":
        return None
    elements = np.empty(len(tensor.sizes), object)
    elements[:] = [tensor.unknown(k) if n is None else n for k, n in enumerate(tensor.sizes)]
    return [_partial(tensor.owner, node.output[0], elements[slice(bounds.get("start", 0), bounds.get("end"))])]


# operators that only move elements work on arrays of objects too


def Cast(x, **attributes):
    """The elements: those of a shape are integers in every dtype."""
    return x


def Concat(*arrays, axis):
    """The operands joined."""
    return np.concatenate([a.astype(object) for a in arrays], axis)


def Gather(x, index, axis=0):
    """Elements at indices."""
    return np.asarray(np.take(x, index.astype(int), axis), object)


def Slice(x, starts, ends, axes=None, steps=None):
    """A range."""
    return x[int(starts[0]) : int(ends[0]) : 1 if steps is None else int(steps[0])]


def Squeeze(x, axes=None):
    """The element of a vector of one."""
    return np.asarray(np.squeeze(x, None if axes is None else tuple(axes)), object)


def Unsqueeze(x, axes):
    """A vector of one element."""
    return np.expand_dims(x, tuple(int(a) for a in axes))


_REARRANGING: dict[str, Callable[..., np.ndarray]] = {f.__name__: f for f in (Cast, Concat, Gather, Slice, Squeeze, Unsqueeze)}


def _rearranged(graph: Graph, node: "NodeProto", inputs: Sequence[Tensor | None]) -> Results | None:
    """The result of an operator that only moves the elements of a shape; None if it computes with them, or with other values."""
    elements = [None if t is None else t.partial if t.partial is not None else t.array for t in inputs]
    if any(t is not None and a is None for t, a in zip(inputs, elements, strict=True)):
        return None
    given = [a for a in elements if a is not None]
    function = _REARRANGING.get(node.op_type)
    if function is None:
        return None
    attributes = {a.name: list(a.ints) if a.ints else a.i for a in node.attribute}
    found = function(*given, **attributes)
    known = all(isinstance(n, (int, np.integer)) for n in found.ravel())
    return [found.astype(np.int64) if known else _partial(graph, node.output[0], found)]


def _product(shape: np.ndarray, *rest: np.ndarray) -> int:
    return math.prod(max(int(n), 1) for n in shape.ravel()[:64])


def _count(start: np.ndarray, limit: np.ndarray, delta: np.ndarray) -> int:
    step = float(delta.ravel()[0])
    return int(min(abs((float(limit.ravel()[0]) - float(start.ravel()[0])) / step), 2**62)) if step else 2**62


def _gathered(data: np.ndarray, indices: np.ndarray) -> int:
    return indices.size * data.size // min((n for n in data.shape if n), default=1)


#: The number of a result's elements, for operators whose results can be larger than their inputs.
_GROWING: dict[str, Callable[..., int]] = {
    "ConstantOfShape": _product,
    "Expand": lambda data, shape: _product(shape) * max(data.size, 1),
    "Gather": _gathered,
    "GatherND": _gathered,
    "Range": _count,
    "Tile": lambda data, repeats, *axis: _product(repeats) * max(data.size, 1),
}


def _result_size(node: "NodeProto", given: Sequence[np.ndarray]) -> int:
    """The number of a result's elements, or more, if they can be more than those of all operands."""
    grown = _GROWING.get(node.op_type)
    if grown is not None:
        return grown(*given)
    if node.op_type not in _BROADCAST:
        return 0
    try:
        return math.prod(np.broadcast_shapes(*[a.shape for a in given]))
    except ValueError:  # the operator has the better message
        return 0


def _computed(graph: Graph, node: "NodeProto", arrays: Sequence[np.ndarray | None]) -> Results:
    onnx = onnx_package("reading ONNX files")
    from onnx.reference import ReferenceEvaluator

    names = [f"x{k}" if a is not None else "" for k, a in enumerate(arrays)]
    # A copy with new names: an array that the node reads twice becomes two inputs, and omitted inputs stay empty.
    alone = onnx.NodeProto()
    alone.CopyFrom(node)
    del alone.input[:], alone.output[:]
    alone.input.extend(names)
    outputs = [f"y{k}" if name else "" for k, name in enumerate(node.output)]
    alone.output.extend(outputs)
    helper = onnx.helper
    proto = helper.make_graph(
        [alone],
        "folded",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in zip(names, arrays, strict=True)
            if a is not None
        ],
        [helper.make_value_info(name, onnx.TypeProto()) for name in outputs if name],
    )
    model = helper.make_model(proto, opset_imports=[helper.make_opsetid("", graph.opset)])
    try:
        # Infinities and NaN are valid results; a warning here would name no line of the program.
        with np.errstate(all="ignore"):
            found = iter(ReferenceEvaluator(model).run(None, {n: a for n, a in zip(names, arrays, strict=True) if a is not None}))
    except Exception as error:  # ONNX's package may raise anything
        raise FormatError(f"{graph.place}: its constant inputs do not fit", f"{type(error).__name__}: {error}"[:200]) from None
    results = [np.asarray(next(found)) if name else None for name in outputs]
    if any(a is not None and a.dtype == object for a in results):
        raise FormatError(f"{graph.place}: its constant inputs do not fit", "an input is missing")
    return results
