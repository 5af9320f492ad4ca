"""ONNX models: versions, inputs and outputs, operators, initializers and the graph."""

from collections import Counter
from typing import Any

import numpy as np

from ...contrib.onnx.expansion import STANDARD
from ...contrib.onnx.files import array_of, check_dims, parsed_model
from ...contrib.onnx.package import onnx_package
from ...dtype import NAME_OF
from ...errors import FormatError
from ...visualization.layered import Box, Edge
from ...visualization.network import DATA
from .content import ArrayContent, Content, Network, Selection, Table
from .inspected_file import InspectedFile
from .networks import MOST_BOXES, operator_color
from .statistics import has_statistics, statistics_of_array


def read_onnx(source: InspectedFile, content: Content, selection: Selection) -> None:
    """A model. Arrays in other files are listed, and not read."""
    model = parsed_model(source.read(0, source.size), source.path)
    graph = model.graph
    content.facts["IR version"] = model.ir_version
    content.facts["operator sets"] = ", ".join(f"{_text(entry.domain) or 'ai.onnx'} {entry.version}" for entry in model.opset_import)
    content.facts["written by"] = f"{_text(model.producer_name)} {_text(model.producer_version)}".strip() or "not stated"
    if graph.name:
        content.facts["graph"] = _text(graph.name)
    if model.functions:
        content.facts["functions"] = ", ".join(f"{_text(f.domain)}.{_text(f.name)}" for f in model.functions)
    held = {tensor.name for tensor in graph.initializer}
    for title, values in (("Inputs", graph.input), ("Outputs", graph.output)):
        # old models list their initializers among the inputs too
        rows = [(value.name, *_type(value)) for value in values if value.name not in held]
        content.tables.append(Table(title, ("name", "dtype", "shape"), rows))
    if model.metadata_props:
        content.tables.append(
            Table("Metadata", ("name", "text"), [(_text(entry.key), _text(entry.value)) for entry in model.metadata_props])
        )
    names = (node.op_type if node.domain in STANDARD else f"{node.domain}.{node.op_type}" for node in graph.node)
    content.tables.append(Table("Operators", ("operator", "nodes"), Counter(names).most_common()))
    content.facts["nodes"] = len(graph.node)
    for tensor in graph.initializer:
        check_dims(tensor, f"array {tensor.name!r}")
    # as Python's integers, which sizes in a damaged file cannot overflow
    content.facts["parameters"] = sum(int(np.prod(tensor.dims, dtype=object)) for tensor in graph.initializer)
    content.network = _drawing(graph, held)
    for tensor in graph.initializer:
        content.arrays.append(_array(tensor))


def _text(value: str | bytes) -> str:
    """A text of the file; the package gives bytes for one that is damaged."""
    return value if isinstance(value, str) else value.decode(errors="backslashreplace")


def _type(value: Any) -> tuple[str, str]:
    """The dtype of an input or output, and its shape, in which sizes may have names."""
    onnx = onnx_package("reading ONNX files")
    if not value.type.HasField("tensor_type"):
        return str(value.type.WhichOneof("value") or "unknown"), "?"
    kind = value.type.tensor_type
    name = onnx.TensorProto.DataType.Name(kind.elem_type).lower() if kind.elem_type in onnx.TensorProto.DataType.values() else "unknown"
    sizes = [_text(d.dim_param) or (str(d.dim_value) if d.HasField("dim_value") else "?") for d in kind.shape.dim]
    return name, f"({', '.join(sizes)})" if kind.HasField("shape") else "?"


def _array(tensor: Any) -> ArrayContent:
    onnx = onnx_package("reading ONNX files")
    shape = tuple(tensor.dims)
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        place = {_text(entry.key): _text(entry.value) for entry in tensor.external_data}
        kind = onnx.TensorProto.DataType
        dtype = kind.Name(tensor.data_type).lower() if tensor.data_type in kind.values() else "unknown"
        size = int(place.get("length", "0")) if place.get("length", "0").isdecimal() else 0
        return ArrayContent(tensor.name, shape, dtype, size, f"in {place.get('location', '?')}")
    try:
        array = array_of(tensor)
    except FormatError as error:
        if error.what.endswith("holds strings"):
            return ArrayContent(tensor.name, shape, "string", tensor.ByteSize())
        raise
    found = statistics_of_array(array.reshape(-1)) if has_statistics(array.dtype) else None
    return ArrayContent(tensor.name, shape, NAME_OF.get(array.dtype, str(array.dtype)), array.nbytes, "default", found)


def _drawing(graph: Any, held: set[str]) -> Network | None:
    inputs = [value.name for value in graph.input if value.name not in held]
    if len(inputs) + len(graph.node) > MOST_BOXES:
        return None
    boxes = [Box(name, "input", DATA, True) for name in inputs]
    makers = {name: k for k, name in enumerate(inputs)}
    edges = []
    for node in graph.node:
        edges += [Edge(makers[name], len(boxes)) for name in dict.fromkeys(node.input) if name in makers]
        for name in node.output:
            # the first maker of a name counts, as a damaged model may have several
            makers.setdefault(name, len(boxes))
        detail = f"{node.name}\n{node.op_type}({', '.join(node.input)})\n→ {', '.join(node.output)}"
        boxes.append(Box(node.name or (node.output[0] if node.output else ""), node.op_type, operator_color(node.op_type), detail=detail))
    return Network(boxes, edges)
