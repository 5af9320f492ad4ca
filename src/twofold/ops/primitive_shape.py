"""Primitives that rearrange elements: reshape, transpose, broadcast, slice, join, pad, windows. Their gradients are their transposes."""

from ..dtype import promote
from ..errors import ShapeError
from ..opdef.declare import primitive
from ..opdef.params import DType, Shape, Static
from ..opdef.shapes import broadcast_shapes, filled_shape, normalized_axis, sliced_shape, window_size

Triples = Static
FULL = (None, None, None)


@primitive(view=True, moves=True, symbol=("Reshape",))
def reshape(xp, data, *, shape: Shape):
    """The same elements, in row-major order, in another shape; one size may be -1."""


@reshape.type
def _(data, *, shape):
    size = 1
    for n in data.shape:
        size *= n
    return filled_shape(shape, size), data.dtype


reshape.grad(lambda xp, dout, data: xp.reshape(dout, shape=data.shape))


@primitive(view=True, moves=True, symbol=("transpose",))
def permute_dims(xp, data, *, axes: Shape):
    """Permutes the axes."""


@permute_dims.type
def _(data, *, axes):
    if sorted(a % len(axes) if axes else a for a in axes) != list(range(len(data.shape))):
        raise ShapeError("transpose: the axes are not a permutation", f"axes {axes} of shape {data.shape}", "name each axis once")
    return tuple(data.shape[a] for a in axes), data.dtype


@permute_dims.grad
def _(xp, dout, *, axes):
    back = [0] * len(axes)
    for k, a in enumerate(axes):
        back[a % len(axes)] = k
    return xp.permute_dims(dout, axes=tuple(back))


@primitive(view=True, moves=True, symbol=("broadcast_to",))
def broadcast_to(xp, data, *, shape: Shape):
    """Broadcasts along axes of size 1 and new leading axes, without a copy."""


@broadcast_to.type
def _(data, *, shape):
    if broadcast_shapes("broadcast_to", [data.shape, shape]) != shape:
        raise ShapeError("broadcast_to: the shape does not fit", f"{data.shape} to {shape}", "only axes of size 1 grow")
    return shape, data.dtype


@broadcast_to.grad
def _(xp, dout):
    return dout  # the gradient pass reduces it to the input's shape, as for every broadcast


def _bounds(key):
    """Begins, ends and steps of a slice."""
    return {name: tuple(triple[k] for triple in key) for k, name in enumerate(("begin", "end", "step"))}


@primitive(view=True, moves=True, symbol=("slice",), symbol_params=_bounds)
def slice(xp, data, *, key: Triples):
    """``data[begin:end:step, …]``: one (begin, end, step) triple per axis, as in a Python slice."""


slice.type(lambda data, *, key: (sliced_shape(data.shape, key), data.dtype))


@slice.grad
def _(xp, dout, data, *, key):
    return xp.slice_update(xp.full(shape=data.shape, value=0, dtype=dout.dtype), dout, key=key)


@primitive()
def slice_update(xp, data, value, *, key: Triples):
    """``data`` with the elements of a slice replaced by ``value``, which is broadcast."""


@slice_update.type
def _(data, value, *, key):
    target = sliced_shape(data.shape, key)
    if broadcast_shapes("item assignment", [target, value.shape]) != target:
        raise ShapeError(
            "item assignment: the value does not fit", f"{value.shape} into {target}", "give a value that broadcasts to the slice"
        )
    return data.shape, data.dtype


@slice_update.grad
def _(xp, dout, *, key):
    part = xp.slice(dout, key=key)
    return xp.slice_update(dout, 0, key=key), part


@primitive(symbol=("Concat",), symbol_params=lambda axis: {"dim": axis})
def concat(xp, *arrays, axis: int):
    """Concatenates arrays along an axis."""


@concat.type
def _(*arrays, axis):
    first = arrays[0]
    at = normalized_axis(axis, len(first.shape))
    for a in arrays:
        if len(a.shape) != len(first.shape) or any(n != m for k, (n, m) in enumerate(zip(a.shape, first.shape, strict=True)) if k != at):
            raise ShapeError(
                "concat: shapes differ off the axis", ", ".join(str(x.shape) for x in arrays), f"make all but axis {axis} equal"
            )
    dtype = first.dtype if all(a.dtype == first.dtype for a in arrays) else promote(*[a.dtype for a in arrays])
    return (*first.shape[:at], sum(a.shape[at] for a in arrays), *first.shape[at + 1 :]), dtype


@concat.grad
def _(xp, dout, arrays, *, axis):
    grads, start = [], 0
    for a in arrays:
        stop = start + a.shape[axis]
        grads.append(xp.take_slice(dout, start, stop, axis))
        start = stop
    return tuple(grads)


@primitive()
def pad(xp, data, *, width: Triples, value: float = 0.0):
    """``data`` padded with a constant, by ``(before, after)`` elements along each axis."""


@pad.type
def _(data, *, width, value):
    return tuple(n + a + b for n, (a, b) in zip(data.shape, width, strict=True)), data.dtype


@pad.grad
def _(xp, dout, data, *, width):
    return xp.slice(dout, key=tuple((a, a + n, None) for n, (a, _) in zip(data.shape, width, strict=True)))


@primitive(view=True)
def unfold(xp, data, *, kernel: Shape, stride: Shape, dilate: Shape):
    """Windows over the trailing axes: (…, d1…dk) to (…, o1…ok, kernel1…kernelk), without a copy."""


@unfold.type
def _(data, *, kernel, stride, dilate):
    n = len(kernel)
    lead, tail = data.shape[: len(data.shape) - n], data.shape[len(data.shape) - n :]
    out = tuple(window_size(*w) for w in zip(tail, kernel, stride, dilate, strict=True))
    if min(out, default=1) < 1:
        raise ShapeError(
            "window: the kernel is larger than the padded input", f"kernel {kernel}, dilate {dilate}, input {tail}", "pad the input"
        )
    return (*lead, *out, *kernel), data.dtype


@unfold.grad
def _(xp, dout, data, *, kernel, stride, dilate):
    return xp.fold(dout, size=data.shape[len(data.shape) - len(kernel) :], kernel=kernel, stride=stride, dilate=dilate)


@primitive()
def fold(xp, data, *, size: Shape, kernel: Shape, stride: Shape, dilate: Shape):
    """The transpose of `unfold`: windows summed where they overlap, into trailing axes of ``size``."""


@fold.type
def _(data, *, size, kernel, stride, dilate):
    return (*data.shape[: len(data.shape) - 2 * len(kernel)], *size), data.dtype


fold.grad(lambda xp, dout, *, kernel, stride, dilate: xp.unfold(dout, kernel=kernel, stride=stride, dilate=dilate))


@primitive(moves=True, packed=True, symbol=("_copy",))
def contiguous(xp, data):
    """The data in row-major order; a copy if it is not."""


contiguous.type(lambda data: (data.shape, data.dtype))
contiguous.grad(lambda xp, dout: dout)


@primitive()
def full(xp, *, shape: Shape, value: Static, dtype: DType):
    """An array filled with a value."""


full.type(lambda *, shape, value, dtype: (shape, dtype))


@primitive()
def iota(xp, *, size: int, dtype: DType):
    """0, 1, …, size - 1."""


iota.type(lambda *, size, dtype: ((size,), dtype))
