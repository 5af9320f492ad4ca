"""``mx.nd``: MXNet's imperative arrays."""

from .. import ops  # noqa: F401  (registers the operators)
from . import methods, operators, random  # noqa: F401  (attach methods and Python's operators)
from .array import NDArray
from .creation import arange, array, empty, eye, from_dlpack, from_numpy, full, linspace, ones, zeros
from .functions import (
    binary_functions,
    concatenate,
    histogram,
    moveaxis,
    onehot_encode,
    split_v2,
    to_dlpack_for_read,
    to_dlpack_for_write,
    waitall,
)
from .interop import OURS
from .namespace import populate
from .saving import load, load_frombuffer, save

globals().update(binary_functions())
globals().update(populate(globals(), __name__))
OURS.update({name: value for name, value in globals().items() if callable(value)})

__all__ = [
    "NDArray",
    "arange",
    "array",
    "concatenate",
    "empty",
    "eye",
    "from_dlpack",
    "from_numpy",
    "full",
    "histogram",
    "linspace",
    "load",
    "load_frombuffer",
    "moveaxis",
    "onehot_encode",
    "ones",
    "random",
    "save",
    "split_v2",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
    "waitall",
    "zeros",
]
