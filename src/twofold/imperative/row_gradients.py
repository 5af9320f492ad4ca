"""Row-sparse gradients of variables: backward computes only the rows that differ from zero.

The gradient graph is one of dense arrays. Where it ends in operations that add rows to zeros (`Op.rows`), as the gradients of `take` and of
products with csr matrices do, the program stops before these operations: it computes rows and their numbers. Equal rows are summed later.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend import sparse
from ..backend.loader import backend_for
from ..device import CPU, Device
from ..dtype import NUMPY
from ..graph.build import G
from ..graph.ir import Application, Leaf, Node, fill_of
from ..opdef import Sparse
from .array import Array as AnyArray
from .array import adopted
from .backward_program import Backward, RowGradients
from .cell import Cell, Content, wrap
from .invoke import data_of
from .storage import CELLS, CLASSES, SparseValue, array_of, converted, empty_array
from .tape import TapeEntry, Variable

#: How to compute the rows of a node that is zero elsewhere, as (kind, parts). Operators declare it (`Op.rows`).
Form = list[tuple[str, tuple[Node, ...]]]
#: Some rows, and their numbers.
Rows = tuple[np.ndarray, np.ndarray]
#: The value of `Leaf.tracked` for a variable whose gradient is row-sparse: truthy, but different from True, which makes another structure.
ROWS: Any = "row_sparse"


def has_rows(variable: Node) -> bool:
    """Whether the gradient of a variable is row-sparse."""
    return variable.tracked is ROWS


class RowVariable(Variable):
    """A variable whose gradient is row-sparse."""

    __slots__ = ()

    @property
    def tracked(self) -> Any:
        """Whether the leaf has a gradient, and that it is row-sparse."""
        return ROWS if self.req != "null" else False


class Total(SparseValue):
    """A gradient to which earlier gradients have been added. It already has the form of the whole array's gradient."""

    __slots__ = ()


class GradientCell(Cell):
    """Receives the gradient of a sparse array's stored values, and completes it to the sparse gradient of the array."""

    __slots__ = ("array", "grad")

    def __init__(self, array: AnyArray, grad: Any) -> None:
        self.array, self.grad = array, grad

    @property
    def _held(self) -> SparseValue:
        return self.grad._held

    @_held.setter
    def _held(self, new: Content) -> None:
        self.grad._rebind(self.whole(new))

    _content = _held

    def whole(self, new: Any) -> SparseValue:
        """The gradient of the array, given the gradient of its stored values."""
        if new.__class__ is Total:
            return SparseValue(new.sparse, checked=True)
        own = self.array._content.sparse
        if new.__class__ is SparseValue:  # the gradient of some stored rows, and of rows that are not stored
            numbers, rows = CELLS.structure(_rows_in_array, own.indices, new.sparse.indices, new.sparse.values)
            return SparseValue(Sparse("row_sparse", own.shape, rows, numbers), checked=True)
        return SparseValue(own.with_values(wrap(CLASSES["default"], new)), checked=True)


class RowBackward(Backward):
    """`Backward` where some variables have row-sparse gradients."""

    in_parts = True

    def _results(self, found: dict[Node, Node]) -> list[Node]:
        nodes: list[Node] = []
        self._forms: list[tuple[Leaf, list[tuple[str, int]] | None]] = []
        for n, dense in zip(self.wrt, super()._results(found), strict=True):
            form = row_form(dense) if has_rows(n) else None
            self._forms.append((n, None if form is None else [(kind, len(parts)) for kind, parts in form]))
            # in place of one dense gradient the program gives the parts of its rows; `completed` counts them off in the same order
            nodes += [dense] if form is None else [p for _, parts in form for p in parts]
        return nodes

    def completed(self, found: Sequence[Content], device: Device) -> list[Content]:
        """The gradients, where those of row variables are row-sparse."""
        out, rest = [], iter(found)
        for n, form in self._forms:
            if form is not None:
                pieces = [(kind, [_host(next(rest), device) for _ in range(count)]) for kind, count in form]
                out.append(_summed(n, pieces, device))
            elif has_rows(n):
                out.append(converted(wrap(CLASSES["default"], next(rest)), "row_sparse")._content)
            else:
                out.append(next(rest))
        return out


