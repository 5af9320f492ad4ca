"""The items in the real MXNet 1.9.1, in its own interpreter (Python 3.8 or 3.9)."""

from __future__ import annotations

from typing import Any

import mxnet as mx

from asv_benchmarks.peers.kernels import blas_kernels
from asv_benchmarks.peers.libraries.mx_cases import cases


def about() -> dict[str, Any]:
    """Version, and OpenBLAS' kernel."""
    return {"version": mx.__version__, "blas": blas_kernels("mxnet")}


CASES = cases(mx)
