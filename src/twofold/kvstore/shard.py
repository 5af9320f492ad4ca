"""`Shard`: a server's part of one key: its value, the sum that is being collected, and how far each worker is."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import ClusterError, DTypeError, FormatError, MXNetError, ShapeError
from ..ndarray.array import NDArray
from ..ndarray.new_arrays import from_numpy
from ..ndarray.sparse import row_sparse_array
from .announcement import Included
from .base import Key
from .compression import unpack_two_bit
from .messages import DTYPE_OF, LARGE, Flag, Message, bytes_of

if TYPE_CHECKING:
    from ..optimizer.base import State


class Parked(NamedTuple):
    """A request that waits until every worker has made ``clock`` pushes. Its payload has memory of its own."""

    clock: int
    source: int
    request: Message
    since: float


class Buffer:
    """One piece of memory as a NumPy array, as an NDArray for optimizers, and as bytes for messages."""

    __slots__ = ("array", "bytes", "ndarray")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.array = np.zeros(shape, dtype)
        # an array that an NDArray shares may only be written through the NDArray. A view of it is shared here, so `array` stays writable
        self.ndarray: NDArray = from_numpy(self.array.view())
        self.bytes = bytes_of(self.array)


class Shard:
    """One key's part on one server.

    Parameters
    ----------
    name
        The key, as users name it.
    index
        Which part of the tensor it is.
    shape
        Shape of the part.
    dtype
        MXNet's code of its data type.
    is_row_sparse
        Whether pushed values without an updater replace only their rows.
    is_cut
        Whether other servers have other parts.
    """

    def __init__(self, name: Key, index: int, shape: tuple[int, ...], dtype: int, is_row_sparse: bool, is_cut: bool) -> None:
        self.name, self.index, self.shape, self.code = name, index, shape, dtype
        self.is_row_sparse, self.is_cut = is_row_sparse, is_cut
        self.dtype = DTYPE_OF[dtype]
        self.size = int(np.prod(shape))
        self.nbytes = self.size * self.dtype.itemsize
        self.row_shape = shape[1:]
        self.row_bytes = self.nbytes // shape[0] if self.size else 0
        #: The value, and the sum that is being collected; `store_sum` exchanges them. None before the initial value.
        self._value: Buffer | None = None
        self._total: Buffer | None = None
        #: The optimizer's state of this part. `has_state` says whether it was made: the state of an optimizer without momentum is None too.
        self.state: State = None
        self.has_state = False
        #: Number of pushes of each worker, its `lag` included. A clock never goes back.
        self.clocks: dict[int, int] = {}
        #: Of a store that is not synchronous: the number of pushes that the value includes, those of workers that have left among them.
        self.version = 0
        #: The number to add to a worker's own count of pushes, because it joined later or finished an epoch with fewer batches.
        self.lag: dict[int, int] = {}
        #: Number of pushes that every worker has made. Of a synchronous store: the number of sums that are complete.
        self.reached = 0
        #: Requests that wait, in the order of arrival. Payloads have memory of their own, because the transport uses its memory again.
        self.parked: list[Parked] = []
        #: The error of a failed update, which every pull gets until a new optimizer is set.
        self.failure: MXNetError | None = None
        #: The server that had this part before it died.
        self.heir_of: int | None = None
        #: Before there is a value: what each worker's own value includes, and the worker that was asked to send its value.
        self.announced: dict[int, Included] = {}
        self.sender: int | None = None
        #: How many workers are at each clock, see `passed`.
        self._at: Counter[int] = Counter()
        # The sum being collected. Workers are added in ascending order; `last_added` is the last one, -1 before the first.
        self.last_added = -1
        self.contributors = 0
        #: Pushes that came before their turn, by clock and worker, with payloads of their own.
        self.kept: dict[tuple[int, int], Message] = {}
        #: Which rows have been added to, if pushes are row-sparse; and whether a push was dense.
        self._touched: np.ndarray | None = None
        self._is_dense_sum = False
        #: Whether the sum's memory is 0 outside the touched rows. Only then may rows be added to it.
        self._is_clear = True

    # the value

    @property
    def has_value(self) -> bool:
        """Whether a worker has sent the initial value."""
        return self._value is not None

    @property
    def weight(self) -> NDArray:
        """The value as an NDArray, which optimizers update in place."""
        return self._buffers()[0].ndarray

    @property
    def value_bytes(self) -> memoryview:
        """The value's memory."""
        return self._buffers()[0].bytes

    def set_value(self, message: Message) -> None:
        """Store the initial value.

        Raises
        ------
        ShapeError, DTypeError
            If its size or data type is not as announced.
        """
        source = self._dense(message)
        # allocated only here: an announcement alone must not take memory
        value = Buffer(self.shape, self.dtype)
        value.array.reshape(-1)[:] = source
        self._value, self._total = value, Buffer(self.shape, self.dtype)

    def rows(self, ids: np.ndarray) -> memoryview:
        """Copies of rows, as bytes."""
        if ids.size and (int(ids.min()) < 0 or int(ids.max()) >= self.shape[0]):
            raise ShapeError(f"key {self.name!r}: a row does not exist", f"rows {ids.min()} to {ids.max()}", f"there are {self.shape[0]}")
        found = self._buffers()[0].array.take(ids, axis=0)
        return bytes_of(found)

    def _buffers(self) -> tuple[Buffer, Buffer]:
        if self._value is None or self._total is None:
            raise ClusterError(f"key {self.name!r} has no value yet", f"part {self.index}", "send it with BCAST after INIT")
        return self._value, self._total

    # payloads

    def ids_in(self, message: Message) -> np.ndarray:
        """The row ids at the start of a payload."""
        if message.rows * 8 > len(message.payload):
            raise FormatError(f"key {self.name!r}: the payload has too few row ids", f"{message.rows} rows", "send it again")
        return np.frombuffer(message.payload, np.int64, message.rows)

    def check(self, message: Message) -> None:
        """Raise an error unless a payload fits the shard. A server calls this once, before it changes anything."""
        self._buffers()
        if message.flags & Flag.ROW_SPARSE:
            self._check_dtype(message)
            ids = self.ids_in(message)
            if len(message.payload) != message.rows * (8 + self.row_bytes):
                given = f"{len(message.payload)} bytes"
                raise ShapeError(f"push of key {self.name!r}: the rows have the wrong size", given, self._wanted())
            if message.rows and (ids[0] < 0 or ids[-1] >= self.shape[0] or not (ids[1:] > ids[:-1]).all()):
                raise ShapeError(f"push of key {self.name!r}: row ids must ascend and be below {self.shape[0]}", str(ids[:8]), "sort them")
        elif message.flags & Flag.TWO_BIT:
            if len(message.payload) != -(-self.size // 4):
                raise ShapeError(f"push of key {self.name!r}: wrong size", f"{len(message.payload)} bytes", f"pack {self.size} elements")
        else:
            self._dense(message)

    def _check_dtype(self, message: Message) -> None:
        if message.dtype != self.code:
            given = DTYPE_OF.get(message.dtype, message.dtype)
            raise DTypeError(f"key {self.name!r}: the data type is not that of its initial value", str(given), f"cast it to {self.dtype}")

    def _dense(self, message: Message) -> np.ndarray:
        if message.dtype != self.code:
            self._check_dtype(message)
        if len(message.payload) != self.nbytes:
            raise ShapeError(f"key {self.name!r}: the value has the wrong size", f"{len(message.payload)} bytes", self._wanted())
        return np.frombuffer(message.payload, self.dtype)

    def _wanted(self) -> str:
        return f"part {self.index} has shape {self.shape} of {self.dtype}"

    # sums, in the order of workers

    def next_contributor(self, live: Sequence[int], done: Collection[int]) -> int | None:
        """The worker whose push is added next; None if the sum is complete."""
        round_ = self.reached + 1
        for k in range(bisect_right(live, self.last_added), len(live)):
            worker = live[k]
            # a worker whose epoch has ended still counts in the rounds for which it has pushed
            if worker not in done or self.clocks.get(worker, 0) >= round_:
                return worker
        return None

    def add(self, worker: int, message: Message, threshold: float | None) -> None:
        """Add a worker's push to the sum."""
        total = self._buffers()[1]
        flat = total.array.reshape(-1)
        is_first = self.contributors == 0
        self.last_added = worker
        self.contributors += 1
        if message.flags & Flag.ROW_SPARSE:
            self._add_rows(message, total.array)
            return
        self._is_dense_sum = True
        self._is_clear = False
        if message.flags & Flag.TWO_BIT:
            packed, found = np.frombuffer(message.payload, np.uint8), flat if is_first else np.empty_like(flat)
            unpack_two_bit(packed, threshold or 0.0, found)
            if not is_first:
                np.add(flat, found, out=flat)
            return
        source = np.frombuffer(message.payload, self.dtype)
        # the first push overwrites the former sum, which saves a pass that clears the memory
        if is_first:
            flat[:] = source
        else:
            np.add(flat, source, out=flat)

    def _add_rows(self, message: Message, total: np.ndarray) -> None:
        if self._touched is None:
            self._touched = np.zeros(self.shape[0], bool)
        # dense sums leave their numbers in this memory; rows are added to its content, so the first push of rows clears it
        if self.contributors == 1 and not self._is_clear:
            total.fill(0)
            self._is_clear = True
        ids = self.ids_in(message)
        rows = np.frombuffer(message.payload, self.dtype, offset=8 * message.rows).reshape(message.rows, *self.row_shape)
        total[ids] += rows  # right because `check` has seen that ids ascend: a repeated id would be added once only
        self._touched[ids] = True

    def gradient_in(self, message: Message) -> NDArray | None:
        """The gradient of one worker as a view of a large payload, which saves a copy. None if it must be unpacked or copied."""
        payload = message.payload
        if message.flags & (Flag.ROW_SPARSE | Flag.TWO_BIT) or len(payload) < LARGE or memoryview(payload).readonly:
            return None
        return from_numpy(np.frombuffer(payload, self.dtype).reshape(self.shape))

    def gradient(self) -> NDArray:
        """The sum, row-sparse if all pushes were."""
        total = self._buffers()[1]
        if self._is_dense_sum or self._touched is None:
            return total.ndarray
        ids = np.flatnonzero(self._touched)
        # copies of the rows: an optimizer may keep its gradient, and the memory of the sum is used again
        return row_sparse_array((total.array[ids], ids), shape=self.shape, dtype=self.dtype)

    def store_sum(self) -> None:
        """Replace the value by the sum; of a row-sparse key only the rows that were pushed."""
        value, total = self._buffers()
        if self._is_dense_sum or not self.is_row_sparse or self._touched is None:
            self._value, self._total = total, value  # exchanged, not copied: the next sum overwrites the former value
            self._is_clear = False
        else:
            ids = np.flatnonzero(self._touched)
            value.array[ids] = total.array[ids]

    def begin_sum(self) -> None:
        """Begin the next sum in the same memory. Touched rows are cleared here; a dense sum is overwritten by its first push."""
        self.last_added, self.contributors = -1, 0
        if self._touched is not None:
            if self._is_clear:
                self._buffers()[1].array[np.flatnonzero(self._touched)] = 0
            self._touched.fill(False)
        self._is_dense_sum = False

    # clocks

    def count_clocks(self, workers: Collection[int]) -> None:
        """Set `reached` to the smallest clock of the workers that go on pushing. If none does, it is the largest of all clocks."""
        clocks = self.clocks
        self._at = Counter(clocks.get(w, 0) for w in workers)
        self.reached = min(self._at, default=max(clocks.values(), default=0))

    def passed(self, clock: int) -> bool:
        """Count a worker's push; return whether the smallest clock has grown. The time does not depend on the number of workers."""
        # counts of workers by clock, because the least clock of a thousand workers would take too long for each push
        at = self._at
        at[clock - 1] -= 1
        at[clock] += 1
        if at[clock - 1]:
            return False
        del at[clock - 1]
        if clock - 1 != self.reached:
            return False
        self.reached = clock  # this worker was the last at `clock - 1`, so the smallest clock is now its own
        return True

    def included(self) -> Included:
        """The pushes that the value includes."""
        return Included(self.version, {worker: clock - self.lag.get(worker, 0) for worker, clock in self.clocks.items()})

    def equalize(self, workers: Collection[int]) -> None:
        """Let all workers continue from the largest clock. Their own counts of pushes stay; `lag` holds the difference."""
        clock = max([self.reached, *self.clocks.values()])
        for w in workers:
            behind = clock - self.clocks.get(w, 0)
            if behind:
                self.lag[w] = self.lag.get(w, 0) + behind
                self.clocks[w] = clock
        self.reached = clock

    # parked requests

    def take_parked(self, worker: int | None = None) -> list[Parked]:
        """Remove the parked requests of one worker, or of all, and return them."""
        found = [p for p in self.parked if worker in (None, p.source)]
        self.parked = [p for p in self.parked if worker not in (None, p.source)]
        return found

    def take_overdue(self, now: float, seconds: float) -> list[Parked]:
        """Remove the requests that have been parked for more than some seconds, and return them."""
        late = [p for p in self.parked if now - p.since > seconds]
        if late:
            self.parked = [p for p in self.parked if now - p.since <= seconds]
        return late

    def missing(self, clock: int, live: Sequence[int], done: Collection[int]) -> list[int]:
        """The workers that a request at some clock waits for; none if it waits for the initial value."""
        if self.heir_of is not None and not self.has_value:
            return [w for w in live if w not in self.announced]
        return [w for w in live if self.clocks.get(w, 0) < clock and w not in done]

    def forget(self, worker: int) -> None:
        """Drop a worker's pushes that are not part of a sum yet, and its parked requests."""
        # pushes that are already part of a sum stay in it: other workers may have received that sum
        for table in (self.clocks, self.lag, self.announced):
            table.pop(worker, None)
        self.sender = None if self.sender == worker else self.sender
        self.kept = {(clock, w): m for (clock, w), m in self.kept.items() if w != worker}
        self.take_parked(worker)
