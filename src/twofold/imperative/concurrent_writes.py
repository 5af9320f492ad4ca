"""Threads that write different parts of one array at a time: none of the writes is lost (see `cell.Value`)."""

import sys
import threading
from collections.abc import Callable, Sequence
from time import monotonic, sleep
from types import CodeType, FrameType

from ..assembly import F
from ..backend.forks import LOCKS
from ..collector import RESTING
from .cell import REPLACING, Cell, Content, Value, content_of

#: Held while a content that a thread has made from the array's takes its place.
_REBINDING = threading.RLock()
LOCKS.insert(0, _REBINDING)
#: How long a thread waits for those that write in place, in seconds. A write takes less, but an interrupt may keep a writer from leaving.
_PATIENCE = 1.0
#: The code of generated functions that write in place. Each has the content in a variable ``of`` before it looks whether it may.
_WRITERS: set[CodeType] = set()
#: How many functions of NumPy's and of the program's, such as handlers of warnings, are looked through for such a one.
_DEPTH = 8
_PACKAGE = f"{__name__.partition('.')[0]}."


def written_in_place(root: Cell, v: Value, write: Callable[[], object]) -> bool:
    """Run a function that writes an array's content in place; False if the content is or will be another one."""
    v.writers += 1
    try:
        # exported memory is written in place whatever else sees it
        if not v.pinned and (content_of(root) is not v or v.writers >= REPLACING):
            return False
        write()
        return True
    finally:
        v.writers -= 1


def writes_in_place(function: F) -> F:
    """Have copies of a content wait while a thread runs this function."""
    _WRITERS.add(function.__code__)
    return function


def _are_written(contents: Sequence[Value]) -> bool:
    """Whether another thread writes one of some contents in place."""
    if any(v.writers % REPLACING for v in contents):
        return True
    own = threading.get_ident()
    # A collection of garbage inside of what CPython 3.11 does for frames would let other threads run meanwhile: they would wait for a lock
    # that is held, or leave the frames that are looked at.
    with RESTING:
        return any(_writes(frame, contents) for thread, frame in sys._current_frames().items() if thread != own)


def _writes(top: FrameType, contents: Sequence[Value]) -> bool:
    """Whether a thread whose innermost frame is given writes one of some contents by a generated function."""
    frame: FrameType | None = top
    for _ in range(_DEPTH):
        if frame is None:
            break
        if frame.f_code in _WRITERS:
            of = frame.f_locals.get("of")
            # what was plain memory when it looked may have become a value since
            return any(of is v or of is v.data for v in contents)
        if str(frame.f_globals.get("__name__")).startswith(_PACKAGE):
            break  # a generated function that has called it does not write any more, or not yet
        frame = frame.f_back
    return False


def wait_for_writers(*contents: Value) -> None:
    """Wait, for a while, until no other thread writes some contents in place; the caller has seen to it that none begins."""
    if _are_written(contents):
        end = monotonic() + _PATIENCE
        while _are_written(contents) and monotonic() < end:
            sleep(1e-5)


def replace(root: Cell, make: Callable[[Content], Content]) -> None:
    """Bind what a function makes of an array's content; again if another thread has replaced the content meanwhile."""
    is_bound = False
    while not is_bound:
        v = content_of(root)
        if root._held is None:  # a view that takes gradients has a new content at each look
            root._rebind(make(v))
            return
        if v.__class__ is not Value:  # other threads see that a Value will be replaced
            v = root._capture()
        v.writers += REPLACING
        try:
            if v.data is not None:
                wait_for_writers(v)
            new = make(v)
            with _REBINDING:
                is_bound = content_of(root) is v
                if is_bound:
                    root._rebind(new)
        finally:
            v.writers -= REPLACING
