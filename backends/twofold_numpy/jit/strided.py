"""Strided inputs: the numbers that describe them to a kernel, and copies of inputs that no kernel can read in place."""

from collections.abc import Sequence

import numpy as np

from .callables import address_of
from .structure import STRIDED, Extents, Structure

#: If each element of a row is on its own cache line (of LINE bytes), rows are processed in blocks of COLUMNS elements: all rows of a block
#: are finished, while its cache lines are loaded, before the next block begins.
COLUMNS, LINE = 64, 64


def layout_numbers(structure: Structure, extents: Extents, arrays: Sequence[np.ndarray]) -> list[int]:
    """The numbers of a kernel over strided inputs that follow its axes' extents.

    They are: the length of a block, if rows are processed in blocks; each array's nonzero strides in elements; and a record of each
    array's expected layout, see `checks.layout_check`.
    """
    apart = [abs(s[-1]) * a.itemsize for s, a, own in zip(extents.strides, arrays, structure.row_strides, strict=False) if own == STRIDED]
    block = [COLUMNS if max(apart) >= LINE else extents.space[-1]] if structure.has_blocks else []
    steps = [s for own in extents.strides for s in own if s]
    records = [n for k, a in enumerate(arrays) for n in (*_span(a, k >= len(structure.row_strides)), a.ndim, *a.shape, *a.strides)]
    return [*block, *steps, *records]


def _span(array: np.ndarray, is_output: bool) -> tuple[int, int]:
    """An array's byte range relative to its data; (0, 0) for a contiguous input, which an output may replace in place."""
    if array.flags.c_contiguous and not is_output:
        return 0, 0
    reach = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    # with a negative stride the last element along an axis is before the first
    return sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach) + array.itemsize


def as_kernel_input(array: np.ndarray, outputs: Sequence[np.ndarray]) -> np.ndarray:
    """An array that any kernel can read while it writes these outputs: the array itself, or a copy."""
    is_packed = type(array) is np.ndarray and array.flags.c_contiguous and array.flags.aligned
    if is_packed and all(address_of(array) == address_of(o) or not np.may_share_memory(array, o) for o in outputs):
        return array
    return np.array(array, order="C", subok=False)
