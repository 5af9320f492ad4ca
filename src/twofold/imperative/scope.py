"""Recording and training scopes, per thread."""

from types import TracebackType

from ..graph.ir import bound_tables
from .record import Tape, tls
from .window import HERE, flush_complete


class Scope:
    """A context that sets whether operations are recorded and whether they run in training mode; None leaves one as it is."""

    __slots__ = ("_recording", "_training", "_was")

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._recording, self._training = recording, training

    def __enter__(self) -> None:
        self._was = tls.tape, tls.training
        if self._recording and tls.tape is None:
            _begin()
        elif self._recording is False:
            tls.tape = None
        if self._training is not None:
            tls.training = self._training

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        tape, tls.training = self._was
        if tls.tape is None or tape is None:  # else a backward within may have gone on to a new tape
            if tls.tape is not None:
                tls.tape.close()
            tls.tape = tape


def set_recording(recording: bool) -> bool:
    """Switch recording on (a new tape, unless one is being recorded) or off; returns what it was."""
    was = tls.tape is not None
    if recording and not was:
        _begin()
    elif not recording:
        tls.tape = None
    return was


def _begin() -> None:
    """Record on a new tape: where another iteration may begin."""
    if HERE.by_device:
        flush_complete()
    bound_tables()
    tls.tape = Tape()


def renumber() -> None:
    """Go on recording on a new tape, after a backward: an iteration within the scope then has the structure of the last one."""
    if tls.tape is not None:
        tls.tape.close()
        _begin()


def set_training(training: bool) -> bool:
    """Switch training mode; returns what it was."""
    was, tls.training = tls.training, training
    return was
