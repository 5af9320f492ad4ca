"""Halves of a kernel on two threads with no interpreter between them: handing work over takes about 1 µs instead of 50.

After a task the other thread waits for the next one in machine code, without the interpreter's lock, for some 100 µs. Who has a
kernel to run meanwhile leaves a note in a place that both know, runs the one half, and takes the other half back if nobody has begun
it. Then the other thread goes to sleep, and is woken by Python (`workers`).

| the note's state | |
|---|---|
| asleep | nobody waits for work |
| ready | the other thread does |
| claimed | a thread writes down what is to be run |
| posted | the second half may be begun |
| taken | it is being run |
| done | it has been run; who posted it makes the note ready again |
"""

import ctypes
import os
from collections.abc import Callable
from functools import cache
from typing import Any

from twofold.backend.forks import BUILDING
from twofold.backend.ledger import HAND_OFFS

from ..workers import is_waited_for
from .callables import CONTENT, HEAD, KEEPS, function_of
from .compiler import Compiler

ASLEEP, READY, CLAIMED, POSTED, TAKEN, DONE = range(6)
#: How often the other thread looks for work before it sleeps (some 100 µs), and one for the other's end before it lets others run.
PATIENCE, SHORT_WAIT = 4_500, 20_000
#: After how many halves the other thread looks whether something else is to be done.
LONG = 64
#: After n waits in vain it leaves 2^n - 1 out, for n up to this.
MOST_IN_VAIN = 5
#: Microseconds for which a thread then sleeps each time.
NAP = 20

#: The note: its state; function, numbers, arguments, how many they are; and what the function returned.
_note = (ctypes.c_int64 * 6)()
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_note))  # for good: the other thread may look at it to the process's end

#: What all texts begin with; ``ENTRY`` stands for the words' places.
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
  %note.at = getelementptr ptr, ptr %own, i64 HEAD
  %note = load ptr, ptr %note.at
  %function.at = getelementptr i64, ptr %note, i64 1
  %numbers.at = getelementptr i64, ptr %note, i64 2
  %arguments.at = getelementptr i64, ptr %note, i64 3
  %count.at = getelementptr i64, ptr %note, i64 4
  %returned.at = getelementptr i64, ptr %note, i64 5
"""
#: What the other thread does after a task: a function of nothing.
SERVE = """  %waking = cmpxchg ptr %note, i64 ASLEEP, i64 READY acq_rel monotonic, align 8
  %is.alone = extractvalue { i64, i1 } %waking, 1
  br i1 %is.alone, label %begin, label %over
begin:
  %released = call ptr @PyEval_SaveThread()
  br label %look
look:
  %n = phi i64 [ 0, %begin ], [ 0, %leave ], [ %n.next, %idle ], [ %n.next, %tired ]
  %served = phi i64 [ 0, %begin ], [ %served.next, %leave ], [ %served, %idle ], [ %served, %tired ]
  %state = load atomic i64, ptr %note acquire, align 8
  %is.posted = icmp eq i64 %state, POSTED
  br i1 %is.posted, label %take, label %wait
take:
  %taking = cmpxchg ptr %note, i64 POSTED, i64 TAKEN acquire monotonic, align 8
  %has.taken = extractvalue { i64, i1 } %taking, 1
  br i1 %has.taken, label %run, label %wait
run:
  %function = load ptr, ptr %function.at
  %numbers = load ptr, ptr %numbers.at
  %given = load ptr, ptr %arguments.at
  %given.count = load i64, ptr %count.at
  %result = call ptr %function(ptr %numbers, ptr %given, i64 %given.count)
  store ptr %result, ptr %returned.at
  store atomic i64 DONE, ptr %note release, align 8
  br label %done
done:
  %m = phi i64 [ 0, %run ], [ %m.next, %still ], [ %m.next, %slow ]
  %after = load atomic i64, ptr %note acquire, align 8
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
  %is.long = icmp uge i64 %served, LONG
  %is.tired = or i1 %is.old, %is.long
  br i1 %is.tired, label %tired, label %idle
idle:
  br label %look
