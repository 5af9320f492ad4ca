"""The protocol on CuPy: arrays on NVIDIA GPUs."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import cupy
import numpy as np

from twofold.backend.kernel import ELEMENTWISE, ArrayType, Call, OperandType, ProgramTraits, RowProgram
from twofold.backend.protocol import Backend, Replay, Target
from twofold.config import SETTINGS
from twofold.device import Device
from twofold.dtype import NUMPY, WEAK
from twofold.errors import DeviceError, MXNetError

from . import cublaslt, cudnn, failures, limits
from .capture import MIN_STEPS, GraphRunner, Graphs
from .checks import Checks
from .dry_run import ACTIVE, dry_run, in_dry_run, outside_dry_run, placeholder
from .epilogues import matmul_with_epilogue
from .horizontal_fusion import fused_kernel
from .kernels import elementwise
from .library import LIBRARIES, cuda_library, cuda_wheel, runtime
from .library import memory as cupy_memory
from .memory import Memory, does_not_fit
from .namespace import CupyNamespace, device_of_first, single_step_program, typed_operands
from .operands import constant, dtype_of, is_constant
from .reductions import PART
from .rows import row_kernel
from .scalar_inputs import ScalarInput
from .streams import Consumer, Mark, Stream, Streams, entered
from .transfers import Transfers


def _libraries() -> Iterator[tuple[str, str]]:
    """CUDA's, and cuDNN."""
    for name, use in LIBRARIES.items():
        try:
            yield name, cuda_library(name)._name
        except Exception as error:  # the finder has errors of its own for each way of not finding
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
    keeps_scratch=False,  # a graph must have its own
    fuses_from=lambda op, operands, dtype: 1,  # a launch costs as much as thousands of elements
    libraries=_libraries,
)


