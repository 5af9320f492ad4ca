"""Methods of arrays of the dialect that are functions of the same name; and NumPy's protocols."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..assembly import attach_method
from ..errors import OperatorError
from ..imperative.element import Absent
from ..ndarray.array import NDArray
from ..ndarray.types import Order
from ..numpy.array import ndarray as numpy_array
from .array import ndarray
from .array_functions import FUNCTIONS, converted, host_result, on_host
from .method_names import methods_of

#: Methods that NumPy's arrays have and MXNet's lack: they are NumPy's.
INHERITED = (
    "__divmod__", "__floordiv__", "__lshift__", "__pos__", "__rdivmod__", "__rfloordiv__", "__rlshift__", "__rrshift__", "__rshift__",
    "compress", "conj", "conjugate", "cumprod", "searchsorted",
)  # fmt: skip

#: Methods that arrays of the dialect share with arrays of ``mx.nd``.
SHARED = ("to_dlpack_for_read", "to_dlpack_for_write")


def reshape(self: ndarray, *shape: Any, order: Order = "C", copy: bool | None = None) -> ndarray:
    """A copy in a new shape, in which -1 infers a size; ``copy=False`` gives a view."""
    if copy is False:
        return self.reshape_view(*shape, order=order)
    given = shape[0] if len(shape) == 1 else shape
    return FUNCTIONS.reshape(self, given, order)


def transpose(self: ndarray, *axes: object) -> ndarray:
    """A copy with the axes in the given order, reversed by default."""
    given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return FUNCTIONS.transpose(self, given or None)


def flatten(self: ndarray, order: Order = "C") -> ndarray:
    """A copy with one axis."""
    return FUNCTIONS.reshape(self, -1, order)


def ravel(self: ndarray, order: str = "C") -> ndarray:
    """A copy with one axis."""
    return FUNCTIONS.ravel(self, order)


def _round(self: ndarray, digits: int | None = None) -> ndarray:
    return FUNCTIONS.round(self, digits or 0)


def _converted(name: str) -> Callable[..., Any]:
    """A method of ``twofold.np``, with results of this dialect's class."""
    function = getattr(numpy_array, name)

    def method(self: ndarray, *args: Any) -> Any:
        found = function(self, *args)
        return tuple(map(converted, found)) if isinstance(found, tuple) else found if found is NotImplemented else converted(found)

    method.__doc__ = function.__doc__
    return method


#: What a program has entered with `mxnet.numpy_dispatch_protocol`: functions by NumPy's, and by the names of its ufuncs.
ENTERED: dict[Callable[..., Any], Callable[..., Any]] = {}
ENTERED_UFUNCS: dict[str, Callable[..., Any]] = {}


@cache
def _counterpart(function: Callable[..., Any]) -> Callable[..., Any]:
    name = function.__name__
    ours = getattr(FUNCTIONS, name, None) if getattr(np, name, None) is function else None
    return ours or on_host(function, name)


def _array_ufunc(self: ndarray, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """Call the function of the same name: NumPy asks for it if an operand is an array of the dialect."""
    ours = (ENTERED_UFUNCS.get(ufunc.__name__) or getattr(FUNCTIONS, ufunc.__name__, None)) if method == "__call__" else None
    if ours is None:
        return host_result(getattr(ufunc, method), inputs, options)
    out = options.pop("out", (None,))
    return ours(*inputs, out=out[0], **options)


def _array_function(self: ndarray, function: Callable[..., Any], types: object, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call the function of the same name, or NumPy's without one. NumPy calls this if an argument is an array of the dialect."""
    return (ENTERED.get(function) or _counterpart(function))(*args, **options)


#: Members of NumPy's arrays that MXNet's have not: programs tell a parameter from an array by ``data``.
NUMPYS_ALONE = ("byteswap", "ctypes", "data", "dump", "dumps", "resize", "setflags", "tofile")


class NoSuchMethod(OperatorError):
    """A method that only arrays of ``mx.nd`` have."""


def _refused(name: str) -> Callable[..., Any]:
    def method(self: ndarray, *args: Any, **options: Any) -> Any:
        raise NoSuchMethod(f"mxnet.numpy.ndarray object has no attribute {name}", None, "use a function of mx.np or mx.npx")

    method.__doc__ = f"Raises an AttributeError, as in MXNet: only arrays of ``mx.nd`` have a method ``{name}``."
    return method


def attach() -> None:
    """Attach the methods to `ndarray`."""
    found = methods_of(FUNCTIONS) | {name: _converted(name) for name in INHERITED}
    found |= {"__array_ufunc__": _array_ufunc, "__array_function__": _array_function, "__round__": _round}
    found |= {method.__name__: method for method in (reshape, transpose, flatten, ravel)}
    # a script may ask for any method of `NDArray`: those that MXNet's dialect lacks must raise, although they are inherited
    own = {*found, *SHARED, *(name for cls in ndarray.__mro__ if cls is not NDArray for name in vars(cls))}
    legacy = [n for n, method in vars(NDArray).items() if not (n.startswith("_") or n in own or isinstance(method, property))]
    found |= {name: _refused(name) for name in legacy}
    for name, method in found.items():
        attach_method(ndarray, name, method)
    for name in NUMPYS_ALONE:
        setattr(ndarray, name, Absent(name))


attach()
