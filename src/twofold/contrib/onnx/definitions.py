"""The nodes by which ONNX, or the model itself, defines an operator in terms of others."""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from ...dtype import NUMPY
from ...errors import FormatError
from .package import onnx_package
from .values import Graph, Tensor

if TYPE_CHECKING:
    from onnx import AttributeProto, FunctionProto, NodeProto
    from onnx.defs import OpSchema


def definition_of(
    graph: Graph, node: "NodeProto", inputs: Sequence[Tensor | None], functions: Mapping[tuple[str, str], "FunctionProto"]
) -> tuple["FunctionProto", list["NodeProto"]]:
    """The function that defines a node's operator, and its nodes, with the node's attributes in place of references to them.

    Parameters
    ----------
    graph
        The reader of the graph.
    node, inputs
        The node, and its inputs.
    functions
        The model's own functions by domain and name.

    Raises
    ------
    FormatError
        If there is no such operator, or it has no definition.
    """
    own = functions.get((node.domain, node.op_type))
    function, schema = (own, None) if own is not None else _of_standard(graph, node, inputs)
    attributes = {a.name: a for a in function.attribute_proto}
    if schema is not None:
        # The node's own attributes come last, so they override the defaults.
        attributes |= {name: a.default_value for name, a in schema.attributes.items() if a.default_value.name}
    attributes |= {a.name: a for a in node.attribute}
    return function, [_filled(n, attributes) for n in function.node]


def _filled(node: "NodeProto", attributes: Mapping[str, "AttributeProto"]) -> "NodeProto":
    """A node of a definition, and of bodies in it, with attributes in place of references to them."""
    onnx = onnx_package("reading ONNX files")
    new = onnx.NodeProto()
    new.CopyFrom(node)
    del new.attribute[:]
    for attribute in node.attribute:
        copy = onnx.AttributeProto()
        # an attribute that the node leaves out, and that has no default, is left out in the definition too
        if attribute.ref_attr_name and attribute.ref_attr_name not in attributes:
            continue
        copy.CopyFrom(attributes[attribute.ref_attr_name] if attribute.ref_attr_name else attribute)
        copy.name = attribute.name
        if copy.HasField("g"):
            inner = [_filled(n, attributes) for n in copy.g.node]
            del copy.g.node[:]
            copy.g.node.extend(inner)
        new.attribute.append(copy)
    return new


def _of_standard(graph: Graph, node: "NodeProto", inputs: Sequence[Tensor | None]) -> "tuple[FunctionProto, OpSchema]":
    """The definition of one of ONNX's operators, and its schema."""
    onnx = onnx_package("reading ONNX files")
    domain = "" if node.domain == "ai.onnx" else node.domain
    todo = "convert the model so that it uses operators of ONNX that are listed in the documentation"
    try:
        # ONNX's own domain has a version that the model states; the newest version serves for others.
        schema = (
            onnx.defs.get_schema(node.op_type, graph.opset, domain) if not domain else onnx.defs.get_schema(node.op_type, domain=domain)
        )
    except Exception:  # the package's own class, which has moved between versions
        raise FormatError(
            f"{graph.place}: unknown operator", f"{domain or 'ai.onnx'}.{node.op_type}, version {graph.opset}", todo
        ) from None
    if schema.has_function:
        return schema.function_body, schema
    if schema.has_context_dependent_function:
        found = schema.get_context_dependent_function(node.SerializeToString(), [_type(onnx, t) for t in inputs])
        if found:
            function = onnx.FunctionProto()
            function.ParseFromString(found)
            return function, schema
    raise FormatError(f"{graph.place}: the operator is not supported", f"{domain or 'ai.onnx'}.{node.op_type}", todo)


def _type(onnx: ModuleType, tensor: Tensor | None) -> bytes:
    """The type of an input as ONNX's schema takes it."""
    proto = onnx.TypeProto()
    if tensor is not None and tensor.dtype is not None:
        proto.tensor_type.elem_type = onnx.helper.np_dtype_to_tensor_dtype(NUMPY[tensor.dtype])
        for n in tensor.shape or ():
            size = proto.tensor_type.shape.dim.add()
            if n is not None:
                size.dim_value = n
    return proto.SerializeToString()
