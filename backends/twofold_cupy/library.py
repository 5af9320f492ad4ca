"""CuPy's compiled modules, whose types type checkers cannot see."""

import importlib
from typing import Any

import cupy  # noqa: F401  (before its parts)

runtime: Any = importlib.import_module("cupy_backends.cuda.api.runtime")
driver: Any = importlib.import_module("cupy_backends.cuda.api.driver")
memory: Any = importlib.import_module("cupy.cuda.memory")
compiler: Any = importlib.import_module("cupy.cuda.compiler")
