"""Infers the storage types of a symbol's values, by running the operators' storage rules on operands without values.

A rule decides from storage types, shapes and parameters, never from values. So it can run on typed nodes in place of the parts of sparse
operands, which may store any number of elements. A graph without sparse values skips this: it is compiled as a whole.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..dtype import is_float
from ..errors import ParameterError
from ..graph.build import GraphNamespace, apply
from ..graph.ir import Node, const, leaf
from ..imperative.storage import check_shape, warn_of_dense_form
from ..opdef import STORAGE_TYPES, BoundOp, Sparse, stype_of
from .inference import Inference
from .node import Head, SymbolNode

#: MXNet's codes of storage types, as the attribute ``__storage_type__`` holds them.
CODES = {name: str(code) for code, name in enumerate(STORAGE_TYPES)}


@dataclass(frozen=True)
class StorageTypes:
    """The storage types of a graph's values.

    Attributes
    ----------
    sparse
        The storage type of each sparse value; all others are dense.
    stored
        The operators that run on stored values, or have a sparse result.
    """

    sparse: Mapping[Head, str]
    stored: frozenset[SymbolNode]

    def of(self, head: Head) -> str:
        """The storage type of a value."""
        return self.sparse.get(head, "default")


def declared_stype(variable: SymbolNode) -> str:
    """The storage type declared in a variable's attributes.

    Raises
    ------
    ParameterError
        If they give something else.
    """
    text = variable.attrs.get("__storage_type__", CODES["default"])
    for name, code in CODES.items():
        if text == code:
            return name
    codes = ", ".join(f"{code} {name}" for name, code in CODES.items())
    raise ParameterError(f"{variable.name}: parameter __storage_type__ must be the code of a storage type", repr(text), f"use {codes}")


def is_sparse(order: Iterable[SymbolNode], given: Mapping[str, str]) -> bool:
    """Whether any value of a graph is sparse, for the storage types of its variables."""
    return any(stype != "default" for stype in given.values()) or any(n.storage_type() != "default" for n in order)


def storage_types(inference: Inference, given: Mapping[str, str]) -> StorageTypes:
    """The storage types of a graph's values, from those of its variables by name."""
    found: dict[Head, str] = {Head(n, 0): given[n.name] for n in inference.order if given.get(n.name, "default") != "default"}
    stored = set()
    for node in inference.order:
        if node.op is None or node.is_eager:
            continue
        inputs = [found.get(h, "default") for h in node.inputs]
        if all(s == "default" for s in inputs) and node.storage_type() == "default":
            continue
        results = _result_stypes(node, node.bind_stored(), [_operand(inference, h, s) for h, s in zip(node.inputs, inputs, strict=True)])
        if results is None:  # the operator has no rule for these storage types: it runs on dense copies, as in `nd`
            warn_of_dense_form(node.operator, inputs)
            continue
        stored.add(node)
        found |= {Head(node, k): s for k, s in enumerate(results) if s != "default"}
    return StorageTypes(found, frozenset(stored))


def gradient_stypes(inference: Inference, types: StorageTypes, outputs: Iterable[Head]) -> dict[str, str]:
    """The storage types of the gradients of variables, by name, that are not dense.

    The gradient of an output is taken to have the output's storage type. A sum of
    gradients from several operators is sparse if all its terms have the same sparse storage type.
    """
    found: dict[Head, set[str]] = {}
    for head in outputs:
        found.setdefault(head, set()).add(types.of(head))
    for node in reversed(inference.order):
        # Nodes come after all that read them, so the gradients of their results are complete.
        own = found.get(Head(node, 0), set())
        for head, stype in zip(node.inputs, _gradients(node, types, _common(own)), strict=True):
            found.setdefault(head, set()).add(stype)
    variables = [(n, _common(found.get(Head(n, 0), set()))) for n in inference.order if n.is_variable]
    return {n.name: s for n, s in variables if s != "default" and is_float(inference.known[n][0].dtype or "float32")}


def with_spare_rows(types: StorageTypes, order: Sequence[SymbolNode], outputs: Iterable[Head]) -> set[SymbolNode]:
    """The row-sparse variables that may be padded with extra rows, because nothing reads every stored row of them."""
    # From the outputs to the variables: whether a node reads every row depends on whether its own results are read so.
    read = {h for h in outputs if types.of(h) == "row_sparse"}  # values whose every row is read
    for node in reversed(order):
        stypes = [types.of(h) for h in node.inputs]
        if "row_sparse" not in stypes:
            continue
        rule = None if node.op is None else node.op.storage.spare_rows_rule
        ignored = node in types.stored and rule is not None and rule(stypes, **node.bind_stored().params)
        if not ignored or any(Head(node, k) in read for k in range(node.visible)):
            read.update(h for h, s in zip(node.inputs, stypes, strict=True) if s == "row_sparse")
    return {n for n in order if n.is_variable and types.of(Head(n, 0)) == "row_sparse" and Head(n, 0) not in read}


def _common(stypes: set[str]) -> str:
    return next(iter(stypes)) if len(stypes) == 1 else "default"


