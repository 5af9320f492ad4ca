"""`Attempt`: updates of weights that count only if none raises."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .base import Index, Optimizer


class Attempt:
    """A block that updates weights. An error that leaves it restores their update counts, and the optimizer's other progress.

    Parameters
    ----------
    optimizer
        The optimizer.
    indices
        Indices or names of the weights.
    """

    __slots__ = ("_counts", "_former", "_optimizer", "_progress")

    def __init__(self, optimizer: "Optimizer", indices: "Iterable[Index]") -> None:
        self._optimizer = optimizer
        self._counts = counts = optimizer._index_update_count
        self._former = {i: counts.get(i) for i in indices}
        # of the table of counts, only these weights' are restored: others may be updated meanwhile
        self._progress = {name: getattr(optimizer, name) for name in optimizer.progress_attributes if name != "_all_index_update_counts"}

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is None:
            return
        for name, value in self._progress.items():
            setattr(self._optimizer, name, value)
        for index, number in self._former.items():
            if number is None:
                self._counts.pop(index, None)
            else:
                self._counts[index] = number
