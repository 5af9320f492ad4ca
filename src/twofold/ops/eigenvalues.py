"""Eigenvalues and eigenvectors of matrices that need not be symmetric. Gradients follow the convention of `graph.gradient`."""

from ..dtype import COMPLEX
from ..errors import ParameterError
from ..opdef import primitive
from .linear_algebra import FLOATS, diagonal_matrices, inverse_differences, require_matrices, scale_columns, well_conditioned


def _real_eigenvectors(np, A):
    w, v = np.linalg.eig(A)
    # NumPy's dtype depends on the values, which typed graphs cannot; from NumPy 2.5 on it is complex in any case
    if np.imag(w).any():
        todo = "pass a.astype('complex128'), whose eigenvalues are complex in any case; eigh is for symmetric matrices"
        raise ParameterError("eig: a real matrix has complex eigenvalues", "a matrix whose values were not known", todo)
    return np.real(w), np.real(v)


@primitive(reference=_real_eigenvectors, outputs=2, floats=FLOATS, host_only=True, batch="leading")
def real_eig(xp, A):
    """Eigenvalues (…, n), unordered, and eigenvectors of length 1 as columns; complex eigenvalues raise."""


@primitive(
    reference=lambda np, A: tuple(np.linalg.eig(A)), outputs=2, floats=COMPLEX, host_only=True, complex_gradient=True, batch="leading"
)
def complex_eig(xp, A):
    """Eigenvalues (…, n), unordered, and eigenvectors of length 1 as columns, in each of which the largest element is real."""


def _types(A):
    require_matrices(A)
    return [(A.shape[:-1], A.dtype), (A.shape, A.dtype)]


real_eig.type(_types)
complex_eig.type(_types)


def _transposed(xp, w, v, dw, dv):
    """The gradient of the matrix from those of eigenvalues and of eigenvectors, whose lengths are free."""
    # as for symmetric matrices, with V⁻ᵀ in place of V: dA = V⁻ᵀ · (diag(dw) + F ∘ (Vᵀ dV)) · Vᵀ
    back = xp.matrix_transpose(v)
    inner = xp.zeros_like(v) if dw is None else diagonal_matrices(xp, dw)
    if dv is not None:
        inner = inner + inverse_differences(xp, w) * xp.matmul(back, dv)
    return xp.solve(back, xp.matmul(inner, back))


def _along(xp, v, dv):
    """The products of vectors and their gradients, (…, n)."""
    return xp.sum(v * dv, axis=len(v.shape) - 2)


@real_eig.grad
def _(xp, dout, out):
    (w, v), (dw, dv) = out, dout
    if dv is not None:
        # without the component that would change the vectors' lengths
        dv = dv - scale_columns(xp, v, _along(xp, v, dv))
    return _transposed(xp, w, v, dw, dv)


@complex_eig.grad
def _(xp, dout, out):
    (w, v), (dw, dv) = out, dout
    if dv is not None:
        # a change d of a vector becomes d - v · Re(v̄ · d) - i v · Im(d[j]) / v[j], so that its length is 1 and element j, the largest, real
        along = _along(xp, v, dv)
        real, imaginary = xp.real_part(v), xp.imaginary_part(v)
        # the largest element as LAPACK finds it, by its magnitude
        places = xp.argmax(real * real + imaginary * imaginary, axis=-2, keepdims=True)
        rows = xp.reshape(xp.iota(size=v.shape[-2], dtype="int64"), shape=(v.shape[-2], 1))
        is_largest = xp.equal(rows, places)
        turn = xp.where(is_largest, xp.expand_dims(xp.imaginary_part(along), -2) / xp.where(is_largest, real, 1), 0)
        dv = dv - scale_columns(xp, xp.conjugate(v), xp.cast_like(xp.real_part(along), v)) - xp.imaginary_number(turn)
    return _transposed(xp, w, v, dw, dv)


real_eig.sample(lambda draw: draw(draw.real((2, 3, 3), then=well_conditioned)))


@complex_eig.cases
def _(make):
    for shape, dtype in (((3, 3), "complex64"), ((2, 3, 3), "complex128")):
        x = make.distinct(shape, dtype) * (1 - 2j) + make.np.diag([1, 2j, 4])
        for k in range(2):
            yield make(x.astype(dtype), want=lambda x, k=k: make.np.linalg.eig(x)[k])._replace(place=k)
