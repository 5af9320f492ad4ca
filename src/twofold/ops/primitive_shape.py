"""Primitives that rearrange elements: reshape, transpose, broadcast, slice, join, pad, windows. Their gradients are their transposes."""

import builtins
import math

from ..dtype import NUMPY, promote
from ..errors import ShapeError
from ..opdef import DType, Integers, Shape, Static, broadcast_shapes, filled_shape, normalized_axis, primitive, sliced_shape, window_size
from ..opdef.declare import build

Triples = Integers
FULL = (None, None, None)


@primitive(view=True, moves=True, keeps_order=True, symbol=("Reshape",))
def reshape(xp, data, *, shape: Shape):
    """The same elements, in row-major order, in another shape; one size may be -1."""


@reshape.type
def _(data, *, shape):
    size = 1
    for n in data.shape:
        size *= n
    return filled_shape(shape, size), data.dtype


@reshape.rows
def _(xp, row_form, node):
    (data,) = node.operands
    # rows stay rows if their number does not change: their content is reshaped like the result
    return row_form(data) if data.shape[:1] == node.shape[:1] else None


reshape.batched(lambda xp, size, flags, data, *, shape: xp.reshape(data, shape=(size, *shape)))
reshape.apart(lambda few, flags, data, *, shape: {"shape": (few, *shape[1:])})
reshape.grad(lambda xp, dout, data: xp.reshape(dout, shape=data.shape))


def _unchanged(xp, node):
    """The operand that a primitive returns unchanged, or the constant array that it makes."""
    (data,) = node.operands
    if xp.same_type(data, node):
        return data
    fill = xp.fill_of(data)
    return None if fill is None else xp.full(shape=node.shape, value=fill, dtype=node.dtype)


@reshape.simplify
def _(xp, node):
    (data,) = node.operands
    return xp.simplified(xp.reshape(data.operands[0], shape=node.shape)) if xp.applies(data, reshape) else _unchanged(xp, node)


reshape.channels_last(lambda last, data, *, shape: {"shape": last(shape)} if data.shape[:2] == shape[:2] and len(data.shape) > 2 else None)
reshape.strides(lambda view, *, shape: view.reshaped(shape))
reshape.put_back(lambda whole, *, shape: reshape.bind(shape=whole))


@reshape.cases
def _(make):
    for shape, target in (((2, 6), (3, -1)), ((), (1, 1)), ((0, 3), (3, 0)), ((4,), (2, 2)), ((1,), ())):
        yield make(make.distinct(shape), shape=target, want=lambda x, shape: x.reshape(shape))


@primitive(view=True, moves=True, permutes=True, symbol=("transpose",))
def permute_dims(xp, data, *, axes: Shape):
    """Permutes the axes."""


@permute_dims.type
def _(data, *, axes):
    if sorted(a % len(axes) if axes else a for a in axes) != list(range(len(data.shape))):
        raise ShapeError("transpose: the axes are not a permutation", f"axes {axes} of shape {data.shape}", "name each axis once")
    return tuple(data.shape[a] for a in axes), data.dtype


def _inverse(axes):
    """The permutation that undoes one."""
    back = [0] * len(axes)
    for k, a in enumerate(axes):
        back[a % len(axes)] = k
    return tuple(back)


permute_dims.batched(lambda xp, size, flags, data, *, axes: xp.permute_dims(data, axes=(0, *[a % len(axes) + 1 for a in axes])))
permute_dims.grad(lambda xp, dout, *, axes: xp.permute_dims(dout, axes=_inverse(axes)))


@permute_dims.simplify
def _(xp, node):
    (data,), axes = node.operands, node.bound_op.params["axes"]
    if axes == tuple(range(len(axes))):
        return data
    if xp.applies(data, permute_dims):
        inner = data.bound_op.params["axes"]
        return xp.simplified(xp.permute_dims(data.operands[0], axes=tuple(inner[k] for k in axes)))
    return None


permute_dims.strides(lambda view, *, axes: view.permuted(axes))
permute_dims.put_back(lambda whole, *, axes: permute_dims.bind(axes=_inverse(axes)))


@permute_dims.cases
def _(make):
    for shape, axes in (((2, 3, 4), (2, 0, 1)), ((2, 3), (-1, 0)), ((), ()), ((0, 2), (1, 0))):
        yield make(make.distinct(shape), axes=axes, want=lambda x, axes: x.transpose(axes))


@primitive(view=True, moves=True, symbol=("broadcast_to",), reference=lambda np, data, *, shape: np.broadcast_to(data, shape))
def broadcast_to(xp, data, *, shape: Shape):
    """Broadcasts along axes of size 1 and new leading axes, without a copy."""


