"""Checks that the setting ``check`` turns on: labels and indices out of range, which MXNet clips or ignores, raise."""

from ..config import SETTINGS
from ..errors import IndexingError


def checked(xp, index, size, operator, what="index", ignored=None, result=None):
    """``result`` (the index itself if None), whose computation raises if an index is outside [0, size) and is not ``ignored``."""
    result = index if result is None else result
    if not SETTINGS.check:
        return result
    # on the host, whatever the device: a check on a GPU would be reported by a later call
    return xp.host(_result_of_checked, index, result, like=result, size=size, operator=operator, what=what, ignored=ignored)


def _result_of_checked(np, index, result, *, size, operator, what, ignored):
    wrong = ~((index > -1) & (index < size))  # truncated: -0.5 counts as 0; NaN is wrong
    if ignored is not None:
        wrong &= index != ignored
    if wrong.any():
        place = tuple(int(k) for k in np.argwhere(wrong)[0])
        at = f" at position {place[0] if len(place) == 1 else place}" if place else ""
        raise IndexingError(f"{operator}: the {what} is out of range", f"{index[place]:g}{at}", f"pass integers from 0 to {size - 1}")
    return result
