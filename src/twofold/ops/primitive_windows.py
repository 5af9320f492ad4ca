"""The primitives of pooling: maxima and sums of windows over trailing axes, and their transposes.

Each has a definition in terms of slices and element-wise primitives, for targets without code for windows. These reduce windows one axis at
a time, last axis first; the transposes sum slices. The place of a maximum is the first of equal ones in row-major order, which follows from
the order of the axes and from ``>=``.

With ``channels_last`` data are (…, d…, c), and windows are over the axes before the last one.
"""

from functools import partial
from typing import NamedTuple

from ..opdef import Shape, primitive

SINGLE = ("float32", "float64")


class Window(NamedTuple):
    """The windows along an axis of ``size`` elements: ``number`` windows of length ``kernel``; the first begins at ``-before``."""

    axis: int
    size: int
    kernel: int
    stride: int
    before: int
    number: int

    @property
    def after(self) -> int:
        """Elements of padding that are needed at the end."""
        return max(0, (self.number - 1) * self.stride + self.kernel - self.size - self.before)

    @property
    def padded(self) -> int:
        """Elements and padding."""
        return self.before + self.size + self.after


def _windows(x, *, kernel, stride, before, number, channels_last=False, size=None, **_):
    """The windows of data (or, with a size, of results), from the last axis to the first."""
    begin = len(x.shape) - len(kernel) - channels_last
    sizes = x.shape[begin : begin + len(kernel)] if size is None else size
    return [Window(begin + k, *facts) for k, facts in enumerate(zip(sizes, kernel, stride, before, number, strict=True))][::-1]


def _reduced_shape(x, **params):
    """The shape of results for data."""
    shape = list(x.shape)
    for w in _windows(x, **params):
        shape[w.axis] = w.number
    return tuple(shape)


# definitions in terms of other primitives


def _padded(xp, x, windows, value=0.0):
    width = [(0, 0)] * len(x.shape)
    for w in windows:
        width[w.axis] = w.before, w.after
    return xp.pad(x, width=tuple(width), value=value) if any(map(any, width)) else x


def _unpadded(xp, x, windows):
    key = [(None, None, None)] * len(x.shape)
    for w in windows:
        if w.before or w.after:
            key[w.axis] = w.before, w.before + w.size, None
    return xp.slice(x, key=tuple(key)) if any(w.before or w.after for w in windows) else x


def _parts(xp, x, w):
    """Slices along an axis: element 0 of all windows, then element 1, and so on."""
    last = (w.number - 1) * w.stride + 1
    return [xp.take_slice(x, k, k + last, w.axis, w.stride) for k in range(w.kernel)]


def _parts_transposed(xp, parts, w):
    """The transpose of `_parts`: the parts summed into an axis of the padded size.

    Element k = q · stride + r of window i is at (i + q) · stride + r. So parts with the same r are shifted by q and summed, and the sums
    for all r are interleaved.
    """
    s, axis, longest = w.stride, w.axis, w.number + (w.kernel - 1) // w.stride
    # a lane has the elements whose position has the remainder r when divided by the stride
    lanes = []
    for r in range(s):
        shifted = [_shifted(xp, p, axis, q, longest - w.number - q) for q, p in enumerate(parts[r::s])]
        lanes.append(sum(shifted[1:], shifted[0]) if shifted else None)
    # with a stride larger than the kernel some lanes have no parts
    zeros = None if None not in lanes else xp.zeros_like(lanes[0])
    shape = (*parts[0].shape[:axis], longest * s, *parts[0].shape[axis + 1 :])
    whole = lanes[0] if s == 1 else xp.reshape(xp.stack([zeros if lane is None else lane for lane in lanes], axis + 1), shape=shape)
    # elements after the last window have no part in the sums
    if shape[axis] < w.padded:
        return _shifted(xp, whole, axis, 0, w.padded - shape[axis])
    return whole if shape[axis] == w.padded else xp.take_slice(whole, 0, w.padded, axis)


def _shifted(xp, x, axis, before, after):
    if before == after == 0:
        return x
    return xp.pad(x, width=tuple((before, after) if k == axis else (0, 0) for k in range(len(x.shape))))


def _sums(xp, x, **params):
    windows = _windows(x, **params)
    x = _padded(xp, x, windows)
    for w in windows:
        parts = _parts(xp, x, w)
        x = sum(parts[1:], parts[0])
    return x


def _sums_transposed(xp, dout, **params):
    windows = _windows(dout, **params)
    # transposes are applied in the opposite order of the sums
    for w in reversed(windows):
        dout = _parts_transposed(xp, [dout] * w.kernel, w)
    return _unpadded(xp, dout, windows)


