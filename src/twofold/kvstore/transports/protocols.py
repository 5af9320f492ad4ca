"""`Transport` carries messages between the processes of a cluster, `Group` sums arrays among its workers.

Processes are numbered: workers first, from 0, then servers.
"""

from typing import Protocol

import numpy as np

from ..messages import Message


class Transport(Protocol):
    """Carries messages between one process and any other. Messages from one process to another arrive in the order of sending."""

    @property
    def rank(self) -> int:
        """The number of this process."""
        ...

    @property
    def size(self) -> int:
        """The number of processes, workers and servers together."""
        ...

    def send(self, dest: int, message: Message) -> None:
        """Send a message. When this returns, the caller may change the bytes of the payload.

        Raises
        ------
        ClusterError
            If the process is gone.
        """
        ...

    def receive(self, timeout: float | None = None) -> tuple[int, Message] | None:
        """The next message and the process that sent it. The payload is valid until the next call.

        Parameters
        ----------
        timeout
            Seconds to wait; None for no limit.

        Returns
        -------
        tuple or None
            None if no message came in time.

        Raises
        ------
        FormatError
            If a message is damaged.
        ClusterError
            If a process is gone.
        """
        ...

    def close(self) -> None:
        """Give up the connections."""
        ...


class Group(Protocol):
    """Sums and copies among all workers. Each worker makes the same calls in the same order."""

    @property
    def rank(self) -> int:
        """The number of this worker."""
        ...

    @property
    def size(self) -> int:
        """The number of workers."""
        ...

    def allreduce(self, array: np.ndarray) -> None:
        """Replace a contiguous array by its sum over workers. The sum is bitwise the same on each of them."""
        ...

    def broadcast(self, array: np.ndarray, root: int = 0) -> None:
        """Replace a contiguous array by that of one worker."""
        ...

    def barrier(self) -> None:
        """Wait until all workers have called this."""
        ...
