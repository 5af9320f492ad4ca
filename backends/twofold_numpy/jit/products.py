"""Matrix products as machine code that calls BLAS for each piece, without the interpreter, and shares the pieces with helpers."""

import ctypes
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from twofold.backend import workers
from twofold.backend.ledger import HAND_OFFS

from ..blas import Blas, blas
from ..products import InnerProduct, Multiplication, Product, Strides
from .callables import KEEP_GIL, builtin_of
from .compiler import Compiler, compiler
from .handoff import board, code_of, start
from .llvm_text import FIELDS

#: Words of the hold on BLAS: a lock, how many products hold it, and the number of threads before.
HOLD = (ctypes.c_int64 * 3)()
ctypes.pythonapi.Py_IncRef(ctypes.py_object(HOLD))  # never freed: another thread may use it until the process ends
#: LLVM's name of the real numbers of a dtype, by its type character.
_REALS = {"f": "float", "d": "double", "F": "float", "D": "double"}
#: How BLAS reads a matrix.
_PLAIN, _TRANSPOSED = 111, 112
#: Nanoseconds of work from which helpers that sleep are woken.
WAKE = 50_000
#: Calls of BLAS' functions of C arrays in row-major order (101), for a product of matrices, of a matrix and a vector, and of two vectors.
_GEMM = (
    "call void %function(i32 101, i32 %ta, i32 %tb, $INT %m, $INT %n, $INT %k, $ONE,"
    " ptr %a, $INT %lda, ptr %b, $INT %ldb, $ZERO, ptr %c, $INT %ldc)"
)
_GEMV = "call void %function(i32 101, i32 %ta, $INT %m, $INT %n, $ONE, ptr %a, $INT %lda, ptr %b, $INT %ldb, $ZERO, ptr %c, $INT %ldc)"
_DOT = "%sum = call $REAL %function($INT %m, ptr %a, $INT %lda, ptr %b, $INT %ldb)\n  store $REAL %sum, ptr %c"
_COMPLEX_DOT = "call void %function($INT %m, ptr %a, $INT %lda, ptr %b, $INT %ldb, ptr %c)"


class Call(NamedTuple):
    """How a product calls BLAS.

    Attributes
    ----------
    function, text
        The last part of the function's name, and its call.
    is_swapped
        Whether the function takes the right operand first.
    numbers
        What all pieces share: transposition of both operands, their inner size, their strides and the result's in elements, and bytes from
        matrix to matrix.
    pieces
        Six numbers for each piece: two sizes, the offsets in bytes of both operands and of the result, and the number of matrices.
    """

    function: str
    text: str
    is_swapped: bool
    numbers: list[int]
    pieces: list[list[int]]


def bound_product(library: Blas, of: Multiplication | InnerProduct) -> Product | None:
    """A function ``product(a, b, out)`` for arrays of these layouts, which it does not check; None if BLAS cannot read them in place."""
    own, call = compiler(), _call_of(of)
    if own is None or call is None:
        return None
    address = library.products.get(f"{call.function} {of.dtype.char}")
    if address is None:
        return None
    code = code_of(own, "product", **_words(call, of.dtype.char, library.integer, own.machine.head))
    numbers = [*shared_words(own, library, len(call.pieces), of.nanoseconds, address), *call.numbers]
    numbers += [n for piece in call.pieces for n in piece]
    return builtin_of(code.address, code.library, numbers, never, KEEP_GIL)


def _call_of(of: Multiplication | InnerProduct) -> Call | None:
    """The call of BLAS for a product; None if BLAS cannot read the operands."""
    item = of.dtype.itemsize
    if not isinstance(of, Multiplication):
        return _of_vectors(of, item)
    if of.stack or of.pairs:
        return None
    if of.rows == 1 or of.columns == 1 or of.by_rows:
        return _of_matrix_and_vector(of, item) if of.batch == 1 else None
    a, b, out = of.strides
    first, second = _leading(a[1:], (of.rows, of.inner), item), _leading(b[1:], (of.inner, of.columns), item)
    if first is None or second is None:
        return None
    numbers = [first[0], second[0], of.inner, first[1], second[1], of.columns, a[0], b[0], out[0]]
    pieces = [
        [
            bottom - top,
            right - left,
            lo * a[0] + top * a[1],
            lo * b[0] + left * b[2],
            lo * out[0] + top * out[1] + left * out[2],
            hi - lo,
        ]
        for lo, hi, top, bottom, left, right in of.pieces
    ]
    return Call("gemm", _GEMM, False, numbers, pieces)


