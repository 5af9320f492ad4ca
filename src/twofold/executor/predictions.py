"""Predictions of a bound graph: after some in a row, what depends only on arrays that do not change is computed once for all."""

from collections.abc import Sequence

from ..imperative.cell import Cell, Content, Value
from ..ndarray.array import NDArray
from ..scheduler.observers import LISTENERS
from .fixed_inputs import FixedInputs, fixed_leaves, hold
from .part import Part

#: Predictions after which the arrays are compared for the first time, and how many times as many it takes whenever that was in vain.
FIRST, LESS_OFTEN = 8, 4


class Predictions:
    """The predictions of a part that is the whole graph.

    Which of the bound arrays are parameters is not known, so arrays are taken as fixed that have not changed from one prediction to the
    next while others have. They are held meanwhile: a write gives such an array a new content, which `FixedInputs` notices.

    Parameters
    ----------
    part
        The part; it runs on the host.
    arrays
        The arrays that it reads.
    """

    def __init__(self, part: Part, arrays: Sequence[NDArray]) -> None:
        self.part, self._arrays = part, arrays
        self._calls, self._patience = 0, FIRST
        #: The contents at the last prediction, if they are to be compared at this one, and what keeps their memory from being written.
        self._before: list[Value | None] | None = None
        self._shown: list[Value] = []
        self._fixed: FixedInputs | None = None
        self._others: list[Cell] = []

    def outputs(self) -> list[Content] | None:
        """What the part makes, with fixed arrays; None if it is too early for that, or if it cannot be."""
        if LISTENERS:
            return None
        if self._fixed is None:
            self._calls += 1
            if self._calls < self._patience:
                return None
            if self._before is None:
                hold(self._arrays)
                self._before = [a._held if isinstance(a._held, Value) else None for a in self._arrays]
                self._shown = [v.shown() for v in self._before if v is not None]
                return None
            self._compare(self._before)
        elif not self._fixed.is_current():
            self.restart()
        found = None if self._fixed is None else self._fixed(self._others)
        if found is None:
            self.restart()
        return found

    def restart(self) -> None:
        """Let go of the arrays, as for training, which writes them in place."""
        self._calls, self._before, self._shown, self._fixed, self._others = 0, None, [], None, []

    def _compare(self, before: Sequence[Value | None]) -> None:
        same = [k for k, (a, v) in enumerate(zip(self._arrays, before, strict=True)) if v is not None and a._held is v]
        self.restart()
        self._patience *= LESS_OFTEN
        if 0 < len(same) < len(self._arrays):
            part, nodes = self.part, [node for _, node in self.part.makes]
            self._fixed = fixed_leaves("forward", nodes, part.leaves, self._arrays, same)
            self._others = [a for k, a in enumerate(self._arrays) if k not in same]
