"""Machine code that adds rows of values to the rows of an array that an index names, and rows that have the same number.

``llvm/scatter.ll`` and ``llvm/row_sums.ll`` have it.
"""

import ctypes
import struct
from functools import cache

import numpy as np

from twofold.backend.host_code import RowAdder

from ..scatter import AddRows
from .callables import address_of
from .compiler import Compiler, compiler
from .llvm_text import llvm_text, loaded_numbers

#: The numbers that the code reads: sizes of the array (outer, size, inner), and how many rows are added for each of the outer.
NUMBERS = ("outer", "size", "n", "inner")
#: Elements of a vector, and the LLVM types.
LANES, TYPES = 8, {"float32": "float", "float64": "double"}


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
    numbers = loaded_numbers(("n", "inner", "bits"))
    text = llvm_text("row_sums", LOADED=numbers, TYPE=TYPES[dtype], LANES=LANES, ITEM=np.dtype(dtype).itemsize)
    address = ctypes.c_void_p
    code = own.function(text, ctypes.c_int64, address, address, address, address, ctypes.c_char_p)

    def run(values: np.ndarray, keys: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
        n, inner = values.shape
        out, distinct = np.empty(values.shape, values.dtype), np.empty(n, np.int64)
        count = code(address_of(out), address_of(distinct), address_of(values), address_of(keys), struct.pack("3q", n, inner, bits))
        return out[:count], distinct[:count]

    return run
