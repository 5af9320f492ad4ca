"""Numbers in a text as machine code, ten times as fast as NumPy's reader of text.

`llvm/numbers.ll` has the code. A number of up to 2**53 times or over a power of ten up to 10**22 takes one rounding, so it is the nearest
double (Clinger, "How to read floating point numbers accurately", PLDI 1990); the C library's ``strtod`` reads the others.
"""

import ctypes
import struct
from functools import cache

import numpy as np

from twofold.backend.host_code import NumberReader

from .compiler import Compiler, compiler
from .llvm_text import llvm_text

#: Powers of ten that are exact as a double.
EXACT = 22


def number_reader() -> NumberReader | None:
    """What `HostCode.number_reader` returns; None without a compiler."""
    own = compiler()
    return None if own is None else _reader(own)


@cache
def _reader(own: Compiler) -> NumberReader:
    powers = ", ".join(f"double 0x{struct.unpack('<Q', struct.pack('<d', 10.0**k))[0]:016X}" for k in range(EXACT + 1))
    address, integer, content = ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p
    run = own.function(llvm_text("numbers", POWERS=powers), integer, content, integer, address, address)

    def read(text: bytes) -> tuple[np.ndarray, np.ndarray] | None:
        # a number takes a digit and a separator at least
        most = len(text) // 2 + 1
        numbers, separators = np.empty(most, "float64"), np.empty(most, "uint8")  # only pages that are written take memory
        count = run(text, len(text), numbers.ctypes.data, separators.ctypes.data)  # releases the GIL
        return None if count < 0 else (numbers[:count], separators[:count])

    return read
