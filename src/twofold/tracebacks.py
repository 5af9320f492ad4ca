"""Tracebacks of uncaught errors of the package: the user's lines, with the library's frames folded into one line.

``TWOFOLD_TRACEBACK=full`` shows all frames. Other kinds of errors, and hooks that a program has installed, are not affected.
"""

import os
import sys
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any, TypeVar

from .errors import MXNetError
from .origin import is_inside

T = TypeVar("T")


#: The errors whose text a notebook shows changed: those of the package, and those of Python that get advice.
EXPLAINED = (MXNetError, AttributeError, TypeError)
#: Functions that add what to do to an uncaught error of Python, by the error and its traceback.
ADVISERS: list[Callable[[BaseException, TracebackType | None], None]] = []


def install(adviser: Callable[[BaseException, TracebackType | None], None]) -> None:
    """Fold the tracebacks of uncaught errors, unless the program has its own hook for showing them.

    Parameters
    ----------
    adviser
        Changes the text of an error about an attribute or an argument that does not exist, or adds a note, if it knows what to do.
    """
    ADVISERS[:] = [adviser]
    # a hook of the program, of a debugger or of IPython takes precedence
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = show
    # IPython shows the errors of cells by its own means
    ipython = sys.modules.get("IPython")
    if ipython is not None and (shell := ipython.get_ipython()) is not None:
        explain_cells(shell)


def explain_cells(shell: Any) -> None:
    """Let IPython's shell show the errors of cells folded and with advice, unless the user has set a handler."""
    if not shell.custom_exceptions:
        shell.set_custom_exc(EXPLAINED, show_in_notebook)


def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an uncaught error: the hook that replaces Python's own."""
    _advise(error, trace)
    if not _folds(error):
        sys.__excepthook__(kind, error, trace)
    else:
        sys.stderr.write(text_of(error, trace))


def text_of(error: BaseException, trace: TracebackType | None) -> str:
    """The traceback of an error as Python prints it, with the library's frames folded."""
    from traceback import FrameSummary, StackSummary, TracebackException  # programs that run to their end do not need it

    class Folded(StackSummary):
        """Frames, some of which represent several."""

        def format_frame_summary(self, frame_summary: FrameSummary, **options: object) -> str:  # colors, from Python 3.13 on
            if frame_summary.filename:
                return super().format_frame_summary(frame_summary, **options)
            return f"  {frame_summary.name}\n"

    def fold(shown: TracebackException | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if shown is None or error is None:
            return
        traces = list(_links(trace))
        if len(traces) == len(shown.stack):  # not if `sys.tracebacklimit` has cut it
            stack = Folded()
            for count, summary in _folded(traces, list(shown.stack)):
                stack.append(summary or FrameSummary("", 0, line_of(count), lookup_line=False))
            shown.stack = stack
        if _is_internal(error.__cause__):
            shown.__cause__, shown.__suppress_context__ = None, True
        elif _has_no_line_of_user(error.__context__):
            shown.__suppress_context__ = True
        # the causes that are left say more than the error: NumPy's, or one that the user's own code raised
        fold(shown.__cause__, error.__cause__, error.__cause__ and error.__cause__.__traceback__)
        fold(shown.__context__, error.__context__, error.__context__ and error.__context__.__traceback__)

    shown = TracebackException(type(error), error, trace)
    fold(shown, error, trace)
    return "".join(shown.format())


def line_of(count: int) -> str:
    """What stands for so many frames."""
    return f"… {count} frame{'s' * (count > 1)} of Twofold; TWOFOLD_TRACEBACK=full shows them"


def show_in_notebook(
    shell: Any, kind: type[BaseException], error: BaseException, trace: TracebackType, tb_offset: int | None = None
) -> None:
    """Show an error of a cell: the handler for IPython's ``set_custom_exc``."""
    _advise(error, trace)
    if not _folds(error):
        return shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
    # IPython's own frame, which it leaves out itself, and the user's
    links = [link for k, link in enumerate(_links(trace)) if k == 0 or not is_inside(link.tb_frame)]
    kept: TracebackType | None = None
    for link in reversed(links):
        # a separate chain: `%debug` goes through the error's traceback, which does not change
        kept = TracebackType(kept, link.tb_frame, link.tb_lasti, link.tb_lineno)
    cause, suppresses = error.__cause__, error.__suppress_context__
    if _is_internal(cause) or _is_internal(error.__context__):
        error.__cause__ = None  # sets `__suppress_context__`
    try:
        shell.showtraceback((kind, error, kept), tb_offset=tb_offset)
    finally:
        error.__cause__, error.__suppress_context__ = cause, suppresses
    if hidden := len(list(_links(trace))) - len(links):
        print(line_of(hidden), file=sys.stderr)
    return None


def _advise(error: BaseException, trace: TracebackType | None) -> None:
    for adviser in ADVISERS:
        adviser(error, trace)


def _folds(error: BaseException) -> bool:
    return isinstance(error, MXNetError) and os.environ.get("TWOFOLD_TRACEBACK") != "full"


def _is_internal(error: BaseException | None) -> bool:
    """Whether an error is the package's and was caught inside it: the error that it caused repeats its message."""
    return isinstance(error, MXNetError) and _has_no_line_of_user(error)


def _has_no_line_of_user(error: BaseException | None) -> bool:
    return error is not None and all(is_inside(link.tb_frame) or _is_library(link.tb_frame) for link in _links(error.__traceback__))


def _links(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _folded(links: list[TracebackType], summaries: list[T]) -> Iterator[tuple[int, T | None]]:
    """Each summary that is shown, with 0, and for a run of the library's frames their number, with None."""
    count = 0
    for link, summary in zip(links, summaries, strict=True):
        # functions that the package calls, such as NumPy's and `contextlib`'s, belong to it; its callers are the user's
        if is_inside(link.tb_frame) or (count and _is_library(link.tb_frame)):
            count += 1
            continue
        if count:
            yield count, None
        count = 0
        yield 0, summary
    if count:
        yield count, None


def _is_library(frame: FrameType) -> bool:
    """Whether a frame that the package called runs code of Python or of an installed package, such as NumPy."""
    path = frame.f_code.co_filename
    return "site-packages" in path or path.startswith((os.path.dirname(os.__file__), "<"))
