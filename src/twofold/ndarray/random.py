"""``mx.nd.random``: samples from distributions. Parameters are numbers (one distribution) or arrays (one per element)."""

from functools import lru_cache
from typing import Any

import numpy as np

from ..device import Device, interned
from ..dtype import dtype_name
from ..errors import DTypeError, InvalidValue, ParameterError, WrongArgument
from ..imperative.cell import wrap
from ..imperative.invoke import invoke
from ..opdef import BoundOp, find
from ..opdef.frontend import NULL
from ..opdef.spec import is_attribute
from ..ops import ordering, random_sampling
from ..strictness import tolerate
from .array import NDArray
from .keywords import check_keywords
from .namespace import call, function_in
from .types import DeviceLike, DTypeLike, Shape

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

#: A number, or an array with one for each distribution.
Amount = float | NDArray
Out = NDArray | None
NUMBERS = (bool, int, float, np.generic)
PYTHONS, INTEGERS = frozenset({int, float}), frozenset({int})


def _draw(
    name: str, parameters: dict[str, Any], shape: Shape, dtype: DTypeLike, ctx: DeviceLike, out: Out, kwargs: dict[str, Any]
) -> NDArray:
    """Call ``_random_<name>`` if the parameters are numbers, ``_sample_<name>`` if they are arrays.

    Raises
    ------
    ParameterError
        If they are a mixture of the two, or something else.
    """
    if kwargs:
        check_keywords(globals()[name], kwargs)
    # the commonest call, of Python's numbers: the bound operator is looked up and no parameter is parsed
    values = list(parameters.values())
    if out is None and (ctx is None or isinstance(ctx, Device)) and PYTHONS.issuperset(map(type, values)) and _is_spelled_out(shape):
        bound_op = _sig_of(name, tuple(parameters), shape, NULL if dtype is NULL else dtype_name(dtype))
        # parameters outside of the domain raise below; arrays of parameters are not read for this, they give NaN
        if bound_op is not None and ((domain := bound_op.op.front.domain) is None or domain.holds(*values)):
            return wrap(NDArray, invoke(bound_op, values, None if ctx is None else interned(ctx))[0])
    options: dict[str, Any] = {} if shape is NULL else {"shape": shape}
    if dtype is not NULL:
        options["dtype"] = dtype_name(dtype)
    if all(isinstance(v, NDArray) for v in values):
        # samples are drawn where their parameters are
        if ctx is not None and any(v.context is not interned(ctx) for v in values):
            raise ParameterError(f"random.{name}: ctx differs from that of the parameters", repr(ctx), "omit it")
        return call(find(f"_sample_{name}"), tuple(values), options, out)
    if all(isinstance(v, NUMBERS) for v in values):
        if out is not None and shape is NULL:
            options["shape"] = out.shape
        options.setdefault("shape", (1,))  # one sample: MXNet has no 0-d arrays
        numbers = {k: v.item() if isinstance(v, np.generic) else v for k, v in parameters.items()}
        return call(find(f"_random_{name}"), (), numbers | options | {"ctx": ctx}, out)
    types = ", ".join(type(v).__name__ for v in values)
    raise InvalidValue(f"random.{name}: Distribution parameters must all be NDArrays or all numbers", types, "pass all of one kind")


def _is_spelled_out(shape: Any) -> bool:
    """Whether a shape can be a key: equal ones of other classes (1.0, True) are not what they equal."""
    return shape is NULL or shape.__class__ is int or (shape.__class__ is tuple and INTEGERS.issuperset(map(type, shape)))


@lru_cache(256)
def _sig_of(name: str, parameters: tuple[str, ...], shape: Shape, dtype: str) -> BoundOp | None:
    """The operation that draws with numbers as parameters; None if they are not its run-time scalars, in this order."""
    op = find(f"_random_{name}")
    if tuple(op.scalars) != parameters:
        return None
    return op.bind(True, shape=(1,) if shape is NULL else shape, **({} if dtype is NULL else {"dtype": dtype}))