@broadcast_to.type
def _(data, *, shape):
    if broadcast_shapes("broadcast_to", [data.shape, shape]) != shape:
        raise ShapeError("broadcast_to: cannot broadcast to this shape", f"{data.shape} to {shape}", "only axes of size 1 can be broadcast")
    return shape, data.dtype


@broadcast_to.batched
def _(xp, size, flags, data, *, shape):
    example = data.shape[1:]
    wide = xp.reshape(data, shape=(size, *[1] * (len(shape) - len(example)), *example))
    return xp.broadcast_to(wide, shape=(size, *shape))


@broadcast_to.grad
def _(xp, dout):
    return dout  # the gradient pass reduces it to the input's shape, as for every broadcast


@broadcast_to.rows
def _(xp, row_form, node):
    (data,) = node.operands
    # broadcast along the first axis, one row would become many
    form = row_form(data) if data.shape[:1] == node.shape[:1] and len(data.shape) == len(node.shape) else None
    if form is None or any(kind == "csr" for kind, _ in form):
        return None
    return [(kind, (xp.broadcast_to(rows, shape=(*at[-1].shape, *node.shape[1:])), *at)) for kind, (rows, *at) in form]


broadcast_to.simplify(_unchanged)
broadcast_to.channels_last(lambda last, data, *, shape: {"shape": last(shape)})
broadcast_to.strides(lambda view, *, shape: view.broadcast(shape))


@broadcast_to.cases
def _(make):
    for shape, target in (((3, 1), (2, 3, 4)), ((), (2,)), ((2, 2), (2, 2)), ((1,), (0,))):
        yield make(make.distinct(shape), shape=target, want=make.np.broadcast_to)


def _bounds(key):
    """Begins, ends and steps of a slice."""
    return {name: tuple(triple[k] for triple in key) for k, name in enumerate(("begin", "end", "step"))}


def _index(*, key):
    """The key of Python's indexing."""
    # an empty key would turn a 0-d array into a scalar; the ellipsis gives a view
    return tuple([builtins.slice(*triple) for triple in key]) or ...


@primitive(view=True, moves=True, selects=_index, symbol=("slice",), symbol_params=_bounds)
def slice(xp, data, *, key: Triples):
    """``data[begin:end:step, …]``: one (begin, end, step) triple per axis, as in a Python slice."""


slice.batched(lambda xp, size, flags, data, *, key: xp.slice(data, key=(FULL, *key)))
slice.type(lambda data, *, key: (sliced_shape(data.shape, key), data.dtype))


@slice.grad
def _(xp, dout, data, *, key):
    if all(triple == (0, n, 1) for triple, n in zip(key, data.shape, strict=True)):
        return dout  # a view of the whole, for recomputation
    # the transpose of a slice is an assignment into zeros
    return xp.slice_update(xp.full(shape=data.shape, value=0, dtype=dout.dtype), dout, key=key)


@slice.simplify
def _(xp, node):
    # it selects everything in order; but a view that a pass made for recomputation must stay a separate node
    (data,) = node.operands
    is_all = xp.same_type(data, node) and all(step in (None, 1) for _, _, step in node.bound_op.params["key"])
    return data if is_all and not xp.is_distinct_view(node) else None


slice.channels_last(lambda last, data, *, key: {"key": last(key)})
slice.strides(lambda view, *, key: view.sliced([builtins.slice(*triple) for triple in key]))
# a write to a reshaped or transposed view is transformed back to the whole array; a write to a slice replaces its elements
slice.put_back(lambda whole, *, key: slice_update.bind(key=key))


@slice.cases
def _(make):
    def want(x, key):
        return x[_index(key=key)]

    for key in ((FULL, (1, 5, 2)), ((None, None, -1), (4, 0, -2)), ((-3, None, None), (10, 20, None)), ((2, 2, None), (None, -7, -1))):
        yield make(make.distinct((5, 6)), key=key, want=want)
    yield make(make.distinct(()), key=(), want=want)
    for dtype in ("bool", "int8", "float16", "bfloat16"):
        yield make(make.numbers((3, 4), dtype), key=((1, None, None), (None, None, -2)), want=want)


@primitive(complex_gradient=True, linear="joint")
def slice_update(xp, data, value, *, key: Triples):
    """``data`` with the elements of a slice replaced by ``value``, which is broadcast."""


@slice_update.type
def _(data, value, *, key):
    target = sliced_shape(data.shape, key)
    if broadcast_shapes("item assignment", [target, value.shape]) != target:
        given = f"{value.shape} into {target}"
        raise ShapeError("item assignment: the value does not broadcast", given, "pass a value that broadcasts to the slice")
    return data.shape, data.dtype


@slice_update.batched
def _(xp, size, flags, data, value, *, key):
    data = data if flags[0] else xp.broadcast_to(data, shape=(size, *data.shape))
    if flags[1]:
        value = xp.reshape(value, shape=(size, *[1] * (len(data.shape) - len(value.shape)), *value.shape[1:]))
    return xp.slice_update(data, value, key=(FULL, *key))


