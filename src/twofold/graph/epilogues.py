"""Epilogues of matrix products and convolutions: operations that a backend can compute in the same call as the product.

| epilogue | results | instead of |
|---|---|---|
| ``bias`` | a product plus a vector along its last axis | a product, an addition |
| ``bias relu`` | the same, with negative elements set to 0 | a product, an addition, a maximum |
| ``sums`` | a matrix product, and the row sums of its left operand | a product, a sum: the gradients of a layer's weight and bias |
| ``kernel`` | an element-wise kernel applied to a convolution's result, which has no other reader | a convolution, a kernel |
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from ..dtype import FLOATS
from ..ops.primitive_arithmetic import add, maximum
from ..ops.primitive_convolve import convolve, convolve_packed
from ..ops.primitive_reduce import matmul, sum
from ..ops.primitive_shape import permute_dims
from .ir import Application, Constant, Node, applies, is_const


class Epilogue(NamedTuple):
    """A product with its epilogue: its name, nodes (the product first), and the steps that these come from."""

    name: str
    nodes: tuple[Application, ...]
    steps: tuple[int, ...]


def find_epilogues(
    steps: Sequence[tuple[Application, ...]], outputs: Collection[Node], known: Collection[str], takes: Callable[[Application], bool]
) -> list[Epilogue]:
    """The epilogues in a program, given the nodes of its steps. An epilogue runs just before the remaining nodes of its last step.

    Parameters
    ----------
    steps, outputs
        The program.
    known
        The names of the epilogues of matrix products that the backend has.
    takes
        Whether the backend computes a convolution together with a kernel that follows.
    """
    reads = _Reads(steps, outputs)
    found: list[Epilogue] = []
    taken: set[Application] = set()
    for t, nodes in enumerate(steps):
        found_here = _epilogue(reads, t, known, takes) if len(nodes) == 1 else None
        # a node belongs to one call: if two products could include it, the earlier product does
        if found_here is not None and taken.isdisjoint(found_here.nodes):
            found.append(found_here)
            taken.update(found_here.nodes)
    return found


def _epilogue(reads: "_Reads", t: int, known: Collection[str], takes: Callable[[Application], bool]) -> Epilogue | None:
    (product,) = reads.steps[t]
    if is_convolution(product):
        return _kernel(reads, t) if takes(product) else None
    if not known or not applies(product, matmul) or product.dtype not in FLOATS:
        return None
    return _bias(reads, t, known) or ("sums" in known and _sums(reads, t)) or None


def is_convolution(n: Node) -> bool:
    """Whether a node is a convolution, to whose results a kernel may be applied."""
    return applies(n, convolve) or applies(n, convolve_packed)


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


def _kernel(reads: _Reads, t: int) -> Epilogue | None:
    """A convolution with the element-wise step that alone reads its result, if that step has one result of the same shape."""
    (product,) = reads.steps[t]
    at = {s for s, _ in reads.of.get(product, [])}
    if len(at) != 1 or product in reads.outputs:
        return None
    (last,) = at
    nodes = _connected(reads.steps[last], product)
    if not all(n.bound_op.op.elementwise and n.shape == product.shape for n in nodes):
        return None
    results = [n for n in nodes if n in reads.outputs or any(u not in nodes for _, u in reads.of.get(n, []))]
    # the result is written over the product, element by element: it must have the product's size
    alike = len(results) == 1 and results[0].dtype == product.dtype
    # the kernel's other operands are arrays of the same shape, or broadcast along all axes but the channels
    return Epilogue("kernel", (product, *nodes), (t, last)) if alike and all(fits(i, product) for n in nodes for i in n.operands) else None


def _connected(nodes: tuple[Application, ...], first: Node) -> list[Application]:
    """The nodes of a kernel that are connected to a value: a kernel may also compute unrelated nodes."""
    found, before = {first}, 0
    while len(found) > before:
        before = len(found)
        for n in nodes:
            linked = [n, *[i for i in n.operands if i in nodes or i is first]]
            if not found.isdisjoint(linked):
                found.update(linked)
    return [n for n in nodes if n in found]


def fits(i: Node, product: Application) -> bool:
    """Whether a kernel's operand is read element by element, channel by channel, or is one number."""
    if i.shape == product.shape or i.size == 1:
        return True
    padded = (1,) * (len(product.shape) - len(i.shape)) + i.shape
    return padded == tuple(n if k == 1 else 1 for k, n in enumerate(product.shape))


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
        or left.bound_op.params["axes"] != (1, 0)
        or len(right.shape) != 2
        or not left.dtype == right.dtype == product.dtype
    ):
        return None
    # the sum over a matrix's first axis is the sum of each row of its transpose, the left operand
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
    return is_vector and len(n.operands[0].shape) == 2 and n.bound_op.params["axis"] in (0, (0,), -2, (-2,))
