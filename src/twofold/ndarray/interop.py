"""NumPy's functions on our arrays: some run as operators (recorded, on the array's device), the others in NumPy itself."""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..dtype import NUMPY, dtype_name
from ..errors import DTypeError
from ..imperative.array import Array, adopted
from ..imperative.cell import Cell, wrap
from ..imperative.invoke import host_of, invoke
from ..opdef.registry import OPS

#: NumPy function → (our function, NumPy keyword → our keyword). A call with any other keyword goes to NumPy.
FUNCTIONS: dict[Callable[..., Any], tuple[str, dict[str, str]]] = {
    np.argmax: ("argmax", {"axis": "axis", "keepdims": "keepdims"}),
    np.argmin: ("argmin", {"axis": "axis", "keepdims": "keepdims"}),
    np.argsort: ("argsort", {"axis": "axis"}),
    np.clip: ("clip", {"a_min": "a_min", "a_max": "a_max"}),
    np.diag: ("diag", {"k": "k"}),
    np.dot: ("dot", {"b": "rhs"}),
    np.expand_dims: ("expand_dims", {"axis": "axis"}),
    np.max: ("max", {"axis": "axis", "keepdims": "keepdims"}),
    np.mean: ("mean", {"axis": "axis", "keepdims": "keepdims"}),
    np.min: ("min", {"axis": "axis", "keepdims": "keepdims"}),
    np.ones_like: ("ones_like", {}),
    np.prod: ("prod", {"axis": "axis", "keepdims": "keepdims"}),
    np.repeat: ("repeat", {"repeats": "repeats", "axis": "axis"}),
    np.reshape: ("reshape", {"shape": "shape"}),
    np.sort: ("sort", {"axis": "axis"}),
    np.squeeze: ("squeeze", {"axis": "axis"}),
    np.sum: ("sum", {"axis": "axis", "keepdims": "keepdims"}),
    np.swapaxes: ("swapaxes", {"axis1": "dim1", "axis2": "dim2"}),
    np.tile: ("tile", {"reps": "reps"}),
    np.transpose: ("transpose", {"axes": "axes"}),
    np.zeros_like: ("zeros_like", {}),
}
#: Array class → look-up of our functions by name. Each front end's namespace adds its own.
FINDERS: dict[type, Callable[[str], Callable[..., Any]]] = {}


@cache
def _operators() -> dict[Any, str]:
    """The NumPy ufuncs that are primitives, with their names."""
    return {getattr(np, op.ufunc): name for name, op in OPS.items() if op.primitive and op.ufunc is not None} | {np.matmul: "matmul"}


def array_ufunc(cls: type, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """``__array_ufunc__``: apply a NumPy ufunc to operands of which at least one is an array of ours.

    A plain call runs as our operator and returns our array. ``reduce``, ``outer``, ``where=`` and the like run in NumPy and return
    NumPy arrays.
    """
    out = options.get("out", ())
    name = _operators().get(ufunc)
    ours = name is not None and method == "__call__" and set(options) <= {"out"} and all(isinstance(o, cls) for o in out)
    if not ours or not all(isinstance(i, (cls, np.ndarray, np.generic, bool, int, float)) for i in inputs):
        return by_numpy(getattr(ufunc, method), inputs, options)
    result = wrap(cls, invoke(OPS[name].sig(cls._legacy), operands(cls, inputs))[0])  # type: ignore[attr-defined, index]
    if out:
        out[0][:] = result
        return out[0]
    return result


def operands(cls: type, values: tuple[Any, ...]) -> list[Any]:
    """The operands of an operation with at least one array of ours: NumPy arrays become ours, NumPy scalars Python's.

    A NumPy array is cast to our array's dtype if that is of the same kind or a higher one, as Python scalars are. Otherwise all
    operands are cast to the dtype that NumPy promotes to.
    """
    own = next(v for v in values if isinstance(v, cls))
    target = NUMPY[own._dtype]
    for v in values:
        if isinstance(v, np.ndarray) and not np.can_cast(v.dtype, target, "same_kind"):
            target = np.promote_types(target, v.dtype)
    out: list[Any] = []
    for v in values:
        if isinstance(v, cls):
            out.append(v if v._dtype == own._dtype and target == NUMPY[own._dtype] else v.astype(dtype_name(target), copy=False))  # type: ignore[attr-defined]
        elif isinstance(v, np.ndarray):
            out.append(adopted(cls, v.astype(target, order="C"), own.context))
        else:
            out.append(v.item() if isinstance(v, np.generic) else v)
    return out


def array_function(cls: type, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """``__array_function__``: call our function for a NumPy function if there is one, else NumPy."""
    found = FUNCTIONS.get(function)
    if found is not None and cls in FINDERS:
        name, keywords = found
        first, *rest = inspect.signature(function).bind(*args, **options).arguments.items()
        given = {k: v for k, v in rest if not _is_unset(v)}
        if isinstance(first[1], cls) and set(given) <= set(keywords) and not any(isinstance(v, np.ndarray) for v in given.values()):
            return FINDERS[cls](name)(first[1], **{keywords[k]: v for k, v in given.items()})
    return by_numpy(function, args, options)


def _is_unset(value: Any) -> bool:
    return value is None or value is np._NoValue


def by_numpy(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call NumPy on the arrays' contents, and write the result to ``out`` if that is an array of ours.

    Raises
    ------
    DTypeError
        If the result cannot be cast to the dtype of ``out``.
    """
    out = options.get("out")
    targets = out if isinstance(out, tuple) else (out,)
    if not any(isinstance(t, Array) for t in targets):
        return function(*hosts(args), **hosts(options))
    result = function(*hosts(args), **hosts({k: v for k, v in options.items() if k != "out"}))
    for target, new in zip(targets, result if isinstance(result, tuple) else (result,), strict=True):
        if target is None:
            continue
        if not np.can_cast(new.dtype, target.dtype, "same_kind"):
            raise DTypeError(f"Cannot cast output from {new.dtype} to {target.dtype}", None, "pass an array of another dtype")
        target[...] = new
    return targets[0] if len(targets) == 1 else targets


def hosts(value: Any) -> Any:
    """The value with our arrays replaced by NumPy arrays, in lists, tuples and dictionaries too.

    They are read-only: the memory may be shared with other arrays, which must not change behind the tape's back.
    """
    if isinstance(value, Cell):
        host = host_of(value).view()
        host.flags.writeable = False
        return host
    if value.__class__ in (list, tuple):
        return type(value)(map(hosts, value))
    return {k: hosts(v) for k, v in value.items()} if isinstance(value, dict) else value
