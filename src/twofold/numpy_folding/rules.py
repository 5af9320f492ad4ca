"""Which of NumPy's functions may be pending, what they are in Twofold, and the types of their results.

Only functions that machine code computes with the bits of NumPy's loops: arithmetic, comparisons, selection, rounding, square roots and
casts. `exp` and its like are NumPy's own, at once: Twofold's are within 2 ulp, but not the same.
"""

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..numpy import selecting
from ..numpy.array import ndarray
from ..numpy.ufuncs import function_of


class Rule(NamedTuple):
    """NumPy's function, and Twofold's."""

    numpys: Callable[..., Any]
    twofolds: Callable[..., Any]


#: Python's operators are the shortest way to Twofold's functions, and take a number on either side.
OPERATORS: dict[Any, Callable[..., Any]] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.divide: operator.truediv,
    np.less: operator.lt, np.less_equal: operator.le, np.greater: operator.gt, np.greater_equal: operator.ge,
    np.equal: operator.eq, np.not_equal: operator.ne, np.negative: operator.neg, np.absolute: operator.abs,
}  # fmt: skip
OTHERS = (
    np.sqrt, np.square, np.maximum, np.minimum, np.logical_and, np.logical_or, np.logical_not, np.bitwise_and, np.bitwise_or,
    np.bitwise_xor, np.invert, np.reciprocal, np.sign, np.floor, np.ceil, np.rint,
)  # fmt: skip
COMPARISONS = {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}
RULES: dict[Any, Rule] = {u: Rule(u, f) for u, f in OPERATORS.items()} | {u: Rule(u, function_of(u.__name__)) for u in OTHERS}
WHERE = Rule(np.where, selecting.where)
CLIP = Rule(np.clip, selecting.clip)
RULES |= {np.where: WHERE, np.clip: CLIP}


def _cast(name: str) -> Rule:
    dtype = np.dtype(name)
    return Rule(lambda a: a.astype(dtype), lambda x: ndarray.astype(x, dtype))


CASTS = {np.dtype(name): _cast(name) for name in ("float32", "float64")}
RULES |= dict(CASTS)
#: Dtypes that machine code computes with: arrays of others never fold.
FOLDABLE = {np.dtype(n) for n in ["float32", "float64", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]}
#: An operand's dtype, or the class of a Python number.
Kind = Any


@lru_cache(4096)
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
    if not FOLDABLE.issuperset(dtypes) or complex in kinds:
        return None
    numbers = len(dtypes) < len(kinds)
    floats = any(d.kind == "f" for d in dtypes)
    if numbers and not floats and (bool in kinds or any(d.kind == "b" for d in dtypes)):
        return None
    if key in CASTS:
        return key
    if key is np.where:
        if dtypes[0] != np.bool_ or kinds[0] is not dtypes[0]:
            return None
        return np.result_type(*[k if isinstance(k, np.dtype) else k(0) for k in kinds[1:]])
    if key is np.clip:
        same = all(k is float or k is int for k in kinds[1:])
        return kinds[0] if dtypes and kinds[0].kind == "f" and same else None
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


def fits(value: int, kinds: tuple[Kind, ...]) -> bool:
    """Whether integer arrays can hold a number."""
    limits = [np.iinfo(k) for k in kinds if isinstance(k, np.dtype) and k.kind in "iu"]
    return all(i.min <= value <= i.max for i in limits)


def is_finite_in(value: float, kinds: tuple[Kind, ...]) -> bool:
    """Whether a number stays finite beside arrays of single precision; where it does not, NumPy warns."""
    return abs(value) < 3e38 or np.dtype("float32") not in kinds or value != value or value in (np.inf, -np.inf)
