"""Failures of a long job: how often to write a checkpoint, and which share of the job's time is then useful.

Failures come at random times, independently of each other, at a constant rate. After a failure the job starts again, from its last
checkpoint.

Notes
-----
Young, A first order approximation to the optimum checkpoint interval, 1974; Daly, A higher order estimate of the optimum checkpoint
interval for restart dumps, 2006. The default rate of failures is that of Grattafiori et al., The Llama 3 herd of models, 2024: 419
unexpected interruptions of 16,384 GPUs in 54 days.
"""

import math
from typing import NamedTuple

from ..errors import ParameterError

#: Seconds of a day.
DAY = 86400.0


class Failures(NamedTuple):
    """How often processes fail, and how long that stops a job.

    Attributes
    ----------
    per_day
        Failures of one process in a day; by default the published rate of one GPU.
    restart
        Seconds from a failure until the program runs again and reads its checkpoint.
    detection
        Seconds until the other processes of a job with ``--ft`` go on without the one that failed.
    """

    per_day: float = 419 / (54 * 16384)
    restart: float = 180.0
    detection: float = 30.0

    def between(self, processes: int) -> float:
        """Mean seconds between two failures of a job; infinity if nothing ever fails.

        Parameters
        ----------
        processes
            Number of processes of the job.

        Examples
        --------
        >>> from twofold.kvstore.job_failures import Failures
        >>> round(Failures().between(16384) / 3600, 1)
        3.1
        """
        return DAY / (self.per_day * processes) if self.per_day else math.inf


def checkpoint_interval(write: float, between: float) -> float:
    """The seconds to train between two checkpoints so that a job ends earliest.

    Parameters
    ----------
    write
        Seconds that writing a checkpoint takes, above 0; the job waits.
    between
        Mean seconds between two failures.

    Returns
    -------
    float
        Infinity if nothing ever fails.

    Raises
    ------
    ParameterError
        If a time is not above 0.

    Notes
    -----
    Daly, 2006, a series around Young's ``sqrt(2 * write * between)``.

    Examples
    --------
    >>> from twofold.kvstore.job_failures import checkpoint_interval
    >>> round(checkpoint_interval(5, 24 * 60))  # in minutes: Daly's own example
    117
    """
    if not (write > 0 and between > 0):
        raise ParameterError("checkpoint_interval: a time is not above 0", f"write {write:g}, between {between:g}", "pass seconds")
    if math.isinf(between):
        return math.inf
    if write >= 2 * between:
        return between
    ratio = write / (2 * between)
    return math.sqrt(2 * write * between) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - write


def useful_share(interval: float, write: float, recovery: float, between: float) -> float:
    """The share of a job's time in which it trains, and what it trains is not lost by a failure.

    Parameters
    ----------
    interval
        Seconds of training between two checkpoints.
    write
        Seconds that writing a checkpoint takes.
    recovery
        Seconds from a failure until training goes on from the last checkpoint; a failure in them begins them again.
    between
        Mean seconds between two failures.

    Notes
    -----
    Daly, 2006: the expected wall time of a job.

    Examples
    --------
    >>> from twofold.kvstore.job_failures import useful_share
    >>> round(useful_share(117, 5, 10, 24 * 60), 3)
    0.913
    """
    if math.isinf(between):
        return 1.0 if math.isinf(interval) else interval / (interval + write)
    # the share underflows to 0 where a job hardly ever gets from one checkpoint to the next
    return interval / between * math.exp(-recovery / between) / math.expm1(min((interval + write) / between, 700.0))
