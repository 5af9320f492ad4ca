"""``mx.sym.random``: samples from distributions. Parameters are numbers (one distribution) or symbols (one per element)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..dtype import dtype_name
from ..errors import InvalidValue, OperatorError, WrongArgument
from ..opdef import NAMES, find
from ..opdef.frontend import NULL
from ..ops import ordering, random_sampling
from .functions import applied
from .namespace import made
from .symbol import Symbol

__all__ = [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "shuffle",
    "uniform",
]

Parameter = float | Symbol
NUMBERS = (bool, int, float, np.generic)


def _draw(name: str, parameters: Mapping[str, object], shape: object, dtype: object, options: Mapping[str, object]) -> Symbol:
    """A draw from ``_random_<name>`` if the parameters are numbers, from ``_sample_<name>`` if they are symbols.

    Raises
    ------
    ParameterError
        If they are mixed, or something else.
    """
    values = list(parameters.values())
    # the operator has MXNet's defaults, so an attribute is written only for given parameters
    dtype = dtype if dtype is NULL else dtype_name(dtype)
    given = {k: v for k, v in {"shape": shape, "dtype": dtype}.items() if v is not NULL} | dict(options)
    symbols = [v for v in values if isinstance(v, Symbol)]
    if len(symbols) == len(values):
        return applied(find(f"_sample_{name}"), symbols, given, f"_sample_{name}")
    if all(isinstance(v, NUMBERS) for v in values):
        return applied(find(f"_random_{name}"), (), {**parameters, **given}, f"_random_{name}")
    types = ", ".join(type(v).__name__ for v in values)
    raise InvalidValue(f"random.{name}: Distribution parameters must all have the same type", types, "pass only symbols or only numbers")


def uniform(low: Parameter = 0, high: Parameter = 1, shape: object = NULL, dtype: object = NULL, **kwargs: object) -> Symbol:
    """Samples from the uniform distribution on [low, high)."""
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, kwargs)


def normal(loc: Parameter = 0, scale: Parameter = 1, shape: object = NULL, dtype: object = NULL, **kwargs: object) -> Symbol:
    """Samples from the normal distribution with mean ``loc`` and standard deviation ``scale``."""
    return _draw("normal", {"loc": loc, "scale": scale}, shape, dtype, kwargs)


def randn(*shape: int, **kwargs: object) -> Symbol:
    """Samples from the normal distribution (by default ``loc`` 0, ``scale`` 1) in a shape given as positional sizes."""
    loc, scale, dtype = kwargs.pop("loc", 0), kwargs.pop("scale", 1), kwargs.pop("dtype", NULL)
    if "shape" in kwargs:
        raise WrongArgument("random.randn: the sizes are positional arguments", f"shape={kwargs['shape']!r}", "write randn(2, 3)")
    return _draw("normal", {"loc": loc, "scale": scale}, shape, dtype, kwargs)


def poisson(lam: Parameter = 1, shape: object = NULL, dtype: object = NULL, **kwargs: object) -> Symbol:
    """Samples from the Poisson distribution with mean ``lam``."""
    return _draw("poisson", {"lam": lam}, shape, dtype, kwargs)


def exponential(scale: Parameter = 1, shape: object = NULL, dtype: object = NULL, **kwargs: object) -> Symbol:
    """Samples from the exponential distribution with mean ``scale``."""
    # the operator takes the rate
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, kwargs)


def gamma(alpha: Parameter = 1, beta: Parameter = 1, shape: object = NULL, dtype: object = NULL, **kwargs: object) -> Symbol:
    """Samples from the gamma distribution with shape ``alpha`` and scale ``beta``."""
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, kwargs)


def negative_binomial(k: Parameter = 1, p: Parameter = 1, shape: object = NULL, dtype: object = NULL, **kwargs: object) -> Symbol:
    """Samples of the number of failures before ``k`` successes of probability ``p``."""
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, kwargs)


def generalized_negative_binomial(
    mu: Parameter = 1, alpha: Parameter = 1, shape: object = NULL, dtype: object = NULL, **kwargs: object
) -> Symbol:
    """Samples from the negative binomial distribution with mean ``mu`` and dispersion ``alpha``."""
    return _draw("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, kwargs)


def multinomial(data: Symbol, shape: object = NULL, get_prob: bool = True, dtype: object = "int32", **kwargs: object) -> Symbol:
    """Sampled indices with the probabilities in the last axis of ``data``, and with ``get_prob`` their log probabilities."""
    given: dict[str, object] = {"get_prob": get_prob, "dtype": dtype, **({} if shape is NULL else {"shape": shape})} | kwargs
    return applied(random_sampling.sample_multinomial, (data,), given)


def shuffle(data: Symbol, **kwargs: object) -> Symbol:
    """The elements along the first axis in random order."""
    return applied(ordering.shuffle, (data,), dict(kwargs))


def randint(low: int, high: int, shape: object = NULL, dtype: object = NULL, **kwargs: object) -> Symbol:
    """Random integers from [low, high)."""
    return _draw("randint", {"low": low, "high": high}, shape, dtype, kwargs)


def __getattr__(name: str) -> Any:
    """``uniform_like`` and the like, which sample in the shape of another array."""
    registered = f"_random_{name}"
    if not name.endswith("_like") or registered not in NAMES:
        raise OperatorError(f"module {__name__!r} has no attribute {name!r}", None, f"it has {', '.join(__all__)}")
    return made(registered, name, __name__)