def backward_class(heads: Sequence[TapeEntry], differentiable: bool) -> type[Backward]:
    """The class for a structure. Gradients that will be differentiated are dense."""
    stack, seen = list(heads), set()
    while stack and not differentiable:
        entry = stack.pop()
        if entry is None or id(entry) in seen:
            continue
        seen.add(id(entry))
        if has_rows(entry.node):
            return RowBackward
        if isinstance(entry.node, Application):
            stack.extend(entry.inputs)
    return Backward


def add(cell: Cell, grad: Content) -> Content:
    """The sum of a row-sparse gradient and a new one."""
    if isinstance(cell, GradientCell):
        return Total((cell.grad + array_of(cell.whole(grad)))._content.sparse)
    return (array_of(cell._content) + array_of(grad))._content


def gradient_array(cls: type[Cell], variable: Variable, content: Content) -> Cell:
    """A gradient as an array: of a class, or a sparse one."""
    cell = variable.cell
    if isinstance(cell, GradientCell):
        return array_of(cell.whole(content))
    return array_of(content) if content.__class__ is SparseValue else wrap(cls, content)


RowGradients.backward_class = backward_class
RowGradients.add = add


def _host(v: Content, device: Device) -> np.ndarray:
    data = data_of(v)
    return data if device is CPU and data.__class__ is np.ndarray else backend_for(device).to_host(data)


def _summed(n: Leaf, pieces: Sequence[tuple[str, list[np.ndarray]]], device: Device) -> SparseValue:
    """The row-sparse gradient of a leaf from the parts of its row form."""
    values, indices = [], []
    for kind, parts in pieces:
        rows, numbers = _ROWS_OF[kind](n.shape[0], *parts)
        values.append(rows.reshape(numbers.size, *n.shape[1:]))
        indices.append(numbers)
    if not pieces:
        return empty_array("row_sparse", n.shape, n.dtype, device)._content
    joined = (values[0], indices[0]) if len(values) == 1 else (np.concatenate(values), np.concatenate(indices))
    rows, numbers = sparse.sorted_rows(*joined)
    cells = [adopted(CLASSES["default"], np.ascontiguousarray(p), device) for p in (rows.astype(NUMPY[n.dtype], copy=False), numbers)]
    return SparseValue(Sparse("row_sparse", n.shape, *cells), checked=True)


def _given_rows(count: int, rows: np.ndarray, numbers: np.ndarray) -> Rows:
    return rows, numbers.ravel().astype(sparse.INDEX, copy=False)


def _stored_rows(count: int, rows: np.ndarray, places: np.ndarray, numbers: np.ndarray) -> Rows:
    """Number rows by their places among the stored rows. Rows that are not stored get numbers after these; see `_rows_in_array`."""
    return rows, np.where(places < 0, count + numbers, places).ravel()


def _rows_in_array(stored: np.ndarray, numbers: np.ndarray, rows: np.ndarray) -> Rows:
    """The inverse of `_stored_rows`: increasing row numbers in the whole array, and the rows in this order."""
    count = stored.size
    is_stored = numbers < count
    found = numbers - count
    found[is_stored] = stored[numbers[is_stored]]
    if (np.diff(found) > 0).all():
        return found, rows
    # rows that were not stored came last, so the numbers need not increase any more
    order = np.argsort(found, kind="stable")
    return found[order], rows[order]


def _columns_of_csr(count: int, values: np.ndarray, indices: np.ndarray, indptr: np.ndarray, dense: np.ndarray) -> Rows:
    columns, places = sparse.distinct(indices[: indptr[-1]])
    return backend_for(CPU).xp.csr_transposed_matmul(values[: indptr[-1]], places, indptr, dense, columns=columns.size), columns


#: How rows and their numbers come from the parts of each kind of row form.
_ROWS_OF: dict[str, Callable[..., Rows]] = {"rows": _given_rows, "stored": _stored_rows, "csr": _columns_of_csr}


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
