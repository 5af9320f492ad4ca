"""The seam to array libraries: one abstract class. Adapters implement it; nothing else in the package touches their arrays.

An adapter serves one kind of device (``"cpu"``, ``"gpu"``). Its arrays are opaque to the core, which only passes them back.
Methods with a default work for most libraries; an adapter overrides them for speed.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from ..device import Device
from ..dtype import NUMPY
from ..errors import DeviceOutOfMemory, MXNetError, own_error
from .kernel import ArrayType, Call, OperandType, ProgramTraits, RowProgram


class Replay(Protocol):
    """A program's function that issues what it does at once, where it did the same before."""

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """The results for inputs."""
        ...

    @property
    def state(self) -> str:
        """How the program runs, and why not at once, for `explain`."""
        ...


@dataclass(frozen=True)
class Target:
    """What an adapter is and can do, as data: programs are arranged by it, and ``python -m twofold doctor`` prints it."""

    #: Name of the adapter.
    name: str
    #: Kind of device it serves: ``"cpu"`` or ``"gpu"``.
    kind: str
    #: Array class whose small, ready instances a cell may hold as they are (the inline path); None where results are always deferred.
    plain: type | None = None
    #: An array that is never written serves all devices, so that a program may hold it.
    shares_constants: bool = False
    #: `Backend.compile` takes row programs with reductions over the last axis.
    row_reductions: bool = False
    #: Kernels over rows take in all that is computed for rows, and find places in them by comparing: a loss and its gradient are one.
    whole_rows: bool = False
    #: Kernels read strided inputs where they lie, so that slices are taken before what kernels compute.
    strided_kernels: bool = False
    #: Programs are arranged for few kernels: those at the end that differ in their arrays alone run as one.
    few_kernels: bool = False
    #: A program may keep small scratch memory from run to run.
    keeps_scratch: bool = True
    #: Which of the epilogues of `graph.epilogues` `Backend.product` takes.
    epilogues: frozenset[str] = frozenset()
    #: Elements from which a step of a primitive, of operands and a result of these dtypes, may be part of a kernel:
    #: ``(op, operands, dtype) -> elements``, where None means those of the setting ``defer_elements``.
    fuses_from: Callable[[str, Sequence[str], str], int | None] = lambda op, operands, dtype: None
    #: What a primitive on images (n, c, d…) gains by images (n, d…, c), as bytes of images that are transposed in that time:
    #: ``(op, params, inputs) -> bytes``. Asked of convolutions, and of sums of each channel: over the images and their places. None where
    #: a convolution has the channels first, or where a sum over the images, and of what that gives over the places, is another number.
    gain_of_channels_last: Callable[[str, dict[str, Any], Sequence[ArrayType]], float | None] = lambda op, params, inputs: None
    #: What the adapter loads when it is needed: ``() -> (name, where it is, or what goes without it)`` of each library.
    libraries: Callable[[], Iterable[tuple[str, str]]] = tuple


