"""The line of the user's code that issued an operation, for warnings and for errors that surface later.

A place is a code object and an instruction in it: never a frame, which would keep the user's variables alive.
"""

import os
import re
import sys
import warnings
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import Any

#: Whether a module belongs to the package, by name. Code without a module name, such as `exec` runs, is the user's: generated code of the
#: package has a module name.
INSIDE: dict[str | None, bool] = {None: False}


def frame_of_user(depth: int) -> FrameType:
    """The innermost frame outside the package, starting ``depth`` frames above the caller."""
    frame = sys._getframe(depth + 1)
    while frame.f_back is not None:
        inside = INSIDE.get(frame.f_globals.get("__name__"))  # the table first: a call for each of some five frames costs more
        if not (is_inside(frame) if inside is None else inside):
            break
        frame = frame.f_back
    return frame


def in_brief(source: str, line: int) -> str:
    """A line of a program as reports name it: ``train.py:12``."""
    return f"{os.path.basename(source)}:{line}"


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the user's line: `warnings.warn` would need the number of the package's frames above it."""
    _warn_at(frame_of_user(1), text, category)


def _warn_at(user: FrameType, text: str, category: type[Warning]) -> None:
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


def called_function(depth: int) -> str | None:
    """The public function of the package that the user's line called, starting ``depth`` frames above the caller; None for operators.

    A frame runs a public function if this is generated for an operator, or its module or the package around that lists it.
    """
    name, frame = None, sys._getframe(depth + 1)
    while frame.f_back is not None and is_inside(frame):
        code, module = frame.f_code, frame.f_globals["__name__"]
        if code.co_filename.startswith("<twofold: ") or any(code.co_name in listed for listed in _names_around(module)):
            name = code.co_name
        frame = frame.f_back
    return name


def _names_around(module: str) -> list[Sequence[str]]:
    """The public names of a module, and those of its package."""
    return [vars(sys.modules[name]).get("__all__", ()) for name in (module, module.rpartition(".")[0]) if name in sys.modules]


def is_generated(frame: FrameType) -> bool:
    """Whether a frame runs a function that the package has generated: these have separate globals, others those of their module."""
    return is_inside(frame) and frame.f_globals is not vars(sys.modules.get(frame.f_globals["__name__"], sys))


def line_of(code: CodeType, instruction: int) -> int:
    """The line of an instruction; the first line of the code for instructions that Python added, which have none."""
    found = next((n for begin, end, n in code.co_lines() if begin <= instruction < end), None)
    return found or code.co_firstlineno


def text_of(code: CodeType, instruction: int) -> str:
    """A place as ``"train.py:12, in step"``, with the whole path."""
    return f"{code.co_filename}:{line_of(code, instruction)}, in {code.co_name}"


#: NumPy's floating-point warnings, which its compiled code issues for the line of the innermost Python frame.
FLOATING_POINT = re.compile("(divide by zero|overflow|underflow|invalid value) encountered in ")
#: Those of NumPy's code in Python, for the line of its caller.
OF_CALLER = re.compile("Mean of empty slice|Degrees of freedom <= 0 for slice")


class OwnLine:
    """Matches NumPy's floating-point warnings for lines of the package, and issues them at the user's line instead."""

    #: For programs that copy filters as regular expressions, as scikit-learn does. It matches nothing: a copy would hide the warnings.
    pattern = "(?!)"

    def match(self, text: str) -> bool:
        """Called by `warnings` with the text of each warning."""
        frame: FrameType | None = sys._getframe(1)
        depth = 1
        if frame.f_code is _warn_at.__code__:  # the warning that is issued instead
            return False
        if OF_CALLER.match(text) and frame is not None:
            frame, depth = frame.f_back, 2
        elif not FLOATING_POINT.match(text):
            return False
        if frame is None or not is_inside(frame):
            return False
        _warn_at(frame_of_user(depth), text, RuntimeWarning)
        return True


def move_warnings() -> None:
    """Let NumPy's floating-point warnings in the package's functions name the user's line.

    A filter costs nothing without warnings, unlike a context in which NumPy logs (`numpy_folding.error_state`). Filters that the program
    adds later take precedence: a filter that shows every warning shows these at the package's line.
    """
    filters: Any = warnings.filters
    filters.insert(0, ("ignore", OwnLine(), RuntimeWarning, None, 0))
