"""Interrupts calls that change state at each of their lines, and goes on: ``python … SHARE OF [PATH …]``.

At a line of the package, where it is reached first, ``KeyboardInterrupt`` or ``MemoryError`` is raised, as Ctrl-C and a full memory do.
Of all lines the trials are every OF-th, beginning with number SHARE. Prints a line for each trial after which the program cannot go on,
and the totals.
"""

from __future__ import annotations

import collections
import contextlib
import dis
import functools
import itertools
import re
import sys
import traceback
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import twofold
import twofold.ops
import twofold.symbol
from twofold.symbol.naming import open_managers

import tests.core.interrupted_updates  # noqa: F401  its paths
from tests.core.interrupted_paths import PATHS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, FrameType

PACKAGE = str(Path(twofold.__file__).parent)
#: Nothing can protect the end of a scope or of an object from a signal.
LEFT_ALONE = ("__exit__", "__del__")
#: Instructions that ask for no memory, and during which no signal arrives: those arrive after calls, and where a loop goes back.
MOVES = re.compile("(LOAD|STORE|POP|UNPACK|IS_OP|RETURN|RESUME|NOP|SWAP|COPY|JUMP_FORWARD|PUSH_NULL|CACHE|KW_NAMES).*")
FIRST_SIZE = 40
Line = tuple[str, int]
sizes = itertools.count(FIRST_SIZE)


class Lines(NamedTuple):
    """The lines of a function at which memory is asked for, and those that end with a call."""

    busy: frozenset[int]
    calling: frozenset[int]


@functools.cache
def lines_of_code(code: CodeType) -> Lines:
    """The kinds of the lines of a function."""
    starts = dict(dis.findlinestarts(code))
    line, busy, calling = code.co_firstlineno, {code.co_firstlineno}, set[int]()
    for instruction in dis.get_instructions(code):
        line = starts.get(instruction.offset) or line
        name = instruction.opname
        if not MOVES.fullmatch(name):
            busy.add(line)
        if name.startswith(("CALL", "JUMP_BACKWARD")):
            calling.add(line)
        elif name.startswith("STORE"):
            calling.discard(line)
    return Lines(frozenset(busy), frozenset(calling))


def lines_of(action: Callable[[], object]) -> list[Line]:
    """The lines of the package that a call reaches and at which it can be interrupted, in order."""
    seen: dict[Line, None] = {}
    last: dict[FrameType, int] = {}

    def local(frame: FrameType, event: str, _: object) -> object:
        if event == "line":
            kinds, line = lines_of_code(frame.f_code), frame.f_lineno
            if line in kinds.busy or last.get(frame, line) in kinds.calling:
                seen.setdefault((frame.f_code.co_filename, line))
            last[frame] = line
        elif event == "return":
            last.pop(frame, None)
        return local

    with tracing(local):
        action()
    return [*seen]


@contextlib.contextmanager
def tracing(local: Callable[[FrameType, str, object], object]) -> Iterator[None]:
    """Trace the lines of the package in this thread."""
    before = sys.gettrace()

    def outer(frame: FrameType, _event: str, _: object) -> object:
        inside = frame.f_code.co_filename.startswith(PACKAGE) and frame.f_code.co_name not in LEFT_ALONE
        return local if inside else None

    sys.settrace(outer)
    try:
        yield
    finally:
        sys.settrace(before)


def interrupted(action: Callable[[], object], line: Line, error: type[BaseException]) -> str:
    """Call until a line is reached, and raise there; returns how the call ended."""
    hit = []

    def local(frame: FrameType, event: str, _: object) -> object:
        if event == "line" and not hit and (frame.f_code.co_filename, frame.f_lineno) == line:
            hit.append(1)
            raise error
        return local

    try:
        with tracing(local):
            action()
    except error:
        return "interrupted"
    except Exception as other:
        return "told with its cause" if _is_caused_by(other, error) else f"raised {type(other).__name__}"
    return "not reached" if not hit else "went on"


def _is_caused_by(told: BaseException, error: type[BaseException]) -> bool:
    """Whether an error of the package tells of another one, as that for a text that cannot be read does if reading it finds no memory."""
    cause = told.__cause__ or told.__context__
    return cause is not None and (isinstance(cause, error) or _is_caused_by(cause, error))


def trial(name: str, line: Line, error: type[BaseException], totals: collections.Counter[str]) -> str:
    """An error of the program that goes on after an interrupt; empty if there is none."""
    running = PATHS[name](next(sizes))
    totals[interrupted(next(running), line, error)] += 1
    try:
        for _ in running:
            pass
    except BaseException as failed:
        at = traceback.extract_tb(failed.__traceback__)[-1]
        return f"{type(failed).__name__}: {str(failed)[:150]!r} at {at.filename.removeprefix(PACKAGE)}:{at.lineno}"
    return left_open()


def left_open() -> str:
    """The scopes of this thread that the interrupted call has not closed."""
    found = {
        "recording": twofold.autograd.is_recording(),
        "training": twofold.autograd.is_training(),
        "names": len(open_managers()) > 1,
        "attributes": bool(twofold.AttrScope.current.get(None)),
        "devices": twofold.current_context() != twofold.cpu(),
    }
    return ", ".join(f"{name} left open" for name, is_open in found.items() if is_open)


def main(share: int, of: int, only: list[str]) -> None:
    """Interrupt some of the lines of all paths, or of those named."""
    warnings.simplefilter("ignore")
    totals = collections.Counter[str]()
    number = itertools.count()
    for name in only or PATHS:
        # once, so that modules are imported and tables are filled that belong to no shape
        [action() for action in PATHS[name](next(sizes))]
        running = PATHS[name](next(sizes))
        lines = lines_of(next(running))
        collections.deque(running, maxlen=0)
        for line in lines:
            for error in (KeyboardInterrupt, MemoryError):
                if next(number) % of == share and (failed := trial(name, line, error, totals)):
                    print(f"{name}: {error.__name__} at {line[0].removeprefix(PACKAGE)}:{line[1]}: {failed}", flush=True)
                    totals["broken"] += 1
    print(dict(totals))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
