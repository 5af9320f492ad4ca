"""Constant folding: computes nodes once that depend on no input of the program."""

from collections.abc import Sequence

from ..dtype import WEAK
from ..graph.ir import Application, Leaf, Node, is_const, leaf, topological
from ..graph.rewrite import substitute

#: Larger constants (bytes) are computed at each run: a program keeps its constants in memory.
KEPT = 1 << 16


def fold_constants(outputs: Sequence[Node]) -> tuple[list[Node], dict[Leaf, Node]]:
    """Replace subgraphs that depend on no leaf by new leaves; returns the graph, and what is to be computed for these leaves.

    Parameters
    ----------
    outputs
        A lowered graph.
    """
    order = topological(outputs)
    fixed: set[Node] = set()
    for n in order:
        # a number of weak type must stay one: an array in its place would take part in promotion
        if not isinstance(n, Application) or n.bound_op.op.execution.run_by_program or len(n.parts) > 1 or n.dtype in WEAK:
            continue
        if is_const(n) or all(i is None or i in fixed or is_const(i) for i in n.inputs):
            fixed.add(n)
    # only the outermost: the nodes below are computed with them
    used = [i for n in order if n not in fixed for i in n.inputs if i is not None and i in fixed]
    wanted = [n for n in dict.fromkeys([*used, *(o for o in outputs if o in fixed)]) if _is_worth(n)]
    if not wanted:
        return list(outputs), {}
    stand_ins = {n: leaf(("constant", k), n.shape, n.dtype) for k, n in enumerate(wanted)}
    return substitute(outputs, stand_ins), {stand_in: n for n, stand_in in stand_ins.items()}


def _is_worth(node: Node) -> bool:
    """Whether computing a constant in each run costs anything; a constant array or range costs nothing."""
    return node.nbytes <= KEPT and not is_const(node) and node.inputs != ()
