"""Which line of the user's code an operation comes from, so that an error that shows later can name it.

A place is a code object and an instruction in it: never a frame, which would keep the user's variables alive.
"""

import sys
from types import CodeType, FrameType

#: Whether modules' globals are the package's, by their identity, as far as asked; emptied where it grows large.
INSIDE: dict[int, bool] = {}
_MOST = 10_000


def frame_of_user(depth: int) -> FrameType:
    """The innermost frame outside of the package; the search begins so many frames above the caller."""
    frame = sys._getframe(depth + 1)
    while frame.f_back is not None and is_inside(frame):
        frame = frame.f_back
    return frame


def is_inside(frame: FrameType) -> bool:
    """Whether a frame is of the package's code; generated code, whose globals have no name, is."""
    found = INSIDE.get(id(frame.f_globals))
    if found is None:
        if len(INSIDE) >= _MOST:
            INSIDE.clear()
        name = frame.f_globals.get("__name__")
        found = INSIDE[id(frame.f_globals)] = name is None or name.partition(".")[0] == "twofold" or name.startswith("twofold_")
    return found


def text_of(code: CodeType, instruction: int) -> str:
    """A place as ``"train.py:12, in step"``, with the whole path."""
    line = next((n for begin, end, n in code.co_lines() if begin <= instruction < end), None)
    return f"{code.co_filename}:{line or code.co_firstlineno}, in {code.co_name}"
