"""Decides how an operation runs: immediately, in the window of its device, or on a lane of the scheduler; recorded or not.

The decision depends on devices, sizes and settings, never on time, so that a program runs in the same way every time.

Tests of a single content are in `guards`. Views and writes decide for themselves (`write.read_inline`, `write._settle`), by the size of
the part that they read or write.
"""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

from ..assembly import fragment, inlined
from ..config import SETTINGS
from ..device import CPU, Device
from ..opdef.facets.execution import WHOLE
from ..scheduler.variable import HAND_OVER
from .cell import PLAIN, Operand, Value
from .guards import is_exposed, runs_inline
from .scalars import scalar_key


class ExecutionMode(Enum):
    """How an operation runs.

    Attributes
    ----------
    INLINE
        Now, in this thread.
    RECORDED
        Now, and recorded on the tape.
    DEFERRED
        Added to the device's window, and run together with later operations.
    RECORDED_DEFERRED
        Recorded on the tape and added to the window.
    """

    INLINE = 0
    RECORDED = 1
    DEFERRED = 2
    RECORDED_DEFERRED = 3


@fragment
def execution_mode(device: Device, *, tracked: bool, lazy: bool, exposed: bool, inline: bool) -> ExecutionMode:
    """How an operation runs.

    Parameters
    ----------
    device
        Where.
    tracked
        Whether its gradient is recorded.
    lazy
        Whether an operand is large, pending, or in a device's own memory.
    exposed
        Whether code outside the library sees the buffer of an operand. It may write there later, so it is read now.
    inline
        Whether it is not deferred in any case: the shapes of its results depend on data, or its site runs inline.
    """
    # On a device with its own queue even small operations wait: one launch of a fused kernel costs as much as a launch of each of its
    # parts.
    if (lazy or not device.is_host) and not exposed and not inline and SETTINGS.engine != "naive":
        return ExecutionMode.RECORDED_DEFERRED if tracked else ExecutionMode.DEFERRED
    return ExecutionMode.RECORDED if tracked else ExecutionMode.INLINE


def is_ready(contents: Iterable[Operand]) -> bool:
    """Whether all contents are computed and in the host library's arrays on cpu(0)."""
    for v in contents:  # noqa: SIM110  `any` with a generator would enter a frame for each content
        if isinstance(v, Value) and (v.data.__class__ is not PLAIN or v.device is not CPU):
            return False
    return True


@inlined
def joined_device(contents: Iterable[Operand]) -> Device | None:
    """The short path of `execution_mode`, for an unrecorded operation: the device on which it is deferred, else None.

    The operands are Values and Python numbers. None also where only `execution_mode` can decide: for operands on several devices, on others
    of the host than cpu(0), and operands that code outside the library sees.
    """
    if SETTINGS.engine == "naive":
        return None
    big = SETTINGS.defer_elements
    lazy = False
    where = None
    for v in contents:
        if isinstance(v, Value):
            device = v.device
            if device is not CPU:
                if device.is_host:
                    return None
                lazy = True  # on a device with its own queue even small operations wait
            if where is not device:
                if where is not None:
                    return None
                where = device
            data = v.data
            if data is None:
                lazy = True
            elif is_exposed(v):
                return None
            elif data.__class__ is not PLAIN or data.size >= big:
                lazy = True
    return where if lazy else None


@fragment
@inlined
def joins_window(largest: int, device: Device) -> bool:
    """Whether forward and backward of a bound graph join a window: if its largest array is large enough. GPUs have a lower limit."""
    return not runs_inline(largest // (WHOLE if device.is_host else 1)) and SETTINGS.engine != "naive"


def runs_here(device: Device, nanoseconds: float, waits: bool, own_lane: bool) -> bool:
    """Whether a program runs in this thread rather than as a task on a lane.

    Parameters
    ----------
    device
        Where its results are. For devices with their own queues the host only issues the work.
    nanoseconds
        Its estimated duration: a short program takes less time than the hand-off to another thread.
    waits
        Whether operands are pending.
    own_lane
        Whether the program has a lane of its own, like a copy that waits for a device.
    """
    if SETTINGS.engine == "naive":
        return True
    return not own_lane and (not device.is_host or (nanoseconds < HAND_OVER and not waits))


def may_wait(v: Operand) -> bool:
    """Whether an operand may be read later: not if code outside the library may write it, and not if it is a user's object."""
    return not v.pinned if isinstance(v, Value) else v.__class__ in (float, int, PLAIN)


SCALARS = (float, int, bool)


def inline_key(contents: Sequence[Any]) -> tuple[object, ...] | None:
    """The key of an inline call's program: types of arrays, classes of scalars, values of literals; None for other operands."""
    parts: list[object] = []
    for v in contents:
        data = v.data if v.__class__ is Value else v
        if data.__class__ is PLAIN:  # one after the other: hashing pairs takes longer
            parts.append(data.shape)
            parts.append(data.dtype)
        elif data is None:
            if v is not None:
                return None
            parts.append(None)
        elif data.__class__ in SCALARS:
            parts.append(scalar_key(data))
        else:
            return None
    return tuple(parts)
