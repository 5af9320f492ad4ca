"""Activation and the LeakyReLU family: activation functions of layers, chosen by name."""

import math
from typing import Annotated, Literal

from ..errors import ParameterError, ShapeError
from ..opdef import Input, Operand, Rule, Training, elementwise, op
from .joining import check_same_dtype
from .random_floats import uniform


def softplus(xp, x):
    """``log(1 + exp(x))`` without overflow: ``max(x, 0) + log(1 + exp(-|x|))``."""
    return xp.maximum(x, 0) + xp.log1p(xp.exp(-xp.absolute(x)))


#: Each activation: f(xp, x), and its gradient (xp, dout, out, x), in terms of the result alone where possible.
ACTIVATIONS: dict[str, tuple[Rule, Rule]] = {
    # the sign of a result is 0 or 1, or NaN where it is
    "relu": (lambda xp, x: xp.maximum(x, 0), lambda xp, d, y, x: d * xp.sign(y)),
    # where exp(-x) overflows to infinity, the quotient is 0, which is the correct rounding
    "sigmoid": (lambda xp, x: 1 / (1 + xp.exp(-x)), lambda xp, d, y, x: d * y * (1 - y)),
    "tanh": (lambda xp, x: xp.tanh(x), lambda xp, d, y, x: d * (1 - y * y)),
    # the slope sigmoid(x) is 1 - exp(-softplus(x)): it follows from the result, without another logistic function
    "softrelu": (softplus, lambda xp, d, y, x: d * -xp.expm1(-y)),
    "softsign": (lambda xp, x: x / (1 + xp.absolute(x)), lambda xp, d, y, x: d / xp.square(1 + xp.absolute(x))),
}


@elementwise("Activation", "_npx_activation", faithful=True, drawn_as="activation", label="{act_type}")
def activation(xp, data, *, act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"]):
    """The activation of that name: relu max(x, 0), sigmoid 1 / (1 + exp(-x)), tanh, softrelu log(1 + exp(x)), softsign x / (1 + abs(x))."""
    return ACTIVATIONS[act_type][0](xp, data)


activation.grad(lambda xp, dout, out, data, *, act_type: ACTIVATIONS[act_type][1](xp, dout, out, data))
activation.sample(lambda draw: [draw(draw.real((3, 4), low=-9, high=9, distinct=True), act_type=name) for name in ACTIVATIONS])


#: Klambauer et al., "Self-normalizing neural networks", NeurIPS 2017.
SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


def _gelu(xp, x):
    """``x`` times the normal distribution function (Hendrycks & Gimpel, "Gaussian error linear units", 2016)."""
    return 0.5 * x * (1 + xp.erf(x * math.sqrt(0.5)))


def _gelu_gradient(xp, dout, x):
    # (x Φ(x))' = Φ(x) + x φ(x)
    density = xp.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))
    return dout * (0.5 * (1 + xp.erf(x * math.sqrt(0.5))) + x * density)


def _per_channel(xp, gamma, data):
    """The learned slopes, reshaped to broadcast over the data: a single one, or one per channel (axis 1)."""
    ndim = len(data.shape)
    if gamma.shape not in ((1,), data.shape[1:2] or data.shape):
        given = f"gamma {gamma.shape} for data {data.shape}"
        raise ShapeError("LeakyReLU: the slopes have the wrong shape", given, "pass one slope, or one per channel (axis 1)")
    # (c,) becomes (c, 1, …), which broadcasts over (n, c, d…)
    return xp.reshape(gamma, shape=(*gamma.shape, *[1] * (ndim - 2)))


def _random_slopes(xp, rng, data, low, high, is_train):
    """Slopes of rrelu: drawn per element in training; 0 otherwise, where the mean of the bounds is used for all."""
    dtype = xp.dtype_of(data)
    if not is_train:
        # the number of results must not depend on the mode: the mask is a result here too, which nothing reads
        return xp.zeros_like(data)
    return low + (high - low) * uniform(xp, rng, data.shape, dtype)


def _outputs(act_type, **_):
    return 2 if act_type == "rrelu" else 1


#: For ``prelu``: one learned slope per channel.
Slope = Annotated[Operand | None, Input(present=("act_type", "prelu"), initial='["Constant", {"value": 0.25}]')]


