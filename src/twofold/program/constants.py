"""Constant folding: computes nodes once that depend on no input of the program, or only on inputs that do not change.

The weights of convolutions that do not change are arranged as the backend's code reads them.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial

from ..dtype import WEAK
from ..graph.build import G
from ..graph.ir import Application, Leaf, Node, is_const, leaf, topological
from ..graph.rewrite import by_rule, substitute
from ..ops.primitive_convolve import convolve, packed_weight

#: Larger constants (bytes) are computed at each run: a program keeps its constants in memory.
KEPT = 1 << 16


def fold_constants(outputs: Sequence[Node], fixed: Collection[Node] = ()) -> tuple[list[Node], dict[Leaf, Node]]:
    """Replace subgraphs that depend on no leaf but ``fixed`` by new leaves; returns the graph, and what is to be computed for these leaves.

    Parameters
    ----------
    outputs
        A lowered graph.
    fixed
        Leaves that do not change: then what is computed from them is replaced, and so are reshaped views of them.
    """
    order = topological(outputs)
    known: set[Node] = set(fixed)
    for n in order:
        # a number of weak type must stay one: an array in its place would take part in promotion
        if not isinstance(n, Application) or n.bound_op.op.execution.run_by_program or len(n.parts) > 1 or n.dtype in WEAK:
            continue
        if is_const(n) or all(i is None or i in known or is_const(i) for i in n.inputs):
            known.add(n)
    # only the outermost: the nodes below are computed with them
    used = [i for n in order if n not in known for i in n.inputs if i is not None and i in known]
    is_worth = _is_worth if not fixed else partial(_is_worth_keeping, fixed=set(fixed))
    wanted = [n for n in dict.fromkeys([*used, *(o for o in outputs if o in known)]) if is_worth(n)]
    if not wanted:
        return list(outputs), {}
    stand_ins = {n: leaf(("fixed" if fixed else "constant", k), n.shape, n.dtype) for k, n in enumerate(wanted)}
    return substitute(outputs, stand_ins), {stand_in: n for n, stand_in in stand_ins.items()}


def _is_worth(node: Node) -> bool:
    """Whether computing a constant in each run costs anything; a constant array or range costs nothing."""
    return node.nbytes <= KEPT and not is_const(node) and node.inputs != ()


def _is_worth_keeping(node: Node, fixed: Collection[Node]) -> bool:
    """Whether a value is computed from fixed leaves, and not much larger than they are; or such a leaf with another shape."""
    below = topological([node])
    operators = [n.bound_op.op for n in below if isinstance(n, Application) and not is_const(n)]
    if not all(op.view for op in operators):
        return node.nbytes <= max([KEPT, *(2 * n.nbytes for n in below if n in fixed)])
    # other views would be arrays with gaps, of which programs know less
    return bool(operators) and all(op.layout.keeps_order for op in operators)


def with_packed_weights(outputs: Sequence[Node], fixed: Collection[Node], width: Callable[[Application], int]) -> list[Node]:
    """Have convolutions read weights in panels that are computed from leaves that do not change.

    Parameters
    ----------
    outputs, fixed
        A lowered graph, and these leaves.
    width
        How many filters a panel of a convolution's weight has; 0 for one that is read as it is.
    """

    def packed(n: Application) -> Node:
        data, weight = n.operands
        leaves = [i for i in topological([weight]) if not i.inputs and not is_const(i)]
        panel = width(n) if leaves and all(i in fixed for i in leaves) else 0
        if not panel:
            return n
        params = {name: n.bound_op.params[name] for name in ("stride", "dilate", "pad", "groups")}
        panels = packed_weight(G, weight, params["groups"], panel)
        if not _is_worth_keeping(panels, fixed):  # they would be packed at each call
            return n
        return G.convolve_packed(data, panels, shape=weight.shape, **params)

    return by_rule(outputs, packed, {convolve})
