"""Runs programs in several processes under mpiexec."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from twofold.command.mpi import TOLERANT, Engine, Job

HERE = Path(__file__).parent
#: After which a run that hangs has failed: much more than one takes beside other processes.
SECONDS = 200
MPIEXEC = Path(sys.executable).parent / "mpiexec"
SOURCES = [str(HERE.parents[1] / name) for name in ("src", "backends")]
#: One thread each, on this machine only, also for root in a container.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TWOFOLD_THREADS": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "TWOFOLD_KV_TIMEOUT": "20",
}

Run = Callable[..., subprocess.CompletedProcess[str]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = "mpi4py is not installed" if find_spec("mpi4py") is None else "" if MPIEXEC.exists() else f"{MPIEXEC} does not exist"
    for item in items:
        if missing and item.get_closest_marker("mpi"):
            item.add_marker(pytest.mark.skip(reason=f"{missing}: pip install 'twofold[dist]'"))


def command(processes: int, program: str, *arguments: object, options: Sequence[str] = ()) -> list[str]:
    """The command line of a program of ``programs``."""
    name = str(HERE / "programs" / f"{program}.py")
    return [str(MPIEXEC), *options, "-n", str(processes), "--oversubscribe", sys.executable, name, *map(str, arguments)]


def environment(more: Mapping[str, str] = {}) -> dict[str, str]:
    """The environment of the processes."""
    path = os.pathsep.join([*SOURCES, os.environ.get("PYTHONPATH", "")])
    return {**os.environ, **ENVIRONMENT, "PYTHONPATH": path, **more}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a program of ``programs`` in some processes, until all have ended."""
    of_mpi = Engine(str(MPIEXEC), "Open MPI").variables(Job(1), tmp_path)

    def start(processes: int, program: str, *arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
        is_tolerant = more.get("TWOFOLD_FAULT_TOLERANT") == "1"
        words = command(processes, program, *arguments, options=TOLERANT if is_tolerant else ())
        more |= {"MPI4PY_RC_FINALIZE": "false"} if is_tolerant else {}  # as the launcher does
        return subprocess.run(words, env=environment({**of_mpi, **more}), capture_output=True, text=True, timeout=SECONDS, check=False)

    return start