def uniform(
    low: Amount = 0, high: Amount = 1, shape: Shape = NULL, dtype: DTypeLike = NULL, ctx: DeviceLike = None, out: Out = None, **kwargs: Any
) -> NDArray:
    """Samples from the uniform distribution on [low, high).

    Parameters
    ----------
    low, high
        Bounds: numbers, or arrays of equal shape.
    shape
        Shape of the result, (1,) if not given. If the parameters are arrays, the shape of the samples for each of their elements,
        () if not given: the result has the parameters' shape followed by this one.
    dtype
        Dtype of the result; float32 if not given.
    ctx
        The device, if the parameters are numbers; the current one if None.
    out
        Array to write to. It determines the shape if that is not given.
    **kwargs
        A ``name`` and ``__key__`` have no effect: only symbols have attributes. Other keywords raise.

    Raises
    ------
    ParameterError
        If some parameters are arrays and others numbers.
    """
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, ctx, out, kwargs)


def normal(
    loc: Amount = 0, scale: Amount = 1, shape: Shape = NULL, dtype: DTypeLike = NULL, ctx: DeviceLike = None, out: Out = None, **kwargs: Any
) -> NDArray:
    """Samples from the normal distribution with mean ``loc`` and standard deviation ``scale``; other parameters as for `uniform`.

    Parameters
    ----------
    loc
        Mean: a number, or an array.
    scale
        Standard deviation, more than 0; an array if ``loc`` is one.
    shape, dtype, ctx, out, **kwargs
        As for `uniform`.
    """
    # MXNet's operators name the parameters differently for arrays and for numbers
    arrays = isinstance(loc, NDArray) or isinstance(scale, NDArray)
    return _draw("normal", {"mu": loc, "sigma": scale} if arrays else {"loc": loc, "scale": scale}, shape, dtype, ctx, out, kwargs)


def randn(
    *shape: int, loc: Amount = 0, scale: Amount = 1, dtype: DTypeLike = NULL, ctx: DeviceLike = None, out: Out = None, **kwargs: Any
) -> NDArray:
    """Samples from the normal distribution in an array of the given shape; other parameters as for `normal`.

    Parameters
    ----------
    *shape
        Sizes of the result.
    loc, scale
        Mean and standard deviation, as for `normal`.
    dtype, ctx, out, **kwargs
        As for `uniform`.
    """
    return normal(loc, scale, shape, dtype, ctx, out, **kwargs)


def poisson(
    lam: Amount = 1, shape: Shape = NULL, dtype: DTypeLike = NULL, ctx: DeviceLike = None, out: Out = None, **kwargs: Any
) -> NDArray:
    """Samples from the Poisson distribution with mean ``lam``, as floats; other parameters as for `uniform`.

    Parameters
    ----------
    lam
        Mean, at least 0: a number, or an array.
    shape, dtype, ctx, out, **kwargs
        As for `uniform`.
    """
    return _draw("poisson", {"lam": lam}, shape, dtype, ctx, out, kwargs)


def exponential(
    scale: Amount = 1, shape: Shape = NULL, dtype: DTypeLike = NULL, ctx: DeviceLike = None, out: Out = None, **kwargs: Any
) -> NDArray:
    """Samples from the exponential distribution with mean ``scale``; other parameters as for `uniform`.

    Parameters
    ----------
    scale
        Mean, more than 0: a number, or an array.
    shape, dtype, ctx, out, **kwargs
        As for `uniform`.
    """
    if not isinstance(scale, (NDArray, *NUMBERS)):
        raise WrongArgument(
            "random.exponential: Distribution parameters must be NDArrays or numbers", type(scale).__name__, "pass one of these"
        )
    # the operators take the rate
    rate: Any = 1.0 / scale  # type: ignore[operator]
    return _draw("exponential", {"lam": rate}, shape, dtype, ctx, out, kwargs)


