"""The functions of ``mx.nd`` that are operators, generated from the registry on first use."""

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from ..calls.general import Calls
from ..extension_points import LOADERS
from ..opdef import NAMES, Op
from ..opdef.frontend import PREFIXES, function_of
from ..suggestions import missing_name
from . import control_flow
from .array import NDArray
from .operators import with_fast_path

CALLS = Calls(NDArray)
call, deliver, FAST = CALLS.call, CALLS.deliver, CALLS.fast


def generate(op: Op, name: str, module: str, extra: Sequence[str] = ()) -> Callable[..., Any]:
    """Generate the function of an operator on `NDArray`."""
    return with_fast_path(op, function_of(op, name, call, module, extra=extra, fast=FAST))


PACKAGE = __name__.rpartition(".")[0]
#: Names of this package that are or belong to higher packages: those for which `twofold.startup` has entered a loader.
HIGHER = tuple(name for package, name in LOADERS if package == "ndarray")


def find_attribute(name: str) -> Any:
    """The attributes of the package that are created on first use: sub-namespaces and the functions of public operators.

    Raises
    ------
    OperatorError
        If there is no attribute of that name (an `AttributeError`).
    """
    if name in NAMESPACES:
        return NAMESPACES[name]
    found = LOADERS["ndarray", name]() if name in HIGHER else getattr(NAMESPACES["op"], name)
    vars(sys.modules[PACKAGE])[name] = found  # later look-ups find it without calling the package's ``__getattr__``
    return found


def attribute_names() -> list[str]:
    """The names that `find_attribute` knows."""
    return [*NAMESPACES, *(n for n in NAMES if not n.startswith("_"))]


def registered_name(namespace: str, name: str) -> str | None:
    """The registered name of the operator that a sub-namespace shows under ``name``; None if there is none."""
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
        raise missing_name(module, name, names_in(namespace), "nd")
    op = NAMES[registered]
    extra = () if op.arrays else ("ctx",)
    return generate(op, name, module, extra)


def _namespace(name: str) -> ModuleType:
    """A sub-namespace whose functions are generated on first use."""
    module = ModuleType(f"{PACKAGE}.{name}", f"Operators of {PACKAGE} under the name {name}.")

    def find(attribute: str) -> Any:
        function = function_in(name, attribute)
        setattr(module, attribute, function)
        return function

    module.__getattr__ = find  # type: ignore[method-assign]
    names = names_in(name)
    module.__dir__ = lambda: sorted({*vars(module), *names})  # type: ignore[method-assign]
    return module


def names_in(namespace: str) -> list[str]:
    """The names of the operators in a sub-namespace."""
    prefixes = [p for p, where in PREFIXES.items() if where == namespace]
    names = [n.removeprefix(p) for p in prefixes or [""] for n in NAMES if n.startswith(p)]
    return [n for n in names if registered_name(namespace, n)]


#: ``op`` holds the public operators, ``_internal`` all others; each other namespace holds the operators with one prefix.
NAMESPACES = {name: _namespace(name) for name in ("op", "_internal", "linalg", "contrib", "image")}
for _name in control_flow.__all__:
    setattr(NAMESPACES["contrib"], _name, getattr(control_flow, _name))
