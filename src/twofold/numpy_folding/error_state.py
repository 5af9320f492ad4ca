"""NumPy's floating-point error state: computes with it as the program has set it, and warns at the program's line.

NumPy warns at the line of the innermost Python frame, which would be a line of this package. So NumPy's functions run in a context in which
NumPy logs its errors. Each logged error is then handled as the program's own error state says, with NumPy's text.
"""

import os
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import Context, ContextVar
from typing import Any, NamedTuple

import numpy as np

from .sites import Site

#: The beginning of a logged text, and the key of the error state that it belongs to, in the order in which NumPy reports them.
KEYS = {"divide": "divide", "overflow": "over", "underflow": "under", "invalid": "invalid"}
ORDER = list(KEYS)
FLAGS = {"divide": 1, "over": 2, "under": 4, "invalid": 8}
WAITING_MODES = {"ignore", "warn"}


class Log:
    """The errors that NumPy has logged in a context."""

    __slots__ = ("texts",)

    def __init__(self) -> None:
        self.texts: list[str] = []

    def write(self, text: str) -> None:
        """Called by NumPy, with ``Warning: … encountered in …``."""
        self.texts.append(text)


#: Contexts that are free. A context cannot be entered twice, so each thread and each nested call needs its own.
_FREE: list[tuple[Context, Log]] = []


def _logging() -> tuple[Context, Log]:
    context, log = Context(), Log()
    # Set in a new, empty context: the program's own error state, in its contexts, does not change.
    context.run(np.seterrcall, log)
    context.run(np.seterr, all="log")
    return context, log


def logged(fn: Callable[[Log], None]) -> None:
    """Call ``function(log)`` in a context in which NumPy writes its errors to ``log``. The function empties the log itself."""
    context, log = _FREE.pop() if _FREE else _logging()
    try:
        context.run(fn, log)
    finally:
        log.texts.clear()
        _FREE.append((context, log))


def logged_call(fn: Callable[..., Any], args: Any, options: dict[str, Any]) -> tuple[Any, list[str]]:
    """The result of a NumPy function, and the errors that NumPy logged during the call."""
    context, log = _FREE.pop() if _FREE else _logging()
    texts: list[str] = []
    try:
        return context.run(fn, *args, **options), texts
    finally:
        if log.texts:
            texts += log.texts
            log.texts.clear()
        _FREE.append((context, log))


def call(fn: Callable[..., object], args: object, options: dict[str, object], site: Site) -> Any:
    """The result of a NumPy function; its warnings name a site of the program."""
    found, texts = logged_call(fn, args, options)
    if texts:
        report(texts, site)
    return found


class State(NamedTuple):
    """An error state of NumPy's.

    Attributes
    ----------
    modes
        The mode ("warn", "raise" and so on) of each key.
    handler
        The function that is called, or the object that is written to.
    may_wait
        Whether operations may wait: no mode raises, calls a function or prints, so the moment of an error cannot be observed.
    is_quiet
        Whether division by zero and invalid operations are ignored.
    overflow_raises
        Whether overflow is warned of, and a filter makes the warning an error: a program may catch it where NumPy raises it.
    """

    modes: dict[str, str]
    handler: Any
    may_wait: bool
    is_quiet: bool
    overflow_raises: bool


def _variable() -> ContextVar[object] | None:
    """NumPy's context variable of the error state: comparing its content by identity takes 20 ns, calling ``geterr`` 1 µs."""
    context = Context()
    context.run(np.seterr, all="ignore")
    found = list(context)
    return found[0] if len(found) == 1 else None


_VARIABLE = _variable()
#: The last content of the variable, list of warning filters, its length and first entry, and the state.
_last: tuple[object, object, int, object, State | None] = (None, None, -1, None, None)


def current() -> State:
    """The program's error state."""
    global _last
    content = _VARIABLE.get() if _VARIABLE is not None else None
    filters = warnings.filters
    first = filters[0] if filters else None
    last, seen, length, head, known = _last
    if content is not None and content is last and filters is seen and len(filters) == length and first is head and known is not None:
        return known
    modes: Any = np.geterr()
    quiet = modes["divide"] == modes["invalid"] == "ignore"
    raises = modes["over"] == "warn" and warnings_are_errors()
    found = State(modes, np.geterrcall(), WAITING_MODES.issuperset(modes.values()), quiet, raises)
    _last = content, filters, len(filters), first, found
    return found


def warnings_are_errors() -> bool:
    """Whether a filter turns the warnings of floating-point errors, or some of them, into exceptions."""
    for action, message, category, module, line in warnings.filters:
        if issubclass(RuntimeWarning, category):
            if action == "error":
                return True
            if message is module is None and not line:  # it decides for all of them
                return False
    return False


#: The interpreter's own list of filters; inside `warnings.catch_warnings` there is another.
_FILTERS = warnings.filters
#: The list of filters at the last look, its length and first entry then, and whether warnings may come late.
_seen: tuple[object, int, object, bool] = (None, -1, None, False)


def warnings_may_come_late() -> bool:
    """Whether the moment of a warning cannot be observed: no filter turns it into an exception, and no code collects warnings."""
    global _seen
    filters = warnings.filters
    first = filters[0] if filters else None
    if _seen[0] is filters and _seen[1] == len(filters) and _seen[2] is first:
        return _seen[3]
    found = filters is _FILTERS and not warnings_are_errors()
    _seen = filters, len(filters), first, found
    return found


def report(texts: Iterable[str], site: Site, state: State | None = None) -> None:
    """Handle floating-point errors of one operation as the program has asked for.

    Parameters
    ----------
    texts
        The errors that NumPy has logged; repetitions count once.
    site
        Where the operation is in the program.
    state
        The error state when it was issued; None for the current one.

    Raises
    ------
    FloatingPointError
        If the error state says so.
    """
    state = state or current()
    unique = {text.removeprefix("Warning: ").rstrip() for text in texts}
    for text in sorted(unique, key=lambda text: ORDER.index(text.partition(" ")[0])):
        _handle(text, site, state)


#: Errors of operations whose warnings could come late when they were issued, and that were computed where no warning may.
_postponed: deque[tuple[Iterable[str], Site, State]] = deque()


def report_late(texts: Iterable[str], site: Site, state: State) -> None:
    """`report` for an operation that has waited.

    NumPy would have warned where it was issued. So while a block collects warnings or turns them into errors, its warnings are postponed.
    """
    _postponed.append((texts, site, state))
    if warnings_may_come_late():
        report_postponed()


def report_postponed() -> None:
    """Give the warnings that were postponed."""
    while _postponed:
        try:
            late = _postponed.popleft()
        except IndexError:  # another thread has given it
            return
        report(*late)


os.register_at_fork(after_in_child=_postponed.clear)  # the parent gives them


def _handle(text: str, site: Site, state: State) -> None:
    key = KEYS[text.partition(" ")[0]]
    mode = state.modes[key]
    if mode == "warn":
        module = sys.modules.get(site.module)
        # The registry in which `warnings.warn` notes a line's warnings, so that "once per line" holds for both together.
        registry = {} if module is None else vars(module).setdefault("__warningregistry__", {})
        warnings.warn_explicit(text, RuntimeWarning, site.code.co_filename, site.line, site.module, registry)
    # Reached only for operations that were computed immediately: under this mode none may wait.
    elif mode == "raise":
        raise FloatingPointError(text)
    elif mode == "call":
        state.handler(text.partition(" encountered")[0], FLAGS[key])
    elif mode == "print":
        print(f"Warning: {text}")
    elif mode == "log":
        state.handler.write(f"Warning: {text}\n")
