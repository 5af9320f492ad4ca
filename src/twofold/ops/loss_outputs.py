"""Output operators: their forward pass is a prediction, their gradient that of a loss, regardless of the head gradient.

SoftmaxOutput, SVMOutput, the regression outputs and MakeLoss.
"""

import math
from functools import partial
from typing import Literal

from ..errors import ShapeError
from ..opdef import expected_shape, op, product_of
from .checking import checked
from .softmax import softmax

Normalization = Literal["batch", "null", "valid"]


def _rows(xp, x, multi_output, preserve_shape):
    """The logits as (n, k), or as (n, k, d) with several positions, with the classes on axis 1; see `softmax_output`."""
    if multi_output:
        return xp.reshape(x, shape=(*x.shape[:2], math.prod(x.shape[2:])))
    if preserve_shape:
        return xp.reshape(x, shape=(math.prod(x.shape[:-1]), x.shape[-1]))
    return xp.reshape(x, shape=(x.shape[0], math.prod(x.shape[1:])))


@op("SoftmaxOutput", "Softmax", ignores_head=True, alike=True, real=True, keeps_shape=True)
def softmax_output(
    xp,
    data,
    label,
    *,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Normalization = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
):
    """Softmax of logits; its gradient is that of the cross-entropy with the label, ``probability - label``.

    Each sample (n, k…) is one row of logits; with ``multi_output`` axis 1 holds the classes of each position (n, k, d…), with
    ``preserve_shape`` the last axis does. Labels are class indices (one per row), or probabilities in the data's shape. As in
    MXNet, without these options labels may also have the data's shape without the last axis; the first n are those of the rows.

    The gradient is ``grad_scale`` times the difference: divided by the number of samples ("batch"), of labels that are not
    ``ignore_label`` ("valid"), or neither ("null"); with ``multi_output``, except for "valid", also by the number of positions. Rows with
    ``ignore_label`` get no gradient if ``use_ignore``. With ``out_grad`` it is multiplied by the head gradient, otherwise ignored.
    ``smooth_alpha`` is the probability moved from the label's class to the others, evenly (not with ``multi_output``).
    """
    if label.shape != data.shape:
        expected = _label_shape(data.shape, multi_output, preserve_shape)
        if math.prod(label.shape) not in _label_counts(data.shape, multi_output, preserve_shape):
            given = f"label {label.shape} for data {data.shape}"
            raise ShapeError("SoftmaxOutput: the label has the wrong shape", given, f"pass one of shape {expected} or {data.shape}")
    rows = _rows(xp, data, multi_output, preserve_shape)
    if label.shape != data.shape:
        ignored = math.trunc(ignore_label) if use_ignore else None
        rows = checked(xp, label, rows.shape[1], "SoftmaxOutput", "label", ignored, rows)
    return xp.reshape(softmax(xp, rows, axis=1), shape=data.shape)


def _label_shape(shape, multi_output, preserve_shape):
    if multi_output:
        return (shape[0], math.prod(shape[2:]))
    return shape[:-1] if preserve_shape else shape[:1]


def _label_counts(shape, multi_output, preserve_shape):
    """The accepted numbers of labels: one for each row; if rows are samples also more, as MXNet infers them."""
    count = math.prod(_label_shape(shape, multi_output, preserve_shape))
    return (count,) if multi_output else (count, math.prod(shape[:-1]))


@softmax_output.infer
def _(shapes, *, multi_output, preserve_shape, **_):
    data, label = shapes
    if data is None:
        return shapes
    positions = (data[0], product_of(data[2:])) if multi_output else data[:-1]
    return [data, expected_shape(label, positions)]


@softmax_output.grad
def _(xp, dout, out, label, *, multi_output, preserve_shape, grad_scale, out_grad, **options):
    # a label of the data's shape holds probabilities; the options for class indices do not apply to it
    if label.shape == out.shape:
        grad = (out - label) * grad_scale
    else:
        rows = _rows(xp, out, multi_output, preserve_shape)
        count, given = math.prod(label.shape), label
        if not multi_output and count > rows.shape[0]:
            label = xp.slice(xp.reshape(label, shape=(count,)), key=((0, rows.shape[0], None),))
        labels = xp.reshape(label, shape=(rows.shape[0], 1, *rows.shape[2:]))
        grad = _class_gradient(xp, rows, labels, given, multi_output, grad_scale, **options)
        grad = xp.reshape(grad, shape=out.shape)
    return grad * dout if out_grad else grad, None


