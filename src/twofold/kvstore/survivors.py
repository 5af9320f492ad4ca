"""`Survivors`: the workers that go on after others have died, under ``twofold launch --ft``.

If a worker dies during a collective operation, some of the others may have completed the operation while it failed in the rest. The workers
that are left then compare how many operations each has completed. Workers that have the result give it to the others; if no worker has it,
all repeat the operation.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ..errors import ProcessGone


class WorkerGroup(Protocol):
    """The collective operations of a group of workers, which all make the same calls in the same order, and what follows a death."""

    #: The present rank of this worker, and the number of workers that are left.
    rank: int
    size: int
    #: The numbers at the start of the workers that are left, by their present ranks.
    members: list[int]

    def allreduce(self, array: np.ndarray, source: np.ndarray | None = None) -> None:
        """Replace a contiguous array by the sum over workers of ``source``, or of itself if that is None, bitwise the same on all."""
        ...

    def broadcast(self, array: np.ndarray, root: int = 0) -> None:
        """Replace a contiguous array by that of one worker."""
        ...

    def barrier(self) -> None:
        """Wait until all workers have called this."""
        ...

    def gather(self, array: np.ndarray) -> np.ndarray:
        """The contiguous arrays of all workers, which have equal shapes, as one of shape (size, …)."""
        ...

    @property
    def is_broken(self) -> bool:
        """Whether another worker has noticed a death."""
        ...

    def replace(self, comm: Any, members: Sequence[int]) -> None:
        """Go on with another communicator. ``members`` are the numbers of its processes."""
        ...

    def shrink(self) -> list[int]:
        """Go on without the workers that have died, and return their numbers. All that are left call this."""
        ...

    def agree(self, is_well: bool) -> bool:
        """Whether all workers that are left pass True and none has died. All get the same answer. They call this after `shrink`."""
        ...


class Survivors:
    """Runs the collective operations of a group, and repeats them without workers that die.

    Parameters
    ----------
    group
        The workers.
    are_tolerant
        Whether the other workers go on when a worker dies; otherwise the error is raised.
    lose
        Called with the number of each worker that has died.
    """

    def __init__(self, group: WorkerGroup, are_tolerant: bool, lose: Callable[[int], object]) -> None:
        self._group, self._are_tolerant, self._lose = group, are_tolerant, lose
        #: How many operations this worker has completed. The counts of two workers differ by one at most: an operation completes only
        #: if every worker has begun it.
        self.completed = 0
        #: The result of the last operation, which other workers may lack, and the number of its contributors. A copy, because the program
        #: may change the array. One result is enough, as the counts differ by one at most.
        self._last = np.empty(0, np.uint8), 0

    def run(self, operation: Callable[[], object], out: np.ndarray) -> int:
        """Run an operation.

        Parameters
        ----------
        operation
            Writes its result to ``out``. It may be called more than once.
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
            # 0 after a recovery in which no worker had the result: all repeat the operation
            if contributors:
                self.completed += 1
                if self._are_tolerant:
                    self._last = out.reshape(-1).view(np.uint8).copy(), contributors
                return contributors

    def poll_recovery(self) -> bool:
        """Join the others if they recover from the death of a worker. Whether that completes an operation."""
        if not self._are_tolerant or not self._group.is_broken:
            return False
        if self._recover(None)[0]:
            self.completed += 1
            return True
        return False

    def catch_up(self) -> None:
        """Wait until all workers that are left have completed equally many operations. All of them call this.

        One worker may have completed the last operation while another still repeats it, because a third one died during it. To repeat it
        takes all workers, so none of them may wait for the others in anything else.
        """
        while not self._recover(None)[1]:
            continue

    def _recover(self, out: np.ndarray | None) -> tuple[int, bool]:
        """Go on without the workers that have died.

        Returns
        -------
        tuple
            The number of contributors if that completes the current operation, else 0; and whether all counts of operations were equal.
        """
        while True:
            try:
                found = self._compared(out)
            except ProcessGone:  # another worker has died meanwhile
                found = None
            # A death may be noticed by some workers only. A finding of one worker counts only if all have found the same.
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
        # some workers have completed one operation more: the first of these sends its result to all, so that all make the same calls
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
