"""Which operations wait, and why the others do not.

`operation` decides in three steps. It *classifies* the operands: their kinds, taken together, have a rule or have none. It *plans*: the
error state, the settings and the counts of the site say whether waiting is allowed and may pay. It *admits*: under `LOCK`, the operands
that are already computed must have memory that no other code can see.
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
        A key of `RULES`, or a function without a rule.
    operands
        The operands; at least one is a folding array.
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
    if (may_warn and not error_state.warnings_may_come_late()) or (state.overflow_raises and typed.kind[1].kind == "f"):
        return WARNS
    if SETTINGS.engine == "naive":
        return ENGINE
    # `folds` also counts the elements, so it is called first, even where a pending operand decides: a chain that has begun continues.
    if not where.folds(typed.size) and not first:
        return NEVER_JOINED
    if typed.holds:
        # The program may write its small arrays before the operation is computed, so the operation reads copies.
        operands = tuple([_held(x, operands) for x in operands])
    if first and chain.issued - first >= LONGEST:
        shorten(operands)
    # Under one lock: between `admit` and the node's registration as a reader, no thread may take a lease of an operand's memory.
    with LOCK:
        admitted = admit(operands)
        if isinstance(admitted, str):
            return admitted
        where.folded += 1
        made = waiting(ChainNode(typed.rule, admitted, typed.kind, where, state))
        node = made.pending
    if may_warn and node is not None:  # outside the lock: `watch` computes the oldest operations if there are too many
        watch(node)
    return made


def classify(key: Any, operands: tuple[Any, ...]) -> tuple[TypedRule, int] | str:
    """The rule for operands of these kinds, and the number of the first operation in their chains (0: none); or why there is no rule."""
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
                return PLAIN  # the program owns its memory, and may write it without our knowledge
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
        # NumPy rejects, or warns about, a number that an array's dtype cannot hold. That depends on the value, so NumPy computes it now.
        for x in operands:
            if type(x) in NUMBERS and not fits(x, typed.numbers):
                return KINDS
    return typed, first


def shorten(operands: tuple[object, ...]) -> None:
    """Compute operands whose chain would become too long: a chain keeps its memory, and the time to claim it grows with its length."""
    for x in operands:
        if type(x) is FoldingArray and (node := x.pending) is not None:
            node.compute()


def admit(operands: tuple[Any, ...]) -> tuple[Operand, ...] | str:
    """The operands in the form that a pending operation keeps, or the reason why it cannot read them later. `LOCK` is held."""
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
                # NumPy's result would not be row-major, but a chain stores row-major results only.
                return LAYOUT
            # If the lease is dead, no folding array holds it either (`leased`), so there is nothing to revoke.
            if memory.lease() is not None and not memory.revoke_own_leases():
                PATHS["exported"] += 1
                return LOOKED_AT
            if operand is None:
                operand = x.operand = ArrayOperand(x.array, memory, x.site)
            found.append(operand)
        elif t is NDARRAY:
            if not x.flags.c_contiguous and not is_row_major(x):
                return LAYOUT
            found.append(ArrayOperand(x))
        else:
            found.append(x)
    return tuple(found)


def is_row_major(array: np.ndarray) -> bool:
    """Whether NumPy computes a row-major result from it. The layout decides whether ``reshape`` gives a view, so it must be NumPy's."""
    strides = [abs(s) for n, s in zip(array.shape, array.strides, strict=True) if n > 1]
    return all(s >= t > 0 for s, t in pairwise(strides)) and (not strides or strides[-1] > 0)


def _held(x: Any, operands: tuple[Any, ...]) -> Any:
    """The operand with its present content: NumPy's arrays are small here, and are copied."""
    t = type(x)
    if t is NDARRAY and x.shape:
        return x.copy("K")
    if t is NDARRAY or issubclass(t, np.generic):
        # If all arrays have the scalar's dtype, a Python number gives the same result, and machine code takes it as an argument.
        if x.dtype.kind == "f" and all(y.dtype == x.dtype for y in operands if type(y) not in NUMBERS):
            return x.item()
        return np.array(x)
    return x


def in_place(key: Any, target: FoldingArray, other: Any, where: Site) -> bool:
    """Try to make ``target = key(target, other)`` pending in the array itself, which is possible if no other code sees its memory."""
    if key not in RULES or type(other) not in (FoldingArray, float, int) or other is target:
        return False
    found = classify(key, (target, other))
    if isinstance(found, str):
        return False
    (typed, first), state = found, error_state.current()
    may_warn = typed.warns and not state.is_quiet
    # With nothing pending there is no chain to continue, and NumPy's own operator needs no memory for a result.
    if not first or typed.kind != target.kind or not state.may_wait or (state.overflow_raises and typed.kind[1].kind == "f"):
        return False
    if may_warn and not error_state.warnings_may_come_late():
        return False
    if chain.issued - first >= LONGEST:
        shorten((target, other))
    with LOCK:
        admitted = admit((target, other))
        if isinstance(admitted, str):
            return False
        memory, before = None, target.pending
        if target.array is not None:
            memory = target.memory
            # Another array over this memory would have to see the new content.
            if target.array is not memory.owner or memory.is_shared() or not target.array.flags.writeable:
                return False
        made = ChainNode(typed.rule, admitted, typed.kind, where, state)
        made.owner = ref(target)
        kept = target.array, target.leased, target.operand  # their finalizers run at the end
        # No call from here to the last store, since a Ctrl-C between two of them would leave an array with two contents, or with none.
        target.pending = made
        target.array = target.leased = target.operand = None
        if memory is not None:
            memory.arrays = []  # no array has the old content any more
        elif before is not None:
            before.owner = nobody  # the old operation has lost its array: it is stored only if another operation reads it
        where.folded += 1
    del kept
    if may_warn:
        watch(made)
    return True
