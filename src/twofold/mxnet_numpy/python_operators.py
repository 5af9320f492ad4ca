"""Python's operators on arrays of the dialect: short paths for floats of one dtype, else the function of the same name."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..assembly import attach_method
from ..calls.arithmetic import comparison, in_place_by_legacy
from ..calls.specialise import host_function, method_of, specialise
from ..errors import DTypeError
from ..imperative.array import Array
from ..imperative.cell import HOST
from ..imperative.concurrent_writes import writes_in_place
from ..imperative.guards import is_owned
from ..ndarray.operators import ARITHMETIC, COMPARISON, UNARY
from ..opdef import Op
from ..ops import mxnet_numpy_arithmetic
from . import elementwise
from .array import ndarray
from .array_functions import FUNCTIONS
from .front import NUMBERS
from .method_names import FUNCTION_OF


def _general(name: str, reverse: bool) -> Callable[..., Any]:
    """The function that the short paths call if they do not apply.

    Raises
    ------
    DTypeError
        For operands that are neither arrays of the dialect nor numbers, and for None.
    """
    function = getattr(FUNCTIONS, name)

    def general(self: ndarray, other: Any) -> Any:
        # the function would try to convert these, and arrays of `mx.nd` follow other rules
        if other is None or isinstance(other, (str, dict, set)) or (isinstance(other, Array) and not isinstance(other, ndarray)):
            raise DTypeError(f"type {type(other)} not supported", f"{name}: {str(other)[:40]}", "pass an array of mx.np or a number")
        return function(other, self) if reverse else function(self, other)

    return general


def _comparison(op: Op, name: str) -> Callable[..., Any]:
    return method_of(comparison, op, (ndarray, None), {"fn": host_function(op), "general": _general(name, False)})


def _in_place(op: Op, name: str) -> Callable[..., Any]:
    function = getattr(FUNCTIONS, name)

    def general(self: Any, other: Any) -> Any:
        if not isinstance(other, (ndarray, *NUMBERS)):
            raise DTypeError(f"type {type(other)} not supported", f"in-place {name}", "pass an array of mx.np or a number")
        found = function(self, other)
        if found._dtype != self._dtype:
            given = f"{found._dtype} into {self._dtype}"
            raise DTypeError(f"in-place {name}: Type inconsistent", given, "assign the result to a new array")
        self[...] = found  # as an assignment, so that the tape sees it and views of the array show it
        return self

    if op.ufunc is None or op.front.legacy_differs:
        return general
    names = {"fn": getattr(HOST.xp, op.name), "general": general, "owned": is_owned}
    return writes_in_place(method_of(in_place_by_legacy, op, (ndarray, None), names))


def _unary(op: Op, name: str) -> Callable[..., Any]:
    function = getattr(FUNCTIONS, name)

    def general(self: Any) -> Any:
        # MXNet's operator multiplies by -1, which makes integers of bools
        return self * -1 if name == "negative" and self._dtype == "bool" else function(self)

    return specialise(op, ndarray, (ndarray,), legacy=True, arity=1, general=general)


#: The operands that the methods of operators take without a conversion.
_OPERANDS = frozenset({ndarray, float, int})


def _short_unary(name: str, primitive: Op) -> Callable[..., Any]:
    """The function of one array, with a short path if there are no other arguments."""
    general = getattr(FUNCTIONS, name)
    dialects = elementwise.UNARY[name][0]
    bound_op = dialects.bind()
    quick = specialise(primitive, ndarray, (ndarray,), legacy=True, arity=1, bound_op=bound_op, general=lambda self: general(self))

    @wraps(general)
    def function(x: Any, out: Any = None, **kwargs: Any) -> Any:
        return quick(x) if out is None and not kwargs and isinstance(x, ndarray) else general(x, out, **kwargs)

    return function


def _short_binary(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """The function of two operands, with the method of Python's operator as its short path."""
    general = getattr(FUNCTIONS, name)

    @wraps(general)
    def function(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is None and not kwargs and isinstance(x1, ndarray) and x2.__class__ in _OPERANDS:
            return method(x1, x2)
        return general(x1, x2, out, **kwargs)

    return function


def attach() -> None:
    """Attach the operators to `ndarray`, and give the functions short paths."""
    primitives = mxnet_numpy_arithmetic.primitives_on_floats()
    functions: dict[str, Callable[..., Any]] = {name: _short_unary(name, op) for name, op in primitives.items()}
    for dunder, op in ARITHMETIC.items():
        name = FUNCTION_OF.get(dunder)
        if name is None:
            continue
        for spelled, reverse in ((f"__{dunder}__", False), (f"__r{dunder}__", True)):
            general = _general(name, reverse)
            short = op.front.short_path and op.ufunc is not None and dunder not in ("mod", "pow")
            method = specialise(op, ndarray, (ndarray,), legacy=True, arity=2, reverse=reverse, general=general) if short else general
            attach_method(ndarray, spelled, method)
            if not reverse:
                functions[name] = _short_binary(name, method)
        if dunder != "pow":
            attach_method(ndarray, f"__i{dunder}__", _in_place(op, name))
    for dunder, op in COMPARISON.items():
        name, method = FUNCTION_OF[dunder], _comparison(op, FUNCTION_OF[dunder])
        attach_method(ndarray, f"__{dunder}__", method)
        functions[name] = _short_binary(name, method)
    for dunder, op in UNARY.items():
        attach_method(ndarray, f"__{dunder}__", _unary(op, FUNCTION_OF[dunder]))
    for name, function in functions.items():  # last: until here, methods take the old functions as their general calls
        setattr(FUNCTIONS, name, function)


attach()
