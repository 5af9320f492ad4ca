"""MXNet's NumPy operators of linear algebra: products, contractions, eigenvalues, equations of tensors, polynomials."""

import math

from ..errors import NoMatrices, ShapeError
from ..opdef import Count, Derived, Operand, Shape, normalized_axis, numpy_op, op
from .linear_algebra import FLOATS, WHY, positive_definite
from .linear_algebra_triangular import potrf
from .mxnet_numpy_shapes import in_common, joined_dtype


def check_matching(name: str, first: int, second: int, a: Operand, b: Operand) -> None:
    """Check that two axes that are contracted have one size.

    Raises
    ------
    ShapeError
        If they do not.
    """
    if first != second:
        raise ShapeError(f"{name}: the contracted axes differ in size", f"{a.shape} and {b.shape}", f"make {first} equal {second}")


def contracted(xp: Derived, a: Operand, b: Operand, first: tuple[int, ...], second: tuple[int, ...]) -> Operand:
    """The sum of products over axes of two arrays; the result has the other axes of the first, then those of the second."""
    for i, j in zip(first, second, strict=True):
        check_matching("tensordot", a.shape[i], b.shape[j], a, b)
    # with the contracted axes side by side, last in `a` and first in `b`, the contraction is one matrix product
    left = [k for k in range(len(a.shape)) if k not in first]
    right = [k for k in range(len(b.shape)) if k not in second]
    size = math.prod([a.shape[k] for k in first])
    rows, columns = math.prod([a.shape[k] for k in left]), math.prod([b.shape[k] for k in right])
    x = xp.reshape(xp.permute_dims(a, axes=(*left, *first)), shape=(rows, size))
    y = xp.reshape(xp.permute_dims(b, axes=(*second, *right)), shape=(size, columns))
    return xp.reshape(xp.matmul(x, y), shape=(*[a.shape[k] for k in left], *[b.shape[k] for k in right]))


@numpy_op("_np_dot", row="dot(a, b, out=None)")
def np_dot(xp, a, b):
    """The product over the last axis of ``a`` and the last but one of ``b`` (its only one); of scalars the product."""
    a, b = in_common(xp, (a, b))
    if not a.shape or not b.shape:
        return a * b
    at = max(len(b.shape) - 2, 0)
    check_matching("dot", a.shape[-1], b.shape[at], a, b)
    return contracted(xp, a, b, (len(a.shape) - 1,), (at,))


np_dot.sample(lambda draw: [draw(draw.real((2, 3)), draw.real((3, 4))), draw(draw.real((3,)), draw.real((3,)))])
np_dot.sample(lambda draw: draw(draw.real((2, 3)), draw.real((2, 3, 2))))


@numpy_op("_npi_matmul", output_names=("out",), row="matmul(a, b, out=None, **kwargs)")
def npi_matmul(xp, a, b):
    """Matrix products over the last two axes; the others broadcast, vectors are rows or columns."""
    a, b = in_common(xp, (a, b))
    if not a.shape or not b.shape:
        raise ShapeError("matmul: scalar operands are not allowed", f"{a.shape} and {b.shape}", "use * instead")
    left = xp.expand_dims(a, 0) if len(a.shape) == 1 else a
    right = xp.expand_dims(b, -1) if len(b.shape) == 1 else b
    check_matching("matmul", left.shape[-1], right.shape[-2], a, b)
    found = xp.matmul(left, right)
    # the axes of size 1 that made matrices of vectors
    gone = [*([len(found.shape) - 2] if len(a.shape) == 1 else []), *([len(found.shape) - 1] if len(b.shape) == 1 else [])]
    return xp.squeeze(found, gone) if gone else found


npi_matmul.sample(lambda draw: [draw(draw.real((5, 2, 3)), draw.real((3, 4))), draw(draw.real((3,)), draw.real((3,)))])


@numpy_op("_npi_tensordot_int_axes")
def npi_tensordot_int_axes(xp, a, b, *, axes: Count):
    """The sum of products over the last ``axes`` axes of ``a`` and the first of ``b``."""
    a, b = in_common(xp, (a, b))
    ndim = len(a.shape)
    return contracted(xp, a, b, tuple(range(ndim - axes, ndim)), tuple(range(axes)))


npi_tensordot_int_axes.sample(
    lambda draw: [draw(draw.real((2, 3)), draw.real((3, 4)), axes=1), draw(draw.real((2,)), draw.real((3,)), axes=0)]
)


