"""The samplers: ``_random_*`` (scalar parameters), ``_sample_*`` (array parameters) and ``_random_*_like`` (with an array's shape).

Each takes ``rng``, the key of a random stream; equal keys give equal samples. Samples are computed in float32, or in float64 on request,
then cast.
"""

import math
from functools import partial
from typing import Literal

from ..dtype import FLOATS
from ..errors import ShapeError
from ..opdef import Domain, Scalar, Shape, agreed, op
from .random_floats import exponential, normal, substream, uniform, working
from .random_variates import gamma, poisson, poisson_of

FloatName = Literal["float16", "float32", "float64"] | None
sampler = partial(op, differentiable=False)

# what parameters must be, by the distribution; comparisons are false for NaN
INTERVAL = Domain("low must not be above high", lambda low, high: low <= high)
DEVIATION = Domain("scale must be positive", lambda loc, scale: scale > 0)
MEAN = Domain("lam must not be negative", lambda lam: lam >= 0)
RATE = Domain("lam must be positive", lambda lam: lam > 0)
BOTH_POSITIVE = Domain("alpha and beta must be positive", lambda alpha, beta: alpha > 0 and beta > 0)
TRIALS = Domain("k and p must not be negative", lambda k, p: k >= 0 and p >= 0)
MEAN_AND_DISPERSION = Domain("mu and alpha must not be negative", lambda mu, alpha: mu >= 0 and alpha >= 0)
INTEGERS = Domain("low must be below high", lambda low, high: low < high)


def _parameters(xp, dtype, *values):
    """Parameters, scalars or arrays, in the working dtype."""
    return [xp.astype(v, dtype=working(dtype)) for v in values]


# the distributions: parameters broadcast to the shape; results are in the working dtype, Poisson samples in float64


def _uniform(xp, rng, shape, dtype, low, high):
    # 16-bit samples are drawn in 16 bits: rounding a float32 from [0, 1) could give 1
    u = xp.cast(uniform(xp, rng, shape, dtype), working(dtype))
    return low + (high - low) * u


def _normal(xp, rng, shape, dtype, loc, scale):
    return loc + scale * normal(xp, rng, shape, dtype)


def _gamma(xp, rng, shape, dtype, alpha, beta):
    return gamma(xp, rng, alpha, shape, dtype) * beta


def _exponential(xp, rng, shape, dtype, lam):
    return exponential(xp, rng, shape, dtype) / lam


def _poisson(xp, rng, shape, dtype, lam):
    return poisson(xp, rng, xp.cast(lam, "float64"), shape)


def _negative_binomial(xp, rng, shape, dtype, k, p):
    """The number of failures before k successes of probability p: a Poisson variable with a gamma-distributed mean."""
    # in float64: counts above 2²⁴ are not exact in float32
    mean = gamma(xp, rng, xp.cast(k, "float64"), shape, "float64") * ((1 - p) / p)
    # the gamma sampler uses the streams below 64; independent draws need another
    return poisson(xp, substream(xp, rng, 64), mean, shape)


def _generalized_negative_binomial(xp, rng, shape, dtype, mu, alpha):
    """Negative binomial with mean mu and dispersion alpha (variance mu + alpha · mu²); Poisson where alpha is 0."""
    mu, alpha = xp.cast(mu, "float64"), xp.cast(alpha, "float64")
    pure = xp.equal(alpha, 0)
    # where alpha is 0 its inverse is not used, and must not be infinite
    dispersion = xp.where(pure, 1, alpha)
    mean = gamma(xp, rng, 1 / dispersion, shape, "float64") * (dispersion * mu)
    return poisson(xp, substream(xp, rng, 64), xp.where(pure, mu, mean), shape)


# scalar parameters


def _draw(xp, distribution, rng, shape, dtype, *values):
    name = dtype or "float32"
    return xp.cast(distribution(xp, rng, (1,) if shape is None else shape, name, *_parameters(xp, name, *values)), name)


@sampler("_random_uniform", "random_uniform", "uniform", domain=INTERVAL)
def random_uniform(xp, rng, *, low: Scalar = 0.0, high: Scalar = 1.0, shape: Shape | None = None, dtype: FloatName = None):
    """Uniform samples from [low, high)."""
    return _draw(xp, _uniform, rng, shape, dtype, low, high)


@sampler("_random_normal", "random_normal", "normal", domain=DEVIATION)
def random_normal(xp, rng, *, loc: Scalar = 0.0, scale: Scalar = 1.0, shape: Shape | None = None, dtype: FloatName = None):
    """Normal samples with mean ``loc`` and standard deviation ``scale``."""
    return _draw(xp, _normal, rng, shape, dtype, loc, scale)


