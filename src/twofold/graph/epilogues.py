"""Epilogues of matrix products: what a backend's library can compute in the same call as the product.

| epilogue | results | instead of |
|---|---|---|
| ``bias`` | a product plus a vector along its last axis | a product, an addition |
| ``bias relu`` | the same, with negative elements set to 0 | a product, an addition, a maximum |
| ``sums`` | a matrix product, and the row sums of its left operand | a product, a sum: the gradients of a layer's weight and bias |
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ..dtype import FLOATS
from ..ops.primitive_arithmetic import add, maximum
from ..ops.primitive_reduce import matmul, sum
from ..ops.primitive_shape import permute_dims
from .ir import Application, Constant, Node, applies, is_const


class Epilogue(NamedTuple):
    """A product with what is computed in the same call: its name, nodes (the product first), and the steps that it replaces."""

    name: str
    nodes: tuple[Application, ...]
    steps: tuple[int, ...]


def find_epilogues(steps: Sequence[tuple[Application, ...]], outputs: Collection[Node], known: Collection[str]) -> list[Epilogue]:
    """The epilogues in a program, given the nodes of its steps. Each runs in place of the last step that it replaces."""
    reads = _Reads(steps, outputs)
    found: list[Epilogue] = []
    taken: set[int] = set()
    for t, nodes in enumerate(steps):
        if len(nodes) == 1 and applies(nodes[0], matmul) and nodes[0].dtype in FLOATS:
            found_here = _bias(reads, t, known) or ("sums" in known and _sums(reads, t)) or None
            if found_here is not None and taken.isdisjoint(found_here.steps):
                found.append(found_here)
                taken.update(found_here.steps)
    return found


class _Reads:
    """The readers of each node in a program, with their steps."""

    def __init__(self, steps: Sequence[tuple[Application, ...]], outputs: Collection[Node]) -> None:
        self.steps, self.outputs = steps, set(outputs)
        self.of: dict[Node, list[tuple[int, Application]]] = {}
        self.sums: dict[Node, int] = {}
        for t, nodes in enumerate(steps):
            if len(nodes) == 1 and _sums_rows(nodes[0]):
                self.sums[nodes[0].operands[0]] = t
            for n in nodes:
                for i in n.operands:
                    self.of.setdefault(i, []).append((t, n))

    def only(self, n: Node) -> tuple[int, Application] | None:
        """The only reader of a node, with its step; None if there are several, or if the node is a result of the program."""
        found = self.of.get(n, [])
        return found[0] if len(found) == 1 and n not in self.outputs else None


def _bias(reads: _Reads, t: int, known: Collection[str]) -> Epilogue | None:
    (product,) = reads.steps[t]
    reader = reads.only(product)
    if reader is None or not applies(reader[1], add) or reader[1].shape != product.shape:
        return None
    at, added = reader
    # with a batched right operand it is several matrix products; libraries add a bias to a single one
    if not _is_vector(next((i for i in added.operands if i is not product), None), product) or product.operands[1].shape[:-2]:
        return None
    if reads.steps[at] == (added,) and "bias" in known:
        return Epilogue("bias", (product, added), (t, at))
    above = reads.only(added)
    if "bias relu" in known and above is not None and reads.steps[at] == (added, above[1]) and _is_relu(above[1]):
        return Epilogue("bias relu", (product, added, above[1]), (t, at))
    return None


def _is_vector(bias: Node | None, product: Application) -> bool:
    """Whether a node is a vector along the last axis of a product of two or more axes, in its dtype."""
    meant = bias is not None and bias.dtype == product.dtype and bias.shape == product.shape[-1:] and not is_const(bias)
    return meant and len(product.shape) > 1 and all(i.dtype == product.dtype and len(i.shape) > 1 for i in product.operands)


def _is_relu(n: Application) -> bool:
    return applies(n, maximum) and any(isinstance(i, Constant) and i.number == 0 for i in n.operands)


def _sums(reads: _Reads, t: int) -> Epilogue | None:
    (product,) = reads.steps[t]
    left, right = product.operands
    if (
        not applies(left, permute_dims)
        or left.sig.params["axes"] != (1, 0)
        or len(right.shape) != 2
        or not left.dtype == right.dtype == product.dtype
    ):
        return None
    at = reads.sums.get(left.operands[0])
    if at is None:
        return None
    (total,) = reads.steps[at]
    first, last = sorted((t, at))
    (early,) = reads.steps[first]
    # both results come with the later of the two steps: nothing may read the earlier one before that
    if total.dtype != product.dtype or any(u <= last for u, _ in reads.of.get(early, ())):
        return None
    return Epilogue("sums", (product, total), (t, at))


def _sums_rows(n: Application) -> bool:
    """Whether a node sums a matrix over its first axis."""
    is_vector = applies(n, sum) and len(n.shape) == 1
    return is_vector and len(n.operands[0].shape) == 2 and n.sig.params["axis"] in (0, (0,), -2, (-2,))
