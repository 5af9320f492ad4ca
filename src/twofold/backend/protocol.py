"""The interface to array libraries: one abstract class, which adapters implement. Nothing else in the package touches their arrays.

An adapter serves one kind of device (``"cpu"``, ``"gpu"``). Its arrays are opaque to the core, which only passes them back.
Methods with a default work for most libraries; an adapter overrides them for speed.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from ..device import Device, interned
from ..dtype import NUMPY
from ..errors import DeviceOutOfMemory, MXNetError, own_error
from .host_code import NO_HOST_CODE, HostCode
from .kernel import Array, ArrayType, Call, KernelEpilogue, Namespace, OperandType, Params, ProgramTraits, Ref, RowProgram, Run
from .peers import Peering

Result = TypeVar("Result")
#: A stream of a library, or an event in one; None where all work is synchronous.
Stream = Any
Event = Any


class Launcher(Protocol):
    """The captured form of a program, which the adapter launches as a whole when a run repeats an earlier one."""

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        """The results for the inputs."""
        ...

    def separate(self) -> "Launcher":
        """Another launcher of the same program, with its own captures, for one owner whose arrays stay at their addresses."""
        ...

    @property
    def state(self) -> str:
        """How the program runs, and why it is not captured, for `explain`."""
        ...


@dataclass(frozen=True)
class Target:
    """An adapter's name, kind and capabilities, as data. Programs are compiled for it; ``python -m twofold doctor`` prints it."""

    #: Name of the adapter.
    name: str
    #: Kind of device: ``"cpu"`` or ``"gpu"``.
    kind: str
    #: Array class whose small instances cells hold directly (the inline path); None if all operations are deferred.
    plain: type | None = None
    #: All devices can read the same array, so that a program may hold constants.
    shares_constants: bool = False
    #: Kernels may contain reductions over the last axis.
    row_reductions: bool = False
    #: Kernels over rows hold whole rows: they take everything computed per row, and gather and scatter by comparing indices. Cross-
    #: entropy and its gradient are then one kernel.
    whole_rows: bool = False
    #: A sum over several axes adds up the last adjacent ones first, as rows, if these have so many elements: the lengths for what is
    #: computed element by element, and for what is in memory.
    plane_sums: tuple[range, range] | None = None
    #: Kernels compute rows of any length, so that all trailing axes are reduced as rows.
    any_rows: bool = False
    #: Kernels read strided inputs in place, so that slices may move into them.
    strided_kernels: bool = False
    #: Launches are expensive: similar kernels at the end of a program run in one call (`graph.horizontal_fusion`).
    few_kernels: bool = False
    #: The steps of a program run one after the other, so that values may be computed in parts of one buffer. On several streams such steps
    #: would wait for each other.
    runs_in_order: bool = False
    #: Programs may keep small scratch memory from run to run.
    keeps_scratch: bool = True
    #: The epilogues (`graph.epilogues`) that `Backend.product` supports.
    epilogues: frozenset[str] = frozenset()
    #: ``(op, params, inputs) -> bool``: whether a convolution is computed in parts to which the element-wise operations that follow can be
    #: applied at once, by `Backend.product`.
    takes_epilogue: Callable[[str, Params, Sequence[ArrayType]], bool] = lambda op, params, inputs: False
    #: ``(params, inputs) -> filters``: how many filters a panel of a convolution's weight has (`ops.primitive_convolve.packed_weight`), if
    #: the weight does not change and this is faster; 0 for one that is read as it is.
    packs: Callable[[Params, Sequence[ArrayType]], int] = lambda params, inputs: 0
    #: ``(params, inputs, images) -> bool``: whether a convolution of so many images at a time gives the bits of that of all.
    treats_images_alike: Callable[[Params, Sequence[ArrayType], int], bool] = lambda params, inputs, images: False
    #: ``(op, params, inputs) -> bool``: whether the adapter has code for a primitive that has a definition in terms of others, and
    #: computes it faster than these.
    computes: Callable[[str, Params, Sequence[ArrayType]], bool] = lambda op, params, inputs: False
    #: ``(op, dtypes of operands, dtype of result) -> elements``: the minimum number of elements for a primitive to be part of a kernel;
    #: None for the setting ``defer_elements``.
    fuses_from: Callable[[str, Sequence[str], str], int | None] = lambda op, operands, dtype: None
    #: ``(op, params, inputs) -> bytes``: the gain of a primitive from images (n, d…, c) instead of (n, c, d…), in bytes of images that
    #: could be transposed in that time. Asked for convolutions, and for sums per channel. None for a convolution that needs the channels
    #: first, or a sum that would change its bits if it were taken over images first and then over positions.
    gain_of_channels_last: Callable[[str, Params, Sequence[ArrayType]], float | None] = lambda op, params, inputs: None
    #: ``() -> data``: what the adapter's answers about graphs depend on besides the settings and the facts above, such as its version and
    #: the processor. None if plans for it are not stored on disk.
    planning: Callable[[], Sequence[object]] | None = None
    #: Code for the host's own work on images and texts.
    host_code: HostCode = NO_HOST_CODE
    #: ``device -> number``: CUDA's version of the device's instructions, such as 90 for 9.0; None for devices without CUDA.
    compute_capability: Callable[[Device], int | None] = lambda device: None
    #: ``() -> pairs``: each library that the adapter loads on demand, with its location, or with the features that are missing without it.
    libraries: Callable[[], Iterable[tuple[str, str]]] = tuple
    #: Sums arrays over devices of several processes; None if the adapter cannot.
    peering: Callable[[], Peering | None] = lambda: None


