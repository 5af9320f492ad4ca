"""Recording and training scopes, per thread."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from ..assembly import fragment, inlined
from ..graph.tables import bound_tables
from .tape import Tape, close_tape, tls
from .trace import Trace
from .window import HERE, flush, flush_complete


@fragment
def _begin() -> None:
    """Record on a new tape. Another iteration of a training loop may begin here."""
    if HERE.by_device:
        flush_complete()
    bound_tables()
    tls.tape = Tape()


@contextmanager
def separate_windows() -> Iterator[None]:
    """A context whose operations have windows of their own, which have run at its end. Windows that are open stay so, and traces too.

    For what a first step does once, such as initializing a network: in the step's windows it would make the step's programs other ones than
    those of the second step. Nor does a trace follow it: a function that is traced again finds the network initialized.
    """
    waiting, HERE.by_device = HERE.by_device, {}
    tape = tls.tape
    if isinstance(tape, Trace):
        tls.tape = None
    try:
        yield
        for w in list(HERE.by_device.values()):
            flush(w)
    finally:
        HERE.by_device, tls.tape = waiting, tape


class Scope:
    """A context that sets whether operations are recorded and whether they run in training mode; None leaves it unchanged."""

    __slots__ = ("_recording", "_training", "_was")

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._recording, self._training = recording, training

    @inlined
    def __enter__(self) -> None:
        self._was = tls.tape, tls.training
        if self._recording and tls.tape is None:
            _begin()
        elif self._recording is False:
            tape = tls.tape
            tls.tape = tape.paused if isinstance(tape, Trace) else None
        if self._training is not None:
            tls.training = self._training

    @inlined
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        tape, tls.training = self._was
        if tls.tape is None or tape is None:  # else keep the thread's tape: a backward inside the scope may have continued on a new one
            ended, tls.tape = tls.tape, tape  # before anything that a Ctrl-C may interrupt
            if ended is not None:
                close_tape(ended)
        elif isinstance(tape, Trace):
            tls.tape = tape


@inlined
def set_recording(is_recording: bool) -> bool:
    """Switch recording on (with a new tape unless there is one) or off; return whether it was on.

    Parameters
    ----------
    is_recording
        Whether operations are recorded from now on.
    """
    tape = tls.tape
    was = tape is not None
    if isinstance(tape, Trace):
        was = tape is not tape.paused
        tls.tape = tape.owner if is_recording else tape.paused
    elif is_recording and not was:
        _begin()
    elif not is_recording:
        tls.tape = None
    return was


@inlined
def renumber() -> None:
    """After a backward within a scope, continue on a new tape, so that each iteration of a loop inside the scope has the same structure."""
    tape = tls.tape
    if tape is not None:
        close_tape(tape)
        _begin()


def set_training(train_mode: bool) -> bool:
    """Switch training mode; return whether it was on.

    Parameters
    ----------
    train_mode
        Whether operators run in training mode from now on.
    """
    was, tls.training = tls.training, train_mode
    return was


def flush_here() -> None:
    """Run every window of this thread. Errors stay with them."""
    for w in list(HERE.by_device.values()):
        flush(w)
