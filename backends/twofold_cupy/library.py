"""CuPy's compiled modules, whose types type checkers cannot see, and CUDA's libraries."""

import ctypes
import importlib
from typing import Any

import cupy  # noqa: F401  (its parts below must not be imported before it)

runtime: Any = importlib.import_module("cupy_backends.cuda.api.runtime")
driver: Any = importlib.import_module("cupy_backends.cuda.api.driver")
memory: Any = importlib.import_module("cupy.cuda.memory")
compiler: Any = importlib.import_module("cupy.cuda.compiler")
cupyx: Any = importlib.import_module("cupyx")

#: The CUDA libraries in use, and the purpose of each.
LIBRARIES = {"nvrtc": "kernels", "cublas": "matrix products", "cublasLt": "products with a bias or activation in one step"}


def cuda_major() -> int:
    """The major version of CUDA that this CuPy was built for."""
    return int(runtime.runtimeGetVersion()) // 1000


def cuda_wheel() -> str:
    """The wheel of this CuPy with CUDA's libraries included."""
    return f"cupy-cuda{cuda_major()}x[ctk]"


def cuda_library(name: str) -> Any:
    """Load one of CUDA's libraries in the major version of this CuPy; the finder alone would take the newest that is installed.

    `PyDLL` keeps the GIL during calls, which makes them mutually exclusive: two threads must not use a handle simultaneously. (CuPy does
    not support free-threaded Python.)

    Raises
    ------
    Exception
        If the library is not found; the finder raises a different exception for each reason.
    """
    from cuda import pathfinder

    path, wanted = str(pathfinder.load_nvidia_dynamic_lib(name).abs_path), f".so.{cuda_major()}"
    return ctypes.PyDLL(path if wanted in path or ".so." not in path else f"lib{name}{wanted}")
