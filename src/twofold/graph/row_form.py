"""Nodes that are zero but for some rows, as (kind, parts): what computes those rows alone. Operators declare it (`Op.rows`)."""

from .build import G
from .ir import Application, Node, fill_of

Form = list[tuple[str, tuple[Node, ...]]]


def row_form(node: Node | None) -> Form | None:
    """The parts that the rows of a node are computed from; None if any row may differ from zero.

    ``("rows", (values, numbers))`` is rows (n, …) and their numbers; ``("stored", (values, places, numbers))`` the same by their places
    among those that a row-sparse array stores; ``("csr", (values, indices, indptr, dense))`` the transpose of a csr matrix times a dense
    one. Several are added, and so are rows of one number.
    """
    if fill_of(node) == 0:
        return []
    rule = node.bound_op.op.storage.rows_rule if isinstance(node, Application) else None
    return None if rule is None else rule(G, row_form, node)