@slice_update.grad
def _(xp, dout, *, key):
    part = xp.slice(dout, key=key)
    # overwritten elements have no influence; the value has the gradient of its slice
    return xp.slice_update(dout, 0, key=key), part


def _slice_add(xp, data, value, *, key: Triples):
    """``data`` with ``value`` added to a slice: sums the gradients of several slices without an array of zeros for each."""
    return xp.slice_update(data, xp.slice(data, key=key) + value, key=key)


slice_add = build(_slice_add, (), (), {"complex_gradient": True})
slice_add.grad(lambda xp, dout, *, key: (dout, xp.slice(dout, key=key)))


@slice_update.cases
def _(make):
    def want(x, value, key):
        out = x.copy()
        out[_index(key=key)] = value
        return out

    key = (FULL, (3, None, -2))
    for value in (make.distinct((5, 2)) + 100, make.numbers((), "float32"), make.distinct((5, 1))):
        yield make(make.distinct((5, 4)), value, key=key, want=want)
    yield make(make.numbers((3,), "int32"), make.numbers((), "int32"), key=((5, 9, None),), want=want)


@primitive(complex_gradient=True, symbol=("Concat",), symbol_params=lambda axis: {"dim": axis}, linear="joint")
def concat(xp, *arrays, axis: int):
    """Concatenates arrays along an axis."""


concat.apart(lambda few, flags, *arrays, axis: {} if all(flags) and axis % len(arrays[0].shape) else None)


@concat.type
def _(*arrays, axis):
    first = arrays[0]
    at = normalized_axis(axis, len(first.shape))
    for a in arrays:
        if len(a.shape) != len(first.shape) or any(n != m for k, (n, m) in enumerate(zip(a.shape, first.shape, strict=True)) if k != at):
            given = ", ".join(str(x.shape) for x in arrays)
            raise ShapeError("concat: shapes differ in other axes", given, f"make all axes but {axis} equal")
    dtype = first.dtype if all(a.dtype == first.dtype for a in arrays) else promote(*[a.dtype for a in arrays])
    return (*first.shape[:at], sum(a.shape[at] for a in arrays), *first.shape[at + 1 :]), dtype


@concat.batched
def _(xp, size, flags, *arrays, axis):
    whole = [a if f else xp.broadcast_to(a, shape=(size, *a.shape)) for a, f in zip(arrays, flags, strict=True)]
    return xp.concat(*whole, axis=axis % (len(whole[0].shape) - 1) + 1)


@concat.grad
def _(xp, dout, arrays, *, axis):
    grads, start = [], 0
    for a in arrays:
        stop = start + a.shape[axis]
        grads.append(xp.take_slice(dout, start, stop, axis))
        start = stop
    return tuple(grads)


@concat.logarithm
def _(xp, node):
    parts = [xp.log_of(x) for x in node.operands]
    return None if None in parts else xp.concat(*parts, **node.bound_op.params)


@concat.channels_last
def _(last, *arrays, axis):
    ndim = len(arrays[0].shape)
    return {"axis": last(range(ndim)).index(axis % ndim)}


@concat.cases
def _(make):
    def want(*arrays, axis):
        return make.np.concatenate(arrays, axis)

    for axis, shapes in ((0, [(1, 2), (3, 2)]), (-1, [(2, 1), (2, 0), (2, 2)]), (1, [(2, 3)])):
        yield make(*[make.distinct(s) + k for k, s in enumerate(shapes)], axis=axis, want=want)
    yield make(make.numbers((2,), "int32"), make.numbers((3,), "float32"), axis=0, want=want)


@primitive(complex_gradient=True)
def pad(xp, data, *, width: Triples, value: float = 0.0):
    """``data`` padded with a constant, by ``(before, after)`` elements along each axis."""


pad.type(lambda data, *, width, value: (tuple(n + a + b for n, (a, b) in zip(data.shape, width, strict=True)), data.dtype))
pad.batched(lambda xp, size, flags, data, *, width, value: xp.pad(data, width=((0, 0), *width), value=value))
pad.grad(lambda xp, dout, data, *, width: xp.slice(dout, key=tuple((a, a + n, None) for n, (a, _) in zip(data.shape, width, strict=True))))
pad.channels_last(lambda last, data, *, width, value: {"width": last(width)})


@pad.cases
def _(make):
    def want(x, width, value):
        return make.np.pad(x, width, constant_values=value)

    yield make(make.distinct((2, 3)), width=((1, 0), (0, 2)), value=-1.5, want=want)
    yield make(make.distinct((2, 3), "int32"), width=((0, 0), (2, 1)), value=7, want=want)
    yield make(make.distinct((0, 2)), width=((1, 1), (0, 0)), value=0.0, want=want)


