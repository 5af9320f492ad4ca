"""Which of NumPy's functions may be pending, what they are in Twofold, and the types of their results.

Only functions that machine code computes with the bits of NumPy's loops: arithmetic, comparisons, selection, rounding, square roots and
casts. `exp` and its like are NumPy's own, at once: Twofold's are within 2 ulp, but not the same.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..config import SETTINGS
from ..opdef.registry import OPS
from ..opdef.spec import Sig
from ..ops import elementwise_math, primitive_arithmetic


class Rule(NamedTuple):
    """NumPy's function, and Twofold's operator."""

    numpys: Callable[..., Any]
    sig: Sig


UFUNCS = (
    np.add, np.subtract, np.multiply, np.divide, np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.negative,
    np.absolute, np.sqrt, np.square, np.maximum, np.minimum, np.logical_and, np.logical_or, np.logical_not, np.bitwise_and, np.bitwise_or,
    np.bitwise_xor, np.invert, np.reciprocal, np.sign, np.floor, np.ceil, np.rint,
)  # fmt: skip
#: What warns of ordinary operands. Others do when numbers overflow, or are infinite already.
WARNING = {np.divide, np.sqrt, np.reciprocal}


def _rule(ufunc: np.ufunc) -> Rule:
    return Rule(ufunc, next(op for op in OPS.values() if ufunc.__name__ in op.numpy_names).sig())


def _cast(name: str) -> Rule:
    dtype = np.dtype(name)
    return Rule(lambda a: a.astype(dtype), primitive_arithmetic.astype.sig(dtype=name))


CASTS = {np.dtype(name): _cast(name) for name in ("float32", "float64")}
RULES: dict[Any, Rule] = {u: _rule(u) for u in UFUNCS} | dict(CASTS)
RULES |= {np.where: Rule(np.where, primitive_arithmetic.where.sig()), np.clip: Rule(np.clip, elementwise_math.clip_range.sig())}
#: Dtypes that machine code computes with: arrays of others never fold.
FOLDABLE = {np.dtype(n) for n in ["float32", "float64", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]}
_NUMBERS = frozenset(d.num for d in FOLDABLE)
#: The integers that a dtype can hold, and the largest number that does not overflow in single precision.
RANGES = {d: (int(np.iinfo(d).min), int(np.iinfo(d).max)) for d in FOLDABLE if d.kind in "iu"}
LARGEST = 3.4e38
Shape = tuple[int, ...]
#: An operand's dtype, or the class of a Python number.
Kind = Any


def is_foldable(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of a dtype fold: not those with metadata, and not `longlong` where it is another name of `int64`."""
    return dtype.num in _NUMBERS and dtype.isnative and dtype.metadata is None


class Plan(NamedTuple):
    """What is known of an operation from its operands' kinds.

    Attributes
    ----------
    rule
        The functions; None if the operation cannot wait.
    kind, size
        Shape and dtype of the result, and its number of elements.
    numbers
        The dtypes that Python's numbers among the operands must fit; empty if they always do.
    holds
        Whether operands are NumPy's, of which a copy is held.
    warns
        Whether it divides by, or takes roots of, elements that may be zero or negative.
    divides
        Whether it divides by a number.
    """

    rule: Rule | None
    kind: tuple[Shape, np.dtype[Any]] = ((), np.dtype(bool))
    size: int = 0
    numbers: tuple[np.dtype[Any], ...] = ()
    holds: bool = False
    warns: bool = False
    divides: bool = False


NEVER = Plan(None)
_PLANS: dict[tuple[Any, ...], Plan] = {}
MOST_PLANS = 4096


def plan_of(signature: tuple[Any, ...]) -> Plan:
    """The plan of an operation.

    Parameters
    ----------
    signature
        A key of `RULES`, and for each operand its shape and dtype, or the class of a Python number.
    """
    found = _PLANS.get(signature)
    if found is None:
        if len(_PLANS) >= MOST_PLANS:
            _PLANS.clear()
        found = _PLANS[signature] = _planned(*signature)
    return found


def _planned(key: Any, *kinds: Any) -> Plan:
    rule = RULES.get(key)
    arrays = [k for k in kinds if type(k) is tuple]
    if rule is None or not arrays:
        return NEVER
    dtype = result_type(key, tuple([k[1] if type(k) is tuple else k for k in kinds]))
    shape: Shape | None = ()
    for k in arrays:
        shape = None if shape is None else broadcast(shape, k[0])
    if dtype is None or not shape or math.prod(shape) < SETTINGS.fold_elements:
        return NEVER
    dtypes = [k[1] for k in arrays]
    # integers may be too large even for double precision
    numbers = (
        [d for d in dtypes if d.kind in "iu" or d == np.float32 or (d.kind == "f" and int in kinds)] if len(arrays) < len(kinds) else []
    )
    small = any(not k[0] or math.prod(k[0]) < SETTINGS.fold_elements for k in arrays)  # scalars are NumPy's from any size
    warns = key in WARNING and dtype.kind == "f" and type(kinds[-1]) is tuple
    return Plan(rule, (shape, dtype), math.prod(shape), tuple(numbers), small, warns, key is np.divide and not warns)


def result_type(key: Any, kinds: tuple[Kind, ...]) -> np.dtype[Any] | None:
    """The dtype of a pending result; None where NumPy computes at once.

    Parameters
    ----------
    key
        A key of `RULES`.
    kinds
        The operands' dtypes, and the classes of those that are Python's numbers.
    """
    dtypes = [k for k in kinds if isinstance(k, np.dtype)]
    if not FOLDABLE.issuperset(dtypes) or any(k is complex or k is bool for k in kinds):
        return None
    floats = any(d.kind == "f" for d in dtypes)
    if len(dtypes) < len(kinds) and not floats and any(d.kind == "b" for d in dtypes):
        return None
    if key in CASTS:
        return key
    if key is np.where:
        if kinds[0] != np.bool_:
            return None
        return np.result_type(*[k if isinstance(k, np.dtype) else k(0) for k in kinds[1:]])
    if key is np.clip:
        same = all(k is float or k is int for k in kinds[1:])
        return kinds[0] if isinstance(kinds[0], np.dtype) and kinds[0].kind == "f" and same else None
    if key is np.reciprocal and not floats:
        return None
    found = loop_type(key, kinds)
    return found if found in FOLDABLE else None


@lru_cache(4096)
def loop_type(ufunc: np.ufunc, kinds: tuple[Kind, ...]) -> np.dtype[Any] | None:
    """The dtype of what a NumPy function with one result gives; None if it cannot say."""
    try:
        found = ufunc.resolve_dtypes((*kinds, None))[-1]
    except (TypeError, ValueError):
        return None
    return found if found.kind in "biufc" else None


@lru_cache(4096)
def broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape to which two broadcast; None if they do not."""
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


def fits(value: float, dtypes: tuple[np.dtype[Any], ...]) -> bool:
    """Whether arrays can hold a number without an error or a warning of NumPy's."""
    for dtype in dtypes:
        if dtype.kind == "f":  # an integer beyond is computed by NumPy at once, which may refuse it
            if abs(value) > LARGEST and value == value and abs(value) != np.inf:
                return False
        elif type(value) is int and not RANGES[dtype][0] <= value <= RANGES[dtype][1]:
            return False
    return True
