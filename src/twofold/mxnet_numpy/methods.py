"""Methods of arrays of the dialect that are functions of the same name; and NumPy's protocols."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..generated_methods import attach_method
from .array import ndarray
from .array_functions import FUNCTIONS, host_result

__all__ = ["METHODS"]

#: Functions that become methods as they are: their first argument is the array. Keywords have NumPy's order.
METHODS = (
    "argsort", "around", "broadcast_to", "cumsum", "diagonal", "dot", "nonzero", "prod", "repeat", "round", "sort", "squeeze", "std",
    "swapaxes", "take", "trace", "var", "mean", "argmax", "argmin",
)  # fmt: skip


def _method(name: str) -> Callable[..., Any]:
    function = getattr(FUNCTIONS, name)

    def method(self: ndarray, *args: Any, **options: Any) -> Any:
        return function(self, *args, **options)

    method.__doc__ = function.__doc__
    return method


def _sum(self: ndarray, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The sum of elements along axes, of all if None."""
    return FUNCTIONS.sum(self, axis, dtype, keepdims, None, out)


def _reduction(name: str) -> Callable[..., Any]:
    function = getattr(FUNCTIONS, name)

    def method(self: ndarray, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return function(self, axis, keepdims, out)

    method.__doc__ = function.__doc__
    return method


def _clip(self: ndarray, min: float | None = None, max: float | None = None, out: Any = None) -> Any:
    """Elements limited to a range; one of the limits may be None."""
    return FUNCTIONS.clip(self, min, max, out)


@cache
def _counterpart(function: Callable[..., Any]) -> Callable[..., Any]:
    name = function.__name__
    ours = getattr(FUNCTIONS, name, None) if getattr(np, name, None) is function else None
    return ours or (lambda *args, **options: host_result(function, args, options))


def _array_ufunc(self: ndarray, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """Call the function of the same name: NumPy asks for it if an operand is an array of the dialect."""
    ours = getattr(FUNCTIONS, ufunc.__name__, None) if method == "__call__" else None
    if ours is None:
        return host_result(getattr(ufunc, method), inputs, options)
    out = options.pop("out", (None,))
    return ours(*inputs, out=out[0], **options)


def _array_function(self: ndarray, function: Callable[..., Any], types: object, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call the function of the same name if there is one, else NumPy's: NumPy asks for it if an argument is an array of the dialect."""
    return _counterpart(function)(*args, **options)


def attach() -> None:
    """Attach the methods to `ndarray`."""
    found: dict[str, Callable[..., Any]] = {name: _method(name) for name in METHODS}
    found |= {name: _reduction(name) for name in ("all", "any", "max", "min")}
    found |= {"sum": _sum, "clip": _clip, "__array_ufunc__": _array_ufunc, "__array_function__": _array_function}
    for name, method in found.items():
        attach_method(ndarray, name, method)


attach()
