"""Passes of a row program over each row: what is computed of a reduction waits until the row has been read to its end."""

from collections.abc import Sequence
from typing import NamedTuple

from twofold.backend.kernel import ROW_REDUCTIONS, KernelStep

from .primitives import Unsupported


class Pass(NamedTuple):
    """One reading of a row, by numbers of steps and inputs.

    Attributes
    ----------
    steps
        Element-wise steps, in order.
    reductions
        Reductions whose operand is read.
    ends
        Steps of one element a row, computed of results of this pass and earlier ones when the row has been read.
    inputs
        Inputs with the last axis that are read.
    kept
        Steps of earlier passes whose results are read again, from memory.
    """

    steps: tuple[int, ...]
    reductions: tuple[int, ...]
    ends: tuple[int, ...]
    inputs: tuple[int, ...]
    kept: tuple[int, ...]


def passes_of(steps: Sequence[KernelStep], has_last: Sequence[bool]) -> list[Pass]:
    """The passes in order.

    No step is in an earlier pass than one before it. So where an output lies in the memory of an input that no later step reads, no
    later pass reads that input either.

    Parameters
    ----------
    steps
        Of the program.
    has_last
        For each input, whether it has the last axis.

    Raises
    ------
    Unsupported
        If a step of one element a row reads whole rows and is no reduction.
    """
    at: list[int] = []  # the pass of each step; results of one element a row are there for the next pass
    now = 0
    for step in steps:
        before = [at[r.value] + (steps[r.value].row and not is_end(step)) for r in step.args if r.kind == "step"]
        if is_end(step) and any(_is_wide(r, steps, has_last) for r in step.args):
            raise Unsupported(f"{step.op} of whole rows")
        own = max([0, *before])
        if not is_end(step):
            own = now = max(now, own)
        at.append(own)
    return [_pass(steps, has_last, at, number) for number in range(max(at) + 1)]


def kept_steps(passes: Sequence[Pass]) -> list[int]:
    """Steps whose result for a row lies in memory from one pass to a later one."""
    return sorted({t for p in passes for t in p.kept})


def is_end(step: KernelStep) -> bool:
    """Whether a step is computed of results of reductions, once a row."""
    return step.row and step.op not in ROW_REDUCTIONS


def _is_wide(ref: object, steps: Sequence[KernelStep], has_last: Sequence[bool]) -> bool:
    kind, value = ref.kind, ref.value  # type: ignore[attr-defined]
    return (kind == "in" and has_last[value]) or (kind == "step" and not steps[value].row)


def _pass(steps: Sequence[KernelStep], has_last: Sequence[bool], at: Sequence[int], number: int) -> Pass:
    own = [t for t, p in enumerate(at) if p == number]
    inside = [t for t in own if not is_end(steps[t])]
    read = [r for t in inside for r in steps[t].args]
    return Pass(
        steps=tuple(t for t in inside if not steps[t].row),
        reductions=tuple(t for t in inside if steps[t].row),
        ends=tuple(t for t in own if is_end(steps[t])),
        inputs=tuple(sorted({r.value for r in read if r.kind == "in" and has_last[r.value]})),
        kept=tuple(sorted({r.value for r in read if r.kind == "step" and not steps[r.value].row and at[r.value] < number})),
    )
