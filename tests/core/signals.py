"""Interrupts a function at an instruction. Signals arrive behind calls: `after_calls` of `test_other_threads` lists these places."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType, FrameType


def interrupted_at(action: Callable[[], object], code: CodeType, offset: int, times: int = 1) -> bool:
    """Run an action, with Ctrl-C when a place in a function is reached for the n-th time; whether it was."""
    left = [times]

    def opcode(frame: FrameType, event: str, _: object) -> Any:
        if event == "opcode" and frame.f_lasti == offset:
            left[0] -= 1
            if not left[0]:
                sys.settrace(None)
                raise KeyboardInterrupt
        return opcode

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code is not code:
            return None
        frame.f_trace_opcodes = True
        return opcode

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return left[0] <= 0
