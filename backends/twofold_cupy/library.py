"""CuPy's compiled modules, whose types type checkers cannot see, and CUDA's libraries."""

import ctypes
import importlib
from typing import Any

import cupy  # noqa: F401  (before its parts)

runtime: Any = importlib.import_module("cupy_backends.cuda.api.runtime")
driver: Any = importlib.import_module("cupy_backends.cuda.api.driver")
memory: Any = importlib.import_module("cupy.cuda.memory")
compiler: Any = importlib.import_module("cupy.cuda.compiler")


#: CUDA's libraries that are used, with what needs each.
LIBRARIES = {"nvrtc": "kernels", "cublas": "matrix products", "cublasLt": "products with a bias or activation in one step"}


def cuda_major() -> int:
    """The major version of CUDA that this CuPy is for."""
    return int(runtime.runtimeGetVersion()) // 1000


def cuda_wheel() -> str:
    """The package that brings this CuPy together with CUDA's libraries."""
    return f"cupy-cuda{cuda_major()}x[ctk]"


def cuda_library(name: str) -> Any:
    """One of CUDA's libraries, of the major version that CuPy is for; the finder takes the newest that there is.

    Calls are made one at a time, as a handle belongs to one thread at once; CuPy needs a Python with the interpreter's lock.

    Raises
    ------
    Exception
        If there is none: the finder has errors of its own for each way of not finding.
    """
    from cuda import pathfinder

    path, wanted = str(pathfinder.load_nvidia_dynamic_lib(name).abs_path), f".so.{cuda_major()}"
    return ctypes.PyDLL(path if wanted in path or ".so." not in path else f"lib{name}{wanted}")
