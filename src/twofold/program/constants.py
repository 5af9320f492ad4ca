"""Finds what a program would compute anew at every run although no input goes into it, and computes it once."""

from collections.abc import Callable, Sequence
from typing import Any

from ..dtype import WEAK
from ..graph.ir import Application, Leaf, Node, is_const, leaf, topological
from ..graph.rewrite import substitute

#: Constants of more bytes than this are computed at each run: a program keeps those that it has.
KEPT = 1 << 16


def fold_constants(outputs: Sequence[Node], compute: Callable[[list[Node]], list[Any]]) -> tuple[list[Node], dict[Leaf, Any]]:
    """The graph with leaves in place of what depends on no leaf, and the arrays that they stand for.

    Parameters
    ----------
    outputs
        A lowered graph.
    compute
        The arrays of nodes.
    """
    order = topological(outputs)
    fixed: set[Node] = set()
    for n in order:
        if not isinstance(n, Application) or n.sig.op.run_by_program or len(n.parts) > 1 or n.dtype in WEAK:
            continue
        if is_const(n) or all(i is None or i in fixed or is_const(i) for i in n.inputs):
            fixed.add(n)
    used = [i for n in order if n not in fixed for i in n.inputs if i is not None and i in fixed]
    wanted = [n for n in dict.fromkeys([*used, *(o for o in outputs if o in fixed)]) if _is_worth(n)]
    if not wanted:
        return list(outputs), {}
    stand_ins = {n: leaf(("constant", k), n.shape, n.dtype) for k, n in enumerate(wanted)}
    arrays = dict(zip(stand_ins.values(), compute(wanted), strict=True))
    return substitute(outputs, stand_ins), arrays


def _is_worth(node: Node) -> bool:
    """Whether a constant costs something at each run: what the backend has as it stands does not."""
    return node.nbytes <= KEPT and not is_const(node) and node.inputs != ()
