"""Python helpers that MXNet's modules ``base`` and ``util`` happened to export, and old scripts import."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

__all__ = [
    "data_dir",
    "getenv",
    "integer_types",
    "mx_real_t",
    "mx_uint",
    "numeric_types",
    "py_str",
    "setenv",
    "string_types",
    "use_np_shape",
]

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

string_types = (str,)
numeric_types = (float, int, np.generic)
integer_types = (int, np.integer)
mx_real_t = np.float32
mx_uint = int


def py_str(x: bytes) -> str:
    """Decode UTF-8 bytes."""
    return x.decode("utf-8")


def data_dir() -> str:
    """The folder of datasets: ``$MXNET_HOME``, or ``~/.mxnet``."""
    return os.environ.get("MXNET_HOME", str(Path.home() / ".mxnet"))


def _as_list(obj: Any) -> Any:
    """The list or tuple itself, or a list with a single element."""
    return obj if isinstance(obj, (list, tuple)) else [obj]


def getenv(name: str) -> str | None:
    """The value of an environment variable, or None."""
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Set an environment variable; None removes it."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def use_np_shape(func: Decorated) -> Decorated:
    """Return the function or class unchanged: 0-d and empty shapes are always legal."""
    return func
