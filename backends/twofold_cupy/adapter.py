"""The CuPy adapter's implementation of the protocol."""

import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import cupy
import numpy as np

from twofold.backend.kernel import ELEMENTWISE, Array, ArrayType, Call, KernelEpilogue, OperandType, Params, ProgramTraits, RowProgram, Run
from twofold.backend.protocol import Backend, Launcher, Target
from twofold.config import SETTINGS
from twofold.device import Device, interned
from twofold.dtype import NUMPY, WEAK
from twofold.errors import DeviceError, MXNetError

from . import cublaslt, cudnn, failures, limits
from .capture import MIN_STEPS, GraphRunner
from .checks import Checks
from .dry_run import ACTIVE, dry_run, in_dry_run, outside_dry_run, placeholder
from .epilogues import matmul_with_epilogue
from .graph_cache import Graphs
from .horizontal_fusion import fused_kernel
from .kernels import elementwise
from .library import LIBRARIES, cuda_library, cuda_wheel, runtime
from .library import memory as cupy_memory
from .memory import Memory, does_not_fit
from .namespace import CupyNamespace, device_of_first, single_step_program, typed_operands
from .nccl import nccl_peering
from .operands import NAMES, constant, dtype_of, is_constant
from .reductions import PART
from .rows import row_kernel
from .scalar_inputs import ScalarInput
from .streams import Consumer, Mark, Stream, Streams, current_device, entered
from .transfers import Transfers

Result = TypeVar("Result")


def _libraries() -> Iterator[tuple[str, str]]:
    """CUDA's libraries, and cuDNN."""
    for name, use in LIBRARIES.items():
        try:
            yield name, cuda_library(name)._name
        except Exception as error:  # the finder raises a different exception for each reason
            yield name, f"not found: {use} need it; pip install '{cuda_wheel()}' ({type(error).__name__})"
    found = cudnn.library()
    version = f"version {found.backend_version()}" if found else "not found: convolutions go without it; pip install 'twofold[cudnn]'"
    yield "cudnn", version


TARGET = Target(
    "cupy",
    "gpu",
    row_reductions=True,
    whole_rows=True,
    few_kernels=True,
    plane_sums=(range(2, PART + 1), range(2, PART + 1)),
    keeps_scratch=False,  # a captured graph has memory of its own
    fuses_from=lambda op, operands, dtype: 1,  # a launch costs as much as thousands of elements
    compute_capability=lambda device: int(cupy.cuda.Device(device.device_id).compute_capability),
    libraries=_libraries,
    peering=nccl_peering,
)