class CupyBackend(Backend):
    """Arrays of CuPy on NVIDIA GPUs. Work joins the stream that the thread has entered, else its device's compute stream.

    Raises
    ------
    BackendUnavailable
        If there is no GPU that CuPy can use.
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
        self._xp: CupyNamespace = type("CupyNamespaceOfAdapter", (CupyNamespace,), held)()
        self._transfers = Transfers(self._xp)
        self.graphs = Graphs(self.memory)

    @property
    def target(self) -> Target:
        """Kernels of any size, few of them; a product with what follows where cuBLASLt is found."""
        return self._target

    @property
    def xp(self) -> CupyNamespace:
        """The primitives."""
        return self._xp

    def device_count(self) -> int:
        """How many GPUs CUDA shows."""
        return self._devices

    # memory and failures

    def memory_info(self, device: Device) -> tuple[int, int]:
        """(free, total) bytes; what CuPy's pool has and does not use is free, and what is over the limit is not."""
        return self._on(device.device_id, limits.info)

    def trim(self) -> None:
        """Give what no stream uses any more, and the graphs of captured programs, back to CUDA, on every device."""
        self.graphs.drop()
        for device in range(self._devices):
            self._on(device, self.memory.release)

    def failure(self, error: Exception) -> MXNetError:
        """What CuPy or CUDA raised; of full memory with the largest arrays."""
        return does_not_fit(error) if isinstance(error, (MemoryError, cupy_memory.OutOfMemoryError)) else failures.own(error)

    def quietly(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call with the device of the arguments' arrays and a stream of it current; there are no floating-point warnings."""
        if ACTIVE and in_dry_run():
            return outside_dry_run(self.quietly, function, *args)
        checks, before = self.checks, self.checks.count
        found = self._mapped(function, *args) if entered() is not None else self._on(device_of_first(args), function, *args)
        return self._mapped(checks.follow, before, args, found) if checks.checks_of_array or checks.count != before else found

    def _on(self, device: int, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function whose work is a device's."""
        if in_dry_run():
            return outside_dry_run(self._on, device, function, *args)
        stream = self._mapped(self.streams.current, self._known(device))
        with stream:
            return self._mapped(function, *args)

    def _known(self, device: int) -> int:
        if device >= self._devices:
            raise DeviceError(f"gpu({device}): no such device", f"{self._devices} of that kind", "see mx.context.num_gpus()")
        return device

    def _mapped(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function whose device is current; what it raises is mapped."""
        return super().quietly(function, *args)

    # arrays

    def empty(self, shape: tuple[int, ...], dtype: str) -> cupy.ndarray:
        """A new array of undefined content, on the device of the stream that was entered, else on the current one."""
        if entered() is None:
            return self._on(runtime.getDevice(), self.memory.empty, tuple(shape), NUMPY[dtype])
        return self.memory.empty(tuple(shape), NUMPY[dtype])

    def allocator(self, shape: tuple[int, ...], dtype: str) -> Callable[[], cupy.ndarray]:
        """`empty` with its arguments, for what runs inside `quietly`."""
        return partial(self.empty, tuple(shape), dtype)

    def as_array(self, value: Any) -> cupy.ndarray:
        """In row-major order; constants are written out."""
        if type(value) is cupy.ndarray and value._c_contiguous:
            return value
        return self._xp.contiguous(value) if in_dry_run() else self.quietly(self._xp.contiguous, value)

    def from_host(self, array: np.ndarray, device: Device) -> cupy.ndarray:
        """A copy by the current stream; the source has been read when this returns."""
        return self._on(device.device_id, self._transfers.from_host, array, device.device_id)

    def to_host(self, array: Any) -> np.ndarray:
        """A NumPy array in pinned memory, when the current stream has come so far; the source of a constant.

        Raises
        ------
        IndexingError
            If the array was computed of an index that is on no axis.
        """
        if is_constant(array):
            return array
        found = self._on(array.device.id, self._transfers.to_host, array)
        self._mapped(self.checks.raise_for, array)
        return found

    def copy(self, array: Any, device: Device) -> cupy.ndarray:
        """A new array; between devices by the target's stream, which waits for the source's compute stream."""
        return self._on(device.device_id, self._transfers.copy, array, device.device_id)

    def type_of(self, array: Any) -> ArrayType:
        """Shape and dtype name."""
        return ArrayType(array.shape, dtype_of(array))

    def write(self, target: cupy.ndarray, key: Any, value: Any) -> None:
        """``target[key] = value`` by the current stream."""
        self._on(target.device.id, self._write, target, key, value)

    def _write(self, target: cupy.ndarray, key: Any, value: Any) -> None:
        self._xp.write(target[key], value)

    def scalar(self, value: float | int | bool | ScalarInput, dtype: str) -> Any:
        """A constant: it belongs to no device and reaches kernels by value, but in a captured program, which reads it in its memory."""
        return value.operand(dtype) if isinstance(value, ScalarInput) else constant(value, (), dtype)

    def constant(self, value: float | int | bool, shape: tuple[int, ...], dtype: str) -> Any:
        """A constant of a shape."""
        return constant(value, shape, dtype)

    def for_each_device(self, make: Callable[[], cupy.ndarray]) -> Callable[[], cupy.ndarray]:
        """Made when a device first needs it."""
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

    def call(self, op: str, params: dict[str, Any], inputs: Sequence[OperandType], output: ArrayType) -> Call:
        """An element-wise primitive by a kernel into given memory, others by the namespace."""
        if op not in ELEMENTWISE:
            return super().call(op, params, inputs, output)
        types = typed_operands(op, inputs, output)
        kernel = elementwise(single_step_program(op, tuple(params.items()), types, output))
        operands = ", ".join(f"{{{k}}}" for k in range(len(inputs)))
        return Call(f"run({operands}, {{out}})", {"run": kernel}, into=True)

    def compile(self, program: RowProgram, *others: RowProgram) -> Callable[..., None]:
        """One kernel; of rows too long for a block of threads one primitive after another, which adds up in the same order.

        Of several programs one launch for as many as its arguments have room for.
        """
        if others:
            return fused_kernel([program, *others])
        if not program.has_rows:
            return elementwise(program)
        return row_kernel(program) if program.shape[-1] <= PART else super().compile(program)

    def product(self, epilogue: str) -> Callable[..., None]:
        """By cuBLASLt, where it has such a product."""
        return matmul_with_epilogue(self._xp, epilogue)

    def foresee(self, run: Callable[[Sequence[Any]], list[Any]], inputs: Sequence[ArrayType], device: Device | None = None) -> None:
        """Have the kernels that it will launch compiled by other threads; the current device's, if none is given."""
        if SETTINGS.compile_threads and SETTINGS.engine != "naive":
            with suppress(Exception):  # it is for speed alone
                where = runtime.getDevice() if device is None else device.device_id
                self._on(where, lambda: dry_run(run, [_stand_in(t) for t in inputs]))

    def prepare(self, run: Callable[[Sequence[Any]], list[Any]], traits: Callable[[], ProgramTraits]) -> Replay | None:
        """Compile the kernels that the program will launch, and run it as a CUDA graph."""
        found = traits()
        if found.may_rehearse:
            self.foresee(run, found.inputs, found.device)
        return self.replay(run, lambda: found)

    def replay(self, run: Callable[[Sequence[Any]], list[Any]], traits: Callable[[], ProgramTraits]) -> GraphRunner | None:
        """As a CUDA graph."""
        found = traits()
        by_host = [name for name in found.primitives if name not in found.host and self._xp.is_on_host(name)]
        found = found._replace(host=(*found.host, *sorted(by_host)))
        return GraphRunner(self.graphs, run, found) if found.steps >= MIN_STEPS else None

    # order of execution

    def stream(self, device: Device, purpose: str = "compute") -> Stream:
        """A queue of a device."""
        return self._mapped(self.streams.of, device.device_id, purpose)

    def record(self, stream: Stream) -> Mark:
        """A mark in a queue."""
        return self._mapped(stream.record)

    def wait(self, stream: Stream, mark: Mark) -> None:
        """Have a queue wait for a mark."""
        self._mapped(stream.wait, mark)

    def hold(self, array: Any, mark: Mark) -> None:
        """Keep an array's memory from being used again before a mark is reached."""
        self.memory.hold(array, mark)

    def synchronize(self, device: Device, others: bool = False) -> None:
        """Wait for all queues of a device, and raise what was found wrong there meanwhile."""
        if others:
            with self.graphs.no_capture():  # which this would break
                self._on(device.device_id, runtime.deviceSynchronize)
        for stream in self.streams.on(device.device_id):
            self._mapped(stream.synchronize)
        self._mapped(self.memory.collect)
        self._mapped(self.checks.raise_first)

    # exchange

    def from_dlpack(self, source: Any) -> cupy.ndarray:
        """A view of a producer's memory on a GPU; a copy of memory on the host."""
        kind, device = source.__dlpack_device__()
        if kind in (_DLPACK_CPU, _DLPACK_PINNED):
            inner = entered()
            return self.from_host(np.from_dlpack(source), Device("gpu", runtime.getDevice() if inner is None else inner.device))
        with cupy.cuda.Device(self._known(device)):  # outside of our stream: a producer that uses CuPy, too, asks which stream is current
            capsule = self._mapped(partial(source.__dlpack__, stream=self.stream(Device("gpu", device)).cuda.ptr))
        given = self._on(device, cupy.from_dlpack, _Given(capsule, (kind, device)))
        return self.memory.lent(given, self.streams.of(device))

    def to_dlpack(self, array: Any, *, stream: int | None = None, **options: Any) -> Any:
        """A capsule, whose consumer's stream waits for the current one; the memory is kept until that stream has used it."""
        shared = self.memory.lent(array, Consumer(self.streams.of(array.device.id), stream))
        return self._on(array.device.id, partial(shared.__dlpack__, stream=stream, **options))


class _Given(NamedTuple):
    """A capsule that its producer has given, with where its memory is."""

    capsule: Any
    device: tuple[int, int]

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


def _stand_in(kind: ArrayType) -> Any:
    """What a rehearsal has for an input: an array in row-major order that is nowhere, or a Python number."""
    return WEAK[kind.dtype](1) if kind.dtype in WEAK else placeholder(kind.shape, NUMPY[kind.dtype])


_DLPACK_CPU, _DLPACK_PINNED = 1, 3
