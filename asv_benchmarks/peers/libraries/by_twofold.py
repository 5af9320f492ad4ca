"""The items in Twofold: MXNet's programs, and NumPy's chains with ``mx.np``; `TWOFOLD_JIT` selects whether chains are compiled."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from functools import partial
from typing import Any

import twofold as mx
from asv_benchmarks.peers import chains
from asv_benchmarks.peers.kernels import blas_kernels
from asv_benchmarks.peers.libraries import mx_programs as programs
from asv_benchmarks.peers.libraries.mx_cases import cases
from twofold.config import TABLE


class NotCompiled(Exception):
    """The extra ``jit`` was requested but is not available."""


def about() -> dict[str, Any]:
    """Version, and OpenBLAS' kernel.

    Raises
    ------
    NotCompiled
        If `TWOFOLD_JIT` is 1 and this Twofold has no such setting, or llvmlite is not installed.
    """
    jit = os.environ.get("TWOFOLD_JIT") == "1"
    if jit and all(setting.name != "jit" for setting in TABLE):
        raise NotCompiled("this Twofold has no extra jit yet")
    if jit and importlib.util.find_spec("llvmlite") is None:
        raise NotCompiled("llvmlite is not installed: the extra jit")
    return {"version": importlib.metadata.version("twofold"), "blas": blas_kernels("numpy")}


CASES = cases(mx)
for _name, _function in chains.PURE.items():
    CASES[_name]["np"] = partial(programs.chain_np, mx, _function)
CASES["adam"]["np"] = partial(programs.adam_np, mx)
