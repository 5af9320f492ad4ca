"""``Symbol.grad``: a node that stands for the gradient of symbols, and what it is once shapes are known."""

from collections.abc import Sequence
from typing import Any

from ..errors import ParameterError
from ..graph.gradient import gradient, ones_head
from ..graph.ir import Node
from ..graph.stabilise import stabilise
from .naming import NameManager
from .node import SPECIAL_NODES, Head, Special, SymbolNode, topological

GRADIENT = "_gradient"


def gradient_of(symbol: Any, wrt: Sequence[Any]) -> Any:
    """The gradient of the sum of a symbol's outputs, one output for each variable (its name, or the variable itself).

    The node reads the outputs and then the variables.

    Raises
    ------
    ParameterError
        If a name is not that of exactly one argument.
    """
    wrt = [w if isinstance(w, str) else w.name for w in wrt]
    found = {}
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
    return type(symbol)([Head(node, k) for k in range(len(wrt))])


def check_gradient(node: SymbolNode) -> int:
    """The number of outputs of a node of gradients: one for each variable, which it reads last.

    Raises
    ------
    ParameterError
        If it does not read so many variables.
    """
    given = node.attrs.get("num_variables", "")
    count = int(given) if given.isdecimal() else 0
    if not 0 < count < len(node.inputs) or not all(h.node.is_variable for h in node.inputs[len(node.inputs) - count :]):
        raise ParameterError(f"{GRADIENT}: num_variables is not the number of variables that it reads", repr(given), "write the file anew")
    return count


SPECIAL_NODES[GRADIENT] = Special(check_gradient)


def differentiated(order: Sequence[SymbolNode]) -> set[SymbolNode]:
    """The variables that a gradient node is with respect to: their leaves are tracked whatever else wants their gradient."""
    return {h.node for n in order if n.op_name == GRADIENT for h in n.inputs[len(n.inputs) - n.outputs :]}


def expanded(node: SymbolNode, values: Sequence[Node]) -> tuple[Node, ...]:
    """The gradients as nodes, given those of the node's inputs."""
    heads, wrt = stabilise(values[: len(values) - node.outputs]), values[len(values) - node.outputs :]
    return tuple(gradient(heads, [ones_head(h) for h in heads], wrt))
