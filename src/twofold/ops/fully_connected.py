"""FullyConnected: the affine map of a dense layer, with its gradient as two matrix products."""

import math

from ..errors import ShapeError
from ..opdef import WHOLE, Bias, op


def _as_rows(xp, data, flatten):
    """The samples as rows (n, d), and the leading shape of the result."""
    lead = data.shape[:1] if flatten else data.shape[:-1]
    return xp.reshape(data, shape=(math.prod(lead), math.prod(data.shape[len(lead) :]))), lead


def _check(rows, weight, bias, num_hidden, no_bias):
    if weight.shape != (num_hidden, rows.shape[1]):
        given = f"weight {weight.shape} for rows of {rows.shape[1]} values"
        raise ShapeError("FullyConnected: the weight has the wrong shape", given, f"pass a weight of shape {(num_hidden, rows.shape[1])}")
    if (bias is None) != no_bias or (bias is not None and bias.shape != (num_hidden,)):
        given = "no bias" if bias is None else f"bias {bias.shape}, no_bias={no_bias}"
        raise ShapeError(
            "FullyConnected: the bias has the wrong shape", given, f"pass one of shape {(num_hidden,)}, or none with no_bias=True"
        )


@op(
    "FullyConnected", "_npx_fully_connected", "_sparse_FullyConnected", alike=True, waits_from=WHOLE, drawn_as="layer", label="{num_hidden}"
)
def fully_connected(xp, data, weight, bias: Bias = None, *, num_hidden: int, no_bias: bool = False, flatten: bool = True):
    """Affine map: data (n, d…) · weightᵀ (num_hidden, d) + bias (num_hidden,), giving (n, num_hidden).

    With ``flatten`` all axes but the first are flattened into one; without it the map applies to the last axis.
    """
    rows, lead = _as_rows(xp, data, flatten)
    _check(rows, weight, bias, num_hidden, no_bias)
    # the transpose is a view: products of any layout go to the library as they are
    out = xp.matmul(rows, xp.matrix_transpose(weight))
    return xp.reshape(out if bias is None else out + bias, shape=(*lead, num_hidden))


@fully_connected.infer
def fully_connected_shapes(shapes, *, num_hidden, no_bias, flatten):
    """The shapes of the operands, completed."""
    data, weight = shapes[:2]
    weight = weight or (None, None)
    if data is not None:
        tail = data[1:] if flatten else data[-1:]
        # without flatten only the last axis must be known
        depth = None if None in tail else math.prod(tail)
        weight = (num_hidden, weight[1] if depth is None else depth)
        if len(tail) == 1 and depth is None:
            data = (*data[:-1], weight[1])
    return [data, (num_hidden, weight[1]), *([] if no_bias else [(num_hidden,)])]


@fully_connected.grad
def _(xp, dout, data, weight, bias, *, num_hidden, flatten, **_):
    rows, lead = _as_rows(xp, data, flatten)
    d = xp.reshape(dout, shape=(math.prod(lead), num_hidden))
    # for Y = X · Wᵀ: dX = dY · W and dW = dYᵀ · X
    ddata = xp.reshape(xp.matmul(d, weight), shape=data.shape)
    return ddata, xp.matmul(xp.matrix_transpose(d), rows), None if bias is None else xp.sum(d, axis=0)


fully_connected.sample(lambda draw: draw(draw.real((2, 3)), draw.real((4, 3)), draw.real((4,)), num_hidden=4))
fully_connected.sample(lambda draw: draw(draw.real((2, 3, 2)), draw.real((4, 6)), None, num_hidden=4, no_bias=True))
fully_connected.sample(lambda draw: draw(draw.real((2, 3, 2)), draw.real((4, 2)), draw.real((4,)), num_hidden=4, flatten=False))
