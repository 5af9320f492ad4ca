"""The functions of ``mx.nd`` that are operators: one per registered name, generated, and what runs them."""

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from ..device import Device
from ..dtype import dtype_name
from ..errors import DTypeError, OperatorError, ParameterError, ShapeError
from ..imperative.cell import Cell, Value, wrap
from ..imperative.invoke import device_of, invoke, type_of
from ..imperative.record import tls
from ..op.frontend import PREFIXES, Fast, function_of
from ..op.registry import NAMES
from ..op.spec import Op, Sig
from . import control_flow
from .array import NDArray, NDArrayView
from .interop import FINDERS
from .operators import shortened


def call(op: Op, arrays: Sequence[Any], params: dict[str, Any], out: Any = None) -> Any:
    """Run an operator on `NDArray` operands.

    Parameters
    ----------
    op, arrays, params
        What to apply to what; among the parameters may be ``ctx``, the device of a result without operands.
    out
        Array (or list of arrays) to write the results into.
    """
    ctx = params.pop("ctx", None)
    device = None if ctx is None or ctx == "" else _context(ctx)
    operands = operands_of(op, arrays, params)
    scalars = [_scalar(op, name, params) for name in op.scalars]
    sig = _sig_of(op, params)
    contents = invoke(sig, [*operands, *scalars], device)
    if op.mutates:
        for name, new in zip(op.mutates, contents[len(contents) - len(op.mutates) :], strict=True):
            target = operands[[i.name for i in op.inputs].index(name)]
            if target is not None:
                target._rebind(new)
    return delivered(op, contents[: sig.visible], out)


def _run(sig: Sig, operands: tuple[Any, ...]) -> Any:
    """The visible results of an operator whose parameters are known."""
    for a in operands:
        if a is not None and not isinstance(a, Cell):
            raise _no_array(sig.op, a)
    contents = invoke(sig, operands)
    if sig.visible == 1:
        return wrap(NDArray, contents[0])
    return [wrap(NDArray, c) for c in contents[: sig.visible]]


def _sig_of(op: Op, params: dict[str, Any]) -> Sig:
    given = dict.fromkeys(op.training, tls.training) | params
    dtype = given.get("dtype")
    if dtype is not None and dtype.__class__ is not str:  # NumPy's classes and dtypes denote one too
        given["dtype"] = dtype_name(dtype)
    return op.sig(True, **given)


FAST = Fast(_run, lambda op, params: _sig_of(op, {k: v for k, v in params.items() if k in op.params}), lambda: tls.training)


def _no_array(op: Op, given: Any) -> DTypeError:
    return DTypeError(f"{op.title}: the operands must have NDArray type", type(given).__name__, "make one with mx.nd.array")