@sampler("_random_gamma", "random_gamma", domain=BOTH_POSITIVE)
def random_gamma(xp, rng, *, alpha: Scalar = 1.0, beta: Scalar = 1.0, shape: Shape | None = None, dtype: FloatName = None):
    """Gamma samples with shape ``alpha`` and scale ``beta`` (mean alpha · beta)."""
    return _draw(xp, _gamma, rng, shape, dtype, alpha, beta)


@sampler("_random_exponential", "random_exponential", domain=RATE)
def random_exponential(xp, rng, *, lam: Scalar = 1.0, shape: Shape | None = None, dtype: FloatName = None):
    """Exponential samples with rate ``lam`` (mean 1 / lam)."""
    return _draw(xp, _exponential, rng, shape, dtype, lam)


@sampler("_random_poisson", "random_poisson", domain=MEAN)
def random_poisson(xp, rng, *, lam: float = 1.0, shape: Shape | None = None, dtype: FloatName = None):
    """Poisson samples with mean ``lam``, which selects the method and is therefore part of the program."""
    return xp.cast(poisson_of(xp, rng, lam, (1,) if shape is None else shape), dtype or "float32")


@sampler("_random_negative_binomial", "random_negative_binomial", domain=TRIALS)
def random_negative_binomial(xp, rng, *, k: Scalar = 1, p: Scalar = 1.0, shape: Shape | None = None, dtype: FloatName = None):
    """Negative binomial samples: failures before ``k`` successes of probability ``p``."""
    return _draw(xp, _negative_binomial, rng, shape, dtype, k, p)


@sampler("_random_generalized_negative_binomial", "random_generalized_negative_binomial", domain=MEAN_AND_DISPERSION)
def random_generalized_negative_binomial(
    xp, rng, *, mu: Scalar = 1.0, alpha: Scalar = 1.0, shape: Shape | None = None, dtype: FloatName = None
):
    """Negative binomial samples with mean ``mu`` and variance mu + alpha · mu²."""
    return _draw(xp, _generalized_negative_binomial, rng, shape, dtype, mu, alpha)


@sampler("_random_randint", "random_randint", "_npi_random_randint", domain=INTEGERS)
def random_randint(xp, rng, *, low: Scalar, high: Scalar, shape: Shape | None = None, dtype: Literal["int32", "int64"] | None = None):
    """Integers from [low, high): a word modulo high - low, with a bias below (high - low) / 2⁶⁴."""
    # the difference as uint64 is right even where low and high span more than half of int64
    first, last = xp.astype(low, dtype="int64"), xp.astype(high, dtype="int64")
    offset = xp.remainder(xp.random_bits(rng, shape=(1,) if shape is None else shape), xp.astype(last - first, dtype="uint64"))
    return xp.cast(first + xp.astype(offset, dtype="int64"), dtype or "int32")


# array parameters: ``shape`` samples for each element


def _sample(xp, name, distribution, rng, shape, dtype, *arrays):
    if any(a.shape != arrays[0].shape for a in arrays):
        raise ShapeError(
            f"{name.lstrip('_')}: the parameters differ in shape", ", ".join(str(a.shape) for a in arrays), "pass arrays of the same shape"
        )
    dtype, size = dtype or "float32", (*arrays[0].shape, *shape)
    # axes of size 1 in place of `shape`, over which each parameter is shared
    column = (*arrays[0].shape, *[1] * len(shape))
    parameters = [xp.reshape(p, shape=column) for p in _parameters(xp, dtype, *arrays)]
    return xp.cast(distribution(xp, rng, size, dtype, *parameters), dtype)


@sampler("_sample_uniform", "sample_uniform")
def sample_uniform(xp, low, high, rng, *, shape: Shape = (), dtype: FloatName = None):
    """Uniform samples from [low, high): an array of the given ``shape`` for each pair of bounds."""
    return _sample(xp, "_sample_uniform", _uniform, rng, shape, dtype, low, high)


@sampler("_sample_normal", "sample_normal")
def sample_normal(xp, mu, sigma, rng, *, shape: Shape = (), dtype: FloatName = None):
    """Normal samples: an array of the given ``shape`` for each mean and standard deviation."""
    return _sample(xp, "_sample_normal", _normal, rng, shape, dtype, mu, sigma)


