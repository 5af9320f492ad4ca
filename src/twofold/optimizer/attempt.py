"""`Attempt`: an update of weights that counts only if it does not raise."""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol


class _Counting(Protocol):
    """What an optimizer counts with."""

    _index_update_count: dict[Any, int]
    progress_attributes: ClassVar[tuple[str, ...]]


class Attempt:
    """A block that updates weights. An error that leaves it restores their update counts, and the optimizer's other progress."""

    __slots__ = ("_former", "_optimizer", "_progress")

    def __init__(self, optimizer: _Counting) -> None:
        self._optimizer, self._former = optimizer, optimizer._index_update_count.copy()
        self._progress = {name: getattr(optimizer, name) for name in optimizer.progress_attributes if name != "_all_index_update_counts"}

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is not None:
            restore(self._optimizer, self._former, self._progress)


def restore(optimizer: _Counting, former: Mapping[Any, int], progress: Mapping[str, object]) -> None:
    """Take back what a failed update has changed.

    Parameters
    ----------
    optimizer
        The optimizer.
    former
        The update counts of the current device's weights before it.
    progress
        Other attributes as they were before it, by name.
    """
    counts = optimizer._index_update_count
    counts.clear()
    counts.update(former)
    for name, value in progress.items():
        setattr(optimizer, name, value)
