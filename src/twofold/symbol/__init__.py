"""``mx.sym``: symbols, programs composed before they have shapes, values or a device."""

from .. import ops  # noqa: F401  (registers the operators)
from . import operators, random  # noqa: F401  (attach Python's operators)
from .compiled import compile
from .compose import group as Group
from .compose import variable as Variable
from .functions import arange, eye, full, histogram, linspace, load, load_json, ones, split_v2, zeros
from .namespace import populate
from .operators import FUNCTIONS, function
from .symbol import Symbol

var = Variable
globals().update({name: function(name) for name in FUNCTIONS})
power = globals()["pow"]
globals().update(populate(globals(), __name__))

__all__ = [  # noqa: PLE0604
    "Group",
    "Symbol",
    "Variable",
    "arange",
    "compile",
    "eye",
    "full",
    "histogram",
    "linspace",
    "load",
    "load_json",
    "ones",
    "random",
    "split_v2",
    "var",
    "zeros",
]