@sampler("_sample_gamma", "sample_gamma")
def sample_gamma(xp, alpha, beta, rng, *, shape: Shape = (), dtype: FloatName = None):
    """Gamma samples: an array of the given ``shape`` for each pair of the distribution's shape alpha and scale beta."""
    return _sample(xp, "_sample_gamma", _gamma, rng, shape, dtype, alpha, beta)


@sampler("_sample_exponential", "sample_exponential")
def sample_exponential(xp, lam, rng, *, shape: Shape = (), dtype: FloatName = None):
    """Exponential samples: an array of the given ``shape`` for each rate."""
    return _sample(xp, "_sample_exponential", _exponential, rng, shape, dtype, lam)


@sampler("_sample_poisson", "sample_poisson")
def sample_poisson(xp, lam, rng, *, shape: Shape = (), dtype: FloatName = None):
    """Poisson samples: an array of the given ``shape`` for each mean."""
    return _sample(xp, "_sample_poisson", _poisson, rng, shape, dtype, lam)


@sampler("_sample_negative_binomial", "sample_negative_binomial")
def sample_negative_binomial(xp, k, p, rng, *, shape: Shape = (), dtype: FloatName = None):
    """``shape`` negative binomial samples for each number of successes k and probability p."""
    return _sample(xp, "_sample_negative_binomial", _negative_binomial, rng, shape, dtype, k, p)


@sampler("_sample_generalized_negative_binomial", "sample_generalized_negative_binomial")
def sample_generalized_negative_binomial(xp, mu, alpha, rng, *, shape: Shape = (), dtype: FloatName = None):
    """``shape`` negative binomial samples for each mean and dispersion."""
    return _sample(xp, "_sample_generalized_negative_binomial", _generalized_negative_binomial, rng, shape, dtype, mu, alpha)


def _drawn_shapes(shapes, results, *, shape, **_):
    """Type inference: parameters of equal shape, and a result with the axes of ``shape`` appended."""
    result = results[0]
    lead = None if result is None or len(result) < len(shape) else result[: len(result) - len(shape)] or None
    common = agreed(*shapes, lead)
    return [common] * len(shapes), [None if common is None else (*common, *shape)]


for _op in (
    sample_uniform,
    sample_normal,
    sample_gamma,
    sample_exponential,
    sample_poisson,
    sample_negative_binomial,
    sample_generalized_negative_binomial,
):
    _op.infer(_drawn_shapes)
    _op.dtypes(lambda dtypes, *, dtype, **_: [dtype or "float32"])


# with an array's shape and dtype


def _float_like(dtypes, **_):
    return [dtypes[0] if dtypes[0] in FLOATS or dtypes[0] is None else "float32"]


def _draw_like(xp, data, distribution, rng, *values):
    name = xp.dtype_of(data) if xp.dtype_of(data) in FLOATS else "float32"
    return xp.cast(distribution(xp, rng, data.shape, name, *_parameters(xp, name, *values)), name)


@sampler("_random_uniform_like", keeps_shape=True, domain=INTERVAL)
def random_uniform_like(xp, data, rng, *, low: Scalar = 0.0, high: Scalar = 1.0):
    """Uniform samples from [low, high), one per element of the data."""
    return _draw_like(xp, data, _uniform, rng, low, high)


@sampler("_random_normal_like", keeps_shape=True, domain=DEVIATION)
def random_normal_like(xp, data, rng, *, loc: Scalar = 0.0, scale: Scalar = 1.0):
    """Normal samples, one per element of the data."""
    return _draw_like(xp, data, _normal, rng, loc, scale)


@sampler("_random_gamma_like", keeps_shape=True, domain=BOTH_POSITIVE)
def random_gamma_like(xp, data, rng, *, alpha: Scalar = 1.0, beta: Scalar = 1.0):
    """Gamma samples, one per element of the data."""
    return _draw_like(xp, data, _gamma, rng, alpha, beta)


@sampler("_random_exponential_like", keeps_shape=True, domain=RATE)
def random_exponential_like(xp, data, rng, *, lam: Scalar = 1.0):
    """Exponential samples, one per element of the data."""
    return _draw_like(xp, data, _exponential, rng, lam)


@sampler("_random_poisson_like", keeps_shape=True, domain=MEAN)
def random_poisson_like(xp, data, rng, *, lam: Scalar = 1.0):
    """Poisson samples, one per element of the data."""
    return _draw_like(xp, data, _poisson, rng, lam)


