"""`mx.func` by forward mode: Jacobian-vector products, linearization, Jacobians, second derivatives in a direction."""

import sys

import numpy as host
import pytest

import twofold as mx
from twofold import autograd
from twofold.errors import AutogradError, DTypeError, ShapeError, WrongArgument

from .differentiable_cases import CASES, arguments, directional

np, nd, func = mx.np, mx.nd, mx.func


def equal(found, expected, rtol=1e-12):
    host.testing.assert_allclose(found.asnumpy(), expected, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_tangent_is_the_derivative_of_finite_differences(case):
    args = arguments(case)
    draw = host.random.default_rng(5)
    directions = [draw.normal(size=a.shape) for a in args]
    primals, tangents = [np.array(a) for a in args], [np.array(d) for d in directions]
    result, found = func.jvp(case.function, primals, tangents)
    equal(result, case.function(*primals).asnumpy())
    expected = directional(case, args, directions)
    host.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6, atol=1e-6 * abs(expected).max())
    result, push = func.linearize(case.function, *primals)
    equal(result, case.function(*primals).asnumpy())
    equal(push(*tangents), found.asnumpy(), rtol=1e-10)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_modes_give_one_jacobian(case):
    args = [np.array(a) for a in arguments(case)]
    forward, reverse = func.jacfwd(case.function)(*args), func.jacrev(case.function)(*args)
    assert forward.shape == reverse.shape
    equal(forward, reverse.asnumpy(), rtol=1e-9)


def test_transforms_of_both_modes_nest_in_any_order():
    # f = sin(x y): all its third derivatives d³f/dx²dy = -2y sin(xy) - x y² cos(xy)
    x, y = 0.3, 0.7
    expected = -2 * y * host.sin(x * y) - x * y * y * host.cos(x * y)
    one = np.array(1.0)

    def by_jvp(f, place):
        def derivative(x, y):
            zero = np.zeros(())
            return func.jvp(f, (x, y), (one, zero) if place == 0 else (zero, one))[1]

        return derivative

    for first in (func.grad, by_jvp, func.jacrev, func.jacfwd):
        for second in (func.grad, by_jvp, func.jacfwd):
            for third in (func.grad, by_jvp, func.jacrev):
                f = third(second(first(lambda x, y: np.sin(x * y), 0), 1), 0)
                assert float(f(np.array(x), np.array(y))) == pytest.approx(expected, rel=1e-12)


def test_an_inner_tangent_does_not_meet_the_outer_one():
    # d/dx [x * d/dy (x + y)] = 1, not 2
    def outer(x):
        return x * func.jvp(lambda y: x + y, (np.array(1.0),), (np.array(1.0),))[1]

    assert float(func.jvp(outer, (np.array(2.0),), (np.array(1.0),))[1]) == 1


def forward(f):
    """The derivative of a function of a number, by forward mode."""
    return lambda x: func.jvp(f, (x,), (np.array(1.0),))[1]


#: The fourth power of a number, by each kind of control flow.
FOURTH_POWERS = {
    "scan": lambda x: func.scan(lambda c, _: (c * c, None), x, length=2)[0],
    "fori_loop": lambda x: func.fori_loop(0, 2, lambda _, c: c * c, x),
    "while_loop": lambda x: func.while_loop(lambda c: c[1] < 2, lambda c: (c[0] * c[0], c[1] + 1), (x, np.array(0)))[0],
    "cond": lambda x: func.cond(x > 0, lambda x: x**4, lambda x: x, x),
    "switch": lambda x: func.switch(np.array(1), [lambda x: x, lambda x: x**4], x),
    "compiled": func.jit(lambda x: func.scan(lambda c, _: (c * c, None), x, length=2)[0]),
    "batched": lambda x: func.vmap(lambda x: func.scan(lambda c, _: (c * c, None), x, length=2)[0])(x[None])[0],
}


@pytest.mark.parametrize("name", FOURTH_POWERS)
def test_tangents_of_control_flow_do_not_meet(name):
    f, x = FOURTH_POWERS[name], np.array(0.5)
    assert float(forward(forward(f))(x)) == pytest.approx(3)
    assert float(func.jacfwd(forward(f))(x)) == pytest.approx(3)
    assert float(forward(forward(forward(f)))(x)) == pytest.approx(12)
    if name != "while_loop":  # a loop whose length values decide has no reverse mode
        assert float(forward(forward(func.grad(f)))(x)) == pytest.approx(12)
        assert float(func.grad(forward(forward(f)))(x)) == pytest.approx(12)


def test_pytrees_and_aux():
    def f(tree, scale):
        return {"y": tree["a"] * tree["b"][0] * scale}, {"seen": tree["a"]}

    tree = {"a": np.array([1.0, 2.0]), "b": [np.array([3.0, 4.0])]}
    direction = {"a": np.array([1.0, 0.0]), "b": [np.array([0.0, 1.0])]}
    result, tangent, aux = func.jvp(f, (tree, 2.0), (direction, 0.5), has_aux=True)
    equal(result["y"], [6, 16])
    equal(tangent["y"], [6 + 1.5, 4 + 4])
    equal(aux["seen"], [1, 2])


