"""The protocol on NumPy."""

import contextvars
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from twofold.backend.forks import IMPORTING
from twofold.backend.kernel import ArrayType, Call, OperandType, RowProgram
from twofold.backend.protocol import Backend, Target
from twofold.config import SETTINGS
from twofold.device import Device
from twofold.dtype import NAME_OF, NUMPY
from twofold.errors import MXNetError

from .blocked import compile_kernel
from .calls import call_for
from .jit.availability import is_installed
from .memory import POOL, POOLED
from .namespace import BLOCK, NumpyNamespace
from .workers import forget


def _compiles() -> bool:
    """Whether kernels become machine code."""
    return SETTINGS.jit and is_installed()


def _fuses_from(op: str, operands: Sequence[str], dtype: str) -> int | None:
    """1 for what becomes machine code, which costs less than one ufunc."""
    with IMPORTING:
        from .jit.primitives import has_rule

    return 1 if has_rule(op, (*operands, dtype)) else None


def _gain_of_channels_last(op: str, params: dict[str, Any], inputs: Sequence[ArrayType]) -> float | None:
    """What the table says of convolutions; large sums of channels begin with the images anyway."""
    if op == "sum":
        return 0.0 if math.prod(inputs[0].shape) > BLOCK and inputs[0].dtype in ("float32", "float64") else None
    with IMPORTING:
        from .convolution import bytes_saved

    (first, second), dtype = (i.shape for i in inputs), inputs[0].dtype
    return bytes_saved(op, params, first, second, dtype) if inputs[1].dtype == dtype else None


NUMPY_ALONE = Target("numpy", "cpu", np.ndarray, shares_constants=True, row_reductions=True, gain_of_channels_last=_gain_of_channels_last)
#: Machine code compares while it reads a row anyway, and reads strided inputs where they lie; blocked ufuncs copy them.
MACHINE_CODE = replace(NUMPY_ALONE, whole_rows=True, strided_kernels=True, fuses_from=_fuses_from)


class NumpyBackend(Backend):
    """Arrays of NumPy on the CPU; any number of CPU devices, all the same memory."""

    def __init__(self) -> None:
        self._xp = NumpyNamespace()
        vars(self)["quick"] = quiet_context().run  # in the place of the method: 16 ns, refuses to be entered twice
        os.register_at_fork(after_in_child=forget)
        os.register_at_fork(after_in_child=POOL.after_fork)

    @property
    def target(self) -> Target:
        """What NumPy's functions can do, or machine code where the setting ``jit`` and llvmlite are there."""
        return MACHINE_CODE if _compiles() else NUMPY_ALONE

    @property
    def xp(self) -> NumpyNamespace:
        """The primitives."""
        return self._xp

    def device_count(self) -> int:
        """One; devices of other numbers are the same memory under another name."""
        return 1

    def memory_info(self, device: Device) -> tuple[int, int]:
        """(available, total) bytes of the host's memory."""
        page = os.sysconf("SC_PAGE_SIZE")
        return page * os.sysconf("SC_AVPHYS_PAGES"), page * os.sysconf("SC_PHYS_PAGES")

    def empty(self, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        """A new array of undefined content; a large one is of the pool's memory."""
        try:
            return POOL.empty(shape, NUMPY[dtype])
        except MemoryError as error:
            raise self.failure(error) from error

    def allocator(self, shape: tuple[int, ...], dtype: str) -> Callable[[], np.ndarray]:
        """The same with everything looked up."""
        kind = NUMPY[dtype]
        return partial(np.empty if math.prod(shape) * kind.itemsize < POOLED else POOL.empty, shape, kind)

    def trim(self) -> None:
        """Give the pool's unused memory back to the system."""
        POOL.trim()

    def as_array(self, value: Any) -> np.ndarray:
        """NumPy scalars become 0-d arrays; gathers and functions of strided operands may give other orders than row-major."""
        return np.asarray(value, order="C")

    def quietly(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call in a context of its own, where NumPy's error state is "ignore"."""
        try:
            context = _QUIET.pop()
        except IndexError:
            context = quiet_context()
        try:
            return context.run(function, *args)
        except MXNetError:
            raise
        except Exception as error:
            raise self.failure(error) from error
        finally:
            _QUIET.append(context)

    def from_host(self, array: np.ndarray, device: Device) -> np.ndarray:
        """A C-contiguous copy."""
        return self.copy(array, device)

    def to_host(self, array: np.ndarray) -> np.ndarray:
        """The array itself."""
        return array

    def copy(self, array: np.ndarray, device: Device) -> np.ndarray:
        """A C-contiguous copy."""
        try:
            return _copied(array)
        except MemoryError as error:
            raise self.failure(error) from error

    def type_of(self, array: np.ndarray) -> ArrayType:
        """Shape and dtype name."""
        return ArrayType(array.shape, NAME_OF[array.dtype])

    def scalar(self, value: float | int | bool, dtype: str) -> np.ndarray:
        """A 0-d array: a ufunc takes it 200 ns faster than a Python number. Cached, but never for 0.0 (which equals -0.0)."""
        key = value, dtype
        found = _SCALARS.get(key)
        if found is None:
            found = np.array(value).astype(NUMPY[dtype])
            if value != 0.0:
                if len(_SCALARS) > 4096:
                    _SCALARS.clear()
                _SCALARS[key] = found
        return found

    def constant(self, value: float | int | bool, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        """An array of stride 0."""
        return np.broadcast_to(np.array(value).astype(NUMPY[dtype]), shape)

    def from_dlpack(self, source: Any) -> np.ndarray:
        """NumPy's view of the producer's memory."""
        return np.from_dlpack(source)

    def call(self, op: str, params: dict[str, Any], inputs: Sequence[OperandType], output: ArrayType) -> Call:
        """The fastest form that NumPy has of a primitive."""
        return call_for(op, params, inputs, output) or super().call(op, params, inputs, output)

    def compile(self, program: RowProgram, *others: RowProgram) -> Callable[..., None]:
        """A kernel that becomes machine code when it is used again where llvmlite is installed, else one over cache-sized blocks."""
        if others:
            return super().compile(program, *others)
        if not _compiles():
            return compile_kernel(program)
        with IMPORTING:
            from .jit.tiering import jit_kernel  # with what it imports, for those who have llvmlite

        return jit_kernel(program)


def _copied(array: np.ndarray) -> np.ndarray:
    if array.nbytes < POOLED:
        return np.array(array, order="C")
    out = POOL.empty(array.shape, array.dtype)
    out[...] = array
    return out


def quiet_context() -> contextvars.Context:
    """A context in which NumPy gives no floating-point warnings (its error state is a context variable)."""
    context = contextvars.Context()
    context.run(np.seterr, all="ignore")
    return context


#: Contexts not in use: one is taken per call, since a context cannot be entered twice.
_QUIET: list[contextvars.Context] = []
_SCALARS: dict[Any, np.ndarray] = {}
