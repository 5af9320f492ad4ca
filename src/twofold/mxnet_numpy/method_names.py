"""Which functions are methods of arrays and of symbols, and which are Python's operators."""

from collections.abc import Callable
from typing import Any

#: Python's operators, by the names of their special methods, to functions.
FUNCTION_OF = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "mod": "mod", "pow": "power", "matmul": "matmul",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "neg": "negative", "abs": "absolute", "invert": "invert",
    "eq": "equal", "ne": "not_equal", "gt": "greater", "ge": "greater_equal", "lt": "less", "le": "less_equal",
}  # fmt: skip
#: Functions that become methods directly: their first argument is the array.
_METHODS = (
    "argsort", "around", "broadcast_to", "cumsum", "diagonal", "dot", "nonzero", "prod", "repeat", "round", "sort", "squeeze", "std",
    "swapaxes", "take", "trace", "var", "mean", "argmax", "argmin",
)  # fmt: skip


def methods_of(functions: Any) -> dict[str, Callable[..., Any]]:
    """The methods by name, over the functions of arrays or of symbols."""
    found = {name: method_of(functions, name) for name in _METHODS}
    found |= {name: _reduction_method(functions, name) for name in ("all", "any", "max", "min")}
    return found | {"sum": _sum_method(functions), "clip": _clip_method(functions)}


def method_of(functions: Any, name: str) -> Callable[..., Any]:
    """A function as a method."""
    function = getattr(functions, name)

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return function(self, *args, **options)

    method.__doc__ = function.__doc__
    return method


def _sum_method(functions: Any) -> Callable[..., Any]:
    """The method ``sum``, whose arguments have NumPy's order."""

    def total(self: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """The sum of elements along axes, of all if None."""
        return functions.sum(self, axis, dtype, keepdims, None, out)

    return total


def _reduction_method(functions: Any, name: str) -> Callable[..., Any]:
    """A method whose arguments have NumPy's order."""
    function = getattr(functions, name)

    def reduced(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return function(self, axis, keepdims, out)

    reduced.__doc__ = function.__doc__
    return reduced


def _clip_method(functions: Any) -> Callable[..., Any]:
    """The method ``clip``."""

    def clip(self: Any, min: float | None = None, max: float | None = None, out: Any = None) -> Any:
        """Elements limited to a range; one of the limits may be None."""
        return functions.clip(self, min, max, out)

    return clip
