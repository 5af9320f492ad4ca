"""Gamma and Poisson samples by rejection and inversion, with a fixed number of rounds per element.

A rejection sampler that runs until it accepts would consume a data-dependent number of words. Here the number of rounds is such that all of
them reject with a probability below 1e-7; such an element gets a value near the mean. In large arrays the elements that a round rejects are
gathered into an array of a size that depends on the rate of rejection only, and later rounds are computed for these.
"""

import math

from .random_floats import exponential, normal, substream, uniform, working

GAMMA_ROUNDS = 8
GAMMA_REJECTED = 0.0485  # the largest probability with which a round rejects, that of alpha = 1
NEARLY_NORMAL = 1e7  # from this alpha on a round rejects with a probability below 1e-8, less than the rounding of a float32 decides
POISSON_ROUNDS = 12
POISSON_REJECTED = 0.2475  # at `LARGE_MEAN`; larger means are rejected less often
LARGE_MEAN = 10.0
INVERSION_STEPS = 44  # a Poisson variable with mean 10 is larger with a probability of 1e-14
TABLE_COLUMNS = 64  # the next power of 2
GRID, GRID_STEPS = 8, 10  # a Poisson variable with mean 1 / 8 is 10 or more with a probability of 3e-16
LEAST_GATHERED = 1 << 14  # elements from which gathering what is left costs less than computing all rounds for all elements


def by_rejection(xp, attempt, rate, start, active, parameters, rounds):
    """Samples (n,) from candidates that are accepted or not; ``start`` where elements are not ``active`` or all rounds reject.

    ``attempt(k, n, *parameters)`` gives the candidates of round k and which are accepted. Parameters are vectors (n,) or 0-d. A round
    rejects active elements with a probability of at most ``rate``.
    """
    count, found = start.shape[0], start
    # the number of rejected elements exceeds its mean by eight standard deviations with a probability below 1e-14
    room = math.ceil(count * rate + 8 * math.sqrt(count * rate))
    if count < LEAST_GATHERED or len(rounds) == 1:
        # the last accepted candidate is kept, which is distributed like the first
        for k in rounds:
            candidate, accepted = attempt(k, count, *parameters)
            found = xp.where(xp.logical_and(accepted, active), candidate, found)
        return found
    candidate, accepted = attempt(rounds[0], count, *parameters)
    left = xp.logical_and(active, xp.logical_not(accepted))
    # the place of each rejected element among the gathered ones; all others write to one more place, which is cut off
    place = xp.where(left, xp.minimum(xp.cumulative_sum(xp.astype(left, dtype="int64"), axis=0) - 1, room), room)
    number = xp.index_update(xp.zeros((room + 1,), "int64"), xp.iota(size=count, dtype="int64"), place, key=(0,))
    gathered, *vectors = (v if v.shape == () else xp.take(v, xp.take_slice(number, 0, room, 0), axis=0) for v in (start, *parameters))
    again = by_rejection(xp, attempt, rate, gathered, xp.full(shape=(), value=True, dtype="bool"), vectors, rounds[1:])
    found = xp.where(xp.logical_and(accepted, active), candidate, start)
    return xp.where(xp.less(place, room), xp.take(again, xp.minimum(place, room - 1), axis=0), found)


def _flat(xp, value, count, shape):
    """A parameter that broadcasts to a shape as a vector of its elements, or 0-d if all of them share it."""
    one = math.prod(value.shape) == 1
    return xp.reshape(value, shape=()) if one else xp.reshape(xp.broadcast_to(value, shape=shape), shape=(count,))


def gamma(xp, rng, alpha, shape, dtype):
    """Standard gamma samples with shape parameters ``alpha`` (broadcasting to ``shape``), in the working dtype.

    Source: Marsaglia & Tsang, "A simple method for generating gamma variables", ACM Trans. Math. Softw. 26, 2000. For alpha < 1 a
    sample for alpha + 1 is multiplied by u^(1 / alpha) (their section 6).
    """
    dtype = working(dtype)
    small = xp.less(alpha, 1)
    count = math.prod(shape)
    d = _flat(xp, alpha + xp.astype(small, dtype=dtype) - 1 / 3, count, shape)

    def attempt(k, n, d):
        x = normal(xp, substream(xp, rng, 2 * k + 1), (n,), dtype)
        t = x / xp.sqrt(9 * d)
        root = 1 + t
        # d (1 - v + log v) for v = (1 + t)³, without the cancellation; NaN for negative v, so that it is rejected
        bound = 0.5 * x * x + d * (3 * (xp.log1p(t) - t) - t * t * (3 + t))
        accepted = -exponential(xp, substream(xp, rng, 2 * k + 2), (n,), dtype) < bound
        return d * (root * root * root), xp.logical_or(accepted, d > NEARLY_NORMAL)

    active = xp.logical_and(d > 0, d < math.inf)
    found = by_rejection(xp, attempt, GAMMA_REJECTED, xp.broadcast_to(d, shape=(count,)), active, [d], range(GAMMA_ROUNDS))
    found = xp.reshape(found, shape=shape)
    boost = xp.exp(-exponential(xp, rng, shape, dtype) / alpha)  # u^(1 / alpha), in log space
    return xp.where(small, found * boost, found)


