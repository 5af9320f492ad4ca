"""Which operations wait, and why the others do not.

`operation` decides in three steps. It *classifies* the operands: their kinds, taken together, have a rule or have none. It *plans*: the
error state, the settings and the counts of the site say whether waiting is allowed and may pay. It *admits*: under `LOCK`, the operands
that are there must have memory that nobody else looks at.
"""

from itertools import pairwise
from typing import Any
from weakref import ref

import numpy as np

from ..config import SETTINGS
from . import chain, error_state
from .array import LEAST, NDARRAY, FoldingArray, waiting
from .chain import LONGEST, ChainNode, watch
from .memory import LOCK, ArrayOperand, Operand, nobody
from .reasons import ENGINE, ERRORS, KINDS, LAYOUT, LIBRARY, LOOKED_AT, NEVER_JOINED, PLAIN, WARNS, numpys
from .rules import RULES, TYPED, TypedRule, fits, is_foldable
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
    found = classify(key, operands)
    if isinstance(found, str):
        return found
    typed, first = found
    state = error_state.current()
    if not state.may_wait:
        return ERRORS
    may_warn = typed.warns and not state.is_quiet
    if may_warn and not error_state.warnings_may_come_late():
        return WARNS
    if SETTINGS.engine == "naive":
        return ENGINE
    # `folds` counts the elements, so it is asked even where a pending operand decides: what has begun to chain goes on
    if not where.folds(typed.size) and not first:
        return NEVER_JOINED
    if typed.holds:
        operands = tuple([_held(x, operands) for x in operands])
    if first and chain.issued - first >= LONGEST:
        shorten(operands)
    with LOCK:
        admitted = admit(operands)
        if isinstance(admitted, str):
            return admitted
        where.folded += 1
        made = waiting(ChainNode(typed.rule, admitted, typed.kind, where, state))
        node = made.pending
    if may_warn and node is not None:  # outside the lock: watching too many operations computes the oldest
        watch(node)
    return made


def classify(key: Any, operands: tuple[Any, ...]) -> tuple[TypedRule, int] | str:
    """The rule for operands of these kinds, and the number of the first operation that they wait for (0: none); or why there is no rule."""
    signature, first = [key], 0
    for x in operands:
        t = type(x)
        if t is FoldingArray:
            signature.append(x.kind)
            node = x.pending
            if node is not None and (not first or node.first < first):
                first = node.first
        elif t in NUMBERS:
            signature.append(t)
        elif t is NDARRAY:
            if x.size >= LEAST:
                return PLAIN  # its memory is the program's, which may write it without our knowledge
            if not is_foldable(x.dtype):
                return KINDS
            signature.append((x.shape, x.dtype))
        elif issubclass(t, np.generic):
            signature.append(((), x.dtype))
        else:
            return KINDS
    typed = TYPED[tuple(signature)]
    if typed is None:
        return KINDS
    if typed.numbers:
        # NumPy refuses, or warns of, a number that an array's dtype cannot hold: at once, and by value
        for x in operands:
            if type(x) in NUMBERS and not fits(x, typed.numbers):
                return KINDS
    return typed, first


def shorten(operands: tuple[Any, ...]) -> None:
    """Compute the operands of what would become too long a chain: its memory would stay, and claiming it would take ever longer."""
    for x in operands:
        if type(x) is FoldingArray and (node := x.pending) is not None:
            node.compute()


def admit(operands: tuple[Any, ...]) -> tuple[Operand, ...] | str:
    """Operands as a pending operation refers to them, or why it cannot read them later. `LOCK` is held."""
    found: list[Operand] = []
    for x in operands:
        t = type(x)
        if t is FoldingArray:
            node = x.pending
            if node is not None:
                node.site.joined += 1
                found.append(node)
                continue
            memory, operand = x.memory, x.operand
            if operand is None and not x.array.flags.c_contiguous and not is_row_major(x.array):
                return LAYOUT
            # While the lease is dead no folding array has one of its own either, so that nothing has to be revoked.
            if memory.lease() is not None and not memory.revoke_own_leases():
                PATHS["exported"] += 1
                return LOOKED_AT
            if operand is None:
                operand = x.operand = ArrayOperand(x.array, memory, x.site)
            found.append(operand)
        else:
            found.append(ArrayOperand(x) if t is NDARRAY else x)
    return tuple(found)


def is_row_major(array: np.ndarray) -> bool:
    """Whether NumPy gives a row-major result for it: layouts decide what ``reshape`` shares, so they must be NumPy's."""
    strides = [abs(s) for n, s in zip(array.shape, array.strides, strict=True) if n > 1]
    return all(s >= t > 0 for s, t in pairwise(strides)) and (not strides or strides[-1] > 0)


def _held(x: Any, operands: tuple[Any, ...]) -> Any:
    """An operand as it is now: what NumPy owns is small, and copied."""
    t = type(x)
    if t is NDARRAY and x.shape:
        return x.copy()
    if t is NDARRAY or issubclass(t, np.generic):
        # a number has the same meaning where all arrays have its dtype, and machine code takes it as an argument
        if x.dtype.kind == "f" and all(y.dtype == x.dtype for y in operands if type(y) not in NUMBERS):
            return x.item()
        return np.array(x)
    return x


def in_place(key: Any, target: FoldingArray, other: Any, where: Site) -> bool:
    """Try to make ``target = key(target, other)`` pending in the array itself: where nobody else looks at its memory."""
    if key not in RULES or type(other) not in (FoldingArray, float, int) or other is target:
        return False
    found = classify(key, (target, other))
    if isinstance(found, str):
        return False
    (typed, first), state = found, error_state.current()
    may_warn = typed.warns and not state.is_quiet
    if not first or typed.kind != target.kind or not state.may_wait or (may_warn and not error_state.warnings_may_come_late()):
        return False
    if chain.issued - first >= LONGEST:
        shorten((target, other))
    with LOCK:
        admitted = admit((target, other))
        if isinstance(admitted, str):
            return False
        if target.array is not None:
            memory = target.memory
            if target.array is not memory.owner or memory.is_shared() or not target.array.flags.writeable:
                return False
            memory.arrays.clear()  # from now on the old content is nobody's
        elif target.pending is not None:
            target.pending.owner = nobody
        target.array = target.leased = target.operand = None
        target.pending = made = ChainNode(typed.rule, admitted, typed.kind, where, state)
        made.owner = ref(target)
        where.folded += 1
    if may_warn:
        watch(made)
    return True
