"""``mx.nd``: MXNet's imperative arrays. The functions of operators are generated on first use."""

from typing import Any as _Any

from .. import ops  # noqa: F401  (registers the operators)
from . import contrib_functions, derived, interop, methods, random, sparse  # noqa: F401  (attach functions, methods and NumPy's protocols)
from .array import NDArray
from .custom import Custom
from .decoding import imdecode
from .functions import (
    add,
    concatenate,
    divide,
    equal,
    greater,
    greater_equal,
    histogram,
    lesser,
    lesser_equal,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    modulo,
    moveaxis,
    multiply,
    not_equal,
    onehot_encode,
    power,
    split_v2,
    subtract,
    to_dlpack_for_read,
    to_dlpack_for_write,
    true_divide,
    waitall,
)
from .namespace import HIGHER, attribute_names, find_attribute
from .new_arrays import arange, array, empty, from_dlpack, from_numpy, full, ones, zeros
from .ranges import eye, linspace
from .saving import load, load_frombuffer, save

__all__ = [
    "Custom",
    "NDArray",
    "add",
    "arange",
    "array",
    "concatenate",
    "divide",
    "empty",
    "equal",
    "eye",
    "from_dlpack",
    "from_numpy",
    "full",
    "greater",
    "greater_equal",
    "histogram",
    "imdecode",
    "lesser",
    "lesser_equal",
    "linspace",
    "load",
    "load_frombuffer",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "modulo",
    "moveaxis",
    "multiply",
    "not_equal",
    "onehot_encode",
    "ones",
    "power",
    "random",
    "save",
    "split_v2",
    "subtract",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
    "true_divide",
    "waitall",
    "zeros",
]


def __getattr__(name: str) -> _Any:
    return find_attribute(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *HIGHER, *attribute_names()})
