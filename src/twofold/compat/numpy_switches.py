"""``mxnet.util`` and the modules of NumPy's protocols: switches, environment variables, GPUs, functions that imitate NumPy's."""

import functools
import os
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..backend.loader import backend_for, gpu_count
from ..device import Device, interned
from ..errors import DeviceError, DTypeError, InvalidValue, ParameterError, UnsupportedMethod
from ..numpy_extension import (
    SWITCHES,
    _NumpyArrayScope,  # libraries enter the scopes' own classes
    _NumpyShapeScope,  # noqa: F401
    is_np_array,
    is_np_shape,
    np_array,
    np_shape,
    reset_np,
    set_np,
    set_np_shape,
    use_np,
    use_np_array,
    use_np_shape,
)

__all__ = [
    "get_cuda_compute_capability",
    "get_gpu_count",
    "get_gpu_memory",
    "getenv",
    "is_np_array",
    "is_np_shape",
    "np_array",
    "np_shape",
    "np_ufunc_legal_option",
    "reset_np",
    "set_module",
    "set_np",
    "set_np_shape",
    "setenv",
    "use_np",
    "use_np_array",
    "use_np_shape",
    "wrap_np_binary_func",
    "wrap_np_unary_func",
]


class _OpenArrayScope(_NumpyArrayScope):
    """The scope of NumPy's arrays in which a thread is: the switch itself."""

    def __init__(self) -> None:
        super().__init__(SWITCHES.array)

    @property
    def _is_np_array(self) -> bool:
        """The switch. Assigning sets it."""
        return SWITCHES.array

    @_is_np_array.setter
    def _is_np_array(self, active: bool) -> None:
        SWITCHES.array = bool(active)


class _CurrentScope:
    """``_NumpyArrayScope._current``: its ``value`` is the scope in which the thread is. Assigning one sets the switch, as loaders do."""

    @property
    def value(self) -> _NumpyArrayScope:
        return _OpenArrayScope()

    @value.setter
    def value(self, scope: _NumpyArrayScope) -> None:
        SWITCHES.array = scope._active


setattr(_NumpyArrayScope, "_current", _CurrentScope())  # noqa: B010  (the class lacks it)
setattr(_NumpyArrayScope, "_is_np_array", property(attrgetter("_active")))  # noqa: B010

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def getenv(name: str) -> str | None:
    """The value of an environment variable, or None.

    Parameters
    ----------
    name
        Name of the variable.
    """
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Set an environment variable; None removes it.

    Parameters
    ----------
    name
        Name of the variable.
    value
        Its new value.
    """
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


# GPUs


def get_gpu_count() -> int:
    """The number of GPUs; 0 if no adapter for GPUs is installed."""
    return gpu_count()


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """(free, total) bytes of a GPU's memory.

    Parameters
    ----------
    gpu_dev_id
        Number of the GPU, from 0.

    Raises
    ------
    DeviceError
        If there is no such GPU.
    """
    device = _gpu(interned("gpu", gpu_dev_id), "get_gpu_memory")
    return backend_for(device).memory_info(device)


def get_cuda_compute_capability(ctx: Device) -> int:
    """The CUDA compute capability of a GPU as one number, such as 90 for version 9.0.

    Raises
    ------
    ParameterError
        If the context is not a GPU.
    DeviceError
        If there is no such GPU, or it is not one of CUDA.
    """
    if not isinstance(ctx, Device) or ctx.device_type != "gpu":
        what = f"Expecting a gpu context to get cuda compute capability, while received ctx {ctx}"
        raise ParameterError(what, None, "pass mx.gpu()")
    version = backend_for(_gpu(ctx, "get_cuda_compute_capability")).target.compute_capability(ctx)
    if version is None:
        raise DeviceError("get_cuda_compute_capability: the device does not run CUDA", repr(ctx), "pass a GPU of CuPy's adapter")
    return version


def _gpu(device: Device, what: str) -> Device:
    if device.device_id >= gpu_count():
        raise DeviceError(f"{what}: no such GPU", repr(device), f"there are {gpu_count()}")
    return device


# functions that imitate NumPy's


def set_module(module: str | None) -> Callable[[Decorated], Decorated]:
    """The decorator that sets the name of the module that a function or class says it is from; None leaves it."""

    def decorate(func: Decorated) -> Decorated:
        if module is not None:
            func.__module__ = module
        return func

    return decorate


#: Keywords of NumPy's ufuncs that functions of ``mx.np`` accept, with the only value that they accept.
_ONLY = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}
#: Values that NumPy itself accepts; a dtype is checked by making it.
_LEGAL = {
    "where": (True, False),
    "casting": ("no", "equiv", "safe", "same_kind", "unsafe"),
    "order": ("C", "F", "A", "K"),
    "subok": (True, False),
}


def np_ufunc_legal_option(key: str, value: Any) -> bool:
    """Whether NumPy's ufuncs accept a keyword with a value; for ``dtype``, whether it is one of a type that arrays have."""
    if key == "dtype":
        names = ("int8", "uint8", "int32", "int64", "float16", "float32", "float64", "bool")
        try:
            return value is not None and np.dtype(value).name in names
        except TypeError:
            return False
    return value in _LEGAL.get(key, ())


def _checked(func: Callable[..., object], options: dict[str, object]) -> None:
    for key, value in options.items():
        if key not in _ONLY:
            raise DTypeError(f"{key} is an invalid keyword to function '{func.__name__}'", None, f"the keywords are {', '.join(_ONLY)}")
        # the class first: 1 equals True, and an array has no truth value
        if not isinstance(value, type(_ONLY[key])) or value != _ONLY[key]:
            raise UnsupportedKeyword(f"{key}={value} is not implemented yet for operator {func.__name__}", None, f"pass {_ONLY[key]!r}")


