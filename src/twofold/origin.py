"""The line of the user's code that issued an operation, for warnings and for errors that surface later.

A place is a code object and an instruction in it: never a frame, which would keep the user's variables alive.
"""

import sys
import warnings
from types import CodeType, FrameType

#: Whether a module belongs to the package, by name. Code without one, as `exec` runs it, is the user's: what the package generates has one.
INSIDE: dict[str | None, bool] = {None: False}


def frame_of_user(depth: int) -> FrameType:
    """The innermost frame outside the package, starting ``depth`` frames above the caller."""
    frame = sys._getframe(depth + 1)
    while frame.f_back is not None and is_inside(frame):
        frame = frame.f_back
    return frame


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the user's line: `warnings.warn` would have to be told how many frames the package has above it."""
    user = frame_of_user(1)
    registry = user.f_globals.setdefault("__warningregistry__", {})  # with it, a line warns once under Python's default filter
    module = user.f_globals.get("__name__") or "<unknown>"
    warnings.warn_explicit(text, category, user.f_code.co_filename, user.f_lineno, module, registry)


def is_inside(frame: FrameType) -> bool:
    """Whether a frame runs code of the package."""
    name = frame.f_globals.get("__name__")
    found = INSIDE.get(name)
    if found is None:
        found = INSIDE[name] = str(name).partition(".")[0] == "twofold" or str(name).startswith("twofold_")
    return found


def text_of(code: CodeType, instruction: int) -> str:
    """A place as ``"train.py:12, in step"``, with the whole path."""
    line = next((n for begin, end, n in code.co_lines() if begin <= instruction < end), None)
    return f"{code.co_filename}:{line or code.co_firstlineno}, in {code.co_name}"
