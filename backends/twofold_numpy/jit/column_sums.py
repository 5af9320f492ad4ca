"""Machine code that sums the middle axis of an array; ``llvm/column_sums.ll`` has it."""

from functools import cache

import numpy as np

from ..column_sums import SumColumns
from .callables import KEEP_GIL, builtin_of
from .compiler import Compiler, compiler
from .ir import splat
from .llvm_text import FIELDS, data_addresses, llvm_text
from .products import never
from .scatter import RELEASE_FROM, TYPES

#: Bytes of the rows that are added at a time.
CHUNK = 1 << 14


def column_sums(dtype: np.dtype[np.generic]) -> SumColumns | None:
    """What sums elements of a dtype; None without a compiler."""
    own = compiler()
    return None if own is None else _column_sums(own, dtype.name)


@cache
def _column_sums(own: Compiler, dtype: str) -> SumColumns:
    kind, item = TYPES[dtype], np.dtype(dtype).itemsize
    lanes = own.machine.vector_bits // (8 * item)
    vector, mask, suffix = f"<{lanes} x {kind}>", f"<{lanes} x i1>", f"v{lanes}f{8 * item}"
    words: dict[str, str | int] = {"TYPE": kind, "VECTOR": vector, "LANES": lanes, "ITEM": item, "SUFFIX": suffix, "CHUNK": CHUNK}
    words["DECLARED"] = (
        f"declare {vector} @llvm.masked.load.{suffix}.p0(ptr, i32, {mask}, {vector})\n"
        f"declare void @llvm.masked.store.{suffix}.p0({vector}, ptr, i32, {mask})"
    )
    words["LOADED"] = "\n".join(data_addresses(("values", "out"), own.machine.head))
    words["SIZES"] = own.machine.head + FIELDS["dimensions"]
    words["NUMBERED"] = ", ".join(f"i64 {k}" for k in range(lanes))
    for word, name in (("SPREAD_INNER", "inner"), ("SPREAD_K", "k")):
        words[word] = "\n".join(f"  {line}" for line in splat(f"%{name}.all", f"%{name}", "i64", lanes))
    code = own.built(llvm_text("column_sums", **words, RELEASE_FROM=RELEASE_FROM))
    return builtin_of(code.address, code.library, (), never, KEEP_GIL)
