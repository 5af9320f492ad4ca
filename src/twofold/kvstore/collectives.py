"""`Collectives`: sums over workers, in buckets, by one communication thread, in the same order on every worker.

All workers call the same methods in the same order. The calls are tasks of one lane, each of which follows the one before: so they run in
the order of the calls on every worker, whichever thread runs them, while the program goes on. What a bucket has summed may be used as soon
as that bucket is done.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate
from math import prod
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np

from ..backend.kernel import ArrayType
from ..backend.loader import backend_for
from ..device import CPU, Device
from ..dtype import NUMPY
from ..errors import ClusterError
from ..imperative.cell import PLAIN, Content, Value, wrap
from ..imperative.invoke import content, data_of, device_of, host_of
from ..imperative.pending import is_pending, issue
from ..imperative.stages import in_stages
from ..imperative.transfer import on_device
from ..ndarray.array import NDArray
from ..scheduler.observers import LISTENERS, span
from ..scheduler.queue import QUEUE
from ..scheduler.streams import run_on
from ..scheduler.variable import Lane, Var
from .device_sums import DeviceSums, Divisible, are_connectable, connect, facts_of
from .faults import Survivors
from .watch import Operation, Watch, in_words

if TYPE_CHECKING:
    from .spares import Joined, Pool

__all__ = ["Collectives", "buckets"]

#: Bytes of the first bucket, which is to start early, and of the last, which is to end early; and of the others. One large message is
#: slower than several of 4 MB.
FIRST, MOST = 1 << 20, 1 << 22
#: Bytes from which the arrays before the first large one are worth a message of their own.
LEAST = 1 << 14
#: Bytes up to which a sum takes less time than a hand-over to the communication thread.
SHORT = 1 << 16
#: Arrays in a bucket begin at multiples of so many bytes.
ALIGNED = 64
LANE = Lane("cluster", "communicate")
#: Kinds of `Operation`.
SUM, COPY, GATHER, BARRIER, DEVICE_SUM = range(5)
NOTHING = np.empty(0, np.uint8)


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
        Lists of numbers of arrays. A list exceeds the limit only if it is a single array. Two large arrays never share one: each is sent
        as soon as it is there, without being copied. What is made last, the arrays before the first large one, has a list of its own,
        so that little is left to send after backward.

    Examples
    --------
    >>> from twofold.kvstore.collectives import buckets
    >>> buckets([100_000, 1_500_000, 100, 2_000_000, 800_000, 500_000], ["float32"] * 6)
    [[5], [4, 3, 2], [1], [0]]
    """
    found: list[list[int]] = []
    filled = limit = 0
    sums = list(accumulate(sizes))
    last = sum(total <= FIRST for total in sums)
    end = last - 1 if last and sums[last - 1] >= LEAST else -1
    for k in reversed(range(len(sizes))):
        if found and kinds[k] == kinds[k + 1] and k != end and filled + sizes[k] <= limit and (filled < FIRST or sizes[k] < FIRST):
            found[-1].append(k)
            filled += sizes[k]
        else:
            limit = MOST if found else FIRST
            found.append([k])
            filled = sizes[k]
    return found


class Share(NamedTuple):
    """How many workers of a group have something to add: those that have finished do not."""

    workers: int
    of: int