def _maxima(xp, x, windows, lowest):
    """For each axis the parts of the windows and their running maxima; the last maximum of the last axis is the result."""
    x = _padded(xp, x, windows, lowest)
    stages = []
    for w in windows:
        parts = _parts(xp, x, w)
        running = [parts[0]]
        for part in parts[1:]:
            running.append(xp.maximum(running[-1], part))
        stages.append((w, parts, running))
        x = running[-1]
    return stages


def largest(xp, x, *, lowest, **params):
    """The definition of ``window_max``."""
    return _maxima(xp, x, _windows(x, **params), lowest)[-1][2][-1]


def largest_transposed(xp, dout, x, *, lowest, **params):
    """The definition of ``window_max_transposed``."""
    windows = _windows(x, **params)
    for w, parts, running in reversed(_maxima(xp, x, windows, lowest)):
        # from the last step of the running maximum to the first: each hands on the gradient or keeps it for its own part
        shares = []
        for part, before in zip(parts[:0:-1], running[-2::-1], strict=True):
            first = xp.greater_equal(before, part)  # >=: of equal elements the earlier one gets the gradient
            # not by a product: zeros times an infinite gradient would be NaN
            shares.append(xp.where(first, 0, dout))
            dout = xp.where(first, dout, 0)
        dout = _parts_transposed(xp, [dout, *reversed(shares)], w)
    return _unpadded(xp, dout, windows)


def _largest_picked(xp, head, x, *, lowest, **params):
    """The elements of an array at the places of the windows' maxima in another: the transpose of ``window_max_transposed``."""
    windows = _windows(x, **params)
    head = _padded(xp, head, windows)
    for w, parts, running in _maxima(xp, x, windows, lowest):
        head, *later = _parts(xp, head, w)
        for part, before, value in zip(parts[1:], running, later, strict=False):
            head = xp.where(xp.greater_equal(before, part), head, value)
    return head


# references


def _np_inner(windows, ndim):
    """The data within padded data."""
    inner = [slice(None)] * ndim
    for w in windows:
        inner[w.axis] = slice(w.before, w.before + w.size)
    return tuple(inner)


def _np_line(w, ndim, k):
    """Element ``k`` of all windows along an axis."""
    return tuple(slice(k, k + (w.number - 1) * w.stride + 1, w.stride) if a == w.axis else slice(None) for a in range(ndim))


def _np_padded(np, x, windows, value):
    shape = list(x.shape)
    for w in windows:
        shape[w.axis] = w.padded
    out = np.full(shape, value, x.dtype)
    out[_np_inner(windows, x.ndim)] = x
    return out


def _np_reduced(reduce, np, x, *, lowest=0.0, **params):
    windows = _windows(x, **params)
    padded = _np_padded(np, x, windows, lowest)
    for w in windows:
        found = padded[_np_line(w, x.ndim, 0)].copy()
        for k in range(1, w.kernel):
            getattr(np, reduce)(found, padded[_np_line(w, x.ndim, k)], out=found)
        padded = found
    return padded


def _np_max_transposed(np, dout, x, *, lowest, **params):
    windows, stages = _windows(x, **params), []
    padded = _np_padded(np, x, windows, lowest)
    for w in windows:
        parts = [padded[_np_line(w, x.ndim, k)] for k in range(w.kernel)]
        running = parts[:1]
        for part in parts[1:]:
            running.append(np.maximum(running[-1], part))
        stages.append((w, padded.shape, parts, running))
        padded = running[-1]
    for w, shape, parts, running in reversed(stages):
        out = np.zeros(shape, x.dtype)
        shares = []
        for part, before in zip(parts[:0:-1], running[-2::-1], strict=True):
            first = before >= part
            shares.append(np.where(first, 0, dout))
            dout = np.where(first, dout, 0)
        for k, share in enumerate([dout, *reversed(shares)]):
            out[_np_line(w, x.ndim, k)] += share
        dout = out
    return dout[_np_inner(windows, x.ndim)]


def _np_sum_transposed(np, dout, **params):
    windows = _windows(dout, **params)
    for w in reversed(windows):
        out = np.zeros([w.padded if k == w.axis else n for k, n in enumerate(dout.shape)], dout.dtype)
        for k in range(w.kernel):
            out[_np_line(w, dout.ndim, k)] += dout
        dout = out
    return dout[_np_inner(windows, dout.ndim)]


def _apart(few, flags, x, *, kernel, channels_last, **_):
    return {} if len(kernel) < len(x.shape) - channels_last else None


# the primitives


@primitive(reference=partial(_np_reduced, "maximum"), host_only=True, floats=SINGLE, batch="leading")
def window_max(xp, x, *, kernel: Shape, stride: Shape, before: Shape, number: Shape, lowest: float, channels_last: bool = False):
    """The maximum of each window: (…, d…) to (…, number…). The first begins ``before`` elements before the data; padding is ``lowest``."""