@primitive(view=True, complex_gradient=True, linear="joint", batch="leading")
def unfold(xp, data, *, kernel: Shape, stride: Shape, dilate: Shape):
    """Windows over the trailing axes: (…, d1…dk) to (…, o1…ok, kernel1…kernelk), without a copy."""


def _unfolded(shape, kernel, stride, dilate):
    n = len(kernel)
    lead, tail = shape[: len(shape) - n], shape[len(shape) - n :]
    out = tuple(window_size(*w) for w in zip(tail, kernel, stride, dilate, strict=True))
    if min(out, default=1) < 1:
        raise ShapeError("the kernel is larger than the padded input", f"kernel {kernel}, dilate {dilate}, input {tail}", "pad the input")
    return (*lead, *out, *kernel)


unfold.type(lambda data, *, kernel, stride, dilate: (_unfolded(data.shape, kernel, stride, dilate), data.dtype))


@unfold.grad
def _(xp, dout, data, *, kernel, stride, dilate):
    return xp.fold(dout, size=data.shape[len(data.shape) - len(kernel) :], kernel=kernel, stride=stride, dilate=dilate)


unfold.strides(lambda view, *, kernel, stride, dilate: view.windows(_unfolded(view.shape, kernel, stride, dilate), stride, dilate))


#: Parameters of windows along one axis and along two.
_LINE = {"kernel": (3,), "stride": (2,), "dilate": (2,)}
_PLANE = {"kernel": (2, 3), "stride": (1, 2), "dilate": (2, 1)}


@unfold.cases
def _(make):
    def want(x, **params):
        return make.windows(x, **params)

    yield make(make.distinct((2, 9)), **_LINE, want=want)
    yield make(make.distinct((1, 2, 5, 6)), **_PLANE, want=want)


@primitive(complex_gradient=True, linear="joint", batch="leading")
def fold(xp, data, *, size: Shape, kernel: Shape, stride: Shape, dilate: Shape):
    """The transpose of `unfold`: windows summed where they overlap, into trailing axes of ``size``."""


fold.type(lambda data, *, size, kernel, stride, dilate: ((*data.shape[: len(data.shape) - 2 * len(kernel)], *size), data.dtype))
fold.grad(lambda xp, dout, *, kernel, stride, dilate: xp.unfold(dout, kernel=kernel, stride=stride, dilate=dilate))


@fold.cases
def _(make):
    def want(x, size, kernel, stride, dilate):
        n = len(kernel)
        out = make.np.zeros((*x.shape[: x.ndim - 2 * n], *size), x.dtype)
        for place in make.np.ndindex(*x.shape[x.ndim - 2 * n :]):
            at = tuple(o * s + k * d for o, k, s, d in zip(place[:n], place[n:], stride, dilate, strict=True))
            out[(..., *at)] += x[(..., *place)]
        return out

    yield make(make.distinct((2, 3, 3)), size=(9,), **_LINE, want=want)
    yield make(make.distinct((1, 2, 3, 2, 2, 3)), size=(5, 6), **_PLANE, want=want)
    yield make(make.distinct((2, 2, 3), "int32"), size=(8,), **_LINE, want=want)


@primitive(moves=True, packed=True, symbol=("_copy",), batch="leading")
def contiguous(xp, data):
    """The data in row-major order; a copy if it is not."""


contiguous.type(lambda data: (data.shape, data.dtype))
contiguous.grad(lambda xp, dout: dout)
contiguous.simplify(lambda xp, node: None if xp.may_be_strided(node.operands[0]) else node.operands[0])
contiguous.channels_last(lambda last, data: {})


@contiguous.cases
def _(make):
    for shape in ((2, 3), ()):
        yield make(make.distinct(shape), want=make.np.copy)


@primitive()
def full(xp, *, shape: Shape, value: Static, dtype: DType):
    """An array filled with a value."""


full.type(lambda *, shape, value, dtype: (shape, dtype))


@full.cases
def _(make):
    def want(shape, value, dtype):
        return make.np.full(shape, value, make.kind(dtype))

    for dtype in ("float32", "int64", "bool", "float16"):
        for shape in ((2, 0, 3), (2, 2)):
            yield make(shape=shape, value=1, dtype=dtype, want=want)
    yield make(shape=(), value=math.inf, dtype="float64", want=want)


@primitive(host_only=True, reference=lambda np, *, size, dtype: np.arange(size).astype(NUMPY[dtype]))
def iota(xp, *, size: int, dtype: DType):
    """0, 1, …, size - 1."""


iota.type(lambda *, size, dtype: ((size,), dtype))


@iota.cases
def _(make):
    for size, dtype in ((2, "float32"), (2, "int64"), (2, "bool"), (2, "float16"), (0, "int64")):
        yield make(size=size, dtype=dtype, want=lambda size, dtype: make.np.arange(size).astype(make.kind(dtype)))
