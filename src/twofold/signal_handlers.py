"""Tells the exceptions of the program's signal handlers, which end whatever was running, from those of what was running."""

from __future__ import annotations

import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from .origin import is_inside

if TYPE_CHECKING:
    from types import CodeType

Classes = TypeVar("Classes", bound="type[BaseException] | tuple[type[BaseException], ...]")


def is_from_signal_handler(error: BaseException) -> bool:
    """Whether one of the program's signal handlers was running when an exception was raised."""
    codes: set[CodeType] = set()
    frames = error.__traceback__
    while frames is not None:
        if not is_inside(frames.tb_frame):
            codes.add(frames.tb_frame.f_code)
        frames = frames.tb_next
    # asking for all handlers takes 0.1 ms, and most errors come from inside
    handlers = (signal.getsignal(number) for number in signal.valid_signals()) if codes else ()
    return any(_code_of(handler) in codes for handler in handlers if callable(handler))


def unless_signalled(classes: Classes) -> Classes | tuple[()]:
    """What an ``except`` clause catches that tries another way: nothing if the exception is a signal handler's.

    Handlers may raise any class, and while any line runs: ``except unless_signalled(ValueError):`` catches only what the block has raised.
    """
    error = sys.exception()
    return () if error is not None and is_from_signal_handler(error) else classes


def _code_of(function: Any) -> CodeType | None:
    """The code of a function, a method, a partial or an object that can be called; None if it is not Python's."""
    while isinstance(function, partial):
        function = function.func
    return getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
