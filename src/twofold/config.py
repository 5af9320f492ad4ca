"""All settings, with environment variable, type, default and meaning. `SETTINGS` holds the current values."""

import os
import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from .errors import ParameterError

T = TypeVar("T")
#: The settings, in the order in which `Settings` declares them.
TABLE: list["Setting"] = []


@dataclass
class Setting:
    """A setting. Its environment variable is ``TWOFOLD_`` followed by the name in capitals.

    ``is_compiled_in``: compiled programs depend on the setting, so a change needs new programs.
    """

    default: object
    parse: Callable[[str], object]
    meaning: str
    is_compiled_in: bool
    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        TABLE.append(self)

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"TWOFOLD_{self.name.upper()}"


ON, OFF = ("1", "true", "on", "yes"), ("", "0", "false", "off", "no")


def _switch(text: str) -> bool:
    word = text.strip().lower()
    if word not in (*ON, *OFF):
        raise ValueError("use 1 or 0")
    return word in ON


def _is_number(text: str) -> bool:
    """Whether a text is an integer in the digits 0 to 9: Python's `int` takes those of every script, and underscores."""
    return text.isascii() and text.strip().isdecimal()


def _count(text: str) -> int:
    if not _is_number(text):
        raise ValueError("use an integer of 0 or more")
    return int(text)


def _percent(text: str) -> int:
    if not _is_number(text) or int(text) >= 100:
        raise ValueError("use an integer from 0 to 99")
    return int(text)


def _seconds(text: str) -> float:
    try:
        found = float(text) if text.isascii() and "_" not in text else 0.0
    except ValueError:
        found = 0.0
    if not found > 0:
        raise ValueError("use a number of seconds above 0")
    return found


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"use {', '.join(words[:-1])} or {words[-1]}")
        return text

    return parse


#: The parser of a setting's text, by the type of the default, unless the declaration gives another one.
PARSERS: dict[type, Callable[[str], object]] = {bool: _switch, int: _count, float: _seconds}


def _setting(default: object, meaning: str, parse: Callable[[str], object] | None = None, *, is_compiled_in: bool = False) -> Any:
    return Setting(default, parse or PARSERS[type(default)], meaning, is_compiled_in)


def _compiled(default: object, meaning: str) -> Any:
    return _setting(default, meaning, is_compiled_in=True)


#: MXNet variables that are read if a setting's own variable is not set.
ALSO = {"gpu_memory_reserve": "MXNET_GPU_MEM_POOL_RESERVE"}

#: Called after a setting that is compiled in has changed: they drop programs compiled under the old value.
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
    engine: str = _setting(
        "window", "naive: run every operation immediately; window: defer and fuse operations on large arrays", _one_of("naive", "window")
    )
    defer_elements: int = _compiled(65_536, "number of elements from which an operation is deferred to the window instead of run inline")
    fold_elements: int = _setting(262_144, "number of elements from which `run --numpy` makes folding arrays instead of NumPy's")
    window_operations: int = _setting(256, "number of operations at which a window is flushed; mx.engine.bulk sets it")
    window_bytes: int = _setting(
        0,
        "bytes of pending results and of what only they read at which a window is flushed; 0: 1 GiB, or an eighth of a large GPU's memory",
    )
    graph_memory: int = _setting(
        128 << 20, "bytes of graphs and compiled programs, estimated, at which those that are not in use are forgotten"
    )
    keep_plans: bool = _setting(True, "keep the plans of large graphs on disk for the next process")
    lane_operations: int = _setting(256, "number of programs and copies queued on other threads at which queueing blocks")
    lane_bytes: int = _setting(1 << 30, "bytes of their results at which queueing blocks")
    threads: int = _compiled(0, "number of threads that large kernels and matrix products are divided over; 0: one for each core")
    jit: bool = _compiled(
        True, "compile fused CPU kernels with LLVM on their second use, in programs that are not short, if llvmlite is installed"
    )
    jit_eager: bool = _compiled(False, "compile them on first use, so that results are bitwise independent of what ran before")
    winograd: bool = _compiled(
        True, "compute float32 3x3 convolutions with Winograd's algorithm where it is faster; it has larger rounding errors"
    )
    channels_last: bool = _compiled(True, "keep images in channels-last layout inside programs where that makes convolutions faster")
    epilogues: bool = _compiled(
        True,
        "compute convolutions on CPUs in one step with what follows, and on GPUs matrix products with biases and relu, with other rounding",
    )
    cudnn: bool = _compiled(True, "compute convolutions on GPUs with cuDNN, if nvidia-cudnn-frontend is installed")
    cuda_graphs: bool = _setting(True, "launch a program that a GPU runs repeatedly as one CUDA graph")
    gpu_streams: int = _compiled(4, "number of streams for independent steps of a captured program; 1: in order")
    compile_threads: int = _compiled(
        4, "number of threads that compile a program's GPU kernels before it runs; 0: each kernel on its first launch"
    )
    jpeg_decoder: str = _setting(
        "auto",
        "pillow, simplejpeg, or auto: simplejpeg if it is installed; both decode the same pixels",
        _one_of("auto", "pillow", "simplejpeg"),
    )
    gpu_memory_reserve: int = _setting(0, "percentage of a GPU's memory to leave to other processes", _percent)
    kv_timeout: float = _setting(60.0, "seconds that a worker waits for others; ten times as long in the first step")
    nccl: bool = _setting(True, "sum arrays of GPUs of several processes with NCCL, if it is installed")
    kv_checksum: int = _setting(100, "number of steps after which workers compare their weights by a checksum; 0: never")
    progress: bool = _setting(True, "draw progress bars on terminals and in notebooks, if rich or tqdm is installed")
    strict: bool = _setting(False, "raise an error where MXNet ignores an argument, instead of issuing a UserWarning")
    check: bool = _compiled(
        False, "raise an error for labels and indices out of range, which MXNet clips or ignores; every operation runs immediately"
    )
    verify: bool = _compiled(False, "check the invariants of every compiled graph")

    def __init__(self) -> None:
        for setting in TABLE:
            has_own = setting.variable in os.environ or setting.name not in ALSO
            variable = setting.variable if has_own else ALSO[setting.name]
            setattr(self, setting.name, _parsed(variable, setting.parse, setting.default))
        # MXNet's own variable, whose other values have no counterpart here
        if "TWOFOLD_ENGINE" not in os.environ and os.environ.get("MXNET_ENGINE_TYPE") == "NaiveEngine":
            self.engine = "naive"
        if self.check:  # an error is raised by the call that passes the index, not by a later one that reads a result
            self.engine = "naive"

    def __setattr__(self, name: str, value: object) -> None:
        # here, and not where a program is looked up: a lookup is a hot path, and nodes and operators hold compiled forms without a key
        before = vars(self).get(name, value)  # none yet in __init__
        super().__setattr__(name, value)
        if name in COMPILED_IN and value != before:
            super().__setattr__("revision", self.revision + 1)
            for forget in ON_CHANGE:
                forget()


