"""SequenceMask, SequenceLast and SequenceReverse: batches of sequences of different lengths, with time and batch as axes 0 and 1."""

from ..dtype import FLOATS, INTEGERS
from ..errors import ParameterError, ShapeError
from ..opdef import SequenceLength, along_axis, op, without_axis


def _check(name, data, length, use_sequence_length, axis):
    """Check that the time axis is 0 or 1, and that lengths (batch,) are given if and only if they are used."""
    if axis not in (0, 1) or len(data.shape) < 2:
        raise ParameterError(f"{name}: time must be axis 0 or 1", f"axis {axis} of data {data.shape}", "move time to one of them")
    if use_sequence_length and (length is None or length.shape != (data.shape[1 - axis],)):
        given = None if length is None else f"lengths {length.shape} for data {data.shape}"
        raise ShapeError(f"{name}: needs one length for each sequence", given, f"pass an array of shape {(data.shape[1 - axis],)}")


def _along(ndim, axis):
    return tuple(-1 if k == axis else 1 for k in range(ndim))


def _times(xp, data, length, axis):
    """Time steps and whole lengths, reshaped to broadcast over the data, in the lengths' dtype."""
    steps = xp.iota(size=data.shape[axis], dtype=xp.dtype_of(length))
    ndim = len(data.shape)
    # lengths may be floats; MXNet counts whole steps only. NumPy 2.0 makes floats of truncated integers, which are no indices.
    whole = length if xp.dtype_of(length) in INTEGERS else xp.trunc(length)
    return xp.reshape(steps, shape=_along(ndim, axis)), xp.reshape(whole, shape=_along(ndim, 1 - axis))


def _lengths_shape(shapes, *, use_sequence_length, axis, **_):
    if not use_sequence_length or axis not in (0, 1):
        return shapes[:1]
    data, length = (*shapes, None)[:2]
    return along_axis([data, length], 1 - axis)


def _last_step_shape(shapes, results, **params):
    completed = _lengths_shape(shapes, **params)
    return completed, [without_axis(completed[0], params["axis"])]


@op("SequenceMask", "_npx_sequence_mask", keeps_shape=True)
def sequence_mask(
    xp, data, sequence_length: SequenceLength = None, *, use_sequence_length: bool = False, value: float = 0.0, axis: int = 0
):
    """The data with ``value`` for all steps from each sequence's length on; the data itself without lengths."""
    _check("SequenceMask", data, sequence_length, use_sequence_length, axis)
    if not use_sequence_length:
        return data
    step, length = _times(xp, data, sequence_length, axis)
    dtype = xp.dtype_of(data)
    # truncated and wrapped for integers, whose dtype the result keeps
    return xp.where(xp.less(step, length), data, value if dtype in FLOATS else xp.astype(value, dtype=dtype))


@sequence_mask.grad
def _(xp, dout, data, sequence_length, *, use_sequence_length, axis, **_):
    if not use_sequence_length:
        return dout, None
    step, length = _times(xp, data, sequence_length, axis)
    return xp.where(xp.less(step, length), dout, 0), None


@op("SequenceLast", npx_name="sequence_last")
def sequence_last(xp, data, sequence_length: SequenceLength = None, *, use_sequence_length: bool = False, axis: int = 0):
    """The last step of each sequence, (batch, …): the step before its length, or without lengths the last step."""
    _check("SequenceLast", data, sequence_length, use_sequence_length, axis)
    steps = data.shape[axis]
    if not steps:
        raise ShapeError("SequenceLast: there is no step", data.shape, "pass sequences of at least one step")
    if not use_sequence_length:
        return xp.squeeze(xp.take_slice(data, steps - 1, steps, axis), axis)
    place = xp.reshape(_last(xp, sequence_length, steps), shape=_along(len(data.shape), 1 - axis))
    return xp.squeeze(xp.take_along_axis(data, place, axis=axis), axis)


def _last(xp, sequence_length, steps):
    # a length of 0 would select step -1
    return xp.clip(xp.cast(sequence_length, "int64") - 1, 0, steps - 1)


@sequence_last.grad
def _(xp, dout, data, sequence_length, *, use_sequence_length, axis):
    steps = data.shape[axis]
    step = xp.reshape(xp.iota(size=steps, dtype="int64"), shape=_along(len(data.shape), axis))
    if use_sequence_length:
        # a comparison and not a scatter, so that the gradient is one fused element-wise operation
        here = xp.equal(step, xp.reshape(_last(xp, sequence_length, steps), shape=_along(len(data.shape), 1 - axis)))
    else:
        here = xp.equal(step, steps - 1)
    # selected, not multiplied by 0: an infinite gradient of the last step would make all other steps NaN
    return xp.where(here, xp.expand_dims(dout, axis), 0), None


@op("SequenceReverse", npx_name="sequence_reverse", keeps_shape=True)
def sequence_reverse(xp, data, sequence_length: SequenceLength = None, *, use_sequence_length: bool = False, axis: int = 0):
    """Each sequence reversed up to its length, with the steps after it in place; without lengths the whole time axis is reversed."""
    _check("SequenceReverse", data, sequence_length, use_sequence_length, axis)
    if not use_sequence_length:
        return xp.flip(data, axis)
    step, length = _times(xp, data, xp.cast(sequence_length, "int64"), axis)
    # places past the end are clipped although they are not selected: a gather must stay in bounds
    place = xp.where(xp.less(step, length), xp.clip(length - 1 - step, 0, data.shape[axis] - 1), step)
    return xp.take_along_axis(data, place, axis=axis)


@sequence_reverse.grad
def _(xp, dout, sequence_length, **params):
    return sequence_reverse(xp, dout, sequence_length, **params), None  # a reversal is its own inverse


for _op in (sequence_mask, sequence_last, sequence_reverse):
    _op.infer(_last_step_shape if _op is sequence_last else _lengths_shape)
    _op.sample(
        lambda draw: [
            draw(draw.real((3, 2, 2)), draw.integer((2,), 1, 4), use_sequence_length=True),
            draw(draw.real((2, 3)), draw.integer((2,), 1, 4), use_sequence_length=True, axis=1),
            draw(draw.real((3, 2)), None),
        ]
    )
