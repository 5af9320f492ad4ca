"""``mx.sym``: symbols, programs composed before they have shapes, values or a device."""

from typing import Any as _Any

from .. import ops  # noqa: F401  (registers the operators)
from . import contrib_functions, random  # noqa: F401  (attaches functions)
from .compilation import compile
from .compose import group as Group
from .compose import variable as Variable
from .compose import variable as var
from .custom import Custom
from .functions import arange, eye, full, histogram, linspace, load, load_json, ones, split_v2, zeros
from .namespace import attribute_names, find_attribute
from .python_operators import hypot, maximum, minimum, power
from .python_operators import power as pow
from .symbol import Symbol

__all__ = [
    "Custom",
    "Group",
    "Symbol",
    "Variable",
    "arange",
    "compile",
    "eye",
    "full",
    "histogram",
    "hypot",
    "linspace",
    "load",
    "load_json",
    "maximum",
    "minimum",
    "ones",
    "pow",
    "power",
    "random",
    "split_v2",
    "var",
    "zeros",
]


def __getattr__(name: str) -> _Any:
    return find_attribute(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *attribute_names()})
