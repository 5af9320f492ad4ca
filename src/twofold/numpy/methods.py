"""Methods of ``ndarray`` that are also functions, and NumPy's protocols, through which its functions dispatch to ``twofold.np``."""

import gc
from collections.abc import Callable
from functools import cache
from typing import Any
from weakref import ref

import numpy as np

from ..assembly import inlined
from ..calls.host_calls import refuse_cut, to_numpy
from ..calls.ufuncs import array_ufunc
from ..dtype import COMPLEX
from ..errors import DTypeError, ParameterError
from ..imperative.array import Array, adopted
from ..imperative.cell import PINNED, PLAIN, Value, is_view, wrap
from ..imperative.guards import is_tracked, plain_or_value
from ..imperative.tape import tls
from ..imperative.views import ready_memory, view_of
from ..ndarray.types import ArrayLike, Shape
from ..signal_handlers import unless_signalled
from . import linalg, linear, means, reductions, selecting, shapes, sort_order, stride_tricks
from .array import Out, ndarray, ndarrayElement
from .bound_views import broadcast_to
from .creation import read_only
from .fallback import by_numpy
from .flat import flat_of
from .flat_writes import set_flat
from .indexing import changed_inline
from .memory_flags import refusal
from .namespace import find_attribute, in_short
from .other_operands import is_array_like
from .short_calls import generated, short_call, short_form
from .ufuncs import function_of

#: Functions that become methods directly: their first argument is the array.
METHODS = {
    means: "mean std var",
    reductions: "all any argmax argmin cumprod cumsum max min prod sum",
    selecting: "clip nonzero round take",
    sort_order: "argsort",
    shapes: "diagonal repeat trace",
    linear: "dot",
}
#: Methods that NumPy computes on the host.
BY_NUMPY = ("argpartition", "choose", "dump", "dumps", "searchsorted", "tobytes", "tofile")


def _real(self: ndarray) -> ndarray:
    """The real parts: the array itself if it is not complex, else a copy, which can be assigned to as a whole.

    Its elements cannot be written while the array exists, as that would not see it.
    """
    return _part(self, "real") if self._dtype in COMPLEX else self


def _imag(self: ndarray) -> ndarray:
    """The imaginary parts, as a copy; those of a complex array can be assigned to as a whole. See `_real`."""
    return _part(self, "imag")


class _Copy(ndarray):
    """A copy that stands for part of another array."""

    __slots__ = ("_copy_of",)


@inlined
def _part(self: ndarray, name: str) -> ndarray:
    if self.__class__ is ndarrayElement:
        return by_numpy(getattr(np, name), (self,), {})
    memory = ready_memory(self)
    if memory is None:
        found: ndarray = by_numpy(getattr(np, name), (self,), {})
        if tls.tape is not None or found._held is None:
            return read_only(found)
        content = found._held
    else:
        part = getattr(memory, name).copy()
        content = plain_or_value(part)
    copy = wrap(_Copy, content)
    copy._copy_of = ref(self if self._held is not None else self._base)
    if not isinstance(content, np.ndarray):
        return read_only(copy)
    view = view_of(ndarray, copy, (broadcast_to(content.shape),))
    seen = content.view()  # what the first read would find
    seen.setflags(write=False)
    view._seen, view._of = seen, content
    return view


def _set_real(self: ndarray, value: ArrayLike) -> None:
    if self._dtype in COMPLEX:
        _set_part(self, "real", value)
    else:
        self[...] = value


def _set_imag(self: ndarray, value: ArrayLike) -> None:
    if self._dtype not in COMPLEX:
        raise DTypeError("array does not have imaginary part to set", str(self.dtype), "cast it to complex128 with astype")
    _set_part(self, "imag", value)


def _set_part(self: ndarray, name: str, value: ArrayLike) -> None:
    refuse_cut(f"assignment to {name}", value, np.empty(0))
    host = to_numpy(value)

    def change(target: np.ndarray) -> None:
        setattr(target, name, host)

    if not changed_inline(self, change):
        changed = np.array(to_numpy(self))
        change(changed)
        self[...] = changed


def _conj(self: ndarray) -> ndarray:
    """The complex conjugate; the array itself if it is not complex."""
    return function_of("conjugate")(self) if self._dtype in COMPLEX else self


def _compress(self: ndarray, condition: ArrayLike, axis: int | None = None, out: Out = None) -> ndarray:
    """The slices along an axis for which a vector is true, or such elements of the flattened array."""
    return selecting.compress(condition, self, axis, out)