def _class_gradient(xp, rows, labels, given, multi_output, grad_scale, *, use_ignore, ignore_label, normalization, smooth_alpha):
    """The gradient for class indices: rows (n, k) or (n, k, d), labels (n, 1) or (n, 1, d), of those that were given."""
    # labels are floats in MXNet, which casts them to int as C does
    labels, ignore_label = xp.trunc(labels), math.trunc(ignore_label)
    grad = rows - _target(xp, rows, labels, 0 if multi_output else smooth_alpha)
    if use_ignore:
        # not multiplied by 0: the logits of an ignored row may be NaN
        grad = xp.where(xp.not_equal(labels, ignore_label), grad, 0)
    if normalization == "valid":
        # in MXNet also without `use_ignore`, and among all labels; in float32, since float16 cannot count beyond 2048
        valid = xp.cast(xp.not_equal(xp.trunc(given), ignore_label), xp.dtype_of(rows))
        return grad * (grad_scale / xp.maximum(xp.sum(xp.upcast(valid)), 1))
    # MXNet divides by the positions with multi_output, even with normalization null
    positions = rows.shape[2] if multi_output else 1
    samples = rows.shape[0] if multi_output else math.prod(given.shape)
    return grad * (grad_scale / (positions * (samples if normalization == "batch" else 1)))


def _target(xp, rows, labels, smooth_alpha):
    """The target probabilities: 1 at the label, a whole number (0 for all classes if it is out of bounds), optionally smoothed."""
    classes = rows.shape[1]
    places = xp.reshape(xp.iota(size=classes, dtype=xp.dtype_of(labels)), shape=(1, classes, *[1] * (len(rows.shape) - 2)))
    here = xp.equal(labels, places)
    if smooth_alpha == 0 or classes == 1:
        return here
    other = smooth_alpha / (classes - 1)  # the probability of each other class; the label keeps 1 - smooth_alpha
    return xp.cast(here, xp.dtype_of(rows)) * (1 - smooth_alpha - other) + other


@softmax_output.sample
def _(draw):
    return [
        draw(draw.real((3, 4)), draw.integer((3,), 0, 4, dtype=None), gradient=False),
        draw(
            draw.real((2, 3, 2)),
            draw.integer((2, 2), 0, 3, dtype=None),
            multi_output=True,
            normalization="valid",
            use_ignore=True,
            gradient=False,
        ),
    ]


def _reshaped_label(xp, name, data, label):
    """The label in the data's shape: as many elements for each sample, or a shape that differs by axes of size 1 only."""
    has_rows = label.shape[:1] == data.shape[:1] and math.prod(label.shape) == math.prod(data.shape)
    if not has_rows and [n for n in label.shape if n != 1] != [n for n in data.shape if n != 1]:
        raise ShapeError(
            f"{name}: the label has the wrong size", f"label {label.shape} for data {data.shape}", "pass as many labels as outputs"
        )
    return xp.reshape(label, shape=data.shape)


def _per_output(data):
    """One over the number of outputs of a sample."""
    return 1 / max(1, math.prod(data.shape[1:]))


def _like_data(shapes, **_):
    data, label = shapes
    return [data, label if label is not None or data is None else data[:1] if data[1:] == (1,) else data]


#: Declares a prediction whose gradient is that of a regression's loss.
regression = partial(op, ignores_head=True, alike=True, keeps_shape=True, unchecked_params=True)


@regression("LinearRegressionOutput", "_sparse_LinearRegressionOutput")
def linear_regression_output(xp, data, label, *, grad_scale: float = 1.0):
    """The data; its gradient is that of half the squared error, divided by the number of outputs per sample."""
    _reshaped_label(xp, "LinearRegressionOutput", data, label)
    return data


@linear_regression_output.grad
def _(xp, dout, data, label, *, grad_scale):
    return (data - _reshaped_label(xp, "LinearRegressionOutput", data, label)) * (grad_scale * _per_output(data)), None


