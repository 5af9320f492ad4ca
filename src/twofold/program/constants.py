"""Constant folding: computes nodes once that depend on no input of the program, or only on inputs that do not change."""

from collections.abc import Collection, Sequence
from functools import partial

from ..dtype import WEAK
from ..graph.ir import Application, Leaf, Node, is_const, leaf, topological
from ..graph.rewrite import substitute

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
