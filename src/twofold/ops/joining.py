"""Joining and splitting arrays along an axis: Concat, stack, SliceChannel (split), _split_v2."""

from itertools import pairwise

from ..errors import DTypeError, ParameterError, ShapeError
from ..opdef import Count, Shape, agreed, joined, normalized_axis, op, stype_of, without_axis


def check_same_dtype(xp, name, arrays):
    """Check that arrays have the same dtype.

    Raises
    ------
    DTypeError
        If they do not.
    """
    dtypes = [xp.dtype_of(a) for a in arrays]
    if len(set(dtypes)) > 1:
        raise DTypeError(f"{name}: the dtypes differ", ", ".join(dtypes), "cast some with astype")


@op("Concat", "concat", "_sparse_concat", count_param="num_args", drawn_as="shape")
def concat_arrays(xp, *data, dim: int = 1):
    """Joins arrays along an axis; their dtypes and their other sizes must agree."""
    check_same_dtype(xp, "Concat", data)
    return xp.concat(*data, axis=normalized_axis(dim, len(data[0].shape), "Concat: dim"))


@concat_arrays.sparse
def _(xp, dense, *data, dim):
    if dim != 0 or any(stype_of(a) != "csr" for a in data):
        return None
    check_same_dtype(xp, "Concat", [a.values for a in data])
    return xp.csr_concat(*data)


concat_arrays.sample(lambda draw: draw(draw.real((2, 3)), draw.real((2, 1))))
concat_arrays.sample(lambda draw: draw(draw.real((2, 3)), draw.real((1, 3)), draw.real((2, 3)), dim=0))


@op("_rnn_param_concat", "_npi_rnn_param_concat", count_param="num_args")
def rnn_param_concat(xp, *data, dim: int = 1):
    """`Concat` for the parameters of a recurrent layer."""
    return concat_arrays(xp, *data, dim=dim)


@concat_arrays.infer
def _(shapes, results, *, dim, **_):
    before, after = joined(shapes, results[0], dim)
    return before, [after]


