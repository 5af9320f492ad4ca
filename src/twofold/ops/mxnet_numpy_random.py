"""MXNet's NumPy samplers. Parameters of distributions are numbers, or arrays (``input1``, ``input2``) where the number is None.

Samples are functions of standard ones, so the gradient with respect to array parameters is that of the formula. ``ctx`` names the device
for front ends; here it has no effect.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..dtype import FLOATS
from ..errors import ParameterError
from ..opdef import Derived, DType, Floats, Operand, Shape, broadcast_shapes, numpy_op
from .random_floats import exponential, normal, substream, uniform, working
from .random_variates import gamma

#: The annotation of a size that may be left out.
OPTIONAL_SHAPE: Any = Shape | None  # type: ignore[operator]  # the alias is `Annotated`
#: From ``(xp, rng, shape, dtype, parameters)`` to samples in the working dtype.
Formula = Callable[[Derived, Operand | None, tuple[int, ...], str, list[Operand]], Operand]


class Limit(NamedTuple):
    """What MXNet demands of a parameter of a distribution."""

    text: str
    holds: Callable[..., bool]  # of each element, for an array


POSITIVE, NOT_NEGATIVE = Limit("positive", lambda x: x > 0), Limit("at least 0", lambda x: x >= 0)
CHANCE = Limit("from 0 to 1", lambda x: (x >= 0) & (x <= 1))
#: The limits by operator and parameter; front ends check them.
LIMITS: dict[tuple[str, str], Limit] = {}


def sampled(
    xp: Derived, formula: Formula, rng: Operand | None, given: list[Operand | float], size: Shape | None, dtype: str, batch: bool = False
) -> Operand:
    """Samples of a size (the parameters' shape if None), or with ``batch`` of that size for each element of the parameters."""
    parameters = [xp.full(shape=(), value=v, dtype="float64") if isinstance(v, (int, float)) else v for v in given]
    shape = broadcast_shapes("random", [p.shape for p in parameters])
    if batch:
        shape = (*(size or ()), *shape)
    elif size is not None:
        shape = broadcast_shapes("random", [size, shape])
    wide = dtype if dtype in FLOATS else "float32"
    return xp.cast(formula(xp, rng, shape, wide, [xp.cast(p, working(wide)) for p in parameters]), dtype)


def chosen(values: tuple[float | None, ...], arrays: Sequence[Operand | None]) -> list[Operand | float]:
    """The parameters: the numbers, and arrays in order for parameters without a number.

    Raises
    ------
    ParameterError
        If an array is missing.
    """
    left = iter([a for a in arrays if a is not None])
    found = [next(left, None) if v is None else v for v in values]
    given = [v for v in found if v is not None]
    if len(given) < len(found):
        raise ParameterError("random: a parameter is missing", str(values), "pass a number or an array for each")
    return given


# distributions


def _uniform(xp, rng, shape, dtype, parameters):
    low, high = parameters
    return low + (high - low) * xp.cast(uniform(xp, rng, shape, dtype), working(dtype))


def _normal(xp, rng, shape, dtype, parameters):
    loc, scale = parameters
    return loc + scale * normal(xp, rng, shape, dtype)


def _gamma(xp, rng, shape, dtype, parameters):
    alpha, scale = parameters
    return gamma(xp, rng, alpha, shape, dtype) * scale


def _gumbel(xp, rng, shape, dtype, parameters):
    loc, scale = parameters
    # -log(E) has the standard Gumbel distribution if E is exponential; the distributions below also follow from E by inversion
    return loc - scale * xp.log(exponential(xp, rng, shape, dtype))


def _logistic(xp, rng, shape, dtype, parameters):
    # the difference of two Gumbel variables
    loc, scale = parameters
    return loc + scale * (xp.log(exponential(xp, rng, shape, dtype)) - xp.log(exponential(xp, substream(xp, rng, 64), shape, dtype)))


def _exponential(xp, rng, shape, dtype, parameters):
    return parameters[0] * exponential(xp, rng, shape, dtype)


def _rayleigh(xp, rng, shape, dtype, parameters):
    return parameters[0] * xp.sqrt(2.0 * exponential(xp, rng, shape, dtype))


def _weibull(xp, rng, shape, dtype, parameters):
    return xp.power(exponential(xp, rng, shape, dtype), 1.0 / parameters[0])


def _pareto(xp, rng, shape, dtype, parameters):
    return xp.expm1(exponential(xp, rng, shape, dtype) / parameters[0])


def _power(xp, rng, shape, dtype, parameters):
    return xp.exp(-exponential(xp, rng, shape, dtype) / parameters[0])


def declare(
    name: str, formula: Formula, row: str, *names: str, default: object = inspect.Parameter.empty, typed: bool = False, **limits: Limit
) -> None:
    """Declare a sampler of a distribution.

    Parameters
    ----------
    name, formula
        The distribution, with ``_n`` at the end if ``size`` is drawn for each element of the parameters; and what gives the samples.
    row
        The parameters of NumPy's function, see `opdef.numpy_rows`.
    names, default
        The parameters, by MXNet's names, and their default.
    typed
        Whether the dtype is a parameter; it is float32 otherwise.
    limits
        What holds of parameters.
    """

    def rule(xp, *operands, size, dtype="float32", **given):
        *arrays, rng = operands
        return sampled(xp, formula, rng, chosen(tuple(given[n] for n in names), arrays), size, dtype, batch=name.endswith("_n"))

    kind = inspect.Parameter
    # MXNet's signature: as many optional arrays as parameters; the given arrays are, in order, the parameters whose number is None
    inputs = [kind(n, kind.POSITIONAL_OR_KEYWORD, default=None) for n in (*[f"input{k}" for k, _ in enumerate(names, 1)], "rng")]
    settings = [
        *[kind(n, kind.KEYWORD_ONLY, default=default, annotation=float | None) for n in names],
        kind("size", kind.KEYWORD_ONLY, default=None, annotation=OPTIONAL_SHAPE),
        kind("ctx", kind.KEYWORD_ONLY, default="cpu", annotation=str),
        *([kind("dtype", kind.KEYWORD_ONLY, default="float32", annotation=DType)] if typed else []),
    ]
    vars(rule)["__signature__"] = inspect.Signature([kind("xp", kind.POSITIONAL_OR_KEYWORD), *inputs, *settings])
    rule.__name__, rule.__doc__ = f"npi_{name}", f"Samples of a {name.removesuffix('_n')} distribution."
    place = "npx.random" if name.endswith("_n") else "random"
    new = numpy_op(f"_npi_{name}", row=f"{place}.{name.removesuffix('d')}({row})", writes="size dtype" if typed else "size")(rule)
    LIMITS.update({(new.name, parameter): limit for parameter, limit in limits.items()})
    values = dict(zip(names, (1.0, 2.0)[-len(names) :], strict=True))
    new.sample(lambda draw: draw(*[None] * len(names), gradient=False, size=(2, 3), **values))


#: The parameters of most of NumPy's functions after those of the distribution.
_PLACED = "size=None, ctx=None, out=None, device=None"
_TYPED = "size=None, dtype=None, ctx=None, out=None, device=None"
_BATCH = "batch_shape: size = None, dtype=None, ctx=None"
declare("uniform", _uniform, f"low=0.0, high=1.0, {_TYPED}", "low", "high", typed=True)
declare("normal", _normal, f"loc=0.0, scale=1.0, {_TYPED}", "loc", "scale", typed=True, scale=NOT_NEGATIVE)
declare("gamma", _gamma, f"shape, scale=1.0, {_TYPED}", "shape", "scale", typed=True, shape=POSITIVE, scale=POSITIVE)
declare("uniform_n", _uniform, f"low=0.0, high=1.0, {_BATCH}", "low", "high", typed=True)
declare("normal_n", _normal, f"loc=0.0, scale=1.0, {_BATCH}", "loc", "scale", typed=True, scale=NOT_NEGATIVE)
for _name, _formula in (("gumbel", _gumbel), ("logistic", _logistic)):
    declare(_name, _formula, f"loc=0.0, scale=1.0, {_PLACED}", "loc", "scale", scale=NOT_NEGATIVE)
for _name, _formula in (("exponential", _exponential), ("rayleigh", _rayleigh)):
    declare(_name, _formula, f"scale=1.0, {_PLACED}", "scale", default=1.0, scale=NOT_NEGATIVE)
for _name, _formula in (("weibull", _weibull), ("pareto", _pareto), ("powerd", _power)):
    declare(_name, _formula, f"a, {'size=None' if _name == 'powerd' else _PLACED}", "a", default=None, a=POSITIVE)


@numpy_op("_npi_bernoulli", differentiable=False)
def npi_bernoulli(
    xp,
    input1=None,
    rng=None,
    *,
    prob: float | None,
    logit: float | None,
    size: Shape | None = None,
    ctx: str = "cpu",
    dtype: DType = "float32",
    is_logit: bool,
):
    """1 with a probability, or with the probability of a logit, else 0."""

    def formula(xp, rng, shape, wide, parameters):
        # a logit is log(p / (1 - p)), whose inverse is the logistic function
        chance = 1 / (1 + xp.exp(-parameters[0])) if is_logit else parameters[0]
        return xp.less(uniform(xp, rng, shape, wide), chance)

    return xp.cast(sampled(xp, formula, rng, chosen((logit if is_logit else prob,), (input1,)), size, "float32"), dtype)


npi_bernoulli.sample(lambda draw: draw(None, gradient=False, prob=0.5, logit=None, is_logit=False, size=(2, 3)))


@numpy_op("_npi_choice", differentiable=False)
def npi_choice(
    xp,
    input1=None,
    input2=None,
    rng=None,
    *,
    a: int | None,
    size: Shape | None,
    ctx: str = "cpu",
    replace: bool = True,
    weighted: bool = False,
):
    """Places of ``size`` draws from ``a`` items, or those of an array, with or without replacement; weights are the last array."""
    arrays = [x for x in (input1, input2) if x is not None]
    weights = arrays.pop() if weighted else None
    count = arrays[0].shape[0] if a is None and arrays else a
    if count is None:
        raise ParameterError("choice: nothing to choose from", None, "pass the number of items, or an array")
    shape = size or ()
    wanted = math.prod(shape)
    if not replace and wanted > count:
        raise ParameterError("choice: more draws than items without replacement", f"{wanted} of {count}", "pass replace=True")
    if replace and weights is None:
        return xp.astype(xp.floor(uniform(xp, rng, shape, "float64") * float(count)), dtype="int64")
    if replace:
        # inversion: the number of cumulative weights below a uniform number is the place of its item
        edges = xp.cumulative_sum(xp.cast(weights, "float64"), axis=0)
        total = xp.take_slice(edges, count - 1, count, 0)
        passed = xp.greater(xp.expand_dims(uniform(xp, rng, shape, "float64"), -1) * total, edges)
        return xp.clip(xp.sum(xp.astype(passed, dtype="int64"), axis=-1, keepdims=False), 0, count - 1)
    # the smallest of exponential variables with the weights as rates: a draw without replacement
    # Source: Efraimidis & Spirakis, "Weighted random sampling with a reservoir", 2006.
    times = exponential(xp, rng, (count,), "float64")
    times = times if weights is None else times / xp.cast(weights, "float64")
    return xp.reshape(xp.take_slice(xp.argsort(times, axis=0, descending=False), 0, wanted, 0), shape=shape)


npi_choice.dtypes(lambda dtypes, **_: ["int64"])
npi_choice.sample(lambda draw: [draw(None, None, a=5, size=(3,), replace=r, gradient=False) for r in (True, False)])


@numpy_op("_npi_multinomial", differentiable=False)
def npi_multinomial(xp, a=None, rng=None, *, n: int, pvals: Floats | None = None, size: Shape | None = None):
    """How often each class occurs in ``n`` draws with probabilities ``pvals``, or those of an array; such counts of a size."""
    chances = xp.cast(a, "float64") if a is not None else values_as_vector(xp, pvals)
    edges = xp.cumulative_sum(chances, axis=0)
    shape = size or ()
    passed = xp.greater(xp.expand_dims(uniform(xp, rng, (*shape, n), "float64"), -1), edges)
    # probabilities that add up to a little less than 1 leave a gap above the last edge, which belongs to the last class
    place = xp.clip(xp.sum(xp.astype(passed, dtype="int64"), axis=-1, keepdims=False), 0, chances.shape[0] - 1)
    return xp.sum(xp.one_hot(place, chances.shape[0], "int64"), axis=-2, keepdims=False)


def values_as_vector(xp: Derived, values: tuple[float, ...] | None) -> Operand:
    """Numbers as a vector of float64.

    Raises
    ------
    ParameterError
        If there are none.
    """
    if not values:
        raise ParameterError("multinomial: no probabilities", None, "pass pvals")
    return xp.concat(*[xp.full(shape=(1,), value=v, dtype="float64") for v in values], axis=0)


npi_multinomial.dtypes(lambda dtypes, **_: ["int64"])
npi_multinomial.sample(lambda draw: draw(draw.real((3,), 0.2, 0.3), n=5, size=(2,), gradient=False))
