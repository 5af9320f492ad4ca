"""Writes the typed graph of a symbol, node by node: an operator by its rule, or its definition where it has none."""

from collections.abc import Iterable, Mapping, Sequence

from ...errors import MXNetError, OperatorError, ParameterError
from ...graph.build import definition_of, item
from ...graph.ir import Application, Constant, Leaf, Node, applies, leaf, topological
from ...ops.custom import user_forward
from ...ops.onnx_forms import loading as loading
from ...symbol.inference import Inference
from ...symbol.node import Head, SymbolNode
from ...symbol.node import topological as symbol_order
from ...symbol.replay import Replay
from .graph_writer import GraphWriter, OnnxValue

Types = Mapping[str, tuple[tuple[int, ...], str]]


def inferred(heads: Sequence[Head], given: Types) -> Inference:
    """The types of all values of a graph.

    Raises
    ------
    MXNetError
        If the given shapes contradict each other or the graph.
    ParameterError
        If shapes are missing, or a shape depends on values.
    """
    found = Inference(heads, {n: t[0] for n, t in given.items()}, {n: t[1] for n, t in given.items()}).run()
    unknown = [n for n in found.order if n.is_variable and not (found.known[n][0].is_shaped and found.known[n][0].dtype)]
    if unknown:
        names = ", ".join(n.name for n in unknown[:5])
        raise ParameterError("export_model: shapes of inputs are not known", names, "pass in_shapes, or add the arrays to params")
    eager = sorted(n.name for n in found.open_nodes())
    if eager:
        what = "export_model: the shape of a value depends on the values of inputs"
        raise OperatorError(what, ", ".join(eager[:5]), "export the part of the symbol in front of it")
    return found


def written(heads: Sequence[Head], types: Types, opset: int) -> tuple[GraphWriter, list[str]]:
    """The ONNX nodes of a graph, and the names of the values of its outputs.

    Parameters
    ----------
    heads
        The graph.
    types
        Shapes and dtypes of variables by name; those of the others are inferred.
    opset
        The version of ONNX's operators.

    Raises
    ------
    OperatorError
        If an operator has no counterpart in ONNX; the message names the node.
    """
    inference = inferred(heads, types)
    order = symbol_order(heads)
    values: dict[Head, Node] = {}
    for n in order:
        if n.is_variable:
            shape, dtype = _type_of(inference, n)
            values[Head(n, 0)] = leaf(("onnx", n.name), shape, dtype)
    replay = Replay(inference, False, dict(values)).run(order)
    trace = _Trace(GraphWriter(opset))
    # Variables are known before any node is written: `OnnxValue` names the inputs and parameters of the model.
    for head, typed in values.items():
        trace.known[typed] = OnnxValue(head.node.name, typed.shape, typed.dtype)
    for n in order:
        if not n.is_variable:
            trace.write(n, [replay.values[Head(n, k)] for k in range(n.visible) if Head(n, k) in replay.values])
    return _with_names(trace, heads, order, replay)


def _type_of(inference: Inference, variable: SymbolNode) -> tuple[tuple[int, ...], str]:
    known = inference.known[variable][0]
    return tuple(n for n in known.shape or () if n is not None), str(known.dtype)


def _with_names(trace: "_Trace", heads: Sequence[Head], order: Iterable[SymbolNode], replay: Replay) -> tuple[GraphWriter, list[str]]:
    """The graph in which values have the names of the symbol's nodes; outputs of an input or of a parameter are copied."""
    writer = trace.writer
    made = {name for n in writer.nodes for name in n.outputs} | set(writer.constants)
    taken = {n.name for n in order if n.is_variable}
    names: dict[str, str] = {}
    for n in order:
        for k in range(0 if n.is_variable else n.visible):
            found, wanted = trace.known[replay.values[Head(n, k)]].name, shown_name(n, k)
            # the first node that has a value names it; inputs and parameters keep their own names
            if found in made and found not in names and wanted not in taken:
                names[found] = wanted
                taken.add(wanted)
    outputs: list[str] = []
    for head in heads:
        found = trace.known[replay.values[head]]
        wanted = shown_name(head.node, head.place)
        if names.get(found.name) != wanted or wanted in outputs:
            # two outputs are one value, or the output is an input
            writer.source, writer.prefix = head.node.name, head.node.name
            copy = writer.Identity(found)
            names[copy.name] = wanted = wanted if wanted not in taken and wanted not in outputs else f"{wanted}_output{len(outputs)}"
            taken.add(wanted)
        outputs.append(wanted)
    return writer.renamed(names).without_unused(outputs), outputs