def _of_matrix_and_vector(of: Multiplication, item: int) -> Call | None:
    """A matrix by a column; or a row by a matrix, which is the transposed matrix by a column, and so are a few rows one after the other."""
    (_, *a), (_, *b), (_, *out) = of.strides
    by_row = of.rows == 1 or of.by_rows
    # x · B is Bᵀ · x: reversed strides are those of the transpose
    matrix, step = (b[::-1], a[1]) if by_row else (a, b[0])
    found = _leading(tuple(matrix), (of.columns if by_row else of.rows, of.inner), item)
    # BLAS takes the beginning of a vector of negative stride for its other end, and stride 0 for an error
    if found is None or step % item or step <= 0:
        return None
    how, apart = found
    pieces = []
    for _, _, top, bottom, left, right in of.pieces:
        first, last = (left, right) if by_row else (top, bottom)
        # the sizes of the matrix in memory, even if it is read transposed
        sides = [last - first, of.inner] if how == _PLAIN else [of.inner, last - first]
        pieces.append([*sides, first * matrix[0], 0, first * item, of.rows if by_row else 1])
    # from row to row only the vectors change
    return Call("gemv", _GEMV, by_row, [how, 0, 0, apart, step // item, 1, 0, a[0], out[0]], pieces)


def _of_vectors(of: InnerProduct, item: int) -> Call | None:
    first, second = of.steps
    if first % item or second % item or min(first, second) <= 0:
        return None
    ends = enumerate(zip(of.bounds, of.bounds[1:], strict=False))
    pieces = [[hi - lo, 0, lo * first, lo * second, k * item, 1] for k, (lo, hi) in ends]
    text = _DOT if of.dtype.kind == "f" else _COMPLEX_DOT
    return Call("dot", text, False, [0, 0, 0, first // item, second // item, 0, 0, 0, 0], pieces)


def _leading(strides: Strides, shape: tuple[int, int], item: int) -> tuple[int, int] | None:
    """How BLAS reads a matrix, and the elements from one of its rows (or columns) to the next; None if it cannot."""
    for how, (apart, step), length in ((_PLAIN, strides, shape[1]), (_TRANSPOSED, strides[::-1], shape[0])):
        # elements of a row next to each other, and rows that do not overlap
        if step == item and apart % item == 0 and apart >= length * item:
            return how, apart // item
    return None


def _words(call: Call, char: str, integer: int, head: int) -> dict[str, str | int]:
    """What the code depends on."""
    real = _REALS[char]
    one, zero = (f"{real} 1.0", f"{real} 0.0") if char in "fd" else ("ptr %one", "ptr %zero")
    text = call.text.replace("$INT", f"i{integer}").replace("$REAL", real).replace("$ONE", one).replace("$ZERO", zero)
    words: dict[str, str | int] = {"REAL": real, "CALL": text, "DATA": head + FIELDS["data"], "INT": f"i{integer}"}
    words |= {"FIRST": int(call.is_swapped), "SECOND": int(not call.is_swapped)}
    return words | {"NARROW": "bitcast" if integer == 64 else "trunc"}


#: The place of the word that tells whether helpers take pieces.
SHARES = 7


def never(*arrays: np.ndarray) -> None:
    """The fallback of a function that never rejects its arguments."""


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def shared_words(own: Compiler, library: Blas, pieces: int, nanoseconds: float, function: int = 0) -> list[int]:
    """The words that all computations in pieces begin with (``llvm/pieces.ll``); starts helpers, if there are pieces to share.

    A helper that is awake takes pieces of any of them; a sleeping one is woken only for work of many nanoseconds.
    """
    shares = workers.count() > 1 and pieces > 1
    if shares:
        start(own)
    wakes = pieces - 1 if nanoseconds >= WAKE else 0
    return [board(), HAND_OFFS.address, *_hold_words(library), function, pieces, wakes, int(shares), ctypes.addressof(HOLD)]


def slots_of(words: Sequence[int]) -> int:
    """For how many threads a computation that begins with these words needs memory of their own.

    Helpers that come later wait for one that has ended. If helpers take part, there is memory for one, whatever the setting is meanwhile.
    """
    return max(2, workers.count()) if words[SHARES] else 1


def _in_child() -> None:
    """Free the hold in a forked child, in which no other thread computes, and give BLAS its threads back."""
    library = blas()
    if HOLD[1] and HOLD[2] != 1 and library is not None:
        library.set_threads(HOLD[2])
    HOLD[:] = [0, 0, 0]


os.register_at_fork(after_in_child=_in_child)


def _hold_words(library: Blas) -> tuple[int, int]:
    """The addresses of BLAS' functions that get and set its number of threads."""
    return _address(library.get_threads), _address(library.set_threads)
