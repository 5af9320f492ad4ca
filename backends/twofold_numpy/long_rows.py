"""Kernels over rows that are longer than a block of the summation tree, block by block, so that what is reduced is never in memory as a whole."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from twofold.backend.kernel import Formed, KernelStep, RowProgram

from .namespace import BLOCK

Kernel = Callable[..., None]
#: Combine the blocks' results, along the last axis.
COMBINED: dict[str, Any] = {"sum": np.add.reduce, "max": np.maximum.reduce, "min": np.minimum.reduce}


def in_blocks_of_rows(program: RowProgram, compile_: Callable[[RowProgram], Kernel]) -> Kernel:
    """A kernel for a program; in blocks if its rows are longer than one, and none of its steps reads a reduction's result.

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
    """Whether the program reduces rows and does nothing more with the results, and its memory can be cut into blocks."""
    steps = program.steps
    if any(step.row and step.op not in COMBINED for step in steps):
        return False
    if any(ref.kind == "step" and steps[ref.value].row for step in steps for ref in step.args):
        return False
    # a block of several rows' results would have gaps
    return math.prod(program.shape[:-1]) == 1 or all(steps[k].row for k in program.outputs)


class _LongRows(Formed):
    """A program as one kernel for the whole blocks of its rows, and one for the rest."""

    __slots__ = ("_blocks", "_outputs", "_rest", "_shape", "_whole")

    def __init__(self, program: RowProgram, compile_: Callable[[RowProgram], Kernel]) -> None:
        *lead, row = program.shape
        self._shape = program.shape
        self._whole = whole = row // BLOCK * BLOCK
        self._outputs: list[KernelStep] = [program.steps[k] for k in program.outputs]
        self._blocks = compile_(_over(program, (*lead, whole // BLOCK, BLOCK), 1))
        self._rest = compile_(_over(program, (*lead, row - whole), 0)) if whole < row else None

    @property
    def form(self) -> str:
        """The tier of the kernel for whole blocks."""
        inner = self._blocks.form if isinstance(self._blocks, Formed) else ""
        return f"{inner} in blocks" if inner else "in blocks"

    def __call__(self, *arrays: np.ndarray) -> None:
        *lead, row = self._shape
        whole = self._whole
        count = whole // BLOCK
        results = arrays[len(arrays) - len(self._outputs) :]
        inputs = arrays[: len(arrays) - len(results)]
        partial = [
            np.empty((*lead, count, 1), a.dtype) if s.row else _blocks(a, row, whole) for s, a in zip(self._outputs, results, strict=True)
        ]
        self._blocks(*[_blocks(a, row, whole) for a in inputs], *partial)
        rest = list[np.ndarray]()
        if self._rest is not None:
            rest = [np.empty((*lead, 1), a.dtype) if s.row else a[..., whole:] for s, a in zip(self._outputs, results, strict=True)]
            self._rest(*[a[..., whole:] if _is_whole(a, row) else a for a in inputs], *rest)
        for k, (step, result) in enumerate(zip(self._outputs, results, strict=True)):
            if step.row:
                found = partial[k].reshape(*lead, count)
                if rest:
                    found = np.concatenate([found, rest[k]], -1)
                COMBINED[step.op](found, -1, None, result, True)


def _is_whole(a: Any, row: int) -> bool:
    """Whether an input has a row's elements, and not one element for each row."""
    return a.shape[-1:] == (row,)


def _blocks(a: np.ndarray, row: int, whole: int) -> np.ndarray:
    """The whole blocks of an array's rows as an axis of their own; of one element per row as it is."""
    if not _is_whole(a, row):
        return a[..., None] if a.ndim else a
    return a[..., :whole].reshape(*a.shape[:-1], -1, BLOCK)


def _over(program: RowProgram, shape: Sequence[int], more: int) -> RowProgram:
    """The program over a part of its rows, whose space has more axes than the program's.

    Only reductions and whole results leave the kernel; steps are the same.
    """
    row = program.shape[-1]
    inputs = []
    for i in program.inputs:
        if i.shape[-1:] == (row,):
            own = (*i.shape[:-1], *shape[-1 - more :])
        else:
            own = (*i.shape, *(1,) * more) if i.shape else ()
        inputs.append(i._replace(shape=own))
    return program._replace(shape=tuple(shape), inputs=tuple(inputs))
