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
from .testing.gradient_checks import *
from .testing.random_data import *
from .testing.sampling_checks import *
from .testing.surroundings import *

__all__ = ["Context", "Features", "Symbol", "array", "current_context", "get_cuda_compute_capability", "getenv", "np", "setenv", "use_np"]
__all__ += comparison.__all__
__all__ += consistency.__all__
__all__ += datasets.__all__
__all__ += gradient_checks.__all__
__all__ += random_data.__all__
__all__ += sampling_checks.__all__
__all__ += surroundings.__all__

#: Modules that tests get by ``from mxnet.test_utils import *``, which takes all that MXNet's module had imported.
_STARRED = {"mx": __name__.partition(".")[0], "rnd": "numpy.random", "npt": "numpy.testing"} | {
    name: name
    for name in ["bz2", "errno", "gzip", "json", "logging", "numbers", "os", "platform", "struct", "sys", "time", "traceback", "zipfile"]
}
#: Optional libraries that it had imported too.
_OPTIONAL = {"requests": "requests", "ss": "scipy.stats"}
__all__ += [*_STARRED]  # pyright: ignore[reportUnsupportedDunderAll]  # `__getattr__` loads them


def __getattr__(name: str) -> Any:
    found = (_STARRED | _OPTIONAL).get(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(found)
