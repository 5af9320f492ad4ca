"""Shares tasks with helper threads without calls of the interpreter: offering a piece takes less than 1 µs.

A task is cut into pieces. The thread that owns the task writes it on the board, works on pieces itself, and returns when all are done;
helpers take pieces from the board. A helper spins for the next task in machine code, without the GIL, for some 100 µs, then sleeps until a
task large enough wakes it. No thread waits for a helper to begin, so a helper without a core costs nothing. A helper that loses its core
may be late with a piece that it has begun. Then nothing is offered for four times the time that was lost, and for twice the last pause if
the next piece is late too. A helper is moved off the core of the thread that wakes it: otherwise the system would often run both on that
core in turns.

| word of the board | |
|---|---|
| ticket | the number of the task times 65,536, plus the number of its pieces that no thread has taken |
| owner | whether a thread has a task on the board; another thread with a task then computes all pieces itself |
| function, numbers, arguments, count | the task: ``function(numbers, arguments, count, piece)`` returns null, or refuses |
| finished, refused | how many pieces helpers have finished, and how many of these refused |
| longest | the nanoseconds in which a helper computed the piece that took it longest |
| alone, level | the time until which nothing is offered, and the length of the last such pause, in nanoseconds |
| helpers | their number |
| cores | a bit for each core that the process may use |

Pieces are taken by compare-and-swap of the ticket. A helper reads the task before it takes a piece; if the task has changed meanwhile, so
has the ticket, and the exchange fails. Acquire and release order the words, and the arrays' content, between the threads. Each helper has
six words more: whether it sleeps, the lock that it sleeps on, whether it is to end, its core, its thread's number, and whether it has been
moved.
"""

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from types import BuiltinFunctionType

import numpy as np

from twofold.backend import workers
from twofold.backend.ledger import HAND_OFFS

from ..memory import scratch_memory
from .callables import CONTENT, HEAD, KEEP_GIL, REFUSE_GAPS, builtin_of
from .compiler import Code, Compiler
from .llvm_text import FIELDS, llvm_text

#: Positions of the words; words that different threads write are in different cache lines.
OWNER, FINISHED, REFUSED, LONGEST, FUNCTION, NUMBERS, ARGUMENTS, COUNT, ALONE, LEVEL, HELPERS = 8, 16, 17, 18, 24, 25, 26, 27, 32, 33, 40
CORES, MASK_WORDS = 48, 16
#: Bytes of a cache line.
LINE = 64
FIRST_HELPER, HELPER_SIZE = CORES + MASK_WORDS, 8
#: The most (some 100 µs) and the fewest iterations for which a helper spins for work: half as many each time it finds none.
PATIENCE, LEAST_PATIENCE = 4_500, 100
#: Iterations for which a thread spins for the end of a piece before it sleeps, and microseconds of each sleep.
SHORT_WAIT, NAP = 20_000, 20
#: A helper is late if it ends GRACE nanoseconds later than the other thread would have computed its pieces, and if one of them took it
#: GRACE more than twice as long as a piece takes there; and the longest pause after that, in which nothing is offered.
GRACE, MOST_ALONE = 20_000, 100_000_000

#: Computations of any number of pieces, each ``piece(words, arguments, count, piece)``, with BLAS held to one thread.
IN_PIECES = (
    *("product", "packed_product", "row_product", "direct", "depthwise", "depthwise_weights", "windows", "window_rows"),
    *("tile_transform", "image_tiles", "tile_product", "tile_weight"),
)

_board = (ctypes.c_int64 * (FIRST_HELPER + HELPER_SIZE * workers.MOST))()
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_board))  # never freed: helpers look at it until the process ends
_helpers: list[threading.Thread] = []
_start_lock = threading.RLock()  # reentrant: a signal handler may interrupt the thread that holds it

_new_lock, _take_lock, _free_lock = (getattr(ctypes.pythonapi, f"PyThread_{what}_lock") for what in ("allocate", "acquire", "release"))
_new_lock.restype, _take_lock.argtypes, _free_lock.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_int], [ctypes.c_void_p]


def module(function: str, x86: bool, **more: str | int) -> str:
    """The LLVM module of ``"serve"``, a helper's loop, ``"split"``, a split kernel, or one of `IN_PIECES`; all begin with the board."""
    pause = "@llvm.x86.sse2.pause()"
    words = {"PAUSE_DECLARED": f"declare void {pause}" if x86 else "", "PAUSE": f"call void {pause}" if x86 else "", "CONTENT": CONTENT}
    words |= {"HEAD": HEAD, **{f"HEAD{k}": HEAD + k for k in range(1, 6)}, "CLOCK": int(time.CLOCK_MONOTONIC)}
    words |= {"OWNER": OWNER, "FINISHED": FINISHED, "REFUSED": REFUSED, "LONGEST": LONGEST, "FUNCTION": FUNCTION, "NUMBERS": NUMBERS}
    words |= {"ARGUMENTS": ARGUMENTS, "COUNT": COUNT, "ALONE": ALONE, "LEVEL": LEVEL, "HELPERS": HELPERS}
    words |= {"FIRST_HELPER": FIRST_HELPER, "HELPER_SIZE": HELPER_SIZE, "PATIENCE": PATIENCE, "LEAST_PATIENCE": LEAST_PATIENCE}
    words |= {"SHORT_WAIT": SHORT_WAIT, "NAP": NAP, "GRACE": GRACE, "MOST_ALONE": MOST_ALONE}
    words |= {"MASK_WORDS": MASK_WORDS, "MASK_BYTES": 8 * MASK_WORDS, "MOST_CORES": 64 * MASK_WORDS, "CORES": CORES}
    words |= {"REFUSE_GAPS": REFUSE_GAPS, "FLAGS": object.__basicsize__ + FIELDS["flags"]}
    words["APART"] = llvm_text("apart" if sys.platform == "linux" else "not_apart", **words)
    parts = ("board", "pieces", function) if function in IN_PIECES else ("board", function)
    return "".join(llvm_text(part, **words, **more) for part in parts) + "attributes #0 = { nounwind }\n"


