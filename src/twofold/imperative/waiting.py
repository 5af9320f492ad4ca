"""Waiting for everything that was issued."""

from collections.abc import Callable

from ..device import Device
from ..errors import MXNetError
from ..scheduler.queue import QUEUE
from .window import OPEN, USED, flush, windows


def wait_for_all(synchronize: Callable[[Device], None]) -> None:
    """Run every window of every thread and wait for the devices.

    Raises
    ------
    MXNetError
        The earliest error, with the others in its notes.
    """
    found: list[tuple[int, BaseException]] = []
    for w in windows():
        flush(w)
        if w.error is not None and OPEN.pop(w.serial, None):
            found.append((w.serial, w.error))
    found += QUEUE.drain()
    errors = [error for _, error in sorted(found, key=lambda pair: pair[0])]
    for device in list(USED.values()):
        try:
            synchronize(device)
        except MXNetError as error:
            errors.append(error)
    for other in errors[1:]:
        errors[0].add_note(f"and then: {type(other).__name__}: {other}")
    if errors:
        raise errors[0]
