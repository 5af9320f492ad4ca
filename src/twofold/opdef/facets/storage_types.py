"""How an operator treats sparse arrays: the rules on their parts, and what is zero but for some rows."""

from dataclasses import dataclass
from typing import Literal

from ..rules import Rule


@dataclass(frozen=True, eq=False)
class Storage:
    """What `imperative.storage`, `graph.row_form` and the storage types of symbols know of an operator."""

    #: ``sparse``: how sparse operands are treated, ``(xp, dense, *inputs, **params) -> result``, None to make them dense, with a warning;
    #: see `opdef.storage`.
    sparse_rule: Rule | None = None
    #: ``spare_rows``: whether rows beyond the shape of a row-sparse operand change nothing but such rows, ``(stypes, **params) -> bool``.
    spare_rows_rule: Rule | None = None
    #: ``rows``: how the result is zero but for some rows, ``(xp, row_form, node) -> form``, None if it is not; see `graph.row_form`.
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
