"""``mx.npx``: what deep learning needs beyond NumPy: operators on arrays of ``mx.np``, files, devices, MXNet's switches.

The operators are those of ``mx.nd`` under NumPy's convention: results keep their dtypes, have no extra axes, indices are int64 unless
``dtype`` says otherwise. They are generated from the operator table on first use.
"""

import functools
import inspect
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

from .backend.loader import backend_for, gpu_count
from .calls.general import Calls
from .device import Device, current_device
from .errors import DTypeError, ParameterError
from .ndarray.functions import waitall
from .ndarray.saving import Loaded, load_arrays, save_arrays
from .ndarray.types import ArrayLike, DTypeLike, Order, Shape
from .numpy.array import ndarray
from .numpy.creation import asarray
from .numpy.selecting import argwhere
from .opdef import NAMES, OPS, Op
from .opdef.frontend import function_of
from .ops import random_sampling
from .ops.mxnet_numpy_shapes import shape_of_codes
from .random import seed
from .suggestions import missing_name

CALLS = Calls(ndarray)
PREFIX = "_npx_"
#: Operators without a registered name of that prefix, under the names that they declare.
OTHERS = {op.front.npx_name: op.title for op in OPS.values() if op.front.npx_name}


def operator_of(name: str) -> Op | None:
    """The operator whose function has this name; None if none does."""
    return NAMES.get(OTHERS.get(name) or PREFIX + name)


def __getattr__(name: str) -> Any:
    op = operator_of(name)
    if op is None:
        raise missing_name(__name__, name, __dir__(), "npx")
    extra = () if op.arrays else ("ctx",)
    function = globals()[name] = function_of(op, name, CALLS.call, __name__, extra=extra, fast=CALLS.fast)
    return function


def __dir__() -> list[str]:
    made = [n.removeprefix(PREFIX) for n in NAMES if n.startswith(PREFIX)] + [n for n, r in OTHERS.items() if r in NAMES]
    return sorted({*__all__, *made})


def images(package: str, find: Callable[[str], object]) -> ModuleType:
    """The module ``npx.image``, of the operators on images.

    Parameters
    ----------
    package, find
        The name of the package ``npx``, and what looks its operators up, each without the prefix ``_npx_`` of registered names.
    """
    module = ModuleType(f"{package}.image", "Operators on images (h, w, c), as in ``mx.nd.image``.")
    module.__getattr__ = lambda name: find(f"_image_{name}")  # type: ignore[method-assign]
    module.__dir__ = lambda: [n.removeprefix("_npx__image_") for n in NAMES if n.startswith("_npx__image_")]  # type: ignore[method-assign]
    return module


image = images(__name__, __getattr__)


# arrays


def nonzero(a: ArrayLike) -> ndarray:
    """The indices of the non-zero elements: one row (int64) for each."""
    return argwhere(a)


def constraint_check(x: ArrayLike, msg: str) -> ndarray:
    """True, as an array, if every element is not 0.

    Raises
    ------
    ParameterError
        If an element is 0, with the given message.
    """
    result = asarray(x).all()
    if not result:
        raise ParameterError(msg)
    return result


def reshape(a: ArrayLike, newshape: Shape, reverse: bool = False, order: Order = "C") -> ndarray:
    """The elements in a new shape, which may contain codes: a view if the memory layout allows it.

    Parameters
    ----------
    a
        The array.
    newshape
        Sizes, or codes: -1 infers a size, -2 keeps one, -3 drops a size of 1, -4 keeps all remaining ones, -5 merges two,
        -6 splits one into the two that follow.
    reverse
        Read the codes from the right.
    order
        As in `ndarray.reshape`.

    Raises
    ------
    ShapeError
        If the codes do not match the shape.
    """
    x = asarray(a)
    codes = (newshape,) if isinstance(newshape, int) else tuple(newshape)
    return x.reshape(shape_of_codes(x.shape, codes, reverse), order=order)


# files


def save(file: str | os.PathLike[str], arr: Any) -> None:
    """Write arrays to a file: one array, a list, or a dictionary by name; see ``mx.nd.save``.

    Parameters
    ----------
    file
        Path of the file.
    arr
        The array, the list or the dictionary.
    """
    save_arrays(file, arr, numpy_shape=True)


def load(file: str | os.PathLike[str]) -> Loaded:
    """Read the arrays of a file, as a list or, if they have names, a dictionary; see ``mx.nd.load``.

    Parameters
    ----------
    file
        Path of the file.
    """
    return load_arrays(file, ndarray)