def gamma(
    alpha: Amount = 1,
    beta: Amount = 1,
    shape: Shape = NULL,
    dtype: DTypeLike = NULL,
    ctx: DeviceLike = None,
    out: Out = None,
    **kwargs: Any,
) -> NDArray:
    """Samples from the gamma distribution with shape ``alpha`` and scale ``beta``; other parameters as for `uniform`.

    Parameters
    ----------
    alpha
        Shape of the distribution, more than 0: a number, or an array.
    beta
        Scale, more than 0; an array if ``alpha`` is one.
    shape, dtype, ctx, out, **kwargs
        As for `uniform`.
    """
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, ctx, out, kwargs)


def negative_binomial(
    k: Amount = 1, p: Amount = 1, shape: Shape = NULL, dtype: DTypeLike = NULL, ctx: DeviceLike = None, out: Out = None, **kwargs: Any
) -> NDArray:
    """Samples of the number of failures before ``k`` successes of probability ``p``, as floats; other parameters as for `uniform`.

    Parameters
    ----------
    k
        Number of successes at which counting ends: a number, or an array.
    p
        Probability of a success, in (0, 1]; an array if ``k`` is one.
    shape, dtype, ctx, out, **kwargs
        As for `uniform`.
    """
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, ctx, out, kwargs)


def generalized_negative_binomial(
    mu: Amount = 1, alpha: Amount = 1, shape: Shape = NULL, dtype: DTypeLike = NULL, ctx: DeviceLike = None, out: Out = None, **kwargs: Any
) -> NDArray:
    """Samples from the negative binomial distribution with mean ``mu`` and dispersion ``alpha``, as floats.

    Other parameters as for `uniform`.

    Parameters
    ----------
    mu
        Mean, at least 0: a number, or an array.
    alpha
        Dispersion, at least 0; an array if ``mu`` is one. The variance is ``mu + alpha * mu ** 2``.
    shape, dtype, ctx, out, **kwargs
        As for `uniform`.
    """
    return _draw("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, ctx, out, kwargs)


def randint(
    low: int, high: int, shape: Shape = NULL, dtype: DTypeLike = NULL, ctx: DeviceLike = None, out: Out = None, **kwargs: Any
) -> NDArray:
    """Random integers from [low, high), int32 if no dtype is given. The bounds are numbers; other parameters as for `uniform`.

    Parameters
    ----------
    low
        Smallest integer.
    high
        The integers are below it.
    shape, ctx, out, **kwargs
        As for `uniform`.
    dtype
        int32 or int64; int32 if not given.
    """
    if isinstance(low, NDArray) or isinstance(high, NDArray):
        raise DTypeError("random.randint: the bounds must be integers", "NDArray", "pass numbers")
    return _draw("randint", {"low": low, "high": high}, shape, dtype, ctx, out, kwargs)


def multinomial(
    data: NDArray, shape: Shape = NULL, get_prob: bool = False, out: Out = None, dtype: DTypeLike = "int32", **kwargs: Any
) -> Any:
    """Samples of categories with given probabilities.

    Parameters
    ----------
    data
        Probabilities along the last axis: (classes,), or (n, classes) for n distributions.
    shape
        Shape of the samples from each distribution; one sample if not given.
    get_prob
        Also return the log probability of each sample, which is differentiable.
    out
        Array to write to.
    dtype
        Dtype of the result.
    **kwargs
        As for `uniform`.
    """
    check_keywords(multinomial, kwargs)
    options = {"get_prob": get_prob, "dtype": dtype_name(dtype)} | ({} if shape is NULL else {"shape": shape})
    return call(random_sampling.sample_multinomial, (data,), options, out)


def shuffle(data: NDArray, out: Out = None, **kwargs: Any) -> NDArray:
    """The array with its rows (slices of the first axis) in random order.

    Parameters
    ----------
    data
        Array (n, d…).
    out
        Array to write to, which may be ``data``.
    **kwargs
        As for `uniform`; other keywords have no effect either, but for a warning.
    """
    if unknown := [key for key in kwargs if not is_attribute(key)]:
        tolerate("random.shuffle: there is no parameter", ", ".join(unknown), "omit it")
    return call(ordering.shuffle, (data,), {}, out)


def __getattr__(name: str) -> Any:
    """``uniform_like`` and the like, which sample in the shape of an array, are plain operators."""
    return function_in("random", name)
