"""The softmax family: softmax, log_softmax, softmin, SoftmaxActivation, and the cross-entropy.

The largest logit is subtracted before the exponential (the log-sum-exp shift), so that no logit overflows. The shift does not change the
result, so the gradients ignore it.
"""

import math
from typing import Annotated, Literal

from ..dtype import HALVES
from ..errors import ParameterError, ShapeError
from ..opdef import Input, Operand, agreed, normalized_axis, op, without_axis
from .checking import checked

FloatName = Literal["float16", "float32", "float64"] | None
Lengths = Annotated[Operand | None, Input(present=("use_length", True), own_dtype=True)]


def _working(xp, data, dtype):
    """The logits in the working dtype (float32 for 16-bit floats), and the result's dtype."""
    wanted = dtype or xp.dtype_of(xp.to_float(data))
    return xp.cast(data, "float32" if wanted in HALVES else wanted), wanted


def _scaled(logits, temperature):
    return logits if temperature is None or temperature == 1 else logits / temperature


def softmax_of(xp, logits, axis):
    """exp(logits), normalized to sum 1 over axes."""
    # an empty row has no maximum
    if 0 in logits.shape:
        return logits
    powers = xp.exp(logits - xp.max(logits, axis=axis, keepdims=True))
    return powers / xp.sum(powers, axis=axis, keepdims=True)


def log_softmax_of(xp, logits, axis):
    """The logarithm of `softmax_of`, finite for any finite logits."""
    if 0 in logits.shape:
        return logits
    shifted = logits - xp.max(logits, axis=axis, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=axis, keepdims=True))


def _softmax_gradient(xp, dout, out, axis, temperature, valid=None):
    """(dout - Σ dout · out) · out, in the working dtype; 0 where a mask is false."""
    # the sum over a row of 16-bit products is taken in float32
    wide = "float64" if xp.dtype_of(out) == "float64" else "float32"
    d, y = xp.cast(dout, wide), xp.cast(out, wide)
    # the result is 0 beyond the length, but 0 times an infinite gradient would be NaN, for the whole row
    product = d * y if valid is None else xp.where(valid, d * y, 0)
    found = product - y * xp.sum(product, axis=axis, keepdims=True)
    return _scaled(found if valid is None else xp.where(valid, found, 0), temperature)


def _valid(xp, logits, length, axis):
    """A mask of the positions along the axis below the length of their row."""
    at = normalized_axis(axis, len(logits.shape), "softmax: axis")
    if length.shape != (*logits.shape[:at], *logits.shape[at + 1 :]):
        given = f"length {length.shape} for data {logits.shape}, axis {axis}"
        raise ShapeError(
            "softmax: the lengths have the wrong shape", given, "pass one length for each row: the data's shape without the axis"
        )
    places = xp.iota(size=logits.shape[at], dtype=xp.dtype_of(length))
    column = tuple(-1 if k == at else 1 for k in range(len(logits.shape)))
    return xp.less(xp.reshape(places, shape=column), xp.expand_dims(length, at))


@op("softmax", "_npx_softmax", method=True, real=True, keeps_shape=True, faithful=True)
def softmax(
    xp,
    data,
    length: Lengths = None,
    *,
    axis: int = -1,
    temperature: float | None = None,
    dtype: FloatName = None,
    use_length: bool | None = False,
):
    """exp(data / temperature), divided by its sum along an axis.

    With ``use_length`` each row is used only up to its ``length`` (the data's shape without the axis); the rest of the result is 0.
    """
    if use_length and length is None:
        raise ParameterError("softmax: use_length without lengths", None, "pass the array length")
    logits, wanted = _working(xp, data, dtype)
    logits = _scaled(logits, temperature)
    if not use_length:
        return xp.cast(softmax_of(xp, logits, axis), wanted)
    valid = _valid(xp, logits, length, axis)
    # exp(-inf) is exactly 0; a row of length 0 is NaN inside, which the outer selection replaces
    return xp.cast(xp.where(valid, softmax_of(xp, xp.where(valid, logits, -math.inf), axis), 0), wanted)


@softmax.infer
def _(shapes, *, axis, use_length, **_):
    data, length = shapes[0], shapes[1] if len(shapes) > 1 else None
    if not use_length:
        return [data]
    rows = agreed(length, without_axis(data, axis)) or length
    if data is not None and rows is not None:
        at = normalized_axis(axis, len(data), "softmax: axis")
        data = (*rows[:at], data[at], *rows[at:])
    return [data, rows]


@softmax.grad
def _(xp, dout, out, length, *, axis, temperature, use_length, **_):
    valid = _valid(xp, out, length, axis) if use_length else None
    return _softmax_gradient(xp, dout, out, axis, temperature, valid), None


