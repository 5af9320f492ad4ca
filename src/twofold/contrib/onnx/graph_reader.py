"""Reads an ONNX graph to a symbol and arrays, node by node, by the functions of `operators`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...dtype import NAME_OF, NUMPY
from ...errors import FormatError, MXNetError
from ...graph.ir import Node, leaf
from ...ndarray.new_arrays import array
from ...symbol.application import apply_node
from ...symbol.compose import variable
from ...symbol.naming import NameManager
from ...symbol.node import Head, SymbolNode
from ...symbol.symbol import Symbol
from . import definitions, folding
from .expansion import MOST_LEVELS, STANDARD, Expansion, check_functions
from .files import array_of
from .op_reader import OP_READERS, OpReader
from .operators import loading as loading
from .operators.functions import NP
from .package import onnx_package
from .values import Sizes, Tensor

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, ValueInfoProto

    from ...ndarray.array import NDArray


class GraphReader:
    """The symbol of an ONNX graph, as far as it has been read.

    Parameters
    ----------
    model
        The protocol buffer.
    known
        Elements of inputs that are constant, by name.
    like
        Arrays with the shapes and dtypes of inputs, by name; other inputs have those in the file.

    Attributes
    ----------
    place
        The node that is being read, for messages.
    label, outputs
        A name for the node of the symbol, and the number of its outputs.
    opset
        The version of ONNX's operators that the model uses.
    params
        Arrays of the variables that are not inputs, by name.
    expansion
        What reading has made of the file so far.
    """

    def __init__(
        self, model: "ModelProto", known: Mapping[str, np.ndarray] | None = None, like: Mapping[str, np.ndarray] | None = None
    ) -> None:
        self.model, self.place = model, "onnx"
        self.opset = self._opset()
        self.params: dict[str, NDArray] = {}
        self.tensors: dict[str, Tensor] = {}
        self.inputs: dict[str, Tensor] = {}
        self.level, self.outputs = 0, 1
        self.label: str | None = None
        self._absent: set[str] = set()  # inputs of a definition that are omitted
        self._known, self._like = dict(known or {}), dict(like or {})
        self._types: dict[str, tuple[Sizes | None, str | None]] = {}
        self._labels: dict[str, dict[int, str]] = {}
        self._typed: dict[Head, Node] = {}
        self._untyped: set[Head] = set()
        self._functions = {(f.domain, f.name): f for f in model.functions}
        self.expansion = Expansion(model)
        self._held: dict[int, tuple[GraphProto, dict[str, Tensor]]] = {}  # the arrays of bodies, which are read more than once

    def _opset(self) -> int:
        newest = onnx_package("reading ONNX files").defs.onnx_opset_version()
        found = [o.version for o in self.model.opset_import if o.domain in STANDARD]
        version = found[0] if found else 1
        if not 1 <= version <= newest:
            todo = f"convert the model to a version from 1 to {newest}, or install a newer package onnx"
            raise FormatError("onnx: the model uses an unknown version of the operators", str(version), todo)
        return version

    def run(self) -> list[Tensor]:
        """Read the graph; its outputs.

        Raises
        ------
        FormatError
            If the graph is damaged, or a node cannot be read; the message names the node and its operator.
        """
        graph = self.model.graph
        if not graph.output:
            raise FormatError("onnx: the graph has no outputs", f"{len(graph.node)} nodes", "the file is damaged")
        check_functions(graph.node, self._functions, OP_READERS)
        for proto in graph.initializer:
            self.tensors[proto.name] = Tensor(self, proto.name, array=array_of(proto))
        for proto in graph.sparse_initializer:
            raise FormatError("onnx: sparse initializers are not supported", proto.values.name, "store them as dense arrays")
        for info in graph.input:
            if info.name not in self.tensors:
                self._input(info)
        if any(t.shape is None or None in t.shape for t in self.inputs.values()):
            self._infer()
        self.read(graph.node)
        return [self.tensor(info.name, "the graph's output") for info in graph.output]

    def _infer(self) -> None:
        """Note the types that ONNX infers. If all sizes of inputs are known, the symbol's inference gives more."""
        onnx = onnx_package("reading ONNX files")
        for info in self.model.graph.input:
            for k, size in enumerate(info.type.tensor_type.shape.dim):
                # a name for each unknown size, so that ONNX's inference finds other sizes that are equal
                if not size.HasField("dim_value") and not size.dim_param:
                    size.dim_param = f"{info.name}.{k}"
        try:
            graph = onnx.shape_inference.infer_shapes(self.model, data_prop=True).graph
        except Exception:  # any error: folding is optional, and reading reports the same fault with its node
            graph = self.model.graph
        for info in [*graph.value_info, *graph.output, *graph.input]:
            self._types[info.name] = _type_of(info)
            self._labels[info.name] = {k: d.dim_param for k, d in enumerate(info.type.tensor_type.shape.dim) if d.dim_param}
        for name, tensor in self.inputs.items():
            tensor.labels = self._labels.get(name, {})

    def _input(self, info: "ValueInfoProto") -> None:
        if info.name in self._known:
            self.tensors[info.name] = Tensor(self, info.name, array=np.asarray(self._known[info.name]))
            return
        shape, dtype = _type_of(info)
        if info.name in self._like:
            shape, dtype = self._like[info.name].shape, NAME_OF.get(self._like[info.name].dtype)
        if not info.type.HasField("tensor_type"):
            raise FormatError(f"onnx: the input {info.name!r} is not an array", info.type.WhichOneof("value"), "only arrays can be inputs")
        fixed = shape is not None and None not in shape
        declared = tuple(n or 0 for n in shape) if shape else None
        symbol = variable(info.name, shape=declared, dtype=None if dtype in (None, "float32") else dtype)
        self.tensors[info.name] = Tensor(self, info.name, symbol, None, shape, dtype, frozenset([info.name]))
        self.inputs[info.name] = self.tensors[info.name]
        if fixed and dtype is not None:
            self._typed[symbol.heads[0]] = leaf(("onnx", info.name), tuple(n for n in shape or () if n is not None), dtype)

    # nodes

    def read(self, nodes: Sequence["NodeProto"]) -> None:
        """Read nodes. Each reads only earlier ones."""
        for node in nodes:
            self.place = f"onnx: node {node.name or next((o for o in node.output if o), '')!r} ({node.op_type})"
            try:
                self._node(node)
            except FormatError:
                raise
            except MXNetError as error:
                raise FormatError(f"{self.place}: {error.what or error}", error.given, error.todo) from error
            except (MemoryError, RecursionError) as error:
                raise FormatError(f"{self.place}: it is too large: {str(error)[:200]}", None, "the file is damaged") from None
            except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError, AttributeError) as error:
                # parameters of a damaged file may be of any kind; a rule expects those of the standard
                raise FormatError(f"{self.place}: the inputs or attributes do not fit the operator: {str(error)[:200]}") from error

    def body(self, graph: "GraphProto", arguments: Sequence[Tensor]) -> list[Tensor]:
        """The outputs of the body of control flow, which reads the values around it too.

        Raises
        ------
        FormatError
            If it is nested too deeply, or damaged.
        """
        if len(arguments) < len(graph.input) or self.level >= MOST_LEVELS:
            raise FormatError(
                f"{self.place}: a body takes more inputs than are given, or is nested too deeply", f"{len(graph.input)} inputs"
            )
        # Nodes of a body change these; afterwards the node with the body needs its own values back.
        self.expansion.read(graph.node, self.place)
        if id(graph) not in self._held:
            # with the graph, so that its identity stays unique
            self._held[id(graph)] = graph, {proto.name: Tensor(self, proto.name, array=array_of(proto)) for proto in graph.initializer}
        around, place, outputs, label = self.tensors, self.place, self.outputs, self.label
        self.tensors, self.level = dict(around), self.level + 1
        self.tensors |= self._held[id(graph)][1]
        self.tensors |= {info.name: value for info, value in zip(graph.input, arguments, strict=False)}
        self.read(graph.node)
        found = [self.tensor(info.name, "the body's output") for info in graph.output]
        self.tensors, self.level, self.place, self.outputs, self.label = around, self.level - 1, place, outputs, label
        return found

    def tensor(self, name: str, reader: str) -> Tensor:
        """A value that has been read.

        Raises
        ------
        FormatError
            If there is none of that name.
        """
        found = self.tensors.get(name)
        if found is None:
            raise FormatError(f"{self.place}: {reader} does not exist", repr(name), "the file is damaged, or its nodes are in disorder")
        return found

    def _node(self, node: "NodeProto") -> None:
        inputs = [self.tensor(name, "an input") if name and name not in self._absent else None for name in node.input]
        attributes = {a.name: a for a in node.attribute}
        self.outputs, self.label = len(node.output), _label(node)
        reader = OP_READERS.get(node.op_type) if node.domain in STANDARD else None
        folded = folding.folded(self, node, inputs) if node.domain in STANDARD else None
        if folded is not None:
            self._enter(node, inputs, folded)
        elif reader is not None:
            self._enter(node, inputs, self._called(reader, inputs, attributes))
        else:
            self._by_definition(node, inputs)

    def _by_definition(self, node: "NodeProto", inputs: Sequence[Tensor | None]) -> None:
        """Read the nodes by which ONNX, or the model, defines an operator."""
        function, nodes = definitions.definition_of(self, node, inputs, self._functions)
        place = self.place
        self.expansion.read(nodes, place)
        if self.level >= MOST_LEVELS:
            raise FormatError(f"{place}: definitions of operators are nested too deeply", f"more than {MOST_LEVELS} levels")
        # a definition sees its own inputs only, unlike the body of control flow
        around, self.tensors, self.level = self.tensors, {}, self.level + 1
        given = [*inputs, *[None] * (len(function.input) - len(inputs))]
        absent = {name for name, value in zip(function.input, given, strict=False) if value is None}
        self.tensors |= {name: value for name, value in zip(function.input, given, strict=False) if value is not None}
        self._absent, outer = absent, self._absent
        self.read(nodes)
        self.place, self._absent = place, outer
        found = [self.tensor(name, "a result of the definition") for name, own in zip(function.output, node.output, strict=False) if own]
        self.tensors, self.level = around, self.level - 1
        self.tensors |= dict(zip([name for name in node.output if name], found, strict=False))

    def _called(self, reader: OpReader, inputs: list[Tensor | None], protos: Mapping[str, "AttributeProto"]) -> object:
        attributes = {name: attribute_value(proto, self.place) for name, proto in protos.items()}
        unknown = [n for n in attributes if n not in reader.attributes and n not in reader.inputs]
        if unknown:
            todo = f"known are {', '.join(sorted(reader.attributes)) or 'none'}"
            raise FormatError(f"{self.place}: unknown attributes", ", ".join(unknown), todo)
        given = list(inputs)
        for place, name in enumerate(reader.inputs):
            if name in attributes:  # a constant input that was an attribute in older versions
                # Inputs before this one that the node omits.
                given += [None] * (place + 1 - len(given))
                value = attributes.pop(name)
                given[place] = given[place] or Tensor(self, f"{self.place}.{name}", array=np.asarray(value))
        if len(given) > len(reader.inputs) and not reader.variadic:
            raise FormatError(f"{self.place}: too many inputs", f"{len(given)} of {len(reader.inputs)}")
        return reader.function(self, *given, **attributes)

    def _enter(self, node: "NodeProto", inputs: Sequence[Tensor | None], results: object) -> None:
        """Enter the results of a node by name, with the known parts of their types."""
        found = list(results) if isinstance(results, (list, tuple)) else [results]
        # An operator of MXNet with several results gives one symbol of several outputs.
        if isinstance(results, Symbol) and len(results.heads) > 1:
            found = list(results)
        if len([n for n in node.output if n]) > len(found):
            raise FormatError(f"{self.place}: it has too many outputs", f"{len(node.output)} of {len(found)}")
        # Every result depends on all inputs of the graph that some operand depends on.
        roots = frozenset().union(*[t.roots for t in inputs if t is not None])
        for name, result in zip(node.output, found, strict=False):
            if not name or result is None:
                continue
            if isinstance(result, Tensor):
                self.tensors[name] = result
            elif isinstance(result, Symbol):
                self.tensors[name] = self.computed(name, result, roots)
            else:
                self.tensors[name] = Tensor(self, name, array=np.asarray(result))

    def computed(self, name: str, symbol: Symbol, roots: frozenset[str]) -> Tensor:
        """A value that a symbol computes from inputs, whose names are the ``roots``."""
        head = symbol.heads[0]
        typed = self.type_of(head)
        shape, dtype = self._types.get(name, (None, None))
        if typed is not None:
            shape, dtype = typed.shape, typed.dtype
        made = Tensor(self, name, Symbol([head]), None, shape, dtype, roots)
        made.labels = self._labels.get(name, {})
        return made

    # symbols

    def variable(self, tensor: Tensor) -> Symbol:
        """A variable for a constant, which becomes a parameter."""
        assert tensor.array is not None
        name = tensor.name
        while name in self.params or name in self.inputs:
            name += "_"
        dtype = NAME_OF[tensor.array.dtype]
        # In MXNet's shapes () means "unknown".
        held = tensor.array if tensor.array.ndim else tensor.array.reshape(1)  # arrays of parameters have an axis
        made = variable(name, shape=held.shape, dtype=None if dtype == "float32" else dtype)
        self.params[name] = array(held, dtype=dtype)
        self._typed[made.heads[0]] = leaf(("onnx", name), held.shape, dtype)
        return made if tensor.array.ndim else NP.reshape(made.as_np_ndarray(), ())

    def constant(self, value: object, dtype: str | None = None) -> Tensor:
        """An array of this package's own as a value of the graph."""
        label = NameManager.current.get(None, "onnx_constant")
        return Tensor(self, label, array=np.asarray(value, None if dtype is None else NUMPY[dtype]))

    def type_of(self, head: Head) -> Node | None:
        """The type of an output of a node; None if it depends on unknown sizes."""
        # a stack, not recursion: graphs are deeper than Python's limit
        stack = [head.node]
        while stack:
            node = stack[-1]
            if node.is_variable or Head(node, 0) in self._typed or Head(node, 0) in self._untyped:
                stack.pop()
                continue
            waiting = [
                h.node for h in node.inputs if h not in self._typed and not h.node.is_variable and Head(h.node, 0) not in self._untyped
            ]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            self._type(node)
        return self._typed.get(head)

    def _type(self, node: SymbolNode) -> None:
        arrays = [self._typed.get(h) for h in node.inputs]
        known = [a for a in arrays if a is not None]
        if len(known) < len(arrays) or node.op is None or node.is_eager:
            self._untyped.add(Head(node, 0))
            return
        bound_op = node.bind(False)
        key = leaf(("key", 0), (6,), "uint64") if bound_op.draws else None
        for k, part in enumerate(apply_node(node, bound_op, known, key)):
            self._typed[Head(node, k)] = part


