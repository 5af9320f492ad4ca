"""im2col and col2im: the windows of an image as columns of a matrix, and the transpose, which adds columns up to an image."""

import math

from ..errors import ShapeError
from ..opdef import Shape, op, window_size
from .windows import padded, per_axis


def _windows(name, ndim, size, kernel, stride, dilate, pad):
    """(kernel, stride, dilate, pad, number of windows), each with one value per spatial axis."""
    given = per_axis(name, ndim, kernel=kernel, stride=stride, dilate=dilate, pad=pad)
    numbers = tuple(window_size(n, k, s, d, p, p) for n, k, s, d, p in zip(size, *given, strict=True))
    if not kernel or min(numbers, default=0) < 1:
        raise ShapeError(f"{name}: the kernel is larger than the padded image", f"kernel {kernel} for {size}", "pass a smaller kernel")
    return *given, numbers


def _places(kernel):
    """The positions in a kernel, in row-major order."""
    return [tuple(k // math.prod(kernel[a + 1 :]) % n for a, n in enumerate(kernel)) for k in range(math.prod(kernel))]


@op("im2col", real=True)
def im2col(xp, data, *, kernel: Shape, stride: Shape = (), dilate: Shape = (), pad: Shape = ()):
    """The windows of images (n, c, d…) as columns: (n, c · kernel elements, number of windows).

    A convolution is the product of its weight, a row for each filter, with these columns. The windows are those of `Convolution`.
    """
    kernel, stride, dilate, pad, numbers = _windows("im2col", len(data.shape), data.shape[2:], kernel, stride, dilate, pad)
    whole, x = (None, None, None), padded(xp, data, pad, pad)
    parts = []
    # one strided slice for each element of the kernel: a few large copies, instead of many small ones in a loop over windows
    for place in _places(kernel):
        start = [k * d for k, d in zip(place, dilate, strict=True)]
        key = tuple((a, a + (m - 1) * s + 1, s) for a, m, s in zip(start, numbers, stride, strict=True))
        parts.append(xp.slice(x, key=(whole, whole, *key)))
    return xp.reshape(xp.stack(parts, 2), shape=(*data.shape[:1], data.shape[1] * math.prod(kernel), math.prod(numbers)))


@im2col.sample
def _(draw):
    image = draw.real((2, 2, 4, 5))
    return [
        draw(image, kernel=(3, 2), stride=(2, 1), pad=(1, 1)),
        draw(image, kernel=(2, 2), dilate=(2, 3)),
        draw(draw.real((2, 2, 6)), kernel=(3,)),
    ]


@op("col2im", real=True)
def col2im(xp, data, *, output_size: Shape, kernel: Shape, stride: Shape = (), dilate: Shape = (), pad: Shape = ()):
    """Columns (n, c · kernel elements, number of windows) added up to images (n, c, *output_size): the transpose of `im2col`."""
    size = tuple(output_size)
    kernel, stride, dilate, pad, numbers = _windows("col2im", len(size) + 2, size, kernel, stride, dilate, pad)
    count = math.prod(kernel)
    if len(data.shape) != 3 or data.shape[1] % count or data.shape[2] != math.prod(numbers):
        todo = f"pass columns (n, c * {count}, {math.prod(numbers)})"
        raise ShapeError("col2im: the columns do not match the windows", f"{data.shape} for kernel {kernel}, image {size}", todo)
    n, c = data.shape[0], data.shape[1] // count
    columns = xp.reshape(data, shape=(n, c, count, *numbers))
    total = None
    for k, place in enumerate(_places(kernel)):
        part = xp.reshape(xp.take_slice(columns, k, k + 1, 2), shape=(n, c, *numbers))
        for axis, facts in enumerate(zip(place, dilate, stride, numbers, size, pad, strict=True), 2):
            # the tap's elements are put at their places in the padded image, so that images of all taps can be added
            part = _spread(xp, part, axis, *facts)
        total = part if total is None else total + part
    inside = tuple((p, p + s, None) for p, s in zip(pad, size, strict=True))
    return xp.slice(total, key=((None, None, None), (None, None, None), *inside)) if any(pad) else total


def _spread(xp, part, axis, at, dilate, stride, number, size, pad):
    """Elements of windows, put at their places along an axis of the padded image: from ``at * dilate`` on, one each ``stride``."""
    if stride > 1:
        # `stride` - 1 zeros after each element, by padding an axis of size 1; the zeros after the last element are cut off
        apart = xp.pad(
            xp.expand_dims(part, axis + 1), width=tuple((0, stride - 1 if k == axis + 1 else 0) for k in range(len(part.shape) + 1))
        )
        joined = xp.reshape(apart, shape=(*part.shape[:axis], number * stride, *part.shape[axis + 1 :]))
        part = xp.take_slice(joined, 0, (number - 1) * stride + 1, axis)
    before = at * dilate
    after = size + 2 * pad - before - part.shape[axis]
    return xp.pad(part, width=tuple((before, after) if k == axis else (0, 0) for k in range(len(part.shape))))


col2im.sample(lambda draw: draw(draw.real((2, 12, 12)), output_size=(4, 5), kernel=(3, 2), stride=(2, 1), pad=(1, 1)))
col2im.sample(lambda draw: draw(draw.real((2, 4, 5)), output_size=(6,), kernel=(2,)))