# devices

cpu, cpu_pinned, gpu = partial(Device, "cpu"), partial(Device, "cpu_pinned"), partial(Device, "gpu")
current_context = current_device
num_gpus = gpu_count


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """(free, total) bytes of a GPU's memory."""
    return backend_for(gpu(device_id)).memory_info(gpu(device_id))


# switches


class _Switches(threading.local):
    """MXNet's two switches, per thread. An array's class decides its semantics; these functions only answer programs that ask."""

    shape = False
    array = False


SWITCHES = _Switches()


def set_np(shape: bool = True, array: bool = True) -> None:
    """Set MXNet's switches for NumPy's shapes and arrays, in this thread.

    Parameters
    ----------
    shape
        Whether shapes are NumPy's: () for one number, and sizes of 0.
    array
        Whether arrays that Gluon creates are those of ``mx.np``.

    Raises
    ------
    ParameterError
        If NumPy arrays are requested without NumPy shapes.
    """
    if array and not shape:
        raise ParameterError("NumPy Shape semantics is required in using NumPy array semantics.", None, "set both")
    SWITCHES.shape, SWITCHES.array = bool(shape), bool(array)


def reset_np() -> None:
    """Turn both of MXNet's switches off."""
    set_np(False, False)


def is_np_shape() -> bool:
    """Whether MXNet's switch for NumPy's shapes is on."""
    return SWITCHES.shape


def is_np_array() -> bool:
    """Whether MXNet's switch for NumPy's arrays is on."""
    return SWITCHES.array


def set_np_shape(active: bool) -> bool:
    """Set MXNet's switch for NumPy's shapes, and return its previous value.

    Parameters
    ----------
    active
        Whether the switch is on from now on.

    Raises
    ------
    ParameterError
        If the switch for NumPy's arrays is on, which needs this one: `reset_np` turns both off.
    """
    if SWITCHES.array and not active:
        what = "Deactivating NumPy shape semantics while NumPy array semantics is still active is not allowed"
        raise ParameterError(what, None, "call `npx.reset_np()` to deactivate both of them")
    was, SWITCHES.shape = SWITCHES.shape, bool(active)
    return was


class _NumpyShapeScope(AbstractContextManager[None]):
    """A context in which a switch is on (or off). Entered without `with`, it stays so, as in MXNet."""

    def __init__(self, is_on: bool) -> None:
        self._active = self._before = bool(is_on)

    def __enter__(self) -> Any:
        self._before = set_np_shape(self._active)

    def __exit__(self, *error: object) -> None:
        set_np_shape(self._before)


class _NumpyArrayScope(_NumpyShapeScope):
    """The same for the switch for NumPy's arrays."""

    def __enter__(self) -> Any:
        self._before, SWITCHES.array = SWITCHES.array, self._active
        return self

    def __exit__(self, *error: object) -> None:
        SWITCHES.array = self._before


def np_shape(active: bool = True) -> AbstractContextManager[None]:
    """A context in which MXNet's switch for NumPy's shapes is on (or off).

    Parameters
    ----------
    active
        Whether the switch is on inside.
    """
    return _NumpyShapeScope(active)


def np_array(active: bool = True) -> AbstractContextManager[None]:
    """A context in which MXNet's switch for NumPy's arrays is on (or off).

    Parameters
    ----------
    active
        Whether the switch is on inside.
    """
    return _NumpyArrayScope(active)


def use_np_shape(func: Any) -> Any:
    """The function (or the class, in all its methods) with MXNet's switch for NumPy's shapes on.

    Parameters
    ----------
    func
        The function or the class.
    """
    return _under(np_shape, func)


def use_np_array(func: Any) -> Any:
    """The function (or the class, in all its methods) with MXNet's switch for NumPy's arrays on.

    Parameters
    ----------
    func
        The function or the class.
    """
    return _under(np_array, func)


def use_np(func: Any) -> Any:
    """The function (or the class, in all its methods) with both of MXNet's switches on.

    Parameters
    ----------
    func
        The function or the class.
    """
    return _under(np_shape, _under(np_array, func))


