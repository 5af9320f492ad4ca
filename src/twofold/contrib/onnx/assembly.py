"""Makes the ONNX model (a protocol buffer) of written nodes and arrays."""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from ...dtype import NUMPY
from .graph_writer import GraphWriter, OnnxNode
from .package import onnx_package

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, ValueInfoProto

#: A size, or the name of one that varies.
Sizes = Sequence[int | str | None]
Types = Mapping[str, tuple[Sizes, str]]


def model_of(graph: GraphWriter, inputs: Types, outputs: Types, params: Mapping[str, np.ndarray]) -> "ModelProto":
    """The model.

    Parameters
    ----------
    graph
        Nodes and constants.
    inputs, outputs
        Shapes and dtypes by name.
    params
        Arrays of the network by name.
    """
    onnx = onnx_package("export_model")
    helper = onnx.helper
    numbers = {name: helper.np_dtype_to_tensor_dtype(kind) for name, kind in NUMPY.items()}

    def info(name: str, sizes: Sizes, dtype: str) -> "ValueInfoProto":
        return helper.make_tensor_value_info(name, numbers[dtype], list(sizes))

    constants, merged = _merged(graph)
    proto = helper.make_graph(
        [_node(onnx, n, merged, k) for k, n in enumerate(graph.nodes)],
        "twofold",
        [info(name, *kind) for name, kind in inputs.items()],
        [info(name, *kind) for name, kind in outputs.items()],
        [onnx.numpy_helper.from_array(array, name) for name, array in {**params, **constants}.items()],
    )
    opset = helper.make_opsetid("", graph.opset)
    version = helper.find_min_ir_version_for([opset])
    return helper.make_model(proto, opset_imports=[opset], ir_version=version, producer_name="twofold", producer_version="1.9.1")


def _merged(graph: GraphWriter) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The constants without duplicates, and the remaining name of each dropped one."""
    # rules write the same small constants many times; constants with equal dtype, shape and bytes are shared
    kept: dict[str, np.ndarray] = {}
    first: dict[tuple[str, tuple[int, ...], bytes], str] = {}
    names: dict[str, str] = {}
    for name, array in graph.constants.items():
        names[name] = first.setdefault((str(array.dtype), array.shape, array.tobytes()), name)
        kept.setdefault(names[name], array)
    return kept, names


def _node(onnx: ModuleType, node: OnnxNode, merged: Mapping[str, str], number: int) -> "NodeProto":
    attributes = {k: _attribute(onnx, v) for k, v in node.attributes.items()}
    inputs = [merged.get(v, v) for v in node.inputs]
    name = next((v for v in node.outputs if v), f"{node.operator}{number}")
    return onnx.helper.make_node(node.operator, inputs, list(node.outputs), name=name, **attributes)


def _attribute(onnx: ModuleType, value: object) -> object:
    if isinstance(value, np.dtype):
        return onnx.helper.np_dtype_to_tensor_dtype(value)
    return onnx.numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
