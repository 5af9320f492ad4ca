"""The functions of ``mx.nd``: one per registered name, generated; and those that are no operators."""

from types import ModuleType
from typing import Any

from ..device import Device
from ..errors import ParameterError
from ..imperative.cell import Cell, Value, wrap
from ..imperative.invoke import invoke
from ..imperative.record import tls
from ..op.frontend import function_of, place_of, submodules
from ..op.registry import NAMES
from ..op.spec import Op
from .array import NDArray, array

SUBMODULES = ("linalg", "contrib", "image", "sparse", "random", "_internal")


def call(op: Op, arrays: tuple[Any, ...], params: dict[str, Any], out: Any = None) -> Any:
    """Run an operator on `NDArray` operands.

    Parameters
    ----------
    op, arrays, params
        What to apply to what; trailing arguments beyond the inputs are parameters in registry order.
    out
        Array (or list of arrays) to write the results into.
    """
    device = Device(_context(params.pop("ctx"))) if params.get("ctx") is not None else params.pop("ctx", None)
    operands = operands_of(op, arrays, params)
    scalars = [_scalar(op, name, params) for name in op.scalars]
    for flag in op.training:
        params.setdefault(flag, tls.training)
    sig = op.sig(True, **params)
    contents = invoke(sig, [*operands, *scalars], device)
    for name, new in zip(op.mutates, contents[len(contents) - len(op.mutates) :], strict=True):
        target = operands[[i.name for i in op.inputs].index(name)]
        if target is not None:
            target._rebind(new)
    return delivered(contents[: sig.visible], out)


def operands_of(op: Op, arrays: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
    """One operand per array input, None where left out; an array given by keyword under an alias is refused.

    Raises
    ------
    ParameterError
        If a required array is missing.
    """
    if op.variadic:
        return list(arrays)
    names = [i for i in op.inputs if not i.injected]
    for i, a in zip(names, arrays, strict=True):
        if a is None and not i.optional:
            raise ParameterError(f"{op.title}: the array {i.name} is missing", None, f"give {', '.join(n.name for n in names)}")
        if a is not None and not isinstance(a, Cell):
            raise ParameterError(f"{op.title}: {i.name} must be an NDArray", type(a).__name__, "make one with mx.nd.array")
    return list(arrays)


def _scalar(op: Op, name: str, params: dict[str, Any]) -> Any:
    param = op.params[name]
    if name in params:
        return param.value(params.pop(name), op.title)
    if param.required:
        raise ParameterError(f"{op.title}: Required parameter {name} is not presented", None, "give it")
    return param.default


def _context(text: Any) -> Any:
    """A context, or MXNet's spelling of one (``"cpu(0)"``)."""
    if isinstance(text, str) and "(" in text:
        kind, number = text.rstrip(")").split("(")
        return Device(kind, int(number))
    return text


def delivered(contents: list[Any], out: Any) -> Any:
    """Results as arrays: a single one, a list of several, or written into ``out``."""
    if out is None:
        arrays = [wrap(NDArray, c) for c in contents]
        return arrays[0] if len(arrays) == 1 else arrays
    targets = out if isinstance(out, (list, tuple)) else [out]
    for target, new in zip(targets, contents, strict=False):
        target[:] = wrap(NDArray, new) if new.__class__ is Value else wrap(NDArray, new)
    return out


def populate(namespace: dict[str, Any], package: str) -> dict[str, ModuleType]:
    """Fill a module's names with the functions of all registered operators; returns the sub-namespaces."""
    modules = submodules(package, SUBMODULES)
    for registered, op in NAMES.items():
        where, name = place_of(registered)
        module = f"{package}.{where}" if where else package
        extra = () if [i for i in op.inputs if not i.injected] else ("ctx",)
        function = function_of(op, name, call, module, extra=extra)
        if where in ("", "_internal"):
            namespace.setdefault(name, function)
            setattr(modules["_internal"], name, function)
        else:
            setattr(modules[where], name, function)
    return modules


__all__ = ["array", "call", "populate"]
