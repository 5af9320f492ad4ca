"""Matrix products on several threads: cut into pieces, by sizes alone, and computed with BLAS held to one thread (see `threads`)."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from twofold.backend import workers
from twofold.backend.workers import run_all
from twofold.config import ON_CHANGE

from . import threads
from .blas import Blas, blas
from .jit.availability import is_loaded
from .memory import POOL
from .packing import has_wide_vectors, is_packed

#: Multiplications up to which BLAS uses one thread anyway: of matrices, of a matrix and a vector, and of two vectors.
SMALL, SMALL_BY_VECTOR, SMALL_OF_VECTORS = 1 << 18, 1 << 18, 10_000
#: Multiplications from which a product is cut in two. From 2^29 on it is cut in four, with 8 times as many in eight and so on: every piece
#: copies its operands once more, which costs a few percent.
CUT, BITS_FOR_TWO, BITS_TO_DOUBLE = 1 << 20, 27, 3
#: Products are cut along a side at multiples of GRAIN, which suits the kernels of BLAS; no part is shorter than GRAIN.
GRAIN = 16
#: A few rows are multiplied one by one with the rows of a large matrix, block by block: BLAS would copy the whole matrix first. Most such
#: rows, multiplications from which it pays (BLAS copies nothing for fewer), bytes of a block, which stays in cache, and most blocks.
FEW, LEAST_BY_ROWS, BLOCK, MOST_BLOCKS = 8, 600_000, 512 << 10, 1 << 15
#: Nanoseconds of a multiplication, and of the least work that pays for helpers that run Python: waking one takes about 50,000.
MULTIPLICATION, THREADED = 0.02, 300_000
#: Layouts whose products are kept; all are dropped at once, since few programs have this many.
MAX_BOUND = 4096

Product = Callable[[np.ndarray, np.ndarray, np.ndarray], object]
#: Begin and end along the batch, the rows and the columns of a result.
Piece = tuple[int, int, int, int, int, int]
Strides = tuple[int, ...]


@lru_cache(4096)
def pieces_of(batch: int, rows: int, columns: int, inner: int) -> tuple[Piece, ...]:
    """The pieces of a product (batch, rows, inner) · (batch, inner, columns); they depend only on these sizes."""
    pieces: list[Piece] = [(0, batch, 0, rows, 0, columns)]
    number = _number(multiplications(batch, rows, columns, inner))
    while len(pieces) < number:
        # all pieces are halved together, so that they stay of about one size
        halves = [half for piece in pieces for half in _halves(piece)]
        if len(halves) == len(pieces):
            break
        pieces = halves
    return tuple(pieces)


def blocks_of(rows: int, columns: int, inner: int, item: int) -> tuple[Piece, ...]:
    """The pieces of a product of a few rows, which are multiplied one by one: blocks of the right operand's columns, see `BLOCK`."""
    width = max(GRAIN, BLOCK // (inner * item) // GRAIN * GRAIN)
    return tuple((0, 1, 0, rows, left, min(left + width, columns)) for left in range(0, columns, width))


def is_by_rows(rows: int, columns: int, inner: int, a: Strides, b: Strides, item: int, pairs: bool = False) -> bool:
    """Whether rows are multiplied one by one, by sizes and the operands' layouts: both are read along their inner axes."""
    # BLAS takes one row and the small products of floats
    by_blas = not pairs and (rows == 1 or rows * columns * inner <= LEAST_BY_ROWS)
    if by_blas or not (1 <= rows <= FEW and a[2] == b[1] == item):
        return False
    return a[1] > 0 and b[2] >= inner * item and columns * inner * item < MOST_BLOCKS * BLOCK


def multiplications(batch: int, rows: int, columns: int, inner: int) -> int:
    """The multiplications of a product. They count four times with one vector and 16 times with two, since memory is then the limit."""
    return batch * rows * columns * inner * (16 if rows == columns == 1 else 4 if rows == 1 or columns == 1 else 1)


def _number(work: int) -> int:
    """The number of pieces for a product with this many multiplications."""
    return 1 if work < CUT else min(workers.MOST, 2 << max(0, (work.bit_length() - BITS_FOR_TWO) // BITS_TO_DOUBLE))


@lru_cache(4096)
def bounds_of(length: int) -> tuple[int, ...]:
    """Where a product of two vectors is cut: from 0 to the length."""
    number = _number(multiplications(1, 1, 1, length))
    return (*[k * length // number // GRAIN * GRAIN for k in range(number)], length)


def _halves(piece: Piece) -> Iterator[Piece]:
    """A piece cut along the batch, else along its longer side; or itself if it is too small."""
    lo, hi, top, bottom, left, right = piece
    rows, columns = bottom - top, right - left
    if hi - lo > 1:
        half = (lo + hi) // 2
        yield lo, half, top, bottom, left, right
        yield half, hi, top, bottom, left, right
    elif max(rows, columns) < 2 * GRAIN:
        yield piece
    elif rows >= columns:
        half = top + _near_half(rows)
        yield lo, hi, top, half, left, right
        yield lo, hi, half, bottom, left, right
    else:
        half = left + _near_half(columns)
        yield lo, hi, top, bottom, left, half
        yield lo, hi, top, bottom, half, right


def _near_half(side: int) -> int:
    return (side // 2 + GRAIN // 2) // GRAIN * GRAIN


def is_small(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether BLAS uses only one thread for operands of these shapes, so that it computes their product alone."""
    work = math.prod(a) * (b[-1] if len(b) > 1 else 1)
    if work <= SMALL_OF_VECTORS:
        return True
    rows, columns = a[-2] if len(a) > 1 else 1, b[-1] if len(b) > 1 else 1
    return work <= (SMALL_OF_VECTORS if rows == columns == 1 else SMALL_BY_VECTOR if rows == 1 or columns == 1 else SMALL)


class InnerProduct(NamedTuple):
    """A product of two vectors, as the sum of the products of their parts.

    Attributes
    ----------
    dtype
        That of operands and result.
    steps
        Bytes from element to element of both operands.
    bounds
        Where the vectors are cut, from 0 to their length.
    """

    dtype: np.dtype[np.generic]
    steps: tuple[int, int]
    bounds: tuple[int, ...]

    @property
    def nanoseconds(self) -> float:
        """An estimate of its duration in one thread, which decides about speed alone."""
        return multiplications(1, 1, 1, self.bounds[-1]) * MULTIPLICATION


class Multiplication(NamedTuple):
    """A product of two stacks of matrices with known layouts.

    Attributes
    ----------
    dtype
        That of operands and result.
    batch, rows, columns, inner
        (batch, rows, inner) · (batch, inner, columns).
    strides
        Bytes from matrix to matrix, row to row and column to column, of both operands and the result.
    pieces
        How it is cut.
    by_rows
        Whether the rows of each piece are multiplied one by one, see `FEW`.
    stack, apart
        How many matrices follow one another by these strides, and the bytes from one such stack to the next of both operands; 0 if there is
        one stack.
    pairs
        Whether the operands' numbers are pairs of bfloat16 (see `bfloat16_products`), which only machine code of its own multiplies.
    """

    dtype: np.dtype[np.generic]
    batch: int
    rows: int
    columns: int
    inner: int
    strides: tuple[Strides, Strides, Strides]
    pieces: tuple[Piece, ...]
    by_rows: bool = False
    stack: int = 0
    apart: tuple[int, int] = (0, 0)
    pairs: bool = False

    @property
    def nanoseconds(self) -> float:
        """An estimate of its duration in one thread, which decides about speed alone."""
        return multiplications(self.batch, self.rows, self.columns, self.inner) * MULTIPLICATION

    @property
    def is_packed(self) -> bool:
        """Whether machine code of its own computes it, if kernels are compiled."""
        inner = 2 * self.inner if self.pairs else self.inner
        return not self.by_rows and is_packed(self.dtype, self.batch, self.rows, self.columns, inner)

    @property
    def is_few_rows(self) -> bool:
        """Whether machine code of its own computes it, which takes no row by itself."""
        return self.by_rows and self.dtype == np.float32 and has_wide_vectors()

    def parts(self, piece: Piece, stacks: tuple[np.ndarray, ...]) -> list[np.ndarray]:
        """The operands and the result of a piece, out of stacks of matrices."""
        lo, hi, top, bottom, left, right = piece
        a, b, out = stacks
        return [a[lo:hi, top:bottom], b[lo:hi, :, left:right], out[lo:hi, top:bottom, left:right]]


def multiply(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """``np.matmul`` of arrays of one dtype.

    Parameters
    ----------
    a, b
        (…, m, k) and (…, k, n), or one of them a vector.
    out
        The C-contiguous memory of the result, which overlaps neither.
    """
    key = a.dtype, a.shape, a.strides, b.shape, b.strides
    run = _bound.get(key)
    if run is None:
        run = _bind(key, a, b)
    if out is None:
        out = POOL.empty(_shape(a, b), a.dtype)
    run(a, b, out)
    return out


#: Filled by the adapter: give a product in machine code, or None for layouts without one.
IN_MACHINE_CODE: list[Callable[[Blas, Multiplication | InnerProduct], Product | None]] = []
#: Number of products computed piece by piece with NumPy before the compiler is loaded, which takes 0.1 s. The bits are the same.
PATIENCE = 32
_bound: dict[object, Product] = {}
ON_CHANGE.append(_bound.clear)


def _shape(a: np.ndarray, b: np.ndarray) -> tuple[int, ...]:
    if a.ndim == b.ndim == 2:
        return a.shape[0], b.shape[1]
    return np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + a.shape[-2:-1] + (b.shape[-1:] if b.ndim > 1 else ())


def multiply_pairs(a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """`multiply` for matrices whose numbers are pairs of bfloat16, with sums in float32; None where no machine code is made for that."""
    key = "pairs", a.shape, a.strides, b.shape, b.strides
    run = _bound.get(key)
    if run is None:
        run = _bind(key, a, b, pairs=True)
    if run is _nothing:
        return None
    out = POOL.empty(_shape(a, b), a.dtype)
    run(a, b, out)
    return out


def _nothing(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """Stands for a product of pairs that no machine code computes."""


def _bind(key: object, a: np.ndarray, b: np.ndarray, pairs: bool = False) -> Product:
    if len(_bound) >= MAX_BOUND:
        _bound.clear()
    run = _bound[key] = _product_of(a, b, pairs)
    return run


def _product_of(a: np.ndarray, b: np.ndarray, pairs: bool) -> Product:
    """The fastest product for operands of these layouts.

    Raises
    ------
    ValueError
        If their inner sizes differ: the machine code of a product trusts that they do not.
    """
    if a.shape[-1] != b.shape[max(b.ndim - 2, 0)]:
        raise ValueError(f"inner sizes differ: {a.shape} and {b.shape}")
    library = blas()
    if library is None or a.dtype.char not in "fdFD" or not a.dtype.isnative or a.dtype != b.dtype:
        return _nothing if pairs else _by_numpy
    stacks = _stacks(a, b)
    if stacks is None:
        return _of_several_stacks(library, a, b, pairs) or (_nothing if pairs else _held)
    (batch, rows, inner), columns = stacks[0].shape, stacks[1].shape[2]
    if batch == rows == columns == 1 and not pairs:
        return _of_vectors(library, InnerProduct(a.dtype, (stacks[0].strides[2], stacks[1].strides[1]), bounds_of(inner)))
    item = a.dtype.itemsize
    strides = stacks[0].strides, stacks[1].strides, (rows * columns * item, columns * item, item)
    by_rows = batch == 1 and is_by_rows(rows, columns, inner, *strides[:2], item, pairs)
    pieces = blocks_of(rows, columns, inner, item) if by_rows else pieces_of(batch, rows, columns, inner)
    of = Multiplication(a.dtype, batch, rows, columns, inner, strides, pieces, by_rows, pairs=pairs)
    if pairs:
        return _made(library, of) or _nothing
    found = _in_machine_code(library, of, partial(_in_pieces, of))
    # the layouts of a matrix and its transpose; whether they share memory is seen at each call
    if a.ndim == b.ndim == 2 and a.shape == b.shape[::-1] and a.strides == b.strides[::-1]:
        return partial(_unless_symmetric, of, found)
    return found


class _Patience:
    """Counts the products that were not worth loading the compiler."""

    used = 0


def _in_machine_code(library: Blas, of: Multiplication | InnerProduct, otherwise: Product) -> Product:
    """A product in machine code; by BLAS where that is impossible, or until loading the compiler pays."""
    # other code than BLAS gives other bits, so it is compiled at once
    is_other = isinstance(of, Multiplication) and (of.is_packed or of.is_few_rows)
    if _Patience.used < PATIENCE and not is_loaded() and not is_other:
        return partial(_patiently, otherwise)
    return _made(library, of) or otherwise


def _made(library: Blas, of: Multiplication | InnerProduct) -> Product | None:
    return next(filter(None, (make(library, of) for make in IN_MACHINE_CODE)), None)


def _patiently(product: Product, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    _Patience.used += 1
    if _Patience.used == PATIENCE:
        _bound.clear()  # later products with the same layouts run in machine code
    product(a, b, out)


def _of_several_stacks(library: Blas, a: np.ndarray, b: np.ndarray, pairs: bool) -> Product | None:
    """A product of stacks of matrices that lie apart, as those of attention's heads do; None without code of its own for it."""
    if min(a.ndim, b.ndim) < 2:
        return None
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    wide = [np.broadcast_to(x, lead + x.shape[-2:]).strides for x in (a, b)]
    axes: list[tuple[int, int, int]] = []
    for count, *steps in zip(lead, *wide, strict=False):
        if axes and axes[-1][1:] == (steps[0] * count, steps[1] * count):
            axes[-1] = (axes[-1][0] * count, *steps)
        elif count > 1:
            axes.append((count, *steps))
    if len(axes) != 2:
        return None
    (number, *apart), (stack, *steps) = axes
    rows, inner, columns, item = *a.shape[-2:], b.shape[-1], a.dtype.itemsize
    strides = (steps[0], *a.strides[-2:]), (steps[1], *b.strides[-2:]), (rows * columns * item, columns * item, item)
    pieces = pieces_of(number * stack, rows, columns, inner)
    of = Multiplication(a.dtype, number * stack, rows, columns, inner, strides, pieces, False, stack, (apart[0], apart[1]), pairs)
    return _made(library, of) if of.is_packed else None


def _of_vectors(library: Blas, of: InnerProduct) -> Product:
    number = len(of.bounds) - 1
    if number == 1:
        return _held
    parts = _in_machine_code(library, of, partial(_parts_of_vectors, of))

    def run(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
        sums = np.empty(number, of.dtype)
        parts(a, b, sums)
        # the parts are added in order, whichever thread computed them
        out[...] = np.add.reduce(sums)

    return run


def _parts_of_vectors(of: InnerProduct, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """The products of the parts with NumPy."""
    x, y = a.reshape(-1), b.reshape(-1)
    with threads.HOLD as hold:
        parts = [(x[lo:hi], y[lo:hi], out[k : k + 1].reshape(())) for k, (lo, hi) in enumerate(pairwise(of.bounds))]
        _run([partial(_multiply_part, *part) for part in parts], of, hold)


def _run(tasks: list[Callable[[], None]], of: Multiplication | InnerProduct, hold: threads.Hold) -> None:
    """Run the pieces of a product, on helpers too if it takes long enough and BLAS is not limited to one thread."""
    if len(tasks) == 1 or workers.count() == 1 or hold.before == 1 or of.nanoseconds < THREADED:
        for task in tasks:
            task()
    else:
        run_all(tasks)


def _stacks(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The operands as stacks of equally many matrices, views; None if that takes a copy."""
    if a.ndim < 2:
        a = a[None]
    if b.ndim < 2:
        b = b[:, None]
    if a.ndim == b.ndim == 2:
        return a[None], b[None]
    # a broadcast axis has stride 0, which a stack of three axes can only express if all leading axes have it
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    wide = [np.broadcast_to(x, lead + x.shape[-2:]) for x in (a, b)]
    first, second = (x if x.ndim == 3 else x.reshape(-1, *x.shape[-2:]) for x in wide)
    return (first, second) if np.shares_memory(first, a) and np.shares_memory(second, b) else None


def _by_numpy(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    np.matmul(a, b, out=out)


def _held(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    with threads.HOLD:
        np.matmul(a, b, out=out)


def _unless_symmetric(of: Multiplication, otherwise: Product, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """A product that may be of a matrix and its own transpose."""
    if a.__array_interface__["data"] == b.__array_interface__["data"]:
        _by_own_transpose(of, a, b, out)
    else:
        otherwise(a, b, out)


def _by_own_transpose(of: Multiplication, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """A matrix by its own transpose: NumPy computes half of it and copies the other half, and so does this if it is large."""
    half = _near_half(of.rows)
    with threads.HOLD as hold:
        if len(of.pieces) == 1 or half == of.rows:
            np.matmul(a, b, out=out)
            return
        # The two squares on the diagonal and the corner above it, in two halves: four pieces of about the same work. The corner below is a
        # copy.
        corner, quarter = out[:half, half:], half + _near_half(of.rows - half)
        tasks = [(a[:half], b[:, :half], out[:half, :half]), (a[half:], b[:, half:], out[half:, half:])]
        tasks += [(a[:half], b[:, half:quarter], out[:half, half:quarter]), (a[:half], b[:, quarter:], out[:half, quarter:])]
        _run([partial(_multiply_part, *task) for task in tasks], of, hold)
        out[half:, :half] = corner.T


def _in_pieces(of: Multiplication, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """The product piece by piece with NumPy, on helpers that run Python if it takes long enough."""
    stacks = _stacks(a, b)
    assert stacks is not None  # these operands have the layouts that it was made for
    all_stacks = (*stacks, out.reshape(of.batch, of.rows, of.columns))
    part = _multiply_rows if of.by_rows else _multiply_part
    with threads.HOLD as hold:
        _run([partial(part, *of.parts(piece, all_stacks)) for piece in of.pieces], of, hold)


def _multiply_part(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    np.matmul(a, b, out=out)


def _multiply_rows(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """Each row by itself, by BLAS' product of a matrix and a vector."""
    for k in range(a.shape[1]):
        np.matmul(a[0, k], b[0], out=out[0, k])
