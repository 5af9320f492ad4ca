"""Default values in signatures as a user would write them, without addresses and paths of the machine that builds the site."""

from __future__ import annotations

import functools
import inspect
import json
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from sphinx.util.inspect import object_description

from twofold.initializer import Initializer

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def default_text(value: object) -> str:
    """How a default is shown: a class, a function or a module by its name, an initializer as its call."""
    if isinstance(value, (ModuleType, type, FunctionType, BuiltinFunctionType)):
        return value.__name__
    if isinstance(value, Initializer):
        _, given = json.loads(value.dumps())
        return call_text(type(value).__name__, given)
    if isinstance(value, functools.partial):
        return call_text(default_text(value.func), value.keywords)
    if isinstance(value, str):
        return repr(value.replace(str(Path.home()), "~"))
    shown = object_description(value)
    if not shown.startswith("<"):
        return shown
    return f"{type(value).__name__}()" if type(value).__module__.startswith("twofold") else "…"


def call_text(name: str, given: dict[str, Any]) -> str:
    """A call with keyword arguments."""
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in given.items())})"


def readable(signature: inspect.Signature, arguments: str) -> str:
    """The arguments of a class or function as Sphinx shows them, with readable defaults."""
    for parameter in signature.parameters.values():
        if parameter.default is not parameter.empty:
            arguments = arguments.replace(f"={object_description(parameter.default)}", f"={default_text(parameter.default)}")
    return arguments


def process(
    app: Sphinx, what: str, name: str, obj: Any, options: object, arguments: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Make the defaults of a signature readable."""
    return readable(inspect.signature(obj), arguments) if arguments and (
        "<" in arguments or str(Path.home()) in arguments
    ) else arguments, returned
