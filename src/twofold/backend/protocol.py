"""The seam to array libraries: one abstract class. Adapters implement it; nothing else in the package touches their arrays.

An adapter serves one kind of device (``"cpu"``, ``"gpu"``). Its arrays are opaque to the core, which only passes them back.
Methods with a default work for most libraries; an adapter overrides them for speed.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
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


class Backend(ABC):
    """One array library on one kind of device."""

    #: Name of the adapter.
    name: str = ""
    #: Kind of device it serves.
    kind: str = "cpu"
    #: Array class whose small, ready instances a cell may hold as they are (the inline path); None where results are always deferred.
    plain: type | None = None
    #: Exceptions that mean: out of memory.
    out_of_memory: tuple[type[BaseException], ...] = (MemoryError,)

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

    def does_not_fit(self, error: BaseException) -> DeviceOutOfMemory:
        """The library's failure to allocate, one of ``out_of_memory``, as an error of this package."""
        text = f"{self.kind}: an array does not fit into memory"
        return DeviceOutOfMemory(text, str(error), "use smaller batches, or free unused arrays")

    def failure(self, error: Exception) -> MXNetError:
        """What the library raised in a computation, as an error of this package; errors of this package as they are."""
        return self.does_not_fit(error) if isinstance(error, self.out_of_memory) else own_error(f"{self.kind}: a computation failed", error)

    def trim(self) -> None:
        """Give unused pooled memory back."""

    #: Whether `compile` takes row programs with reductions over the last axis.
    row_reductions = False

    #: Whether programs are arranged for few kernels: those at the end that differ in their arrays alone are handed to
    #: `compile_together`.
    few_kernels = False

    #: Whether a program may keep small memory from run to run, where there is one device.
    keeps_scratch = True

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
        return self.from_host(np.asarray(value, dtype=NUMPY[dtype]), Device(self.kind))

    def constant(self, value: float | int | bool, shape: tuple[int, ...], dtype: str) -> Any:
        """An array of one value that is never written: it may have stride 0."""
        return self.xp.full(shape=shape, value=value, dtype=dtype)

    def for_each_device(self, make: Callable[[], Any]) -> Callable[[], Any]:
        """A function that gives the current device's own copy of an array which is never written; it may be made at every call."""
        return make

    # programs

    #: Which of the epilogues of `graph.epilogues` programs hand to `product`.
    epilogues: frozenset[str] = frozenset()

    def product(self, epilogue: str) -> Callable[..., None]:
        """A matrix product with an epilogue, called with the operands and then the results' memory.

        ``bias`` and ``relu``: (lhs, rhs, bias, result). ``sums``: (lhs, rhs, result, the sums of lhs over its last axis).
        """
        xp = self.xp

        def run(lhs: Any, rhs: Any, *others: Any) -> None:
            product = xp.matmul(lhs, rhs)
            if epilogue == "sums":
                self.write(others[0], ..., product)
                self.write(others[1], ..., xp.sum(xp.permute_dims(lhs, axes=(1, 0)), axis=0))
                return
            total = xp.add(product, others[0])
            self.write(others[1], ..., xp.maximum(total, self.scalar(0, xp.dtype_of(total))) if epilogue == "relu" else total)

        return run

    def call(self, op: str, params: dict[str, Any], inputs: Sequence[OperandType], output: ArrayType) -> Call:
        """How a program runs one primitive; by default the namespace's function."""
        run = getattr(self.xp, op)
        given = ", ".join([f"{{{k}}}" for k in range(len(inputs))] + [f"{k}=_{k}" for k in params])
        return Call(f"run({given})", {"run": run} | {f"_{k}": v for k, v in params.items()})

    @property
    def whole_rows(self) -> bool:
        """Whether kernels over rows take in all that is computed for rows, and find places in them by comparing.

        A loss and its gradient are then one kernel.
        """
        return self.few_kernels

    @property
    def strided_kernels(self) -> bool:
        """Whether kernels read strided inputs where they lie, so that slices are taken before what kernels compute."""
        return False

    def fuses_from(self, op: str, operands: Sequence[str], dtype: str) -> int | None:
        """Elements from which a step of a primitive, of operands and a result of these dtypes, may be part of a kernel.

        None means: those of the setting ``defer_elements``.
        """
        return None

    def gain_of_channels_last(self, op: str, params: dict[str, Any], inputs: Sequence[ArrayType]) -> float | None:
        """What a primitive on images (n, c, d…) gains by images (n, d…, c), as bytes of images that are transposed in that time.

        Asked of convolutions, and of sums of each channel: over the images and their places. None where a convolution has the channels
        first, or where a sum over the images, and of what that gives over the places, is another number.
        """
        return None

    def compile(self, program: RowProgram) -> Callable[..., None]:
        """A kernel: called with the inputs and then the outputs' memory; by default one primitive after another."""
        xp = self.xp

        def kernel(*arrays: Any) -> None:
            results: list[Any] = []
            for step in program.steps:
                args = [_operand(self, ref, step.operand_dtype, arrays, results) for ref in step.args]
                results.append(getattr(xp, step.op)(*args, **dict(step.params)))
            for k, step_number in enumerate(program.outputs):
                self.write(arrays[len(program.inputs) + k], ..., xp.broadcast_to(results[step_number], shape=program.shape))

        return kernel

    def libraries(self) -> Iterable[tuple[str, str]]:
        """What the adapter loads when it is needed, for reports: the name of each, and where it is, or what goes without it."""
        return ()

    def form_of(self, kernel: Callable[..., None]) -> str:
        """What of a kernel, as `compile` gave it, is worth to be said where programs are explained; empty for nothing."""
        return ""

    def compile_together(self, programs: Sequence[RowProgram]) -> Callable[..., None]:
        """Kernels that differ in shapes alone as one: called with what each takes, one after another.

        None reads what another writes; which runs first does not matter.
        """
        kernels = [self.compile(program) for program in programs]
        counts = [len(program.inputs) + len(program.outputs) for program in programs]

        def kernel(*arrays: Any) -> None:
            begin = 0
            for own, count in zip(kernels, counts, strict=True):
                own(*arrays[begin : begin + count])
                begin += count

        return kernel

    def foresee(self, run: Callable[[Sequence[Any]], list[Any]], inputs: Sequence[ArrayType], device: Device | None = None) -> None:
        """Prepare what runs of a new program will need, given its function and the types of its inputs; Python scalars' are weak.

        There is no code of the user in it. It will run on the device, or on any if that is None.
        """

    def replay(self, run: Callable[[Sequence[Any]], list[Any]], traits: Callable[[], ProgramTraits]) -> Replay | None:
        """A program's function in a form that notes what it issues and issues it at once from then on; None where nothing is gained.

        ``traits`` says what it does.
        """
        return None

    # order of execution

    def synchronize(self, device: Device) -> None:
        """Wait until everything issued on a device is done."""

    def settle(self, device: Device) -> None:
        """Wait until everything issued on a device is done, by other libraries too."""
        self.synchronize(device)

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
        return self.from_host(np.from_dlpack(source), Device(self.kind))

    def to_dlpack(self, array: Any, **options: Any) -> Any:
        """A DLPack capsule of an array."""
        return array.__dlpack__(**options)


def _operand(backend: Backend, ref: Any, dtype: str, arrays: Sequence[Any], results: Sequence[Any]) -> Any:
    if ref.kind == "in":
        return arrays[ref.value]
    return results[ref.value] if ref.kind == "step" else backend.scalar(ref.value, dtype)
