"""The passes of a row program over each row: steps that depend on a reduction wait for the next pass."""

from collections.abc import Sequence
from typing import NamedTuple

from twofold.backend.kernel import ROW_REDUCTIONS, KernelStep, Ref

from .primitives import Unsupported


class Pass(NamedTuple):
    """One pass over a row, as indices of steps and inputs.

    Attributes
    ----------
    steps
        Element-wise steps, in order.
    reductions
        Reductions that accumulate during the pass.
    epilogue
        Steps with one element per row, computed at the end of the pass.
    inputs
        Inputs with the last axis that are read.
    loads
        Steps of earlier passes whose results are read back from scratch.
    """

    steps: tuple[int, ...]
    reductions: tuple[int, ...]
    epilogue: tuple[int, ...]
    inputs: tuple[int, ...]
    loads: tuple[int, ...]


def passes_of(steps: Sequence[KernelStep], has_last: Sequence[bool]) -> list[Pass]:
    """Assign steps to passes, in order.

    The passes of element-wise steps and reductions never decrease along the program. So where an output is written in place of an input
    that no later step reads, no later pass reads that input either.

    Parameters
    ----------
    steps
        The program's steps.
    has_last
        For each input, whether it has the last axis.

    Raises
    ------
    Unsupported
        If a step with one element per row reads whole rows but is not a reduction.
    """
    at: list[int] = []  # the pass of each step; the result of a reduction is available from the next pass on
    now = 0
    for step in steps:
        ready = [at[r.value] + (steps[r.value].row and not is_epilogue(step)) for r in step.args if r.kind == "step"]
        if is_epilogue(step) and any(_is_wide(r, steps, has_last) for r in step.args):
            raise Unsupported(f"{step.op} of whole rows")
        own = max([0, *ready])
        if not is_epilogue(step):
            # never back to an earlier pass, see above
            own = now = max(now, own)
        at.append(own)
    return [_pass(steps, has_last, at, number) for number in range(max(at) + 1)]


def buffered_steps(passes: Sequence[Pass]) -> list[int]:
    """Steps whose results for a row are kept in scratch for a later pass."""
    return sorted({t for p in passes for t in p.loads})


def is_epilogue(step: KernelStep) -> bool:
    """Whether a step is computed once per row, from results of reductions."""
    return step.row and step.op not in ROW_REDUCTIONS


def _is_wide(ref: Ref, steps: Sequence[KernelStep], has_last: Sequence[bool]) -> bool:
    """Whether a reference has one element per element of the row."""
    return (ref.kind == "in" and has_last[ref.value]) or (ref.kind == "step" and not steps[ref.value].row)


def _pass(steps: Sequence[KernelStep], has_last: Sequence[bool], at: Sequence[int], number: int) -> Pass:
    own = [t for t, p in enumerate(at) if p == number]
    inside = [t for t in own if not is_epilogue(steps[t])]
    read = [r for t in inside for r in steps[t].args]
    return Pass(
        steps=tuple(t for t in inside if not steps[t].row),
        reductions=tuple(t for t in inside if steps[t].row),
        epilogue=tuple(t for t in own if is_epilogue(steps[t])),
        inputs=tuple(sorted({r.value for r in read if r.kind == "in" and has_last[r.value]})),
        loads=tuple(sorted({r.value for r in read if r.kind == "step" and not steps[r.value].row and at[r.value] < number})),
    )
