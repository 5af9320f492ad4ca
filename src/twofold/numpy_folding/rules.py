"""Which of NumPy's functions may be pending, and the types of their results.

Each function computes an element of its result from the same elements of the operands. So NumPy's own functions can compute a chain block
by block (`blocks`), with NumPy's bits. The functions in `COMPILED` give the same bits as machine code (`compiled`). `exp` and similar
functions do not: Twofold's versions are within 2 ulp.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..config import SETTINGS


class Rule(NamedTuple):
    """A function that may be pending.

    Attributes
    ----------
    numpys
        NumPy's function.
    write
        Computes one block of the result: takes blocks of the operands and, as the last argument, the block to write.
    cost
        Nanoseconds per element in cache: a rough figure, which decides whether a second thread pays.
    """

    numpys: Callable[..., Any]
    write: Callable[..., object]
    cost: float = 0.2


COMPILED = (
    np.add, np.subtract, np.multiply, np.divide, np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.negative,
    np.absolute, np.sqrt, np.square, np.maximum, np.minimum, np.logical_and, np.logical_or, np.logical_not, np.bitwise_and, np.bitwise_or,
    np.bitwise_xor, np.invert, np.reciprocal, np.sign, np.floor, np.ceil, np.rint,
)  # fmt: skip
#: Ufuncs of one result that take longer, with nanoseconds per element.
SLOW = {
    np.exp: 1, np.exp2: 1, np.expm1: 2, np.log: 1, np.log2: 1, np.log10: 2, np.log1p: 2, np.sin: 7, np.cos: 7, np.tan: 1, np.arcsin: 2,
    np.arccos: 1, np.arctan: 1, np.sinh: 1, np.cosh: 1, np.tanh: 1, np.arcsinh: 2, np.arccosh: 2, np.arctanh: 2, np.cbrt: 1, np.power: 1.3,
    np.float_power: 1.3, np.arctan2: 1.4, np.hypot: 8, np.logaddexp: 13, np.logaddexp2: 13, np.floor_divide: 6, np.remainder: 6,
    np.fmod: 16, np.heaviside: 1, np.copysign: 0.5, np.fmax: 0.2, np.fmin: 0.2, np.trunc: 0.3, np.fabs: 0.3, np.isnan: 0.3, np.isinf: 0.3,
    np.isfinite: 0.3,
    np.signbit: 0.5, np.logical_xor: 0.5, np.left_shift: 0.5, np.right_shift: 0.5, np.deg2rad: 0.5, np.rad2deg: 0.5, np.positive: 0.2,
}  # fmt: skip
#: Functions that warn for ordinary operands. The others warn only if numbers overflow or are already infinite.
WARNING = {
    np.divide, np.sqrt, np.reciprocal, np.log, np.log2, np.log10, np.log1p, np.power, np.float_power, np.floor_divide, np.remainder,
    np.fmod, np.arcsin, np.arccos, np.arccosh, np.arctanh, np.exp, np.exp2, np.expm1, np.sinh, np.cosh,
}  # fmt: skip


def _write_where(condition: np.ndarray | float, x: np.ndarray | float, y: np.ndarray | float, out: np.ndarray) -> None:
    out[...] = np.where(condition, x, y)  # a third of the time of two calls of `copyto`


def _write_cast(x: np.ndarray | float, out: np.ndarray) -> None:
    np.copyto(out, x, casting="unsafe")


def _by_name(ufunc: np.ufunc) -> Callable[..., object]:
    """Pass the result's memory by name, as NumPy requires for some functions."""
    return lambda x, y, out: ufunc(x, y, out=out)


def _cast(dtype: np.dtype) -> Rule:
    return Rule(lambda a: a.astype(dtype), _write_cast)


CASTS = {np.dtype(name): _cast(np.dtype(name)) for name in ("float32", "float64")}
RULES: dict[Any, Rule] = {u: Rule(u, u) for u in COMPILED} | {u: Rule(u, _by_name(u)) for u in (np.maximum, np.minimum)}
RULES |= {u: Rule(u, u, cost) for u, cost in SLOW.items()} | dict(CASTS)
RULES |= {np.where: Rule(np.where, _write_where, 0.5), np.clip: Rule(np.clip, lambda a, low, high, out: np.clip(a, low, high, out=out))}
#: Dtypes that machine code computes with: arrays of others never fold.
FOLDABLE = {np.dtype(n) for n in ["float32", "float64", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]}
_NUMBERS = frozenset(d.num for d in FOLDABLE)
#: The integers that a dtype can hold, and the largest number that does not overflow in single precision.
RANGES = {d: (int(np.iinfo(d).min), int(np.iinfo(d).max)) for d in FOLDABLE if d.kind in "iu"}
LARGEST = 3.4e38
Shape = tuple[int, ...]
#: The shape and dtype of an array.
ArrayKind = tuple[Shape, np.dtype]
#: An operand's dtype, or the class of a Python number.
Kind = np.dtype | type


