"""Applying the operator of a symbol's node to typed nodes: scalars become constants, the random key is a leaf."""

from collections.abc import Sequence

from ..dtype import WEAK
from ..graph.build import apply
from ..graph.ir import Node, const
from ..opdef import BoundOp
from ..opdef.conventions import operator_scalar
from .node import SymbolNode


def apply_node(node: SymbolNode, bound_op: BoundOp, arrays: Sequence[Node], key: Node | None = None) -> tuple[Node, ...]:
    """Apply a node's operator to typed inputs. Returns all results, including hidden ones.

    Parameters
    ----------
    node, bound_op
        The node, and its operator with parameters.
    arrays
        One typed node per input of the node.
    key
        The random key, for operators that draw random numbers.

    Raises
    ------
    MXNetError
        A `ShapeError` or `DTypeError` if the inputs do not match.
    """
    op = bound_op.op
    operands: list[Node | None] = node.operands(arrays)
    if bound_op.draws:
        operands.append(key)
    # Scalars follow the arrays and the key. As in `nd`, the first array whose dtype is not a Python number's decides their dtype.
    strong = next((a.dtype for a in arrays if a.dtype not in WEAK), None)
    for value in node.scalars:
        if value is not None and op.elementwise and strong is not None:
            value = operator_scalar(bound_op, value, strong)
        operands.append(None if value is None else const(value))
    return apply(bound_op, tuple(operands)).parts
