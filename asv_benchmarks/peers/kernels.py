"""Finds the BLAS kernels that a process uses, by asking the loaded libraries."""

from __future__ import annotations

import ctypes

#: Names of the function that returns the kernel, in various builds of OpenBLAS.
_NAMES = ("openblas_get_corename", "openblas_get_corename64_", "scipy_openblas_get_corename", "scipy_openblas_get_corename64_")


def blas_kernels(package: str) -> list[str]:
    """The kernels of a package's OpenBLAS in this process, such as ``SkylakeX``; empty if the system does not list loaded libraries.

    Parameters
    ----------
    package
        A part of the library's path that identifies the package.
    """
    try:
        with open("/proc/self/maps") as f:
            paths = {line.split()[-1] for line in f if "openblas" in line}
    except OSError:
        return []
    return sorted({kernel for path in paths if package in path for kernel in [_kernel(path)] if kernel})


def _kernel(path: str) -> str | None:
    library = ctypes.CDLL(path)
    for name in _NAMES:
        try:
            function = getattr(library, name)
        except AttributeError:
            continue
        function.restype = ctypes.c_char_p
        return str(function().decode())
    return None
