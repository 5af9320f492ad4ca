"""What monitors see of backward: the gradient that each node passes to each of its inputs, in MXNet's order and under its names."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, reduce
from operator import add
from typing import NamedTuple, TypeAlias

from ..dtype import COMPLEX, is_float
from ..executor.part import Internal
from ..graph.build import G
from ..graph.gradient import accumulate
from ..graph.ir import Node, leaf, post_order, topological
from ..graph.rewrite import substitute
from ..graph.stabilise import stabilise
from .monitored_names import monitored_gradients
from .node import Head, SymbolNode
from .replay import Replay


class _Sum(NamedTuple):
    """The gradient of a value: the sum of what its readers pass to it."""

    head: Head


class _Given(NamedTuple):
    """The gradient of one of the graph's outputs, which the caller passes."""

    place: int


#: A node of the gradient graph as MXNet builds it. A symbol's node stands for its backward.
_Entry: TypeAlias = SymbolNode | _Sum | _Given


class Backward:
    """Backward of one node, apart from the other nodes.

    Parameters
    ----------
    node, number
        The node, and a number of its own.
    arrays
        Its inputs as typed nodes.
    replay
        Applies the node.
    read
        The outputs of nodes that are read.

    Attributes
    ----------
    ends
        Leaves for the node's inputs.
    douts
        Leaves for the gradients of its outputs.
    """

    def __init__(self, node: SymbolNode, number: int, arrays: Sequence[Node], replay: Replay, read: Collection[Head]) -> None:
        self.ends = [leaf(("input", number, k), a.shape, a.dtype, is_float(a.dtype) or a.dtype in COMPLEX) for k, a in enumerate(arrays)]
        outputs = enumerate(replay.apply(node, self.ends))
        self._outputs = {Head(node, k): out for k, out in outputs if out.tracked}
        self.douts = {h: leaf(("dout", number, h.place), out.shape, out.dtype) for h, out in self._outputs.items() if h in read}

    @cached_property
    def grads(self) -> list[Node | None]:
        """The gradients of its inputs, which depend on the leaves; None for an input without one."""
        found = accumulate(list(self._outputs.values()), [self.douts.get(h) for h in self._outputs], stop=self.ends)
        return [found.get(end) for end in self.ends]

    @property
    def heads_read(self) -> list[Head]:
        """The outputs whose gradients it reads; a loss reads none."""
        below = set(topological([g for g in self.grads if g is not None]))
        return [head for head, dout in self.douts.items() if dout in below]


class GradientGraph:
    """The gradients inside a graph.

    Parameters
    ----------
    heads, given
        The graph's outputs, and leaves for their gradients.
    values
        The graph's values as typed nodes.
    backward
        Backward of each node, in topological order.
    """

    def __init__(self, heads: Sequence[Head], given: Sequence[Node], values: Mapping[Head, Node], backward: Mapping[SymbolNode, Backward]):
        self.given, self.values, self.backward = given, values, backward
        self._readers: dict[Head, list[tuple[_Entry, int]]] = {}
        for node in backward:
            for k, head in enumerate(node.inputs):
                self._readers.setdefault(head, []).append((node, k))
        for k, head in enumerate(heads):
            self._readers.setdefault(head, []).append((_Given(k), 0))
        self._found: dict[_Entry, list[Node | None]] = {}

    def internals(self, variables: Iterable[SymbolNode]) -> list[Internal]:
        """What a monitor sees, if the gradients of some variables are wanted."""
        shown: list[tuple[str, Node]] = []
        for entry in post_order([_Sum(Head(v, 0)) for v in variables], self._inputs_of):
            self._found[entry] = self._gradients(entry)
            shown += self._shown(entry)
        values = stabilise([G.conjugate(value) if value.dtype in COMPLEX else value for _, value in shown])
        return [Internal(name, value, False) for (name, _), value in zip(shown, values, strict=True)]

    def _inputs_of(self, entry: _Entry) -> list[_Entry]:
        if isinstance(entry, _Given):
            return []
        if isinstance(entry, _Sum):
            readers = self._readers.get(entry.head, [])
            stopping = [(r, k) for r, k in readers if isinstance(r, SymbolNode) and self.backward[r].grads[k] is None]
            passing = [pair for pair in readers if pair not in stopping]
            # MXNet visits the last reader first, and leaves out one that passes nothing beside others that do
            return list(dict.fromkeys(reader for reader, _ in reversed(passing or readers)))
        return [_Sum(head) for head in self.backward[entry].heads_read]

    def _gradients(self, entry: _Entry) -> list[Node | None]:
        """The gradients that an entry computes."""
        if isinstance(entry, _Given):
            given = self.given[entry.place]
            return [G.conjugate(given) if given.dtype in COMPLEX else given]
        if isinstance(entry, _Sum):
            parts = self._parts(entry)
            return [reduce(add, parts) if parts else None]
        backward = self.backward[entry]
        at: dict[Node, Node] = dict(zip(backward.ends, [self.values[h] for h in entry.inputs], strict=True))
        for head, dout in backward.douts.items():
            found = self._found.get(_Sum(head), [None])[0]
            at[dout] = _zeros(dout) if found is None else found
        new = iter(substitute([g for g in backward.grads if g is not None], at))
        return [None if g is None else next(new) for g in backward.grads]

    def _parts(self, entry: _Sum) -> list[Node]:
        """What the readers of a value pass to it, without zeros."""
        found = [self._found[reader][k] for reader, k in self._readers.get(entry.head, ()) if reader in self._found]
        return [g for g in found if g is not None]

    def _shown(self, entry: _Entry) -> Iterable[tuple[str, Node]]:
        (first, *_) = grads = self._found[entry]
        if isinstance(entry, _Given):
            return [(f"_head_grad_{entry.place}_id_output", first)] if first is not None else []
        if isinstance(entry, _Sum):
            return [("sum_grad_output", first)] if first is not None and len(self._parts(entry)) > 1 else []
        arrays = [g if g is not None else _zeros(self.values[h]) for g, h in zip(grads, entry.inputs, strict=True)]
        return zip(monitored_gradients(entry), arrays, strict=False)


def _zeros(node: Node) -> Node:
    return G.full(shape=node.shape, value=0, dtype=node.dtype)


def backwards(
    nodes: Iterable[SymbolNode], heads: Iterable[Head], values: Mapping[Head, Node], replay: Replay
) -> dict[SymbolNode, Backward]:
    """Backward of each node; ``replay`` has drawn no random keys yet."""
    nodes = list(nodes)
    read = {*heads, *(h for n in nodes for h in n.inputs)}
    return {n: Backward(n, number, [values[h] for h in n.inputs], replay, read) for number, n in enumerate(nodes)}