@numpy_op("_npi_tensordot")
def npi_tensordot(xp, a, b, *, a_axes_summed: Shape, b_axes_summed: Shape):
    """The sum of products over the named axes of two arrays."""
    a, b = in_common(xp, (a, b))
    first = tuple(normalized_axis(k, len(a.shape), "tensordot: axis") for k in a_axes_summed)
    second = tuple(normalized_axis(k, len(b.shape), "tensordot: axis") for k in b_axes_summed)
    if len(first) != len(second):
        raise ShapeError("tensordot: the numbers of axes differ", f"{a_axes_summed} and {b_axes_summed}", "name as many of each")
    return contracted(xp, a, b, first, second)


npi_tensordot.sample(lambda draw: draw(draw.real((2, 3)), draw.real((4, 3)), a_axes_summed=(1,), b_axes_summed=(-1,)))
for _op in (np_dot, npi_matmul, npi_tensordot, npi_tensordot_int_axes):
    _op.dtypes(joined_dtype)


@numpy_op("_npi_cholesky", floats=FLOATS, keeps_shape=True, row="linalg.cholesky(a)")
def npi_cholesky(xp, A):
    """Lower triangular L with L · Lᵀ = A of symmetric positive definite matrices."""
    return potrf(xp, A)


npi_cholesky.sample(lambda draw: draw(draw.real((2, 3, 3), then=positive_definite), gradient=False, why=WHY))


@numpy_op("_npi_eig", outputs=2, floats=FLOATS, row="linalg.eig(a) -> tuple")
def npi_eig(xp, A):
    """Eigenvalues (…, n) and eigenvectors of length 1 as columns of matrices (…, n, n); complex eigenvalues raise."""
    return xp.real_eig(A)


@numpy_op("_npi_eigvals", floats=FLOATS, row="linalg.eigvals(a)")
def npi_eigvals(xp, A):
    """Eigenvalues (…, n) of matrices (…, n, n), unordered; complex ones raise."""
    return xp.real_eig(A)[0]


for _op in (npi_eig, npi_eigvals):
    _op.sample(lambda draw: draw(draw.real((2, 3, 3), then=positive_definite), gradient=False))


@numpy_op("_npi_polyval", row="polyval(p, x)")
def npi_polyval(xp, p, x):
    """A polynomial with coefficients ``p``, that of the highest power first, at ``x``."""
    p, x = in_common(xp, (p, x))
    total = xp.zeros_like(x)
    for k in range(p.shape[0]):
        # Horner's scheme
        total = total * x + xp.reshape(xp.take_slice(p, k, k + 1, 0), shape=())
    return total


npi_polyval.dtypes(joined_dtype)
npi_polyval.sample(lambda draw: draw(draw.real((3,)), draw.real((2, 2))))


# tensors as matrices


@op("_npi_tensorinv", floats=FLOATS, row="linalg.tensorinv(a, ind=2)", writes="ind")
def tensorinv(xp, a, *, ind: int = 2):
    """The array b with tensordot(b, x, ind) undoing tensordot(a, x, n): axes from ``ind`` on, then those before it."""
    if not 0 < ind < len(a.shape) or math.prod(a.shape[:ind]) != math.prod(a.shape[ind:]):
        raise NoMatrices("the array is not a square matrix", f"shape {a.shape}, ind={ind}", "pass axes with equal products")
    n = math.prod(a.shape[:ind])
    return xp.reshape(xp.inverse(xp.reshape(a, shape=(n, n))), shape=(*a.shape[ind:], *a.shape[:ind]))


tensorinv.sample(lambda draw: draw(draw.real((4, 2, 2), then=lambda np, x: x + 5 * np.eye(4, dtype=x.dtype).reshape(4, 2, 2)), ind=1))


@op("_npi_tensorsolve", alike=True, floats=FLOATS, row="linalg.tensorsolve(a, b, axes: a_axes = None)")
def tensorsolve(xp, a, b, *, a_axes: Shape = ()):
    """``x`` with tensordot(a, x, x.ndim) = b; the axes ``a_axes`` of ``a`` are moved to its end before."""
    axes = [k % len(a.shape) for k in a_axes]
    a = xp.permute_dims(a, axes=(*[k for k in range(len(a.shape)) if k not in axes], *axes))
    shape = a.shape[len(b.shape) :]
    n = math.prod(shape)
    if math.prod(b.shape) != n or math.prod(a.shape) != n * n:
        raise NoMatrices("the numbers of equations and unknowns differ", f"{a.shape} and {b.shape}", "pass as many equations as unknowns")
    return xp.reshape(xp.solve(xp.reshape(a, shape=(n, n)), xp.reshape(b, shape=(n, 1))), shape=shape)


@tensorsolve.sample
def _(draw):
    return draw(draw.real((2, 2, 4), then=lambda np, x: x + 5 * np.eye(4, dtype=x.dtype).reshape(2, 2, 4)), draw.real((2, 2)))
