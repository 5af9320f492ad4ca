"""Python's operators of `FoldingArray`, and NumPy's protocols for functions."""

import operator
from collections.abc import Callable, Collection

import numpy as np

from ..assembly import attach_method
from . import error_state
from .array import NDARRAY, FoldingArray
from .calls import Args, Given, Options, is_programs, method_now, now, overrides, ufunc_now
from .pending import NUMBERS, in_place, operation
from .reasons import IN_PLACE, KINDS, OPTIONS, numpys
from .sites import Site, site

BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide, "mod": np.remainder,
    "pow": np.power, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift,
    "rshift": np.right_shift, "matmul": np.matmul, "divmod": np.divmod,
}  # fmt: skip
COMPARED = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal}
UNARY = {"neg": np.negative, "abs": np.absolute, "invert": np.invert, "pos": np.positive}
REVERSED = {f"__r{name}__" for name in BINARY}
#: Python's functions for operators. Python tries the right operand first if its class is a subclass of the left operand's.
WITH_SUBCLASS = {f"__{name}__": getattr(operator, f"__{name}__", divmod) for name in (*BINARY, *COMPARED)}
#: NumPy's functions that compute no elements.
IDLE = {
    np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.may_share_memory, np.iscomplexobj, np.isrealobj, np.transpose, np.swapaxes,
    np.moveaxis, np.rollaxis, np.expand_dims, np.squeeze, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.broadcast_to, np.broadcast_arrays,
    np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.diagonal, np.flip, np.fliplr, np.flipud, np.rot90, np.real, np.imag,
    np.lib.stride_tricks.sliding_window_view, np.lib.stride_tricks.as_strided, np.empty_like, np.reshape, np.ravel,
}  # fmt: skip
#: The ufuncs that NumPy uses for an array to the power of a number.
POWERS = {2: np.square, 0.5: np.sqrt, -1: np.reciprocal}


def applied(ufunc: np.ufunc, operands: Args, where: Site) -> object:
    """The result of a ufunc: pending if it may wait, otherwise computed now."""
    found = operation(ufunc, operands, where)
    if type(found) is FoldingArray:
        return found
    where.count(found)
    return ufunc_now(ufunc, operands, {}, where)


def _is_operand(value: object) -> bool:
    t = type(value)
    return t is FoldingArray or t in NUMBERS or t is NDARRAY or issubclass(t, np.generic) or t is complex


def _by_numpy(ufunc: np.ufunc, x: FoldingArray, y: object, dunder: str) -> object:
    """An operator with an operand that NumPy, or the operand's own class, must handle."""
    if overrides(y):
        return ufunc(y, x) if dunder in REVERSED else ufunc(x, y)
    given = Given(False)
    # To Python a subclass of `ndarray` is no subclass of `FoldingArray`, so it would not try the subclass's methods first.
    function = WITH_SUBCLASS.get(dunder) if isinstance(y, NDARRAY) else None
    found = (function or getattr(NDARRAY, dunder))(given.plain(x), y)
    if found is NotImplemented:
        return found
    where = site()
    where.count(KINDS)
    return given.folded(found, where)


def _binary(ufunc: np.ufunc, dunder: str, reverse: bool) -> Callable[..., object]:
    def method(self: FoldingArray, other: object) -> object:
        if _is_operand(other):
            return applied(ufunc, (other, self) if reverse else (self, other), site())
        return _by_numpy(ufunc, self, other, dunder)

    return method


def _compared(ufunc: np.ufunc, dunder: str) -> Callable[..., object]:
    """A comparison: the operator also compares operands that the ufunc refuses, such as numbers with text."""

    def method(self: FoldingArray, other: object) -> object:
        if _is_operand(other) and (type(other) is not NDARRAY or other.dtype.kind in "biufc"):
            return applied(ufunc, (self, other), site())
        return _by_numpy(ufunc, self, other, dunder)

    return method


def _power(self: FoldingArray, other: object, modulo: object = None) -> object:
    if modulo is not None:
        return NotImplemented
    if not _is_operand(other):
        return _by_numpy(np.power, self, other, "__pow__")
    where, kind, found = site(), self.dtype.kind, numpys("**")
    is_number = type(other) in (int, float)
    special = POWERS.get(other) if is_number else None
    if special is not None and (kind == "f" or (kind in "iu" and special is np.square and type(other) is int)):
        return applied(special, (self,), where)
    # To NumPy's operator an exponent of 1 is a copy, not a power.
    if type(other) is FoldingArray or (is_number and kind == "f" and other != 1):
        found = operation(np.power, (self, other), where)
        if type(found) is FoldingArray:
            return found
    # not the ufunc: the operator has further special cases
    where.count(found)
    given = Given(True)
    return given.folded(operator.pow(given.plain(self), given.plain(other)), where)


def _unary(ufunc: np.ufunc) -> Callable[..., object]:
    def method(self: FoldingArray) -> object:
        return applied(ufunc, (self,), site())

    return method


def _in_place(ufunc: np.ufunc, name: str) -> Callable[..., object]:
    numpys = getattr(operator, f"__i{name}__")

    def method(self: FoldingArray, other: object) -> object:
        where = site()
        if in_place(ufunc, self, other, where):
            return self
        if overrides(other):
            return ufunc(self, other, out=(self,))
        where.count(IN_PLACE)
        target = self.shown()
        given = Given(_is_operand(other))
        found = error_state.call(numpys, (target, given.plain(other)), {}, where)
        return self if found is target else given.folded(found, where)

    return method


def _array_ufunc(self: FoldingArray, ufunc: np.ufunc, method: str, *inputs: object, **options: object) -> object:
    where = site()
    if method != "__call__":
        return method_now(ufunc, method, inputs, options, where)
    if not options:
        return applied(ufunc, inputs, where)
    where.count(OPTIONS)
    return ufunc_now(ufunc, inputs, options, where)


def _array_function(self: FoldingArray, func: Callable[..., object], types: Collection[type], args: Args, kwargs: Options) -> object:
    if type(args) is not tuple or type(kwargs) is not dict:
        raise TypeError("args must be a tuple" if type(args) is not tuple else "kwargs must be a dict")
    # Another class of the program takes part: NumPy asks its ``__array_function__`` next.
    if len(types) > 1 and any(is_programs(cls) for cls in types):
        return NotImplemented
    where = site()
    if not kwargs and len(args) == 3 and (func is np.where or func is np.clip):
        found = operation(func, args, where)
        if type(found) is FoldingArray:
            return found
        where.count(found)
    elif func not in IDLE:
        where.count(OPTIONS if kwargs and func is np.clip else numpys(func.__name__))
    return now(func, args, kwargs, where)


def attach() -> None:
    """Attach the operators to `FoldingArray`."""
    for name, ufunc in BINARY.items():
        attach_method(FoldingArray, f"__{name}__", _binary(ufunc, f"__{name}__", False))
        attach_method(FoldingArray, f"__r{name}__", _binary(ufunc, f"__r{name}__", True))
        # Python has no in-place form of divmod.
        if name != "divmod":
            attach_method(FoldingArray, f"__i{name}__", _in_place(ufunc, name))
    attach_method(FoldingArray, "__pow__", _power)
    for name, ufunc in COMPARED.items():
        attach_method(FoldingArray, f"__{name}__", _compared(ufunc, f"__{name}__"))
    for name, ufunc in UNARY.items():
        attach_method(FoldingArray, f"__{name}__", _unary(ufunc))
    attach_method(FoldingArray, "__array_ufunc__", _array_ufunc)
    attach_method(FoldingArray, "__array_function__", _array_function)


attach()
