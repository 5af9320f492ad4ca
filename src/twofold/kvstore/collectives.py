"""`Collectives`: sums over workers, in buckets, by one communication thread, in the same order on every worker.

All workers call the same methods in the same order. The calls are tasks of one lane, each of which follows the one before: so they run in
the order of the calls on every worker, whichever thread runs them, while the program goes on. What a bucket has summed may be used as soon
as that bucket is done.
"""

from collections.abc import Callable, Iterable, Sequence
from math import prod
from threading import RLock
from typing import Any, Protocol
from zlib import crc32

import numpy as np

from ..backend.kernel import ArrayType
from ..backend.loader import backend_for
from ..device import CPU, Device
from ..dtype import NUMPY
from ..errors import ClusterError
from ..imperative.cell import PLAIN, Value, wrap
from ..imperative.invoke import content, data_of, host_of
from ..imperative.pending import issue
from ..imperative.transfer import on_device
from ..ndarray.array import NDArray
from ..scheduler.observers import LISTENERS, span
from ..scheduler.queue import QUEUE
from ..scheduler.variable import Lane, Var
from .transports import Group
from .watch import Operation, Watch, in_words

__all__ = ["Collectives", "buckets"]

#: Bytes of the first bucket, which is to start early, and of the others. One large message is slower than several of 4 MB.
FIRST, MOST = 1 << 20, 1 << 22
#: Bytes up to which a sum takes less time than a hand-over to the communication thread.
SHORT = 1 << 16
#: Arrays in a bucket begin at multiples of so many bytes.
ALIGNED = 64
LANE = Lane("cluster", "communicate")
#: Kinds of `Operation`.
SUM, GREATEST, COPY, GATHER, BARRIER = range(5)
#: What a worker without data contributes to a greatest element.
LEAST = np.iinfo(np.int64).min


def buckets(sizes: Sequence[int], kinds: Sequence[object]) -> list[list[int]]:
    """Which arrays are summed in one message: neighbours of one kind, the last arrays first, as backward makes their gradients.

    Parameters
    ----------
    sizes
        Bytes of each array.
    kinds
        Something that is equal for arrays that fit into one message.

    Returns
    -------
    list
        Lists of numbers of arrays. A list exceeds the limit only if it is a single array.

    Examples
    --------
    >>> from twofold.kvstore.collectives import buckets
    >>> buckets([100, 3_000_000, 800_000, 500_000], ["float32"] * 4)
    [[3], [2, 1], [0]]
    """
    found: list[list[int]] = []
    filled = limit = 0
    for k in reversed(range(len(sizes))):
        if found and kinds[k] == kinds[k + 1] and filled + sizes[k] <= limit:
            found[-1].append(k)
            filled += sizes[k]
        else:
            limit = MOST if found else FIRST
            found.append([k])
            filled = sizes[k]
    return found


class Workers(Group, Protocol):
    """What sums need of a group beyond sums in place."""

    def allreduce(self, array: np.ndarray, source: np.ndarray | None = None) -> None:
        """Replace a contiguous array by the sum over workers of ``source``, or of itself if that is None."""
        ...

    def greatest(self, array: np.ndarray) -> None:
        """Replace each element of a contiguous array by the greatest over workers."""
        ...

    def gather(self, array: np.ndarray) -> np.ndarray:
        """The contiguous arrays of all workers, which have equal shapes, one after the other: (size, …)."""
        ...


