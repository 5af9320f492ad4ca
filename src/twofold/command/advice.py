"""The first lines of `doctor`: whether Twofold works here, and how to make it faster."""

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import NamedTuple

from ..backend.loader import backend_for
from ..config import SETTINGS
from ..device import interned
from ..errors import MXNetError

#: The mark and the color (of terminals) by level.
LOOKS = {"good": ("ok", "32"), "slow": ("slow", "33"), "broken": ("broken", "31")}


class Advice(NamedTuple):
    """A finding: its level (``good``, ``slow`` or ``broken``), what was found, and what to do about it (empty for nothing)."""

    level: str
    found: str
    todo: str = ""


def advices(has_driver: bool) -> Iterator[Advice]:
    """What was found, by what it touches.

    Parameters
    ----------
    has_driver
        Whether this machine has NVIDIA's driver.
    """
    yield _of_device("cpu")
    # on a machine without a GPU it is no fault that there is none
    if has_driver:
        yield _of_device("gpu")
    if SETTINGS.engine == "naive":
        yield Advice("slow", "every operation runs at once, and nothing is fused", "unset TWOFOLD_ENGINE and MXNET_ENGINE_TYPE")
    if find_spec("llvmlite") is None:
        yield Advice("slow", "fused kernels on the CPU run in blocks of NumPy's", "pip install 'twofold[jit]' compiles them")
    elif not SETTINGS.jit:
        yield Advice("slow", "fused kernels are not compiled to machine code", "unset TWOFOLD_JIT")
    else:
        yield Advice("good", "fused kernels are compiled to machine code")
    # without Pillow no images are read, so no faster decoder is needed
    if find_spec("PIL") is not None and find_spec("simplejpeg") is None:
        yield Advice("slow", "JPEGs are decoded by Pillow", "pip install 'twofold[jpeg]' decodes them by libjpeg-turbo directly")
    if os.environ.get("OPENBLAS_CORETYPE"):
        core = os.environ["OPENBLAS_CORETYPE"]
        yield Advice("slow", f"OpenBLAS uses the kernels of another processor ({core})", "unset OPENBLAS_CORETYPE")
    # OMP_NUM_THREADS and its like are no matter: products are cut over Twofold's own threads
    if SETTINGS.threads == 1 and (os.cpu_count() or 1) > 1:
        yield Advice("slow", f"large kernels and matrix products use one of {os.cpu_count()} cores", "unset TWOFOLD_THREADS")


def _of_device(kind: str) -> Advice:
    """Whether arrays can be made on the first device of a kind."""
    try:
        backend_for(interned(kind, 0))
    except (MXNetError, RuntimeError) as error:
        return Advice("broken", f"mx.{kind}(0): {error}")
    return Advice("good", f"mx.{kind}(0) works")


def print_advice(has_driver: bool) -> None:
    """Print the findings, colored on a terminal unless NO_COLOR is set; ``has_driver`` as for `advices`."""
    is_colored = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for level, found, todo in advices(has_driver):
        mark, color = LOOKS[level]
        head = f"\x1b[{color}m{mark:<6}\x1b[0m" if is_colored else f"{mark:<6}"
        print(f"{head} {found}{f': {todo}' if todo else ''}")
    print()
