"""The part of a row program and of its inputs' layouts that decides the source of its kernel."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from twofold.backend.kernel import KernelStep, RowProgram
from twofold.backend.strides import Sizes, broadcast_strides, merge_axes, row_major

from ..blocked import collapsed_space
from .row_passes import Pass, passes_of

#: The stride of an input along the row: 0 (one element per row), 1, 2, or any other.
BROADCAST, UNIT_STRIDE, STRIDE_2, STRIDED = range(4)


class Structure(NamedTuple):
    """Everything that the source of a kernel depends on; programs of equal structure share machine code.

    Attributes
    ----------
    axes
        For each input, the axes of the collapsed space along which it has more than one element.
    rank
        Number of axes of the space.
    dtypes
        Dtypes of the inputs.
    steps, outputs
        The program's.
    row_strides
        For each input its kind of stride along the row; empty if all inputs are C-contiguous.
    """

    axes: tuple[tuple[bool, ...], ...]
    rank: int
    dtypes: tuple[str, ...]
    steps: tuple[KernelStep, ...]
    outputs: tuple[int, ...]
    row_strides: tuple[int, ...] = ()

    @property
    def has_rows(self) -> bool:
        """Whether the program reduces rows."""
        return any(step.row for step in self.steps)

    @property
    def has_blocks(self) -> bool:
        """Whether rows are processed in blocks, so that cache lines loaded for one row of a transposed input, say, serve the next."""
        return STRIDED in self.row_strides and self.rank > 1 and not self.has_rows

    def passes(self) -> list[Pass]:
        """The passes over each row; a single one without reductions."""
        return passes_of(self.steps, [axes[-1] for axes in self.axes])


class Extents(NamedTuple):
    """The sizes of a structure's space, and for strided inputs the strides of inputs and outputs, in elements."""

    space: Sizes
    strides: tuple[Sizes, ...] = ()


def structure_of(program: RowProgram, strides: Sequence[Sizes] = ()) -> tuple[Structure, Extents]:
    """The structure of a program, and the sizes that its source leaves open.

    Parameters
    ----------
    program
        Any row program.
    strides
        Each input's strides in elements; empty if all inputs are C-contiguous.
    """
    dtypes = tuple(t.dtype for t in program.inputs)
    if not strides:
        space, shapes = collapsed_space(program)
        # of an axis of size 1 it does not matter whether an input steps along it
        axes = tuple(tuple(n == m for n, m in zip(shape, space, strict=True)) for shape in shapes)
        return Structure(axes, len(space), dtypes, program.steps, program.outputs), Extents(space)
    space, own = _merge_axes(program, [broadcast_strides(t.shape, s, program.shape) for t, s in zip(program.inputs, strides, strict=True)])
    axes = tuple(tuple(s != 0 for s in along) for along in own)
    row_strides = tuple({0: BROADCAST, 1: UNIT_STRIDE, 2: STRIDE_2}.get(along[-1], STRIDED) for along in own)
    # outputs are C-contiguous; one with an element per row does not step along it
    whole, rows = row_major(space), (*row_major(space[:-1]), 0)
    results = [rows if program.steps[k].row else whole for k in program.outputs]
    return Structure(axes, len(space), dtypes, program.steps, program.outputs, row_strides), Extents(space, (*own, *results))


def _merge_axes(program: RowProgram, strides: Sequence[Sizes]) -> tuple[Sizes, tuple[Sizes, ...]]:
    """The space with as few axes as possible; the last axis is kept apart if it is reduced."""
    shape = program.shape
    if not program.has_rows:
        found = merge_axes(shape, strides)
        return (found.sizes, found.strides) if found.sizes else ((1,), ((0,),) * len(strides))
    found = merge_axes(shape[:-1], [s[:-1] for s in strides])
    lasts = [1 if shape[-1] == 1 else s[-1] for s in strides]  # a row of one element is read as a whole row, not as a broadcast
    return (*found.sizes, shape[-1]), tuple((*s, last) for s, last in zip(found.strides, lasts, strict=True))


def element_strides(array: np.ndarray) -> Sizes:
    """The strides of an aligned array in elements."""
    return tuple(s // array.itemsize for s in array.strides)