@sampler("_random_negative_binomial_like", keeps_shape=True, domain=TRIALS)
def random_negative_binomial_like(xp, data, rng, *, k: Scalar = 1, p: Scalar = 1.0):
    """Negative binomial samples, one per element of the data."""
    return _draw_like(xp, data, _negative_binomial, rng, k, p)


@sampler("_random_generalized_negative_binomial_like", keeps_shape=True, domain=MEAN_AND_DISPERSION)
def random_generalized_negative_binomial_like(xp, data, rng, *, mu: Scalar = 1.0, alpha: Scalar = 1.0):
    """Negative binomial samples with mean mu and dispersion alpha, one per element of the data."""
    return _draw_like(xp, data, _generalized_negative_binomial, rng, mu, alpha)


# categorical samples


def _class_of(xp, cumulative, u):
    """For each value (n, m), the number of cumulative sums (n, k) that it reaches, below k; a vectorized binary search."""
    k = cumulative.shape[1]
    at = xp.full(shape=u.shape, value=0, dtype="int64")
    step = 1 << max(0, (k - 1).bit_length() - 1)
    while step and k > 1:
        # class j is reached where u is at least the sum of the classes before it
        there = xp.minimum(at + step, k - 1)
        reached = xp.greater_equal(u, xp.take_along_axis(cumulative, there - 1, axis=1))
        at = xp.where(reached, there, at)
        step >>= 1
    return at


def _multinomial_outputs(get_prob, **_):
    return 2 if get_prob else 1


@op("_sample_multinomial", "sample_multinomial", outputs=_multinomial_outputs)
def sample_multinomial(
    xp,
    data,
    rng,
    *,
    shape: Shape = (),
    get_prob: bool = False,
    dtype: Literal["float16", "float32", "float64", "int32", "uint8"] = "int32",
):
    """``shape`` class indices for each row of probabilities (…, k), which need not sum to 1: (…, *shape), by inversion.

    With ``get_prob`` the log probabilities of the sampled classes are a second result, with a gradient.
    """
    lead, classes = data.shape[:-1], data.shape[-1]
    rows = xp.reshape(data, shape=(math.prod(lead), classes))
    # in float64, so that classes of small probability do not vanish in the running sum; scaling u replaces normalization
    cumulative = xp.cumulative_sum(xp.astype(xp.stop_gradient(rows), dtype="float64"), axis=1)
    u = uniform(xp, rng, (rows.shape[0], math.prod(shape)), "float64") * xp.take_slice(cumulative, classes - 1, classes, 1)
    number = _class_of(xp, cumulative, u)
    result = xp.reshape(xp.cast(number, dtype), shape=(*lead, *shape))
    if not get_prob:
        return result
    return result, xp.reshape(xp.log(xp.take_along_axis(rows, number, axis=1)), shape=(*lead, *shape))


for _op in (random_uniform, random_normal, random_gamma, random_exponential, random_poisson):
    _op.sample(lambda draw: draw(shape=(2, 3), gradient=False))
for _op in (random_negative_binomial, random_generalized_negative_binomial):
    _op.sample(lambda draw: draw(shape=(2, 3), gradient=False))
for _op in (sample_uniform, sample_normal, sample_gamma, sample_generalized_negative_binomial):
    _op.sample(lambda draw: draw(draw.real((2,), low=0.5, high=1), draw.real((2,), low=1, high=2), shape=(3,), gradient=False))
for _op in (sample_exponential, sample_poisson):
    _op.sample(lambda draw: draw(draw.real((2,), low=0.5, high=20), shape=(3,), gradient=False))
for _op in (random_uniform_like, random_normal_like, random_gamma_like, random_exponential_like, random_poisson_like):
    _op.dtypes(_float_like)
    _op.sample(lambda draw: draw(draw.real((2, 3)), gradient=False))
for _op in (random_negative_binomial_like, random_generalized_negative_binomial_like):
    _op.dtypes(_float_like)
    _op.sample(lambda draw: draw(draw.real((2, 3)), gradient=False))


random_randint.sample(lambda draw: draw(low=-3, high=5, shape=(2, 3), gradient=False))


sample_negative_binomial.sample(lambda draw: draw(draw.integer((2,), 1, 5), draw.real((2,), low=0.2, high=0.9), shape=(3,), gradient=False))


sample_multinomial.dtypes(lambda dtypes, *, get_prob, dtype, **_: [dtype, *(dtypes if get_prob else ())])
sample_multinomial.sample(lambda draw: draw(draw.real((2, 5), low=0.1, high=1), shape=(3,), gradient=False))
