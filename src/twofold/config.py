"""Every setting once: its environment variable, type, default and meaning. `SETTINGS` holds the values in force."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from .errors import ParameterError


class Setting(NamedTuple):
    """One setting; its environment variable is ``TWOFOLD_`` and the name in capitals."""

    name: str
    default: Any
    parse: Callable[[str], Any]
    meaning: str


def _switch(text: str) -> bool:
    return text.strip().lower() not in ("", "0", "false", "off", "no")


def _count(text: str) -> int:
    if not text.strip().isdecimal():
        raise ValueError("give a whole number from 0")
    return int(text)


def _percent(text: str) -> int:
    if not text.strip().isdecimal() or int(text) >= 100:
        raise ValueError("give a whole number from 0 to 99")
    return int(text)


def _engine(text: str) -> str:
    if text not in ("naive", "window"):
        raise ValueError("give naive or window")
    return text


TABLE = (
    Setting(
        "engine", "window", _engine, "naive: run every operation at once, by itself; window: defer and fold operations on large arrays"
    ),
    Setting("defer_elements", 65_536, _count, "elements from which an operation joins the window instead of running inline"),
    Setting("window_operations", 256, _count, "operations after which a window is flushed; mx.engine.bulk sets it"),
    Setting("window_bytes", 1 << 30, _count, "bytes of pending results after which a window is flushed"),
    Setting("lane_operations", 256, _count, "programs and copies given to other threads from which giving waits for the oldest"),
    Setting("lane_bytes", 1 << 30, _count, "bytes of their results from which giving waits"),
    Setting("jit", True, _switch, "compile fused kernels on the CPU by LLVM when they are used again, where llvmlite is installed"),
    Setting("jit_eager", False, _switch, "compile them at their first use: then results do not depend on what ran before, bit for bit"),
    Setting(
        "winograd", True, _switch, "compute 3x3 convolutions in float32 by Winograd's algorithm where that is faster, which rounds more"
    ),
    Setting("channels_last", True, _switch, "keep images with their channels last inside of programs where convolutions gain by that"),
    Setting(
        "epilogues",
        True,
        _switch,
        "on GPUs, add a bias, apply relu and sum a bias' gradient inside of matrix products, by cuBLASLt, which rounds otherwise",
    ),
    Setting("cudnn", True, _switch, "compute convolutions on GPUs by cuDNN, where nvidia-cudnn-frontend is installed"),
    Setting("cuda_graphs", True, _switch, "issue a program that a GPU runs again and again as one CUDA graph"),
    Setting("gpu_streams", 4, _count, "streams on which a GPU runs the independent steps of a captured program at once; 1: in order"),
    Setting("compile_threads", 4, _count, "threads that compile a program's kernels for GPUs before it runs; 0: each when it first runs"),
    Setting("gpu_memory_reserve", 0, _percent, "percent of a GPU's memory that arrays and graphs leave to others"),
    Setting("verify", False, _switch, "check the invariants of every graph that is compiled"),
)

#: Variables of MXNet's that are read where a setting's own is not given.
ALSO = {"gpu_memory_reserve": "MXNET_GPU_MEM_POOL_RESERVE"}


class Settings:
    """Values of the settings, read from the environment once; tests and ``mx.engine`` assign to them.

    Raises
    ------
    ParameterError
        If a variable of the environment holds what its setting does not take; it names the variable.
    """

    engine: str
    defer_elements: int
    window_operations: int
    window_bytes: int
    lane_operations: int
    lane_bytes: int
    jit: bool
    jit_eager: bool
    winograd: bool
    channels_last: bool
    epilogues: bool
    cudnn: bool
    cuda_graphs: bool
    gpu_streams: int
    compile_threads: int
    gpu_memory_reserve: int
    verify: bool

    def __init__(self) -> None:
        for setting in TABLE:
            variable = "TWOFOLD_" + setting.name.upper()
            if variable not in os.environ and setting.name in ALSO:
                variable = ALSO[setting.name]
            given = os.environ.get(variable)
            try:
                setattr(self, setting.name, setting.default if given is None else setting.parse(given))
            except ValueError as error:
                raise ParameterError(f"setting {variable}: not a value that it takes", repr(given), str(error)) from None
        if "TWOFOLD_ENGINE" not in os.environ and os.environ.get("MXNET_ENGINE_TYPE") == "NaiveEngine":
            self.engine = "naive"


SETTINGS = Settings()


def recomputes() -> bool:
    """Whether MXNET_BACKWARD_DO_MIRROR asks for less memory in training, for more time: asked when a graph is bound or traced."""
    return _switch(os.environ.get("MXNET_BACKWARD_DO_MIRROR", ""))
