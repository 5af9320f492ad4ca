"""Machine code for products of csr matrices and dense ones; ``llvm/csr_products.ll`` has it."""

from functools import cache

import numpy as np

from ..sparse_products import AddProduct
from .callables import KEEP_GIL, builtin_of
from .compiler import Compiler, compiler
from .ir import splat
from .llvm_text import FIELDS, data_addresses, llvm_text
from .products import never
from .scatter import LANES, RELEASE_FROM, TYPES

#: For the product and for that of the transpose: the rows that are read and written, and which array has those named by rows and columns.
WAYS = {
    False: {"FROM": "column", "TO": "i", "BY_ROW": "out", "BY_COLUMN": "dense"},
    True: {"FROM": "i", "TO": "column", "BY_ROW": "dense", "BY_COLUMN": "out"},
}


def add_product(dtype: np.dtype[np.generic], is_transposed: bool) -> AddProduct | None:
    """What adds products of a dtype; None without a compiler."""
    own = compiler()
    return None if own is None else _add_product(own, dtype.name, is_transposed)


@cache
def _add_product(own: Compiler, dtype: str, is_transposed: bool) -> AddProduct:
    head, kind = own.machine.head, TYPES[dtype]
    words: dict[str, str | int] = {"TYPE": kind, "LANES": LANES, "ITEM": np.dtype(dtype).itemsize, **WAYS[is_transposed]}
    words["LOADED"] = "\n".join(data_addresses(("values", "indices", "pointers", "dense", "out"), head))
    words["SPREAD"] = "\n".join(f"  {line}" for line in splat("%value.all", "%value", kind, LANES))
    code = own.built(llvm_text("csr_products", **words, SIZES=head + FIELDS["dimensions"], RELEASE_FROM=RELEASE_FROM))
    return builtin_of(code.address, code.library, (), never, KEEP_GIL)
