"""NumPy's functions on `NDArray`: some run as operators, recorded ones as those of ``mx.np``, all others in NumPy itself."""

import inspect
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..calls.host_calls import by_numpy, is_recorded, map_nested
from ..extension_points import LOADERS
from ..imperative.array import Array
from ..imperative.storage import applied
from ..imperative.views import view_of
from ..opdef import OPS, Op
from ..ops import creation, elementwise_math, linear, ordering, reduction, reshaping
from .array import NDArray
from .namespace import find_attribute
from .operators import operands

#: For each NumPy function the operator, and its keyword for each of NumPy's. A call with another keyword goes to NumPy.
FUNCTIONS: dict[Callable[..., Any], tuple[Op, dict[str, str]]] = {
    np.argmax: (reduction.argmax_axis, {"axis": "axis", "keepdims": "keepdims"}),
    np.argmin: (reduction.argmin_axis, {"axis": "axis", "keepdims": "keepdims"}),
    np.argsort: (ordering.argsort_axis, {"axis": "axis"}),
    np.clip: (elementwise_math.clip_range, {"a_min": "a_min", "a_max": "a_max"}),
    np.diag: (creation.diag, {"k": "k"}),
    np.dot: (linear.dot, {"b": "rhs"}),
    np.expand_dims: (reshaping.expand_dims, {"axis": "axis"}),
    np.max: (reduction.max_axis, {"axis": "axis", "keepdims": "keepdims"}),
    np.mean: (reduction.mean_axis, {"axis": "axis", "keepdims": "keepdims"}),
    np.min: (reduction.min_axis, {"axis": "axis", "keepdims": "keepdims"}),
    np.ones_like: (creation.ones_like, {}),
    np.prod: (reduction.prod_axis, {"axis": "axis", "keepdims": "keepdims"}),
    np.repeat: (reshaping.repeat, {"repeats": "repeats", "axis": "axis"}),
    np.reshape: (reshaping.reshape_array, {"shape": "shape"}),
    np.sort: (ordering.sort_axis, {"axis": "axis"}),
    np.squeeze: (reshaping.squeeze, {"axis": "axis"}),
    np.sum: (reduction.sum_axis, {"axis": "axis", "keepdims": "keepdims"}),
    np.swapaxes: (reshaping.swap_axis, {"axis1": "dim1", "axis2": "dim2"}),
    np.tile: (reshaping.tile, {"reps": "reps"}),
    np.transpose: (reshaping.transpose, {"axes": "axes"}),
    np.zeros_like: (creation.zeros_like, {}),
}


#: Python's operators by ufunc: with a NumPy scalar on the left, an operator becomes a call of a ufunc.
PYTHON_OPERATORS: dict[np.ufunc, Callable[[Any, Any], Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.remainder: operator.mod,
    np.power: operator.pow,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}


@cache
def _primitives() -> dict[np.ufunc, Op]:
    """The primitives that are NumPy's ufuncs."""
    return {getattr(np, name): op for op in OPS.values() if op.primitive for name in op.front.numpy_names}


def _array_ufunc(self: NDArray, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """Apply a NumPy ufunc to operands, at least one of them an `NDArray`.

    A plain call runs as an operator and returns an `NDArray`. ``reduce``, ``outer``, ``where=`` and the like run in NumPy and return
    NumPy arrays.
    """
    out = options.get("out", ())
    op = _primitives().get(ufunc)
    # only NumPy can write to NumPy arrays in ``out``
    is_plain_call = method == "__call__" and set(options) <= {"out"} and all(isinstance(o, NDArray) for o in out)
    if op is None or not is_plain_call or not all(isinstance(i, (NDArray, np.ndarray, np.generic, bool, int, float)) for i in inputs):
        return _without_operator(getattr(ufunc, method), inputs, options)
    if ufunc in PYTHON_OPERATORS and not out and any(map(_is_number, inputs)):
        # the number takes the array's dtype, and a comparison's result has it too: MXNet's rules for Python's numbers
        return PYTHON_OPERATORS[ufunc](*(i.item() if _is_number(i) else i for i in inputs))
    result = applied(op.bind(True), operands(inputs))
    if out:
        out[0][:] = result
        return out[0]
    return result


def _is_number(operand: object) -> bool:
    """Whether an operand is one of NumPy's numbers, which NumPy's own comparisons turn into arrays without axes."""
    return isinstance(operand, np.number) or (isinstance(operand, np.ndarray) and operand.ndim == 0 and operand.dtype.kind in "iuf")


def _array_function(self: NDArray, function: Callable[..., Any], types: object, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call the `mx.nd` function that stands for one of NumPy's, or NumPy's without one."""
    found = FUNCTIONS.get(function)
    if found is not None:
        op, keywords = found
        # NumPy passes arguments by position or keyword: binding them gives the first one and the names of the others
        (_, array), *rest = inspect.signature(function).bind(*args, **options).arguments.items()
        given = {k: v for k, v in rest if v is not None and v is not np._NoValue}  # NumPy's mark of arguments that were not passed
        fits = set(given) <= set(keywords) and not any(isinstance(v, np.ndarray) for v in given.values())
        if isinstance(array, NDArray) and fits and (function is not np.clip or len(given) == 2):  # MXNet's needs both limits
            return find_attribute(op.title)(array, **{keywords[k]: v for k, v in given.items()})
    return _without_operator(function, args, options)


def _without_operator(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call NumPy's function on the arrays' contents, which would cut the gradients of recorded arrays.

    For these it is called on the arrays of ``mx.np`` that show the same memory, so it is either recorded or raises. Results with a gradient
    are returned as `NDArray`, all others as NumPy's, as without recording.
    """
    if not is_recorded((args, options)):
        return by_numpy(function, args, options)
    # `twofold.np` records more functions than `mx.nd` has
    given, named = map_nested((args, options), _as_numpy)
    result = map_nested(function(*given, **named), _recorded_or_numpys)
    out = options.get("out")
    return result if out is None else out[0] if isinstance(out, tuple) and len(out) == 1 else out


def _as_numpy(value: Any) -> Any:
    """An array of ``mx.nd`` as one of ``twofold.np``, whatever ``as_np_ndarray`` gives a script."""
    return view_of(LOADERS["numpy", "ndarray"](), value, ()) if isinstance(value, NDArray) else value


def _recorded_or_numpys(value: Any) -> Any:
    if not isinstance(value, Array):
        return value
    return value.as_nd_ndarray() if is_recorded(value) else value.asnumpy()[()]


NDArray.__array_ufunc__ = _array_ufunc
NDArray.__array_function__ = _array_function
