"""Discrete Fourier transforms along the last axis, without a factor. Gradients follow the convention of `graph.gradient`."""

from ..opdef import primitive
from .complex_numbers import PART, WHOLE


def _transform(np, data, *, inverse):
    return (np.fft.ifft(data, norm="forward") if inverse else np.fft.fft(data)).astype(data.dtype, copy=False)


def _of_real(np, data):
    return np.fft.rfft(data).astype(WHOLE[data.dtype.name], copy=False)


def _to_real(np, data, *, size):
    return np.fft.irfft(data, size, norm="forward").astype(PART[data.dtype.name], copy=False)


@primitive(host_only=True, reference=_transform, floats=("complex64", "complex128"), complex_gradient=True, linear="joint", batch="leading")
def fourier(xp, data, *, inverse: bool):
    """The sums Σ data[j] exp(∓2πi · jk / n) for each frequency k, with + if inverse."""


@primitive(host_only=True, reference=_of_real, floats=("float32", "float64"), complex_gradient=True, linear="joint", batch="leading")
def real_fourier(xp, data):
    """The frequencies 0 to n // 2 of the transform of real numbers (…, n)."""


@primitive(host_only=True, reference=_to_real, floats=("complex64", "complex128"), complex_gradient=True, linear="joint", batch="leading")
def inverse_real_fourier(xp, data, *, size: int):
    """The real signal (…, size) with given frequencies (…, size // 2 + 1), times its size. Other frequencies follow by symmetry."""


fourier.type(lambda data, *, inverse: (data.shape, data.dtype))
real_fourier.type(lambda data: ((*data.shape[:-1], data.shape[-1] // 2 + 1), WHOLE[data.dtype]))
inverse_real_fourier.type(lambda data, *, size: ((*data.shape[:-1], size), PART[data.dtype]))
# the matrix of the transform is symmetric
# no conjugate appears: in the convention of `graph.gradient` a linear map's gradient is its plain transpose
fourier.grad(lambda xp, dout, *, inverse: xp.fourier(dout, inverse=inverse))


def _occurs_once(xp, data, size):
    """Of each frequency whether it has no mirror image: frequency 0, and that of alternating signs."""
    k = xp.iota(size=data.shape[-1], dtype="int64")
    return xp.logical_or(xp.equal(k, 0), xp.equal(2 * k, size))


@real_fourier.grad
def _(xp, dout, data):
    # `inverse_real_fourier` counts every frequency with a mirror image twice, for itself and for that image; here each counts once
    size = data.shape[-1]
    turned = xp.conjugate(dout)
    return xp.inverse_real_fourier(xp.where(_occurs_once(xp, dout, size), turned, 0.5 * turned), size=size)


@inverse_real_fourier.grad
def _(xp, dout, data, *, size):
    # the sums Σ dout[j] · exp(+2πi · jk / n): conjugates of the transform, as dout is real
    turned = xp.conjugate(xp.real_fourier(dout))
    return xp.where(_occurs_once(xp, data, size), turned, 2 * turned)


def _sums(np, x, sign, frequencies):
    """The defining sums, for each of the frequencies."""
    turns = np.outer(np.arange(x.shape[-1]), frequencies) / x.shape[-1]
    return x @ np.exp(sign * 2j * np.pi * turns)


@fourier.cases
def _(make):
    def want(x, inverse):
        return _sums(make.np, x, 1 if inverse else -1, make.np.arange(x.shape[-1])).astype(x.dtype)

    for shape, dtype in (((5,), "complex64"), ((2, 4), "complex64"), ((3, 1), "complex128")):
        for inverse in (False, True):
            yield make((make.distinct(shape, dtype) * (1 - 2j) + 1j).astype(dtype), inverse=inverse, want=want)


@real_fourier.cases
def _(make):
    for shape, dtype in (((5,), "float32"), ((2, 4), "float32"), ((3, 1), "float64")):
        yield make(
            make.distinct(shape, dtype) - 1,
            want=lambda x: _sums(make.np, x, -1, make.np.arange(x.shape[-1] // 2 + 1)).astype(WHOLE[x.dtype.name]),
        )


@inverse_real_fourier.cases
def _(make):
    def want(x, size):
        mirrored = make.np.conj(x[..., 1 : (size + 1) // 2][..., ::-1])
        return _sums(make.np, make.np.concatenate([x, mirrored], -1), 1, make.np.arange(size)).real.astype(PART[x.dtype.name])

    for size, dtype in ((1, "complex128"), (4, "complex64"), (5, "complex64")):
        x = make.distinct((2, size // 2 + 1), dtype) * (1 - 2j)
        x[:, 0] = x[:, 0].real  # the frequencies without a mirror image are real
        if size % 2 == 0:
            x[:, -1] = x[:, -1].real
        yield make(x, size=size, want=want)
