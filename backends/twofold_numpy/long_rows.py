"""Kernels over rows that are longer than a block of the summation tree: block by block, so that what they reduce is never in memory."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from twofold.backend.kernel import Formed, RowProgram

from .namespace import BLOCK

Kernel = Callable[..., None]
#: Combine the results of blocks, along the last axis.
COMBINED: dict[str, Any] = {"sum": np.add.reduce, "max": np.maximum.reduce, "min": np.minimum.reduce}


def in_blocks_of_rows(program: RowProgram, compile_: Callable[[RowProgram], Kernel]) -> Kernel:
    """A kernel for a program: in blocks if its rows are longer than one, and no step reads what others have reduced.

    The results have the bits of `tree_sum`, which cuts rows into the same blocks.

    Parameters
    ----------
    program
        Any row program.
    compile_
        Makes the kernel of a program that is not cut.
    """
    return _LongRows(program, compile_) if program.has_rows and program.shape[-1] > BLOCK and _is_cuttable(program) else compile_(program)


def _is_cuttable(program: RowProgram) -> bool:
    steps = program.steps
    if any(step.row and step.op not in COMBINED for step in steps):
        return False
    if any(ref.kind == "step" and steps[ref.value].row for step in steps for ref in step.args):
        return False
    # a block of the results for several rows would have gaps
    return math.prod(program.shape[:-1]) == 1 or all(steps[k].row for k in program.outputs)


class _Part(NamedTuple):
    """A part of each row, in blocks of one width, and its kernel, for which the blocks are rows."""

    begin: int
    end: int
    width: int
    kernel: Kernel


class _LongRows(Formed):
    """A program over long rows: their whole blocks, then the rest."""

    __slots__ = ("_lead", "_ops", "_parts", "_row")

    def __init__(self, program: RowProgram, compile_: Callable[[RowProgram], Kernel]) -> None:
        *lead, row = program.shape
        self._lead, self._row = lead, row
        #: Each output's reduction; empty for a result of all elements.
        self._ops = [program.steps[k].op if program.steps[k].row else "" for k in program.outputs]
        whole = row // BLOCK * BLOCK
        cuts = [(0, whole, BLOCK), (whole, row, row - whole)]
        self._parts = [_Part(*cut, compile_(_over_blocks(program, *cut))) for cut in cuts if cut[2]]

    @property
    def form(self) -> str:
        """The form in which whole blocks run."""
        kernel = self._parts[0].kernel
        return f"{kernel.form} in blocks" if isinstance(kernel, Formed) else "in blocks"

    def __call__(self, *arrays: np.ndarray) -> None:
        row, reduced = self._row, list(zip(self._ops, arrays[-len(self._ops) :], strict=True))
        found: list[list[np.ndarray]] = []
        for begin, end, width, kernel in self._parts:
            given: list[np.ndarray] = []
            for a in arrays:  # with an axis for the blocks; a number, or one number for each row, is read by all of them
                is_whole = a.shape[-1:] == (row,)
                given.append(a[..., begin:end].reshape(*a.shape[:-1], -1, width) if is_whole else a[..., None] if a.shape else a)
            for k, (op, a) in enumerate(reduced, -len(reduced)):
                if op:
                    given[k] = np.empty((*self._lead, (end - begin) // width, 1), a.dtype)
            kernel(*given)
            found.append(given)
        for k, (op, a) in enumerate(reduced, -len(reduced)):
            if op:
                COMBINED[op](np.concatenate([given[k] for given in found], -2)[..., 0], -1, None, a, True)


def _over_blocks(program: RowProgram, begin: int, end: int, width: int) -> RowProgram:
    """The program over a part of its rows, whose blocks are the rows of a space with one more axis."""
    *lead, row = program.shape
    blocks = (end - begin) // width
    shapes = [(*i.shape[:-1], blocks, width) if i.shape[-1:] == (row,) else (*i.shape, 1) if i.shape else () for i in program.inputs]
    inputs = tuple([i._replace(shape=shape) for i, shape in zip(program.inputs, shapes, strict=True)])
    return program._replace(shape=(*lead, blocks, width), inputs=inputs)