@regression("MAERegressionOutput", "_sparse_MAERegressionOutput")
def mae_regression_output(xp, data, label, *, grad_scale: float = 1.0):
    """The data; its gradient is that of the absolute error, divided by the number of outputs per sample."""
    _reshaped_label(xp, "MAERegressionOutput", data, label)
    return data


@mae_regression_output.grad
def _(xp, dout, data, label, *, grad_scale):
    # -1 where they are equal, as in MXNet
    above = xp.cast(data > _reshaped_label(xp, "MAERegressionOutput", data, label), xp.dtype_of(data))
    return (2 * above - 1) * (grad_scale * _per_output(data)), None


@regression("LogisticRegressionOutput", "_sparse_LogisticRegressionOutput")
def logistic_regression_output(xp, data, label, *, grad_scale: float = 1.0):
    """1 / (1 + exp(-data)); its gradient is that of the binary cross-entropy, divided by the number of outputs per sample."""
    _reshaped_label(xp, "LogisticRegressionOutput", data, label)
    return 1 / (1 + xp.exp(-data))


@logistic_regression_output.grad
def _(xp, dout, out, label, *, grad_scale):
    return (out - _reshaped_label(xp, "LogisticRegressionOutput", out, label)) * (grad_scale * _per_output(out)), None


for _op in (linear_regression_output, mae_regression_output, logistic_regression_output):
    _op.infer(_like_data)
    _op.sample(lambda draw: draw(draw.real((3, 2)), draw.real((3, 2)), gradient=False))


@op("MakeLoss", ignores_head=True, keeps_shape=True)
def make_loss_output(xp, data, *, grad_scale: float = 1.0, valid_thresh: float = 0.0, normalization: Normalization = "null"):
    """The data as a loss: its gradient is ``grad_scale``, regardless of the head gradient.

    It is divided by the number of rows along the last axis ("batch"), or of values above ``valid_thresh`` ("valid", at least 1).
    """
    return data


@make_loss_output.grad
def _(xp, dout, data, *, grad_scale, valid_thresh, normalization):
    dtype = xp.dtype_of(data)
    if normalization == "valid":
        count = xp.sum(xp.upcast(xp.cast(xp.greater(data, valid_thresh), dtype)))
        return xp.broadcast_to(grad_scale / xp.maximum(count, 1), shape=data.shape)
    rows = math.prod(data.shape[:-1]) if normalization == "batch" else 1
    return xp.full(shape=data.shape, value=grad_scale / max(1, rows), dtype=dtype)


make_loss_output.sample(lambda draw: draw(draw.real((3, 2)), normalization="valid", gradient=False))


@op("SVMOutput", ignores_head=True, alike=True, keeps_shape=True)
def svm_output(xp, data, label, *, margin: float = 1.0, regularization_coefficient: float = 1.0, use_linear: bool = False):
    """The scores (n, k); their gradient is that of the squared hinge loss of a one-against-all SVM, or of the plain hinge loss.

    Scores may have more axes. With a label for each position, the last axis holds the classes; with a label for each sample, all other
    axes do.

    Source: Tang, "Deep learning using linear support vector machines", 2013.
    """
    if label.shape not in (data.shape[:1], data.shape[:-1]):
        raise ShapeError(
            "SVMOutput: the label has the wrong shape", f"label {label.shape} for data {data.shape}", "pass one label for each row"
        )
    return data


@svm_output.infer
def _(shapes, **_):
    data, label = shapes
    return shapes if data is None else [data, expected_shape(label, data[:-1])]


@svm_output.grad
def _(xp, dout, data, label, *, margin, regularization_coefficient, use_linear):
    count = math.prod(label.shape)
    rows = xp.reshape(data, shape=(count, math.prod(data.shape) // max(1, count)))
    here = xp.cast(_target(xp, rows, xp.trunc(xp.reshape(label, shape=(count, 1))), 0), xp.dtype_of(data))
    side = 2 * xp.reshape(here, shape=data.shape) - 1  # 1 for the label's class, -1 for the others
    # the loss of a class is max(0, slack), squared unless `use_linear`
    slack = margin - side * data
    slope = xp.cast(slack > 0, xp.dtype_of(data)) if use_linear else 2 * xp.maximum(slack, 0)
    return -regularization_coefficient * side * slope, None


svm_output.sample(lambda draw: draw(draw.real((3, 4)), draw.integer((3,), 0, 4, dtype=None), gradient=False))
