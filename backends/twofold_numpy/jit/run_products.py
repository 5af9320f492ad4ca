"""Machine code that sums products of runs, for the weights' gradients of depthwise convolutions; ``llvm/run_products.ll`` has it."""

import ctypes
import struct
from collections.abc import Sequence
from functools import cache

import numpy as np

from ..depthwise_gradients import RunProducts
from .callables import address_of
from .compiler import Compiler, compiler
from .ir import added_lanes, splat
from .llvm_text import llvm_text, loaded_numbers

#: The numbers that the code reads, eight bytes each; those of `x` and `y` are distances in elements.
NUMBERS = ("channels", "images", "run", "taps", "x.channel", "x.image", "y.channel", "y.image")
#: Partial sums, on every processor.
LANES = 32


def run_products() -> RunProducts | None:
    """What computes the sums; None without a compiler."""
    own = compiler()
    return None if own is None else _run_products(own)


@cache
def _run_products(own: Compiler) -> RunProducts:
    address, content = ctypes.c_void_p, ctypes.c_char_p
    code = own.function(_text(), None, address, address, address, content, content)

    def run(x: np.ndarray, y: np.ndarray, sums: np.ndarray, offsets: Sequence[int], length: int) -> None:
        (channels, taps), item = sums.shape, x.itemsize
        distances = x.strides[1] // item, x.strides[0] // item, y.strides[1] // item, y.strides[0] // item
        numbers = struct.pack(f"{len(NUMBERS)}q", channels, len(x), length, taps, *distances)
        # releases the GIL
        code(address_of(x), address_of(y), address_of(sums), struct.pack(f"{taps}q", *offsets), numbers)

    return run


def _text() -> str:
    words = {"LOADED": loaded_numbers(NUMBERS), "NUMBERED": ", ".join(f"i64 {k}" for k in range(LANES))}
    words["HALVES"] = "\n".join(added_lanes("%added", LANES, "%all"))
    words["SPREAD_LEFT"] = "\n".join(f"  {line}" for line in splat("%left.all", "%left", "i64", LANES))
    return llvm_text("run_products", **words)
