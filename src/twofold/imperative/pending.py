"""Pending results of programs and copies that a lane, or a device's own queue, runs while the host continues.

A Value without data refers to its producer (see `Value.producer`): a window, a task, or a copy in progress. To get the data, a thread calls
the producer's `finish`. If the producer is a task that no thread has started, `finish` runs it in the calling thread.
"""

from collections.abc import Callable, Sequence
from weakref import ref

from ..backend.kernel import Array, ArrayType
from ..device import Device
from ..graph.ir import Node
from ..origin import frame_of_user, text_of
from ..scheduler.queue import QUEUE
from ..scheduler.streams import Arrival, run_on
from ..scheduler.variable import Lane, Task, Var
from .cell import Content, Value
from .dispatch import runs_here
from .invoke import data_of
from .window import LOCK, force, hand_out


class ProducerTask(Task):
    """A task as the producer of Values.

    Attributes
    ----------
    var
        The variable through which tasks that read the Values depend on this one.
    """

    __slots__ = ("var",)
    closed = True

    def __init__(self, lane: Lane, nanoseconds: float, nbytes: int) -> None:
        super().__init__(None, lane, nanoseconds=nanoseconds, nbytes=nbytes)
        self.var = Var()

    def finish(self) -> None:
        """Wait for the task, or run it."""
        QUEUE.wait(self)


class IncomingCopy:
    """A copy in progress as the producer of a Value. The first use of the Value makes the device's compute queue wait for the copy."""

    __slots__ = ("__weakref__", "_arrival", "_value")
    closed = True
    is_done = False
    error: BaseException | None = None

    def __init__(self, arrival: Arrival) -> None:
        self._arrival = arrival
        self._value: ref[Value] | None = None

    def value(self, kind: ArrayType, device: Device) -> Value:
        """The Value that will receive the copied data."""
        found = Value(None, None, (self, kind), device)
        self._value = ref(found)
        return found

    def finish(self) -> None:
        """Make the compute queue wait for the copy. The calling thread does not wait."""
        value = self._value() if self._value is not None else None
        if value is not None and value.data is None:
            hand_out(value, self._arrival.receive())


def is_pending(v: Value) -> bool:
    """Whether a task will compute the Value and has not finished."""
    producer = v.producer  # read before data: the producer's thread writes data first and clears ``producer`` after it
    return v.data is None and producer is not None and isinstance(producer[0], ProducerTask)


def by_task(contents: Sequence[Content]) -> list[list[int]]:
    """Positions of contents, grouped: first those that no task computes, then one group per task, in the order of submission."""
    found: dict[int, list[int]] = {}
    for k, v in enumerate(contents):
        producer = v.producer if isinstance(v, Value) and is_pending(v) else None
        found.setdefault(-1 if producer is None else producer[0].serial, []).append(k)
    return [found[serial] for serial in sorted(found)]


def issue(
    run: Callable[[list[Array]], Sequence[Array]],
    operands: Sequence[Value | Array],
    types: Sequence[Node | ArrayType],
    device: Device,
    nanoseconds: float,
    lane: Lane | None = None,
    order: Var | None = None,
) -> list[Value]:
    """Run a function of arrays on a device once its operands are ready.

    Parameters
    ----------
    run
        Takes the operands' arrays and returns the results'.
    operands
        Values, and arrays that are never written.
    types
        For each result its node or an `ArrayType`, which give shape and dtype.
    device
        Where the results are.
    nanoseconds
        Estimated duration. If it is short and all operands are ready, the function runs immediately in this thread.
    lane
        The lane that runs it, if not the device's own compute lane.
    order
        A variable of functions that must run one after the other, in the order in which they were issued.

    Returns
    -------
    list
        The results, pending or not. An error is raised when one is read.
    """
    operands = [v.steady() if isinstance(v, Value) else v for v in operands]
    waits = [v for v in operands if isinstance(v, Value) and v.data is None]
    if runs_here(device, nanoseconds, bool(waits), lane is not None):
        arrays = [data_of(v) for v in operands]
        return [Value(r, device=device) for r in run_on(device, run, arrays)]
    for v in waits:
        if is_pending(v):
            v.share()  # the Value must not be overwritten between its computation and this task's read
        else:  # the producer is a window or a copy: run the window, or make the device wait for the copy
            force(v)
    made, user = ProducerTask(lane or Lane(device), nanoseconds, sum([kind.nbytes for kind in types])), frame_of_user(1)
    code, instruction = user.f_code, user.f_lasti
    del user  # a frame keeps its variables alive
    results = [Value(None, None, (made, kind), device) for kind in types]

    def work() -> None:
        try:
            for v, data in zip(results, run_on(device, run, [data_of(v) for v in operands]), strict=True):
                hand_out(v, data)
        except Exception as error:
            if not getattr(error, "__notes__", ()):  # an operand's error already says where that was issued
                error.add_note(f"issued at {text_of(code, instruction)}")
            raise

    # assigned after construction, because `work` needs the results, and the results need the task
    made.function = work
    for v in operands:
        if isinstance(v, Value) and v.data is not None:
            _lend(v, made)
    earlier = [producer[0] for producer in [v.producer for v in waits] if producer is not None]
    QUEUE.submit(made, [e.var for e in earlier if isinstance(e, ProducerTask)], [made.var] if order is None else [made.var, order])
    return results


def _lend(v: Value, reader: ProducerTask) -> None:
    """Protect a Value from being overwritten before the task that holds it has read it."""
    with LOCK:
        if v.producer is None or v.producer[0].is_done:
            v.producer = reader, ArrayType(*v.type)
        else:  # another task or window reads it too
            v.share()
