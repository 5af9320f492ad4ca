"""Splits a kernel over two threads without the interpreter in between: a hand-off takes about 1 µs instead of 50.

After each task the helper thread (that of `workers`) spins for the next one in machine code, without the GIL, for some 100 µs. A thread
that runs a split kernel meanwhile posts the second half in a mailbox, runs the first half, and takes the second one back if the helper
has not taken it. When the helper gives up it goes back to sleep, and the next task must wake it through Python.

| state of the mailbox | |
|---|---|
| asleep | the helper is not spinning |
| ready | the helper is spinning for work |
| claimed | a thread is writing the task |
| posted | the task may be taken |
| taken | the helper is running it |
| done | the helper has run it; the thread that posted it makes the mailbox ready again |

The state is changed by compare-and-swap. Acquire and release order the task's words, and the arrays' content, between the two threads.
"""

import ctypes
import os
from collections.abc import Callable
from functools import cache
from types import BuiltinFunctionType

from twofold.backend.forks import BUILDING
from twofold.backend.ledger import HAND_OFFS

from ..workers import has_tasks
from .callables import CONTENT, HEAD, KEEP_GIL, builtin_of
from .compiler import Code, Compiler
from .llvm_text import llvm_text

ASLEEP, READY, CLAIMED, POSTED, TAKEN, DONE = range(6)
#: Iterations for which the helper spins for work (some 100 µs), and for which a thread spins for the other's end before it sleeps.
PATIENCE, SHORT_WAIT = 4_500, 20_000
#: Halves after which the helper leaves the loop, to see whether Python has other tasks for it.
MAX_SERVED = 64
#: After n fruitless turns in a row the helper skips the next 2^n - 1, for n up to this: spinning takes time from other threads.
MAX_BACKOFF = 5
#: Microseconds of each sleep of a thread that has stopped spinning for the other's end.
NAP = 20

#: The mailbox: state; the task's function, numbers, arguments and their count; and the function's result.
_mailbox = (ctypes.c_int64 * 6)()
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_mailbox))  # never freed: the helper may look at it until the process ends


def forget() -> None:
    """Reset the mailbox in a forked child, which has no helper thread."""
    _mailbox[0] = ASLEEP


os.register_at_fork(after_in_child=forget)


def module(function: str, x86: bool) -> str:
    """The LLVM module of ``"serve"``, the helper's loop, or ``"split"``, a split kernel. Both begin with pointers to the mailbox."""
    pause = "@llvm.x86.sse2.pause()"
    words = {"PAUSE_DECLARED": f"declare void {pause}" if x86 else "", "PAUSE": f"call void {pause}" if x86 else "", "CONTENT": CONTENT}
    words |= {"HEAD": HEAD, **{f"HEAD{k}": HEAD + k for k in range(1, 5)}}
    words |= {"SHORT_WAIT": SHORT_WAIT, "PATIENCE": PATIENCE, "NAP": NAP, "MAX_SERVED": MAX_SERVED}
    words |= {"ASLEEP": ASLEEP, "READY": READY, "CLAIMED": CLAIMED, "POSTED": POSTED, "TAKEN": TAKEN, "DONE": DONE}
    return llvm_text("mailbox", **words) + llvm_text(function, **words) + "attributes #0 = { nounwind }\n"


@cache
def _code(own: Compiler, function: str) -> Code:
    with BUILDING:
        return own.loaded(own.object_code(module(function, own.triple.startswith("x86"))))


def _nothing() -> None:
    """The fallback of a function without arguments; never called."""


@cache
def serve(own: Compiler) -> Callable[[], None]:
    """The helper's loop as a Python function: spins for work for a while, and runs it."""
    address, library = _code(own, "serve")
    return builtin_of(address, library, [ctypes.addressof(_mailbox)], _nothing, KEEP_GIL)


class Helper:
    """Called by the helper after each task: spins for work, with exponential backoff while there is none."""

    def __init__(self, own: Compiler) -> None:
        self._serve = serve(own)
        self._idle_turns = self._skip = 0

    def __call__(self) -> None:
        """Spin for work, unless backing off."""
        if self._skip:
            self._skip -= 1
            return
        served = self._served()
        self._idle_turns = 0 if served else min(self._idle_turns + 1, MAX_BACKOFF)
        self._skip = (1 << self._idle_turns) - 1
        while served >= MAX_SERVED and not has_tasks():
            served = self._served()

    def _served(self) -> int:
        before = HAND_OFFS.count
        self._serve()
        return HAND_OFFS.count - before


@cache
def helper(own: Compiler) -> Helper:
    """The helper of a compiler, of which there is one."""
    return Helper(own)


def split_kernel(
    own: Compiler, address: int, here: BuiltinFunctionType, there: BuiltinFunctionType, alone: Callable[..., None]
) -> BuiltinFunctionType:
    """A kernel split in two halves.

    Parameters
    ----------
    own, address
        The compiler, and the address of the kernel's machine code.
    here, there
        The halves, made by `callables.builtin_of` with `REPORT_REFUSAL` and `WITHOUT_GIL`.
    alone
        The fallback, called if the helper is not spinning or if both halves reject the arrays. If only one does, it failed to allocate its
        scratch, and the call raises MemoryError.
    """
    code, library = _code(own, "split")
    numbers = [ctypes.addressof(_mailbox), address, id(here.__self__), id(there.__self__), HAND_OFFS.address]
    return builtin_of(code, (library, here, there), numbers, alone, KEEP_GIL)
