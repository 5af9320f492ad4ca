"""Methods of ``ndarray`` that are functions, and NumPy's protocols by which its own functions find those of ``twofold.np``."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtype import NAME_OF, NUMPY, dtype_name
from ..imperative.array import Array
from ..imperative.invoke import host_of
from . import linear, reductions, selecting, shapes
from .array import ndarray
from .creation import array, asarray
from .fallback import attribute, by_numpy
from .ufuncs import function_of

#: Functions whose first argument is the method's own array.
METHODS = {
    reductions: "all any argmax argmin cumprod cumsum max mean min prod std sum var",
    selecting: "argsort clip nonzero round take",
    shapes: "diagonal repeat trace",
    linear: "dot",
}
#: Methods that NumPy computes on the host.
BY_NUMPY = ("argpartition", "choose", "searchsorted", "tobytes")


def _real(self: ndarray) -> ndarray:
    """The real parts; of real numbers the array itself."""
    return self if not self._dtype.startswith("complex") else by_numpy(np.real, (self,), {})


def _imag(self: ndarray) -> ndarray:
    """The imaginary parts; of real numbers zeros."""
    return by_numpy(np.imag, (self,), {})


def _conj(self: ndarray) -> ndarray:
    """The complex conjugates; of real numbers the array itself."""
    return self if not self._dtype.startswith("complex") else function_of("conjugate")(self)


def _sort(self: ndarray, axis: int = -1, kind: str | None = None, order: None = None, *, stable: bool | None = None) -> None:
    """Put the elements in order along an axis, in place; parameters as of the function."""
    self[...] = selecting.sort(self, axis, kind, order, stable=stable)  # type: ignore[index]


def _partition(self: ndarray, kth: Any, axis: int = -1, kind: str = "introselect") -> None:
    """Put elements in place as ``numpy.partition`` does."""
    self[...] = by_numpy(np.partition, (self, kth, axis, kind), {})  # type: ignore[index]


def _compress(self: ndarray, condition: Any, axis: int | None = None, out: Any = None) -> Any:
    """The slices along an axis where a vector holds, elements of the flattened array if it is None."""
    return selecting.compress(condition, self, axis, out)


def _put(self: ndarray, indices: Any, values: Any, mode: str = "raise") -> None:
    """Set elements of the flattened array."""
    by_numpy(np.put, (self, indices, values, mode), {}, writes=0)


def _array_ufunc(self: ndarray, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """What NumPy's ufunc gives where an operand is an array of ours: what ours of that name gives."""
    ours = function_of(ufunc.__name__) if getattr(np, ufunc.__name__, None) is ufunc else None
    if ours is None:
        return by_numpy(getattr(ufunc, method), inputs, options)
    return ours(*inputs, **options) if method == "__call__" else getattr(ours, method)(*inputs, **options)


def _array_function(self: ndarray, function: Callable[..., Any], types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What a function of NumPy gives where an argument is an array of ours: what ours of that name gives."""
    return ours_for(function)(*args, **options)


def ours_for(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of ``twofold.np`` of the same name and place as NumPy's."""
    module = function.__module__
    if module == "numpy.linalg":
        from . import linalg as place
    else:
        import sys

        place = sys.modules[__package__]  # type: ignore[assignment]
    found = getattr(place, function.__name__, None) if module in ("numpy", "numpy.linalg") else None
    if found is not None:
        return found
    return lambda *args, **options: by_numpy(function, args, options)


def attach() -> None:
    """Attach the methods to `ndarray`."""
    for module, names in METHODS.items():
        for name in names.split():
            setattr(ndarray, name, getattr(module, name))
    for name in BY_NUMPY:
        setattr(ndarray, name, _host_method(name))
    own: dict[str, Any] = {"conj": _conj, "conjugate": _conj, "compress": _compress, "sort": _sort, "partition": _partition, "put": _put}
    for name, function in own.items():
        setattr(ndarray, name, function)
    ndarray.real, ndarray.imag = property(_real), property(_imag)  # type: ignore[attr-defined]
    ndarray.__array_ufunc__ = _array_ufunc  # type: ignore[attr-defined]
    ndarray.__array_function__ = _array_function  # type: ignore[attr-defined]


def _host_method(name: str) -> Callable[..., Any]:
    numpys = getattr(np.ndarray, name)

    def method(self: ndarray, *args: Any, **options: Any) -> Any:
        return by_numpy(numpys, (self, *args), options)

    method.__name__, method.__qualname__ = name, f"ndarray.{name}"
    method.__doc__ = f"As NumPy's method of that name, computed on the host.\n\n{numpys.__doc__}"
    return method


attach()
_ = NAME_OF, NUMPY, dtype_name, Array, host_of, array, asarray, attribute
