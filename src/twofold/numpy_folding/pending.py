"""Operations that wait: the first one alone, with NumPy's function and Twofold's; from the second one on in a window.

An operation that is read before another joins it is computed by NumPy, so what does not chain costs what it costs in NumPy.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from ..imperative.cell import Value, wrap
from ..numpy.array import ndarray as Cell
from . import error_state
from .array import LEAST, NDARRAY, FoldingArray, waiting, weak
from .memory import LOCK
from .rules import RULES, Rule, broadcast, fits, is_finite_in, result_type
from .sites import PATHS, Site

NUMBERS = (float, int, bool)

# why an operation does not wait
UNKNOWN = "NumPy's function, at once"
KINDS = "these dtypes or operands"
LAYOUT = "an operand is not in row-major order"
LOOKED_AT = "a NumPy array looks at an operand's memory"
ERRORS = "errstate"
COLD = "few elements so far"
OPTIONS = "out=, where= or other options"
PLAIN = "a large operand is NumPy's own array"


def operation(key: Any, operands: tuple[Any, ...], where: Site) -> FoldingArray | str:
    """A pending element-wise operation, or why it cannot wait.

    Parameters
    ----------
    key
        A key of `RULES`.
    operands
        What it is applied to; at least one is a folding array.
    where
        The site in the program.
    """
    rule = RULES.get(key)
    if rule is None:
        return UNKNOWN
    found = _examined(operands)
    if found.__class__ is str:
        return found
    kinds, shape, pending, ready = found
    dtype = result_type(key, kinds)
    if dtype is None:
        return KINDS
    if None in shape or len(shape) != 1:
        joint = _joint(shape)
        if joint is None:
            return KINDS
    else:
        (joint,) = shape
    for x in operands:
        if (type(x) is int and not fits(x, kinds)) or (type(x) is float and not is_finite_in(x, kinds)):
            return KINDS
    size = 1
    for n in joint:
        size *= n
    if size < LEAST:
        return KINDS
    if not error_state.may_wait():
        return ERRORS
    hot = where.is_hot(size)
    if not pending and not hot:
        return COLD
    operands = tuple([_held(x, kinds) for x in operands])
    with LOCK:
        reason = _closed(operands)
        if reason is not None:
            return reason
        where.folded += 1
        if pending:
            return waiting(joint, dtype, where, None, in_window(rule, operands))
        made = waiting(joint, dtype, where, (rule, operands), None)
        reference = weak(made)
        for x in ready:
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


def _examined(operands: tuple[Any, ...]) -> Any:
    """The operands' kinds, their shapes, whether one is pending, and the folding ones that are ready; or why it cannot wait."""
    kinds: list[Any] = []
    shapes: set[Any] = set()
    pending, ready = False, []
    for x in operands:
        t = type(x)
        if t is FoldingArray:
            array = x.array
            if array is None:
                pending = True
                shape, dtype = x.kind
            else:
                shape, dtype = array.shape, array.dtype
                ready.append(x)
            kinds.append(dtype)
            shapes.add(shape)
        elif t in NUMBERS:
            kinds.append(t)
        elif t is NDARRAY:
            if x.size >= LEAST:
                return PLAIN
            kinds.append(x.dtype)
            if x.shape:
                shapes.add(x.shape)
        elif issubclass(t, np.generic):
            kinds.append(x.dtype)
        else:
            return KINDS
    return tuple(kinds), shapes, pending, ready


def _joint(shapes: set[tuple[int, ...]]) -> tuple[int, ...] | None:
    joint: tuple[int, ...] | None = ()
    for shape in shapes:
        joint = broadcast(joint, shape)
        if joint is None:
            return None
    return joint


def is_row_major(array: np.ndarray) -> bool:
    """Whether NumPy gives a row-major result for it: layouts decide what ``reshape`` shares, so they must be NumPy's."""
    if array.flags.c_contiguous:
        return True
    strides = [abs(s) for n, s in zip(array.shape, array.strides, strict=True) if n > 1]
    return all(s >= t > 0 for s, t in pairwise(strides)) and (not strides or strides[-1] > 0)


def _held(x: Any, kinds: tuple[Any, ...]) -> Any:
    """An operand as it is now: what NumPy owns is small, and copied."""
    t = type(x)
    if t is NDARRAY and x.shape:
        return x.copy()
    if t is NDARRAY or issubclass(t, np.generic):  # where all arrays have its dtype, a number means the same
        if x.dtype.kind == "f" and all(k == x.dtype for k in kinds if isinstance(k, np.dtype)):
            return x.item()
        return np.array(x)
    return x


def in_window(rule: Rule, operands: tuple[Any, ...]) -> Cell:
    """The result of Twofold's function; whose memory it reads later is noted. `LOCK` is held, and the memories are closed."""
    cells = [cell_of(x) if type(x) is FoldingArray else wrap(Cell, Value(x)) if type(x) is NDARRAY else x for x in operands]
    out = rule.twofolds(*cells)
    value: Any = out._v
    at = value.at if value.__class__ is Value else None
    if at is not None:
        for x in operands:
            if type(x) is FoldingArray and x.array is not None:
                x.memory.read_by(at[0])
    return out


def cell_of(x: FoldingArray) -> Cell:
    """Twofold's array: a pending result, or a leaf over the memory."""
    x.site.joined += 1
    if x.single is not None:
        (rule, operands), x.single = x.single, None
        x.cell = in_window(rule, operands)
    cell = x.cell
    if cell is None:
        assert x.array is not None
        cell = x.cell = wrap(Cell, x.memory.leaf(x.array))
    return cell


def in_place(key: Any, target: FoldingArray, other: Any, where: Site) -> bool:
    """Try to make ``target = key(target, other)`` pending in the array itself: where nobody else looks at its memory."""
    t = type(other)
    pending = target.array is None or (t is FoldingArray and other.array is None)
    rule = RULES.get(key)
    if not pending or rule is None or t not in (FoldingArray, float, int) or other is target or not error_state.may_wait():
        return False
    if t is FoldingArray and other.shape != target.shape:
        return False
    kinds = target.dtype, other.dtype if t is FoldingArray else t
    if result_type(key, kinds) != target.dtype:
        return False
    if (t is int and not fits(other, kinds)) or (t is float and not is_finite_in(other, kinds)):
        return False
    with LOCK:
        if _closed((target, other)) is not None:
            return False
        if target.array is not None:
            memory = target.memory
            if target.array is not memory.owner or memory.is_shared() or not target.array.flags.writeable:
                return False
            memory.settle()
        shape, dtype = target.shape, target.dtype
        cell = in_window(rule, (target, other))
        where.folded += 1
        target.kind = shape, dtype
        target.array = target.leased = target.single = None
        target.cell = cell
    return True
