"""Builds a front end's functions from operators, with true signatures, around a ``call`` that the front end gives.

``call(op, arrays, params, out)`` gets the array arguments in order (None where left out), the parameters that were given, and
``out``. Generator low, binding high: this module knows no array class.
"""

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from .docstring import docstring_of
from .spec import Op


class _NullType:
    """The default of a parameter that was not given: not None, which is a value."""

    def __repr__(self) -> str:
        return "<no value>"

    def __bool__(self) -> bool:
        return False


NULL = _NullType()
Call = Callable[[Op, tuple[Any, ...], dict[str, Any], Any], Any]


def function_of(op: Op, name: str, call: Call, module: str, *, extra: Iterable[str] = ()) -> Callable[..., Any]:
    """The function of an operator.

    Parameters
    ----------
    op, name
        The operator and the name of the function.
    call
        What runs it.
    module
        The module that the function says it is from.
    extra
        Names of further keyword arguments passed on as parameters (``ctx`` of creation operators, say).
    """
    arrays = [i.name for i in op.inputs if not i.injected]
    params = [p for p in op.params if p not in op.training]
    keywords = [p for p in [*params, *extra] if p not in arrays]
    tail = ", ".join([f"{p}=NULL" for p in keywords] + ["out=None", "name=None", "**other"])
    given = "{" + ", ".join(f"{p!r}: {p}" for p in keywords) + "}"
    lines = []
    if op.variadic:
        fixed = ", ".join(f"{a}" for a in arrays[:-1])
        lines.append(f"def {name}({fixed + ', ' if fixed else ''}*{arrays[-1]}, {tail}):")
        operands = f"({', '.join(arrays[:-1]) + ', ' if fixed else ''}*flat({arrays[-1]}))"
    else:
        head = "".join(f"{a}=None, " for a in arrays)
        lines.append(f"def {name}({head}{tail}):")
        operands = f"({', '.join(arrays)}{',' if arrays else ''})"
    lines.append(f"    params = {{k: v for k, v in {given}.items() if v is not NULL}}")
    lines.append("    if other: params.update(other)")
    lines.append(f"    return call(op, {operands}, params, out)")
    env: dict[str, Any] = {"NULL": NULL, "call": call, "op": op, "flat": _flat}
    exec("\n".join(lines), env)
    function = env[name]
    function.__doc__ = docstring_of(op)
    function.__module__ = module
    function.__qualname__ = name
    return function


def _flat(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Variadic inputs may also be given as one list."""
    return tuple(arrays[0]) if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)) else arrays


#: Prefixes of registered names and the sub-namespace in which a front end shows them.
PREFIXES = {"_linalg_": "linalg", "_contrib_": "contrib", "_image_": "image", "_sparse_": "sparse", "_random_": "random", "_sample_": "random"}


def place_of(registered: str) -> tuple[str, str]:
    """(sub-namespace, public name) of a registered name; ``_internal`` for names that start with an underscore."""
    for prefix, where in PREFIXES.items():
        if registered.startswith(prefix):
            return where, registered.removeprefix(prefix)
    return ("_internal", registered) if registered.startswith("_") else ("", registered)


def submodules(package: str, names: Iterable[str]) -> dict[str, ModuleType]:
    """Empty modules for the sub-namespaces of a front end."""
    return {name: ModuleType(f"{package}.{name}", f"Operators of {package} under the name {name}.") for name in names}
