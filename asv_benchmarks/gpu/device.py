"""Properties of the GPU and versions of its software."""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold_cupy.launch import cupy
from twofold_cupy.library import runtime


def version(number: int) -> str:
    """Format CUDA's integer encoding of a version."""
    return f"{number // 1000}.{number % 1000 // 10}"


def device_facts() -> dict[str, Any]:
    """Name, compute capability and memory of the first device; versions of its software."""
    known = runtime.getDeviceProperties(0)
    return {
        "name": known["name"].decode(),
        "compute capability": f"{known['major']}.{known['minor']}",
        "GiB": round(runtime.memGetInfo()[1] / 2**30, 1),
        "driver supports CUDA": version(runtime.driverGetVersion()),
        "CUDA runtime": version(runtime.runtimeGetVersion()),
        "cupy": cupy.__version__,
        "numpy": np.__version__,
    }
