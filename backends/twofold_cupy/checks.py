"""Index checks on the device: no call waits for them, and reading a result computed from an invalid index raises.

A kernel notes the first out-of-bounds index in pinned memory, which kernels write and the host reads, and replaces invalid indices by 0
so that later kernels stay in bounds. An array remembers the checks that it depends on while they are open, that is until the
device has passed them without an error.
"""

import threading
import weakref
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

import cupy
import numpy as np

from twofold.backend.c_text import C_TYPES, STORED
from twofold.backend.kernel import Array
from twofold.backend.namespace import checked_places

from .dry_run import arrays_in, in_dry_run
from .launch import each, function, run
from .memory import Memory
from .operands import dtype_of
from .streams import LOST, Mark, Stream

Result = TypeVar("Result")

#: The first word of a note in which no error has been reported.
NO_ERROR = np.int64(2**63 - 1)


class Note(NamedTuple):
    """What a check kernel reports: two words, the position and value of the first invalid index, with the bounds for the message."""

    words: np.ndarray
    size: int
    negative: bool


class Check:
    """One check of a note, which can be read once its mark is reached. ``number`` is the order of issue; ``found`` has an error's words."""

    __slots__ = ("found", "mark", "note", "number", "thread")

    def __init__(self, number: int, note: Note, mark: Mark) -> None:
        self.number, self.note, self.mark, self.thread = number, note, mark, threading.get_ident()
        self.found: np.ndarray | None = None


class RepeatedCheck(NamedTuple):
    """The check of a captured program, repeated at each launch of its graph."""

    checks: "Checks"
    note: Note
    stream: Stream

    def before(self) -> None:
        """Wait until the note of the last launch has been read: all launches write the same note."""
        self.checks.finish(self.note)

    def after(self) -> None:
        """Watch the note of the launch that was just issued."""
        self.checks.watch(self.note, self.stream)


class Checks:
    """The open checks of an adapter, and the arrays that depend on them.

    Attributes
    ----------
    count
        Checks issued so far.
    checks_of_array
        For each dependent array, by its id, a weak reference to it and its checks.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._lock = threading.RLock()
        self._open: list[Check] = []
        self.count = 0
        self.checks_of_array: dict[int, tuple[Any, tuple[Check, ...]]] = {}

    def launch_check(self, index: cupy.ndarray, out: cupy.ndarray, size: int, negative: bool) -> Note:
        """Launch the kernels that write indices as positions from 0 into ``out`` and report the first invalid index in a note."""
        words = self._memory.staging((2,), np.dtype(np.int64))
        words[0] = NO_ERROR
        kernels, at = kernel_source(dtype_of(index)), np.uint64(words.ctypes.data)
        numbers = [np.int64(index.size), np.int64(-size if negative else 0), np.int64(size)]
        run(function(kernels, "tf_checked"), index.size, *numbers, index, out, at)
        # a second kernel: the smallest position is known only after all threads of the first
        run(function(kernels, "tf_note"), 1, np.int64(1), index, at)
        return Note(words, size, negative)

    def watch(self, note: Note, stream: Stream, *arrays: cupy.ndarray) -> None:
        """Open a check, to be read after the work that the stream has been given so far; ``arrays`` depend on it."""
        if in_dry_run():
            return
        with self._lock:
            self._collect()
            self.count += 1
            check = Check(self.count, note, stream.record())
            self._open.append(check)
        for array in arrays:
            self._attach(array, (check,))

    def finish(self, note: Note) -> None:
        """Wait for the open checks of a note."""
        with self._lock:
            waiting = [c for c in self._open if c.note is note and c.found is None]
        for check in waiting:
            check.mark.event.synchronize()
        with self._lock:
            self._collect()

    def follow(self, before: int, given: Sequence[Array], results: Result) -> Result:
        """Attach to a call's results the checks that the call issued and the checks of its arguments.

        Parameters
        ----------
        before
            The `count` when the call began.
        given, results
            Arrays, or lists of them.
        """
        with self._lock:
            self._collect()
            mine = [c for c in self._open if c.number > before and c.thread == threading.get_ident()]
        checks = tuple({*mine, *[c for a in arrays_in(given) for c in self._checks_of(a)]})
        for a in arrays_in((results,)) if checks else ():
            self._attach(a, checks)
        return results

    def raise_for(self, array: Array) -> None:
        """Raise the first error among the checks that an array depends on; the host has waited for the array."""
        self._raise_first_of(self._checks_of(array))

    def raise_first(self) -> None:
        """Raise the first error of any array that was not raised yet. Reading an array that depends on it raises it again."""
        self._raise_first_of(set(self._open))

    def lose(self) -> None:
        """In a forked process: no check can be read any more."""
        LOST.extend([self._open, self.checks_of_array])
        self._open, self.checks_of_array, self._lock = [], {}, threading.RLock()

    def _raise_first_of(self, checks: set[Check]) -> None:
        with self._lock:
            self._collect()
            # in the order of issue: eager execution would have raised this error first
            first = min((c for c in checks if c.found is not None), key=lambda c: c.number, default=None)
            self._open = [c for c in self._open if c is not first]
        if first is not None and first.found is not None:
            checked_places(first.found[1:], first.note.size, first.note.negative)  # raises: the host repeats the check

    def _checks_of(self, array: cupy.ndarray) -> set[Check]:
        """The checks of all arrays that share an array's memory, such as the array that it is a view of."""
        # a copy of the table: arrays that die at any time are removed from it
        known = [(reference(), checks) for reference, checks in list(self.checks_of_array.values())]
        return {c for other, checks in known if other is not None and other.data.mem is array.data.mem for c in checks}

    def _attach(self, array: Array, checks: tuple[Check, ...]) -> None:
        key = id(array)
        self.checks_of_array[key] = weakref.ref(array, lambda _: self.checks_of_array.pop(key, None)), checks

    def _collect(self) -> None:
        """Read the notes of checks that the device has passed; forget those without an error."""
        passed = [c for c in self._open if c.found is None and c.mark.event.done]
        for check in passed:
            if check.note.words[0] != NO_ERROR:
                check.found = check.note.words.copy()
        for check in passed:  # in a second loop: several passed checks may share a note, and all of them report its error
            if check.found is not None:
                check.note.words[0] = NO_ERROR
        right = {c for c in passed if c.found is None}
        if right:
            self._open = [c for c in self._open if c not in right]
            for key, (array, checks) in list(self.checks_of_array.items()):
                left = tuple(c for c in checks if c not in right)
                if left:
                    self.checks_of_array[key] = array, left
                else:
                    self.checks_of_array.pop(key, None)


@cache
def kernel_source(dtype: str) -> str:
    """The source for indices of a dtype: one kernel checks the indices, the other reads the value of the first invalid one."""
    kind, stored = C_TYPES[dtype], STORED[dtype]
    # unsigned indices beyond 2**63 would be negative as `long long`
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
    launch_check = each("tf_note", ["const long long count", f"const {stored} *in", "long long *note"], "count", told)
    return checked + launch_check[launch_check.index("TF_KERNEL tf_note") :]
