"""Determinants of (…, n, n) matrices and their logarithms, with gradients that singular matrices have too."""

from itertools import combinations, permutations
from string import ascii_letters

from ..dtype import COMPLEX
from ..opdef import primitive
from .linear_algebra import FLOATS, NUMBERS, expand_scalars, eye_like, require_matrices, type_of_square, well_conditioned


@primitive(
    "_linalg_det",
    "linalg_det",
    "_npi_det",
    reference=lambda np, A: np.linalg.det(A),
    floats=NUMBERS,
    complex_gradient=True,
    row="linalg.det(a)",
    batch="leading",
    output_names=("output0",),
    workspaces=2,
)
def det(xp, A):
    """Determinants of (…, n, n) matrices."""


@det.type
def _(A):
    require_matrices(A)
    return A.shape[:-2], A.dtype


@det.grad
def _(xp, dout, out, A):
    # Jacobi's formula: d det A = Σ C · dA with the cofactors C = det(A) · A⁻ᵀ
    if xp.dtype_of(A) in COMPLEX:  # of real matrices by cofactors, which singular ones have too
        return expand_scalars(xp, dout * out) * xp.matrix_transpose(xp.inverse(A))
    return expand_scalars(xp, dout) * xp.cofactors(A)


def _products_without(np, values, count):
    """Products (…, n, …, n) of all but ``count`` of the values (…, n), by the places left out; 0 where a place repeats."""
    if count == 1:
        # from the products of the values before and after each one: a division by the value would fail where it is 0
        one, ahead, back = np.ones_like(values[..., :1]), np.cumprod(values, axis=-1), np.cumprod(values[..., ::-1], axis=-1)[..., ::-1]
        return np.concatenate([one, ahead[..., :-1]], axis=-1) * np.concatenate([back[..., 1:], one], axis=-1)
    same = np.eye(values.shape[-1]) == 1
    found = _products_without(np, np.where(same, 1, values[..., None, :]), count - 1)
    for k in range(count - 1):
        found = np.where(np.reshape(same, (len(same), *[1] * k, len(same), *[1] * (count - 2 - k))), 0, found)
    return found


def _cofactors(np, A, *directions):
    # For S = diag(s) in A = U · S · V, the derivative of det along E₀ … Eₖ is the sum, over places i₀ … iₖ and their permutations π, of
    # sign(π) · E₀[i₀, π(i₀)] · … · Eₖ[iₖ, π(iₖ)] times the product of the other s. The factor of E₀ in this sum is the result for S.
    finite = np.all(np.isfinite(A), axis=(-2, -1), keepdims=True)
    # LAPACK fails for a matrix with NaN, and may never return for one with infinity
    u, s, vh = np.linalg.svd(np.where(finite, A, np.zeros_like(A)))
    inner = [np.matmul(np.matmul(np.swapaxes(u, -1, -2), d), np.swapaxes(vh, -1, -2)) for d in directions]
    # in float64: products in float32 could overflow on the way
    others = np.asarray(_products_without(np, np.asarray(s, dtype=np.float64), len(inner) + 1), dtype=A.dtype)
    letters = ascii_letters[: len(inner) + 1]
    found = np.zeros_like(A)
    for sign, order in _permutations(letters):
        terms = [f"...{letters}", *[f"...{row}{column}" for row, column in zip(letters[1:], order[1:], strict=True)]]
        if order[0] == letters[0]:
            on_diagonal = np.einsum(f"{','.join(terms)}->...{letters[0]}", others, *inner)
            found = found + sign * on_diagonal[..., None] * np.eye(A.shape[-1], dtype=A.dtype)
        else:
            found = found + sign * np.einsum(f"{','.join(terms)}->...{letters[0]}{order[0]}", others, *inner)
    found = np.matmul(np.matmul(u, found), vh) * (np.linalg.det(u) * np.linalg.det(vh))[..., None, None]
    return np.where(finite, found, np.full_like(found, np.nan))


def _permutations(items):
    """The permutations of distinct items, with their signs."""
    for order in permutations(range(len(items))):
        inversions = sum(a > b for a, b in combinations(order, 2))
        yield 1 - 2 * (inversions % 2), "".join(items[k] for k in order)


@primitive(reference=_cofactors, floats=FLOATS)
def cofactors(xp, A, *directions):
    """Matrices of cofactors, the determinants' gradients, differentiated along each direction in turn.

    Determinants are polynomials: unlike det(A) · inverse(A)ᵀ, this is finite for singular matrices too, and so are its gradients.
    """


@cofactors.batched
def _(xp, size, flags, *matrices):
    # the leading axes of the matrix and of all directions are the same
    return xp.cofactors(*[a if f else xp.broadcast_to(a, shape=(size, *a.shape)) for a, f in zip(matrices, flags, strict=True)])


cofactors.type(lambda A, *directions: type_of_square(A))


@cofactors.grad
def _(xp, dout, A, directions):
    # the derivative of det along several directions does not depend on their order
    along = [xp.cofactors(A, *directions[:k], dout, *directions[k + 1 :]) for k in range(len(directions))]
    return xp.cofactors(A, *directions, dout), *along


@cofactors.sample
def _(draw):
    singular = draw.real((2, 3, 3), then=lambda np, x: x * np.array([[1], [1], [0]], x.dtype))
    return [draw(singular), draw(singular, draw.real((2, 3, 3))), draw(draw.real((3, 3)), draw.real((3, 3)), draw.real((3, 3)))]


@primitive(
    "_linalg_slogdet",
    "linalg_slogdet",
    "_npi_slogdet",
    reference=lambda np, A: tuple(np.linalg.slogdet(A)),
    outputs=2,
    floats=FLOATS,
    row="linalg.slogdet(a)",
    batch="leading",
    workspaces=2,
)
def slogdet(xp, A):
    """Signs and logarithms of the magnitudes of determinants; 0 and -inf for singular matrices, whose gradient is 0, as in MXNet."""


@slogdet.type
def _(A):
    require_matrices(A)
    return [(A.shape[:-2], A.dtype)] * 2


@slogdet.grad
def _(xp, dout, out, A):
    if dout[1] is None:
        return None
    # d ln |det A| = Σ A⁻ᵀ · dA; the sign is constant
    singular = xp.equal(expand_scalars(xp, out[0]), 0)
    # LAPACK raises if a matrix has no inverse: singular ones are replaced before, and get the gradient 0
    back = xp.matrix_transpose(xp.inverse(xp.where(singular, eye_like(xp, A), A)))
    return xp.where(singular, 0, expand_scalars(xp, dout[1]) * back)


for _op in (det, cofactors, slogdet):
    _op.sample(lambda draw: [draw(draw.real((2, 3, 3), then=well_conditioned)), draw(draw.real((1, 1), low=0.5))])
