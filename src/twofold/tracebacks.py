"""Tracebacks of uncaught errors of the package: the user's lines, with the library's frames folded into one line.

``TWOFOLD_TRACEBACK=full`` shows all frames. Errors that did not pass through the package, and hooks of a program, are not affected.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any, TypeVar

from .errors import SEE_CAUSE, MXNetError
from .origin import is_generated, is_inside

T = TypeVar("T")


#: The errors whose text a notebook shows changed: those of the package, and those of Python that get advice.
EXPLAINED = (MXNetError, AttributeError, ImportError, TypeError)
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
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = show_in_thread
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
    is_explained = _advise(error, trace)
    if not _folds(error, trace):
        sys.__excepthook__(kind, error, trace)
    else:
        sys.stderr.write(text_of(error, trace, is_explained))


def show_in_thread(given: threading.ExceptHookArgs) -> None:
    """Print an error that has ended a thread."""
    error, trace = given.exc_value, given.exc_traceback
    is_explained = error is not None and _advise(error, trace)
    if error is None or isinstance(error, SystemExit) or not _folds(error, trace):
        threading.__excepthook__(given)
    else:
        name = given.thread.name if given.thread is not None else threading.get_ident()
        sys.stderr.write(f"Exception in thread {name}:\n{text_of(error, trace, is_explained)}")


def told(error: BaseException) -> str:
    """An error with its traceback, folded as that of an uncaught one."""
    from traceback import format_exception

    return text_of(error, error.__traceback__) if _folds(error, error.__traceback__) else "".join(format_exception(error))


def text_of(error: BaseException, trace: TracebackType | None, is_explained: bool = False) -> str:
    """The traceback of an error as Python prints it, with the library's frames folded; of an unexpected error its innermost ones stay."""
    from traceback import FrameSummary, StackSummary, TracebackException  # programs that run to their end do not need it

    class Folded(StackSummary):
        """Frames, some of which represent several."""

        def format_frame_summary(self, frame_summary: FrameSummary, **options: object) -> str:  # colors, from Python 3.13 on
            if frame_summary.filename:
                return super().format_frame_summary(frame_summary, **options)
            return f"  {frame_summary.name}\n"

    def fold(
        shown: TracebackException | None, error: BaseException | None, trace: TracebackType | None, is_explained: bool = False
    ) -> None:
        if shown is None or error is None:
            return
        traces = list(_links(trace))
        if len(traces) == len(shown.stack):  # not if `sys.tracebacklimit` has cut it
            stack = Folded()
            for count, summary in _folded(traces, list(shown.stack), is_explained or _is_expected(error, traces)):
                stack.append(summary or FrameSummary("", 0, line_of(count), lookup_line=False))
            shown.stack = stack
        cause, context = _shown_reasons(error)
        shown.__cause__, shown.__suppress_context__ = shown.__cause__ if cause else None, context is None
        # the causes that are left say more than the error: an unexpected error of a library, or one that the user's own code raised
        fold(shown.__cause__, cause, cause and cause.__traceback__, False)
        fold(shown.__context__, context, context and context.__traceback__, False)

    shown = TracebackException(type(error), error, trace)
    fold(shown, error, trace, is_explained)
    return "".join(shown.format())


def line_of(count: int) -> str:
    """What stands for so many frames."""
    return f"… {count} frame{'s' * (count > 1)} of Twofold; TWOFOLD_TRACEBACK=full shows them"


def show_in_notebook(
    shell: Any, kind: type[BaseException], error: BaseException, trace: TracebackType, tb_offset: int | None = None
) -> None:
    """Show an error of a cell: the handler for IPython's ``set_custom_exc``."""
    _advise(error, trace)
    if not _folds(error, trace):
        return shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
    # IPython's own frame, which it leaves out itself, and the user's
    links = [link for k, link in enumerate(_links(trace)) if k == 0 or not is_inside(link.tb_frame)]
    kept: TracebackType | None = None
    for link in reversed(links):
        # a separate chain: `%debug` goes through the error's traceback, which does not change
        kept = TracebackType(kept, link.tb_frame, link.tb_lasti, link.tb_lineno)
    cause, suppresses = error.__cause__, error.__suppress_context__
    if _shown_reasons(error) == (None, None):
        error.__cause__ = None  # sets `__suppress_context__`
    try:
        shell.showtraceback((kind, error, kept), tb_offset=tb_offset)
    finally:
        error.__cause__, error.__suppress_context__ = cause, suppresses
    if hidden := len(list(_links(trace))) - len(links):
        print(line_of(hidden), file=sys.stderr)
    return None


def _advise(error: BaseException, trace: TracebackType | None) -> bool:
    """Let the advisers change an error; whether one has changed its text."""
    before = error.args
    for adviser in ADVISERS:
        adviser(error, trace)
    return error.args is not before


def _folds(error: BaseException, trace: TracebackType | None) -> bool:
    """Whether the error, or one that led to it, has passed through the package."""
    if os.environ.get("TWOFOLD_TRACEBACK") == "full":
        return False
    reasons = [reason for reason in (error.__cause__, error.__context__) if reason is not None]
    return any(is_inside(link.tb_frame) for link in _links(trace)) or any(_folds(reason, reason.__traceback__) for reason in reasons)


#: Errors about the user's values and files, and the user's key. Of others, such as `TypeError`, the package's innermost frames may show a
#: fault of its own.
EXPECTED = (MXNetError, ValueError, IndexError, OverflowError, OSError, KeyboardInterrupt)


def _is_expected(error: BaseException, traces: list[TracebackType]) -> bool:
    """Whether the innermost frames of the package say nothing that the text does not."""
    if isinstance(error, EXPECTED) or not traces:
        return True
    # other libraries raise their own errors; code that the package generates only calls them, and has no lines to show
    return _is_library(traces[-1].tb_frame) or is_generated(traces[-1].tb_frame)


def _shown_reasons(error: BaseException) -> tuple[BaseException | None, BaseException | None]:
    """The cause and the context of an error, as far as a traceback shows them: not what the package has caught and says better."""
    cause, context = error.__cause__, error.__context__
    if cause is not None:
        return (None if _is_internal(cause) and SEE_CAUSE not in str(error) else cause), None
    return None, None if error.__suppress_context__ or _is_internal(context) else context


def _is_internal(error: BaseException | None) -> bool:
    """Whether an error was raised and caught without a line of the user, below the package."""
    if error is None:
        return False
    frames = [link.tb_frame for link in _links(error.__traceback__)]
    return any(map(is_inside, frames)) and all(is_inside(frame) or _is_library(frame) for frame in frames)


def _links(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _folded(links: list[TracebackType], summaries: list[T], to_the_end: bool) -> Iterator[tuple[int, T | None]]:
    """Each summary that is shown, with 0, and for a run of the library's frames their number, with None."""
    run: list[T] = []
    for link, summary in zip(links, summaries, strict=True):
        # functions that the package calls, such as NumPy's and `contextlib`'s, belong to it; its callers are the user's
        if is_inside(link.tb_frame) or (run and _is_library(link.tb_frame)):
            run.append(summary)
            continue
        if run:
            yield len(run), None
        run = []
        yield 0, summary
    if run and to_the_end:
        yield len(run), None
    elif run:
        yield from ((0, summary) for summary in run)


def _is_library(frame: FrameType) -> bool:
    """Whether a frame that the package called runs code of Python or of an installed package, such as NumPy."""
    path = frame.f_code.co_filename
    return "site-packages" in path or path.endswith(".pyx") or path.startswith((os.path.dirname(os.__file__), "<"))