def _sort(
    self: ndarray,
    axis: int = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> None:
    """Sort in place along an axis; parameters as for the function."""
    v = self._held
    if v.__class__ is PLAIN and kind is order is stable is None and not descending and v.dtype.kind in "iufb":
        try:
            v.sort(axis)
            return
        except unless_signalled((ValueError, TypeError)):
            pass
    is_numpys = order is None and sort_order.is_numpys(self, descending)
    if not is_numpys or not _sorted_inline(self, axis, kind, sort_order.options_of(stable, descending)):
        self[...] = sort_order.sort(self, axis, kind, order, stable=stable, descending=descending)


def _sorted_inline(x: ndarray, axis: int, kind: Any, options: dict[str, Any]) -> bool:
    """Sort an array's memory with NumPy if that is possible now; whether it was."""
    try:
        return changed_inline(x, lambda memory: memory.sort(axis, kind, **options))
    except unless_signalled((ValueError, TypeError)):  # the function raises an error that says what to do
        return False


def _partition(self: ndarray, kth: Shape, axis: int = -1, kind: str = "introselect") -> None:
    """``numpy.partition`` in place."""
    self[...] = by_numpy(np.partition, (self, kth, axis, kind), {})


def _put(self: ndarray, indices: ArrayLike, values: ArrayLike, mode: str = "raise") -> None:
    """Set elements of the flattened array."""
    by_numpy(np.put, (self, indices, values, mode), {}, writes=0)


def _array_ufunc(self: ndarray, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """Call the Twofold ufunc of the same name: NumPy asks for it if an operand is a Twofold array."""
    found = _ufuncs.get(ufunc)
    # the product of another class's array is left to it: ours would ask Python, and its method NumPy again
    if ufunc.signature is not None and not all(map(is_array_like, inputs)):
        return by_numpy(getattr(ufunc, method), inputs, options)
    if found is not None:
        return found(*inputs, **options) if method == "__call__" else getattr(found, method)(*inputs, **options)
    # another package's ufunc may have the name of one of NumPy's (ml_dtypes, scipy.special)
    if getattr(np, ufunc.__name__, None) is not ufunc:
        return by_numpy(getattr(ufunc, method), inputs, options)
    _ufuncs[ufunc] = function_of(ufunc.__name__)
    if ufunc.nout == 1 and (ufunc.signature is None or ufunc is np.matmul):
        _direct.add(ufunc)
    return _array_ufunc(self, ufunc, method, *inputs, **options)


#: Our functions by NumPy's, for the functions that NumPy has already dispatched here.
_ufuncs: dict[np.ufunc, Any] = {}
#: Those whose results for small arrays are NumPy's.
_direct: set[np.ufunc] = set()


def _array_function(self: ndarray, function: Callable[..., Any], types: object, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call the Twofold function of the same name, or NumPy's without one. NumPy calls this if an argument is a Twofold array."""
    return counterpart(function)(*args, **options)


@cache
def counterpart(function: Callable[..., Any]) -> Callable[..., Any]:
    """Our counterpart of a NumPy function: NumPy's own on the host, if it is not from ``numpy`` or ``numpy.linalg``."""
    name = function.__name__
    if getattr(np, name, None) is function:
        return find_attribute(name)
    # The functions themselves are compared, since one name may be two functions, one in each module (`diagonal`).
    for module, ours in ((np.linalg, linalg), (np.lib.stride_tricks, stride_tricks)):
        if getattr(module, name, None) is function:
            return getattr(ours, name)
    return short_call(lambda *args, **options: by_numpy(function, args, options), function)


def _by_numpy(name: str) -> Callable[..., Any]:
    numpys = getattr(np.ndarray, name)

    def method(self: ndarray, *args: object, **options: object) -> Any:
        return by_numpy(numpys, (self, *args), options)

    method.__doc__ = f"NumPy's method of that name, computed on the host.\n\n{numpys.__doc__}"
    return method


def _set_shape(self: ndarray, value: Shape) -> None:
    """Reshape an array in place, as NumPy does: a view, or an array of which nothing else sees the memory."""
    if is_view(self) and self._gradient is None and not is_tracked(self._base._content):
        steps = self.reshape(value, copy=False)._chain
        if not any(step.op.detaches for step in self._chain):  # a new view may be a constant, which does not make this one such
            steps = tuple(step for step in steps if not step.op.detaches)
        for x in gc.get_referrers(self):
            if isinstance(x, Array) and is_view(x) and x._under is self:
                x._chain  # noqa: B018  # worked out now, by the shape that the view had when it was indexed
        self._of = self._seen = self._under = self._key = None
        self._steps = steps
        return
    _refuse_if_seen(self, "shape: an array keeps its shape", value, "write x = x.reshape(shape)")
    self._content = self.reshape(value).copy()._content


def _resize(self: ndarray, *new_shape: Any, refcheck: bool = True) -> None:
    """Give an array another shape in place: the first of its elements, then zeros.

    Parameters
    ----------
    *new_shape
        Sizes, or one tuple of sizes.
    refcheck
        Has no effect: an array that shares its memory is never resized.

    Raises
    ------
    ParameterError
        If the array is recorded, or shares its memory.
    """
    shape = new_shape[0] if len(new_shape) == 1 else new_shape
    _refuse_if_seen(self, "resize: an array keeps its size", shape, "copy its elements into np.zeros(shape)")
    host = np.zeros(shape, self.dtype)
    count = min(host.size, self.size)
    host.reshape(-1)[:count] = to_numpy(self).reshape(-1)[:count]
    self._content = adopted(ndarray, host, self.context)._content


def _refuse_if_seen(self: ndarray, what: str, value: object, todo: str) -> None:
    v = self._content
    is_bound = isinstance(v, Value) and (v.sharing is PINNED or v.entry is not None)
    # only its views know that they are views of it: the search takes milliseconds
    if is_bound or is_view(self) or any(isinstance(x, Array) and is_view(x) and x._base is self for x in gc.get_referrers(self)):
        given = f"shape {self.shape}, to become {value}"
        raise ParameterError(f"{what} if it is recorded, or shares memory with a view or other code", given, todo)


def _byteswap(self: ndarray, inplace: bool = False) -> ndarray:
    """The elements with the order of their bytes reversed, as elements of the same dtype; written to the array itself with ``inplace``."""
    swapped = by_numpy(np.ndarray.byteswap, (self,), {})
    if inplace:
        self[...] = swapped
        return self
    return swapped


def _bytes(self: ndarray) -> bytes:
    """What ``bytes`` gives: the memory, or as many zeros as an integer says. Else ``bytes`` would read the elements as those of a list."""
    return bytes(self.__index__()) if not self.ndim and self.dtype.kind in "iu" else self.tobytes()


def _setflags(self: ndarray, write: bool | None = None, align: bool | None = None, uic: bool | None = None) -> None:
    """Does nothing if the flags are so already.

    Raises
    ------
    ParameterError
        If the array would have to become another one.
    """
    flags = self.flags
    if (write is not None and bool(write) != flags.writeable) or align is False or uic:
        raise refusal(f"write={write}, align={align}, uic={uic}", write is not None and not write)


def _exported(self: ndarray) -> np.ndarray:
    """NumPy's array over the array's memory, which it keeps alive and which sees later writes."""
    if not self.context.is_host:
        raise ParameterError("data: the memory is not the CPU's", str(self.context), "copy the array with asnumpy()")
    shown: Any = self
    return np.from_dlpack(shown)


def attach() -> None:
    """Attach the methods to `ndarray`."""
    own: dict[str, Any] = {"conj": _conj, "conjugate": _conj, "sort": _sort}
    own |= {"partition": short_form(_partition, np.ndarray.partition), "put": short_form(_put, np.ndarray.put)}
    own |= {name: in_short(name, f, getattr(np.ndarray, name)) for name, f in (("compress", _compress), ("byteswap", _byteswap))}
    own |= {
        "flat": property(flat_of, set_flat),
        "real": property(_real, _set_real),
        "shape": property(vars(Array)["shape"].fget, _set_shape),
        "imag": property(_imag, _set_imag),
        "data": property(lambda self: _exported(self).data, doc="The memory as a `memoryview`, which sees later writes."),
        "ctypes": property(lambda self: _exported(self).ctypes, doc="The memory for functions of `ctypes`, as NumPy gives it."),
        "resize": _resize,
        "setflags": _setflags,
        "__array_ufunc__": generated(array_ufunc, {"general": _array_ufunc, "direct": _direct}),
        "__array_function__": _array_function,
    }
    own |= {name: vars(Array)[name] for name in ("size", "ndim")}  # where machine code may take their place
    own |= {name: in_short(name, _by_numpy(name), getattr(np.ndarray, name)) for name in BY_NUMPY}
    for module, names in METHODS.items():
        own |= {name: in_short(name, getattr(module, name), getattr(np.ndarray, name)) for name in names.split()}
    own |= {name: in_short(name, getattr(ndarray, name), getattr(np.ndarray, name)) for name in ("astype", "copy")}
    own["__bytes__"] = _bytes
    own["flatten"] = short_form(ndarray.flatten, np.ndarray.flatten)  # NumPy's would see a copy, not the order of the memory
    for name, value in own.items():
        setattr(ndarray, name, value)


attach()