def operands_of(op: Op, arrays: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """One operand per array input, None where left out.

    Raises
    ------
    ParameterError
        If a required array is missing, or their given number is wrong.
    DTypeError
        If an operand is no array.
    """
    for a in arrays:
        if a is not None and not isinstance(a, Cell):
            raise _no_array(op, a)
    if op.variadic:
        count = params.pop(op.count_param, len(arrays)) if op.count_param is not None else len(arrays)
        if int(count) != len(arrays):
            raise ParameterError(f"{op.title}: {op.count_param} is not the number of arrays", f"{count} for {len(arrays)}", "leave it out")
        return list(arrays)
    names = [i for i in op.inputs if not i.injected]
    for i, a in zip(names, arrays, strict=True):
        if a is None and not i.optional:
            raise ParameterError(f"{op.title}: the array {i.name} is missing", None, f"give {', '.join(n.name for n in names)}")
    return list(arrays)


def _scalar(op: Op, name: str, params: dict[str, Any]) -> Any:
    param = op.params[name]
    if name in params:
        return param.value(params.pop(name), op.title)
    if param.required:
        raise ParameterError(f"{op.title}: Required parameter {name} is not presented", None, "give it")
    return param.default


def _context(ctx: Any) -> Device:
    """A context, or MXNet's spelling of one (``"cpu(0)"``)."""
    if isinstance(ctx, str) and ctx.endswith(")"):
        kind, number = ctx[:-1].split("(")
        return Device(kind, int(number))
    return Device(ctx)


def delivered(op: Op, contents: list[Any], out: Any) -> Any:
    """Results as arrays: a single one, a list of several, or written into ``out``.

    Raises
    ------
    ShapeError, DTypeError
        If an array in ``out`` has another shape or dtype than its result.
    """
    if out is None:
        arrays = [wrap(NDArray, c) for c in contents]
        return arrays[0] if len(arrays) == 1 else arrays
    targets = out if isinstance(out, (list, tuple)) else [out]
    for target, new in zip(targets, contents, strict=False):
        shape, dtype = type_of(new)
        if target.shape != shape:
            raise ShapeError(
                f"{op.title}: out has another shape than the result", f"{target.shape} for {shape}", "give an array of that shape"
            )
        if target._dtype != dtype:
            raise DTypeError(
                f"{op.title}: out has another dtype than the result", f"{target._dtype} for {dtype}", "give an array of that dtype"
            )
        _deliver(target, new)
    return out


def _deliver(target: Any, new: Any) -> None:
    """Put a result where an array is: its content is bound anew, unless others see its memory."""
    v = target._v
    if target.__class__ is NDArrayView or (v.__class__ is Value and v.pinned) or device_of(v) is not device_of(new):
        target[:] = wrap(NDArray, new)
    else:
        target._rebind(new)


def generated(op: Op, name: str, module: str, extra: Sequence[str] = ()) -> Callable[..., Any]:
    """The function of an operator on `NDArray`."""
    return shortened(op, function_of(op, name, call, module, extra=extra, fast=FAST))


# the functions by name, made when first asked for

PACKAGE = __name__.rpartition(".")[0]


def find_attribute(name: str) -> Any:
    """What the package has under a name beside what is written by hand: a sub-namespace, or a public operator's function.

    Raises
    ------
    OperatorError
        If there is nothing of that name (an `AttributeError`).
    """
    found = NAMESPACES[name] if name in NAMESPACES else getattr(NAMESPACES["op"], name)
    vars(sys.modules[PACKAGE])[name] = found
    return found


def attribute_names() -> list[str]:
    """Names that `find_attribute` finds."""
    return [*NAMESPACES, *(n for n in NAMES if not n.startswith("_"))]


def registered_name(namespace: str, name: str) -> str | None:
    """The registered name of an operator by its name in a sub-namespace; None if there is no such operator."""
    if namespace in ("op", "_internal"):
        return name if name in NAMES and name.startswith("_") == (namespace == "_internal") else None
    prefixes = [p for p, where in PREFIXES.items() if where == namespace]
    return next((p + name for p in prefixes if p + name in NAMES), None)


def function_in(namespace: str, name: str) -> Callable[..., Any]:
    """The function of an operator in a sub-namespace.

    Raises
    ------
    OperatorError
        If there is no such operator.
    """
    registered = registered_name(namespace, name)
    module = PACKAGE if namespace == "op" else f"{PACKAGE}.{namespace}"
    if registered is None:
        raise OperatorError(f"module {module!r} has no attribute {name!r}", None, "see dir() of it")
    op = NAMES[registered]
    extra = () if [i for i in op.inputs if not i.injected] else ("ctx",)
    return generated(op, name, module, extra)


def _namespace(name: str) -> ModuleType:
    """A sub-namespace whose functions are made when they are first used."""
    module = ModuleType(f"{PACKAGE}.{name}", f"Operators of {PACKAGE} under the name {name}.")

    def find(attribute: str) -> Any:
        function = function_in(name, attribute)
        setattr(module, attribute, function)
        return function

    module.__getattr__ = find  # type: ignore[method-assign]
    prefixes = [p for p, where in PREFIXES.items() if where == name]
    names = [n.removeprefix(p) for p in prefixes or [""] for n in NAMES if n.startswith(p)]
    module.__dir__ = lambda: sorted({*vars(module), *(n for n in names if registered_name(name, n))})  # type: ignore[method-assign]
    return module


#: ``op`` has the public operators, ``_internal`` all others, each of the rest those of a prefix.
NAMESPACES = {name: _namespace(name) for name in ("op", "_internal", "linalg", "contrib", "image", "sparse")}
for _name in control_flow.__all__:
    setattr(NAMESPACES["contrib"], _name, getattr(control_flow, _name))
FINDERS[NDArray] = find_attribute
