"""Probability densities of samples, for the distributions that `random_sampling` draws from; their logarithms with ``is_log``.

The parameters have the leading axes of the samples: each element of them is one distribution; the samples' other axes hold draws from it.
Densities follow from their logarithms, which neither overflow nor underflow early. Discrete samples pass no gradient.
"""

import inspect
import math

from ..errors import ShapeError
from ..opdef import op

#: log(2π) / 2.
HALF_LOG_TAU = math.log(2 * math.pi) / 2


def _beside(xp, name, sample, parameters, last=0):
    """The parameters with axes of size 1 for those of the samples that hold draws; ``last`` axes at the end are matched one to one."""
    out = []
    for p in parameters:
        lead = p.shape[: len(p.shape) - last]
        tail = p.shape[len(lead) :]
        between = len(sample.shape) - len(p.shape)
        if sample.shape[: len(lead)] != lead or sample.shape[len(sample.shape) - last :] != tail or between < 0:
            given = f"samples {sample.shape}, parameters {p.shape}"
            raise ShapeError(f"{name}: the parameters do not match the samples", given, "pass parameters with the samples' first axes")
        out.append(xp.reshape(p, shape=(*lead, *[1] * between, *tail)))
    return out


def _uniform(xp, x, low, high):
    # MXNet does not check whether a sample is within the bounds
    # 0 · x gives the result the shape of the samples, and these a gradient
    return 0 * x - xp.log(high - low)


def _normal(xp, x, mu, sigma):
    z = (x - mu) / sigma
    return -0.5 * z * z - xp.log(sigma) - HALF_LOG_TAU


def _gamma(xp, x, alpha, beta):
    return alpha * xp.log(beta) + (alpha - 1) * xp.log(x) - beta * x - xp.gammaln(alpha)


def _exponential(xp, x, lam):
    return xp.log(lam) - lam * x


def _poisson(xp, x, lam):
    x = xp.stop_gradient(x)
    return x * xp.log(lam) - xp.gammaln(x + 1) - lam


def _negative_binomial(xp, x, k, p):
    x = xp.stop_gradient(x)
    # the binomial coefficient by gamma functions: k may be a fraction
    ways = xp.gammaln(x + k) - xp.gammaln(x + 1) - xp.gammaln(k)
    return ways + k * xp.log(p) + x * xp.log1p(-p)


def _generalized_negative_binomial(xp, x, mu, alpha):
    # a Poisson distribution whose mean is gamma-distributed with mean mu and variance alpha · mu²
    return _negative_binomial(xp, x, 1 / alpha, 1 / (mu * alpha + 1))


def _declared(name, formula, doc):
    """The operator of a distribution, with the inputs of its formula."""
    names = list(inspect.signature(formula).parameters)[2:]

    def rule(xp, sample, *parameters, is_log=False):
        wide = [xp.upcast(p) for p in _beside(xp, f"random_pdf_{name}", sample, parameters)]
        density = formula(xp, xp.upcast(sample), *wide)
        return xp.downcast(density if is_log else xp.exp(density), sample)

    kind = inspect.Parameter
    inputs = [kind(n, kind.POSITIONAL_OR_KEYWORD) for n in ("xp", "sample", *names)]
    vars(rule)["__signature__"] = inspect.Signature([*inputs, kind("is_log", kind.KEYWORD_ONLY, default=False, annotation=bool)])
    rule.__name__ = f"random_pdf_{name}"
    rule.__doc__ = f"{doc}, at samples (s…, d…) for parameters (s…). With ``is_log`` its logarithm."
    new = op(f"_random_pdf_{name}", f"random_pdf_{name}", alike=True, real=True, keeps_shape=True)(rule)
    new.infer(lambda shapes, **_: shapes)
    return new


uniform = _declared("uniform", _uniform, "Density 1 / (high - low) of the uniform distribution (wherever the sample is)")
normal = _declared("normal", _normal, "Density of the normal distribution of mean ``mu`` and standard deviation ``sigma``")
gamma = _declared("gamma", _gamma, "Density of the gamma distribution of shape ``alpha`` and rate ``beta``")
exponential = _declared("exponential", _exponential, "Density lam · exp(-lam · x) of the exponential distribution of rate ``lam``")
poisson = _declared("poisson", _poisson, "Probability of the Poisson distribution of mean ``lam``")
negative_binomial = _declared(
    "negative_binomial", _negative_binomial, "Probability of that many failures before ``k`` successes of probability ``p``"
)
generalized_negative_binomial = _declared(
    "generalized_negative_binomial",
    _generalized_negative_binomial,
    "Probability of the negative binomial distribution of mean ``mu`` and dispersion ``alpha``",
)


@op("_random_pdf_dirichlet", "random_pdf_dirichlet", alike=True, real=True)
def dirichlet(xp, sample, alpha, *, is_log: bool = False):
    """Density of the Dirichlet distribution of concentrations ``alpha`` (s…, k) at samples (s…, d…, k), giving (s…, d…).

    With ``is_log`` its logarithm.
    """
    x = xp.upcast(sample)
    (a,) = _beside(xp, "random_pdf_dirichlet", sample, [xp.upcast(alpha)], last=1)
    scale = xp.gammaln(xp.sum(a, axis=-1)) - xp.sum(xp.gammaln(a), axis=-1)
    # ln of Γ(Σ a) / Π Γ(a) · Π xᵃ⁻¹
    density = xp.sum((a - 1) * xp.log(x), axis=-1) + scale
    return xp.downcast(density if is_log else xp.exp(density), sample)


def _both(draw, *arrays):
    return [draw(*arrays), draw(*arrays, is_log=True)]


uniform.sample(lambda draw: _both(draw, draw.real((2, 3)), draw.real((2,), low=-2, high=-1), draw.real((2,), low=1, high=2)))
normal.sample(lambda draw: _both(draw, draw.real((2, 3)), draw.real((2,)), draw.real((2,), low=0.5, high=2)))
exponential.sample(lambda draw: _both(draw, draw.real((2, 3), low=0, high=2), draw.real((2,), low=0.5, high=2)))
poisson.sample(lambda draw: _both(draw, draw.integer((2, 3), 0, 5, None), draw.real((2,), low=0.5, high=4)))


gamma.sample(lambda draw: _both(draw, draw.real((2, 3), low=0.5, high=3), *[draw.real((2,), low=0.5, high=3)] * 2))


@negative_binomial.sample
def _(draw):
    return _both(draw, draw.integer((2, 3), 0, 5, None), draw.real((2,), low=1, high=4), draw.real((2,), low=0.2, high=0.8))


@generalized_negative_binomial.sample
def _(draw):
    return _both(draw, draw.integer((2, 3), 0, 5, None), draw.real((2,), low=1, high=4), draw.real((2,), low=0.2, high=0.8))


dirichlet.sample(lambda draw: _both(draw, draw.real((2, 4, 3), low=0.2, high=0.8), draw.real((2, 3), low=0.5, high=2)))
