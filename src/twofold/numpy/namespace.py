"""What ``twofold.np`` has under NumPy's names: functions of this package, ufuncs, and everything else from NumPy; found when first used."""

import sys
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from . import creation, linear, reductions, selecting, shapes
from .fallback import attribute, guarded
from .ufuncs import function_of

PACKAGE = __name__.rpartition(".")[0]


def _functions(module: ModuleType) -> dict[str, Any]:
    """The functions of a module under NumPy's names."""
    return {name: f for name, f in vars(module).items() if name in np.__all__ and isinstance(f, FunctionType)}


#: Functions that make arrays, whatever the dtype, and those of arrays.
MAKERS = _functions(creation)
OWN = _functions(reductions) | _functions(shapes) | _functions(selecting) | _functions(linear)


def find_attribute(name: str) -> Any:
    """What the package has under a name of NumPy's.

    Raises
    ------
    AttributeError
        If NumPy has no such name.
    """
    if name not in np.__all__ and name not in vars(np):
        raise AttributeError(f"module {PACKAGE!r} has no attribute {name!r}")
    if name in MAKERS:
        found = MAKERS[name]
    elif name in OWN:
        found = guarded(OWN[name], getattr(np, name))
    else:
        numpys = getattr(np, name)
        found = function_of(name) if isinstance(numpys, np.ufunc) else attribute(np, name)
    vars(sys.modules[PACKAGE])[name] = found
    return found


def attribute_names() -> list[str]:
    """The names that `find_attribute` finds."""
    return dir(np)
