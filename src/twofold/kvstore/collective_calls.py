"""`CollectiveCalls`: the operations that the workers of a cluster do together, in the same order on every worker.

All workers call the same methods in the same order. Each call is a task of one lane, and follows the call before it. So the calls run in
their order on every worker, whichever thread runs them, while the program goes on.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np

from ..device import CPU
from ..dtype import NUMPY
from ..errors import ClusterError
from ..imperative.cell import wrap
from ..imperative.invoke import content, host_of
from ..ndarray.array import NDArray
from ..scheduler.observers import LISTENERS, span
from ..scheduler.queue import QUEUE
from ..scheduler.variable import Lane, Var
from .buckets import MOST
from .survivors import Survivors, WorkerGroup
from .watch import CollectiveCall, Watch, disagreement, in_words

if TYPE_CHECKING:
    from .spares import Joined, SparePool

LANE = Lane("cluster", "communicate")
#: Kinds of `CollectiveCall`.
SUM, COPY, GATHER, BARRIER, DEVICE_SUM = range(5)
NOTHING = np.empty(0, np.uint8)


class Contributors(NamedTuple):
    """How many workers have something to add to a sum: ``active`` of ``all``. Workers that have finished send zeros."""

    active: int
    all: int


class CollectiveCalls:
    """The collective operations of a worker.

    Parameters
    ----------
    group
        The workers.
    watch
        Is told which operation runs.
    is_tolerant
        Whether the others go on without a worker that dies.
    workers
        The number of workers at the start; None for the size of the group.
    """

    def __init__(self, group: WorkerGroup, watch: Watch, is_tolerant: bool, workers: int | None) -> None:
        self._watch = watch
        self._survivors = Survivors(group, is_tolerant, watch.lose)
        self._group = group
        self.rank, self.size = group.rank, group.size if workers is None else workers
        self._pool: SparePool | None = None
        #: How many loops over epochs have begun; see `KVStoreBase.epochs`.
        self.loops = 0
        #: Every call writes this variable, so the scheduler keeps the calls in their order.
        self._order = Var()
        #: Held while an operation runs, in the program's thread or the communication thread. It is the first lock to be taken: the watch's
        #: and then the channel's come after it.
        self._lock = RLock()

    @property
    def finished(self) -> frozenset[int]:
        """The workers that have finished. They contribute zeros."""
        return self._watch.finished

    @property
    def is_first(self) -> bool:
        """Whether this is the first of the workers that are left."""
        return not self._group.rank

    def missing(self, seconds: float) -> int:
        """The number of workers that have died or do not answer within some seconds."""
        return len(self._watch.lost) + len(self._watch.silent(seconds))

    def share(self, figure: float) -> list[float]:
        """Tell worker 0 a figure, with three decimals; see `Watch.share`."""
        return [told / 1000 for told in self._watch.share(round(figure * 1000))]

    def _is_idle(self) -> bool:
        """Whether all earlier calls are done, so that this thread may run a call itself."""
        last = self._order.writer
        return last is None or last.is_done

    # sums of NumPy arrays

    def _sum(self, label: object, out: np.ndarray, source: np.ndarray, share: Contributors | None = None) -> None:
        """Write the sum over workers of ``source`` into ``out``."""
        with self._lock:
            number = self._watch.begin(label, CollectiveCall(SUM, out.dtype.num, out.size))
            if LISTENERS:
                with span(in_words(label), "communication", nbytes=out.nbytes, details={"operation": number}):
                    contributors = self._survivors.run(partial(self._group.allreduce, out, source), out)
            else:
                contributors = self._survivors.run(partial(self._group.allreduce, out, source), out)
            self._watch.end()
            if share is not None and contributors != share.all:  # workers have died since they were counted
                share = self._counted_again(label, contributors)
        if share is not None:
            live = share.active
            if live != self.size:  # scaled up as if all workers had contributed, so that a mean of gradients stays a mean
                out *= out.dtype.type(self.size / live)

    def _counted_again(self, label: object, contributors: int) -> Contributors:
        """How many workers have added something to a sum of so many contributors: a worker that has died may have finished before.

        All workers see the same number of contributors, so all that have not finished call this, with the same label.
        """
        count = np.zeros(1, np.int64)
        self._watch.begin(label, CollectiveCall(SUM, count.dtype.num, 1))
        left = self._survivors.run(partial(self._group.allreduce, count, np.ones(1, np.int64)), count)
        self._watch.end()
        # those that have died since the sum have most likely added to it
        return Contributors(int(count[0]) + contributors - left, contributors)

    # agreement

    def agree(self, label: object, facts: Iterable[object]) -> Contributors:
        """Check that all workers state the same facts.

        Returns
        -------
        Contributors
            How many workers have not finished.

        Raises
        ------
        ClusterError
            If the facts differ; the error names the difference.
        """
        text = repr(tuple(facts))
        share, is_same = self._compare(label, crc32(text.encode()))
        if not is_same:  # the same answer on all workers, so all of them gather the texts
            said = self.gather(np.frombuffer(text.encode()[:4096].ljust(4096, b"\0"), np.uint8), label)
            theirs = [bytes(row).decode(errors="replace").rstrip("\0") for row in said]
            raise disagreement(label, {rank: text for rank, text in enumerate(theirs) if text})
        return share

    def check_equal(self, label: object, arrays: Sequence[NDArray]) -> None:
        """Check by a checksum that arrays are bitwise the same on all workers.

        Raises
        ------
        ClusterError
            If the arrays differ.
        """
        if not self._compare(label, checksum(arrays))[1]:
            todo = "give all workers the same random seeds, and set parameters on all of them alike"
            raise ClusterError(f"{in_words(label)}: the weights differ between workers: checksums over workers are not equal", None, todo)

    def _compare(self, label: object, number: int) -> tuple[Contributors, bool]:
        """How many workers have not finished, and whether all of these pass the same number."""
        # One sum of three integers instead of a gather: its size does not grow with the number of workers, and finished workers take part
        # with zeros. 24 bits, so that a sum of squares stays below 2**63.
        number &= 0xFFFFFF
        own, sums = np.array([1, number, number * number]), np.zeros(3, np.int64)
        operation = CollectiveCall(SUM, sums.dtype.num, 3)
        contributors = self._in_order(label, operation, lambda: self._group.allreduce(sums, own), sums)
        count, total, squares = sums.tolist()
        return Contributors(count, contributors), total * total == count * squares  # the variance is 0 only if all are equal

    # copies

    def broadcast(self, label: object, array: NDArray) -> NDArray:
        """A copy of worker 0's array."""
        if 0 in self.finished:
            raise ClusterError(f"{in_words(label)}: its value is worker 0's, which has finished", None, "initialize keys before training")
        host = np.array(host_of(array), order="C")
        self._in_order(label, CollectiveCall(COPY, host.dtype.num, host.size), lambda: self._group.broadcast(host, 0), host)
        return wrap(NDArray, content(host, CPU))

    def gather(self, array: np.ndarray, label: object = "gather") -> np.ndarray:
        """The arrays of all workers, which have the same shape, as (size, …). The rows of finished workers are zeros."""
        found = np.zeros((self.size, *array.shape), array.dtype)

        def gather() -> None:
            found[self._group.members] = self._group.gather(array)

        self._in_order(label, CollectiveCall(GATHER, array.dtype.num, array.size), gather, found)
        return found

    def largest(self, number: int, label: object) -> int:
        """The largest of the workers' numbers, which must not be negative: finished workers send 0."""
        return int(self.gather(np.array([number]), label).max())

    def barrier(self) -> None:
        """Wait until all workers that have not finished have called this, and everything they have sent is summed.

        Raises
        ------
        ClusterError
            If a worker does something else.
        """
        self.agree("barrier", ("barrier",))  # not MPI's barrier: beside another operation that would wait for ever

    def _in_order(self, label: object, operation: CollectiveCall, function: Callable[[], object], out: np.ndarray) -> int:
        """Run a function that writes to ``out`` after all earlier calls, and wait for it. Returns the number of contributors."""
        contributors: list[int] = []

        def run() -> None:
            with self._lock:
                number = self._watch.begin(label, operation)
                with span(in_words(label), "communication", details={"operation": number}):
                    contributors.append(self._survivors.run(function, out))
                self._watch.end()

        # no earlier call is waiting, so this thread runs the call and saves the hand-over to the communication thread
        if self._is_idle():
            run()
        else:
            task = QUEUE.push(run, (), [self._order], LANE)
            QUEUE.wait(task)
            if task.error is not None:
                raise task.error
        return contributors[0]

    # spares

    def connect_spares(self, pool: "SparePool") -> None:
        """From now on spares can take the places of workers that die."""
        self._pool = pool

    def admit(self, label: object, facts: Iterable[object]) -> bool:
        """Let spares take the places of workers that have died, unless a worker has finished. All workers call this.

        Returns
        -------
        bool
            Whether a spare has joined.
        """
        share = self.agree(label, facts)
        pool = self._pool
        if pool is None or share.active != share.all or share.all == self.size or not pool.has_spares:
            return False
        with self._lock:
            self._watch.begin("spares joining", CollectiveCall(BARRIER, np.dtype(np.int8).num))
            # another worker may still repeat the last operation, which needs this worker; only afterwards may all turn to the spares
            self._survivors.catch_up()
            pool.call()
            joined = pool.regroup(self._watch.count, self._survivors.completed)
            assert joined is not None
            self.regroup(joined)
            self._watch.end()
        return joined.has_newcomers

    def regroup(self, joined: "Joined") -> None:
        """Go on with the cluster's workers after spares have joined; in a spare, begin with these workers."""
        self._group.replace(joined.comm, joined.members)
        self.rank = joined.members[joined.comm.rank]
        count, self._survivors.completed = joined.facts
        self._watch.regroup(joined.notices, joined.members, self.size, count)

    def handed_over(self, state: Callable[[], bytes] | None) -> bytes:
        """The state that newcomers need, returned on all workers: the bytes of the first worker that has a state."""
        label = "state for newcomers"
        while True:
            has = self.gather(np.array([state is not None], np.int64), label).reshape(-1)
            if not has.any():
                raise ClusterError("no worker is left that has the state of the training", None, "continue from a checkpoint")
            is_sender = self.rank == int(has.argmax())
            own = np.frombuffer(state() if state is not None and is_sender else b"", np.uint8)
            size, check = self.gather(np.array([own.size, crc32(own.data)]), label).max(axis=0).tolist()
            out = np.empty(size, np.uint8)
            # a sum with zeros, not a broadcast: survivors can repeat a sum if another worker dies in it
            for start in range(0, size, MOST):
                piece = out[start : start + MOST]
                source = own[start : start + MOST] if is_sender else np.zeros(piece.size, np.uint8)
                operation = CollectiveCall(SUM, out.dtype.num, piece.size)
                self._in_order(label, operation, partial(self._group.allreduce, piece, np.ascontiguousarray(source)), piece)
            if crc32(out.data) == check:  # otherwise the sender has died, and the next worker with a state sends it
                return out.tobytes()

    # for others, after this worker has finished

    def take_part(self, operation: CollectiveCall) -> None:
        """Take part in an operation of the others, with zeros."""
        kind, dtype, size = operation
        group, own = self._group, np.zeros(size, dtype_of(dtype))
        out = np.zeros((self.size, size) if kind == GATHER else size, own.dtype)

        def gather() -> None:
            out[group.members] = group.gather(own)

        functions = {
            SUM: lambda: group.allreduce(out, own),
            COPY: lambda: group.broadcast(out, 0),
            GATHER: gather,
            BARRIER: group.barrier,
        }
        self._survivors.run(functions[kind], out)

    def poll_recovery(self) -> bool:
        """Join the others if they recover from the death of a worker. Returns whether that completes an operation."""
        return self._survivors.poll_recovery()


def checksum(arrays: Sequence[NDArray]) -> int:
    """A number that almost certainly differs between arrays that differ. It takes about as long as reading the arrays."""
    found = 0
    for array in arrays:
        data = np.ascontiguousarray(host_of(array)).reshape(-1).view(np.uint8)
        whole = data.size // 8 * 8
        words = data[:whole].view(np.uint64)
        # a sum and an xor of words take less time than a CRC of all bytes; the CRC of both results makes the order of the arrays count
        both = np.array([np.add.reduce(words), np.bitwise_xor.reduce(words)], np.uint64)
        found = crc32(data[whole:].tobytes(), crc32(both.tobytes(), found))
    return found


def dtype_of(number: int) -> np.dtype:
    """The NumPy dtype with a number."""
    return next(d for d in [*NUMPY.values(), *map(np.dtype, np.typecodes["All"])] if d.num == number)
