"""``mx.test_utils``: what tests of MXNet programs use. The public face of `testing`, and the names that MXNet's module imported."""
# ruff: noqa: F403  (a face has all names of the modules that it shows)

from importlib import import_module
from typing import Any

import numpy as np

from .compat.numpy_switches import get_cuda_compute_capability, getenv, setenv, use_np
from .compat.runtime import Features
from .context import Context, current_context
from .ndarray.new_arrays import array
from .symbol.symbol import Symbol
from .testing import comparison, consistency, datasets, gradient_checks, random_data, sampling_checks, surroundings
from .testing.comparison import *
from .testing.consistency import *
from .testing.datasets import *
from .testing.datasets import MNIST_FILES as MNIST_FILES
from .testing.gradient_checks import *
from .testing.random_data import *
from .testing.sampling_checks import *
from .testing.surroundings import *

__all__ = ["Context", "Features", "Symbol", "array", "current_context", "get_cuda_compute_capability", "getenv", "np", "setenv", "use_np"]
# the names that each part defines, not those that it imports
for _part in (comparison, consistency, datasets, gradient_checks, random_data, sampling_checks, surroundings):
    __all__ += [n for n, value in vars(_part).items() if not n.startswith("_") and getattr(value, "__module__", "") == _part.__name__]

#: Modules that tests get by ``from mxnet.test_utils import *``, which takes all that MXNet's module had imported.
_STARRED = {"mx": __name__.partition(".")[0], "rnd": "numpy.random", "npt": "numpy.testing"} | {
    name: name
    for name in ["bz2", "errno", "gzip", "json", "logging", "numbers", "os", "platform", "struct", "sys", "time", "traceback", "zipfile"]
}
#: Optional libraries that it had imported too.
_OPTIONAL = {"requests": "requests", "ss": "scipy.stats"}
__all__ += [*_STARRED, "MNIST_FILES"]  # pyright: ignore[reportUnsupportedDunderAll]  # `__getattr__` loads them


def __getattr__(name: str) -> Any:
    found = (_STARRED | _OPTIONAL).get(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(found)
