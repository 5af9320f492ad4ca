"""Fourier transforms of rows, with real and imaginary parts interleaved, and count sketches: the two halves of compact bilinear pooling.

Source: Gao et al., "Compact bilinear pooling", CVPR 2016.
"""

from ..errors import ShapeError
from ..opdef import Index, op, primitive


def _interleaved(np, data):
    spectrum = np.fft.fft(data)
    pairs = np.stack((np.real(spectrum), np.imag(spectrum)), axis=-1)
    return np.reshape(pairs, (*data.shape[:-1], 2 * data.shape[-1])).astype(data.dtype)


def _unscaled_inverse(np, data):
    size = data.shape[-1] // 2
    pairs = np.reshape(data, (*data.shape[:-1], size, 2))
    # Σ a · cos - b · sin, from transforms of real numbers, which give Σ a · cos and -Σ b · sin
    return (np.real(np.fft.fft(pairs[..., 0])) + np.imag(np.fft.fft(pairs[..., 1]))).astype(data.dtype)


@primitive(reference=_interleaved, floats=("float32", "float64"), linear="joint", batch="leading")
def fourier_pairs(xp, data):
    """The discrete Fourier transform of each row of real numbers (…, d), as (…, 2 · d): real part, imaginary part of each frequency."""


@primitive(reference=_unscaled_inverse, floats=("float32", "float64"), linear="joint", batch="leading")
def fourier_sums(xp, data):
    """The real part of the inverse transform of `fourier_pairs`, without the division by d: (…, 2 · d) to (…, d)."""


fourier_pairs.type(lambda data: ((*data.shape[:-1], 2 * data.shape[-1]), data.dtype))
fourier_sums.type(lambda data: ((*data.shape[:-1], data.shape[-1] // 2), data.dtype))
# each is the transpose of the other
fourier_pairs.grad(lambda xp, dout: xp.fourier_sums(dout))
fourier_sums.grad(lambda xp, dout: xp.fourier_pairs(dout))
fourier_pairs.sample(lambda draw: draw(draw.real((2, 3, 4))))
fourier_sums.sample(lambda draw: draw(draw.real((2, 3, 4))))


@op("_contrib_fft", real=True)
def fft(xp, data, *, compute_size: int = 128):
    """The discrete Fourier transform of rows of real numbers: (n, d) or (n, c, h, d) to (…, 2 · d).

    Real and imaginary parts alternate. ``compute_size``, how many rows a GPU transforms at once, has no effect.
    """
    return xp.downcast(xp.fourier_pairs(xp.upcast(data)), data)


@op("_contrib_ifft", real=True)
def ifft(xp, data, *, compute_size: int = 128):
    """The real part of the inverse transform of `fft`, times d: (n, 2 · d) or (n, c, h, 2 · d) to (…, d).

    ``compute_size`` has no effect.
    """
    if not data.shape or data.shape[-1] % 2:
        raise ShapeError("ifft: the last axis holds pairs of numbers", f"shape {data.shape}", "pass an even number of them")
    return xp.downcast(xp.fourier_sums(xp.upcast(data)), data)


fft.infer(lambda shapes, results, **_: (shapes, results if shapes[0] is None else [_resized(shapes[0], 2, 1)]))
ifft.infer(lambda shapes, results, **_: (shapes, results if shapes[0] is None else [_resized(shapes[0], 1, 2)]))


def _resized(shape, times, over):
    return (*shape[:-1], None if shape[-1] is None else shape[-1] * times // over)


fft.sample(lambda draw: draw(draw.real((2, 4))))
ifft.sample(lambda draw: draw(draw.real((2, 4))))


@op("_contrib_count_sketch")
def count_sketch(xp, data, h: Index, s, *, out_dim: int, processing_batch_size: int = 32):
    """Rows (…, d) projected to (…, out_dim): feature i is multiplied by the sign ``s`` (1, d) and added to place ``h`` (1, d).

    ``processing_batch_size``, how many rows a GPU projects at once, has no effect.
    """
    size = data.shape[-1]
    if h.shape[-1:] != (size,) or s.shape[-1:] != (size,):
        given = f"data {data.shape}, h {h.shape}, s {s.shape}"
        raise ShapeError("count_sketch: h and s need one number for each feature", given, f"pass shapes (1, {size})")
    at = xp.checked_index(xp.cast(xp.reshape(h, shape=(size,)), "int64"), size=out_dim, negative=False)
    signed = data * xp.reshape(s, shape=(size,))
    zeros = xp.full(shape=(*data.shape[:-1], out_dim), value=0, dtype=xp.dtype_of(data))
    return xp.index_add(zeros, signed, at, key=(*[None] * (len(data.shape) - 1), 0))


@count_sketch.infer
def _(shapes, **_):
    data = shapes[0]
    one = None if data is None else (1, data[-1])
    return [data, shapes[1] or one, shapes[2] or one]


count_sketch.sample(lambda draw: draw(draw.real((2, 5)), draw.integer((1, 5), 0, 3), draw.real((1, 5)), out_dim=3))