def _gradients(node: SymbolNode, types: StorageTypes, head: str) -> Sequence[str]:
    """The storage types of the gradients of a node's inputs, from that of its first result."""
    dense = ["default"] * len(node.inputs)
    if node.op is None:
        return dense
    stypes = [types.of(h) for h in node.inputs]
    if node.op.storage.gradient_stypes_rule is not None:
        return node.op.storage.gradient_stypes_rule(stypes, head, **node.bind_stored().params)
    return stypes if node.op.elementwise and {head, *stypes} == {"row_sparse"} else dense


def _operand(inference: Inference, head: Head, stype: str) -> Node | Sparse | None:
    """A placeholder for an operand: a node, or the parts of a sparse operand; None if its type is not known before the graph runs."""
    known = inference.of(head)
    if not known.is_shaped:
        return None
    return _nominal(stype, known.sizes, known.dtype or "float32")


def _result_stypes(node: SymbolNode, bound_op: BoundOp, operands: Sequence[Node | Sparse | None]) -> list[str] | None:
    """The storage types of a node's results; None if the operator has no form for its operands."""
    op = bound_op.op
    if op.storage.sparse_rule is None or any(o is None for o in operands):
        return None
    scalars = node.scalars
    params = {**bound_op.params, **dict(zip(op.scalars, scalars, strict=True))}
    found = op.storage.sparse_rule(NOMINAL, partial(_dense_call, bound_op, scalars), *node.operands(operands), **params)
    return None if found is None else [stype_of(r) for r in (found if isinstance(found, list) else [found])]


def _dense_call(bound_op: BoundOp, scalars: Sequence[float | None], *arrays: Node | None) -> Node | list[Node]:
    """The operator on dense operands."""
    parts = apply(bound_op, (*arrays, *[None if s is None else const(s) for s in scalars])).parts
    return parts[0] if len(parts) == 1 else list(parts)


#: The number of elements or rows that placeholders of sparse operands store.
COUNT = 2


def _nominal(stype: str, shape: tuple[int, ...], dtype: str) -> Any:
    """An operand of a storage type with `COUNT` stored elements or rows."""
    if stype == "default":
        return leaf("dense", shape, dtype)
    if stype == "csr":
        return Sparse(stype, shape, leaf("values", (COUNT,), dtype), _indices(COUNT), _indices(shape[0] + 1))
    return Sparse(stype, shape, leaf("values", (COUNT, *shape[1:]), dtype), _indices(COUNT))


def _indices(*shape: int) -> Node:
    return leaf("indices", shape, "int64")


class NominalNamespace(GraphNamespace):
    """``xp`` of storage rules over nodes; a size that depends on the values of indices is `COUNT`. See `imperative.storage`."""

    def dtype_of(self, x: Any) -> str:
        """The name of a node's dtype."""
        return x.dtype

    def convert(self, x: Node | Sparse, stype: str) -> Any:
        """An operand in another storage type."""
        own = x.values if isinstance(x, Sparse) else x
        check_shape(stype, x.shape)
        return _nominal(stype, x.shape, own.dtype)

    def csr_to_dense(self, matrix: Sparse) -> Node:
        """A csr matrix, dense."""
        return self.convert(matrix, "default")

    def nothing(self, like: Sparse) -> Sparse:
        """Zeros in the storage type of an operand."""
        return like

    def without_zeros(self, matrix: Sparse) -> Sparse:
        """A csr matrix without the stored elements that are zero."""
        return matrix

    def rows_of(self, matrix: Sparse) -> Node:
        """The row of each element of a csr matrix."""
        return _indices(*matrix.indices.shape)

    def distinct(self, indices: Node) -> list[Node]:
        """The distinct indices, and where each is among them."""
        return [_indices(COUNT), _indices(*indices.shape)]

    def padded(self, *arrays: Node) -> list[Node]:
        """Arrays padded with copies of the last element."""
        return list(arrays)

    def places(self, stored: Node, wanted: Node) -> list[Node]:
        """Indices, and their positions among the stored ones."""
        return [_indices(*wanted.shape), _indices(*wanted.shape)]

    def union(self, *arrays: Sparse) -> list[Node]:
        """The places that any of some sparse arrays stores."""
        first = arrays[0]
        pointers = [] if first.indptr is None else [_indices(*first.indptr.shape)]
        return [_indices(COUNT), *pointers, *[_indices(*a.indices.shape) for a in arrays]]

    def csr_take(self, matrix: Sparse, rows: Node) -> Sparse:
        """Rows of a csr matrix."""
        return _nominal("csr", (rows.shape[0], matrix.shape[1]), matrix.values.dtype)

    def csr_slice(self, matrix: Sparse, rows: tuple[int, int], columns: tuple[int, int]) -> Sparse:
        """The part of a csr matrix in ranges of rows and columns."""
        shape = max(rows[1] - rows[0], 0), max(columns[1] - columns[0], 0)
        return _nominal("csr", shape, matrix.values.dtype)

    def csr_concat(self, *matrices: Sparse) -> Sparse:
        """Matrices one below the other."""
        return _nominal("csr", (sum(m.shape[0] for m in matrices), matrices[0].shape[1]), matrices[0].values.dtype)

    def csr_sum(self, matrix: Sparse, axis: int) -> Node:
        """The sums of a csr matrix over an axis."""
        return leaf("dense", (matrix.shape[1 - axis],), matrix.values.dtype)


NOMINAL = NominalNamespace()
