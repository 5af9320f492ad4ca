"""Interrupts a function at an instruction, or does something else there.

Signals arrive behind calls: `after_calls` of `test_other_threads` lists these places.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType, FrameType


def at_instruction(work: Callable[[], object], code: CodeType, offset: int, action: Callable[[], object], times: int = 1) -> bool:
    """Run a function, with an action before an instruction of a code object when that is reached for the n-th time; whether it was."""
    left = [times]

    def opcode(frame: FrameType, event: str, _: object) -> Any:
        if event == "opcode" and frame.f_lasti == offset and left[0]:
            left[0] -= 1
            if not left[0]:
                sys.settrace(None)
                action()
        return opcode

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code is not code or not left[0]:
            return None
        frame.f_trace_opcodes = True
        return opcode

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return not left[0]


def _interrupt() -> None:
    raise KeyboardInterrupt


def interrupted_at(action: Callable[[], object], code: CodeType, offset: int, times: int = 1) -> bool:
    """Run an action, with Ctrl-C when a place in a function is reached for the n-th time; whether it was."""
    try:
        return at_instruction(action, code, offset, _interrupt, times)
    except KeyboardInterrupt:
        return True