@op(
    "LeakyReLU",
    "_npx_leaky_relu",
    real=True,
    outputs=_outputs,
    output_names=("output", "mask"),
    keeps_shape=True,
    drawn_as="activation",
    label="{act_type|leaky}",
)
def leaky_relu(
    xp,
    data,
    gamma: Slope = None,
    rng=None,
    *,
    act_type: Literal["elu", "gelu", "leaky", "prelu", "rrelu", "selu"] = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
    is_train: Training = False,
):
    """Rectifiers with a nonzero slope below zero: ``max(x, 0) + slope · min(x, 0)`` and relatives.

    leaky: a fixed slope; prelu: learned slopes ``gamma``, per channel (axis 1); rrelu: slopes drawn from [lower_bound, upper_bound) in
    training, which are the second result; elu: ``slope · (exp(x) - 1)`` below zero; selu: scaled elu; gelu: ``x`` times the normal
    distribution function.
    """
    if act_type == "gelu":
        return _gelu(xp, data)
    above, below = xp.maximum(data, 0), xp.minimum(data, 0)
    if act_type == "selu":
        return SELU_SCALE * (above + SELU_ALPHA * xp.expm1(below))
    # the exponential of min(x, 0) cannot overflow where x is large
    if act_type == "elu":
        return above + slope * xp.expm1(below)
    if act_type == "leaky":
        return above + slope * below
    if act_type == "prelu":
        if gamma is None:
            raise ParameterError("LeakyReLU: the array gamma is missing", None, "pass the slopes of prelu, or another act_type")
        check_same_dtype(xp, "LeakyReLU", (data, gamma))
        # selected, not added: an infinite slope, or one that is NaN, does not reach positive numbers
        return xp.where(xp.greater(data, 0), data, _per_channel(xp, gamma, data) * data)
    mask = _random_slopes(xp, rng, data, lower_bound, upper_bound, is_train)
    # a prediction uses the mean of the slopes, so that it is the same each time
    return above + (mask if is_train else (lower_bound + upper_bound) / 2) * below, mask


@leaky_relu.draws
def _(*, act_type, is_train, **_):
    return act_type == "rrelu" and is_train


@leaky_relu.infer
def _(shapes, *, act_type, **_):
    data, gamma = shapes[:2]
    if act_type != "prelu":
        return [data]
    # a vector has no channel axis: one slope serves it
    return [data, gamma if gamma is not None or data is None else data[1:2] or (1,)]


@leaky_relu.grad
def _(xp, dout, out, data, gamma, *, act_type, slope, lower_bound, upper_bound, is_train, **_):
    if act_type == "gelu":
        return _gelu_gradient(xp, dout, data), None
    slopes = slope
    if act_type == "rrelu":
        # the mask, the second result, has no gradient
        if dout[0] is None:
            return None, None
        dout, slopes = dout[0], out[1] if is_train else (lower_bound + upper_bound) / 2
    # at 0 the slope is that of negative numbers, as in MXNet
    positive = xp.greater(data, 0)
    # below zero the slope is scale · alpha · exp(x) = out + scale · alpha: the result is used, no exponential is computed again
    if act_type == "selu":
        return dout * xp.where(positive, SELU_SCALE, out + SELU_SCALE * SELU_ALPHA), None
    if act_type == "elu":
        return dout * xp.where(positive, 1, out + slope), None
    if act_type in ("leaky", "rrelu"):
        return xp.where(positive, dout, dout * slopes), None
    below = xp.where(positive, 0, dout * data)
    return xp.where(positive, dout, _per_channel(xp, gamma, data) * dout), _slope_gradient(xp, below, gamma)


def _slope_gradient(xp, product, gamma):
    """The gradient of the learned slopes: summed over all axes except the channels."""
    # a vector of data has no batch axis: its elements are the channels
    kept = () if gamma.shape == (1,) else (1,) if len(product.shape) > 1 else (0,)
    return xp.reshape(xp.sum(product, axis=tuple(k for k in range(len(product.shape)) if k not in kept)), shape=gamma.shape)


@leaky_relu.sample
def _(draw):
    data = draw.real((2, 3, 4), distinct=True)
    kinds = [draw(data, None, act_type=name) for name in ("leaky", "elu", "selu", "gelu")]
    return [*kinds, draw(data, draw.real((3,)), act_type="prelu"), draw(draw.real((3,)), draw.real((1,)), act_type="prelu")]
