"""What functions of linear algebra share: operands of floating-point dtypes, and operators that fail for some matrices."""

from collections.abc import Callable
from functools import cache, wraps
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from ..dtype import is_float, promote
from ..errors import UnsupportedDType
from ..imperative.cell import wrap
from ..imperative.invoke import invoke
from ..opdef import Op
from .array import ndarray
from .creation import operands
from .fallback import by_numpy
from .reductions import run

T = TypeVar("T")


@cache
def result_of(name: str) -> Any:
    """The named tuple class that NumPy's function of that name returns."""
    return type(getattr(np.linalg, name)(np.eye(1)))


def run_and_wait(op: Op, *arrays: ndarray, **params: object) -> ndarray:
    """The result of an operator that fails for some matrices.

    This waits for it, so that ``except LinAlgError`` around the call works as in NumPy.
    """
    result = run(op, *arrays, **params)
    result.wait_to_read()
    return result


def run_several(op: Op, a: ndarray, **params: object) -> list[ndarray]:
    """The results of an operator with several."""
    return [wrap(ndarray, v) for v in invoke(op.bind(**params), (a,))]


def real_operands(count: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Decorator: convert the first ``count`` operands to arrays of one floating-point dtype, or call NumPy for complex numbers."""

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        numpys, names = getattr(np.linalg, function.__name__), list(signature(function).parameters)[:count]

        @wraps(function)
        def call(*args: Any, **options: Any) -> T:
            # fast path: nothing to convert
            if count == 1 and args and args[0].__class__ is ndarray and args[0]._dtype in ("float32", "float64"):
                return function(*args, **options)
            given = [*args[:count], *[options.pop(n) for n in names[len(args) :] if n in options]]
            try:
                arrays = operands(*given)
            except UnsupportedDType:
                return by_numpy(numpys, (*given, *args[count:]), options)
            dtype = promote(*[a._dtype for a in arrays]) if arrays else "float64"
            if dtype.startswith("complex"):
                return by_numpy(numpys, (*arrays, *args[count:]), options)
            dtype = dtype if is_float(dtype) else "float64"
            return function(*[a.astype(dtype, copy=False) for a in arrays], *args[count:], **options)

        return call

    return decorate