def shown_name(node: SymbolNode, place: int) -> str:
    """The name of an output in the model: as in MXNet, that of the node if it has one output."""
    return node.output_name(place).removesuffix("_output")


class _Trace:
    """Writes typed nodes, each once."""

    def __init__(self, writer: GraphWriter) -> None:
        self.writer = writer
        #: The values written so far; for an application with several results, each of them.
        self.known: dict[Node, OnnxValue] = {}
        self._rule_results: dict[Node, tuple[OnnxValue, ...] | None] = {}

    def write(self, node: SymbolNode, results: Sequence[Node]) -> None:
        """Write what a node of a symbol computes."""
        self.writer.source, self.writer.prefix = f"node {node.name} ({node.op_name})", node.name
        try:
            self._write(results)
        except OperatorError:
            raise
        except MXNetError as error:
            raise type(error)(f"export_model: {self.writer.source}: {error.what}", error.given, error.todo) from error

    def _write(self, results: Iterable[Node]) -> None:
        for node in topological(results, until=self.known):
            if node not in self.known:
                self._one(node)

    def _one(self, node: Node) -> None:
        if isinstance(node, Constant):
            self.known[node] = OnnxValue("", (), node.dtype, node.number)
        elif isinstance(node, Leaf):
            self.known[node] = OnnxValue("", node.shape, node.dtype)  # a random key, which rules of operators that draw leave unread
        elif applies(node, item):
            self.known[node] = self._part(node)
        elif not isinstance(node, Application):
            raise OperatorError(f"export_model: {self.writer.source} cannot be written in ONNX", repr(node), "export a graph without it")
        elif len(node.parts) > 1:
            self._rule_results[node] = self._by_rule(node)
        else:
            found = self._by_rule(node)
            self.known[node] = self._typed(found[0], node) if found is not None else self._defined(node, 0, node)

    def _part(self, node: Application) -> OnnxValue:
        """One of several results."""
        (owner,), place = node.operands, node.bound_op.params["place"]
        assert isinstance(owner, Application)
        found = self._rule_results[owner]
        # a rule may leave out results that nothing reads
        return self._typed(found[place], node) if found is not None and place < len(found) else self._defined(owner, place, node)

    def _by_rule(self, node: Application) -> tuple[OnnxValue, ...] | None:
        """The values that the operator's rule writes; None if it has no rule, or none for these parameters."""
        op = node.bound_op.op
        if op.symbolic.onnx_rule is None or (op.primitive and node.body):  # a primitive with a body has been changed by a convention
            return None
        # the constants of a rule that gives up are dropped with the nodes that nothing reads
        found = op.symbolic.onnx_rule(self.writer, node, *[None if i is None else self.known[i] for i in node.inputs])
        return found if found is None or type(found) is tuple else (found,)

    def _defined(self, node: Application, place: int, result: Node) -> OnnxValue:
        """A result of the operator's definition.

        Raises
        ------
        OperatorError
            If it is a primitive without one.
        """
        body = (definition_of(node),) if node.bound_op.op.execution.definition_rule is not None else node.body
        if not body:
            what = f"export_model: {self.writer.source} cannot be written in ONNX"
            todo = "replace it by other operators, or export the part of the symbol in front of it"
            # users know their operator by the type under which they have registered it
            operation = node.bound_op.params["label"] if applies(node, user_forward) else node.bound_op.op.name
            raise OperatorError(what, f"the operation {operation}", todo)
        self._write([body[place]])
        return self._typed(self.known[body[place]], result)

    def _typed(self, value: OnnxValue, node: Node) -> OnnxValue:
        """The value with the type that the node has."""
        if value.number is not None or value.dtype != node.dtype:
            (value,) = self.writer.in_dtype(node.dtype, value)
        return value._replace(shape=node.shape, dtype=node.dtype)
