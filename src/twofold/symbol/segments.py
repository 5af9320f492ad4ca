"""Graphs in which the shape of some value depends on values, or some value is sparse: run in segments.

A symbol with an operator such as ``boolean_mask``, or with one that works on the stored elements of sparse arrays, cannot be typed as a
whole. It is cut at these operators: between two cuts is a graph of dense arrays with known shapes, which is recorded, compiled and
differentiated as usual; the operators at the cuts run on arrays.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from ..device import Device
from ..executor.operation import Recordable
from ..imperative.cell import Content, wrap
from ..imperative.dynamic_shapes import run_eagerly
from ..imperative.storage import array_of, densified, results_of
from ..imperative.tape import tls
from ..ndarray.array import NDArray
from ..program.cache import Cache, CacheEntry
from .inference import infer_all
from .node import VARIABLE, Head, SymbolNode, topological
from .rebuild import copied
from .replay import Replayer
from .storage_types import storage_types


def needs_segments(order: Iterable[SymbolNode]) -> bool:
    """Whether some node's shape depends on values."""
    return any(n.is_eager for n in order)


def function_of(name: str, heads: Sequence[Head], mirror: bool = False) -> "GraphFunction":
    """A graph as a recordable function of the arrays of its variables; in segments if a shape depends on values."""
    return SegmentedGraph(name, heads, mirror) if needs_segments(topological(heads)) else Recordable(name, Replayer(heads), mirror)


class ByStorage:
    """A graph as a recordable function of arrays of any storage types: `SegmentedGraph`, for each combination of these and of shapes.

    Parameters
    ----------
    name, heads, mirror
        As for `SegmentedGraph`.
    """

    def __init__(self, name: str, heads: Sequence[Head], mirror: bool = False) -> None:
        self._given, self._variables = (name, tuple(heads), mirror), [n for n in topological(heads) if n.is_variable]
        self._functions = Cache(COMBINATIONS)

    def __call__(self, arrays: Sequence[NDArray], device: Device) -> list[NDArray]:
        """Compute the outputs, as arrays, and write the states among the arrays."""
        key = tuple([(a.stype, a.shape, a._dtype) for a in arrays])
        segmented = self._functions.get_or(key, lambda: self._segmented(arrays))
        return [array_of(c) for c in segmented(arrays, device)]

    def _segmented(self, arrays: Sequence[NDArray]) -> "SegmentedGraph":
        name, heads, mirror = self._given
        named = {n.name: a for n, a in zip(self._variables, arrays, strict=True)}
        # Storage rules look at shapes, so these must be inferred first.
        inference = infer_all(heads, {n: a.shape for n, a in named.items()}, {n: a._dtype for n, a in named.items()}, name)
        return SegmentedGraph(name, heads, mirror, storage_types(inference, {n: a.stype for n, a in named.items()}).stored)


#: The number of combinations of operands for which `ByStorage` holds a function.
COMBINATIONS = 8


class SegmentedGraph(CacheEntry):
    """A graph as a recordable function of arrays, in segments; the interface is that of `executor.operation.Recordable`.

    Parameters
    ----------
    name
        Its name in messages.
    heads
        The outputs.
    mirror
        See `Recordable`.
    stored
        The operators that work on the stored elements of sparse arrays; see `storage_types`.
    """

    def __init__(self, name: str, heads: Sequence[Head], mirror: bool = False, stored: Collection[SymbolNode] = frozenset()) -> None:
        self.heads, self._stored = tuple(heads), stored
        order = topological(self.heads)
        self.variables = [n for n in order if n.is_variable]
        segments = _groups([n for n in order if not n.is_variable], self._is_cut)
        place = {n: k for k, nodes in enumerate(segments) for n in nodes}
        given_away = {*self.heads, *(h for n in order for h in n.inputs if place.get(h.node) != place[n])}
        self._segments: list[_Segment | SymbolNode] = []
        for nodes in segments:
            if self._is_cut(nodes[0]):
                self._segments += nodes
            else:
                self._segments.append(_Segment(f"{name}, segment {len(self._segments)}", nodes, given_away, mirror))

    def __call__(self, cells: Sequence[NDArray], device: Device) -> list[Content]:
        """Compute the outputs, as contents of arrays, and write the states among the arrays."""
        values: dict[Head, NDArray] = {Head(v, 0): cell for v, cell in zip(self.variables, cells, strict=True)}
        for segment in self._segments:
            if isinstance(segment, _Segment):
                # A segment is compiled for dense arrays, so it reads the dense form of a sparse value.
                results = segment.function([densified(values[h]) for h in segment.reads], device)
                values |= {h: wrap(NDArray, c) for h, c in zip(segment.makes, results, strict=True)}
            else:
                arrays = self._at_cut(segment, [values[h] for h in segment.inputs], device)
                values |= {Head(segment, k): a for k, a in enumerate(arrays)}
        return [values[h]._content for h in self.heads]

    def _is_cut(self, node: SymbolNode) -> bool:
        return node.is_eager or node in self._stored

    def _at_cut(self, node: SymbolNode, inputs: Sequence[NDArray], device: Device) -> list[NDArray]:
        """The results of an operator at a cut."""
        args = [*node.operands(inputs), *node.scalars]
        if node not in self._stored:
            return [wrap(NDArray, c) for c in run_eagerly(node.bind(tls.training), args, device)]
        return results_of(node.bind_stored(tls.training), args, device)


class _Segment:
    """Nodes with known shapes between two cuts, as a function.

    Attributes
    ----------
    reads, makes
        The values of the whole graph that the function takes, and those that it gives.
    """

    def __init__(self, name: str, nodes: Sequence[SymbolNode], given_away: set[Head], mirror: bool) -> None:
        new: dict[Head, Head] = {}
        own = set(nodes)
        for head in dict.fromkeys(h for n in nodes for h in n.inputs if h.node not in own):
            # variables are identified by name, so an inner value gets a name that no variable has
            is_variable = head.node.is_variable
            new[head] = head if is_variable else Head(SymbolNode(VARIABLE, f"({head.node.output_name(head.place)})", {}), 0)
        for node in nodes:
            copy = copied(node, tuple(new[h] for h in node.inputs))
            new |= {Head(node, k): Head(copy, k) for k in range(node.count)}
        self.makes = [h for n in nodes for k in range(n.count) if (h := Head(n, k)) in given_away]
        replayer = Replayer([new[h] for h in self.makes])
        outside: Mapping[SymbolNode, Head] = {v.node: h for h, v in new.items() if v.node.is_variable}
        self.reads = [outside[v] for v in replayer.variables]
        self.function = Recordable(name, replayer, mirror)


def _groups(operators: Sequence[SymbolNode], is_cut: Callable[[SymbolNode], bool]) -> list[list[SymbolNode]]:
    """The nodes in groups, each reading only from earlier ones and itself: segments and cuts in turn."""
    # Even numbers for segments, odd ones for the cuts that follow them. A node gets the smallest number that its inputs allow: segments are
    # then as large as possible, and few.
    number: dict[SymbolNode, int] = {}
    groups: dict[int, list[SymbolNode]] = {}
    for node in operators:
        latest = max((number.get(h.node, 0) for h in node.inputs), default=0)
        number[node] = latest + (latest % 2 != is_cut(node))
        groups.setdefault(number[node], []).append(node)
    return [groups[k] for k in sorted(groups)]


#: A graph as a recordable function of arrays; see `function_of`.
GraphFunction = Recordable | SegmentedGraph
