"""Convolution and correlation of vectors, which are each other's gradients."""

from ..dtype import promote
from ..opdef.declare import primitive


@primitive(reference=lambda np, a, v: np.convolve(a, v), floats=("float32", "float64", "complex64", "complex128"), complex_gradient=True)
def convolve_full(xp, a, v):
    """The discrete convolution Σ a[j] · v[k - j] of vectors (n,) and (m,): (n + m - 1,)."""


# the second vector reversed: NumPy's correlation conjugates it
@primitive(
    reference=lambda np, a, v: np.convolve(a, v[::-1], mode="valid"),
    floats=("float32", "float64", "complex64", "complex128"),
    complex_gradient=True,
)
def correlate_valid(xp, a, v):
    """The products Σ a[k + j] · v[j] of a vector (m,) with the parts of one that is not shorter (n,): (n - m + 1,)."""


convolve_full.type(lambda a, v: ((a.shape[0] + v.shape[0] - 1,), promote(a.dtype, v.dtype)))
correlate_valid.type(lambda a, v: ((a.shape[0] - v.shape[0] + 1,), promote(a.dtype, v.dtype)))
convolve_full.grad(lambda xp, dout, a, v: (xp.correlate_valid(dout, v), xp.correlate_valid(dout, a)))
correlate_valid.grad(lambda xp, dout, a, v: (xp.convolve_full(dout, v), xp.correlate_valid(a, dout)))
convolve_full.sample(lambda draw: draw(draw.real((5,)), draw.real((3,))))
convolve_full.sample(lambda draw: draw(draw.real((1,)), draw.real((4,))))
correlate_valid.sample(lambda draw: draw(draw.real((5,)), draw.real((3,))))
correlate_valid.sample(lambda draw: draw(draw.real((4,)), draw.real((4,))))