@softmax.logarithm
def _(xp, node):
    if node.bound_op.params["use_length"]:
        return None
    # the same operator in logarithms, with the same axis, temperature and dtype; with lengths it would take the logarithm of the zeros
    bound_op = log_softmax.bind(node.bound_op.legacy, **{k: v for k, v in node.bound_op.params.items() if k in log_softmax.params})
    return xp.apply(bound_op, node.inputs[: len(log_softmax.inputs)])


@softmax.sample
def _(draw):
    logits = draw.real((3, 4), low=-9, high=9)
    return [
        draw(logits, None),
        draw(logits, None, axis=0, temperature=2.0),
        draw(logits, draw.integer((3,), 1, 5, dtype="int32"), use_length=True),
    ]


def _refuse_lengths(name, use_length):
    if use_length:
        raise ParameterError(f"{name} takes no lengths", "use_length=True", "use softmax, which does")


@op("softmin", npx_name="softmin", method=True, real=True, keeps_shape=True)
def softmin(xp, data, *, axis: int = -1, temperature: float | None = None, dtype: FloatName = None, use_length: bool | None = False):
    """exp(-data / temperature), divided by its sum along an axis. It takes no lengths: ``use_length`` must be false."""
    _refuse_lengths("softmin", use_length)
    return softmax(xp, -data, axis=axis, temperature=temperature, dtype=dtype)


softmin.sample(lambda draw: draw(draw.real((3, 4)), axis=0))


@op("log_softmax", "_npx_log_softmax", method=True, real=True, keeps_shape=True)
def log_softmax(xp, data, *, axis: int = -1, temperature: float | None = None, dtype: FloatName = None, use_length: bool | None = False):
    """Logarithm of the softmax along an axis. It takes no lengths: ``use_length`` must be false."""
    _refuse_lengths("log_softmax", use_length)
    logits, wanted = _working(xp, data, dtype)
    return xp.cast(log_softmax_of(xp, _scaled(logits, temperature), axis), wanted)


@log_softmax.grad
def _(xp, dout, data, *, axis, temperature, dtype, **_):
    logits, _ = _working(xp, data, dtype)
    # dx = d - softmax(x) · Σ d
    d = xp.cast(dout, xp.dtype_of(logits))
    probabilities = softmax_of(
        xp, _scaled(logits, temperature), axis
    )  # in terms of the exponentials and their sum, so that it shares them with the result
    return _scaled(d - probabilities * xp.sum(d, axis=axis, keepdims=True), temperature)


log_softmax.sample(lambda draw: draw(draw.real((3, 4), low=-9, high=9), temperature=0.5))


@op("SoftmaxActivation", real=True, keeps_shape=True)
def softmax_activation(xp, data, *, mode: Literal["channel", "instance"] = "instance"):
    """Softmax over the last axis ("instance") or over axis 1 ("channel")."""
    return softmax(xp, data, axis=1 if mode == "channel" else -1)


softmax_activation.sample(lambda draw: [draw(draw.real((2, 3, 2)), mode="channel"), draw(draw.real((2, 3, 2)))])


def picked(xp, data, label):
    """The value at the label in each row of (n, k), with labels clipped to the bounds: (n, 1)."""
    # the primitive takes places in bounds only; with other labels MXNet reads beyond the row
    label = checked(xp, label, data.shape[1], "softmax_cross_entropy", "label")
    place = xp.clip(xp.cast(xp.reshape(label, shape=(-1, 1)), "int64"), 0, data.shape[1] - 1)
    return xp.take_along_axis(data, place, axis=1)


@op("softmax_cross_entropy", alike=True, real=True)
def softmax_cross_entropy(xp, data, label):
    """The total cross-entropy of the softmax of rows (n, k) with class labels (n,): shape (1,).

    Computed from log_softmax rather than from probabilities, so that the loss of finite logits is finite.
    """
    if len(data.shape) != 2 or label.shape != data.shape[:1]:
        given = f"data {data.shape}, label {label.shape}"
        raise ShapeError("softmax_cross_entropy: the shapes do not match", given, "pass data (n, k) and a label (n,)")
    logits, wanted = _working(xp, data, None)
    loss = -xp.sum(picked(xp, log_softmax_of(xp, logits, 1), label))
    return xp.cast(xp.reshape(loss, shape=(1,)), wanted)


@softmax_cross_entropy.infer
def _(shapes):
    data, label = shapes
    return [data, label if data is None else data[:1]]


@softmax_cross_entropy.grad
def _(xp, dout, data, label):
    logits, _ = _working(xp, data, None)
    wanted = xp.one_hot(xp.cast(label, "int64"), data.shape[1], dtype=xp.dtype_of(logits))
    return dout * (softmax_of(xp, logits, 1) - wanted), None


softmax_cross_entropy.sample(lambda draw: draw(draw.real((3, 4)), draw.integer((3,), 0, 4, dtype=None)))
