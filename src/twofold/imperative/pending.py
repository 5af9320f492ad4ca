"""Results that are there later: of programs and copies that were given to a lane or to a device's own queue, so that the host goes on.

A Value without data knows what makes it (see `Value.at`): a window, a task, or a copy on its way. Who needs the data calls `finish`
on that: a task that nobody has begun is run by who needs it.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from ..backend.kernel import ArrayType
from ..backend.loader import backend_for
from ..config import SETTINGS
from ..device import Device
from ..dtype import NUMPY
from ..scheduler.queue import QUEUE
from ..scheduler.streams import Arrival, run_on
from ..scheduler.variable import Lane, Task, Var
from .cell import Value
from .origin import frame_of_user, text_of
from .way import runs_here
from .window import LOCK, force, hand_out


class Pending(Task):
    """A task as the maker of Values.

    Attributes
    ----------
    var
        What stands for the Values where other tasks read them.
    """

    __slots__ = ("var",)
    closed = True

    def __init__(self, lane: Lane, nanoseconds: float, nbytes: int) -> None:
        super().__init__(None, lane, nanoseconds=nanoseconds, nbytes=nbytes)
        self.var = Var()

    def finish(self) -> None:
        """Wait for the task, or run it."""
        QUEUE.wait(self)


class Arriving:
    """A copy on its way as what makes a Value: the first who needs it has the device's compute queue wait for it."""

    __slots__ = ("__weakref__", "_arrival", "_value")
    closed = True
    is_done = False
    error: BaseException | None = None

    def __init__(self, arrival: Arrival) -> None:
        self._arrival = arrival
        self._value: ref[Value] | None = None

    def value(self, kind: ArrayType, device: Device) -> Value:
        """The Value whose data it becomes."""
        found = Value(None, None, (self, kind), device)
        self._value = ref(found)
        return found

    def finish(self) -> None:
        """Have the compute queue wait; no thread waits."""
        value = self._value() if self._value is not None else None
        if value is not None and value.data is None:
            hand_out(value, self._arrival.receive())


def is_pending(v: Value) -> bool:
    """Whether a task makes the Value's data, and has not yet."""
    at = v.at  # before data: they are set the other way round
    return v.data is None and at is not None and at[0].__class__ is Pending


def steady(v: Value) -> Value:
    """The Value, or a copy of it if memory outside of the library sees it: what runs later must not see later writes."""
    return Value(backend_for(v.device).copy(v.data, v.device), device=v.device) if v.pinned else v


def nbytes_of(kind: Any) -> int:
    """Bytes of an array of a type."""
    return math.prod(kind.shape) * NUMPY[kind.dtype].itemsize


def issue(
    run: Callable[[list[Any]], Sequence[Any]],
    operands: Sequence[Any],
    types: Sequence[Any],
    device: Device,
    nanoseconds: float,
    lane: Lane | None = None,
) -> list[Value]:
    """Have a function of arrays run on a device, after what its operands wait for.

    Parameters
    ----------
    run
        Takes the operands' arrays and returns the results'.
    operands
        Values, and arrays that nobody writes.
    types
        What has shape and dtype name of each result.
    device
        Where the results are.
    nanoseconds
        About how long it takes; where that is short and all operands are there it runs here, at once.
    lane
        Who runs it, if that is not the device's own compute lane.

    Returns
    -------
    list
        The results, pending or not. An error is raised when one is read.
    """
    operands = [steady(v) if v.__class__ is Value else v for v in operands]
    waits = [v for v in operands if v.__class__ is Value and v.data is None]
    if SETTINGS.engine == "naive" or (lane is None and runs_here(device, nanoseconds, bool(waits))):
        arrays = [_array(v) for v in operands]
        return [Value(r, device=device) for r in run_on(device, run, arrays)]
    for v in waits:
        if is_pending(v):
            v.share()  # when it is there, nobody may write over it before this has read it
        else:  # a window makes it, which runs here, or it is a copy, for which the device waits
            force(v)
    made, user = Pending(lane or Lane(device), nanoseconds, sum(map(nbytes_of, types))), frame_of_user(1)
    code, instruction = user.f_code, user.f_lasti
    del user  # a frame keeps its variables alive
    results = [Value(None, None, (made, kind), device) for kind in types]

    def work() -> None:
        try:
            for v, data in zip(results, run_on(device, run, [_array(v) for v in operands]), strict=True):
                hand_out(v, data)
        except Exception as error:
            if not getattr(error, "__notes__", ()):  # what it reads may have failed, and says where it was issued
                error.add_note(f"issued at {text_of(code, instruction)}")
            raise

    made.function = work
    for v in operands:
        if v.__class__ is Value and v.data is not None:
            _lend(v, made)
    earlier = [at[0] for at in [v.at for v in waits] if at is not None]
    QUEUE.submit(made, [e.var for e in earlier if e.__class__ is Pending], [made.var])
    return results


def _array(v: Any) -> Any:
    if v.__class__ is not Value:
        return v
    return force(v) if v.data is None else v.data


def _lend(v: Value, reader: Pending) -> None:
    """See to it that nobody writes over a Value before a task has read it; the task holds the Value."""
    with LOCK:
        if v.at is None or v.at[0].is_done:
            v.at = reader, ArrayType(*v.type)
        else:  # something else reads it, too
            v.share()
