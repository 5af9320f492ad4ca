"""``Symbol.grad``: a node for the gradient of symbols, which is differentiated when the graph is replayed with known shapes."""

from collections.abc import Sequence

from ..errors import ParameterError
from ..graph.gradient import gradient, ones_head
from ..graph.ir import Node
from ..graph.stabilise import stabilise
from .naming import NameManager
from .node import SPECIAL_NODES, Composition, Head, Replaying, SpecialNode, SymbolNode, topological
from .partial_types import PartialType

GRADIENT = "_gradient"


def gradient_of(symbol: Composition, wrt: Sequence[str]) -> list[Head]:
    """The gradient of the sum of a symbol's outputs, with one output for each variable.

    The node's inputs are the symbol's outputs, followed by the variables.

    Raises
    ------
    ParameterError
        If a name is not that of exactly one argument.
    """
    found: dict[str, SymbolNode] = {}
    for node in topological(symbol.heads):
        if node.is_variable and node.name in wrt:
            if node.name in found:
                raise ParameterError("grad: two arguments have this name", node.name, "give them different names")
            found[node.name] = node
    missing = [name for name in wrt if name not in found]
    if missing or not wrt:
        raise ParameterError("grad: not an argument", ", ".join(missing) or "nothing", f"it has {', '.join(symbol.list_arguments())}")
    inputs = [*symbol.heads, *(Head(found[name], 0) for name in wrt)]
    attrs = {"num_variables": str(len(wrt))}
    node = SymbolNode(GRADIENT, NameManager.current.get(None, GRADIENT), attrs, inputs, outputs=len(wrt))
    return [Head(node, k) for k in range(len(wrt))]


class _Gradient(SpecialNode):
    """A gradient node: one output for each variable. Its last inputs are the variables."""

    def check(self, node: SymbolNode) -> int:
        """The number of variables.

        Raises
        ------
        ParameterError
            If its last inputs are not that many variables.
        """
        given = node.attrs.get("num_variables", "")
        count = int(given) if given.isdecimal() else 0
        if not 0 < count < len(node.inputs) or not all(h.node.is_variable for h in node.inputs[len(node.inputs) - count :]):
            what = f"{GRADIENT}: num_variables is not the number of its variables"
            raise ParameterError(what, repr(given), "save the symbol again")
        return count

    def infer(self, node: SymbolNode, inputs: Sequence[PartialType], outputs: Sequence[PartialType]) -> None:
        """Each gradient has the shape and dtype of its variable."""
        for out, variable in zip(outputs, inputs[len(inputs) - len(outputs) :], strict=True):
            # in both directions: a reader of the gradient may determine the variable's shape
            out.learn_shape(variable.shape, "the gradient")
            variable.learn_shape(out.shape, "the variable")
            out.dtype = variable.dtype  # in one direction only: nothing but the variable itself determines its dtype

    def replay(self, replay: Replaying, node: SymbolNode, arrays: Sequence[Node]) -> Sequence[Node]:
        """The gradients as typed nodes, given those of the node's inputs."""
        # before differentiation: the gradient of a stabilized softmax does not overflow either
        heads, wrt = stabilise(arrays[: len(arrays) - node.outputs]), arrays[len(arrays) - node.outputs :]
        return tuple(gradient(heads, [ones_head(h) for h in heads], wrt))


_GRADIENT = SPECIAL_NODES[GRADIENT] = _Gradient()


def differentiated(order: Sequence[SymbolNode]) -> set[SymbolNode]:
    """The variables of gradient nodes. Their leaves must be tracked, even if the caller requests no gradient for them."""
    return {h.node for n in order if n.special is _GRADIENT for h in n.inputs[len(n.inputs) - n.outputs :]}
