"""The libraries of the comparison: the module with their cases, the interpreter, and the environment variables."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: The environment created by `make bench-peers`, and the tool that runs the real MXNet.
PEERS, ORACLE = ROOT / ".venv-peers", ROOT.parent / "shared" / "tools" / "oracle"
#: Package with the modules of the libraries.
LIBRARIES = "asv_benchmarks.peers.libraries"
#: The variable that selects OpenBLAS' kernel.
KERNEL = "OPENBLAS_CORETYPE"


@dataclass(frozen=True)
class Library:
    """A library as run by one process.

    Attributes
    ----------
    name
        Name in the tables.
    module
        The module with its cases.
    interpreter
        The interpreter of the worker.
    settings
        Additional environment variables.
    openblas
        Whether its matrix products use OpenBLAS.
    products_only
        Whether it runs only items dominated by matrix products.
    """

    name: str
    module: str
    interpreter: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    openblas: bool = False
    products_only: bool = False

    def environment(self, base: Mapping[str, str], scratch: Path) -> dict[str, str]:
        """The environment of its process: OpenBLAS selects its kernel by default, and compilation caches are empty.

        Parameters
        ----------
        base
            The environment of this process.
        scratch
            An empty folder for caches.
        """
        own = {name: value for name, value in base.items() if name != KERNEL}
        if self.module != f"{LIBRARIES}.by_mxnet":  # the oracle's environment is in the user's cache
            own["XDG_CACHE_HOME"] = own["TWOFOLD_CACHE"] = str(scratch)
        return {**own, "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor"), **self.settings}


def libraries(preset: str | None = None) -> list[Library]:
    """List all libraries; those with OpenBLAS are repeated with the preset kernel, if any.

    Parameters
    ----------
    preset
        The value of `KERNEL` in the user's environment.
    """
    own, peers = Path(sys.executable), PEERS / "bin" / "python"
    plain = [
        Library("numpy", f"{LIBRARIES}.by_numpy", own, openblas=True),
        Library("twofold", f"{LIBRARIES}.by_twofold", own, {"TWOFOLD_JIT": "0"}, openblas=True),
        Library("twofold jit", f"{LIBRARIES}.by_twofold", own, {"TWOFOLD_JIT": "1"}, openblas=True),
        Library("torch", f"{LIBRARIES}.by_torch", peers),
        Library("jax", f"{LIBRARIES}.by_jax", peers),
        Library("numexpr", f"{LIBRARIES}.by_numexpr", peers),
        Library("numba", f"{LIBRARIES}.by_numba", peers),
        Library("mxnet", f"{LIBRARIES}.by_mxnet", Path(os.environ.get("TWOFOLD_ORACLE", ORACLE)), openblas=True),
    ]
    return plain + ([with_kernel(library, preset) for library in plain if library.openblas] if preset else [])


def with_kernel(library: Library, kernel: str) -> Library:
    """The library with a preset OpenBLAS kernel."""
    settings = {**library.settings, KERNEL: kernel}
    return replace(library, name=f"{library.name} ({kernel})", settings=settings, products_only=True)
