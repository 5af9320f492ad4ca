"""The private state of metrics of confusion matrices that programs read; see `adopt`."""

import numpy as np

from ..metric.confusion import MCC, PCC, _correlation
from .array_state import adopt


class AverageState(MCC):
    """State of `MCC`."""

    _average = property(lambda metric: metric.average)


class CorrelationState(PCC):
    """State of `PCC`: the counts of predicted and true classes since the last reset, and in all."""

    # a reset leaves the counts since then smaller than those in all
    lcm = property(lambda metric: np.pad(metric._local, (0, missing)) if (missing := metric.k - len(metric._local)) else metric._local)
    gcm = property(lambda metric: metric._global)
    #: The number of classes.
    k = property(lambda metric: max(len(metric._local), len(metric._global)))

    def _grow(self, inc: int) -> None:
        """Make place for more classes."""
        self._local, self._global = (np.pad(counts, (0, inc)) for counts in (self._local, self._global))

    def _calc_mcc(self, cmat: np.ndarray) -> float:
        """The correlation of counts."""
        return _correlation(cmat)


adopt(MCC, AverageState)
adopt(PCC, CorrelationState)
