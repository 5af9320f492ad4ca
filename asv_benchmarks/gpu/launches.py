"""Counts the launches of the CuPy adapter: its kernels, and its calls of cuBLAS, cuBLASLt and cuDNN; a CUDA graph counts as one.

`install` must be called before any kernel is created. It patches the process, which serves no other purpose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twofold_cupy import cublas, cudnn, launch
from twofold_cupy.launch import cupy

_issued = 0


class _Counted:
    """A module of kernels that counts their launches."""

    def __init__(self, **options: Any) -> None:
        self._module = _RAW_MODULE(**options)

    def compile(self) -> None:
        self._module.compile()

    def get_function(self, name: str) -> Callable[..., None]:
        return _counting(self._module.get_function(name))


_RAW_MODULE: Any = cupy.RawModule


def _counting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function to count its calls, except those that return False for having done nothing."""

    def call(*args: Any, **options: Any) -> Any:
        global _issued
        found = function(*args, **options)
        _issued += found is not False
        return found

    return call


def install() -> None:
    """Start counting."""
    assert launch.function.cache_info().currsize == 0, "kernels were created before"
    cupy.RawModule = _Counted
    for kind, name in ((cublas.Handle, "matmul"), (cublas.Handle, "product"), (cudnn.Convolutions, "run")):
        setattr(kind, name, _counting(getattr(kind, name)))


def of(call: Callable[[], Any], backend: Any) -> int:
    """Count a call's launches. Nothing may be captured meanwhile, as kernels issued during capture are not launches."""
    graphs = backend.graphs.counts
    before, captured, launched = _issued, graphs.captured, graphs.launched
    call()
    assert graphs.captured == captured, "a graph was captured meanwhile"
    return _issued - before + graphs.launched - launched
