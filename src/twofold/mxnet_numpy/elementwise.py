"""Functions of each element: of one array, of two, of an array and a number; choices and limits."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..calls.row_functions import check_options
from ..errors import ParameterError
from ..opdef import OPS, Op
from ..opdef.frontend import named
from ..ops import dynamic_shapes, elementwise_math, mxnet_numpy_arithmetic, numpy_elementwise
from ..strictness import tolerate
from .front import Array, Front, Unsupported
from .row_functions import Functions

_U = mxnet_numpy_arithmetic.UNARY
#: Functions of one array: the operator, and the name of its nodes where that is another.
UNARY: dict[str, tuple[Op, str]] = {name: (op, name) for name, op in _U.items()} | {
    "abs": (_U["absolute"], "abs"),
    "absolute": (_U["absolute"], "absolute"),
    "fabs": (_U["absolute"], "abs"),
    "invert": (_U["bitwise_not"], "bitwise_not"),
    "deg2rad": (_U["radians"], "radians"),
    "rad2deg": (_U["degrees"], "degrees"),
    "reciprocal": (numpy_elementwise.reciprocal_number, "reciprocal"),
}
_ROUNDING = frozenset({"ceil", "fix", "floor", "trunc"})
_VARIANTS = {op.front.variant: op for op in OPS.values() if op.front.variant is not None}
_A, _S, _R = mxnet_numpy_arithmetic.OF_ARRAYS, mxnet_numpy_arithmetic.OF_SCALAR, mxnet_numpy_arithmetic.OF_REVERSED
#: Functions whose operators `mx.nd` has too. In `mx.nd` a float scalar turns an array of integers into floats; here it does not.
_SHARED = frozenset({"maximum", "minimum", "hypot"})
#: Comparisons with the operands exchanged.
_SWAPPED = {"greater": "less", "less": "greater", "greater_equal": "less_equal", "less_equal": "greater_equal"}


def _row(name: str) -> tuple[Op, Op, Op]:
    """The operators of a function: on two arrays, on an array and a number, on a number and an array."""
    return _A[name], _S[name], _R.get(name) or _S[_SWAPPED.get(name, name)]


def _shared(name: str) -> tuple[Op, Op, Op]:
    """The same, for a function whose operators `mx.nd` has too."""
    pair, number = _VARIANTS[name, "broadcast"], _VARIANTS[name, "scalar"]
    return pair, number, number


BINARY: dict[str, tuple[Op, Op, Op]] = {name: _row(name) for name in _A if name != "hypot"} | {
    "hypot": (_A["hypot"], _VARIANTS["hypot", "scalar"], _VARIANTS["hypot", "scalar"]),
    "maximum": _shared("maximum"),
    "minimum": _shared("minimum"),
    "divide": _row("true_divide"),
    "remainder": _row("mod"),
}


class Elementwise(Functions[Array]):
    """Functions of each element; those of one and two operands are attached from tables."""

    def combined(self, name: str, x1: object, x2: object, out: Array | None = None) -> Any:
        """A function of two operands, arrays or numbers."""
        pair, with_number, reverse = BINARY[name]
        left, right = self.number(x1), self.number(x2)
        if left is None:
            if right is None:
                return self.apply(pair, (self.operand(x1), self.operand(x2)), None, out)
            return self.apply(with_number, (self.operand(x1),), _scalar(right, isinstance(right, int) or name in _SHARED), out)
        if right is None:
            # MXNet writes that a number on the left is not an integer
            exchanged = (reverse is with_number or name in _SWAPPED) and isinstance(left, int)
            return self.apply(reverse, (self.operand(x2),), _scalar(left, exchanged or name in _SHARED), out)
        return getattr(np, name)(x1, x2)

    def clip(self, a: object, a_min: float | None, a_max: float | None, out: Array | None = None) -> Array:
        """Elements limited to a range; one of the limits may be None."""
        if a_min is None and a_max is None:
            raise ParameterError("clip: array_min and array_max cannot both be None", None, "pass one of them")
        # an infinity limits nothing
        low, high = -np.inf if a_min is None else a_min, np.inf if a_max is None else a_max
        return self.apply(elementwise_math.clip_range, (self.operand(a),), {"a_min": low, "a_max": high}, out)

    def around(self, x: Any, decimals: int = 0, out: Array | None = None) -> Array | float:
        """Elements rounded to a number of decimals, halves to even."""
        if self.number(x) is not None:
            return np.around(x, decimals)
        return self.apply(mxnet_numpy_arithmetic.npi_around, (self.operand(x),), {"decimals": decimals}, out)

    round = round_ = around

    def nan_to_num(
        self, x: Any, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None, **kwargs: object
    ) -> Any:
        """NaN and infinities replaced by numbers; in place unless ``copy``."""
        if kwargs:
            tolerate("nan_to_num: there is no parameter", ", ".join(kwargs), "omit it")
        if self.number(x) is not None:
            return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)
        params = {"copy": copy, "nan": nan, "posinf": posinf, "neginf": neginf}
        x = self.operand(x)
        return self.apply(mxnet_numpy_arithmetic.npi_nan_to_num, (x,), params, None if copy else x)

    def where(self, condition: object, x: object = None, y: object = None) -> Array | tuple[Array, ...]:
        """``x`` where the condition is not 0, else ``y``: arrays or numbers; with only a condition, the places where it is not 0."""
        if x is None and y is None:
            return self.nonzero(condition)
        if x is None or y is None:
            raise Unsupported("either both or neither of x and y should be given", None, "pass both")
        chosen, first, second = self.operand(condition), self.number(x), self.number(y)
        if first is None and second is None:
            return self.apply(mxnet_numpy_arithmetic.npi_where, (chosen, self.operand(x), self.operand(y)))
        if first is None:
            return self.apply(mxnet_numpy_arithmetic.npi_where_rscalar, (chosen, self.operand(x)), {"scalar": float(second or 0)})
        if second is None:
            return self.apply(mxnet_numpy_arithmetic.npi_where_lscalar, (chosen, self.operand(y)), {"scalar": float(first)})
        return self.apply(mxnet_numpy_arithmetic.npi_where_scalar2, (chosen,), {"x": float(first), "y": float(second)})

    def nonzero(self, a: object) -> tuple[Array, ...]:
        """The places of the elements that are not 0, an array for each axis."""
        raise Unsupported("nonzero: the shape of the result depends on the values", type(a).__name__, "call it on arrays")

    def unique(
        self, ar: object, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None
    ) -> Array | Sequence[Array]:
        """The sorted distinct elements (or slices along an axis); on request their first places, places in them, and counts."""
        options = {"return_index": return_index, "return_inverse": return_inverse, "return_counts": return_counts, "axis": axis}
        return self.apply(dynamic_shapes.npi_unique, (self.operand(ar),), options)

    def bincount(self, x: object, weights: object = None, minlength: int = 0) -> Array:
        """How often each integer from 0 on occurs (in their dtype), or the sums of their weights."""
        operands = (self.operand(x), None if weights is None else self.operand(weights))
        return self.apply(dynamic_shapes.npi_bincount, operands, {"minlength": minlength, "has_weights": weights is not None})


def _scalar(number: float, is_int: bool) -> dict[str, object]:
    return {"scalar": float(number), "is_int": is_int}


def _unary(name: str, op: Op, label: str) -> Callable[..., Any]:
    @named(name, f"NumPy's ``{name}`` of each element, in the array's dtype; of a number NumPy's result.")
    def function(self: Front[Array], x: object, out: Array | None = None, **kwargs: object) -> Any:
        check_options(name, kwargs)
        if self.number(x) is not None:
            # as MXNet's NumPy, whose rounding gives floats
            return getattr(np, name)(float(x) if isinstance(x, int) and not isinstance(x, bool) and name in _ROUNDING else x)
        return self.apply(op, (self.operand(x),), None, out, label)

    return function


def _binary(name: str) -> Callable[..., Any]:
    @named(name, f"NumPy's ``{name}`` of two arrays that broadcast, or of an array and a number; of two numbers NumPy's result.")
    def function(self: Elementwise[Array], x1: object, x2: object, out: Array | None = None, **kwargs: object) -> Any:
        check_options(name, kwargs)
        return self.combined(name, x1, x2, out)

    return function


for _name, (_op, _label) in UNARY.items():
    setattr(Elementwise, _name, _unary(_name, _op, _label))
for _name in BINARY:
    setattr(Elementwise, _name, _binary(_name))
