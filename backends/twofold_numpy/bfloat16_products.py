"""Products of bfloat16 matrices with sums in float32, by the instructions of processors that have them.

Such an instruction multiplies two numbers that are neighbors along the inner axis by two others, and adds both products to a float. So
pairs of neighbors take the place of floats in the code of `products`, which moves them without a look at their bits. Denormal numbers,
below 1.2e-38, count as zeros.
"""

from collections.abc import Callable

import numpy as np

from twofold.config import ON_CHANGE

from .memory import POOL
from .products import MAX_BOUND, multiply_pairs

#: Multiplications from which pairs are made. Smaller products take less than 20 µs by conversions and BLAS.
LEAST = 1 << 19
#: Filled by the adapter: tells whether this processor multiplies pairs.
IN_MACHINE_CODE: list[Callable[[], bool]] = []
PAIR, HALF = np.dtype(np.float32), np.dtype(np.uint16)
_refused: set[object] = set()
ON_CHANGE.append(_refused.clear)


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """``np.matmul`` of bfloat16 arrays as float32; None if it is small, or nothing here computes it."""
    if min(a.ndim, b.ndim) < 2 or a.size * b.shape[-1] < LEAST:
        return None
    # pairs may have to be copied, so layouts that no machine code takes are remembered
    key = a.shape, a.strides, _place(a), b.shape, b.strides, _place(b)
    if key in _refused or not any(have() for have in IN_MACHINE_CODE):
        return None
    found = multiply_pairs(_pairs(a, last=True), _pairs(b, last=False))
    if found is None:
        if len(_refused) >= MAX_BOUND:
            _refused.clear()
        _refused.add(key)
    return found


def _place(x: np.ndarray) -> int:
    """Where an array begins within a pair."""
    return x.__array_interface__["data"][0] % PAIR.itemsize


def _pairs(x: np.ndarray, last: bool) -> np.ndarray:
    """Pairs along the last axis, or the one before it: a view if they are neighbors in memory."""
    rows = x.view(HALF) if last else x.view(HALF).swapaxes(-1, -2)
    *lead, number, inner = rows.shape
    if rows.strides[-1] == HALF.itemsize and inner % 2 == 0:
        found = rows.view(PAIR)
        if found.flags.aligned and not any(step % PAIR.itemsize for step in found.strides):
            return found if last else found.swapaxes(-1, -2)
    # the axis that was contiguous stays so
    lies_across = rows.strides[-2] == HALF.itemsize
    shape = (*lead, -(-inner // 2), number, 2) if lies_across else (*lead, number, -(-inner // 2), 2)
    copy = POOL.empty(shape, HALF)
    target = copy.swapaxes(-2, -3) if lies_across else copy
    target[..., 0] = rows[..., ::2]
    target[..., : inner // 2, 1] = rows[..., 1::2]
    if inner % 2:
        target[..., -1, 1] = 0
    found = target.view(PAIR)[..., 0]
    return found if last else found.swapaxes(-1, -2)