class Collectives:
    """What the workers of a cluster compute together.

    Parameters
    ----------
    group
        The workers.
    watch
        Is told what runs.
    is_tolerant
        Whether the others go on without a worker that dies.
    machine
        A number that the workers of a machine share.
    workers
        How many there were at the start; as many as there are in the group if None.
    has_core
        Whether the communication thread has a core to itself. Without one, sums wait until all arrays are computed: MPI polls while it
        waits for other workers, which would take the core from what they wait for. The program's thread then sums them itself.
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
        self._has_core = has_core
        self._group, self._watch, self._is_tolerant, self._machine = group, watch, is_tolerant, machine
        #: What sums arrays on GPUs without the host; None if the workers' devices are not connected.
        self._devices: DeviceSums | None = None
        self._survivors = Survivors(group, is_tolerant, watch.lose)
        self.rank, self.size = group.rank, group.size if workers is None else workers
        self._pool: Pool | None = None
        #: How many loops over epochs have begun; see `KVStoreBase.epochs`.
        self.loops = 0
        self._order = Var()
        self._lock = RLock()
        self._agreed: set[object] = set()
        #: Memory in which the arrays of a bucket are put together, by dtype and size.
        self._packing: dict[tuple[np.dtype, int], np.ndarray] = {}

    @property
    def finished(self) -> frozenset[int]:
        """The workers that have finished: they contribute nothing any more."""
        return self._watch.finished

    @property
    def is_first(self) -> bool:
        """Whether this is the first of the workers that are left."""
        return not self._group.rank

    def missing(self, seconds: float) -> int:
        """The number of workers that have died or do not answer within some seconds."""
        return len(self._watch.lost) + len(self._watch.silent(seconds))

    def share(self, figure: float) -> list[float]:
        """Tell worker 0 a figure of three decimals; see `Watch.share`."""
        return [told / 1000 for told in self._watch.share(round(figure * 1000))]

    # sums

    def sums(self, label: object, arrays: Sequence[NDArray], share: Share | None = None) -> list[tuple[list[int], list[NDArray]]]:
        """The sums of dense arrays over workers, a bucket at a time. They may be pending: a reader waits for the bucket.

        Parameters
        ----------
        label
            What they are, for messages.
        arrays
            The arrays of this worker.
        share
            The workers that contribute: the sums are scaled up as if all did, so that the mean of gradients stays a mean. None for plain
            sums.

        Returns
        -------
        list
            For each bucket, the numbers of the arrays and their sums, bitwise equal on all workers; a single pair if all are there.
        """
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
        if not self._has_core and len(arrays) > 1 and self._is_idle() and all(map(_is_here, operands)):
            sums = [self._sum_bucket(label, [data_of(v) for v in part], share) for part in parts]
            return [([k for numbers in found for k in numbers], [wrap(NDArray, content(s, CPU)) for part in sums for s in part])]
        early = [[v for v in part if isinstance(v, Value)] for part in parts] if self._has_core else []
        with in_stages(early):
            totals = [self._summed(label, [arrays[k] for k in n], part, share) for n, part in zip(found, parts, strict=True)]
        return list(zip(found, totals, strict=True))

    def _operand(self, array: NDArray) -> Content | None:
        """What is summed by the host; None for an array that the workers' devices sum."""
        if self._devices is not None and array._dtype in self._devices.dtypes:
            return None
        return array._capture() if array.context.is_host else on_device(array, CPU)

    def _is_idle(self) -> bool:
        last = self._order.writer
        return last is None or last.is_done

    def _summed(self, label: object, arrays: Sequence[NDArray], operands: Sequence[Any], share: Share | None) -> list[NDArray]:
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

    def _summed_by_devices(self, devices: DeviceSums, label: object, arrays: Sequence[NDArray], share: Share | None) -> list[NDArray]:
        """The sums of a bucket on GPUs, put together as one array."""
        device, backend = devices.device, backend_for(devices.device)
        parts = [data_of(a._capture() if a.context is device else on_device(a, device)) for a in arrays]
        types = [ArrayType(a.shape, a._dtype) for a in arrays]
        whole = run_on(device, lambda: backend.xp.concat(*[backend.xp.reshape(p, shape=(prod(p.shape),)) for p in parts], axis=0))
        mark = backend.record(backend.stream(device))

        def run(operands: list[Any]) -> list[Any]:
            total = self._sum_on_devices(devices, label, operands[0], mark)
            if share is not None and share.workers != self.size:
                factor = backend.scalar(self.size / share.workers, types[0].dtype)
                total = backend.as_array(backend.xp.multiply(total, factor))
            ends = np.cumsum([prod(t.shape) for t in types]).tolist()
            return [total[end - prod(t.shape) : end].reshape(t.shape) for end, t in zip(ends, types, strict=True)]

        found = issue(run, [Value(whole, device=device)], types, device, float("inf"), LANE, order=self._order)
        return [wrap(NDArray, v).as_in_context(a.context) for v, a in zip(found, arrays, strict=True)]

    def _sum_on_devices(self, devices: DeviceSums, label: object, array: Any, mark: Any) -> Any:
        with self._lock:
            size, dtype = array.size, np.dtype(array.dtype)
            number = self._watch.begin(label, Operation(DEVICE_SUM, dtype.num, size))
            with span(in_words(label), "communication", nbytes=size * dtype.itemsize, details={"operation": number}):
                total = devices.sum(array, mark)
            self._watch.end()
        return total

    def connect_devices(self, device: Device) -> None:
        """Let the workers' devices sum without the host from now on, if they can. All workers call this, once.

        Workers that go on without those that die sum by MPI: NCCL cannot.
        """
        facts = self.gather(facts_of(device, self._machine), "devices")
        if self._is_tolerant or not are_connectable(facts):
            return
        with self._lock:
            self._watch.begin("connecting devices", Operation(BARRIER, np.dtype(np.int8).num))
            self._devices = connect(self._group, device, facts)
            self._watch.end()

    def _sum_bucket(self, label: object, arrays: Sequence[np.ndarray], share: Share | None) -> list[np.ndarray]:
        """The sums of arrays of the host: of each large one by itself, of the others put together."""
        small = [k for k, a in enumerate(arrays) if a.nbytes < FIRST]
        together = small if len(small) > 1 else []
        found = dict(zip(together, self._sum_packed(label, [arrays[k] for k in together], share), strict=True)) if together else {}
        return [found[k] if k in found else self._sum_one(label, a, share) for k, a in enumerate(arrays)]

    def _sum_one(self, label: object, array: np.ndarray, share: Share | None) -> np.ndarray:
        out = backend_for(CPU).empty(array.shape, str(array.dtype)) if array.nbytes > SHORT else np.empty_like(array)
        step = MOST // array.itemsize
        into, source = out.reshape(-1), np.ascontiguousarray(array).reshape(-1)
        for start in range(0, array.size, step) or (0,):
            self._sum(label, into[start : start + step], source[start : start + step], share)
        return out

    def _sum_packed(self, label: object, arrays: Sequence[np.ndarray], share: Share | None) -> list[np.ndarray]:
        dtype, itemsize = arrays[0].dtype, arrays[0].itemsize
        starts, end = [], 0
        for a in arrays:
            starts.append(end)
            end += -(-a.nbytes // ALIGNED) * ALIGNED // itemsize
        source = self._packing.get((dtype, end))
        if source is None:
            source = self._packing[dtype, end] = np.zeros(end, dtype)
        out = np.empty(end, dtype)
        for start, a in zip(starts, arrays, strict=True):
            source[start : start + a.size].reshape(a.shape)[...] = a
        self._sum(label, out, source, share)
        return [out[start : start + a.size].reshape(a.shape) for start, a in zip(starts, arrays, strict=True)]

    def _sum(self, label: object, out: np.ndarray, source: np.ndarray, share: Share | None = None) -> None:
        with self._lock:
            number = self._watch.begin(label, Operation(SUM, out.dtype.num, out.size))
            if LISTENERS:
                with span(in_words(label), "communication", nbytes=out.nbytes, details={"operation": number}):
                    contributors = self._survivors.run(partial(self._group.allreduce, out, source), out)
            else:
                contributors = self._survivors.run(partial(self._group.allreduce, out, source), out)
            self._watch.end()
        if share is not None:
            live = share.workers - (share.of - contributors)  # less those that have died since
            if live != self.size:
                out *= out.dtype.type(self.size / live)

    # agreement

    def agree(self, label: object, facts: Iterable[object], *, always: bool = False) -> Share | None:
        """Check that all workers state the same facts; once for each label, or each time.

        Returns
        -------
        Share or None
            How many workers have not finished; None if that was not asked.

        Raises
        ------
        ClusterError
            If they do not; it names the difference.
        """
        if not always:
            if label in self._agreed:
                return None
            self._agreed.add(label)
        text = repr(tuple(facts))
        share, is_same = self._compare(label, crc32(text.encode()))
        if not is_same:
            said = self.gather(np.frombuffer(text.encode()[:4096].ljust(4096, b"\0"), np.uint8), label)
            theirs = [bytes(row).decode(errors="replace").rstrip("\0") for row in said]
            raise _disagreement(label, {rank: text for rank, text in enumerate(theirs) if text})
        return share

    def check_equal(self, label: object, arrays: Sequence[NDArray]) -> None:
        """Check that arrays are bitwise the same on all workers, by a checksum.

        Raises
        ------
        ClusterError
            If they are not.
        """
        if not self._compare(label, checksum(arrays))[1]:
            raise ClusterError(
                f"{in_words(label)}: the weights differ between workers",
                "checksums over workers are not equal",
                "give all workers the same random seeds, and set parameters on all of them alike",
            )

    def _compare(self, label: object, number: int) -> tuple[Share, bool]:
        """How many workers have not finished, and whether all of them pass the same number."""
        number &= 0xFFFFFF  # sums of squares stay below 2**63
        own, sums = np.array([1, number, number * number]), np.zeros(3, np.int64)
        operation = Operation(SUM, sums.dtype.num, 3)
        contributors = self._in_order(label, operation, lambda: self._group.allreduce(sums, own), sums)
        count, total, squares = sums.tolist()
        return Share(count, contributors), total * total == count * squares  # numbers are equal if their variance is 0

    # copies

    def broadcast(self, label: object, array: NDArray) -> NDArray:
        """A copy of worker 0's array."""
        if 0 in self.finished:
            raise ClusterError(f"{in_words(label)}: its value is worker 0's, which has finished", None, "initialize keys before training")
        host = np.array(host_of(array), order="C")
        self._in_order(label, Operation(COPY, host.dtype.num, host.size), lambda: self._group.broadcast(host, 0), host)
        return wrap(NDArray, content(host, CPU))

    def gather(self, array: np.ndarray, label: object = "gather") -> np.ndarray:
        """The arrays of all workers, which have one shape: (size, …). Finished workers have zeros."""
        found = np.zeros((self.size, *array.shape), array.dtype)

        def gather() -> None:
            found[self._group.members] = self._group.gather(array)

        self._in_order(label, Operation(GATHER, array.dtype.num, array.size), gather, found)
        return found

    def largest(self, number: int, label: object) -> int:
        """The largest of the numbers of all workers, which are not negative."""
        return int(self.gather(np.array([number]), label).max())

    def barrier(self) -> None:
        """Wait until all workers that have not finished have called this, and what they have sent is summed."""
        self._in_order("barrier", Operation(BARRIER, np.dtype(np.int8).num), self._group.barrier, NOTHING)

    def _in_order(self, label: object, operation: Operation, function: Callable[[], object], out: np.ndarray) -> int:
        """Run a function that writes to ``out`` after all that was issued before, and wait for it; the number of contributors."""
        contributors: list[int] = []

        def run() -> None:
            with self._lock:
                number = self._watch.begin(label, operation)
                with span(in_words(label), "communication", details={"operation": number}):
                    contributors.append(self._survivors.run(function, out))
                self._watch.end()

        if self._is_idle():
            run()
        else:
            task = QUEUE.push(run, (), [self._order], LANE)
            QUEUE.wait(task)
            if task.error is not None:
                raise task.error
        return contributors[0]

    # spares

    def connect_spares(self, pool: "Pool") -> None:
        """From now on spares can take the places of workers that die."""
        self._pool = pool

    def admit(self, label: object, facts: Iterable[object]) -> bool:
        """Let spares take the places of workers that have died, unless a worker has finished; whether some did. All workers call this."""
        share = self.agree(label, facts, always=True)
        pool = self._pool
        if pool is None or share is None or share.workers != share.of or share.of == self.size or not pool.has_spares:
            return False
        with self._lock:
            self._watch.begin("spares joining", Operation(BARRIER, np.dtype(np.int8).num))
            self._survivors.settle()
            pool.call()
            joined = pool.regroup(self._watch.count, self._survivors.completed)
            assert joined is not None
            self.regroup(joined)
            self._watch.end()
        return joined.has_newcomers

    def regroup(self, joined: "Joined") -> None:
        """Go on, or begin, with the workers that there are after spares have joined."""
        self._group.replace(joined.comm, joined.members)
        self.rank = joined.members[joined.comm.rank]
        count, self._survivors.completed = joined.facts
        self._watch.regroup(joined.notices, joined.members, self.size, count)
        self._agreed.clear()  # newcomers have agreed on nothing yet

    def handed_over(self, state: Callable[[], bytes] | None) -> bytes:
        """The bytes that the first worker with a state makes, on all workers: newcomers have none."""
        label = "state for newcomers"
        while True:
            has = self.gather(np.array([state is not None], np.int64), label).reshape(-1)
            if not has.any():
                raise ClusterError("no worker is left that has the state of the training", None, "continue from a checkpoint")
            is_sender = self.rank == int(has.argmax())
            own = np.frombuffer(state() if state is not None and is_sender else b"", np.uint8)
            size, check = self.gather(np.array([own.size, crc32(own.data)]), label).max(axis=0).tolist()
            out = np.empty(size, np.uint8)
            for start in range(0, size, MOST):
                piece = out[start : start + MOST]
                source = own[start : start + MOST] if is_sender else np.zeros(piece.size, np.uint8)
                operation = Operation(SUM, out.dtype.num, piece.size)
                self._in_order(label, operation, partial(self._group.allreduce, piece, np.ascontiguousarray(source)), piece)
            if crc32(out.data) == check:  # else the sender has died
                return out.tobytes()

    # for others, after this worker has finished

    def take_part(self, operation: Operation) -> None:
        """Take part in an operation of the others, with nothing of its own."""
        kind, dtype, size = operation
        if kind == DEVICE_SUM and self._devices is not None:
            device, backend = self._devices.device, backend_for(self._devices.device)
            zeros = run_on(device, backend.from_host, np.zeros(size, _dtype_of(dtype)), device)
            self._devices.sum(zeros, backend.record(backend.stream(device)))
            return
        array = np.zeros(size, _dtype_of(dtype))
        group = self._group
        own, out = array, np.zeros((self.size, size) if kind == GATHER else size, array.dtype)

        def gather() -> None:
            out[group.members] = group.gather(own)

        functions = {
            SUM: lambda: group.allreduce(out, own),
            COPY: lambda: group.broadcast(out, 0),
            GATHER: gather,
            BARRIER: group.barrier,
        }
        self._survivors.run(functions[kind], out)

    def look(self) -> bool:
        """Join the others in going on without a worker that has died; whether that completes an operation."""
        return self._survivors.look()


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


def _is_here(v: Content | None) -> bool:
    """Whether a content on the host waits for no other thread."""
    return v is not None and device_of(v) is CPU and not (isinstance(v, Value) and is_pending(v))


def _is_ready(v: Any) -> bool:
    return not isinstance(v, Value) or v.data is not None


def _dtype_of(number: int) -> np.dtype:
    return next(d for d in [*NUMPY.values(), *map(np.dtype, np.typecodes["All"])] if d.num == number)
