"""Derivatives where a rule's factors are 0 and infinite: powers of 0, infinite exponents."""

from __future__ import annotations

import numpy as host
import pytest

import twofold as mx
from twofold import func
from twofold import np as np


def nth(f, n):
    """The nth derivative."""
    for _ in range(n):
        f = func.grad(f)
    return f


@pytest.mark.parametrize("transform", [func.grad, func.jacfwd, func.jacrev])
def test_a_sum_of_powers_at_zero(transform):
    assert float(transform(lambda x: (x ** np.arange(4.0)).sum())(np.array(0.0))) == 1


@pytest.mark.parametrize("power", [0, 1, 2, 3])
def test_each_derivative_of_a_power_at_zero(power):
    factorial = [1, 1, 2, 6][power]
    for n in range(1, 6):
        assert float(nth(lambda x: x**power, n)(np.array(0.0))) == (factorial if n == power else 0)


def test_the_fourth_derivative_of_a_polynomial():
    for x in (0.0, 0.3, 1.0):
        assert float(nth(lambda x: x**2 * (1 - x) ** 2, 4)(np.array(x))) == pytest.approx(24)


def test_the_derivative_in_base_and_exponent_is_exact_at_an_exponent_of_zero():
    # d/dy (y x^(y - 1)) = 1 / x at y = 0
    mixed = func.grad(lambda y: func.grad(lambda x: x**y)(np.array(3.0)))
    assert float(mixed(np.array(0.0))) == pytest.approx(1 / 3)


def test_recorded_powers_of_both_kinds_of_arrays():
    for module in (mx.nd, mx.np):
        x = module.array([0.0, 2.0])
        x.attach_grad()
        with mx.autograd.record():
            y = (x.reshape((-1, 1)) ** module.array([[0.0, 1.0, 2.0]])).sum()
        y.backward()
        host.testing.assert_array_equal(x.grad.asnumpy(), [1, 5])


@pytest.mark.parametrize("f", [np.logaddexp, np.logaddexp2])
def test_sums_of_exponentials_of_infinite_numbers(f):
    shares = {(host.inf, 1.0): (1, 0), (1.0, host.inf): (0, 1), (-host.inf, 1.0): (0, 1), (800.0, -800.0): (1, 0), (2.0, 2.0): (0.5, 0.5)}
    for (a, b), share in shares.items():
        found = func.grad(f, argnums=(0, 1))(np.array(a), np.array(b))
        host.testing.assert_array_equal([g.item() for g in found], share)


def of_all_others(x, left_out=()):
    """The derivatives of the product of all elements: the products of the elements that are not left out; for one left out twice 0."""
    rest = [value for k, value in enumerate(x.reshape(-1)) if k not in left_out]
    return host.prod(rest) if len(set(left_out)) == len(left_out) else 0.0


@pytest.mark.parametrize("x", [[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [0.5, 2.0, 3.0, 0.0, 0.0], [0.0], [2.0]], ids=str)
def test_each_derivative_of_a_product_with_zeros(x):
    values, f = host.array(x), lambda a: a.prod()
    wanted = [[of_all_others(values, (i, j)) for j in range(len(x))] for i in range(len(x))]
    for second in (func.hessian(f), func.jacfwd(func.jacfwd(f)), func.jacrev(func.grad(f))):
        host.testing.assert_allclose(second(np.array(x)).asnumpy(), wanted)
    host.testing.assert_allclose(func.grad(f)(np.array(x)).asnumpy(), [of_all_others(values, (i,)) for i in range(len(x))])
    third = func.jacfwd(func.hessian(f))(np.array(x)).asnumpy()
    for i, j, k in host.ndindex(third.shape):
        assert third[i, j, k] == pytest.approx(of_all_others(values, (i, j, k)))


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (2, 1)])
def test_products_over_axes_with_zeros_in_some_rows(axis):
    x = host.random.default_rng(1).normal(size=(2, 3, 2))
    x[0, 1, 0] = x[1, 2, 1] = x[1, 0, 1] = 0.0
    weights = host.cos(host.arange(x.prod(axis=axis).size)).reshape(x.prod(axis=axis).shape)
    found = func.grad(lambda a: (a.prod(axis=axis) * np.array(weights)).sum())(np.array(x)).asnumpy()
    for place in host.ndindex(x.shape):
        # linear in each element: a difference is exact
        up, down = x.copy(), x.copy()
        up[place], down[place] = x[place] + 1, x[place] - 1
        assert found[place] == pytest.approx(((up.prod(axis=axis) - down.prod(axis=axis)) * weights).sum() / 2)


def test_a_recorded_gradient_of_a_product_with_a_zero():
    x = np.array([0.0, 2.0, 3.0])
    x.attach_grad()
    with mx.autograd.record():
        (grad,) = mx.autograd.grad(x.prod(), [x], create_graph=True)
        y = grad[1]
    y.backward()
    host.testing.assert_array_equal(x.grad.asnumpy(), [3, 0, 0])
