"""Tells the exceptions of the program's signal handlers, which end whatever was running, from those of what was running."""

from __future__ import annotations

import signal
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType


def is_from_signal_handler(error: BaseException) -> bool:
    """Whether one of the program's signal handlers was running when an exception was raised."""
    handlers = (signal.getsignal(number) for number in signal.valid_signals())
    codes = [_code_of(handler) for handler in handlers if callable(handler)]
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code not in codes:
        frames = frames.tb_next
    return frames is not None


def _code_of(function: Any) -> CodeType | None:
    """The code of a function, a method, a partial or an object that can be called; None if it is not Python's."""
    while isinstance(function, partial):
        function = function.func
    return getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