@rnn_param_concat.infer
def _(shapes, results, *, dim, **_):
    before, after = joined(shapes, results[0], dim)
    unknown = [k for k, s in enumerate(before) if s is not None and s[dim] is None]
    if after is not None and after[dim] is not None and len(unknown) > 1:
        # only the first layer's input weights depend on the input's size; those of both directions have equal shapes
        rest = after[dim] - sum(s[dim] for s in before if s is not None and s[dim] is not None)
        before = [(*s[:dim], rest // len(unknown), *s[dim + 1 :]) if s is not None and k in unknown else s for k, s in enumerate(before)]
    return before, [after]


rnn_param_concat.sample(lambda draw: draw(draw.real((3,)), draw.real((2,)), dim=0))


@op("stack", count_param="num_args")
def stack(xp, *data, axis: int = 0):
    """Joins arrays of equal shape and dtype along a new axis."""
    check_same_dtype(xp, "stack", data)
    if any(a.shape != data[0].shape for a in data):
        raise ShapeError("stack: the shapes differ", ", ".join(str(a.shape) for a in data), "make them equal")
    return xp.stack(data, normalized_axis(axis, len(data[0].shape) + 1, "stack: axis"))


@stack.infer
def _(shapes, results, *, axis, **_):
    one = agreed(*shapes, without_axis(results[0], axis))
    # one shape for all: a known size of any operand or of the result holds for each
    return [one] * len(shapes), results


stack.sample(lambda draw: [draw(draw.real((2, 3)), draw.real((2, 3)), axis=axis) for axis in (0, -1)])


def pieces(xp, data, edges, axis, squeeze, name):
    """``data`` split at positions along an axis; with ``squeeze`` the axis, of size 1 in every piece, is removed."""
    parts = [xp.take_slice(data, a, b, axis) for a, b in pairwise(edges)]
    if not squeeze:
        return tuple(parts)
    if any(p.shape[axis] != 1 for p in parts):
        raise ShapeError(
            f"{name}: squeeze_axis needs pieces of size 1", f"sizes {[p.shape[axis] for p in parts]}", "leave squeeze_axis out"
        )
    return tuple(xp.squeeze(p, axis) for p in parts)


def pieces_grad(xp, dout, out, data, axis, squeeze):
    """The gradients of the pieces, joined; zeros for a piece that is not used."""
    at = normalized_axis(axis, len(data.shape))
    # a piece that nothing depends on has no gradient, but it has a place in the joined one
    grads = [xp.zeros_like(o) if d is None else d for d, o in zip(dout, out, strict=True)]
    # not an axis more than the pieces have: those of a vector are vectors of one element in `mx.nd`, without axes in `mx.np`
    shape = (*data.shape[:at], 1, *data.shape[at + 1 :])
    return xp.concat(*[xp.reshape(g, shape=shape) if squeeze else g for g in grads], axis=at)


@op("SliceChannel", "split", outputs=lambda num_outputs, **_: num_outputs, method="split", faithful=True)
def slice_channel(xp, data, *, num_outputs: Count, axis: int = 1, squeeze_axis: bool = False):
    """``num_outputs`` pieces of equal size along an axis."""
    at = normalized_axis(axis, len(data.shape), "SliceChannel: axis")
    size = data.shape[at]
    if num_outputs < 1 or size % num_outputs:
        raise ShapeError("SliceChannel: the array does not split evenly", f"size {size} into {num_outputs}", "pass a divisor of the size")
    step = size // num_outputs
    parts = pieces(xp, data, [k * step for k in range(num_outputs + 1)], at, squeeze_axis, "SliceChannel")
    return parts if num_outputs > 1 else parts[0]


@slice_channel.grad
def _(xp, dout, out, data, *, num_outputs, axis, squeeze_axis):
    single = num_outputs == 1
    return pieces_grad(xp, (dout,) if single else dout, (out,) if single else out, data, axis, squeeze_axis)


slice_channel.sample(lambda draw: [draw(draw.real((2, 4)), num_outputs=2), draw(draw.real((2, 3)), num_outputs=3, squeeze_axis=True)])


def section_edges(size, sections):
    """Where ``sections`` pieces of an axis begin, and its end; the first pieces are larger by one if they cannot be equal."""
    step, larger = divmod(size, sections)
    return [k * step + min(k, larger) for k in range(sections + 1)]


def section_count(indices, sections, **_):
    """The number of pieces of `split_v2`."""
    return sections or len(indices)


@op("_split_v2", "_npi_split", outputs=section_count, faithful=True)
def split_v2(xp, data, *, indices: Shape, axis: int = 1, squeeze_axis: bool = False, sections: Count = 0):
    """``sections`` pieces along an axis, or if that is 0, pieces that begin at ``indices``; the first index must be 0.

    Sections are of equal size, or the first ones are larger by one.
    """
    at = normalized_axis(axis, len(data.shape), "_split_v2: axis")
    size = data.shape[at]
    # MXNet's indices begin with 0, NumPy's with the second piece; the front ends add the 0
    edges = section_edges(size, sections) if sections else [*[k + size if k < 0 else k for k in indices], size]
    if edges[0] != 0 or edges != sorted(edges):
        raise ParameterError(
            "_split_v2: the indices do not ascend from 0", f"indices={indices} of size {size}", "pass ascending indices that start with 0"
        )
    parts = pieces(xp, data, edges, at, squeeze_axis, "_split_v2")
    return parts if section_count(indices, sections) > 1 else parts[0]


@split_v2.grad
def _(xp, dout, out, data, *, indices, axis, squeeze_axis, sections):
    single = section_count(indices, sections) == 1
    return pieces_grad(xp, (dout,) if single else dout, (out,) if single else out, data, axis, squeeze_axis)


split_v2.sample(lambda draw: [draw(draw.real((2, 5)), indices=(0, 1, 3)), draw(draw.real((4, 2)), indices=(), sections=2, axis=0)])
split_v2.sample(lambda draw: draw(draw.real((2, 7)), indices=(), sections=3))
