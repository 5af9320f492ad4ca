"""Indices that are checked by the device: nobody waits, and who reads what was computed of a wrong one learns it.

A kernel notes the first index that is on no axis. The note is in pinned memory, which kernels write and the host reads. Arrays remember
of which checks they were computed, as long as these are open: until the device has passed them and found nothing. Places that are on no
axis are moved onto it.
"""

import threading
import weakref
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import cupy
import numpy as np

from twofold.backend.c_text import C_TYPES, STORED
from twofold.backend.namespace import checked_places

from .launch import each, function, run
from .memory import Memory
from .operands import dtype_of
from .rehearsal import arrays_in, rehearses
from .streams import Mark, Stream

#: A note's first word while nothing was found.
NOTHING = np.int64(2**63 - 1)


class Note(NamedTuple):
    """What kernels write: where the first wrong index stands, and what it is. With what was asked of the indices."""

    words: np.ndarray
    size: int
    negative: bool


class Check:
    """One look at a note: its number, which thread issued it, after which mark it is possible, and then the words if something is wrong."""

    __slots__ = ("found", "mark", "note", "number", "thread")

    def __init__(self, number: int, note: Note, mark: Mark) -> None:
        self.number, self.note, self.mark, self.thread = number, note, mark, threading.get_ident()
        self.found: np.ndarray | None = None


class Recurring(NamedTuple):
    """A note that kernels write each time a graph is launched."""

    checks: "Checks"
    note: Note
    stream: Stream

    def before(self) -> None:
        """Wait until what the last launch wrote was read: launches share the note."""
        self.checks.finish(self.note)

    def after(self) -> None:
        """Look at what this launch writes."""
        self.checks.watch(self.note, self.stream)


class Checks:
    """The open checks of an adapter, and which arrays were computed of what they look at.

    Attributes
    ----------
    count
        How many were issued.
    concerned
        For each array, by its identity, a weak reference to it and its checks.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._lock = threading.RLock()
        self._open: list[Check] = []
        self.count = 0
        self.concerned: dict[int, tuple[Any, tuple[Check, ...]]] = {}

    def noted(self, index: cupy.ndarray, out: cupy.ndarray, size: int, negative: bool) -> Note:
        """Have the places of an axis written that indices mean, and the first noted that means none."""
        words = self._memory.staging((2,), np.dtype(np.int64))
        words[0] = NOTHING
        kernels, at = text(dtype_of(index)), np.uint64(words.ctypes.data)
        numbers = [np.int64(index.size), np.int64(-size if negative else 0), np.int64(size)]
        run(function(kernels, "tf_checked"), index.size, *numbers, index, out, at)
        run(function(kernels, "tf_note"), 1, np.int64(1), index, at)
        return Note(words, size, negative)

    def watch(self, note: Note, stream: Stream, *arrays: cupy.ndarray) -> None:
        """Look at a note when a stream has come so far. Kernels that run again may write one again: then each time is watched."""
        if rehearses():
            return
        with self._lock:
            self._settle()
            self.count += 1
            check = Check(self.count, note, stream.record())
            self._open.append(check)
        for array in arrays:
            self._concern(array, (check,))

    def finish(self, note: Note) -> None:
        """Wait for the open looks at a note."""
        with self._lock:
            waiting = [c for c in self._open if c.note is note and c.found is None]
        for check in waiting:
            check.mark.event.synchronize()
        with self._lock:
            self._settle()

    def follow(self, before: int, given: Sequence[Any], results: Any) -> Any:
        """Have arrays that a call returned remember the checks that it issued, and those of the arrays that it was given.

        Parameters
        ----------
        before
            The `count` when the call began.
        given, results
            Arrays, or lists of them.
        """
        with self._lock:
            self._settle()
            mine = [c for c in self._open if c.number > before and c.thread == threading.get_ident()]
        checks = tuple({*mine, *[c for a in arrays_in(given) for c in self._of(a)]})
        for a in arrays_in((results,)) if checks else ():
            self._concern(a, checks)
        return results

    def raise_for(self, array: Any) -> None:
        """Raise the error of the earliest check that an array, which the host has waited for, was computed of."""
        self._raise_first(self._of(array))

    def raise_earliest(self) -> None:
        """Raise the earliest error that the device has passed and nobody has been told; arrays that were computed of it keep it."""
        self._raise_first(set(self._open))

    def _raise_first(self, checks: set[Check]) -> None:
        with self._lock:
            self._settle()
            wrong = sorted((c for c in checks if c.found is not None), key=lambda c: c.number)
            self._open = [c for c in self._open if c not in wrong[:1]]
        for check in wrong[:1]:
            checked_places(check.found[1:], check.note.size, check.note.negative)  # type: ignore[index]

    def _of(self, array: cupy.ndarray) -> set[Check]:
        """The checks of all arrays that look into an array's memory."""
        known = [(reference(), checks) for reference, checks in list(self.concerned.values())]
        return {c for other, checks in known if other is not None and other.data.mem is array.data.mem for c in checks}

    def _concern(self, array: Any, checks: tuple[Check, ...]) -> None:
        key = id(array)
        self.concerned[key] = weakref.ref(array, lambda _: self.concerned.pop(key, None)), checks

    def _settle(self) -> None:
        """Take what was found by checks that the device has passed, and forget those that found nothing."""
        passed = [c for c in self._open if c.found is None and c.mark.event.done]
        for check in passed:
            if check.note.words[0] != NOTHING:
                check.found = check.note.words.copy()
        for check in passed:
            if check.found is not None:
                check.note.words[0] = NOTHING
        right = {c for c in passed if c.found is None}
        if right:
            self._open = [c for c in self._open if c not in right]
            for key, (array, checks) in list(self.concerned.items()):
                left = tuple(c for c in checks if c not in right)
                if left:
                    self.concerned[key] = array, left
                else:
                    self.concerned.pop(key, None)


@cache
def text(dtype: str) -> str:
    """The text that makes places of indices of a dtype, and the one that notes what stands at the first wrong place."""
    kind, stored = C_TYPES[dtype], STORED[dtype]
    is_wrong = "(unsigned long long)x >= size" if dtype.startswith("uint") else "x < low || x >= size"
    parameters = ["const long long count", "const long long low", "const long long size", f"const {stored} *in", f"{stored} *out"]
    body = [
        f"const {kind} x = in[i];",
        f"const bool wrong = {is_wrong};",
        "if (wrong) atomicMin(note, i);",
        f"out[i] = ({kind})(wrong ? 0 : x < 0 ? x + size : x);",
    ]
    checked = each("tf_checked", [*parameters, "long long *note"], "count", body)
    told = ["if (note[0] != 0x7fffffffffffffffLL) note[1] = (long long)in[note[0]];"]
    noted = each("tf_note", ["const long long count", f"const {stored} *in", "long long *note"], "count", told)
    return checked + noted[noted.index("TF_KERNEL tf_note") :]