tired:
  %sleeping = cmpxchg ptr %note, i64 READY, i64 ASLEEP acquire monotonic, align 8
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
#: A kernel in halves: with the other thread if that waits, else what was given for this.
PAIR = """  %code.at = getelementptr ptr, ptr %own, i64 HEAD1
  %code = load ptr, ptr %code.at
  %here.at = getelementptr ptr, ptr %own, i64 HEAD2
  %here = load ptr, ptr %here.at
  %there.at = getelementptr ptr, ptr %own, i64 HEAD3
  %there = load ptr, ptr %there.at
  %posts.at.at = getelementptr ptr, ptr %own, i64 HEAD4
  %posts.at = load ptr, ptr %posts.at.at
  %claiming = cmpxchg ptr %note, i64 READY, i64 CLAIMED acquire monotonic, align 8
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
  store atomic i64 POSTED, ptr %note release, align 8
  %result = call ptr %code(ptr %here, ptr %arguments, i64 %count)
  %fetching = cmpxchg ptr %note, i64 POSTED, i64 READY acquire monotonic, align 8
  %is.mine = extractvalue { i64, i1 } %fetching, 1
  br i1 %is.mine, label %both, label %look
both:
  %own.returned = call ptr %code(ptr %there, ptr %arguments, i64 %count)
  br label %end
look:
  %n = phi i64 [ 0, %post ], [ %n.next, %wait ]
  %state = load atomic i64, ptr %note acquire, align 8
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
  %state.later = load atomic i64, ptr %note acquire, align 8
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
  store atomic i64 READY, ptr %note release, align 8
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
    """Have nobody be waiting for work: after a fork there is no other thread."""
    _note[0] = ASLEEP


os.register_at_fork(after_in_child=forget)


def text(body: str, x86: bool) -> str:
    """The module of one of the two functions."""
    pause = "call void @llvm.x86.sse2.pause()" if x86 else ""
    words = {"PAUSE_DECLARED": "declare void @llvm.x86.sse2.pause()" if x86 else "", "PAUSE": pause, "CONTENT": CONTENT}
    words |= {f"HEAD{k}": HEAD + k for k in (4, 3, 2, 1)} | {"HEAD": HEAD}
    named = "SHORT_WAIT", "PATIENCE", "NAP", "LONG", "ASLEEP", "READY", "CLAIMED", "POSTED", "TAKEN", "DONE"
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
    """Is called with arrays that the thread that serves is not given."""


@cache
def serve(own: Compiler) -> Callable[[], None]:
    """A function that waits for work for some time, and does it."""
    address, library = _code(own, SERVE)
    return function_of(address, library, [ctypes.addressof(_note)], _nothing, KEEPS)


class Waiting:
    """What the other thread does after a task: it waits, but not each time where it often did so in vain."""

    def __init__(self, own: Compiler) -> None:
        self._serve = serve(own)
        self._vain = self._left_out = 0

    def __call__(self) -> None:
        """Wait, or do not."""
        if self._left_out:
            self._left_out -= 1
            return
        served = self._served()
        self._vain = 0 if served else min(self._vain + 1, MOST_IN_VAIN)
        self._left_out = (1 << self._vain) - 1
        while served >= LONG and not is_waited_for():
            served = self._served()

    def _served(self) -> int:
        before = HAND_OFFS.count
        self._serve()
        return HAND_OFFS.count - before


@cache
def waiting(own: Compiler) -> Waiting:
    """The one of a compiler."""
    return Waiting(own)


def pair(own: Compiler, address: int, here: Any, there: Any, alone: Callable[..., None]) -> Callable[..., None]:
    """A kernel in halves.

    Parameters
    ----------
    own, address
        The compiler, and where the kernel's machine code begins.
    here, there
        The halves, as `callables.function_of` makes them with `TELLS` and `FOREIGN`.
    alone
        Called if no other thread waits, or with arrays that both halves refuse: one alone does where its scratch has no memory.
    """
    code, library = _code(own, PAIR)
    numbers = [ctypes.addressof(_note), address, id(here.__self__), id(there.__self__), HAND_OFFS.address]
    return function_of(code, (library, here, there), numbers, alone, KEEPS)