class Backend(ABC):
    """One array library on one kind of device."""

    @property
    @abstractmethod
    def target(self) -> Target:
        """The adapter's capabilities, under the current settings."""

    @property
    @abstractmethod
    def xp(self) -> Namespace:
        """The namespace ``xp`` over this library's arrays, with every primitive by name."""

    @abstractmethod
    def device_count(self) -> int:
        """The number of devices."""

    def memory_info(self, device: Device) -> tuple[int, int]:
        """(free, total) bytes of a device's memory; (0, 0) if unknown."""
        return 0, 0

    def failure(self, error: Exception) -> MXNetError:
        """Convert an exception that the library raised in a computation to an error of this package.

        A failed allocation becomes a `DeviceOutOfMemory`. Errors of this package do not change.
        """
        kind = self.target.kind
        if isinstance(error, MemoryError):
            return DeviceOutOfMemory(
                f"{kind}: an array does not fit into memory: {error}", None, "use smaller batches, or free unused arrays"
            )
        return own_error(f"{kind}: a computation failed", error)

    def trim(self) -> None:
        """Free unused memory in pools."""

    # arrays

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: str) -> Array:
        """A new, uninitialized C-contiguous array on the current device."""

    def allocator(self, shape: tuple[int, ...], dtype: str) -> Callable[[], Array]:
        """A function that allocates such an array at each call; programs call it with everything looked up in advance."""
        return partial(self.empty, shape, dtype)

    def as_array(self, value: Array) -> Array:
        """A result of the namespace as a C-contiguous array: some libraries return scalars for 0-d results, or other memory orders."""
        return value

    def quietly(self, function: Callable[..., Result], *args: object) -> Result:
        """Call a function with the library's floating-point warnings off, without changing the caller's settings.

        Raises
        ------
        MXNetError
            The `failure` of the library's error.
        """
        try:
            return function(*args)
        except MXNetError:
            raise
        except Exception as error:
            raise self.failure(error) from error

    def quick(self, function: Callable[..., Result], *args: object) -> Result:
        """A faster `quietly` for single calls, which need not be reentrant: it may raise RuntimeError if it is in use."""
        return self.quietly(function, *args)

    @abstractmethod
    def from_host(self, array: np.ndarray, device: Device) -> Array:
        """A new array with the contents of a NumPy array, which may be modified as soon as this returns."""

    @abstractmethod
    def to_host(self, array: Array) -> np.ndarray:
        """The contents as a NumPy array, which may share memory if the library's arrays are in host memory."""

    @abstractmethod
    def copy(self, array: Array, device: Device) -> Array:
        """A copy on a device of this kind."""

    @abstractmethod
    def type_of(self, array: Array) -> ArrayType:
        """Shape and dtype name of an array."""

    def write(self, target: Array, key: object, value: object) -> None:
        """``target[key] = value`` in place; ``key`` is a basic index."""
        target[key] = value

    def scalar(self, value: float | int | bool, dtype: str) -> Array:
        """A Python scalar as a 0-d array; it may be shared, and is never written."""
        return self.from_host(np.asarray(value, dtype=NUMPY[dtype]), interned(self.target.kind))

    def constant(self, value: float | int | bool, shape: tuple[int, ...], dtype: str) -> Array:
        """An array filled with one value, which is never written: it may have stride 0."""
        return self.xp.full(shape=shape, value=value, dtype=dtype)

    def for_each_device(self, make: Callable[[], Array]) -> Callable[[], Array]:
        """A function that returns a read-only array on the current device, possibly a new one at each call."""
        return make

    # programs

    def product(self, epilogue: str | KernelEpilogue) -> Callable[..., None]:
        """A function for a product with an epilogue, called with the operands and then the results' memory.

        ``bias`` and ``bias relu`` of a matrix product: (lhs, rhs, bias, result). ``sums``: (lhs, rhs, result, sums of lhs over its last
        axis). For a convolution with a kernel: (data, weight, the other inputs of the kernel in order, result).
        """
        xp = self.xp
        if not isinstance(epilogue, str):
            (op, params, _, program, place) = epilogue
            convolve, kernel = getattr(xp, op), self.compile(program)
            # `others` are the kernel's other inputs and its output's memory; the convolution's result goes where the kernel expects it
            return lambda data, weight, *others: kernel(*others[:place], convolve(data, weight, **params), *others[place:])

        def run(lhs: Array, rhs: Array, *others: Array) -> None:
            product = xp.matmul(lhs, rhs)
            if epilogue == "sums":
                self.write(others[0], ..., product)
                self.write(others[1], ..., xp.sum(xp.permute_dims(lhs, axes=(1, 0)), axis=0))
                return
            total = xp.add(product, others[0])
            self.write(others[1], ..., xp.maximum(total, self.scalar(0, xp.dtype_of(total))) if epilogue == "bias relu" else total)

        return run

    def call(self, op: str, params: Params, inputs: Sequence[OperandType], *outputs: ArrayType) -> Call:
        """How a program calls a primitive, which has at least one output; by default, the namespace's function."""
        run = getattr(self.xp, op)
        given = ", ".join([f"{{{k}}}" for k in range(len(inputs))] + [f"{k}={{_{k}}}" for k in params])
        return Call(f"{{run}}({given})", {"run": run} | {f"_{k}": v for k, v in params.items()})

    def compile(self, program: RowProgram, *others: RowProgram) -> Callable[..., None]:
        """Compile a kernel, which is called with the inputs and then the outputs' memory. By default it runs primitive by primitive.

        Several programs, which differ only in shapes, become one kernel; it is called with the arguments of each in turn. No program reads
        another's results, so they may run in any order.
        """
        if not others:
            return partial(_interpreted, self, program)
        programs = (program, *others)
        kernels = [self.compile(program) for program in programs]
        counts = [len(program.inputs) + len(program.outputs) for program in programs]

        def kernel(*arrays: Array) -> None:
            begin = 0
            for own, count in zip(kernels, counts, strict=True):
                own(*arrays[begin : begin + count])
                begin += count

        return kernel

    def prepare(self, run: Run, traits: Callable[[], ProgramTraits]) -> Launcher | None:
        """Prepare for a new program, given its function and its traits.

        An adapter may compile the kernels that it will launch ahead of time. It may also return a form of the function that captures a
        run and launches it as a whole from then on; None if that gains nothing.
        """
        return None

    # order of execution

    def synchronize(self, device: Device, others: bool = False) -> None:
        """Wait until all work issued on a device is done; with ``others``, including that of other libraries."""

    def stream(self, device: Device, purpose: str = "compute") -> Stream:
        """A stream of the device: ``"compute"``, ``"h2d"`` (copies to it) or ``"d2h"``; None if all work is synchronous.

        In a ``with`` block of a stream, the thread issues its work to it. Memory allocated on a copy stream is used on the compute stream:
        when it is freed, the adapter must not reuse it before the compute stream's pending work is done.
        """
        return None

    def record(self, stream: Stream) -> Event:
        """Record an event in a stream, for others to wait for."""
        return None

    def wait(self, stream: Stream, mark: Event) -> None:
        """Make a stream wait for an event of another."""

    def hold(self, array: Array, mark: Event) -> None:
        """Keep an array's memory from being reused before an event, even if the array is freed."""

    # exchange

    def from_dlpack(self, source: Any) -> Array:
        """An array that shares memory with a DLPack exporter."""
        return self.from_host(np.from_dlpack(source), interned(self.target.kind))

    def to_dlpack(self, array: Array, **options: Any) -> object:
        """A DLPack capsule of an array."""
        return array.__dlpack__(**options)


def _interpreted(backend: Backend, program: RowProgram, *arrays: Array) -> None:
    """Run a kernel's steps one after another."""
    xp = backend.xp
    results: list[Array] = []
    for step in program.steps:
        args = [_operand(backend, ref, step.operand_dtype, arrays, results) for ref in step.args]
        results.append(getattr(xp, step.op)(*args, **dict(step.params)))
    for k, number in enumerate(program.outputs):
        # a step over smaller inputs has fewer elements than the space
        backend.write(arrays[len(program.inputs) + k], ..., xp.broadcast_to(results[number], shape=program.shape))


def _operand(backend: Backend, ref: Ref, dtype: str, arrays: Sequence[Array], results: Sequence[Array]) -> Array:
    if ref.kind == "in":
        return arrays[ref.value]
    return results[ref.value] if ref.kind == "step" else backend.scalar(ref.value, dtype)
