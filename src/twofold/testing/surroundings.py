"""The surroundings of a test: the default device and dtype, environment variables, repeated attempts, silenced error output."""

import functools
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from ..backend.loader import gpu_count
from ..device import Device, current_device, set_default_device
from ..errors import ParameterError
from ..ndarray.functions import waitall

_Test = TypeVar("_Test", bound=Callable[..., Any])


def default_context() -> Device:
    """The device on which tests run: the current one."""
    return current_device()


def set_default_context(ctx: Device) -> None:
    """Set the device on which this thread's tests run, and its arrays are created.

    Parameters
    ----------
    ctx
        The device.
    """
    set_default_device(ctx)


def default_dtype() -> type:
    """The dtype of random arrays: float32."""
    return np.float32


def list_gpus() -> range:
    """The numbers of the GPUs; none if no adapter for GPUs is installed."""
    return range(gpu_count())


def has_tvm_ops() -> bool:
    """False: no operator of Twofold is compiled with TVM."""
    return False


def is_op_runnable() -> bool:
    """True: every operator runs on every device."""
    return True


def is_cd_run() -> bool:
    """Whether the variable ``CD_JOB`` says that the test runs before a release."""
    return os.environ.get("CD_JOB", "0") == "1"


def is_aarch64_run() -> bool:
    """Whether the machine is a 64-bit ARM."""
    return platform.machine() == "aarch64"


@contextmanager
def environment(*args: Any) -> Iterator[None]:
    """Environment variables inside of a ``with`` block; afterwards they are as before.

    Parameters
    ----------
    *args
        A name and a value, or a dictionary of values by name; the value None removes a variable.

    Raises
    ------
    ParameterError
        If it is neither.

    Examples
    --------
    >>> with environment("GREETING", "hello"):
    ...     os.environ["GREETING"]
    'hello'
    """
    match args:
        case [Mapping() as wanted]:
            wanted = dict(wanted)
        case [str(name), value]:
            wanted = {name: value}
        case _:
            raise ParameterError("environment: unknown arguments", repr(args), "pass a name and a value, or a dictionary")
    before = {name: os.environ.get(name) for name in wanted}
    try:
        _set(wanted)
        yield
    finally:
        waitall()  # later code must not see the old values
        _set(before)


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = str(value)


def retry(n: int) -> Callable[[_Test], _Test]:
    """The decorator of a test that depends on chance: it fails only if ``n`` runs in a row fail with an AssertionError."""
    if n < 1:
        raise ParameterError("retry: at least one attempt is needed", str(n), "pass a positive number")

    def decorate(test: _Test) -> _Test:
        @functools.wraps(test)
        def attempts(*args: Any, **kwargs: Any) -> Any:
            for _ in range(n - 1):
                try:
                    return test(*args, **kwargs)
                except AssertionError:
                    waitall()
            return test(*args, **kwargs)

        return attempts  # type: ignore[return-value]  # a wrapper has the type of what it wraps

    return decorate


@contextmanager
def discard_stderr() -> Iterator[None]:
    """Discard everything written to the process's standard error inside a ``with`` block, also by C libraries."""
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)
