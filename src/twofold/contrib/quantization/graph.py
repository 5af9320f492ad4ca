"""Replaces nodes of a symbol by their quantized forms, with the nodes between that quantize and dequantize."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ...dtype import MXNET_CODES
from ...opdef import NAMES, OPS, Op
from ...opdef.facets.symbolic import Quantizes
from ...ops import quantization
from ...symbol.node import VARIABLE, Head, SymbolNode, topological
from ...symbol.rebuild import copied

Triple = tuple[Head, Head, Head]


#: The 8-bit forms of operators, as these declare it.
FORMS: dict[Op, tuple[Op, Quantizes]] = {q.op: (op, q) for op in OPS.values() if (q := op.symbolic.quantizes) is not None}


class Quantized(NamedTuple):
    """A quantized graph."""

    heads: list[Head]
    #: Names of the parameters that are stored quantized.
    params: list[str]
    #: The nodes that need the range of a value, by the value's name: nodes that quantize it while running, and nodes that compute it.
    inputs: dict[str, SymbolNode]
    #: The names of sums of products, which are put into 8 bits by their range in each run, unless calibration gives them one.
    sums: list[str]


def quantized_graph(
    heads: Sequence[Head], params: Collection[str], excluded: Collection[str], excluded_ops: Collection[str], dtype: str, smart: bool
) -> Quantized:
    """The quantized form of a graph.

    Parameters
    ----------
    heads
        The graph.
    params
        Names of the variables that are stored quantized where only quantized operators read them.
    excluded, excluded_ops
        Names of nodes and of operators that do not change.
    dtype
        The dtype of quantized data: ``"int8"``, ``"uint8"`` or ``"auto"``.
    smart
        Whether to quantize cheap operators only between convolutions and fully connected layers.
    """
    order = topological(heads)
    operators = {NAMES[n].title for n in excluded_ops if n in NAMES}
    able = {n for n in order if n.name not in excluded and n.op_name not in operators and _has_form(n)}
    build = _Build(_between(order, able) if smart else able, {*params}, dtype)
    for node in order:
        build.add(node)
    return Quantized([build.plain(h) for h in heads], build.offline, build.inputs, build.sums)


def form_of(node: SymbolNode) -> Quantizes | None:
    """How a node's operator is quantized; None if it has no 8-bit form."""
    found = None if node.op is None else FORMS.get(node.op)
    return None if found is None else found[1]


def _has_form(node: SymbolNode) -> bool:
    form = None if node.op is None or node.special is not None else FORMS.get(node.op)
    if form is None:
        return False
    only = form[1].only
    return only is None or str(node.bind().params[only[0]]) in only[1]


def _between(order: Sequence[SymbolNode], able: set[SymbolNode]) -> set[SymbolNode]:
    """Convolutions, fully connected layers, and the nodes on paths between them if all nodes of the path have a quantized form."""
    leads = {n for n in able if n.op is not None and FORMS[n.op][1].leads}
    # `order` is topological: one pass forwards reaches all readers, one pass backwards all inputs
    after, before = set(leads), set(leads)
    for node in order:
        if node in able and any(h.node in after for h in node.inputs):
            after.add(node)
    for node in reversed(order):
        if node in before:
            before.update(h.node for h in node.inputs if h.node in able)
    return leads | (after & before)


class _Build:
    """The new graph so far: for each old output its float value, its quantized one, or both."""

    def __init__(self, chosen: set[SymbolNode], params: set[str], dtype: str) -> None:
        self.chosen, self.params, self.dtype = chosen, params, dtype
        self.offline: list[str] = []
        self.inputs: dict[str, SymbolNode] = {}
        self.sums: list[str] = []
        self._plain: dict[Head, Head] = {}
        self._triples: dict[Head, Triple] = {}
        self._variables: dict[SymbolNode, Head] = {}

    def add(self, node: SymbolNode) -> None:
        """Add a node, whose inputs were added."""
        if node.is_variable:
            self._variables[node] = Head(copied(node, ()), 0)
        elif node in self.chosen:
            self._triples[Head(node, 0)] = self._quantized(node)
        else:
            new = copied(node, tuple([self.plain(h) for h in node.inputs]))
            self._plain.update({Head(node, k): Head(new, k) for k in range(node.count)})

    def plain(self, head: Head) -> Head:
        """The float value of an old output."""
        if head.node.is_variable:
            return self._variables[head.node]
        if head not in self._plain:
            name = f"{head.node.name}_dequantize"
            self._plain[head] = Head(SymbolNode(quantization.dequantize.title, name, {}, self._triples[head]), 0)
        return self._plain[head]

    def _triple(self, head: Head) -> Triple:
        """The quantized value of an old output, with its range."""
        if head not in self._triples:
            name = head.node.output_name(head.place)
            self._triples[head] = self._stored(name) if head.node.is_variable and name in self.params else self._quantize(head, name)
        return self._triples[head]

    def _stored(self, name: str) -> Triple:
        self.offline.append(name)
        code = {"__dtype__": str(MXNET_CODES["int8"])}
        ends = [Head(SymbolNode(VARIABLE, f"{name}_quantize_{end}", {}), 0) for end in ("min", "max")]
        return Head(SymbolNode(VARIABLE, f"{name}_quantize", code), 0), ends[0], ends[1]

    def _quantize(self, head: Head, name: str) -> Triple:
        node = SymbolNode(quantization.quantize_v2.title, f"{name}_quantize", {"out_type": self.dtype}, [self.plain(head)])
        # Without calibration the node computes the range of the values in each run.
        self.inputs[name] = node
        return Head(node, 0), Head(node, 1), Head(node, 2)

    def _quantized(self, node: SymbolNode) -> Triple:
        assert node.op is not None
        op, form = FORMS[node.op]
        places = range(len(node.inputs)) if form.places is None else form.places
        triples: Mapping[int, Triple] = {k: self._triple(node.inputs[k]) for k in places}
        # MXNet's quantized operators take all values first, then the ends of the ranges of those that are quantized
        values = [triples[k][0] if k in triples else self.plain(h) for k, h in enumerate(node.inputs)]
        ends = [end for triple in triples.values() for end in triple[1:]]
        new = SymbolNode(op.title, f"quantized_{node.name}", node.attrs, [*values, *ends])
        # Sums of products are int32; the next quantized operator reads 8 bits.
        if form.wide:
            out = {"out_type": self.dtype}
            new = SymbolNode(quantization.requantize.title, f"requantize_{node.name}", out, [Head(new, k) for k in range(3)])
            self.sums.append(node.output_name(0))
        elif form.calibrated:
            self.inputs[node.output_name(0)] = new
        return Head(new, 0), Head(new, 1), Head(new, 2)


def calibrated_value(node: SymbolNode) -> str | None:
    """The name of the value of the float network whose range a node of the quantized one needs; None if it needs none."""
    if node.op_name == quantization.quantize_v2.title:
        return node.name.removesuffix("_quantize")
    if node.op_name == quantization.requantize.title:
        return f"{node.name.removeprefix('requantize_')}_output"
    quantizes = None if node.op is None else node.op.symbolic.quantizes
    if quantizes is not None and quantizes.calibrated:
        return f"{node.name.removeprefix('quantized_')}_output"
    return None