def _parsed(variable: str, parse: Callable[[str], T], default: T) -> T:
    """The value of an environment variable."""
    given = os.environ.get(variable)
    try:
        return default if given is None else parse(given)
    except ValueError as error:
        raise ParameterError(f"setting {variable}: invalid value", repr(given), str(error)) from None


#: The package's variables that are no settings, without ``TWOFOLD_``; those of its tests among them.
OTHERS = [
    "ALLOW",
    "ARRAY_API",
    "BACKEND_CPU",
    "BACKEND_GPU",
    "CACHE",
    "CONNECTED",
    "CPU_WORKERS",
    "DATA",
    "FAKE_GPUS",
    "FAKE_SCHEDULE",
    "FAULT_TOLERANT",
    "JOB",
    "MACHINES",
    "ORACLE",
    "PLACE",
    "PROGRAM",
    "RUN_FOLDER",
    "SERVERS",
    "SPARES",
    "TELL",
    "TEST_GPU",
    "TEST_JIT",
    "TEST_SANITIZER",
    "TORCH",
    "TRACE",
    "TRACEBACK",
    "WORKERS",
]


def warn_of_misspelt(variables: Iterable[str]) -> None:
    """Issue a warning for each environment variable that has no effect and whose name is near to that of one that has.

    Parameters
    ----------
    variables
        The names of variables.
    """
    for variable in variables:
        name = variable.removeprefix("TWOFOLD_")
        if name != variable and variable not in KNOWN:
            from .suggestions import did_you_mean  # programs whose variables are right need not load it

            if meant := did_you_mean(name, [known.removeprefix("TWOFOLD_") for known in KNOWN], ""):
                text = re.sub(r"'(\w+)'", r"TWOFOLD_\1", meant)
                warnings.warn_explicit(f"{variable} has no effect; {text}", UserWarning, "environment", 1)


KNOWN = [setting.variable for setting in TABLE] + [f"TWOFOLD_{name}" for name in OTHERS]
COMPILED_IN = frozenset(setting.name for setting in TABLE if setting.is_compiled_in)
# `TABLE` has the declarations. In the class they would slow down each look-up of a value, and hot paths read settings.
for _declared in TABLE:
    delattr(Settings, _declared.name)
SETTINGS = Settings()
warn_of_misspelt(os.environ)


def fake_gpus() -> int:
    """The number of simulated GPUs, ``TWOFOLD_FAKE_GPUS``; 0 for real ones.

    Raises
    ------
    ParameterError
        If the environment variable is no number.
    """
    return _parsed("TWOFOLD_FAKE_GPUS", _count, 0)


def recomputes() -> bool:
    """Whether MXNET_BACKWARD_DO_MIRROR requests recomputation to save memory in training; read when a graph is bound or traced."""
    return os.environ.get("MXNET_BACKWARD_DO_MIRROR", "").strip().lower() not in OFF
