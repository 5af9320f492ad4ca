"""Operations that wait: the first one alone, with NumPy's function and Twofold's; from the second one on in a window.

An operation that is read before another joins it is computed by NumPy, so what does not chain costs what it costs in NumPy.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from ..imperative.cell import Value, wrap
from ..imperative.deferral import join
from ..numpy.array import ndarray as Cell
from . import error_state
from .array import LEAST, NDARRAY, FoldingArray, waiting, weak
from .memory import LOCK
from .rules import RULES, Rule, fits, plan_of
from .sites import PATHS, RETIRED, Site

NUMBERS = (float, int, bool)

# why an operation does not wait
UNKNOWN = "NumPy's function, at once"
KINDS = "these dtypes or operands"
LAYOUT = "an operand is not in row-major order"
LOOKED_AT = "a NumPy array looks at an operand's memory"
ERRORS = "errstate"
WARNS = "may warn; would fold where errstate ignores it"
COLD = "few elements so far"
NEVER_JOINED = "its results were never part of a chain"
IN_PLACE = "in place, with nothing pending or somebody looking"
OPTIONS = "out=, where= or other options"
PLAIN = "a large operand is NumPy's own array"


def operation(key: Any, operands: tuple[Any, ...], where: Site) -> FoldingArray | str:
    """A pending element-wise operation, or why it cannot wait.

    Parameters
    ----------
    key
        A key of `RULES`, or a function that has none.
    operands
        What it is applied to; at least one is a folding array.
    where
        The site in the program.
    """
    if key not in RULES:
        return UNKNOWN
    signature, pending = [key], False
    for x in operands:
        t = type(x)
        if t is FoldingArray:
            signature.append(x.kind)
            if x.array is None:
                pending = True
        elif t in NUMBERS:
            signature.append(t)
        elif t is NDARRAY:
            if x.size >= LEAST:
                return PLAIN
            signature.append((x.shape, x.dtype))
        elif issubclass(t, np.generic):
            signature.append(((), x.dtype))
        else:
            return KINDS
    plan = plan_of(tuple(signature))
    rule = plan.rule
    if rule is None or (plan.numbers and not all(fits(x, plan.numbers) for x in operands if type(x) in NUMBERS)):
        return KINDS
    mode = error_state.waiting()
    if mode != error_state.EVERYTHING and (mode == error_state.NOTHING or plan.warns or (plan.divides and not operands[1])):
        return ERRORS if mode == error_state.NOTHING else WARNS
    if not where.folds(plan.size) and not pending:
        return NEVER_JOINED if where.elements >= RETIRED else COLD
    if plan.holds:
        operands = tuple([_held(x, operands) for x in operands])
    with LOCK:
        reason = _closed(operands)
        if reason is not None:
            return reason
        where.folded += 1
        if pending:
            return waiting(plan.kind, where, None, in_window(rule, operands))
        made = waiting(plan.kind, where, (rule, operands), None)
        reference = weak(made)
        for x in operands:
            if type(x) is FoldingArray:
                x.memory.singles.append(reference)
    return made


def _closed(operands: tuple[Any, ...]) -> str | None:
    """Prepare the folding operands to be read later; None, or why they cannot be. `LOCK` is held."""
    for x in operands:
        if type(x) is FoldingArray:
            if x.array is None and x.single is None and x.has_run():
                x.ready()  # its window has run: from now on who reads it is noted
            if x.array is not None:
                if not is_row_major(x.array):
                    return LAYOUT
                if not x.memory.close():
                    PATHS["exported"] += 1
                    return LOOKED_AT
    return None


def is_row_major(array: np.ndarray) -> bool:
    """Whether NumPy gives a row-major result for it: layouts decide what ``reshape`` shares, so they must be NumPy's."""
    if array.flags.c_contiguous:
        return True
    strides = [abs(s) for n, s in zip(array.shape, array.strides, strict=True) if n > 1]
    return all(s >= t > 0 for s, t in pairwise(strides)) and (not strides or strides[-1] > 0)


def _held(x: Any, operands: tuple[Any, ...]) -> Any:
    """An operand as it is now: what NumPy owns is small, and copied."""
    t = type(x)
    if t is NDARRAY and x.shape:
        return x.copy()
    if t is NDARRAY or issubclass(t, np.generic):  # where all arrays have its dtype, a number means the same
        if x.dtype.kind == "f" and all(y.dtype == x.dtype for y in operands if type(y) not in NUMBERS):
            return x.item()
        return np.array(x)
    return x


def in_window(rule: Rule, operands: tuple[Any, ...]) -> Value:
    """The result of Twofold's function; whose memory it reads later is noted. `LOCK` is held, and the memories are closed."""
    values = tuple([value_of(x) if type(x) is FoldingArray else Value(x) if type(x) is NDARRAY else x for x in operands])
    out = None if rule.typed is None else join(rule.typed, values)
    if out is None:
        cell: Any = rule.twofolds(*[wrap(Cell, v) if type(v) is Value else v for v in values])
        out = cell._capture()
    at: Any = out.at
    if at is not None:
        for x in operands:
            if type(x) is FoldingArray and x.array is not None:
                x.memory.read_by(at[0])
    return out


def value_of(x: FoldingArray) -> Value:
    """Twofold's value: a pending result, or a leaf over the memory."""
    x.site.joined += 1
    if x.single is not None:
        (rule, operands), x.single = x.single, None
        x.value = found = in_window(rule, operands)
        return found
    found = x.value
    if found is None:
        assert x.array is not None
        found = x.value = x.memory.leaf(x.array)
    return found


def in_place(key: Any, target: FoldingArray, other: Any, where: Site) -> bool:
    """Try to make ``target = key(target, other)`` pending in the array itself: where nobody else looks at its memory."""
    t = type(other)
    pending = target.array is None or (t is FoldingArray and other.array is None)
    if not pending or key not in RULES or t not in (FoldingArray, float, int) or other is target:
        return False
    mode = error_state.waiting()
    if mode == error_state.NOTHING:
        return False
    plan = plan_of((key, target.kind, other.kind if t is FoldingArray else t))
    rule = plan.rule
    if mode == error_state.QUIET and (plan.warns or (plan.divides and not other)):
        return False
    if rule is None or plan.kind != target.kind or plan.holds or (t is not FoldingArray and not fits(other, plan.numbers)):
        return False
    with LOCK:
        if _closed((target, other)) is not None:
            return False
        if target.array is not None:
            memory = target.memory
            if target.array is not memory.owner or memory.is_shared() or not target.array.flags.writeable:
                return False
            memory.settle()
        value = in_window(rule, (target, other))
        where.folded += 1
        target.array = target.leased = target.single = None
        target.value = value
    return True
