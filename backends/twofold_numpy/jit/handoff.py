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
from typing import Any

from twofold.backend.forks import BUILDING
from twofold.backend.ledger import HAND_OFFS

from ..workers import has_tasks
from .callables import CONTENT, HEAD, KEEP_GIL, builtin_of
from .compiler import Compiler

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

#: The prologue of both functions: pointers to the mailbox's words.
PLACES = """declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare ptr @PyErr_NoMemory()
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare i32 @usleep(i32)
PAUSE_DECLARED
define ptr @kernel(ptr %self, ptr %arguments, i64 %count) #0 {
entry:
  %own = getelementptr i8, ptr %self, i64 CONTENT
  %none = load ptr, ptr %own
  %refused.at = getelementptr ptr, ptr %own, i64 2
  %refused = load ptr, ptr %refused.at
  %mailbox.at = getelementptr ptr, ptr %own, i64 HEAD
  %mailbox = load ptr, ptr %mailbox.at
  %function.at = getelementptr i64, ptr %mailbox, i64 1
  %numbers.at = getelementptr i64, ptr %mailbox, i64 2
  %arguments.at = getelementptr i64, ptr %mailbox, i64 3
  %count.at = getelementptr i64, ptr %mailbox, i64 4
  %returned.at = getelementptr i64, ptr %mailbox, i64 5
"""
#: The helper's loop, a function without arguments.
SERVE = """  %waking = cmpxchg ptr %mailbox, i64 ASLEEP, i64 READY acq_rel monotonic, align 8
  %is.alone = extractvalue { i64, i1 } %waking, 1
  br i1 %is.alone, label %begin, label %over
begin:
  %released = call ptr @PyEval_SaveThread()
  br label %look
look:
  %n = phi i64 [ 0, %begin ], [ 0, %leave ], [ %n.next, %idle ], [ %n.next, %tired ]
  %served = phi i64 [ 0, %begin ], [ %served.next, %leave ], [ %served, %idle ], [ %served, %tired ]
  %state = load atomic i64, ptr %mailbox acquire, align 8
  %is.posted = icmp eq i64 %state, POSTED
  br i1 %is.posted, label %take, label %wait
take:
  %taking = cmpxchg ptr %mailbox, i64 POSTED, i64 TAKEN acquire monotonic, align 8
  %has.taken = extractvalue { i64, i1 } %taking, 1
  br i1 %has.taken, label %run, label %wait
run:
  %function = load ptr, ptr %function.at
  %numbers = load ptr, ptr %numbers.at
  %given = load ptr, ptr %arguments.at
  %given.count = load i64, ptr %count.at
  %result = call ptr %function(ptr %numbers, ptr %given, i64 %given.count)
  store ptr %result, ptr %returned.at
  store atomic i64 DONE, ptr %mailbox release, align 8
  br label %done
done:
  %m = phi i64 [ 0, %run ], [ %m.next, %still ], [ %m.next, %slow ]
  %after = load atomic i64, ptr %mailbox acquire, align 8
  %is.done = icmp eq i64 %after, DONE
  br i1 %is.done, label %again, label %leave
again:
  %m.next = add i64 %m, 1
  PAUSE
  %takes.long = icmp ugt i64 %m, SHORT_WAIT
  br i1 %takes.long, label %slow, label %still
slow:
  %let = call i32 @usleep(i32 NAP)
  br label %done
still:
  br label %done
leave:
  %served.next = add i64 %served, 1
  br label %look
wait:
  %n.next = add i64 %n, 1
  PAUSE
  %is.old = icmp ugt i64 %n, PATIENCE
  %is.long = icmp uge i64 %served, MAX_SERVED
  %is.tired = or i1 %is.old, %is.long
  br i1 %is.tired, label %tired, label %idle
idle:
  br label %look
tired:
  %sleeping = cmpxchg ptr %mailbox, i64 READY, i64 ASLEEP acquire monotonic, align 8
  %sleeps = extractvalue { i64, i1 } %sleeping, 1
  %seen = extractvalue { i64, i1 } %sleeping, 0
  %is.forgotten = icmp eq i64 %seen, ASLEEP
  %ends = or i1 %sleeps, %is.forgotten
  br i1 %ends, label %end, label %look
end:
  call void @PyEval_RestoreThread(ptr %released)
  br label %over
over:
  call void @Py_IncRef(ptr %none)
  ret ptr %none
}
"""
#: A split kernel: shares the work with the helper if it is spinning, else calls the fallback.
SPLIT = """  %code.at = getelementptr ptr, ptr %own, i64 HEAD1
  %code = load ptr, ptr %code.at
  %here.at = getelementptr ptr, ptr %own, i64 HEAD2
  %here = load ptr, ptr %here.at
  %there.at = getelementptr ptr, ptr %own, i64 HEAD3
  %there = load ptr, ptr %there.at
  %posts.at.at = getelementptr ptr, ptr %own, i64 HEAD4
  %posts.at = load ptr, ptr %posts.at.at
  %claiming = cmpxchg ptr %mailbox, i64 READY, i64 CLAIMED acquire monotonic, align 8
  %has.claimed = extractvalue { i64, i1 } %claiming, 1
  br i1 %has.claimed, label %post, label %alone
alone:
  %other.result = call ptr @PyObject_Vectorcall(ptr %refused, ptr %arguments, i64 %count, ptr null)
  ret ptr %other.result
post:
  store ptr %code, ptr %function.at
  store ptr %there, ptr %numbers.at
  store ptr %arguments, ptr %arguments.at
  store i64 %count, ptr %count.at
  %posts = load i64, ptr %posts.at
  %posts.next = add i64 %posts, 1
  store i64 %posts.next, ptr %posts.at
  store atomic i64 POSTED, ptr %mailbox release, align 8
  %result = call ptr %code(ptr %here, ptr %arguments, i64 %count)
  %fetching = cmpxchg ptr %mailbox, i64 POSTED, i64 READY acquire monotonic, align 8
  %is.mine = extractvalue { i64, i1 } %fetching, 1
  br i1 %is.mine, label %both, label %look
both:
  %own.returned = call ptr %code(ptr %there, ptr %arguments, i64 %count)
  br label %end
look:
  %n = phi i64 [ 0, %post ], [ %n.next, %wait ]
  %state = load atomic i64, ptr %mailbox acquire, align 8
  %is.done = icmp eq i64 %state, DONE
  br i1 %is.done, label %done, label %wait
wait:
  %n.next = add i64 %n, 1
  PAUSE
  %is.long = icmp ugt i64 %n, SHORT_WAIT
  br i1 %is.long, label %let, label %look
let:
  %released = call ptr @PyEval_SaveThread()
  br label %look.again
look.again:
  %state.later = load atomic i64, ptr %mailbox acquire, align 8
  %is.done.later = icmp eq i64 %state.later, DONE
  br i1 %is.done.later, label %restore, label %let.run
let.run:
  %let.others = call i32 @usleep(i32 NAP)
  br label %look.again
restore:
  call void @PyEval_RestoreThread(ptr %released)
  br label %done
done:
  %their.returned = load ptr, ptr %returned.at
  store atomic i64 READY, ptr %mailbox release, align 8
  br label %end
end:
  %returned = phi ptr [ %own.returned, %both ], [ %their.returned, %done ]
  %here.well = icmp eq ptr %result, null
  %there.well = icmp eq ptr %returned, null
  %is.well = and i1 %here.well, %there.well
  br i1 %is.well, label %give, label %refuse
refuse:
  %is.one = or i1 %here.well, %there.well
  br i1 %is.one, label %full, label %alone
give:
  call void @Py_IncRef(ptr %none)
  ret ptr %none
full:
  %error = call ptr @PyErr_NoMemory()
  ret ptr %error
}
"""


