"""What the plans of graphs depend on besides the settings: this adapter's sources, NumPy, the processor, and the threads."""

import os
import sys
from functools import cache
from pathlib import Path

import numpy as np

from twofold.backend.disk_cache import state_of_files
from twofold.backend.workers import count

from .blas import blas
from .jit.availability import is_installed

#: Linux's description of the processors. The first is in the first bytes; the whole takes long on machines with many.
PROCESSORS, BYTES = Path("/proc/cpuinfo"), 8192


def facts() -> list[object]:
    """The facts, as plain data."""
    library = blas()
    return [*_of_machine(), is_installed(), count(), None if library is None else library.name]


@cache
def _of_machine() -> tuple[object, ...]:
    return state_of_files(str(Path(__file__).parent)), np.__version__, sys.byteorder, os.uname().machine, _instructions()


def _instructions() -> list[str]:
    """The instructions of the processor, by Linux's names; elsewhere nothing, as they go with the machine's name."""
    try:
        with PROCESSORS.open(encoding="utf-8", errors="replace") as file:
            first = file.read(BYTES).split("\n\n")[0]
    except OSError:
        return []
    return sorted(line for line in first.splitlines() if line.split("\t")[0].lower() in ("flags", "features", "model name"))
