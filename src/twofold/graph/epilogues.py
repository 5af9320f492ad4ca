"""What follows from a matrix product and can be computed with it, where the backend's library does so.

| epilogue | results | instead of |
|---|---|---|
| ``bias`` | a product plus a vector for its last axis | a product, an addition |
| ``relu`` | the same, and 0 where that is less | a product, an addition, a maximum |
| ``sums`` | a product of two matrices, and the sums of the left one's rows | a product, a sum: gradients of a layer's weight and bias |
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ..dtype import FLOATS
from .ir import Node, is_const


class Ending(NamedTuple):
    """An epilogue: its name, its nodes (the product first), and the numbers of the steps that it replaces."""

    name: str
    nodes: tuple[Node, ...]
    steps: tuple[int, ...]


def endings(steps: Sequence[tuple[Node, ...]], outputs: Collection[Node], known: Collection[str]) -> list[Ending]:
    """The epilogues in a program, given the nodes of its steps; each takes the place of the last step that it replaces."""
    reads = _Reads(steps, outputs)
    found: list[Ending] = []
    taken: set[int] = set()
    for t, nodes in enumerate(steps):
        if len(nodes) == 1 and nodes[0].sig is not None and nodes[0].sig.op.name == "matmul" and nodes[0].dtype in FLOATS:
            ending = _bias(reads, t, known) or ("sums" in known and _sums(reads, t)) or None
            if ending is not None and taken.isdisjoint(ending.steps):
                found.append(ending)
                taken.update(ending.steps)
    return found


class _Reads:
    """Who reads what in a program: for each node the numbers of steps and the nodes."""

    def __init__(self, steps: Sequence[tuple[Node, ...]], outputs: Collection[Node]) -> None:
        self.steps, self.outputs = steps, set(outputs)
        self.of: dict[Node, list[tuple[int, Node]]] = {}
        self.sums: dict[Node, int] = {}
        for t, nodes in enumerate(steps):
            if len(nodes) == 1 and _sums_rows(nodes[0]):
                self.sums[nodes[0].inputs[0]] = t  # type: ignore[index]
            for n in nodes:
                for i in n.inputs:
                    if i is not None:
                        self.of.setdefault(i, []).append((t, n))

    def only(self, n: Node) -> tuple[int, Node] | None:
        """The one node that reads another, with its step; None if it is a result or has several readers."""
        found = self.of.get(n, [])
        return found[0] if len(found) == 1 and n not in self.outputs else None


def _bias(reads: _Reads, t: int, known: Collection[str]) -> Ending | None:
    (product,) = reads.steps[t]
    reader = reads.only(product)
    if reader is None or reader[1].sig is None or reader[1].sig.op.name != "add" or reader[1].shape != product.shape:
        return None
    at, added = reader
    if not _is_vector(next((i for i in added.inputs if i is not product), None), product) or product.inputs[1].shape[:-2]:  # type: ignore[union-attr]
        return None
    if reads.steps[at] == (added,) and "bias" in known:
        return Ending("bias", (product, added), (t, at))
    above = reads.only(added)
    if "relu" in known and above is not None and reads.steps[at] == (added, above[1]) and _is_relu(above[1]):
        return Ending("relu", (product, added, above[1]), (t, at))
    return None


def _is_vector(bias: Node | None, product: Node) -> bool:
    """Whether a node is a vector for the last axis of a product of two or more axes, in its dtype."""
    meant = bias is not None and bias.dtype == product.dtype and bias.shape == product.shape[-1:] and not is_const(bias)
    return meant and len(product.shape) > 1 and all(i is not None and i.dtype == product.dtype and len(i.shape) > 1 for i in product.inputs)


def _is_relu(n: Node) -> bool:
    has_zero = any(i is not None and i.value is not None and is_const(i, 0) for i in n.inputs)
    return has_zero and n.sig is not None and n.sig.op.name == "maximum"


def _sums(reads: _Reads, t: int) -> Ending | None:
    (product,) = reads.steps[t]
    left, right = product.inputs
    assert left is not None
    assert right is not None
    is_turned = left.sig is not None and left.sig.op.name == "permute_dims" and left.sig.params["axes"] == (1, 0)
    if not is_turned or len(right.shape) != 2 or not left.dtype == right.dtype == product.dtype:
        return None
    at = reads.sums.get(left.inputs[0])  # type: ignore[union-attr, arg-type]
    if at is None:
        return None
    (total,) = reads.steps[at]
    first, last = sorted((t, at))
    (early,) = reads.steps[first]
    if total.dtype != product.dtype or any(u <= last for u, _ in reads.of.get(early, ())):
        return None
    return Ending("sums", (product, total), (t, at))


def _sums_rows(n: Node) -> bool:
    """Whether a node sums a matrix over its first axis."""
    if n.sig is None or n.sig.op.name != "sum" or len(n.shape) != 1:
        return False
    return len(n.inputs[0].shape) == 2 and n.sig.params["axis"] in (0, (0,), -2, (-2,))  # type: ignore[union-attr]
