"""A sampler that visits samples at intervals."""

from collections.abc import Iterator

from ....errors import InvalidValue
from ...data.sampler import Sampler

__all__ = ["IntervalSampler"]


class IntervalSampler(Sampler):
    """Every k-th sample; then, if it rolls over, every k-th from the second one on, and so forth.

    Parameters
    ----------
    length
        Number of samples.
    interval
        The distance k of indices.
    rollover
        Whether to start again from each of the first k samples; otherwise only from the first. The sampler's length is that of all samples
        in either case, as in MXNet.

    Raises
    ------
    ParameterError
        If the interval is larger than the number of samples.

    Examples
    --------
    >>> list(IntervalSampler(7, interval=3))
    [0, 3, 6, 1, 4, 2, 5]
    >>> list(IntervalSampler(7, interval=3, rollover=False))
    [0, 3, 6]
    """

    def __init__(self, length: int, interval: int, rollover: bool = True) -> None:
        if interval > length:
            what = f"Interval {interval} must be smaller than or equal to length {length}"
            raise InvalidValue(what, None, "pass a smaller interval")
        self._length = length
        self._interval = interval
        self._rollover = rollover

    def __iter__(self) -> Iterator[int]:
        for start in range(self._interval if self._rollover else 1):
            yield from range(start, self._length, self._interval)

    def __len__(self) -> int:
        return self._length
