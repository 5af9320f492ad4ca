"""MXNet's own NumPy dialect: what ``mxnet.np`` is to a script that runs as MXNet (`twofold.compat.mxnet_alias`).

Numbers and lists give float32, integers stay integers, elements and totals are arrays without axes. The functions are written over the
operators that MXNet's files name (``_npi_add``, ``_np_sum``), which ``mx.sym.np`` applies to symbols; names that MXNet takes from NumPy
run on the host, without a gradient.
"""

from typing import Any as _Any

from . import linalg, methods, python_operators, random  # noqa: F401  (attach operators and methods)
from .array import ndarray
from .namespace import array, attribute_names, find_attribute  # `array` is also the name of a module here


def __getattr__(name: str) -> _Any:
    return find_attribute(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *attribute_names()})


__all__ = ["array", "linalg", "ndarray", "random"]
