"""NumPy's floating-point error state: computes with it as the program has set it, and warns at the program's line.

NumPy warns at the line of the innermost Python frame, which would be one of this package. So its functions run in a context in which it
logs instead; what it logs is then handled as the program's own error state says, with NumPy's text.
"""

import sys
import warnings
from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import Any

import numpy as np

from .sites import Site

#: The beginning of a logged text, and the key of the error state that it belongs to.
KEYS = {"divide": "divide", "overflow": "over", "underflow": "under", "invalid": "invalid"}
MODES = {"ignore", "warn"}


class _Log:
    """What NumPy has logged in a context."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def write(self, text: str) -> None:
        """Called by NumPy, with ``Warning: … encountered in …``."""
        self.texts.append(text)


_FREE: list[tuple[Context, _Log]] = []


def _logging() -> tuple[Context, _Log]:
    context, log = Context(), _Log()
    context.run(np.seterrcall, log)
    context.run(np.seterr, all="log")
    return context, log


def call(fn: Callable[..., Any], args: Any, options: dict[str, Any], site: Site) -> Any:
    """What a NumPy function gives, with its warnings at a site of the program."""
    context, log = _FREE.pop() if _FREE else _logging()
    try:
        return context.run(fn, *args, **options)
    finally:
        texts, log.texts = log.texts, []
        _FREE.append((context, log))
        if texts:
            for text in dict.fromkeys(texts):
                report(text.removeprefix("Warning: ").rstrip(), site)


def report(text: str, site: Site) -> None:
    """Handle a floating-point error as the program has asked for.

    Raises
    ------
    FloatingPointError
        If its error state says so.
    """
    key = KEYS[text.partition(" ")[0]]
    mode = np.geterr()[key]
    handler: Any = np.geterrcall()
    if mode == "warn":
        line = next((n for begin, end, n in site.code.co_lines() if begin <= site.instruction < end), None)
        module = sys.modules.get(site.module)
        registry = {} if module is None else vars(module).setdefault("__warningregistry__", {})
        warnings.warn_explicit(text, RuntimeWarning, site.code.co_filename, line or site.code.co_firstlineno, site.module, registry)
    elif mode == "raise":
        raise FloatingPointError(text)
    elif mode == "call":
        handler(text.partition(" encountered")[0], {"divide": 1, "over": 2, "under": 4, "invalid": 8}[key])
    elif mode == "print":
        print(f"Warning: {text}")
    elif mode == "log":
        handler.write(f"Warning: {text}\n")


def _variable() -> ContextVar[Any] | None:
    """NumPy's context variable of the error state, of which a comparison by identity takes 20 ns, where ``geterr`` takes 1 µs."""
    context = Context()
    context.run(np.seterr, all="ignore")
    found = list(context)
    return found[0] if len(found) == 1 else None


_VARIABLE = _variable()
#: The last content of the variable, and what may wait under it.
_last: tuple[Any, int] = (None, 0)
#: Nothing may wait, since the program handles errors where they happen; what hardly ever warns may; everything may.
NOTHING, QUIET, EVERYTHING = range(3)


def waiting() -> int:
    """Which operations may wait: `NOTHING`, `QUIET` or `EVERYTHING`."""
    global _last
    state = _VARIABLE.get() if _VARIABLE is not None else None
    if state is not None and state is _last[0]:
        return _last[1]
    modes = np.geterr()
    found = NOTHING
    if MODES.issuperset(modes.values()):
        found = EVERYTHING if modes["divide"] == modes["invalid"] == "ignore" else QUIET
    _last = state, found
    return found
