"""The fake adapter's implementation of the protocol: simulated devices on NumPy, whose streams run on a schedule."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from twofold.backend.kernel import Array, ArrayType, Call, OperandType, Params, RowProgram
from twofold.backend.protocol import Target
from twofold.device import Device, interned
from twofold.dtype import NUMPY
from twofold_numpy.adapter import NumpyBackend
from twofold_numpy.namespace import NumpyNamespace

from .memory import PoisonedMemory
from .streams import Mark, Schedule, Stream, Streams

VIEWS = ("reshape", "permute_dims", "broadcast_to", "slice", "unfold")
#: Members of the namespace that do not read array contents.
AT_ONCE = ("dtype_of", "full", "iota", "is_by_reference")


@cache
def _as_gpu(target: Target) -> Target:
    epilogues = frozenset({"bias", "bias relu", "sums"})
    own = {"name": "fake", "kind": "gpu", "plain": None, "shares_constants": False}
    # the capabilities of real GPUs that passes use, so that tests without a GPU run the same programs
    return replace(target, few_kernels=True, whole_rows=True, epilogues=epilogues, **own)


class FakeBackend(NumpyBackend):
    """Simulated devices on NumPy.

    Parameters
    ----------
    schedule
        When issued operations run (see `streams.Schedule`); by default ``TWOFOLD_FAKE_SCHEDULE`` of the environment, or ``"issue"``.
    devices
        The number of devices; by default ``TWOFOLD_FAKE_GPUS`` of the environment, or 1.
    poison
        Whether to fill new memory with 0xCB and freed memory with 0xDD, and to reuse freed memory.
    """

    def __init__(self, schedule: Schedule | None = None, devices: int | None = None, poison: bool = False) -> None:
        super().__init__()
        chosen: Any = schedule or os.environ.get("TWOFOLD_FAKE_SCHEDULE", "issue")
        self.streams = Streams(chosen)
        self.memory = PoisonedMemory() if poison else None
        self._devices = int(os.environ.get("TWOFOLD_FAKE_GPUS", "1")) if devices is None else devices
        self._xp = self._namespace()

    @property
    def target(self) -> Target:
        """NumPy's target, with programs arranged as for GPUs."""
        return _as_gpu(super().target)

    def _namespace(self) -> NumpyNamespace:
        """NumPy's namespace, in which views and copies do not wait for their operands and everything else does."""
        members: dict[str, Any] = {}
        for name in dir(NumpyNamespace):
            if name.startswith("_") or name in AT_ONCE:
                continue
            run = getattr(NumpyNamespace, name)
            members[name] = staticmethod(partial(self._view, run) if name in VIEWS else partial(self._after_operands, run))
        # issued like any copy: when it is called, the operand may not be written yet
        members["contiguous"] = staticmethod(lambda x: self._copy(x))
        members["by_ufunc"] = staticmethod(lambda name: partial(self._after_operands, getattr(np, name)))
        return type("FakeNamespace", (NumpyNamespace,), members)()

    def device_count(self) -> int:
        """The number of simulated devices."""
        return self._devices

    def trim(self) -> None:
        """Drop the free poisoned blocks."""
        if self.memory is not None:
            self.memory.trim()

    # order of execution

    def stream(self, device: Device, purpose: str = "compute") -> Stream:
        """A stream; operations outside of any ``with`` block of a stream are issued to the first device's compute stream."""
        return self.streams.stream((device, purpose))

    def record(self, stream: Stream) -> Mark:
        """Record a mark in a stream."""
        return self.streams.record(stream)

    def wait(self, stream: Stream, mark: Mark) -> None:
        """Make a stream wait for a mark."""
        self.streams.wait(stream, mark)

    def synchronize(self, device: Device, others: bool = False) -> None:
        """Run all streams of a device to their ends."""
        for key, stream in list(self.streams.known.items()):
            if key[0] == device:
                self.streams.synchronize(stream)

    @property
    def current(self) -> Stream:
        """The stream that this thread's operations are issued to."""
        stack = self.streams.stack
        return stack[-1] if stack else self.stream(interned("gpu"))

    def issue(self, function: Callable[[], object], device: Device | None = None) -> None:
        """Issue an operation to the entered stream; if the thread has entered none, to the compute stream of a device."""
        here = self.current if device is None or self.streams.stack else self.stream(device)
        self.streams.issue(here, function)

    # arrays

    def empty(self, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        """A new uninitialized or poisoned array."""
        try:
            # immediately, under any schedule: memory is assigned when an operation is issued, and written when it runs
            return np.empty(shape, NUMPY[dtype]) if self.memory is None else self.memory.empty(shape, NUMPY[dtype])
        except MemoryError as error:
            raise self.failure(error) from error

    def allocator(self, shape: tuple[int, ...], dtype: str) -> Callable[[], np.ndarray]:
        """`empty` with its arguments bound."""
        return partial(self.empty, shape, dtype)

    def from_host(self, array: np.ndarray, device: Device) -> np.ndarray:
        """A copy on the current stream; the source is read now."""
        return self._copy(np.array(array, order="C"), device)

    def to_host(self, array: np.ndarray) -> np.ndarray:
        """A copy, after the current stream has run."""
        self.streams.synchronize(self.current)
        # a copy, although the memory is the host's: operations that are issued later may write into it
        return np.array(array)

    def copy(self, array: np.ndarray, device: Device) -> np.ndarray:
        """A copy on the current stream."""
        return self._copy(array, device)

    def as_array(self, value: Array) -> np.ndarray:
        """A contiguous array; if that takes a copy, it is issued."""
        array = np.asarray(value)
        return array if array.flags.c_contiguous else self._copy(array)

    def _copy(self, array: np.ndarray, device: Device | None = None) -> np.ndarray:
        kind = self.type_of(array)
        out = self.empty(kind.shape, kind.dtype)
        self.issue(lambda: np.copyto(out, array), device)
        return out

    def write(self, target: np.ndarray, key: Any, value: Array) -> None:
        """``target[key] = value`` on the current stream."""
        self.issue(lambda: target.__setitem__(key, value))

    def to_dlpack(self, array: np.ndarray, **options: object) -> object:
        """A capsule, after the current stream has run."""
        self.streams.synchronize(self.current)
        return super().to_dlpack(array, **options)

    # programs

    def _after_operands(self, run: Callable[..., Any], *operands: Array, **params: Any) -> Any:
        self.streams.synchronize(self.current)
        return run(*operands, **params)

    def _view(self, run: Callable[..., np.ndarray], x: Array, **params: Any) -> np.ndarray:
        """A view of memory that may not be written yet; if NumPy must copy (in some reshapes), the copy is issued."""
        # shapes and strides are known before the contents are, so a view can be made now
        view = run(x, **params)
        if view.size == 0 or np.may_share_memory(view, x):
            return view
        out = self.empty(view.shape, self.type_of(view).dtype)
        self.issue(lambda: np.copyto(out, run(x, **params)))
        return out

    def call(self, op: str, params: Params, inputs: Sequence[OperandType], *outputs: ArrayType) -> Call:
        """NumPy's call, issued to the stream that is current when the program runs."""
        inner = super().call(op, params, inputs, *outputs)
        # a reference runs on the host, where it waits for the current stream itself
        # nothing runs late and nothing is poisoned: NumPy's call itself does the same
        if (self.streams.schedule == "issue" and self.memory is None) or self._xp.is_by_reference(op):
            return inner
        operands = ", ".join(f"{{{k}}}" for k in range(len(inputs)))
        if op in VIEWS:
            return Call(f"{{view}}({operands})", {"view": partial(self._view, getattr(NumpyNamespace, op), **params)})
        run = function_of(inner, len(inputs))
        if inner.into:
            return Call(
                f"{{run}}({', '.join([operands] if operands else [])}, {{out}})", {"run": lambda *a: self.issue(lambda: run(*a))}, into=True
            )

        def fresh(*arrays: np.ndarray) -> np.ndarray:
            out = self.empty(*outputs[0])
            self.issue(lambda: np.copyto(out, run(*arrays, None), "unsafe"))
            return out

        return Call(f"{{run}}({operands})", {"run": fresh})

    def compile(self, program: RowProgram, *others: RowProgram) -> Callable[..., None]:
        """NumPy's kernel, issued to the current stream when it is called; several run in reverse order: callers must rely on none."""
        if not others:
            only = super().compile(program)
            return lambda *arrays: self.issue(lambda: only(*arrays))
        kernels = [self.compile(p) for p in (program, *others)]
        width = len(program.inputs) + len(program.outputs)

        def kernel(*arrays: Array) -> None:
            for k, own in reversed(list(enumerate(kernels))):
                own(*arrays[k * width : (k + 1) * width])

        return kernel


def function_of(call: Call, count: int) -> Callable[..., Array]:
    """The source of a call as a function of its operands and the output's memory."""
    operands = [f"operand_{k}" for k in range(count)]
    body = call.text.format(*operands, out="out", **{name: name for name in call.names}).split("; ")
    lines = body if call.into else [f"return {body[0]}"]
    env = dict(call.names)
    exec("\n".join([f"def function({', '.join([*operands, 'out'])}):", *[f"    {line}" for line in lines]]), env)
    return env["function"]