class CupyBackend(Backend):
    """CuPy arrays on NVIDIA GPUs. A thread issues work to the stream that it has entered, or by default to the device's compute stream.

    Raises
    ------
    BackendUnavailable
        If CuPy finds no usable GPU.
    """

    def __init__(self) -> None:
        try:
            self._devices = runtime.getDeviceCount()
        except runtime.CUDARuntimeError as error:
            raise failures.unavailable(error) from error
        self.streams = Streams()
        self.memory = Memory(self.streams)
        self.checks = Checks(self.memory)
        epilogues = frozenset(cublaslt.EPILOGUES if cublaslt.library() is not None else ())
        self._target = replace(TARGET, epilogues=epilogues)
        held = {"memory": self.memory, "streams": self.streams, "checks": self.checks}
        # a class of this adapter's own, because its members are wrapped once, at the class, and refer to these
        self._xp: CupyNamespace = type("CupyNamespaceOfAdapter", (CupyNamespace,), held)()
        self._transfers = Transfers(self._xp)
        self.graphs = Graphs(self.memory)
        os.register_at_fork(after_in_child=partial(_lose, weakref.ref(self)))

    @property
    def target(self) -> Target:
        """Kernels of any size, and as few as possible; epilogues if cuBLASLt is installed."""
        return self._target

    @property
    def xp(self) -> CupyNamespace:
        """The primitives."""
        return self._xp

    def device_count(self) -> int:
        """The number of GPUs that CUDA shows."""
        return self._devices

    # memory and failures

    def memory_info(self, device: Device) -> tuple[int, int]:
        """(free, total) bytes; unused blocks of CuPy's pool count as free, memory over the limit does not."""
        return self._on(device.device_id, limits.info)

    def trim(self) -> None:
        """Evict all graphs, and return memory that no stream uses any more to CUDA, on every device."""
        self.graphs.drop()
        for device in range(self._devices):
            self._on(device, self.memory.release)

    def failure(self, error: Exception) -> MXNetError:
        """Map an exception of CuPy or CUDA; out-of-memory errors list the largest arrays."""
        return does_not_fit(error) if isinstance(error, (MemoryError, cupy_memory.OutOfMemoryError)) else failures.own(error)

    def quietly(self, function: Callable[..., Result], *args: Any) -> Result:
        """Call with the device of the array arguments, and a stream of it, current; GPUs give no floating-point warnings."""
        # the set is tested first: this is a hot path, and there is a dry run now and then only
        if ACTIVE and in_dry_run():
            return outside_dry_run(self.quietly, function, *args)
        checks, before = self.checks, self.checks.count
        found = self._mapped(function, *args) if entered() is not None else self._on(device_of_first(args), function, *args)
        return self._mapped(checks.follow, before, args, found) if checks.checks_of_array or checks.count != before else found

    def _on(self, device: int, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function whose work belongs to a device."""
        if in_dry_run():
            return outside_dry_run(self._on, device, function, *args)
        stream = self._mapped(self.streams.current, self._existing(device))
        with stream:
            return self._mapped(function, *args)

    def _existing(self, device: int) -> int:
        if device >= self._devices:
            raise DeviceError(f"gpu({device}): no such device", f"{self._devices} of that kind", "see mx.context.num_gpus()")
        return device

    def _mapped(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function whose device is current, mapping its exceptions."""
        return super().quietly(function, *args)

    # arrays

    def empty(self, shape: tuple[int, ...], dtype: str) -> cupy.ndarray:
        """A new uninitialized array on the device of the entered stream, else on the current device."""
        if entered() is None:
            return self._on(current_device(), self.memory.empty, tuple(shape), NUMPY[dtype])
        return self.memory.empty(tuple(shape), NUMPY[dtype])

    def allocator(self, shape: tuple[int, ...], dtype: str) -> Callable[[], cupy.ndarray]:
        """`empty` with its arguments bound, for code that runs within `quietly`."""
        shape, kind, allocate = tuple(shape), NUMPY[dtype], self.memory.empty
        return lambda: allocate(shape, kind) if entered() is not None else self._on(current_device(), allocate, shape, kind)

    def as_array(self, value: Array) -> cupy.ndarray:
        """A contiguous array; constants are materialized."""
        if type(value) is cupy.ndarray and value._c_contiguous:
            return value
        return self._xp.contiguous(value) if in_dry_run() else self.quietly(self._xp.contiguous, value)

    def from_host(self, array: np.ndarray, device: Device) -> cupy.ndarray:
        """A copy on the current stream; the source has been read when this returns."""
        return self._on(device.device_id, self._transfers.from_host, array, device.device_id)

    def to_host(self, array: Array) -> np.ndarray:
        """The content as a NumPy array in pinned memory, after the current stream's work so far; a constant itself.

        Raises
        ------
        IndexingError
            If the array was computed from an index that is out of bounds.
        """
        if is_constant(array):
            return array
        found = self._on(array.device.id, self._transfers.to_host, array)
        self._mapped(self.checks.raise_for, array)
        return found

    def copy(self, array: Array, device: Device) -> cupy.ndarray:
        """A new array; copies between devices run on the target's stream, which waits for the source's compute stream."""
        return self._on(device.device_id, self._transfers.copy, array, device.device_id)

    def type_of(self, array: Array) -> ArrayType:
        """Shape and dtype name."""
        # the commonest class first: windows ask for the type of each input
        return ArrayType(array.shape, NAMES[array.dtype] if type(array) is cupy.ndarray else dtype_of(array))

    def write(self, target: cupy.ndarray, key: object, value: Array) -> None:
        """``target[key] = value`` on the current stream."""
        self._on(target.device.id, self._write, target, key, value)

    def _write(self, target: cupy.ndarray, key: object, value: Array) -> None:
        self._xp.write(target[key], value)

    def scalar(self, value: float | int | bool | ScalarInput, dtype: str) -> Array:
        """A constant, which belongs to no device and is passed to kernels by value; in a captured program, a slot in device memory."""
        return value.operand(dtype) if isinstance(value, ScalarInput) else constant(value, (), dtype)

    def constant(self, value: float | int | bool, shape: tuple[int, ...], dtype: str) -> Array:
        """A constant of a shape."""
        return constant(value, shape, dtype)

    def for_each_device(self, make: Callable[[], cupy.ndarray]) -> Callable[[], cupy.ndarray]:
        """The array is created when a device first needs it, then kept."""
        made: dict[int, cupy.ndarray] = {}

        def array() -> cupy.ndarray:
            device = runtime.getDevice()
            found = made.get(device)
            if found is None:
                found = make()
                if not in_dry_run():
                    made[device] = found
            return found

        return array

    # programs

    def call(self, op: str, params: Params, inputs: Sequence[OperandType], *outputs: ArrayType) -> Call:
        """Element-wise primitives by a kernel that writes into given memory, others by the namespace."""
        if op not in ELEMENTWISE:
            call = super().call(op, params, inputs, *outputs)
            # such a primitive reads its operands on the host, which a dry run cannot
            if self._xp.is_by_reference(op):
                call.names["run"] = partial(_on_host, call.names["run"], outputs)
            return call
        types = typed_operands(op, inputs, outputs[0])
        kernel = elementwise(single_step_program(op, tuple(params.items()), types, outputs[0]))
        operands = ", ".join(f"{{{k}}}" for k in range(len(inputs)))
        return Call(f"{{run}}({operands}, {{out}})", {"run": kernel}, into=True)

    def compile(self, program: RowProgram, *others: RowProgram) -> Callable[..., None]:
        """One kernel. Rows too long for a thread block run primitive by primitive, with the same order of additions.

        Several programs share a launch, as many as its arguments have room for.
        """
        if others:
            return fused_kernel([program, *others])
        if not program.has_rows:
            return elementwise(program)
        # a longer row is summed in parts by several thread blocks, which one kernel cannot wait for
        return row_kernel(program) if program.shape[-1] <= PART else super().compile(program)

    def product(self, epilogue: str | KernelEpilogue) -> Callable[..., None]:
        """A matrix product by cuBLASLt if it has the product, else by separate kernels."""
        return matmul_with_epilogue(self._xp, epilogue) if isinstance(epilogue, str) else super().product(epilogue)

    def compile_in_background(self, run: Run, inputs: Sequence[ArrayType], device: Device | None = None) -> None:
        """Compile the kernels that a program will launch, in the background, for a device or the current one."""
        if SETTINGS.compile_threads and SETTINGS.engine != "naive":
            with suppress(Exception):  # only an optimization: errors are raised in the real run
                where = runtime.getDevice() if device is None else device.device_id
                self._on(where, lambda: dry_run(run, [_stand_in(t) for t in inputs]))

    def prepare(self, run: Run, traits: Callable[[], ProgramTraits]) -> Launcher | None:
        """Compile the program's kernels in the background; a launcher by CUDA graphs."""
        found = traits()
        if found.may_dry_run:
            self.compile_in_background(run, found.inputs, found.device)
        return self.graph_runner(run, found)

    def graph_runner(self, run: Run, traits: ProgramTraits) -> GraphRunner | None:
        """A launcher by CUDA graphs; None for programs with too few steps."""
        by_host = [name for name in traits.primitives if name not in traits.host and self._xp.is_by_reference(name)]
        traits = traits._replace(host=(*traits.host, *sorted(by_host)))
        return GraphRunner(self.graphs, run, traits) if traits.steps >= MIN_STEPS else None

    # order of execution

    def stream(self, device: Device, purpose: str = "compute") -> Stream:
        """A stream of a device."""
        # each launch of a window asks for it, so that one that exists is found without further calls
        found = self.streams.known.get((device.device_id, purpose))
        return self._mapped(self.streams.of, device.device_id, purpose) if found is None else found

    def record(self, stream: Stream) -> Mark:
        """Record a mark in a stream."""
        return self._mapped(stream.record)

    def wait(self, stream: Stream, mark: Mark) -> None:
        """Make a stream wait for a mark."""
        self._mapped(stream.wait, mark)

    def hold(self, array: Array, mark: Mark) -> None:
        """Keep an array's memory until a mark is reached."""
        self.memory.hold(array, mark)

    def synchronize(self, device: Device, others: bool = False) -> None:
        """Wait for all streams of a device, and raise the first index error found meanwhile."""
        if others:
            with self.graphs.no_capture():  # synchronizing the device would break a capture in progress
                self._on(device.device_id, runtime.deviceSynchronize)
        for stream in self.streams.on(device.device_id):
            self._mapped(stream.synchronize)
        self._mapped(self.memory.collect)
        self._mapped(self.checks.raise_first)

    # exchange

    def from_dlpack(self, source: Any) -> cupy.ndarray:
        """A view of a producer's memory on a GPU, or a copy of host memory."""
        kind, device = source.__dlpack_device__()
        if kind in (_DLPACK_CPU, _DLPACK_PINNED):
            inner = entered()
            return self.from_host(np.from_dlpack(source), interned("gpu", current_device() if inner is None else inner.device))
        with cupy.cuda.Device(self._existing(device)):  # outside of our stream: a producer that also uses CuPy reads the current one
            capsule = self._mapped(partial(source.__dlpack__, stream=self.stream(interned("gpu", device)).cuda.ptr))
        given = self._on(device, cupy.from_dlpack, _Given(capsule, (kind, device)))
        return self.memory.lent(given, self.streams.of(device))

    def to_dlpack(self, array: Array, *, stream: int | None = None, **options: object) -> object:
        """A capsule; the consumer's stream waits for the current one, and the memory is kept until the consumer's stream has used it."""
        shared = self.memory.lent(array, Consumer(self.streams.of(array.device.id), stream))
        return self._on(array.device.id, partial(shared.__dlpack__, stream=stream, **options))


def _lose(reference: Callable[[], CupyBackend | None]) -> None:
    """In a forked process: CUDA refuses every call, so nothing that its parent has issued is waited for, and new work raises."""
    backend = reference()
    if backend is not None:
        for part in (backend.streams, backend.memory, backend.checks):
            part.lose()


class _Given(NamedTuple):
    """A capsule obtained from its producer, with its device."""

    capsule: Any
    device: tuple[int, int]

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


def _on_host(run: Callable[..., Any], outputs: Sequence[ArrayType], *operands: Array, **params: Any) -> Any:
    """Run a primitive that the host computes; in a dry run, which has no contents to compute from, its results are placeholders."""
    if not in_dry_run():
        return run(*operands, **params)
    results = [placeholder(t.shape, NUMPY[t.dtype]) for t in outputs]
    return results if len(results) > 1 else results[0]


def _stand_in(kind: ArrayType) -> Any:
    """The input of a dry run: a contiguous placeholder, or a Python scalar."""
    return WEAK[kind.dtype](1) if kind.dtype in WEAK else placeholder(kind.shape, NUMPY[kind.dtype])


_DLPACK_CPU, _DLPACK_PINNED = 1, 3
