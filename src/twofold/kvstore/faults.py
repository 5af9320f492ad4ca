"""`Survivors`: workers that go on without those that have died, under ``twofold launch --ft``.

A collective operation in which a worker dies may have been completed by some of the others and failed in the rest. All that are left then
agree on which one it was. If one of them has its result, the others get that; otherwise all repeat the operation.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ..errors import ProcessGone
from .transports import Group

__all__ = ["Survivors", "Workers"]


class Workers(Group, Protocol):
    """What collective operations need of a group."""

    #: The numbers that those had at the start who are left.
    members: list[int]

    def allreduce(self, array: np.ndarray, source: np.ndarray | None = None) -> None:
        """Replace a contiguous array by the sum over workers of ``source``, or of itself if that is None."""
        ...

    def gather(self, array: np.ndarray) -> np.ndarray:
        """The contiguous arrays of all workers, which have equal shapes, one after the other: (size, …)."""
        ...

    @property
    def is_broken(self) -> bool:
        """Whether another worker has found that one has died."""
        ...

    def replace(self, comm: Any, members: Sequence[int]) -> None:
        """Go on with another communicator, whose processes have these numbers."""
        ...

    def shrink(self) -> list[int]:
        """Go on without those that have died; their numbers at the start. All that are left call this."""
        ...

    def agree(self, is_well: bool) -> bool:
        """Whether all that are left pass True, and none has died: the same answer on all of them, who call this after `shrink`."""
        ...


class Survivors:
    """Runs the collective operations of a group, if need be without some of its workers.

    Parameters
    ----------
    group
        The workers.
    are_tolerant
        Whether they go on without those that die, rather than fail.
    lose
        Called with the number of each worker that has died.
    """

    def __init__(self, group: Workers, are_tolerant: bool, lose: Callable[[int], object]) -> None:
        self._group, self._are_tolerant, self._lose = group, are_tolerant, lose
        #: How many operations have been completed, as many as on the others.
        self.completed = 0
        #: The result of the last operation, which the others may lack, and the number of workers that have contributed to it.
        self._last = np.empty(0, np.uint8), 0

    def run(self, operation: Callable[[], object], out: np.ndarray) -> int:
        """Run an operation.

        Parameters
        ----------
        operation
            Writes its result to ``out``. It may be called again.
        out
            A contiguous array.

        Returns
        -------
        int
            The number of workers that have contributed to the result.

        Raises
        ------
        ProcessGone
            If a worker has died and the others do not go on.
        """
        while True:
            try:
                operation()
                contributors = self._group.size
            except ProcessGone:
                if not self._are_tolerant:
                    raise
                contributors, _ = self._recover(out)
            if contributors:
                self.completed += 1
                if self._are_tolerant:
                    self._last = out.reshape(-1).view(np.uint8).copy(), contributors
                return contributors

    def look(self) -> bool:
        """Join the others in going on without a worker, if they do. Whether an operation has been completed by that."""
        if not self._are_tolerant or not self._group.is_broken:
            return False
        if self._recover(None)[0]:
            self.completed += 1
            return True
        return False

    def settle(self) -> None:
        """Wait until all that are left have completed as many operations as this worker. All of them call this.

        A worker may have completed the last operation while another still repeats it, because a third one has died in it. That one needs
        the others for this, who must not wait for it in something else.
        """
        while not self._recover(None)[1]:
            continue

    def _recover(self, out: np.ndarray | None) -> tuple[int, bool]:
        """Go on without those that have died.

        Returns
        -------
        tuple
            The number of contributors if that completes the current operation, else 0; and whether all had completed as many.
        """
        while True:
            try:
                found = self._compared(out)
            except ProcessGone:  # another one has died meanwhile
                found = None
            if self._group.agree(found is not None) and found is not None:
                return found

    def _compared(self, out: np.ndarray | None) -> tuple[int, bool]:
        group = self._group
        for number in group.shrink():
            self._lose(number)
            if not group.rank:
                print(f"twofold: worker {number} has died; {group.size} go on without it", file=sys.stderr, flush=True)
        completed = group.gather(np.array([self.completed])).reshape(-1)
        most = int(completed.max())
        if int(completed.min()) == most:
            return 0, True
        root = int(completed.argmax())
        data, contributors = self._last
        about = np.array([data.size, contributors])
        group.broadcast(about, root)
        result = data if self.completed == most else np.empty(int(about[0]), np.uint8)
        group.broadcast(result, root)
        if self.completed == most:
            return 0, False
        self._last = result, int(about[1])
        if out is not None:
            out.reshape(-1).view(np.uint8)[...] = result
        return int(about[1]), False
