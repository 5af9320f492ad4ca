"""Counts what the CuPy adapter launches: its kernels, and its calls of cuBLAS, cuBLASLt and cuDNN; a CUDA graph counts as one.

Everything is counted from `install` on, which comes before any kernel is made: the process is of no other use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twofold_cupy import cublas, cudnn, launch
from twofold_cupy.launch import cupy

_issued = 0


class _Counted:
    """A module of kernels, each of whose launches is counted."""

    def __init__(self, **options: Any) -> None:
        self._module = _RAW_MODULE(**options)

    def compile(self) -> None:
        self._module.compile()

    def get_function(self, name: str) -> Callable[..., None]:
        return _counting(self._module.get_function(name))


_RAW_MODULE: Any = cupy.RawModule


def _counting(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that counts its calls, but for those that answer that they have done nothing."""

    def call(*args: Any, **options: Any) -> Any:
        global _issued
        found = function(*args, **options)
        _issued += found is not False
        return found

    return call


def install() -> None:
    """Count from now on."""
    assert launch.function.cache_info().currsize == 0, "kernels were made before"
    cupy.RawModule = _Counted
    for kind, name in ((cublas.Handle, "matmul"), (cublas.Handle, "product"), (cudnn.Convolutions, "run")):
        setattr(kind, name, _counting(getattr(kind, name)))


def of(call: Callable[[], Any], backend: Any) -> int:
    """How much a call launches. A kernel that is issued while a graph is captured is no launch: nothing is captured any more."""
    graphs = backend.graphs.counts
    before, captured, launched = _issued, graphs.captured, graphs.launched
    call()
    assert graphs.captured == captured, "a graph was captured meanwhile"
    return _issued - before + graphs.launched - launched
