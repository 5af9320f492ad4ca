"""What of a row program, and of how its inputs lie in memory, decides the text of its kernel."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from twofold.backend.kernel import KernelStep, RowProgram
from twofold.backend.strides import Sizes, merged, row_major, spread

from ..blocked import collapsed
from .passes import Pass, passes_of

#: How an input's elements of a row lie: there is one, side by side, every second place, or otherwise.
ONE, PACKED, SECOND, APART = range(4)


class Structure(NamedTuple):
    """All that decides a text.

    Attributes
    ----------
    axes
        For each input, along which axes of the collapsed space it has more than one element.
    rank
        How many axes the space has.
    dtypes
        Of the inputs.
    steps, outputs
        The program's.
    columns
        For each input how its elements of a row lie, if not all inputs are C-contiguous; else nothing.
    """

    axes: tuple[tuple[bool, ...], ...]
    rank: int
    dtypes: tuple[str, ...]
    steps: tuple[KernelStep, ...]
    outputs: tuple[int, ...]
    columns: tuple[int, ...] = ()

    @property
    def has_rows(self) -> bool:
        """Whether rows are reduced."""
        return any(step.row for step in self.steps)

    @property
    def has_blocks(self) -> bool:
        """Whether rows are run in blocks, so that memory that was read for one row serves the next: a transposed input's, say."""
        return APART in self.columns and self.rank > 1 and not self.has_rows

    def passes(self) -> list[Pass]:
        """The passes over each row; one where nothing is reduced."""
        return passes_of(self.steps, [axes[-1] for axes in self.axes])


class Layout(NamedTuple):
    """Sizes of the axes of a structure's space, and, if its inputs are strided, elements between neighbours, of inputs and outputs."""

    space: Sizes
    strides: tuple[Sizes, ...] = ()


def structure_of(program: RowProgram, strides: Sequence[Sizes] = ()) -> tuple[Structure, Layout]:
    """The structure of a program, and the sizes that its text leaves open.

    Parameters
    ----------
    program
        Any row program.
    strides
        For each input elements between neighbours along each of its axes; nothing if all inputs are C-contiguous.
    """
    dtypes = tuple(t.dtype for t in program.inputs)
    if not strides:
        space, shapes = collapsed(program)
        axes = tuple(tuple(n == m for n, m in zip(shape, space, strict=True)) for shape in shapes)
        return Structure(axes, len(space), dtypes, program.steps, program.outputs), Layout(space)
    space, own = _merged(program.shape, [spread(t.shape, s, program.shape) for t, s in zip(program.inputs, strides, strict=True)], program)
    axes = tuple(tuple(s != 0 for s in along) for along in own)
    columns = tuple({0: ONE, 1: PACKED, 2: SECOND}.get(along[-1], APART) for along in own)
    whole, rows = row_major(space), (*row_major(space[:-1]), 0)
    results = [rows if program.steps[k].row else whole for k in program.outputs]
    return Structure(axes, len(space), dtypes, program.steps, program.outputs, columns), Layout(space, (*own, *results))


def _merged(shape: Sizes, strides: Sequence[Sizes], program: RowProgram) -> tuple[Sizes, tuple[Sizes, ...]]:
    """The space with as few axes as possible; one that is reduced stays by itself."""
    if not program.has_rows:
        found = merged(shape, strides)
        return (found.sizes, found.strides) if found.sizes else ((1,), ((0,),) * len(strides))
    found = merged(shape[:-1], [s[:-1] for s in strides])
    lasts = [1 if shape[-1] == 1 else s[-1] for s in strides]  # the one element of a row is all of it
    return (*found.sizes, shape[-1]), tuple((*s, last) for s, last in zip(found.strides, lasts, strict=True))


def element_strides(array: np.ndarray) -> Sizes:
    """Elements between neighbours of an aligned array."""
    return tuple(s // array.itemsize for s in array.strides)
