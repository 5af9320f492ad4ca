"""`Transport`: carries messages between the processes of a cluster.

Processes are numbered: workers first, from 0, then servers.
"""

from typing import Protocol

from ..messages import Message


class Transport(Protocol):
    """Carries messages between one process and any other. Messages from one process to another arrive in the order of sending."""

    #: The number of this process, and the number of processes, workers and servers together.
    rank: int
    size: int

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