def _label(node: "NodeProto") -> str | None:
    """The name of a node of the symbol: the node's own, or that of its result."""
    return node.name or next((o for o in node.output if o), None)


def _type_of(info: "ValueInfoProto") -> tuple[Sizes | None, str | None]:
    """Shape and dtype of a declared value, None if they are unknown."""
    onnx = onnx_package("reading ONNX files")
    tensor = info.type.tensor_type
    shape: Sizes | None = None
    if tensor.HasField("shape"):
        shape = tuple(d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else None for d in tensor.shape.dim)
    try:
        dtype = NAME_OF.get(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)))
    except (KeyError, ValueError, TypeError):
        dtype = None
    return shape, dtype


def attribute_value(proto: "AttributeProto", place: str) -> object:
    """The value of an attribute: a number, a string, a list of them, an array or a graph.

    Raises
    ------
    FormatError
        If it is of another kind.
    """
    kinds = onnx_package("reading ONNX files").AttributeProto
    kind = proto.type
    if kind == kinds.TENSOR:
        return array_of(proto.t)
    if kind == kinds.STRING:
        return _text(proto.s, place)
    if kind == kinds.STRINGS:
        return [_text(s, place) for s in proto.strings]
    fields = {kinds.FLOAT: "f", kinds.INT: "i", kinds.GRAPH: "g", kinds.FLOATS: "floats", kinds.INTS: "ints", kinds.GRAPHS: "graphs"}
    if kind not in fields or proto.ref_attr_name:
        raise FormatError(f"{place}: an attribute is of an unsupported kind", proto.name)
    value = getattr(proto, fields[kind])
    return list(value) if kind in (kinds.FLOATS, kinds.INTS, kinds.GRAPHS) else value


def _text(data: bytes, place: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise FormatError(f"{place}: an attribute is not text", repr(data[:40])) from None
