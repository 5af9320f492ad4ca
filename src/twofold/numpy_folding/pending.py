"""Which operations wait, and why the others do not."""

from itertools import pairwise
from typing import Any
from weakref import ref

import numpy as np

from ..config import SETTINGS
from . import error_state
from .array import LEAST, NDARRAY, FoldingArray, waiting
from .chain import LONGEST, ArrayOperand, ChainNode, issued, watch
from .memory import LOCK, nobody
from .reasons import ENGINE, ERRORS, KINDS, LAYOUT, LIBRARY, LOOKED_AT, NEVER_JOINED, PLAIN, WARNS, numpys
from .rules import RULES, TypedRule, fits, is_foldable, typed_rule
from .sites import PATHS, Site

NUMBERS = (float, int, bool)


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
        return numpys(key.__name__)
    if not where.is_own:
        return LIBRARY
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
            if not is_foldable(x.dtype):
                return KINDS
            signature.append((x.shape, x.dtype))
        elif issubclass(t, np.generic):
            signature.append(((), x.dtype))
        else:
            return KINDS
    plan = typed_rule(tuple(signature))
    rule = plan.rule
    if rule is None or (plan.numbers and not all(fits(x, plan.numbers) for x in operands if type(x) in NUMBERS)):
        return KINDS
    state = error_state.current()
    if not may_wait(plan, state):
        return WARNS if state.may_wait else ERRORS
    if SETTINGS.engine == "naive":
        return ENGINE
    if not where.folds(plan.size) and not pending:
        return NEVER_JOINED
    if plan.holds:
        operands = tuple([_held(x, operands) for x in operands])
    if pending:
        shorten(operands)
    with LOCK:
        found = _sources(operands)
        if isinstance(found, str):
            return found
        where.folded += 1
        made = waiting(ChainNode(rule, found, plan.kind, where, state))
    if plan.warns and not state.is_quiet and made.pending is not None:
        watch(made.pending)
    return made


def may_wait(plan: TypedRule, state: error_state.State) -> bool:
    """Whether an operation may warn later than NumPy does."""
    return state.may_wait and (not plan.warns or state.is_quiet or error_state.warnings_may_come_late())


def shorten(operands: tuple[Any, ...]) -> None:
    """Compute the operands of what would become too long a chain."""
    waits = [p for x in operands if type(x) is FoldingArray and (p := x.pending) is not None]
    if waits and issued() - min([p.first for p in waits]) >= LONGEST:
        for p in waits:
            p.compute()


def _sources(operands: tuple[Any, ...]) -> tuple[Any, ...] | str:
    """Operands as a pending operation refers to them, or why it cannot read them later. `LOCK` is held."""
    found: list[Any] = []
    for x in operands:
        t = type(x)
        if t is FoldingArray:
            pending = x.pending
            if pending is not None:
                pending.site.joined += 1
                found.append(pending)
                continue
            array, memory = x.array, x.memory
            if not is_row_major(array):
                return LAYOUT
            if not memory.revoke_own_leases():
                PATHS["exported"] += 1
                return LOOKED_AT
            source = x.source
            if source is None:
                source = x.source = ArrayOperand(array, memory, x.site)
            found.append(source)
        else:
            found.append(ArrayOperand(x) if t is NDARRAY else x)
    return tuple(found)


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


def in_place(key: Any, target: FoldingArray, other: Any, where: Site) -> bool:
    """Try to make ``target = key(target, other)`` pending in the array itself: where nobody else looks at its memory."""
    t = type(other)
    pending = target.array is None or (t is FoldingArray and other.array is None)
    if not pending or key not in RULES or t not in (FoldingArray, float, int) or other is target:
        return False
    plan = typed_rule((key, target.kind, other.kind if t is FoldingArray else t))
    rule, state = plan.rule, error_state.current()
    if (
        rule is None
        or not may_wait(plan, state)
        or plan.kind != target.kind
        or plan.holds
        or (t is not FoldingArray and not fits(other, plan.numbers))
    ):
        return False
    shorten((target, other))
    with LOCK:
        found = _sources((target, other))
        if isinstance(found, str):
            return False
        if target.array is not None:
            memory = target.memory
            if target.array is not memory.owner or memory.is_shared() or not target.array.flags.writeable:
                return False
            memory.arrays.clear()  # from now on the old content is nobody's
        elif target.pending is not None:
            target.pending.owner = nobody
        target.array = target.leased = target.source = None
        target.pending = made = ChainNode(rule, found, plan.kind, where, state)
        made.owner = ref(target)
        where.folded += 1
    if plan.warns and not state.is_quiet:
        watch(made)
    return True