class Backend(ABC):
    """One array library on one kind of device."""

    @property
    @abstractmethod
    def target(self) -> Target:
        """What the adapter can do now: settings may change it."""

    @property
    @abstractmethod
    def xp(self) -> Any:
        """The namespace of rules over this library's arrays: every primitive by name, and the derived names."""

    @abstractmethod
    def device_count(self) -> int:
        """How many devices of the kind there are."""

    def memory_info(self, device: Device) -> tuple[int, int]:
        """(free, total) bytes of a device's memory; (0, 0) where it is not known."""
        return 0, 0

    def failure(self, error: Exception) -> MXNetError:
        """What the library raised in a computation, as an error of this package; errors of this package as they are.

        A failure to allocate becomes a `DeviceOutOfMemory`.
        """
        kind = self.target.kind
        if isinstance(error, MemoryError):
            return DeviceOutOfMemory(f"{kind}: an array does not fit into memory", str(error), "use smaller batches, or free unused arrays")
        return own_error(f"{kind}: a computation failed", error)

    def trim(self) -> None:
        """Give unused pooled memory back."""

    # arrays

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        """A new C-contiguous array of undefined content, on the current device."""

    def allocator(self, shape: tuple[int, ...], dtype: str) -> Callable[[], Any]:
        """A function without arguments that makes such an array each time it is called."""
        return partial(self.empty, shape, dtype)

    def as_array(self, value: Any) -> Any:
        """A result of the namespace as an array in row-major order: some libraries give scalars for 0-d results, and other orders."""
        return value

    def quietly(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function with the library's floating-point warnings off; the caller's settings are not changed.

        Raises
        ------
        MXNetError
            The `failure` of what the library raised.
        """
        try:
            return function(*args)
        except MXNetError:
            raise
        except Exception as error:
            raise self.failure(error) from error

    def quick(self, function: Callable[..., Any], *args: Any) -> Any:
        """As `quietly`, for single calls of the fast path: it may raise RuntimeError if it is in use."""
        return self.quietly(function, *args)

    @abstractmethod
    def from_host(self, array: np.ndarray, device: Device) -> Any:
        """A new array with the content of a NumPy array; the source may be changed as soon as this returns."""

    @abstractmethod
    def to_host(self, array: Any) -> np.ndarray:
        """A NumPy array of the content; it may share memory where the library's arrays are NumPy's."""

    @abstractmethod
    def copy(self, array: Any, device: Device) -> Any:
        """A new array with the same content on a device of this kind."""

    @abstractmethod
    def type_of(self, array: Any) -> ArrayType:
        """Shape and dtype name of an array."""

    def write(self, target: Any, key: Any, value: Any) -> None:
        """``target[key] = value`` in place; ``key`` is a basic index."""
        target[key] = value

    def scalar(self, value: float | int | bool, dtype: str) -> Any:
        """A Python scalar as a 0-d operand of a dtype; it may be shared and is never written."""
        return self.from_host(np.asarray(value, dtype=NUMPY[dtype]), Device(self.target.kind))

    def constant(self, value: float | int | bool, shape: tuple[int, ...], dtype: str) -> Any:
        """An array of one value that is never written: it may have stride 0."""
        return self.xp.full(shape=shape, value=value, dtype=dtype)

    def for_each_device(self, make: Callable[[], Any]) -> Callable[[], Any]:
        """A function that gives the current device's own copy of an array which is never written; it may be made at every call."""
        return make

    # programs

    def product(self, epilogue: str) -> Callable[..., None]:
        """A matrix product with an epilogue, called with the operands and then the results' memory.

        ``bias`` and ``bias relu``: (lhs, rhs, bias, result). ``sums``: (lhs, rhs, result, the sums of lhs over its last axis).
        """
        xp = self.xp

        def run(lhs: Any, rhs: Any, *others: Any) -> None:
            product = xp.matmul(lhs, rhs)
            if epilogue == "sums":
                self.write(others[0], ..., product)
                self.write(others[1], ..., xp.sum(xp.permute_dims(lhs, axes=(1, 0)), axis=0))
                return
            total = xp.add(product, others[0])
            self.write(others[1], ..., xp.maximum(total, self.scalar(0, xp.dtype_of(total))) if epilogue == "bias relu" else total)

        return run

    def call(self, op: str, params: dict[str, Any], inputs: Sequence[OperandType], output: ArrayType) -> Call:
        """How a program runs one primitive; by default the namespace's function."""
        run = getattr(self.xp, op)
        given = ", ".join([f"{{{k}}}" for k in range(len(inputs))] + [f"{k}=_{k}" for k in params])
        return Call(f"run({given})", {"run": run} | {f"_{k}": v for k, v in params.items()})

    def compile(self, program: RowProgram, *others: RowProgram) -> Callable[..., None]:
        """A kernel: called with the inputs and then the outputs' memory; by default one primitive after another.

        Several programs, which differ in shapes alone, become one kernel: called with what each takes, one after another. None reads
        what another writes; which runs first does not matter.
        """
        if not others:
            return partial(_interpreted, self, program)
        programs = (program, *others)
        kernels = [self.compile(program) for program in programs]
        counts = [len(program.inputs) + len(program.outputs) for program in programs]

        def kernel(*arrays: Any) -> None:
            begin = 0
            for own, count in zip(kernels, counts, strict=True):
                own(*arrays[begin : begin + count])
                begin += count

        return kernel

    def prepare(self, run: Callable[[Sequence[Any]], list[Any]], traits: Callable[[], ProgramTraits]) -> Replay | None:
        """Get ready for a new program, given its function and what it does.

        An adapter may compile in advance what runs of it will need. It may return the function in a form that notes what it issues and
        issues that at once from then on; None where nothing is gained.
        """
        return None

    # order of execution

    def synchronize(self, device: Device, others: bool = False) -> None:
        """Wait until everything issued on a device is done; with ``others`` by other libraries, too."""

    def stream(self, device: Device, purpose: str = "compute") -> Any:
        """A queue of the device: ``"compute"``, ``"h2d"`` (copies into it) or ``"d2h"``; None where everything runs at once.

        In a ``with`` block of it, what this thread issues joins it. Memory that is made on a copy queue is used on the compute queue:
        when it is freed, the adapter sees to it that it is not used again before what the compute queue has been given by then.
        """
        return None

    def record(self, stream: Any) -> Any:
        """A mark in a queue that others can wait for."""
        return None

    def wait(self, stream: Any, mark: Any) -> None:
        """Have a queue wait for a mark of another one."""

    def hold(self, array: Any, mark: Any) -> None:
        """Do not use an array's memory again before a mark is reached, even if nobody has the array any more."""

    # exchange

    def from_dlpack(self, source: Any) -> Any:
        """An array that shares memory with a DLPack producer."""
        return self.from_host(np.from_dlpack(source), Device(self.target.kind))

    def to_dlpack(self, array: Any, **options: Any) -> Any:
        """A DLPack capsule of an array."""
        return array.__dlpack__(**options)


def _interpreted(backend: Backend, program: RowProgram, *arrays: Any) -> None:
    """Run a kernel's steps one after another."""
    xp = backend.xp
    results: list[Any] = []
    for step in program.steps:
        args = [_operand(backend, ref, step.operand_dtype, arrays, results) for ref in step.args]
        results.append(getattr(xp, step.op)(*args, **dict(step.params)))
    for k, number in enumerate(program.outputs):
        backend.write(arrays[len(program.inputs) + k], ..., xp.broadcast_to(results[number], shape=program.shape))


def _operand(backend: Backend, ref: Any, dtype: str, arrays: Sequence[Any], results: Sequence[Any]) -> Any:
    if ref.kind == "in":
        return arrays[ref.value]
    return results[ref.value] if ref.kind == "step" else backend.scalar(ref.value, dtype)
