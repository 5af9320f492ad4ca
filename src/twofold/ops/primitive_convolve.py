"""The three primitives of convolution: the convolution, and its transposes with respect to the data and the weight.

Each is linear in both operands, and the gradients of each are the two others. So derivatives of any order consist of these three, for
which a backend may use any algorithm.

With ``channels_last`` data and results are (n, d…, c) and (n, o…, f); the weight's layout does not change.
"""

import math

from ..dtype import promote
from ..errors import ShapeError
from ..opdef import Shape, primitive, window_size


@primitive(images=(0,), linear="each")
def convolve(xp, data, weight, *, stride: Shape, dilate: Shape, pad: Shape, groups: int, channels_last: bool = False):
    """Cross-correlation of data (n, c, d…) with a weight (f, c / groups, kernel…): (n, f, o…); ``pad`` zeros on both sides."""


@primitive(differentiable=False)
def convolve_packed(xp, data, weight, *, shape: Shape, stride: Shape, dilate: Shape, pad: Shape, groups: int):
    """`convolve` with a weight of some shape in panels (`packed_weight`), for backends that read it like that."""


convolve_packed.type(lambda data, weight, *, shape, **params: (convolved_shape(data.shape, shape, **params), _common(data, weight)))
convolve_packed.cost(lambda result, data, weight: result.size * weight.size // max(result.shape[1], 1))


convolve.type(lambda data, weight, **params: (convolved_shape(data.shape, weight.shape, **params), _common(data, weight)))
convolve.cost(lambda result, data, weight: multiplications(result, weight))


for _primitive in (convolve, convolve_packed):
    _primitive.apart(lambda few, flags, data, weight, **params: {} if flags == [True, False] else None)


def packed_weight(xp, weight, groups, width):
    """A weight (f, c / groups, kernel…) in panels (groups * panels, elements of a filter, width).

    A panel has filters side by side: all of them have one element there, then the next. The last one of a group is filled up with zeros.
    """
    filters, elements = weight.shape[0] // groups, math.prod(weight.shape[1:])
    panels = -(-filters // width)
    rows = xp.reshape(weight, shape=(groups, filters, elements))
    if filters % width:  # else no copy is needed
        rows = xp.pad(rows, width=((0, 0), (0, panels * width - filters), (0, 0)))
    rows = xp.reshape(rows, shape=(groups * panels, width, elements))
    return xp.contiguous(xp.permute_dims(rows, axes=(0, 2, 1)))


def _merged(x, axis):
    """A shape with the batch, its first axis, merged into another one."""
    rest = x.shape[1:]
    return (*rest[:axis], x.shape[0] * rest[axis], *rest[axis + 1 :])


def batch_of_products(name, of_weights):
    """The rule of a convolution. Images of a batch are further images; weights of a batch are groups of their own.

    Parameters
    ----------
    name
        The primitive: a form of (images, weights or images).
    of_weights
        Whether the second operand is a weight, rather than images whose products with the first make one.
    """

    def rule(xp, count, flags, first, second, /, *, groups, channels_last, **params):
        if channels_last:
            return None
        form = getattr(xp, name)
        if of_weights and not flags[1]:
            found = form(xp.reshape(first, shape=_merged(first, 0)), second, groups=groups, channels_last=False, **params)
            return xp.reshape(found, shape=(count, found.shape[0] // count, *found.shape[1:]))
        # the channels of all examples side by side, each in its own groups
        first, second = (x if f else xp.broadcast_to(x, shape=(count, *x.shape)) for x, f in zip((first, second), flags, strict=True))
        first = xp.moveaxis(first, 0, 1)
        first = xp.reshape(first, shape=(first.shape[0], count * first.shape[2], *first.shape[3:]))
        second = second if of_weights else xp.moveaxis(second, 0, 1)
        at = 0 if of_weights else 1
        rest = second.shape[2:] if of_weights else second.shape[3:]
        second = xp.reshape(second, shape=(*second.shape[:at], count * second.shape[at + 1], *rest))
        found = form(first, second, groups=count * groups, channels_last=False, **params)
        if not of_weights:
            return xp.reshape(found, shape=(count, found.shape[0] // count, *found.shape[1:]))
        found = xp.reshape(found, shape=(found.shape[0], count, found.shape[1] // count, *found.shape[2:]))
        return xp.moveaxis(found, 1, 0)

    return rule


convolve.batched(batch_of_products("convolve", True))


@convolve.grad
def _(xp, dout, data, weight, **params):
    return (
        xp.convolve_data(dout, weight, size=_image(data.shape, params["channels_last"])[2], **params),
        xp.convolve_weight(data, dout, kernel=weight.shape[2:], **params),
    )


@primitive(images=(0,), linear="each")
def convolve_data(xp, result, weight, *, size: Shape, stride: Shape, dilate: Shape, pad: Shape, groups: int, channels_last: bool = False):
    """The transpose of `convolve` with respect to the data: result (n, f, o…), weight (f, c / groups, kernel…), to (n, c, *size)."""


@convolve_data.type
def _(result, weight, *, size, stride, dilate, pad, groups, channels_last):
    n, f, given = _image(result.shape, channels_last)
    _check_windows((f, given), weight.shape[0], _windows(size, weight.shape[2:], stride, dilate, pad))
    return _shape(n, weight.shape[1] * groups, size, channels_last), _common(result, weight)


convolve_data.batched(batch_of_products("convolve_data", True))
convolve_data.cost(lambda data, result, weight: multiplications(result, weight))


# the three primitives are bilinear forms of the same sum, so each gradient is one of the two others
@convolve_data.grad
def _(xp, dout, result, weight, *, size, **params):
    return xp.convolve(dout, weight, **params), xp.convolve_weight(dout, result, kernel=weight.shape[2:], **params)


@primitive(images=(0, 1), gives_image=False, linear="each")
def convolve_weight(xp, data, result, *, kernel: Shape, stride: Shape, dilate: Shape, pad: Shape, groups: int, channels_last: bool = False):
    """The transpose of `convolve` with respect to the weight: data (n, c, d…), result (n, f, o…), to (f, c / groups, *kernel)."""


@convolve_weight.type
def _(data, result, *, kernel, stride, dilate, pad, groups, channels_last):
    (_, c, size), (_, f, given) = _image(data.shape, channels_last), _image(result.shape, channels_last)
    _check_windows((f, given), f, _windows(size, kernel, stride, dilate, pad))
    return (f, c // groups, *kernel), _common(data, result)


convolve_weight.batched(batch_of_products("convolve_weight", False))
convolve_weight.cost(lambda weight, data, result: multiplications(data, weight))


@convolve_weight.grad
def _(xp, dout, data, result, *, kernel, **params):
    return xp.convolve_data(result, dout, size=_image(data.shape, params["channels_last"])[2], **params), xp.convolve(data, dout, **params)


def convolved(np, windows, x, w, *, stride, dilate, pad, groups):
    """The convolution by its definition: products of windows with filters."""
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in pad]])
    cut = windows(x, w.shape[2:], stride, dilate)
    k, per = len(pad), len(w) // groups
    axes = ([1, *range(2 + k, 2 + 2 * k)], [1, *range(2, 2 + k)])
    parts = zip(np.split(cut, groups, 1), np.split(w, groups, 0) if per else [w] * groups, strict=True)
    return np.concatenate([np.moveaxis(np.tensordot(a, b, axes), -1, 1) for a, b in parts], 1).astype(np.result_type(x, w))


def _transposed(np, apply, shape, result, dtype):
    """The transpose of a linear function applied to an array, computed from unit arrays by definition."""
    out = np.zeros(shape, dtype)
    for at in np.ndindex(*shape):
        unit = np.zeros(shape, result.dtype)
        unit[at] = 1
        out[at] = (apply(unit) * result).sum()
    return out


def _samples(make):
    """Data, weights and parameters of convolutions."""
    line = {"stride": (2,), "dilate": (2,), "pad": (1,), "groups": 1}
    plane = {"stride": (1, 2), "dilate": (1, 1), "pad": (1, 0), "groups": 2}
    dense = {"stride": (1, 1), "dilate": (1, 1), "pad": (1, 1), "groups": 1}
    for data, weight, params, dtype in (
        ((2, 2, 7), (3, 2, 3), line, "float64"),
        ((1, 4, 4, 5), (2, 2, 3, 2), plane, "float32"),
        ((1, 2, 3, 4), (2, 2, 3, 3), dense, "float32"),
        ((1, 2, 3, 4), (2, 2, 1, 1), dense | {"pad": (0, 0)}, "int32"),
        ((0, 2, 3, 4), (2, 2, 3, 3), dense, "float32"),
    ):
        x, w = make.numbers(data, dtype), make.numbers(weight, dtype)
        yield x, w, make.numbers(convolved(make.np, make.windows, x, w, **params).shape, dtype), params


def _in_both_orders(make, images, gives_image, want, operands, params):
    """A case with channels first, and the same with channels last."""
    yield make(*operands, **params, channels_last=False, want=lambda *a, channels_last, **given: want(*a, **given))

    def last(*operands, channels_last, **given):
        found = want(*[make.np.moveaxis(a, -1, 1) if k in images else a for k, a in enumerate(operands)], **given)
        return make.np.moveaxis(found, 1, -1) if gives_image else found

    moved = [make.np.ascontiguousarray(make.np.moveaxis(a, 1, -1)) if k in images else a for k, a in enumerate(operands)]
    yield make(*moved, **params, channels_last=True, want=last)


@convolve.cases
def _(make):
    def want(x, w, **params):
        return convolved(make.np, make.windows, x, w, **params)

    for x, w, _, params in _samples(make):
        yield from _in_both_orders(make, (0,), True, want, (x, w), params)


@convolve_packed.cases
def _(make):
    for x, w, _, params in _samples(make):
        for width in (1, 2, 3):
            rows = w.reshape(params["groups"], -1, w[0].size)
            rows = make.np.pad(rows, [(0, 0), (0, -rows.shape[1] % width), (0, 0)])
            packed = rows.reshape(-1, width, rows.shape[2]).swapaxes(1, 2).copy()
            want = lambda x, _, *, shape, w=w, **given: convolved(make.np, make.windows, x, w, **given)  # noqa: E731
            yield make(x, packed, **params, shape=w.shape, want=want)


@convolve_data.cases
def _(make):
    def want(y, w, size, groups, **params):
        def forward(x):
            return convolved(make.np, make.windows, x, w, groups=groups, **params)

        return _transposed(make.np, forward, (len(y), w.shape[1] * groups, *size), y, make.np.result_type(y, w))

    for x, w, y, params in _samples(make):
        yield from _in_both_orders(make, (0,), True, want, (y, w), params | {"size": x.shape[2:]})


@convolve_weight.cases
def _(make):
    def want(x, y, kernel, groups, **params):
        def forward(w):
            return convolved(make.np, make.windows, x, w, groups=groups, **params)

        return _transposed(make.np, forward, (y.shape[1], x.shape[1] // groups, *kernel), y, make.np.result_type(x, y))

    for x, w, y, params in _samples(make):
        yield from _in_both_orders(make, (0, 1), False, want, (x, y), params | {"kernel": w.shape[2:]})


for _op in (convolve, convolve_data, convolve_weight):
    _op.channels_last(lambda last, *operands, channels_last, **params: None if channels_last else {"channels_last": True})


def convolved_shape(data, weight, *, stride, dilate, pad, groups, channels_last=False):
    """The shape of a convolution's result, from those of the operands."""
    n, c, size = _image(data, channels_last)
    _check_channels(c, weight, groups)
    return _shape(n, weight[0], _windows(size, weight[2:], stride, dilate, pad), channels_last)


def multiplications(result, weight):
    """The multiplications of a convolution: one per element of the result and element of a filter."""
    return result.size * weight.size // max(weight.shape[0], 1)


def _image(shape, channels_last):
    """(n, channels, sizes) of images in either layout."""
    return (shape[0], shape[-1], shape[1:-1]) if channels_last else (shape[0], shape[1], shape[2:])


def _shape(n, channels, sizes, channels_last):
    """The inverse of `_image`."""
    return (n, *sizes, channels) if channels_last else (n, channels, *sizes)


def _common(a, b):
    return a.dtype if a.dtype == b.dtype else promote(a.dtype, b.dtype)


def _windows(size, kernel, stride, dilate, pad):
    """The number of windows along each axis."""
    out = tuple(window_size(n, k, s, d, p, p) for n, k, s, d, p in zip(size, kernel, stride, dilate, pad, strict=True))
    if min(out, default=1) < 1:
        raise ShapeError(
            "the kernel is larger than the padded input",
            f"kernel {kernel}, dilate {dilate}, input {size} padded by {pad} on both sides",
            "pad the input",
        )
    return out


def _check_channels(channels, weight, groups):
    if weight[1] * groups != channels or weight[0] % groups:
        given = f"weight {weight} for {channels} channels in {groups} groups"
        raise ShapeError(
            "convolve: the weight has the wrong shape", given, "pass one of (f, channels / groups, kernel…), groups dividing f"
        )


def _check_windows(result, filters, out):
    if result != (filters, out):
        given = f"{result[0]} filters and sizes {result[1]} for {filters} filters and windows {out}"
        raise ShapeError("convolve: the result's shape does not match the operands of the transpose", given, "pass (n, filters, windows…)")


# convolution and correlation of vectors, which are each other's gradients


@primitive(
    reference=lambda np, a, v: np.convolve(a, v),
    floats=("float32", "float64", "complex64", "complex128"),
    complex_gradient=True,
    linear="each",
)
def convolve_full(xp, a, v):
    """The discrete convolution Σ a[j] · v[k - j] of vectors (n,) and (m,): (n + m - 1,)."""


# the second vector reversed: NumPy's correlation conjugates it
@primitive(
    reference=lambda np, a, v: np.convolve(a, v[::-1], mode="valid"),
    floats=("float32", "float64", "complex64", "complex128"),
    complex_gradient=True,
    linear="each",
)
def correlate_valid(xp, a, v):
    """The products Σ a[k + j] · v[j] of a vector (m,) with the parts of one that is not shorter (n,): (n - m + 1,)."""


convolve_full.type(lambda a, v: ((a.shape[0] + v.shape[0] - 1,), promote(a.dtype, v.dtype)))
correlate_valid.type(lambda a, v: ((a.shape[0] - v.shape[0] + 1,), promote(a.dtype, v.dtype)))
# with z = a * v: da[j] = Σ dz[j + k] · v[k], which is a correlation; that of a correlation is a convolution
convolve_full.grad(lambda xp, dout, a, v: (xp.correlate_valid(dout, v), xp.correlate_valid(dout, a)))
correlate_valid.grad(lambda xp, dout, a, v: (xp.convolve_full(dout, v), xp.correlate_valid(a, dout)))
convolve_full.sample(lambda draw: draw(draw.real((5,)), draw.real((3,))))
convolve_full.sample(lambda draw: draw(draw.real((1,)), draw.real((4,))))
correlate_valid.sample(lambda draw: draw(draw.real((5,)), draw.real((3,))))
correlate_valid.sample(lambda draw: draw(draw.real((4,)), draw.real((4,))))
