"""Matrix products as machine code that calls BLAS for each piece, without the interpreter, and shares the pieces with helpers."""

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from twofold.backend.ledger import HAND_OFFS

from .. import threads
from ..blas import Blas
from .callables import KEEP_GIL, builtin_of
from .checks import FIELDS
from .compiler import compiler
from .handoff import board, code_of, start

if TYPE_CHECKING:
    from ..products import Multiplication, Strides

#: Words of the hold on BLAS: a lock, how many products hold it, and the number of threads before.
_hold = (ctypes.c_int64 * 3)()
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_hold))  # never freed: another thread may use it until the process ends
#: LLVM's name of the real numbers of a dtype, by its type character.
_REALS = {"f": "float", "d": "double", "F": "float", "D": "double"}
#: How BLAS reads an operand.
_PLAIN, _TRANSPOSED = 111, 112
#: Nanoseconds of work from which helpers that sleep are woken.
WAKE = 100_000


def bound_product(library: Blas, of: "Multiplication") -> Callable[[np.ndarray, np.ndarray, np.ndarray], None] | None:
    """A function ``product(a, b, out)`` for arrays of these layouts, which it does not check; None if BLAS cannot read them in place."""
    own, address, item = compiler(), library.products.get(of.dtype.char), of.dtype.itemsize
    sides = (of.rows, of.inner), (of.inner, of.columns)
    first, second = (_leading(strides[1:], shape, item) for strides, shape in zip(of.strides, sides, strict=False))
    if own is None or address is None or first is None or second is None:
        return None
    code = code_of(own, "product", **_words(of.dtype.char, library.integer, own.machine.head))
    shares = threads.count() > 1 and len(of.pieces) > 1
    if shares:
        start(own)
    wakes = len(of.pieces) - 1 if of.nanoseconds >= WAKE else 0
    numbers = [board(), HAND_OFFS.address, _address(library.get_threads), _address(library.set_threads), address]
    numbers += [len(of.pieces), wakes, int(shares), ctypes.addressof(_hold), first[0], second[0], of.inner, first[1], second[1]]
    numbers += [of.columns, *[strides[0] for strides in of.strides], *[n for k in range(len(of.pieces)) for n in _numbers(of, k)]]
    return builtin_of(code.address, code.library, numbers, _never, KEEP_GIL)


def _leading(strides: "Strides", shape: tuple[int, int], item: int) -> tuple[int, int] | None:
    """How BLAS reads a matrix, and the elements from one of its rows (or columns) to the next; None if it cannot."""
    for how, (apart, step), length in ((_PLAIN, strides, shape[1]), (_TRANSPOSED, strides[::-1], shape[0])):
        if step == item and apart % item == 0 and apart >= length * item:
            return how, apart // item
    return None


def _numbers(of: "Multiplication", k: int) -> list[int]:
    """What machine code knows about a piece: rows, columns, the offsets of its operands and its result, and its number of matrices."""
    lo, hi, top, bottom, left, right = of.pieces[k]
    a, b, out = of.strides
    offsets = [lo * a[0] + top * a[1], lo * b[0] + left * b[2], lo * out[0] + top * out[1] + left * out[2]]
    return [bottom - top, right - left, *offsets, hi - lo]


def _words(char: str, integer: int, head: int) -> dict[str, str | int]:
    """What the code depends on."""
    real = _REALS[char]
    one, zero = (f"{real} 1.0", f"{real} 0.0") if char in "fd" else ("ptr %one", "ptr %zero")
    words: dict[str, str | int] = {"REAL": real, "ONE": one, "ZERO": zero, "DATA": head + FIELDS["data"]}
    return words | {"INT": f"i{integer}", "NARROW": "bitcast" if integer == 64 else "trunc"}


def _never(*arrays: np.ndarray) -> None:
    """The fallback of a function that rejects nothing."""


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