def forget() -> None:
    """Reset the mailbox in a forked child, which has no helper thread."""
    _mailbox[0] = ASLEEP


os.register_at_fork(after_in_child=forget)


def text(body: str, x86: bool) -> str:
    """The LLVM module of one of the two functions."""
    pause = "call void @llvm.x86.sse2.pause()" if x86 else ""
    words = {"PAUSE_DECLARED": "declare void @llvm.x86.sse2.pause()" if x86 else "", "PAUSE": pause, "CONTENT": CONTENT}
    words |= {f"HEAD{k}": HEAD + k for k in (4, 3, 2, 1)} | {"HEAD": HEAD}
    named = "SHORT_WAIT", "PATIENCE", "NAP", "MAX_SERVED", "ASLEEP", "READY", "CLAIMED", "POSTED", "TAKEN", "DONE"
    words |= {name: globals()[name] for name in named}
    whole = PLACES + body
    for word, value in words.items():
        whole = whole.replace(word, str(value))
    return whole + "attributes #0 = { nounwind }\n"


@cache
def _code(own: Compiler, body: str) -> Any:
    with BUILDING:
        return own.loaded(own.object_code(text(body, own.triple.startswith("x86"))))


def _nothing() -> None:
    """The fallback of a function without arguments; never called."""


@cache
def serve(own: Compiler) -> Callable[[], None]:
    """The helper's loop as a Python function: spins for work for a while, and runs it."""
    address, library = _code(own, SERVE)
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


def split_kernel(own: Compiler, address: int, here: Any, there: Any, alone: Callable[..., None]) -> Callable[..., None]:
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
    code, library = _code(own, SPLIT)
    numbers = [ctypes.addressof(_mailbox), address, id(here.__self__), id(there.__self__), HAND_OFFS.address]
    return builtin_of(code, (library, here, there), numbers, alone, KEEP_GIL)
