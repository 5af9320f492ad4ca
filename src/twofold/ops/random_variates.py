"""Gamma and Poisson samples by rejection and inversion, with a fixed number of rounds per element.

A rejection sampler that runs until it accepts would consume a data-dependent number of words. Here the number of rounds is such that all of
them reject with a probability below 1e-7; such an element gets a value near the mean.
"""

import math

from .random_floats import exponential, normal, substream, uniform, working

GAMMA_ROUNDS = 8  # each round accepts with a probability above 0.95
POISSON_ROUNDS = 12  # each round accepts with a probability above 0.75 if the mean is at least `LARGE_MEAN`
LARGE_MEAN = 10.0
INVERSION_STEPS = 44  # a Poisson variable with mean 10 is larger with a probability of 1e-14


def gamma(xp, rng, alpha, shape, dtype):
    """Standard gamma samples with shape parameters ``alpha`` (broadcasting to ``shape``), in the working dtype.

    Source: Marsaglia & Tsang, "A simple method for generating gamma variables", ACM Trans. Math. Softw. 26, 2000. For alpha < 1 a
    sample for alpha + 1 is multiplied by u^(1 / alpha) (their section 6).
    """
    dtype = working(dtype)
    small = xp.less(alpha, 1)
    d = alpha + xp.astype(small, dtype=dtype) - 1 / 3
    c = 1 / xp.sqrt(9 * d)
    found = xp.broadcast_to(d, shape=shape)
    # all rounds are computed for all elements, and the last accepted number is kept, which is distributed like the first
    for k in range(GAMMA_ROUNDS):
        x = normal(xp, substream(xp, rng, 2 * k + 1), shape, dtype)
        root = 1 + c * x
        v = root * root * root
        bound = 0.5 * x * x + d * (1 - v + xp.log(v))  # NaN for negative v, so that it is rejected
        accepted = -exponential(xp, substream(xp, rng, 2 * k + 2), shape, dtype) < bound
        found = xp.where(accepted, d * v, found)
    boost = xp.exp(-exponential(xp, rng, shape, dtype) / alpha)  # u^(1 / alpha), in log space
    return xp.where(small, found * boost, found)


def poisson(xp, rng, mean, shape):
    """Poisson samples (float64) with means that broadcast to ``shape``: by inversion below `LARGE_MEAN`, else by rejection."""
    large = xp.greater_equal(mean, LARGE_MEAN)
    few = small_poisson(xp, rng, xp.minimum(mean, LARGE_MEAN), shape)
    return xp.where(large, large_poisson(xp, rng, xp.maximum(mean, LARGE_MEAN), shape), few)


def small_poisson(xp, rng, mean, shape):
    """Poisson samples with means up to `LARGE_MEAN`: the number of cumulative probabilities that a uniform number reaches."""
    u = uniform(xp, rng, shape, "float64")
    # P(0) = exp(-mean) and P(k) = P(k - 1) · mean / k
    probability = total = xp.exp(-mean)
    found = xp.zeros(shape, "float64")
    for k in range(1, INVERSION_STEPS):
        found = found + xp.greater_equal(u, total)
        probability = probability * mean * (1 / k)
        total = total + probability
    return found


def large_poisson(xp, rng, mean, shape):
    """Poisson samples with means from `LARGE_MEAN` on.

    Source: Hörmann, "The transformed rejection method for generating Poisson random variables", 1993, algorithm PTRS.
    """
    # the constants of PTRS: a transformed uniform ratio as hat, and a squeeze that accepts most candidates without the density
    b = 0.931 + 2.53 * xp.sqrt(mean)
    a = -0.059 + 0.02483 * b
    log_alpha, quick = xp.log(1.1239 + 1.1328 / (b - 3.4)), 0.9277 - 3.6224 / (b - 2)
    log_mean = xp.log(mean)
    found = xp.broadcast_to(xp.floor(mean), shape=shape)
    for k in range(POISSON_ROUNDS):
        u = uniform(xp, substream(xp, rng, 2 * k + 1), shape, "float64") - 0.5
        v = 1 - uniform(xp, substream(xp, rng, 2 * k + 2), shape, "float64")
        # the names are those of the paper's algorithm; v is in (0, 1], so that its logarithm is finite
        us = 0.5 - xp.absolute(u)
        number = xp.floor((2 * a / us + b) * u + mean + 0.43)
        squeezed = xp.logical_and(us >= 0.07, v <= quick)
        possible = xp.logical_and(number >= 0, xp.logical_or(us >= 0.013, v <= us))
        density = number * log_mean - mean - xp.gammaln(number + 1)
        exact = xp.log(v) + log_alpha - xp.log(a / (us * us) + b) <= density
        found = xp.where(xp.logical_or(squeezed, xp.logical_and(possible, exact)), number, found)
    return found


def poisson_of(xp, rng, mean, shape):
    """Poisson samples with one mean that is known at compile time, so that only one of the methods is run."""
    value = xp.full(shape=(), value=float(mean), dtype="float64")
    if mean >= LARGE_MEAN:
        return large_poisson(xp, rng, value, shape)
    return small_poisson(xp, rng, value, shape) if mean > 0 else xp.full(shape=shape, value=0.0 if mean == 0 else math.nan, dtype="float64")
