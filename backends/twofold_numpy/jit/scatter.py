"""Machine code that adds rows of values to the rows of an array that an index names, and rows that have the same number.

``llvm/scatter.ll`` and ``llvm/row_sums.ll`` have it.
"""

import ctypes
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from twofold.backend.host_code import RowAdder

from ..scatter import AddRows
from .callables import KEEP_GIL, address_of, builtin_of
from .compiler import Compiler, compiler
from .llvm_text import FIELDS, data_addresses, llvm_text, loaded_numbers
from .products import never

#: The numbers that the code reads: sizes of the array (outer, size, inner), and how many rows are added for each of the outer.
NUMBERS = ("outer", "size", "n", "inner")
#: Elements of a vector, and the LLVM types.
LANES, TYPES = 8, {"float32": "float", "float64": "double"}
#: Elements from which sums and products release the GIL.
RELEASE_FROM = 1 << 14
#: What the code returns in place of a count of rows if their numbers increase already.
INCREASING = -1


def add_rows(dtype: np.dtype[np.generic]) -> AddRows | None:
    """What adds rows of a dtype; None without a compiler."""
    own = compiler()
    return None if own is None else _add_rows(own, dtype.name)


@cache
def _add_rows(own: Compiler, dtype: str) -> AddRows:
    item = np.dtype(dtype).itemsize
    text = llvm_text("scatter", LOADED=loaded_numbers(NUMBERS), TYPE=TYPES[dtype], LANES=LANES, ITEM=item)
    address = ctypes.c_void_p
    code = own.function(text, ctypes.c_int64, address, address, address, ctypes.c_char_p)

    def run(out: np.ndarray, values: np.ndarray, index: np.ndarray) -> bool:
        outer, size, inner = out.shape
        # releases the GIL
        return not code(address_of(out), address_of(values), address_of(index), struct.pack("4q", outer, size, len(index), inner))

    return run


def row_adder(dtype: np.dtype[np.generic]) -> RowAdder | None:
    """What `HostCode.row_adder` returns; None without a compiler."""
    own = compiler()
    return None if own is None else _row_adder(own, dtype.name)


@cache
def _row_adder(own: Compiler, dtype: str) -> RowAdder:
    head, item = own.machine.head, np.dtype(dtype).itemsize
    loaded = "\n".join(data_addresses(("values", "numbers", "out", "distinct", "keys"), head))
    words = {"LOADED": loaded, "SIZES": head + FIELDS["dimensions"], "TYPE": TYPES[dtype], "LANES": LANES, "ITEM": item}
    code = own.built(llvm_text("row_sums", **words, RELEASE_FROM=RELEASE_FROM))
    run: Callable[..., Any] = builtin_of(code.address, code.library, (), never, KEEP_GIL)

    def add(values: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        n = len(numbers)
        out, distinct = np.empty(values.shape, values.dtype), np.empty(n, np.int64)
        count = run(values, numbers, out, distinct, np.empty(2 * n, np.int64))
        if count < 0:
            return (values, numbers.copy()) if count == INCREASING else None
        return out[:count], distinct[:count]

    return add
