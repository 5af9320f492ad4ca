"""What happens when the package is imported: higher packages are made reachable from lower ones, and environment variables take effect."""

import importlib
import os
from typing import Any

from .extension_points import LOADERS

__all__: list[str] = []


def _numpy() -> Any:
    return importlib.import_module(".numpy", __package__)


def _numpy_extension() -> Any:
    return importlib.import_module(".numpy_extension", __package__)


def _folding_lines() -> Any:
    return importlib.import_module(".numpy_folding.explain", __package__).text


LOADERS |= {
    ("ndarray", "np"): _numpy,
    ("ndarray", "npx"): _numpy_extension,
    ("numpy", "ndarrayView"): lambda: _numpy().ndarrayView,
    ("profiler", "folding_lines"): _folding_lines,
}

if os.environ.get("MXNET_PROFILER_AUTOSTART", "0") == "1":  # the profiler starts when it is loaded
    importlib.import_module(".profiler", __package__)
