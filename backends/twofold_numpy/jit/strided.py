"""Strided inputs: the numbers that a kernel's text leaves open for them, and copies of those that it cannot read where they lie."""

from collections.abc import Sequence

import numpy as np

from .structure import APART, Layout, Structure

#: Elements of a row that are run for all rows before the next ones, where elements lie so far apart that each has a cache line.
COLUMNS, LINE = 64, 64


def numbers_of(structure: Structure, layout: Layout, arrays: Sequence[np.ndarray]) -> list[int]:
    """What a kernel over strided inputs reads after its axes' extents.

    These are the elements of a row that make a block, if rows are run in blocks; the elements between neighbours of each array along
    each axis of the space that it has; and a record of each array, see `checks.lies_as`.
    """
    apart = [abs(s[-1]) * a.itemsize for s, a, own in zip(layout.strides, arrays, structure.columns, strict=False) if own == APART]
    block = [COLUMNS if max(apart) >= LINE else layout.space[-1]] if structure.has_blocks else []
    steps = [s for own in layout.strides for s in own if s]
    records = [n for k, a in enumerate(arrays) for n in (*_span(a, k >= len(structure.columns)), a.ndim, *a.shape, *a.strides)]
    return [*block, *steps, *records]


def _span(array: np.ndarray, is_output: bool) -> tuple[int, int]:
    """Where an array begins and ends, in bytes from its data; (0, 0) for an input over which an output may lie exactly."""
    if array.flags.c_contiguous and not is_output:
        return 0, 0
    reach = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    return sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach) + array.itemsize


def in_order(array: np.ndarray, outputs: Sequence[np.ndarray]) -> np.ndarray:
    """An array that any kernel reads and these outputs may be written over: itself, or a copy."""
    lies_well = type(array) is np.ndarray and array.flags.c_contiguous and array.flags.aligned
    if lies_well and all(_address(array) == _address(o) or not np.may_share_memory(array, o) for o in outputs):
        return array
    return np.array(array, order="C", subok=False)


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]
