"""`mx.func` by reverse mode: gradients, vector-Jacobian products, Jacobians, second derivatives, recomputation."""

from collections import namedtuple

import numpy as host
import pytest

import twofold as mx
from twofold import autograd
from twofold.config import SETTINGS
from twofold.errors import AutogradError, DTypeError, ParameterError, ShapeError, WrongArgument
from twofold.func import reverse
from twofold.graph.control_flow import apply_foreach

from .differentiable_cases import CASES, arguments, directional

np, nd, func = mx.np, mx.nd, mx.func


def equal(found, expected, rtol=1e-12):
    host.testing.assert_allclose(host.asarray(found.asnumpy()), expected, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_vector_jacobian_product_is_the_derivative_of_finite_differences(case):
    args = arguments(case)
    draw = host.random.default_rng(3)
    result, pull = func.vjp(case.function, *map(np.array, args))
    equal(result, case.function(*map(np.array, args)).asnumpy())
    head = draw.normal(size=result.shape)
    directions = [draw.normal(size=a.shape) for a in args]
    found = sum((g.asnumpy() * d).sum() for g, d in zip(pull(np.array(head)), directions, strict=True))
    host.testing.assert_allclose(found, (directional(case, args, directions) * head).sum(), rtol=1e-6)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_jacobian_has_the_rows_that_vjp_gives(case):
    args = [np.array(a) for a in arguments(case)]
    result, pull = func.vjp(case.function, *args)
    found = func.jacrev(case.function)(*args)
    assert found.shape == (*result.shape, *args[0].shape)
    rows = found.asnumpy().reshape(result.size, -1)
    for k in (0, result.size - 1):
        head = host.eye(result.size)[k].reshape(result.shape)
        host.testing.assert_allclose(rows[k], pull(np.array(head))[0].asnumpy().ravel(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("most", [0, reverse.MOST_AT_ONCE], ids=["one by one", "at once"])
def test_rows_and_columns_are_computed_at_once_unless_they_are_large(most, monkeypatch):
    loops = []
    monkeypatch.setattr(reverse, "apply_foreach", lambda *args: loops.append(args) or apply_foreach(*args))
    monkeypatch.setattr(reverse, "MOST_AT_ONCE", most)
    x = host.linspace(-1, 1, 5)
    scale = 2.0 if most else 3.0  # two functions, as what is compiled for one is kept
    for transform in (func.jacrev, func.jacfwd):
        equal(transform(lambda x: np.sin(scale * x)[::2])(np.array(x)), (host.diag(scale * host.cos(scale * x)))[::2])
    equal(func.hessian(lambda x: (x**3).sum() * scale)(np.array(x)), host.diag(6 * scale * x))
    assert bool(loops) == (not most)


def test_large_arrays_that_all_rows_share_do_not_cause_a_loop(monkeypatch):
    loops = []
    monkeypatch.setattr(reverse, "apply_foreach", lambda *args: loops.append(args) or apply_foreach(*args))
    monkeypatch.setattr(reverse, "MOST_AT_ONCE", 5 * 40)
    x, data = host.linspace(-1, 1, 5), host.linspace(0, 1, 5 * 100).reshape(100, 5)
    # the matrix has 500 elements, and the five rows of Aᵀ A have 25 together
    for transform in (func.jacrev, func.jacfwd):
        found = transform(lambda x, data: np.dot(np.dot(data.T, data), x))(np.array(x), np.array(data))
        host.testing.assert_allclose(found.asnumpy(), data.T @ data, rtol=1e-12)
    assert not loops


def test_gradients_nest_to_any_depth():
    def f(x):
        return x**5

    for power, factor in ((4, 5), (3, 20), (2, 60), (1, 120)):
        f = func.grad(f)
        assert float(f(2.0)) == pytest.approx(factor * 2.0**power)


def test_an_inner_gradient_sees_the_outer_variable():
    # d/dx [x * d/dy (x y^2)] at y = x is d/dx (2 x^2 y) with y a variable of its own, set to x after: 4 x y + 2 x^2
    outer = func.grad(lambda x: x * func.grad(lambda y: x * y * y)(x))
    assert float(outer(3.0)) == pytest.approx(6 * 3.0**2)
    # no confusion of the two variables: d/dx [x * d/dy (x + y)] = 1
    assert float(func.grad(lambda x: x * func.grad(lambda y: x + y)(1.0))(2.0)) == 1


def test_pytrees_keep_their_classes_and_none():
    Pair = namedtuple("Pair", "a b")
    tree = {"w": Pair(np.array([1.0, 2.0]), [np.array([3.0, 4.0])]), "none": None}

    def f(t):
        return (t["w"].a * t["w"].b[0]).sum()

    found = func.grad(f)(tree)
    assert isinstance(found["w"], Pair)
    assert isinstance(found["w"].b, list)
    assert found["none"] is None
    equal(found["w"].a, [3, 4])
    equal(found["w"].b[0], [1, 2])


def test_argnums_and_aux():
    def f(x, scale, y):
        return (x * y).sum() * scale, {"product": x * y, "text": "as it is"}

    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    (value, aux), (gx, gy) = func.value_and_grad(f, argnums=(0, -1), has_aux=True)(x, 2, y)
    assert (float(value), aux["text"]) == (22, "as it is")
    equal(aux["product"], [3, 8])
    equal(gx, [6, 8])
    equal(gy, [2, 4])
    found, aux = func.grad(f, has_aux=True)(x, 2, y=y)
    equal(found, [6, 8])


def test_classes_and_dtypes_are_those_of_the_arguments():
    found = func.grad(lambda x: (x * x).sum())(nd.array([1, 2], dtype="float16"))
    assert (type(found), found.dtype) == (nd.NDArray, host.float16)
    found = func.grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(np.ones(2, "float32"), np.ones(2))
    assert [g.dtype for g in found] == [host.float32, host.float64]


def test_a_complex_gradient_is_the_direction_of_steepest_ascent():
    z = np.array([1 + 2j, 3 - 1j])
    equal(func.grad(lambda z: (abs(z) ** 2).sum())(z), 2 * z.asnumpy())


def test_gradients_are_recorded_on_the_tape():
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y = (func.grad(lambda x: (x**3).sum())(x) ** 2).sum()  # 9 x^4
    y.backward()
    equal(x.grad, 36 * x.asnumpy() ** 3)


def test_variables_from_outside_keep_their_gradient():
    w = np.array([2.0, 3.0])
    w.attach_grad()
    with autograd.record():
        y = func.grad(lambda x: (w * w[::-1] * x).sum())(np.ones(2))[0]  # w0 w1
    y.backward()
    equal(w.grad, [3, 2])


def test_large_arrays_have_the_gradients_of_the_tape():
    x = np.random.normal(size=(300, 300))
    x.attach_grad()
    with autograd.record():
        y = (np.sin(x) @ x).sum()
    y.backward()
    equal(func.grad(lambda x: (np.sin(x) @ x).sum())(x), x.grad.asnumpy(), rtol=1e-9)


def test_the_naive_engine_traces_as_well(monkeypatch):
    monkeypatch.setattr(SETTINGS, "engine", "naive")
    for _ in range(2):
        equal(func.grad(lambda x: (np.exp(x)[1:] * x[0]).sum())(np.array([1.0, 2.0])), [host.exp(2), host.exp(2)])


def test_paused_and_detached_values_are_constants():
    def f(x):
        with autograd.pause():
            y = x * x
        return (y * x * x.detach()).sum()

    equal(func.grad(f)(np.array([2.0, 3.0])), [8, 27])
    equal(func.grad(f)(nd.array([2.0, 3.0])), [8, 27])


def test_scalars_may_change_without_a_new_structure():
    for rate in (0.5, 0.25, 1.0, 3):
        equal(func.grad(lambda x, rate=rate: (x * rate).sum())(np.ones(2)), [rate, rate])


def test_random_draws_are_the_same_for_value_and_gradient():
    noise, g = func.value_and_grad(lambda x: (nd.random.normal(shape=(2,)) * x).sum())(nd.array([1.0, 1.0]))
    assert float(noise.asscalar()) == pytest.approx(float(g.sum().asscalar()), rel=1e-5)


def test_a_write_to_an_array_from_outside_raises_and_is_undone():
    kept = np.zeros(2)

    def f(x):
        kept[:] = x
        return x.sum()

    with pytest.raises(AutogradError, match="writes to an array from outside"):
        func.grad(f)(np.ones(2))
    assert kept.tolist() == [0, 0]

    def own(x):
        x *= 2
        y = np.zeros(2)
        y[0] = x[1]
        return y.sum()

    x = np.ones(2)
    equal(func.grad(own)(x), [0, 2])
    assert x.tolist() == [1, 1]


def test_an_array_written_after_it_was_read_was_read_before():
    c = np.array([1.0, 1.0])

    def f(x):
        y = x * c
        c[:] = 5
        return y.sum()

    equal(func.grad(f)(np.ones(2)), [1, 1])
    assert c.tolist() == [5, 5]


def test_backward_and_attach_grad_inside_raise():
    def backward(x):
        with autograd.record():
            y = (x * x).sum()
        y.backward()
        return y

    def marked(x):
        x.attach_grad()
        return x.sum()

    for f in (backward, marked):
        with pytest.raises(AutogradError, match=r"func"):
            func.grad(f)(np.ones(2))
        assert not autograd.is_recording()


def test_errors_leave_nothing_open():
    with pytest.raises(ZeroDivisionError):
        func.grad(lambda x: x / (1 // 0))(np.ones(2))
    assert not autograd.is_recording()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: func.grad(lambda x: x)(np.ones(2)), ShapeError, r"scalar.*\(2,\)"),
        (lambda: func.grad(lambda x: (x, x))(np.ones(())), ShapeError, "one scalar"),
        (lambda: func.grad(lambda x: (x > 0).sum())(np.ones(2)), DTypeError, "floating-point"),
        (lambda: func.grad(lambda x: x.sum())(np.array([1, 2])), DTypeError, "no gradient.*int64"),
        (lambda: func.grad(lambda x: x.sum(), argnums=1)(np.ones(2)), ParameterError, "argnums"),
        (lambda: func.grad(lambda x: x)("text"), WrongArgument, "no array"),
        (lambda: func.grad(lambda x: x.sum(), has_aux=True)(np.ones(2)), WrongArgument, "pair"),
        (lambda: func.vjp(lambda x: x, np.ones(2))[1](np.ones(3)), ShapeError, r"\(3,\) for \(2,\)"),
        (lambda: func.vjp(lambda x: [x], np.ones(2))[1](np.ones(2)), WrongArgument, "structures"),
    ],
)
def test_mistakes(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_vjp_runs_the_function_once():
    calls = []

    def f(x):
        calls.append(1)
        return np.sin(x), {"twice": 2 * x}

    _, pull, aux = func.vjp(f, np.array([1.0, 2.0]), has_aux=True)
    for scale in (1.0, 2.0):
        equal(pull(np.full(2, scale))[0], scale * host.cos([1, 2]))
    assert len(calls) == 1
    equal(aux["twice"], [2, 4])
    second = func.grad(lambda x: func.vjp(np.sin, x)[1](np.ones(2))[0].sum())(np.array([1.0, 2.0]))
    equal(second, -host.sin([1, 2]))


def test_results_and_arguments_share_no_memory():
    x = np.ones(2)
    (a, b), _ = func.vjp(lambda x: (x, x), x)
    a[:] = 5
    assert (b.tolist(), x.tolist()) == ([1, 1], [1, 1])
    first, second = func.grad(lambda x, y: (x + y).sum(), argnums=(0, 1))(x, np.ones(2))
    first[:] = 7
    assert second.tolist() == [1, 1]


def test_the_hessian_is_the_closed_form():
    a = np.array([[2.0, 1.0], [0.5, 3.0]])
    x = np.array([0.3, -0.7])
    equal(func.hessian(lambda x: x @ a @ x)(x), (a + a.T).asnumpy())
    e = host.exp(x.asnumpy())
    equal(func.hessian(lambda x: np.exp(x).sum() * x[0])(x), [[e[0] * (2 + 0.3), e[1]], [e[1], 0.3 * e[1]]])


@pytest.mark.parametrize("size", [3, 300])
def test_checkpointed_functions_have_the_same_gradients(size):
    x = np.random.normal(size=(size, size)) / size

    def layer(x):
        return np.tanh(x @ x + x)

    kept = func.checkpoint(layer)
    equal(func.grad(lambda x: kept(kept(x)).sum())(x), func.grad(lambda x: layer(layer(x)).sum())(x).asnumpy(), rtol=1e-9)
    x.attach_grad()
    with autograd.record():
        y = kept(kept(x)).sum()
    y.backward()
    equal(x.grad, func.grad(lambda x: layer(layer(x)).sum())(x).asnumpy(), rtol=1e-9)
