"""`Attempt`: an update of weights that counts only if it does not raise."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol


class _Counting(Protocol):
    """What an optimizer counts with."""

    _index_update_count: dict[Any, int]
    progress_attributes: ClassVar[tuple[str, ...]]


class Attempt:
    """A block that updates these weights. An error that leaves it restores their update counts, and the optimizer's other progress."""

    __slots__ = ("_former", "_indices", "_optimizer", "_progress")

    def __init__(self, optimizer: _Counting, indices: Iterable[Any]) -> None:
        self._optimizer, self._indices, counts = optimizer, tuple(indices), optimizer._index_update_count
        self._former = {i: counts[i] for i in self._indices if i in counts}
        self._progress = {name: getattr(optimizer, name) for name in optimizer.progress_attributes if name != "_all_index_update_counts"}

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is not None:
            restore(self._optimizer, self._indices, self._former, self._progress)


def restore(optimizer: _Counting, indices: Iterable[Any], former: Mapping[Any, int], progress: Mapping[str, object]) -> None:
    """Take back what a failed update has changed.

    Parameters
    ----------
    optimizer
        The optimizer.
    indices
        The weights that it was to update.
    former
        The update counts of the current device's weights before it, at least theirs.
    progress
        Other attributes as they were before it, by name.
    """
    counts = optimizer._index_update_count
    for i in indices:
        if i in former:
            counts[i] = former[i]
        else:
            counts.pop(i, None)
    for name, value in progress.items():
        setattr(optimizer, name, value)