def _under(context: Callable[[], AbstractContextManager[None]], target: Any) -> Any:
    if isinstance(target, type):
        for name in dir(target):  # inherited ones, too: parameters are initialized by a method of Block
            method = inspect.getattr_static(target, name)
            if isinstance(method, FunctionType):
                setattr(target, name, _under(context, method))
            elif isinstance(method, property):
                fget, fset, fdel = [f if f is None else _under(context, f) for f in (method.fget, method.fset, method.fdel)]
                setattr(target, name, property(fget, fset, fdel, method.__doc__))
            elif isinstance(method, (staticmethod, classmethod)) and isinstance(method.__func__, FunctionType):
                setattr(target, name, type(method)(_under(context, method.__func__)))
        return target
    if not callable(target):
        what = "use_np: can only decorate classes and callable objects"
        raise DTypeError(what, f"an object of class {type(target).__name__}", "write it above a class or a function")

    @functools.wraps(target)
    def call(*args: Any, **options: Any) -> Any:
        with context():
            return target(*args, **options)

    return call


# random numbers from MXNet's streams


def bernoulli(
    prob: Any = None,
    logit: Any = None,
    size: Shape | None = None,
    dtype: DTypeLike = None,
    ctx: Device | None = None,
    out: ndarray | None = None,
) -> ndarray:
    """1 with the given probability, else 0.

    Parameters
    ----------
    prob, logit
        The probability, or its logit: numbers or arrays. Exactly one of the two is required.
    size
        Shape of the result; that of the probabilities if None.
    dtype
        Dtype of the result; float32 if None.
    ctx
        The device; the current one if None.
    out
        Array to write into.

    Raises
    ------
    ParameterError
        Unless exactly one of ``prob`` and ``logit`` is given.
    """
    if (prob is None) == (logit is None):
        raise ParameterError("bernoulli: pass either prob or logit", f"{prob!r} and {logit!r}", "pass one")
    chance = asarray(prob) if logit is None else __getattr__("sigmoid")(asarray(logit, "float32"))
    shape = chance.shape if size is None else (size,) if isinstance(size, int) else tuple(size)
    result = (_drawn(random_sampling.random_uniform, shape, "float32", ctx or chance.context) < chance).astype(
        "float32" if dtype is None else dtype
    )
    if out is None:
        return result
    out[...] = result
    return out


def uniform_n(
    low: ArrayLike = 0.0, high: ArrayLike = 1.0, batch_shape: Shape | None = None, dtype: DTypeLike = None, ctx: Device | None = None
) -> ndarray:
    """Samples from uniform distributions on [low, high): an array of shape ``batch_shape`` followed by the shape of the bounds."""
    low, high = asarray(low), asarray(high)
    drawn = _batch(random_sampling.random_uniform, low, high, batch_shape, dtype, ctx)
    return (low + (high - low) * drawn).astype(drawn.dtype)


def normal_n(
    loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, batch_shape: Shape | None = None, dtype: DTypeLike = None, ctx: Device | None = None
) -> ndarray:
    """Samples from normal distributions: an array of shape ``batch_shape`` followed by the shape of means and deviations."""
    loc, scale = asarray(loc), asarray(scale)
    drawn = _batch(random_sampling.random_normal, loc, scale, batch_shape, dtype, ctx)
    return (loc + scale * drawn).astype(drawn.dtype)


def _batch(op: Op, a: ndarray, b: ndarray, batch_shape: Shape | None, dtype: DTypeLike, ctx: Device | None) -> ndarray:
    batch = () if batch_shape is None else (batch_shape,) if isinstance(batch_shape, int) else tuple(batch_shape)
    return _drawn(op, (*batch, *(a + b).shape), "float32" if dtype is None else dtype, ctx or a.context)


def _drawn(op: Op, shape: tuple[int, ...], dtype: DTypeLike, ctx: Device) -> ndarray:
    return CALLS.call(op, (), {"shape": shape, "dtype": dtype, "ctx": ctx})


random = ModuleType(f"{__name__}.random", "Draws from MXNet's streams, which `seed` starts.")
vars(random).update(bernoulli=bernoulli, normal_n=normal_n, seed=seed, uniform_n=uniform_n)

__all__ = [
    "bernoulli",
    "constraint_check",
    "cpu",
    "cpu_pinned",
    "current_context",
    "gpu",
    "gpu_memory_info",
    "image",
    "is_np_array",
    "is_np_shape",
    "load",
    "nonzero",
    "normal_n",
    "np_array",
    "np_shape",
    "num_gpus",
    "random",
    "reset_np",
    "reshape",
    "save",
    "seed",
    "set_np",
    "set_np_shape",
    "uniform_n",
    "use_np",
    "use_np_array",
    "use_np_shape",
    "waitall",
]
