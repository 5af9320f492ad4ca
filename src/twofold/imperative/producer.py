"""Producers of pending Values: the protocol that windows, tasks and copies in progress share."""

from typing import Protocol

from ..errors import MXNetError


class Producer(Protocol):
    """Something that will give Values their data.

    Attributes
    ----------
    closed
        Whether it takes no further operations.
    is_done
        Whether it has run and no longer reads anything. Closed is not done: another thread may be running it.
    error
        Why its Values have no data although it is done; None if they have.
    """

    @property
    def closed(self) -> bool: ...  # noqa: D102
    @property
    def is_done(self) -> bool: ...  # noqa: D102
    @property
    def error(self) -> BaseException | None: ...  # noqa: D102

    def finish(self) -> None:
        """Run it, or wait until the thread that runs it is done."""


class Lost:
    """The producer of Values whose data is lost: every read raises the error."""

    closed = is_done = True

    def __init__(self, error: MXNetError) -> None:
        self.error = error

    def finish(self) -> None:
        """There is nothing to do."""
