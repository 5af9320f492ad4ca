"""Machine code that adds rows of values to the rows of an array that an index names; ``llvm/scatter.ll`` has it."""

import ctypes
import struct
from functools import cache

import numpy as np

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
