"""`Collectives`: sums of NDArrays over workers, in buckets, while the program goes on.

A bucket is a message of several arrays, or a large array by itself. Its sums may be used as soon as that bucket is summed.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..backend.kernel import Array, ArrayType
from ..backend.loader import backend_for
from ..backend.protocol import Event
from ..device import CPU, Device
from ..dtype import NUMPY
from ..imperative.cell import PLAIN, Content, Value, wrap
from ..imperative.invoke import content, data_of, device_of
from ..imperative.pending import is_pending, issue
from ..imperative.stages import in_stages
from ..imperative.transfer import on_device
from ..ndarray.array import NDArray
from ..scheduler.observers import span
from ..scheduler.streams import run_on
from .buckets import FIRST, MOST, buckets
from .collective_calls import BARRIER, DEVICE_SUM, LANE, CollectiveCalls, Contributors, dtype_of
from .device_sums import DeviceSums, Divisible, are_connectable, connect, facts_of
from .watch import CollectiveCall, Watch, in_words

#: Bytes up to which a sum takes less time than a hand-over to the communication thread.
SHORT = 1 << 16
#: Arrays in a bucket begin at multiples of so many bytes.
ALIGNED = 64


class Collectives(CollectiveCalls):
    """The collective operations of a worker, with sums of NDArrays.

    Parameters
    ----------
    group, watch, is_tolerant, workers
        See `CollectiveCalls`.
    machine
        A number that the workers of a machine share.
    has_core
        Whether the communication thread has a core to itself. Without one, sums wait until all arrays are computed, and the program's
        thread sums them itself: MPI polls while it waits for other workers, and would take the core from the computing that they wait for.
    """

    def __init__(
        self,
        group: Divisible,
        watch: Watch,
        is_tolerant: bool = False,
        machine: int = 0,
        workers: int | None = None,
        has_core: bool = True,
    ) -> None:
        super().__init__(group, watch, is_tolerant, workers)
        self._divisible, self._is_tolerant, self._machine, self._has_core = group, is_tolerant, machine, has_core
        #: Sums arrays on GPUs without the host; None if the workers' devices are not connected.
        self._devices: DeviceSums | None = None
        #: Memory in which the arrays of a bucket are put together, by dtype and size. Sums run one at a time, so each size needs it once.
        self._packing: dict[tuple[np.dtype, int], np.ndarray] = {}

    # sums

    def sums(self, label: object, arrays: Sequence[NDArray], share: Contributors | None = None) -> list[tuple[list[int], list[NDArray]]]:
        """The sums of dense arrays over workers, a bucket at a time. Sums may be pending: a reader waits for the bucket.

        Parameters
        ----------
        label
            Names the arrays in messages.
        arrays
            The arrays of this worker.
        share
            The workers that contribute. Sums are scaled up as if all workers did, so that the mean of gradients stays a mean. None for
            plain sums.

        Returns
        -------
        list
            For each bucket, the numbers of the arrays and their sums, bitwise equal on all workers; a single pair if all are computed.
        """
        # Four ways, fastest first. Which one a worker takes may differ between workers: the messages that it sends are the same.
        # One small array that is computed: summed here, since a hand-over to another thread takes longer than the sum.
        if len(arrays) == 1:
            v = arrays[0]._content
            if v.__class__ is PLAIN and v.nbytes <= SHORT and self._is_idle():
                out = np.empty_like(v)
                self._sum(label, out, v, share)
                return [([0], [wrap(NDArray, out)])]
        kinds = [(a._dtype, a.context) for a in arrays]
        found = buckets([_nbytes(a) for a in arrays], kinds)
        operands = [self._operand(a) for a in arrays]
        parts = [[operands[k] for k in numbers] for numbers in found]
        # No core for the communication thread, and all arrays are computed: there is nothing to overlap with, so sum them here.
        if not self._has_core and len(arrays) > 1 and self._is_idle() and all(map(_is_here, operands)):
            sums = [self._sum_bucket(label, [data_of(v) for v in part], share) for part in parts]
            return [([k for numbers in found for k in numbers], [wrap(NDArray, content(s, CPU)) for part in sums for s in part])]
        # Otherwise a task for each bucket. If the arrays belong to a window that has not run, the window runs in stages: the program hands
        # out the arrays of a bucket as soon as it has written the last of them, and the communication thread sums while it goes on. A
        # bucket of small arrays that are computed is summed in this thread, see `_summed`.
        early = [[v for v in part if isinstance(v, Value)] for part in parts] if self._has_core else []
        with in_stages(early):
            totals = [self._summed(label, [arrays[k] for k in n], part, share) for n, part in zip(found, parts, strict=True)]
        return list(zip(found, totals, strict=True))

    def _operand(self, array: NDArray) -> Content | None:
        """The content that the host sums; None for an array that the workers' devices sum."""
        if self._devices is not None and array._dtype in self._devices.dtypes:
            return None
        return array._capture() if array.context.is_host else on_device(array, CPU)

    def _summed(self, label: object, arrays: Sequence[NDArray], operands: Sequence[Any], share: Contributors | None) -> list[NDArray]:
        """The sums of the arrays of a bucket."""
        device = arrays[0].context
        if self._devices is not None and operands[0] is None:
            return self._summed_by_devices(self._devices, label, arrays, share)
        types = [ArrayType(a.shape, a._dtype) for a in arrays]

        def run(values: list[Any]) -> list[Any]:
            sums = self._sum_bucket(label, values, share)
            return sums if device.is_host else [backend_for(device).from_host(s, device) for s in sums]

        if sum(t.nbytes for t in types) <= SHORT and device is CPU and self._is_idle() and all(_is_ready(v) for v in operands):
            return [wrap(NDArray, content(s, CPU)) for s in run([data_of(v) for v in operands])]
        return [wrap(NDArray, v) for v in issue(run, operands, types, device, float("inf"), LANE, order=self._order)]

    def _summed_by_devices(
        self, devices: DeviceSums, label: object, arrays: Sequence[NDArray], share: Contributors | None
    ) -> list[NDArray]:
        """The sums of a bucket whose arrays are on GPUs. They are put together and summed as one array."""
        device, backend = devices.device, backend_for(devices.device)
        parts = [data_of(a._capture() if a.context is device else on_device(a, device)) for a in arrays]
        types = [ArrayType(a.shape, a._dtype) for a in arrays]
        whole = run_on(device, lambda: backend.xp.concat(*[backend.xp.reshape(p, shape=(prod(p.shape),)) for p in parts], axis=0))
        # `whole` is still being written when this returns: the stream of the sum waits for the mark, not the program
        mark = backend.record(backend.stream(device))

        def run(operands: list[Any]) -> list[Any]:
            total = self._sum_on_devices(devices, label, operands[0], mark)
            if share is not None and share.active != self.size:
                factor = backend.scalar(self.size / share.active, types[0].dtype)
                total = backend.as_array(backend.xp.multiply(total, factor))
            ends = np.cumsum([prod(t.shape) for t in types]).tolist()
            return [total[end - prod(t.shape) : end].reshape(t.shape) for end, t in zip(ends, types, strict=True)]

        found = issue(run, [Value(whole, device=device)], types, device, float("inf"), LANE, order=self._order)
        return [wrap(NDArray, v).as_in_context(a.context) for v, a in zip(found, arrays, strict=True)]

    def _sum_on_devices(self, devices: DeviceSums, label: object, array: Array, mark: Event) -> Array:
        with self._lock:
            size, dtype = array.size, np.dtype(array.dtype)
            number = self._watch.begin(label, CollectiveCall(DEVICE_SUM, dtype.num, size))
            with span(in_words(label), "communication", nbytes=size * dtype.itemsize, details={"operation": number}):
                total = devices.sum(array, mark)
            self._watch.end()
        return total

    def connect_devices(self, device: Device) -> None:
        """Let the workers' devices sum without the host from now on, if they can. All workers call this, once.

        With ``--ft`` arrays are still summed by MPI, because NCCL cannot go on after the death of a worker.
        """
        facts = self.gather(facts_of(device, self._machine), "devices")
        if self._is_tolerant or not are_connectable(facts):
            return
        with self._lock:
            self._watch.begin("connecting devices", CollectiveCall(BARRIER, np.dtype(np.int8).num))
            self._devices = connect(self._divisible, device, facts)
            self._watch.end()

    def _sum_bucket(self, label: object, arrays: Sequence[np.ndarray], share: Contributors | None) -> list[np.ndarray]:
        """The sums of arrays on the host: each large array is summed by itself, the small ones are put together."""
        small = [k for k, a in enumerate(arrays) if a.nbytes < FIRST]
        together = small if len(small) > 1 else []
        found = dict(zip(together, self._sum_packed(label, [arrays[k] for k in together], share), strict=True)) if together else {}
        return [found[k] if k in found else self._sum_one(label, a, share) for k, a in enumerate(arrays)]

    def _sum_one(self, label: object, array: np.ndarray, share: Contributors | None) -> np.ndarray:
        out = backend_for(CPU).empty(array.shape, str(array.dtype)) if array.nbytes > SHORT else np.empty_like(array)
        step = MOST // array.itemsize
        into, source = out.reshape(-1), np.ascontiguousarray(array).reshape(-1)
        # an empty array is one sum of nothing: all workers must make the same number of calls
        for start in range(0, array.size, step) or (0,):
            self._sum(label, into[start : start + step], source[start : start + step], share)
        return out

    def _sum_packed(self, label: object, arrays: Sequence[np.ndarray], share: Contributors | None) -> list[np.ndarray]:
        dtype, itemsize = arrays[0].dtype, arrays[0].itemsize
        starts, end = [], 0
        for a in arrays:
            starts.append(end)
            end += -(-a.nbytes // ALIGNED) * ALIGNED // itemsize
        # zeros at first, because the gaps between arrays are summed too
        source = self._packing.get((dtype, end))
        if source is None:
            source = self._packing[dtype, end] = np.zeros(end, dtype)
        # not kept like `source`: the results are views of it, and live as long as the program uses them
        out = np.empty(end, dtype)
        for start, a in zip(starts, arrays, strict=True):
            source[start : start + a.size].reshape(a.shape)[...] = a
        self._sum(label, out, source, share)
        return [out[start : start + a.size].reshape(a.shape) for start, a in zip(starts, arrays, strict=True)]

    def take_part(self, operation: CollectiveCall) -> None:
        """Take part in an operation of the others, with zeros."""
        if operation.kind != DEVICE_SUM or self._devices is None:
            super().take_part(operation)
            return
        device, backend = self._devices.device, backend_for(self._devices.device)
        zeros = run_on(device, backend.from_host, np.zeros(operation.size, dtype_of(operation.dtype)), device)
        self._devices.sum(zeros, backend.record(backend.stream(device)))


def _nbytes(array: NDArray) -> int:
    return prod(array.shape) * NUMPY[array._dtype].itemsize


def _is_here(v: Content | None) -> bool:
    """Whether a content on the host waits for no other thread."""
    return v is not None and device_of(v) is CPU and not (isinstance(v, Value) and is_pending(v))


def _is_ready(v: object) -> bool:
    return not isinstance(v, Value) or v.data is not None
