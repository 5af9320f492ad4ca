"""The libraries of the GPU comparison: all run in this interpreter, each in its own process."""

from __future__ import annotations

import sys
from pathlib import Path

from asv_benchmarks.peers.table import Library

LIBRARIES = "asv_benchmarks.gpu.libraries"
#: Names of Twofold's configurations: without options, with cuDNN, and without CUDA graphs.
OWN, WITH_CUDNN, WITHOUT_GRAPHS = "twofold", "twofold (cuDNN)", "twofold (no graphs)"
#: The settings without options: convolution by columns.
PLAIN = {"TWOFOLD_BACKEND_GPU": "cupy", "TWOFOLD_CUDNN": "0", "TWOFOLD_CUDA_GRAPHS": "1"}


def libraries(interpreter: Path = Path(sys.executable)) -> list[Library]:
    """List all libraries; the results of the first available one are the reference."""
    return [
        Library("torch", f"{LIBRARIES}.by_torch", interpreter),
        Library(
            "jax",
            f"{LIBRARIES}.by_jax",
            interpreter,
            {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "JAX_DEFAULT_MATMUL_PRECISION": "highest"},
        ),
        Library("cupy", f"{LIBRARIES}.by_cupy", interpreter),
        Library(OWN, f"{LIBRARIES}.by_twofold", interpreter, PLAIN),
        Library(WITH_CUDNN, f"{LIBRARIES}.by_twofold", interpreter, {**PLAIN, "TWOFOLD_CUDNN": "1"}),
        Library(WITHOUT_GRAPHS, f"{LIBRARIES}.by_twofold", interpreter, {**PLAIN, "TWOFOLD_CUDA_GRAPHS": "0"}),
    ]