class UnsupportedKeyword(UnsupportedMethod, NotImplementedError):
    """A keyword of NumPy's ufuncs has a value that a function does not support."""

    def __init__(self, what: str, given: object, todo: str) -> None:
        super(UnsupportedMethod, self).__init__(what, given, todo)


def wrap_np_unary_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: a function of (x, out) accepts the keywords of NumPy's ufuncs too, with their default values only.

    Raises
    ------
    DTypeError
        When it is called, for an unknown keyword (a TypeError).
    UnsupportedKeyword
        When it is called, for another value (a NotImplementedError).
    """

    @functools.wraps(func)
    def call(x: Any, out: Any = None, **kwargs: Any) -> Any:
        _checked(func, kwargs)
        return func(x, out=out)

    return call


def wrap_np_binary_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """The decorator of a function of (x1, x2, out) that corresponds to `wrap_np_unary_func` for functions of (x, out)."""

    @functools.wraps(func)
    def call(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
        _checked(func, kwargs)
        return func(x1, x2, out=out)

    return call


# NumPy's protocols, which arrays implement themselves; libraries read the lists, and enter functions of their own

_LISTS = tomllib.loads(Path(__file__).with_name("numpy_protocol.toml").read_text(encoding="utf-8"))
_NUMPY_ARRAY_FUNCTION_LIST: list[str] = _LISTS["functions"].split()
_NUMPY_ARRAY_UFUNC_LIST: list[str] = _LISTS["ufuncs"].split()

#: The operators' prefixes, with the modules that have the functions and the middle parts that name modules inside.
_MODULES = {"_np_": ("mxnet_numpy", ["_random_", "_linalg_"]), "_npx_": ("mxnet_numpy.extension", ["_image_", "_random_"])}
_NP_OP_SUBMODULE_LIST, _NP_EXT_OP_SUBMODULE_LIST = (names for _, names in _MODULES.values())


#: The names that `__getattr__` computes.
COMPUTED = ("_NUMPY_ARRAY_FUNCTION_DICT", "_NUMPY_ARRAY_UFUNC_DICT")


def __getattr__(name: str) -> object:
    """The functions of the dialect by those of NumPy that it stands for, and by the names of ufuncs. Arrays call what is entered there."""
    if name not in COMPUTED:
        raise AttributeError(name)
    return _tables()[COMPUTED.index(name)]


@functools.cache
def _tables() -> tuple[dict[Callable[..., Any], Any], dict[str, Any]]:
    # imported here: most programs do without MXNet's dialect of NumPy
    methods = import_module("..mxnet_numpy.methods", __package__)
    _enter(methods.ENTERED, methods.ENTERED_UFUNCS)
    return methods.ENTERED, methods.ENTERED_UFUNCS


def _enter(functions: dict[Callable[..., Any], Any], ufuncs: dict[str, Any]) -> None:
    """Enter the dialect's own functions. NumPy lacks some of the names by now."""
    ours = import_module("..mxnet_numpy", __package__)
    for name in _NUMPY_ARRAY_FUNCTION_LIST:
        module, _, last = name.rpartition(".")
        theirs: Any = getattr(getattr(np, module) if module else np, last, None)
        if getattr(theirs, "__name__", None) == last:  # not under a second name
            functions[theirs] = getattr(getattr(ours, module) if module else ours, last)
    ufuncs.update((name, getattr(ours, name)) for name in _NUMPY_ARRAY_UFUNC_LIST)


def _implements(numpy_function: Callable[..., Any]) -> Callable[[Decorated], Decorated]:
    """The decorator that makes a function the one that arrays call for one of NumPy's."""

    def enter(function: Decorated) -> Decorated:
        _tables()[0][numpy_function] = function
        return function

    return enter


def _register_array_function() -> None:
    """Enter the dialect's own functions again, where a program has entered others."""
    _enter(_tables()[0], {})


def _register_array_ufunc() -> None:
    """The same for ufuncs."""
    _enter({}, _tables()[1])


def with_array_function_protocol(func: Decorated) -> Decorated:
    """The function itself: arrays always take part in NumPy's ``__array_function__``."""
    return func


def with_array_ufunc_protocol(func: Decorated) -> Decorated:
    """The function itself: arrays always take part in NumPy's ``__array_ufunc__``."""
    return func


def _find_duplicate(strs: Iterable[str]) -> str | None:
    """The first string that occurs twice, or None."""
    return next((text for text, count in Counter(strs).items() if count > 1), None)


def _get_op_submodule_name(op_name: str, op_name_prefix: str, submodule_name_list: Sequence[str]) -> str:
    """The part of an operator's name after the prefix that names a module, such as ``_linalg_``; empty for none."""
    return next((part for part in submodule_name_list if op_name.startswith(op_name_prefix + part)), "")


def _get_builtin_op(op_name: str) -> Callable[..., object] | None:
    """The function of ``mx.np`` or ``mx.npx`` for an operator's name, such as ``_np_sum``; None for other operators.

    Raises
    ------
    InvalidValue
        If the module has no such function.
    """
    prefix = next((p for p in _MODULES if op_name.startswith(p)), None)
    if prefix is None:
        return None
    place, parts = _MODULES[prefix]
    module = import_module(f"..{place}", __package__)
    part = _get_op_submodule_name(op_name, prefix, parts)
    name, inner = op_name.removeprefix(prefix + part), part.strip("_")
    found = getattr(getattr(module, inner) if inner else module, name, None)
    if found is None:
        where = ".".join(["mxnet.numpy" if prefix == "_np_" else "mxnet.numpy_extension", *filter(None, [inner])])
        raise InvalidValue(f"Cannot find operator {name} in module {where}", op_name, "see dir() of it")
    return found