window_max.type(lambda x, *, lowest, **params: (_reduced_shape(x, **params), x.dtype))
window_max.grad(lambda xp, dout, out, x, **params: xp.window_max_transposed(dout, x, **params))
window_max.apart(_apart)
window_max.definition(largest)


@primitive(reference=partial(_np_reduced, "add"), host_only=True, floats=SINGLE, linear="joint", batch="leading")
def window_sum(xp, x, *, kernel: Shape, stride: Shape, before: Shape, number: Shape, channels_last: bool = False):
    """The sum of each window: (…, d…) to (…, number…). The first begins ``before`` elements before the data."""


window_sum.type(lambda x, **params: (_reduced_shape(x, **params), x.dtype))
window_sum.apart(_apart)
window_sum.definition(_sums)


@window_sum.grad
def _(xp, dout, out, x, **params):
    size = tuple(w.size for w in reversed(_windows(x, **params)))
    return xp.window_sum_transposed(dout, size=size, **params)


@primitive(reference=_np_max_transposed, host_only=True, floats=SINGLE)
def window_max_transposed(
    xp, given, x, *, kernel: Shape, stride: Shape, before: Shape, number: Shape, lowest: float, channels_last: bool = False
):
    """The gradient of `window_max`: what each window is given, added up at the place of its maximum."""


window_max_transposed.type(lambda given, x, **params: (x.shape, x.dtype))
window_max_transposed.grad(lambda xp, dout, out, x, **params: (_largest_picked(xp, dout, x, **params), None))


@window_max_transposed.batched
def _(xp, size, flags, given, x, **params):
    given, x = [a if f else xp.broadcast_to(a, shape=(size, *a.shape)) for a, f in zip((given, x), flags, strict=True)]
    return xp.window_max_transposed(given, x, **params)


window_max_transposed.definition(largest_transposed)


@primitive(reference=_np_sum_transposed, host_only=True, floats=SINGLE, linear="joint", batch="leading")
def window_sum_transposed(
    xp, given, *, size: Shape, kernel: Shape, stride: Shape, before: Shape, number: Shape, channels_last: bool = False
):
    """The transpose of `window_sum`, into axes of ``size``."""


@window_sum_transposed.type
def _(given, *, size, **params):
    shape = list(given.shape)
    for w in _windows(given, size=size, **params):
        shape[w.axis] = w.size
    return tuple(shape), given.dtype


window_sum_transposed.grad(lambda xp, dout, out, given, *, size, **params: xp.window_sum(dout, **params))
window_sum_transposed.definition(_sums_transposed)

#: Parameters of overlapping windows with padding at both ends, and of windows with elements between them, which are in none.
_SAMPLES = (
    {"kernel": (3, 2), "stride": (2, 1), "before": (1, 0), "number": (3, 4)},
    {"kernel": (1, 2), "stride": (2, 3), "before": (0, 1), "number": (2, 2)},
)
_VOLUME = {"kernel": (2, 3, 2), "stride": (1, 1, 2), "before": (0, 1, 0), "number": (2, 4, 2), "channels_last": True}


@window_max.sample
def _(draw):
    image, lowest = draw.real((2, 3, 5, 5), distinct=True), -1e30
    volume = draw(draw.real((2, 3, 4, 4, 2), distinct=True), **_VOLUME, lowest=lowest)
    return [draw(draw.real((2, 9), distinct=True), kernel=(3,), stride=(2,), before=(1,), number=(5,), lowest=lowest), volume] + [
        draw(image, **params, lowest=lowest) for params in _SAMPLES
    ]


@window_sum.sample
def _(draw):
    return [draw(draw.real((2, 3, 4, 4, 2)), **_VOLUME), *[draw(draw.real((2, 3, 5, 5)), **params) for params in _SAMPLES]]


@window_max_transposed.sample
def _(draw):
    image, lowest = draw.real((2, 3, 5, 5), distinct=True), -1e30
    volume = draw(draw.real((2, 2, 4, 2, 2)), draw.real((2, 3, 4, 4, 2), distinct=True), **_VOLUME, lowest=lowest, gradient=False)
    given = [draw(draw.real((2, 3, *p["number"])), image, **p, lowest=lowest, gradient=False) for p in _SAMPLES]
    return [volume, *given]


@window_sum_transposed.sample
def _(draw):
    volume = draw(draw.real((2, 2, 4, 2, 2)), size=(3, 4, 4), **_VOLUME)
    return [volume, *[draw(draw.real((2, 3, *p["number"])), size=(5, 5), **p) for p in _SAMPLES]]


#: The primitives.
WITH_DEFINITIONS = frozenset({window_max, window_sum, window_max_transposed, window_sum_transposed})
for _primitive in WITH_DEFINITIONS:
    _primitive.channels_last(lambda last, *arrays, channels_last, **params: None if channels_last else {"channels_last": True})
