"""Storage types: how an operator treats sparse operands, and the form in which its storage rule gets them.

A csr matrix is three arrays and a row-sparse array two. A storage rule maps them to operations on these arrays, before anything is issued;
graphs and kernels know dense arrays only. Its sparse inputs and results are `Sparse`, and ``dense(*arrays)`` is the operator with the same
parameters on dense arrays.
"""

from dataclasses import dataclass
from typing import Any, Literal

from ..rules import Rule

#: The storage types, MXNet's names.
STORAGE_TYPES = ("default", "row_sparse", "csr")


@dataclass(frozen=True, eq=False)
class Sparse:
    """A sparse operand or result: dense arrays of whatever kind the rule's namespace works on.

    Attributes
    ----------
    stype
        ``"csr"`` or ``"row_sparse"``.
    shape
        The shape of the whole array.
    values
        The stored elements (n,) of a csr matrix; the stored rows (n, …) of a row-sparse array.
    indices
        int64 (n,): the column of each element; the number of each row.
    indptr
        int64 (rows + 1,): row k of a csr matrix has the elements from ``indptr[k]`` to ``indptr[k + 1]``. None if row-sparse.
    """

    stype: str
    shape: tuple[int, ...]
    values: Any
    indices: Any
    indptr: Any = None

    def with_values(self, values: Any) -> "Sparse":
        """The same positions with other values."""
        return Sparse(self.stype, self.shape, values, self.indices, self.indptr)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The dense arrays: values, indices and, of a csr matrix, indptr."""
        return (self.values, self.indices) if self.indptr is None else (self.values, self.indices, self.indptr)


def stype_of(operand: object) -> str:
    """The storage type of a rule's operand."""
    return operand.stype if isinstance(operand, Sparse) else "default"


@dataclass(frozen=True, eq=False)
class Storage:
    """The facts about an operator that `imperative.storage`, `imperative.row_gradients` and the storage types of symbols use."""

    #: ``sparse``: how sparse operands are treated, ``(xp, dense, *inputs, **params) -> result``, None to make them dense, with a warning;
    #: see `Sparse`.
    sparse_rule: Rule | None = None
    #: ``spare_rows``: whether rows beyond the shape of a row-sparse operand change nothing but such rows, ``(stypes, **params) -> bool``.
    spare_rows_rule: Rule | None = None
    #: ``rows``: how the result is zero but for some rows, ``(xp, row_form, node) -> form``, None if it is not; see
    #: `imperative.row_gradients`.
    rows_rule: Rule | None = None
    #: ``gradient_stypes``: the storage types of the inputs' gradients in symbols, ``(stypes, head, **params) -> one for each input``.
    #: ``stypes`` are those of the inputs, ``head`` that of the result's gradient. Without a rule gradients are dense, but those of an
    #: element-wise operator row-sparse if its operands and ``head`` are.
    gradient_stypes_rule: Rule | None = None
    #: An update (weight, gradient, states …) that with a row-sparse gradient reads and writes its rows only, unless the parameter
    #: ``lazy_update`` is false; ``"sparse"``: if the weight is row-sparse too.
    lazy: bool | Literal["sparse"] = False
    #: The parameter that names the storage type of its result in symbols.
    stored_as: str = ""
