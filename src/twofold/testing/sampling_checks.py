"""Checks of random generators: means, variances, and Pearson's chi-square test of how often values fall into buckets.

The tolerances of means and variances are those of A. Goucher and T. Riley, "Beautiful Testing", 2009, chapter 10: three standard errors.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import ParameterError

#: A function of the number of samples that returns so many.
Generator = Callable[[int], Any]
#: Intervals [low, high), or the values of a discrete distribution. The last interval includes its upper bound.
Buckets = Sequence[tuple[float, float]] | Sequence[float]


def gen_buckets_probs_with_ppf(ppf: Callable[[float], float], nbuckets: int) -> tuple[list[tuple[float, float]], list[float]]:
    """Buckets of equal probability, with these probabilities.

    Parameters
    ----------
    ppf
        The quantile function (the inverse of the cumulative distribution function).
    nbuckets
        The number of buckets.

    Examples
    --------
    >>> gen_buckets_probs_with_ppf(lambda p: 2 * p, 2)
    ([(0.0, 1.0), (1.0, 2.0)], [0.5, 0.5])
    """
    edges = [ppf(k / nbuckets) for k in range(nbuckets + 1)]
    return list(pairwise(edges)), [1 / nbuckets] * nbuckets


def _drawn(generator: Generator, nsamples: int) -> np.ndarray:
    found = generator(nsamples)
    return (found.asnumpy() if hasattr(found, "asnumpy") else np.asarray(found)).ravel()


def mean_check(generator: Generator, mu: float, sigma: float, nsamples: int = 1_000_000) -> bool:
    """Whether the mean of so many samples is within three standard errors of ``mu``: mu ± 3 sigma / sqrt(n).

    Parameters
    ----------
    generator
        Function that returns as many samples as it is asked for.
    mu, sigma
        Mean and standard deviation of the distribution.
    nsamples
        Number of samples.
    """
    error = 3 * sigma / math.sqrt(nsamples)
    return bool(abs(_drawn(generator, nsamples).mean() - mu) < error)


def var_check(generator: Generator, sigma: float, nsamples: int = 1_000_000) -> bool:
    """Whether the variance of so many normal samples is within three standard errors of sigma²: sigma² ± 3 sqrt(2 sigma⁴ / (n - 1)).

    Parameters
    ----------
    generator
        Function that returns as many samples as it is asked for.
    sigma
        Standard deviation of the distribution.
    nsamples
        Number of samples.
    """
    error = 3 * math.sqrt(2 * sigma**4 / (nsamples - 1))
    return bool(abs(_drawn(generator, nsamples).var(ddof=1) - sigma**2) < error)


def chi_square_check(
    generator: Generator, buckets: Buckets, probs: Sequence[float], nsamples: int = 1_000_000
) -> tuple[float, np.ndarray, np.ndarray]:
    """Pearson's chi-square test: how probable frequencies as uneven as those of a generator's samples are.

    Parameters
    ----------
    generator
        A function of the number of samples that returns so many independent ones.
    buckets
        Intervals (low, high) in ascending order that do not overlap, for a continuous distribution; the values of a discrete one.
    probs
        The probability of each bucket.
    nsamples
        The number of samples.

    Returns
    -------
    p
        The probability of a statistic at least as large.
    observed, expected
        The frequencies, shape (buckets,).

    Raises
    ------
    AssertionError
        If the numbers of buckets and of probabilities differ, or intervals overlap or are not in ascending order.
    ParameterError
        If samples fall into no bucket.

    Examples
    --------
    >>> chi_square_check(lambda n: np.arange(n) % 2, [0, 1], [0.5, 0.5], 1000)[0]
    1.0
    """
    assert len(buckets) == len(probs) > 0, f"{len(buckets)} buckets and {len(probs)} probabilities"
    samples = _drawn(generator, nsamples)
    expected = (nsamples * np.asarray(probs, dtype=np.float64)).astype(np.int32)
    observed = _frequencies(samples, buckets)
    if observed.sum() != samples.size:
        missed = f"{samples.size - observed.sum()} of {samples.size} samples"
        raise ParameterError("chi_square_check: samples fall into no bucket", missed, "let the buckets cover all values")
    statistic = float(np.sum((observed - expected) ** 2 / expected))
    return _chi_square_tail(statistic, len(buckets) - 1), observed, expected


def _frequencies(samples: np.ndarray, buckets: Buckets) -> np.ndarray:
    """How many samples are in each bucket."""
    if isinstance(buckets[0], (tuple, list)):
        edges = np.asarray(buckets, dtype=np.float64)
        assert np.all(np.diff(edges.ravel()) >= 0), "the buckets overlap or are not in ascending order"
        counts = np.array([int(((samples >= low) & (samples < high)).sum()) for low, high in edges])
        counts[-1] += int((samples == edges[-1, 1]).sum())  # 16-bit samples below it may be rounded to the last bound
        return counts
    return np.array([int((samples == value).sum()) for value in buckets])


def _chi_square_tail(statistic: float, freedom: int) -> float:
    """The probability that a chi-square variable exceeds a number: Abramowitz and Stegun, 26.4.4 and 26.4.5, finite sums."""
    half = statistic / 2
    if freedom == 0 or half == 0:
        return 1.0
    first, start = (math.erfc(math.sqrt(half)), 0.5) if freedom % 2 else (0.0, 0.0)
    powers = [k + start for k in range(freedom // 2)]
    # a power and a factorial may each overflow; their quotient times exp(-half) is a probability
    terms = (math.exp(k * math.log(half) - half - math.lgamma(k + 1)) for k in powers)
    return min(1.0, first + math.fsum(terms))


def verify_generator(
    generator: Generator,
    buckets: Buckets,
    probs: Sequence[float],
    nsamples: int = 1_000_000,
    nrepeat: int = 5,
    success_rate: float = 0.2,
    alpha: float = 0.05,
) -> list[float]:
    """Assert that a generator passes `chi_square_check` often enough.

    Parameters
    ----------
    generator, buckets, probs, nsamples
        See `chi_square_check`.
    nrepeat
        How often the test is repeated.
    success_rate
        The share of repetitions that must succeed.
    alpha
        A repetition succeeds if its probability is larger.

    Returns
    -------
    list
        The probabilities.
    """
    found = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    chances = [p for p, _, _ in found]
    if sum(p > alpha for p in chances) < nrepeat * success_rate:
        observed, expected = [o for _, o, _ in found], [e for _, _, e in found]
        raise AssertionError(
            f"Generator test fails, Chi-square p={chances}, obs_freq={observed}, expected_freq={expected}.\n"
            f"buckets={buckets}, probs={probs}"
        )
    return chances
