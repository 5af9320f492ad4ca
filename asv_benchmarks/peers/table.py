"""Which libraries take part: the module that has their cases, the interpreter that runs it, the environment that it needs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Where `make bench-peers` puts the peers, and where the tool lies that runs the real MXNet.
PEERS, ORACLE = ROOT / ".venv-peers", ROOT.parent / "shared" / "tools" / "oracle"
#: Where the modules of the peers are.
LIBRARIES = "asv_benchmarks.peers.libraries"
#: The variable that chooses OpenBLAS' kernel.
KERNEL = "OPENBLAS_CORETYPE"


@dataclass(frozen=True)
class Library:
    """A library, as one process runs it.

    Attributes
    ----------
    name
        What the tables call it.
    module
        The module that has its cases.
    interpreter
        The program that runs the worker.
    settings
        Environment variables of its own.
    openblas
        Whether its matrix products are OpenBLAS'.
    products_only
        Whether it takes part only where matrix products dominate.
    """

    name: str
    module: str
    interpreter: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    openblas: bool = False
    products_only: bool = False

    def environment(self, base: Mapping[str, str], scratch: Path) -> dict[str, str]:
        """The variables of its process: OpenBLAS chooses its kernel itself, and nothing compiled before is found.

        Parameters
        ----------
        base
            The variables of this process.
        scratch
            An empty folder for caches.
        """
        own = {name: value for name, value in base.items() if name != KERNEL}
        if self.module != f"{LIBRARIES}.by_mxnet":  # the oracle finds its environment in the user's cache
            own["XDG_CACHE_HOME"] = own["TWOFOLD_CACHE"] = str(scratch)
        return {**own, "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor"), **self.settings}


def libraries(preset: str | None = None) -> list[Library]:
    """All libraries; those with OpenBLAS once more with a preset kernel, if there is one.

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
    """The library under a kernel of OpenBLAS that is not its own choice."""
    settings = {**library.settings, KERNEL: kernel}
    return replace(library, name=f"{library.name} ({kernel})", settings=settings, products_only=True)