def is_foldable(dtype: np.dtype) -> bool:
    """Whether arrays of a dtype fold: not those with metadata, and not `longlong` where it is another name of `int64`."""
    return dtype.num in _NUMBERS and dtype.isnative and dtype.metadata is None


class TypedRule(NamedTuple):
    """What the kinds of its operands say about an operation.

    Attributes
    ----------
    rule
        The functions.
    kind, size
        Shape and dtype of the result, and its number of elements.
    numbers
        The dtypes that Python's numbers among the operands must fit; empty if they always do.
    holds
        Whether some operands are small arrays of NumPy's, which the operation copies.
    warns
        Whether it warns for ordinary elements: zeros or negative numbers.
    """

    rule: Rule
    kind: ArrayKind
    size: int
    numbers: tuple[np.dtype, ...]
    holds: bool
    warns: bool


MOST_TYPED = 4096
#: With fewer bytes per element, `SETTINGS.fold_elements` elements do not fold: they stay in the cache, where NumPy is faster.
LEAST_WIDTH = 4


def _typed(key: Any, *kinds: Any) -> TypedRule | None:
    rule = RULES.get(key)
    arrays = [k for k in kinds if type(k) is tuple]
    if rule is None or not arrays:
        return None
    dtype = result_type(key, tuple([k[1] if type(k) is tuple else k for k in kinds]))
    shape: Shape | None = ()
    for k in arrays:
        shape = None if shape is None else broadcast(shape, k[0])
    if dtype is None or not shape or (size := math.prod(shape)) < SETTINGS.fold_elements:
        return None
    dtypes = [k[1] for k in arrays]
    if size * max(d.itemsize for d in (dtype, *dtypes)) < LEAST_WIDTH * SETTINGS.fold_elements:
        return None
    # integers may be too large even for double precision
    numbers = (
        [d for d in dtypes if d.kind in "iu" or d == np.float32 or (d.kind == "f" and int in kinds)] if len(arrays) < len(kinds) else []
    )
    small = any(not k[0] or math.prod(k[0]) < SETTINGS.fold_elements for k in arrays)  # scalars are NumPy's, whatever the size
    return TypedRule(rule, (shape, dtype), size, tuple(numbers), small, key in WARNING)


class TypedRules(dict[tuple[object, ...], TypedRule | None]):
    """The typed rules by signature: a key of `RULES`, and for each operand its kind, or the class of a Python number.

    None means an operation that NumPy computes immediately. The class is a dictionary, because a successful look-up enters no Python
    function.
    """

    def __missing__(self, signature: tuple[object, ...]) -> TypedRule | None:
        # Signatures contain shapes, so a program whose shapes keep changing would grow the table without bound.
        if len(self) >= MOST_TYPED:
            self.clear()
        found = self[signature] = _typed(*signature)
        return found


TYPED = TypedRules()


def result_type(key: Any, kinds: tuple[Kind, ...]) -> np.dtype | None:
    """The dtype of a pending result; None if NumPy computes the operation immediately.

    Parameters
    ----------
    key
        A key of `RULES`.
    kinds
        The operands' dtypes, and the classes of those that are Python's numbers.
    """
    dtypes = [k for k in kinds if isinstance(k, np.dtype)]
    # Complex results do not fold, and NumPy's `resolve_dtypes` does not take the class `bool`.
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
        # A zero promotes like any number of its class.
        return np.result_type(*[k if isinstance(k, np.dtype) else k(0) for k in kinds[1:]])
    if key is np.clip:
        same = all(k is float or k is int for k in kinds[1:])
        return kinds[0] if isinstance(kinds[0], np.dtype) and kinds[0].kind == "f" and same else None
    if key is np.reciprocal and not floats:
        return None
    if key is np.power and not floats:
        return None  # a negative power of an integer is an error, and only the elements can tell
    found = loop_type(key, kinds)
    return found if found in FOLDABLE else None


def loop_type(ufunc: np.ufunc, kinds: tuple[Kind, ...]) -> np.dtype | None:
    """The dtype of the result of a NumPy function with one result; None if NumPy cannot say."""
    found = loop_types(ufunc, kinds)
    return found[-1] if found is not None and found[-1].kind in "biufc" else None


@lru_cache(4096)
def loop_types(ufunc: np.ufunc, kinds: tuple[Kind, ...]) -> tuple[np.dtype, ...] | None:
    """The dtypes to which a NumPy function with one result converts its operands, and the result's; None if NumPy cannot say."""
    try:
        return ufunc.resolve_dtypes((*kinds, None))
    except (TypeError, ValueError):
        return None


@lru_cache(4096)
def broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape to which two shapes broadcast; None if they do not."""
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


def fits(value: float, dtypes: tuple[np.dtype, ...]) -> bool:
    """Whether arrays can hold a number without an error or a warning of NumPy's."""
    for dtype in dtypes:
        if dtype.kind == "f":  # NumPy itself computes with an integer beyond the range, since it may reject it
            if abs(value) > LARGEST and value == value and abs(value) != np.inf:
                return False
        elif type(value) is int and not RANGES[dtype][0] <= value <= RANGES[dtype][1]:
            return False
    return True
