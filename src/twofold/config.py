"""All settings, with environment variable, type, default and meaning. `SETTINGS` holds the current values."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from .errors import ParameterError


class Setting(NamedTuple):
    """A setting. Its environment variable is ``TWOFOLD_`` followed by the name in capitals.

    ``is_compiled_in`` tells whether a program is compiled according to it, so that a change calls for new programs.
    """

    name: str
    default: Any
    parse: Callable[[str], Any]
    meaning: str
    is_compiled_in: bool = False


ON, OFF = ("1", "true", "on", "yes"), ("", "0", "false", "off", "no")


def _switch(text: str) -> bool:
    word = text.strip().lower()
    if word not in (*ON, *OFF):
        raise ValueError("use 1 or 0")
    return word in ON


def _count(text: str) -> int:
    if not text.strip().isdecimal():
        raise ValueError("use an integer of 0 or more")
    return int(text)


def _percent(text: str) -> int:
    if not text.strip().isdecimal() or int(text) >= 100:
        raise ValueError("use an integer from 0 to 99")
    return int(text)


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not found > 0:
        raise ValueError("use a number of seconds above 0")
    return found


def _engine(text: str) -> str:
    if text not in ("naive", "window"):
        raise ValueError("use naive or window")
    return text


def _decoder(text: str) -> str:
    if text not in ("auto", "pillow", "simplejpeg"):
        raise ValueError("use auto, pillow or simplejpeg")
    return text


TABLE = (
    Setting("engine", "window", _engine, "naive: run every operation immediately; window: defer and fuse operations on large arrays"),
    Setting(
        "defer_elements",
        65_536,
        _count,
        "number of elements from which an operation is deferred to the window instead of run inline",
        is_compiled_in=True,
    ),
    Setting("fold_elements", 262_144, _count, "number of elements from which `run --numpy` makes folding arrays instead of NumPy's"),
    Setting("window_operations", 256, _count, "number of operations at which a window is flushed; mx.engine.bulk sets it"),
    Setting("window_bytes", 1 << 30, _count, "bytes of pending results at which a window is flushed"),
    Setting("lane_operations", 256, _count, "number of programs and copies queued on other threads at which queueing blocks"),
    Setting("lane_bytes", 1 << 30, _count, "bytes of their results at which queueing blocks"),
    Setting(
        "threads",
        0,
        _count,
        "number of threads that large kernels and matrix products are divided over; 0: one for each core",
        is_compiled_in=True,
    ),
    Setting(
        "jit",
        True,
        _switch,
        "compile fused CPU kernels with LLVM on their second use, in programs that are not short, if llvmlite is installed",
        is_compiled_in=True,
    ),
    Setting(
        "jit_eager",
        False,
        _switch,
        "compile them on first use, so that results are bitwise independent of what ran before",
        is_compiled_in=True,
    ),
    Setting(
        "winograd",
        True,
        _switch,
        "compute float32 3x3 convolutions with Winograd's algorithm where it is faster; it has larger rounding errors",
        is_compiled_in=True,
    ),
    Setting(
        "channels_last",
        True,
        _switch,
        "keep images in channels-last layout inside programs where that makes convolutions faster",
        is_compiled_in=True,
    ),
    Setting(
        "epilogues",
        True,
        _switch,
        "compute convolutions on CPUs in one step with what follows, and on GPUs matrix products with biases and relu, with other rounding",
        is_compiled_in=True,
    ),
    Setting("cudnn", True, _switch, "compute convolutions on GPUs with cuDNN, if nvidia-cudnn-frontend is installed", is_compiled_in=True),
    Setting("cuda_graphs", True, _switch, "launch a program that a GPU runs repeatedly as one CUDA graph"),
    Setting("gpu_streams", 4, _count, "number of streams for independent steps of a captured program; 1: in order", is_compiled_in=True),
    Setting(
        "compile_threads",
        4,
        _count,
        "number of threads that compile a program's GPU kernels before it runs; 0: each kernel on its first launch",
        is_compiled_in=True,
    ),
    Setting("jpeg_decoder", "auto", _decoder, "pillow, simplejpeg, or auto: simplejpeg if it is installed; both decode the same pixels"),
    Setting("gpu_memory_reserve", 0, _percent, "percentage of a GPU's memory to leave to other processes"),
    Setting("kv_timeout", 60.0, _seconds, "seconds that a worker waits for others; ten times as long in the first step"),
    Setting("nccl", True, _switch, "sum arrays of GPUs of several processes with NCCL, if it is installed"),
    Setting("kv_checksum", 100, _count, "number of steps after which workers compare their weights by a checksum; 0: never"),
    Setting("strict", False, _switch, "raise an error where MXNet ignores an argument, instead of issuing a UserWarning"),
    Setting("verify", False, _switch, "check the invariants of every compiled graph", is_compiled_in=True),
)

#: MXNet variables that are read if a setting's own variable is not set.
ALSO = {"gpu_memory_reserve": "MXNET_GPU_MEM_POOL_RESERVE"}

COMPILED_IN = frozenset(setting.name for setting in TABLE if setting.is_compiled_in)
#: Called after one of `COMPILED_IN` has changed: they forget what was compiled under the old value.
ON_CHANGE: list[Callable[[], None]] = []


class Settings:
    """The values of the settings, read from the environment once. Tests and ``mx.engine`` assign to them.

    A new value holds for every operation from then on; only bound executors keep the programs that they have compiled.

    Attributes
    ----------
    revision
        How often a setting of `COMPILED_IN` has changed: part of the keys of caches that outlive ``ON_CHANGE``.

    Raises
    ------
    ParameterError
        If an environment variable has an invalid value; the message names it.
    """

    revision: int = 0
    engine: str
    defer_elements: int
    fold_elements: int
    window_operations: int
    window_bytes: int
    lane_operations: int
    lane_bytes: int
    threads: int
    jit: bool
    jit_eager: bool
    winograd: bool
    channels_last: bool
    epilogues: bool
    cudnn: bool
    cuda_graphs: bool
    gpu_streams: int
    compile_threads: int
    jpeg_decoder: str
    gpu_memory_reserve: int
    kv_timeout: float
    nccl: bool
    kv_checksum: int
    strict: bool
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
                raise ParameterError(f"setting {variable}: invalid value", repr(given), str(error)) from None
        if "TWOFOLD_ENGINE" not in os.environ and os.environ.get("MXNET_ENGINE_TYPE") == "NaiveEngine":
            self.engine = "naive"

    def __setattr__(self, name: str, value: object) -> None:
        # here, and not where a program is looked up: a lookup is a hot path, and nodes and operators hold compiled forms without a key
        before = vars(self).get(name, value)  # none yet in __init__
        super().__setattr__(name, value)
        if name in COMPILED_IN and value != before:
            super().__setattr__("revision", self.revision + 1)
            for forget in ON_CHANGE:
                forget()


SETTINGS = Settings()


def fake_gpus() -> int:
    """The number of simulated GPUs, ``TWOFOLD_FAKE_GPUS``; 0 for real ones.

    Raises
    ------
    ParameterError
        If the environment variable is no number.
    """
    given = os.environ.get("TWOFOLD_FAKE_GPUS", "0")
    try:
        return _count(given)
    except ValueError as error:
        raise ParameterError("setting TWOFOLD_FAKE_GPUS: invalid value", repr(given), str(error)) from None


#: The variable in which a spare that has taken the place of a worker keeps that worker's number.
PLACE = "TWOFOLD_PLACE"
#: Variables that hold a process's number: `PLACE`, and those of Open MPI, MPICH and Slurm.
RANKS = (PLACE, "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")


def launched() -> tuple[int, int]:
    """The number of this process and the number of workers that ``twofold launch`` has started; (0, 1) outside it.

    Raises
    ------
    ParameterError
        If an environment variable is no number.
    """
    if "TWOFOLD_WORKERS" not in os.environ:
        return 0, 1
    rank = next((name for name in RANKS if name in os.environ), None)
    try:
        return _count(os.environ[rank]) if rank else 0, _count(os.environ["TWOFOLD_WORKERS"])
    except ValueError as error:
        raise ParameterError("a variable of the launcher is no number", f"TWOFOLD_WORKERS, {rank}", str(error)) from None


def recomputes() -> bool:
    """Whether MXNET_BACKWARD_DO_MIRROR requests recomputation to save memory in training; read when a graph is bound or traced."""
    return os.environ.get("MXNET_BACKWARD_DO_MIRROR", "").strip().lower() not in OFF
