"""Eigenvalues, and what is computed from them, under transforms: against finite differences, complex numbers included."""

import numpy as host
import pytest

from twofold import autograd, errors, func, np

DRAW = host.random.default_rng(0)
REAL = host.array([[0.2, 1, 0.3], [-1.5, 0.3, 0.2], [0.1, -0.4, 1.2]])  # two of its eigenvalues are complex
COMPLEX = REAL + 1j * DRAW.normal(size=(3, 3))
WEIGHTS, TURNED = DRAW.normal(size=(3, 3)), DRAW.normal(size=(3, 3))


def of_values(values):
    return np.sum(abs(values - 0.3) ** 2 * np.array(WEIGHTS[0, : values.size]))


def of_vectors(vectors):
    return np.sum((np.real(vectors) * np.array(WEIGHTS) + np.imag(vectors) * np.array(TURNED)) ** 2 * np.array(TURNED))


def whole(a):
    return a.astype("complex128")


#: Each: a function that returns a number, and its argument.
FUNCTIONS = {
    "eigenvalues": (lambda a: of_values(np.linalg.eigvals(a)), COMPLEX),
    "eigenvectors": (lambda a: of_vectors(np.linalg.eig(a)[1]), COMPLEX),
    "eigenvalues of a real matrix": (lambda a: of_values(np.linalg.eigvals(whole(a))), REAL),
    "eigenvectors of a real matrix": (lambda a: of_vectors(np.linalg.eig(whole(a)).eigenvectors), REAL),
    "characteristic polynomial": (lambda a: np.sum(np.poly(a) ** 2 * np.array([1.0, 2.0, 3.0, 4.0])), REAL),
    "roots": (lambda p: of_values(np.roots(whole(p))), host.array([1, 0.5, 2, 1.5])),
}


def slopes(function, x):
    """The derivatives by differences; with respect to a + ib they are those by a, and i times those by b."""
    found = host.zeros_like(x)
    for place in host.ndindex(x.shape):
        for unit in (1, 1j) if host.iscomplexobj(x) else (1,):
            step = host.zeros_like(x)
            step[place] = 1e-6 * unit
            found[place] += unit * (function(np.array(x + step)).item() - function(np.array(x - step)).item()) / 2e-6
    return found


@pytest.mark.filterwarnings("ignore:vmap. .*has no rule for batches")  # a product of polynomials
@pytest.mark.parametrize(("function", "x"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_gradients(function, x):
    expected = slopes(function, x)
    for transform in (
        func.grad,
        lambda f: func.jit(func.grad(f)),
        lambda f: lambda a: func.vmap(func.grad(f))(np.stack([a, a * 0.5]))[0],
    ):
        host.testing.assert_allclose(transform(function)(np.array(x)).asnumpy(), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("function", "x"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_forward_mode_and_second_derivatives(function, x):
    direction = DRAW.normal(size=x.shape) + (1j * DRAW.normal(size=x.shape) if host.iscomplexobj(x) else 0)
    gradient = func.grad(function)
    ahead, back = [np.array(x + s * 1e-6 * direction) for s in (1, -1)]
    value, slope = func.jvp(function, (np.array(x),), (np.array(direction),))
    assert slope.item() == pytest.approx((function(ahead) - function(back)).item() / 2e-6, rel=1e-4)
    assert value.item() == pytest.approx(function(np.array(x)).item())
    found = func.jvp(gradient, (np.array(x),), (np.array(direction),))[1].asnumpy()
    host.testing.assert_allclose(found, (gradient(ahead) - gradient(back)).asnumpy() / 2e-6, rtol=1e-3, atol=1e-4)


def test_values_that_are_known_decide_the_dtype():
    x = np.array(REAL)
    expected = slopes(lambda a: of_values(np.linalg.eigvals(a)), REAL)
    host.testing.assert_allclose(func.grad(lambda a: of_values(np.linalg.eigvals(a)))(x).asnumpy(), expected, rtol=1e-4)
    x.attach_grad()
    with autograd.record():
        values = np.linalg.eigvals(x)
        loss = of_values(values)
    loss.backward()
    assert values.dtype == "complex128"
    host.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-4)
    symmetric = np.array(REAL + REAL.T)
    # from NumPy 2.5 on eigenvalues are complex numbers in any case
    assert func.jvp(np.linalg.eigvals, (symmetric,), (symmetric,))[1].dtype == host.linalg.eigvals(REAL + REAL.T).dtype


def test_the_determinant_is_the_product_of_complex_eigenvalues():
    a = np.array([[0.0, 1], [-1, 0]])
    a.attach_grad()
    with autograd.record():
        values = np.linalg.eigvals(a)
        loss = (abs(values) ** 2).sum()  # twice the determinant
    loss.backward()
    assert sorted(values.imag.tolist()) == pytest.approx([-1, 1])
    host.testing.assert_allclose(a.grad.asnumpy(), [[0, 2], [-2, 0]], atol=1e-12)


@pytest.mark.parametrize("transform", [func.jit, lambda f: lambda a: func.vmap(f)(a[None])])
def test_real_matrices_whose_values_are_not_known(transform):
    found = transform(np.linalg.eigvals)(np.array([[2.0, 1.0], [0.5, 3.0]]))
    assert sorted(found.real.reshape(-1).tolist()) == pytest.approx([2.5 - 0.75**0.5, 2.5 + 0.75**0.5])
    if host.iscomplexobj(host.linalg.eigvals(host.eye(2))):  # NumPy 2.5
        host.testing.assert_allclose(transform(np.linalg.eigvals)(np.array(REAL)).reshape(-1).asnumpy(), host.linalg.eigvals(REAL))
        return
    with pytest.raises(errors.MXNetError, match=r"a real matrix has complex eigenvalues.*a\.astype\('complex128'\)"):
        transform(np.linalg.eigvals)(np.array(REAL)).asnumpy()