class Collectives:
    """What the workers of a cluster compute together.

    Parameters
    ----------
    group
        The workers.
    watch
        Is told what runs.
    """

    def __init__(self, group: Workers, watch: Watch) -> None:
        self._group, self._watch = group, watch
        self.rank, self.size = group.rank, group.size
        self._order = Var()
        self._lock = RLock()
        self._agreed: set[object] = set()

    @property
    def finished(self) -> frozenset[int]:
        """The workers that have finished: they contribute nothing any more."""
        return self._watch.finished

    def silent(self, seconds: float) -> list[int]:
        """The workers that do not answer within some seconds."""
        return self._watch.silent(seconds)

    def share(self, figure: float) -> list[float]:
        """Tell worker 0 a figure of three decimals; see `Watch.share`."""
        return [told / 1000 for told in self._watch.share(round(figure * 1000))]

    # sums

    def sums(self, label: object, arrays: Sequence[NDArray], device: Device | None = None) -> list[tuple[list[int], list[NDArray]]]:
        """The sums of dense arrays over workers, a bucket at a time. They may be pending: a reader waits for the bucket.

        Parameters
        ----------
        label
            What they are, for messages.
        arrays
            The arrays of this worker.
        device
            Where the sums are; the device of each array if None.

        Returns
        -------
        list
            For each bucket, the numbers of the arrays and their sums, bitwise equal on all workers.
        """
        if len(arrays) == 1:
            v = arrays[0]._v
            if v.__class__ is PLAIN and v.nbytes <= SHORT and (device is None or device is CPU) and self._is_idle():
                out = np.empty_like(v)
                self._sum(label, out, v)
                return [([0], [wrap(NDArray, out)])]
        kinds = [(a._dtype, a.context if device is None else device) for a in arrays]
        return [
            (numbers, self._summed(label, [arrays[k] for k in numbers], kinds[numbers[0]][1]))
            for numbers in buckets([_nbytes(a) for a in arrays], kinds)
        ]

    def _is_idle(self) -> bool:
        last = self._order.writer
        return last is None or last.is_done

    def _summed(self, label: object, arrays: Sequence[NDArray], device: Device) -> list[NDArray]:
        """The sums of the arrays of a bucket."""
        operands = [a._capture() if a.context.is_host else on_device(a, CPU) for a in arrays]
        types = [ArrayType(a.shape, a._dtype) for a in arrays]

        def run(values: list[Any]) -> list[Any]:
            sums = self._sum_one(label, values[0]) if len(values) == 1 else self._sum_packed(label, values)
            return sums if device.is_host else [backend_for(device).from_host(s, device) for s in sums]

        if sum(t.nbytes for t in types) <= SHORT and device is CPU and self._is_idle() and all(_is_ready(v) for v in operands):
            return [wrap(NDArray, content(s, CPU)) for s in run([data_of(v) for v in operands])]
        return [wrap(NDArray, v) for v in issue(run, operands, types, device, float("inf"), LANE, order=self._order)]

    def _sum_one(self, label: object, array: np.ndarray) -> list[np.ndarray]:
        out = backend_for(CPU).empty(array.shape, str(array.dtype)) if array.nbytes > SHORT else np.empty_like(array)
        step = MOST // array.itemsize
        into, source = out.reshape(-1), np.ascontiguousarray(array).reshape(-1)
        for start in range(0, array.size, step) or (0,):
            self._sum(label, into[start : start + step], source[start : start + step])
        return [out]

    def _sum_packed(self, label: object, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        dtype, itemsize = arrays[0].dtype, arrays[0].itemsize
        starts, end = [], 0
        for a in arrays:
            starts.append(end)
            end += -(-a.nbytes // ALIGNED) * ALIGNED // itemsize
        flat = np.empty(end, dtype)
        parts = [flat[start : start + a.size].reshape(a.shape) for start, a in zip(starts, arrays, strict=True)]
        for part, a in zip(parts, arrays, strict=True):
            part[...] = a
        self._sum(label, flat, None)
        return parts

    def _sum(self, label: object, array: np.ndarray, source: np.ndarray | None) -> None:
        with self._lock:
            number = self._watch.begin(label, Operation(SUM, array.dtype.num, array.size))
            if LISTENERS:
                with span(in_words(label), "communication", nbytes=array.nbytes, details={"operation": number}):
                    self._group.allreduce(array, source)
            else:
                self._group.allreduce(array, source)
            self._watch.end()

    # agreement

    def agree(self, label: object, facts: Iterable[object], *, always: bool = False) -> None:
        """Check that all workers state the same facts; once for each label, or each time.

        Raises
        ------
        ClusterError
            If they do not; it names the difference.
        """
        if not always:
            if label in self._agreed:
                return
            self._agreed.add(label)
        text = repr(tuple(facts))
        if not self._is_same(label, crc32(text.encode())):
            said = self.gather(np.frombuffer(text.encode()[:4096].ljust(4096, b"\0"), np.uint8), label)
            theirs = [bytes(row).decode(errors="replace").rstrip("\0") for row in said]
            raise _disagreement(label, {rank: text for rank, text in enumerate(theirs) if text})

    def check_equal(self, label: object, arrays: Sequence[NDArray]) -> None:
        """Check that arrays are bitwise the same on all workers, by a checksum.

        Raises
        ------
        ClusterError
            If they are not.
        """
        if not self._is_same(label, checksum(arrays)):
            raise ClusterError(
                f"{in_words(label)}: the weights differ between workers",
                "checksums over workers are not equal",
                "give all workers the same random seeds, and set parameters on all of them alike",
            )

    def _is_same(self, label: object, number: int) -> bool:
        bounds = np.array([number, -number], np.int64)
        self._in_order(label, Operation(GREATEST, bounds.dtype.num, 2), lambda: self._group.greatest(bounds))
        return bounds[0] == -bounds[1]

    # copies

    def broadcast(self, label: object, array: NDArray) -> NDArray:
        """A copy of worker 0's array."""
        if 0 in self.finished:
            raise ClusterError(f"{in_words(label)}: its value is worker 0's, which has finished", None, "initialize keys before training")
        host = np.array(host_of(array), order="C")
        self._in_order(label, Operation(COPY, host.dtype.num, host.size), lambda: self._group.broadcast(host, 0))
        return wrap(NDArray, content(host, CPU))

    def gather(self, array: np.ndarray, label: object = "gather") -> np.ndarray:
        """The arrays of all workers, which have one shape: (size, …). Finished workers have zeros."""
        operation = Operation(GATHER, array.dtype.num, array.size)
        return self._in_order(label, operation, lambda: self._group.gather(array))

    def largest(self, number: int, label: object) -> int:
        """The largest of the numbers of all workers."""
        found = np.array([number], np.int64)
        self._in_order(label, Operation(GREATEST, found.dtype.num, 1), lambda: self._group.greatest(found))
        return int(found[0])

    def barrier(self) -> None:
        """Wait until all workers that have not finished have called this, and what they have sent is summed."""
        self._in_order("barrier", Operation(BARRIER, np.dtype(np.int8).num), self._group.barrier)

    def _in_order(self, label: object, operation: Operation, function: Callable[[], Any]) -> Any:
        """Run a function after all that was issued before, and wait for its result."""
        results: list[Any] = []

        def run() -> None:
            with self._lock:
                number = self._watch.begin(label, operation)
                with span(in_words(label), "communication", details={"operation": number}):
                    results.append(function())
                self._watch.end()

        if self._is_idle():
            run()
        else:
            task = QUEUE.push(run, (), [self._order], LANE)
            QUEUE.wait(task)
            if task.error is not None:
                raise task.error
        return results[0]

    # for others, after this worker has finished

    def take_part(self, operation: Operation) -> None:
        """Take part in an operation of the others, with nothing of its own."""
        kind, dtype, size = operation
        array = np.zeros(size, _dtype_of(dtype))
        if kind == BARRIER:
            self._group.barrier()
        elif kind == SUM:
            self._group.allreduce(array)
        elif kind == GREATEST:
            self._group.greatest(np.full(size, LEAST))
        elif kind == GATHER:
            self._group.gather(array)
        else:
            self._group.broadcast(array, 0)


def checksum(arrays: Sequence[NDArray]) -> int:
    """A number that differs between arrays that differ, with high probability; it takes about as long as reading them."""
    found = 0
    for array in arrays:
        data = np.ascontiguousarray(host_of(array)).reshape(-1).view(np.uint8)
        whole = data.size // 8 * 8
        words = data[:whole].view(np.uint64)
        both = np.array([np.add.reduce(words), np.bitwise_xor.reduce(words)], np.uint64)
        found = crc32(data[whole:].tobytes(), crc32(both.tobytes(), found))
    return found


def _disagreement(label: object, said: dict[int, str]) -> ClusterError:
    first = next(iter(said.values()))
    other, theirs = next((rank, text) for rank, text in said.items() if text != first)
    at = next((k for k, (a, b) in enumerate(zip(first, theirs, strict=False)) if a != b), min(len(first), len(theirs)))
    start = max(0, at - 60)
    given = f"worker {next(iter(said))}: …{first[start : at + 60]}…; worker {other}: …{theirs[start : at + 60]}…"
    return ClusterError(f"{in_words(label)}: the workers do not do the same", given, "run the same program with the same parameters on all")


def _nbytes(array: NDArray) -> int:
    return prod(array.shape) * NUMPY[array._dtype].itemsize


def _is_ready(v: Any) -> bool:
    return not isinstance(v, Value) or v.data is not None


def _dtype_of(number: int) -> np.dtype:
    return next(np.dtype(c) for c in np.typecodes["All"] if np.dtype(c).num == number)