def poisson(xp, rng, mean, shape):
    """Poisson samples (float64) with means that broadcast to ``shape``: by inversion below `LARGE_MEAN`, else by rejection."""
    large = xp.greater_equal(mean, LARGE_MEAN)
    few = small_poisson(xp, rng, xp.minimum(mean, LARGE_MEAN), shape)
    return xp.where(large, large_poisson(xp, rng, mean, shape), few)


def small_poisson(xp, rng, mean, shape):
    """Poisson samples with means up to `LARGE_MEAN`: sums of two, one with a mean on a grid, by a table, and one with the rest as mean."""
    row = xp.floor(mean * GRID)
    u = uniform(xp, rng, shape, "float64")
    # the cumulative probabilities of each mean of the grid: P(0) = exp(-mean) and P(k) = P(k - 1) · mean / k
    means = xp.reshape(xp.iota(size=int(LARGE_MEAN * GRID) + 1, dtype="float64") * (1 / GRID), shape=(-1, 1))
    factors = means / xp.iota(size=TABLE_COLUMNS, dtype="float64")
    factors = xp.where(xp.equal(xp.iota(size=TABLE_COLUMNS, dtype="int64"), 0), xp.exp(-means), factors)
    table = xp.reshape(xp.cumulative_sum(xp.cumulative_prod(factors, axis=1), axis=1), shape=(-1,))
    # binary search for how many of a row's numbers u reaches; NaN, as a mean, takes the first row
    found = xp.astype(xp.where(row >= 0, row, 0), dtype="int64") * TABLE_COLUMNS
    first = found
    step = TABLE_COLUMNS // 2
    while step:
        found = xp.where(u >= xp.take(table, found + (step - 1), axis=0), found + step, found)
        step //= 2
    rest = few_by_inversion(xp, uniform(xp, substream(xp, rng, 63), shape, "float64"), mean - row * (1 / GRID), GRID_STEPS)
    return xp.astype(found - first, dtype="float64") + rest


def few_by_inversion(xp, u, mean, steps):
    """Poisson samples of fewer than ``steps`` events: the number of cumulative probabilities that uniform numbers reach."""
    probability = total = xp.exp(-mean)
    found = xp.zeros(u.shape, "float64")
    for k in range(1, steps):
        found = found + xp.greater_equal(u, total)
        probability = probability * mean * (1 / k)
        total = total + probability
    return found


def log_poisson_probability(xp, number, mean):
    """The logarithm of the probability of a number of 0 or more, for means from `LARGE_MEAN` on.

    From 8 on by Stirling's series, whose error is below 1e-11; P(k) below 8 is P(k + 8) · (k + 1) … (k + 8) / mean⁸.
    """
    few = xp.less(number, 8)
    k = xp.where(few, number + 8, number)
    part = 1 / (mean * mean)
    product = part * part * part * part
    for step in range(1, 9):
        product = product * (number + step)
    ratio = xp.where(few, product, 1)
    # k log(mean / k) + k - mean, without the cancellation
    t = (mean - k) / k
    inverse = 1 / k
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680))))
    return k * (xp.log1p(t) - t) - series + xp.log(ratio / xp.sqrt(2 * math.pi * k))


def large_poisson(xp, rng, mean, shape):
    """Poisson samples with means from `LARGE_MEAN` on, and unspecified ones with others.

    Source: Hörmann, "The transformed rejection method for generating Poisson random variables", 1993, algorithm PTRS.
    """
    count = math.prod(shape)
    mean = _flat(xp, mean, count, shape)

    def attempt(k, n, mean):
        # the constants of PTRS: a transformed uniform ratio as hat, and a squeeze that accepts most candidates without the density
        b = 0.931 + 2.53 * xp.sqrt(mean)
        a = -0.059 + 0.02483 * b
        u = uniform(xp, substream(xp, rng, 2 * k + 1), (n,), "float64") - 0.5
        v = 1 - uniform(xp, substream(xp, rng, 2 * k + 2), (n,), "float64")
        # the names are those of the paper's algorithm; v is in (0, 1], so that its logarithm is finite
        us = 0.5 - xp.absolute(u)
        number = xp.floor((2 * a / us + b) * u + mean + 0.43)
        squeezed = xp.logical_and(us >= 0.07, v <= 0.9277 - 3.6224 / (b - 2))
        possible = xp.logical_and(number >= 0, xp.logical_or(us >= 0.013, v <= us))
        density = log_poisson_probability(xp, xp.maximum(number, 0), mean)
        exact = xp.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (us * us) + b)) <= density
        return number, xp.logical_or(squeezed, xp.logical_and(possible, exact))

    active = xp.logical_and(mean >= LARGE_MEAN, mean < math.inf)
    start = xp.broadcast_to(xp.floor(mean), shape=(count,))
    found = by_rejection(xp, attempt, POISSON_REJECTED, start, active, [mean], range(POISSON_ROUNDS))
    return xp.reshape(found, shape=shape)


def poisson_of(xp, rng, mean, shape):
    """Poisson samples with one mean that is known at compile time, so that only one of the methods is run."""
    value = xp.full(shape=(), value=float(mean), dtype="float64")
    if mean >= LARGE_MEAN:
        return large_poisson(xp, rng, value, shape)
    if mean > 0:
        return few_by_inversion(xp, uniform(xp, rng, shape, "float64"), value, INVERSION_STEPS)
    return xp.full(shape=shape, value=0.0 if mean == 0 else math.nan, dtype="float64")