@cache
def code_of(own: Compiler, function: str, **more: str | int) -> Code:
    """The machine code of a `module`."""
    return own.built(module(function, own.triple.startswith("x86"), **more))


def thread_memory(slots: int, size: int) -> np.ndarray:
    """Scratch memory for a task in pieces: for each thread ``size`` bytes, some cache lines; ``llvm/slots.ll`` finds those of a thread.

    It stays in the cache of the thread's core. Memory for each piece would be as large as all pieces together, and a line that another core
    has written takes as long to get as one of the memory.
    """
    marks = LINE + -(-8 * slots // LINE) * LINE
    found = scratch_memory(marks + slots * size)
    found[:marks] = 0  # no thread has any of it yet
    return found


def _nothing() -> None:
    """The fallback of a function without arguments; never called."""


def board() -> int:
    """The board's address."""
    return ctypes.addressof(_board)


def serve(own: Compiler, helper: int) -> Callable[[], None]:
    """A helper's loop as a Python function, which returns when the helper has been stopped."""
    slot = FIRST_HELPER + HELPER_SIZE * helper
    lock = _new_lock()
    # acquired here, so that the helper sleeps when it tries to acquire the lock; the thread that wakes it releases the lock
    _take_lock(lock, 0)
    _board[slot : slot + 6] = [0, lock, 0, -1, 0, 0]
    code = code_of(own, "serve")
    return builtin_of(code.address, code.library, [board(), board() + 8 * slot], _nothing, KEEP_GIL)


def start(own: Compiler) -> None:
    """Start the helper threads that are missing; if there are too many, stop all and start again.

    A forked child inherits no threads and starts its own.
    """
    wanted = workers.count() - 1
    if len(_helpers) == wanted:
        return
    with _start_lock:
        if len(_helpers) > wanted:
            stop()
        _board[CORES : CORES + MASK_WORDS] = _allowed_cores()
        while len(_helpers) < wanted:
            loop, name = serve(own, len(_helpers)), f"twofold-helper-{len(_helpers)}"
            _helpers.append(threading.Thread(target=loop, name=name, daemon=True))
            _helpers[-1].start()
            _board[FIRST_HELPER + HELPER_SIZE * (len(_helpers) - 1) + 4] = _helpers[-1].native_id or 0
            # last: from here on tasks are offered to it
            _board[HELPERS] = len(_helpers)


def _allowed_cores() -> list[int]:
    """The cores that the process may use, as words of bits; empty if the system does not tell."""
    mask = sum(1 << core for core in os.sched_getaffinity(0)) if sys.platform == "linux" else 0
    words = [mask >> 64 * k & (1 << 64) - 1 for k in range(MASK_WORDS)]
    return [w - (w >> 63 << 64) for w in words]  # signed


def stop() -> None:
    """End the helpers, and wait for that."""
    with _start_lock:
        # first: no task may be offered to helpers that are about to end
        _board[HELPERS] = 0
        for k, helper in enumerate(_helpers):
            slot = FIRST_HELPER + HELPER_SIZE * k
            _board[slot + 2] = 1
            # it may be asleep
            _free_lock(_board[slot + 1])
            helper.join()
        _helpers.clear()


def forget() -> None:
    """Clear the board in a forked child, which has no helpers."""
    global _start_lock
    _start_lock = threading.RLock()  # another thread of the parent may have held the old lock
    _helpers.clear()
    ctypes.memset(_board, 0, ctypes.sizeof(_board))


os.register_at_fork(after_in_child=forget)


def split_kernel(
    own: Compiler, address: int, here: BuiltinFunctionType, there: BuiltinFunctionType, alone: Callable[..., None], wakes: bool
) -> BuiltinFunctionType:
    """A kernel split in two halves.

    Parameters
    ----------
    own, address
        The compiler, and the address of the kernel's machine code.
    here, there
        The halves, made by `callables.builtin_of` with `REPORT_REFUSAL` and `WITHOUT_GIL`.
    alone
        The fallback, called if no helper may help or if both halves reject the arrays. If only one does, it failed to allocate its
        scratch, and the call raises MemoryError.
    wakes
        Whether it is large enough to wake a helper that sleeps.
    """
    code = code_of(own, "split")
    numbers = [board(), address, id(here.__self__), id(there.__self__), HAND_OFFS.address, int(wakes)]
    return builtin_of(code.address, (code.library, here, there), numbers, alone, KEEP_GIL)


def starting_helpers(own: Compiler, alone: BuiltinFunctionType) -> Callable[..., None]:
    """A kernel in one piece that also starts the helpers when it is called, so that the next call has them."""

    def run(*arrays: object) -> None:
        start(own)
        alone(*arrays)

    return run
