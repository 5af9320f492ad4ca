"""What tests of machine code need of the machine, and methods of arrays in machine code for the time of a test."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest

from twofold.config import SETTINGS
from twofold.imperative.cell import HOST
from twofold.numpy.machine_code import MachineCode
from twofold.scheduler import observers
from twofold_numpy import packing
from twofold_numpy.jit.availability import is_installed

needs_wide_vectors = pytest.mark.skipif(
    not is_installed() or not packing.has_wide_vectors(), reason="no llvmlite, or no vectors of 512 bits"
)

#: The types of methods in machine code: those that are called by their names, and those that operators call.
METHODS = (type(str.upper), type(int.__add__))


@cache
def _methods() -> MachineCode | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SETTINGS, "jit", True)
        make = HOST.target.host_code.array_methods()
    if make is None:
        return None
    code = MachineCode(make)
    code.install()
    observers._places.remove(code)
    code.timed()
    return code


@contextmanager
def array_methods() -> Iterator[MachineCode | None]:
    """The methods of arrays of ``twofold.np`` are in machine code, as after `machine_code.CALLS` calls; None without llvmlite."""
    code = _methods()
    if code is None:
        yield None
        return
    observers.exchange(code)
    try:
        yield code
    finally:
        observers._places.remove(code)
        code.timed()