def test_hvp_is_the_product_with_the_hessian():
    x, v = np.random.normal(size=(4,)), np.random.normal(size=(4,))

    def f(x):
        return (np.exp(x) * x[::-1]).sum() + np.prod(x)

    (found,) = func.hvp(f, (x,), (v,))
    equal(found, (func.hessian(f)(x) @ v).asnumpy(), rtol=1e-10)
    both = func.hvp(lambda x, y: (x * y**2).sum(), (x, v), (np.ones(4), np.zeros(4)))
    equal(both[0], host.zeros(4))
    equal(both[1], 2 * v.asnumpy())


def test_complex_functions():
    z, t = np.array([1 + 2j, 0.5 - 1j]), np.array([0.3 + 0.1j, -1j])
    for f, derivative in (
        (lambda z: z * z * z, lambda z: 3 * z**2),
        (np.exp, host.exp),
        (lambda z: 1 / z, lambda z: -1 / z**2),
    ):
        equal(func.jvp(f, (z,), (t,))[1], derivative(z.asnumpy()) * t.asnumpy())
    equal(func.jvp(lambda z: abs(z), (z,), (t,))[1], (z.asnumpy().conj() * t.asnumpy()).real / abs(z.asnumpy()))
    equal(func.jvp(np.conj, (z,), (t,))[1], t.asnumpy().conj())
    equal(func.jvp(lambda z: z.real * z.imag, (z,), (t,))[1], t.asnumpy().real * z.asnumpy().imag + z.asnumpy().real * t.asnumpy().imag)


def test_tangents_are_recorded_on_the_tape():
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y = func.jvp(lambda x: x**3, (x,), (np.ones(2),))[1].sum()
    y.backward()
    equal(x.grad, 6 * x.asnumpy())


def test_loops_have_tangents():
    def f(x):
        outputs, state = nd.contrib.foreach(lambda row, s: (row * s, s * row + 1), x.as_nd_ndarray(), nd.ones((2,), dtype="float64"))
        return (outputs.as_np_ndarray().sum() + state.as_np_ndarray().prod()).reshape(1)

    x, v = host.array([[0.5, 1.5], [2.0, 0.3], [1.1, 0.9]]), host.array([[1.0, -1.0], [0.5, 2.0], [0.0, 1.0]])
    step = 1e-6
    expected = (f(np.array(x + step * v)).asnumpy() - f(np.array(x - step * v)).asnumpy()) / (2 * step)
    host.testing.assert_allclose(func.jvp(f, (np.array(x),), (np.array(v),))[1].asnumpy(), expected, rtol=1e-7)


def test_blocks():
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(5, activation="tanh", in_units=3), mx.gluon.nn.LayerNorm(in_channels=5), mx.gluon.nn.Dense(2, in_units=5))
    net.initialize(mx.init.Normal(1))
    x, v = nd.random.normal(shape=(2, 3)), nd.random.normal(shape=(2, 3))
    expected = (net(x + 1e-3 * v) - net(x - 1e-3 * v)) / 2e-3
    for _ in range(2):
        found = func.jvp(net, (x,), (v,))[1]
        host.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=2e-3, atol=2e-3)
        net.hybridize()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: func.jvp(lambda x: x, (np.ones(2),), (np.ones(3),)), ShapeError, r"\(3,\) for \(2,\)"),
        (lambda: func.jvp(lambda x: x, (np.ones(2),), ([np.ones(2)],)), WrongArgument, "structures"),
        (lambda: func.jvp(lambda x: x, (np.array([1]),), (np.ones(1),)), DTypeError, "no gradient"),
        (lambda: func.jacfwd(lambda x: x > 0)(np.ones(2)), DTypeError, "bool"),
    ],
)
def test_mistakes(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_code_of_the_users_has_no_forward_mode():
    class Double(autograd.Function):
        def forward(self, x):
            return 2 * x

        def backward(self, dy):
            return 2 * dy

    with pytest.raises(AutogradError, match="forward mode"):
        func.jvp(lambda x: Double()(x), (np.ones(2),), (np.ones(2),))


def test_a_step_of_a_compiled_loop_enters_few_functions():
    def entered(steps):
        looped = func.jit(lambda x: func.scan(lambda c, row: (np.tanh(c * 0.5 + row), c), x[0], x)[0])
        x, calls = np.ones((steps, 4)), []
        for _ in range(4):
            looped(x)
        sys.setprofile(lambda frame, event, arg: calls.append(event))
        looped(x)
        sys.setprofile(None)
        return calls.count("call")

    # the body's program and kernel, a row of the data, two rows that are written
    assert (entered(48) - entered(16)) / 32 <= 12


def test_the_direction_of_a_loop_is_one_loop_of_directions():
    x = np.ones(3)

    def step(c, r):
        return (np.sin(c * r), c)

    wanted = [func.jvp(lambda v, k=k: func.scan(step, v, x[:k])[0], (x,), (x,))[1] for k in (1, 2)]
    equal(wanted[0], host.cos(1) * host.ones(3))
    equal(wanted[1], host.cos(host.sin(1)) * host.cos(1) * host.ones(3))
