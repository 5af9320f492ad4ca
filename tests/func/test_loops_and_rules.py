"""`mx.func`: loops, compiled functions, and derivatives of the user's."""

from functools import partial

import numpy as host
import pytest

import twofold as mx
from twofold import autograd
from twofold.errors import AutogradError, ParameterError, ShapeError, WrongArgument

np, nd, func = mx.np, mx.nd, mx.func


def equal(found, expected, rtol=1e-12):
    host.testing.assert_allclose(found.asnumpy(), expected, rtol=rtol, atol=1e-12)


# scan


def test_a_scan_is_the_loop():
    w, xs = np.random.normal(size=(2, 2)), np.random.normal(size=(5, 2))

    def step(carry, x):
        new = {"h": np.tanh(w @ carry["h"] + x), "n": carry["n"] + 1}
        return new, (new["h"] * 2, carry["n"])

    for reverse in (False, True):
        last, (ys, counts) = func.scan(step, {"h": np.zeros(2), "n": np.array(0)}, xs, reverse=reverse)
        h, rows = host.zeros(2), []
        for x in xs.asnumpy()[:: -1 if reverse else 1]:
            h = host.tanh(w.asnumpy() @ h + x)
            rows.append(2 * h)
        equal(last["h"], h)
        equal(ys, rows[:: -1 if reverse else 1])
        assert int(last["n"]) == 5
        assert counts.tolist() == list(range(5))[:: -1 if reverse else 1]


def test_a_scan_has_gradients_on_a_tape_and_random_numbers_of_its_own():
    w = np.array([0.5, 0.25])
    w.attach_grad()
    with autograd.record():
        total, _ = func.scan(lambda c, _: (c * w, None), np.ones(2), length=3)
        total.sum().backward()
    equal(w.grad, 3 * w.asnumpy() ** 2)
    _, drawn = func.scan(lambda c, _: (c, nd.random.uniform(shape=(2,)) + c), nd.zeros((2,)), length=4)
    assert len(set(drawn.asnumpy().ravel().tolist())) == 8


# cond


def test_a_cond_computes_one_function_and_has_gradients_on_a_tape():
    w = nd.array([2.0, 3.0])
    w.attach_grad()
    for x, value, gradient in ((1.0, [2, 3], [1, 1]), (-1.0, [-0.5, -1 / 3], [0.25, 1 / 9])):
        x = nd.array([x])
        with autograd.record():
            y = func.cond(x > 0, lambda x: x * w, lambda x: x / w, x)
        y.backward()
        equal(y, value, 1e-6)
        equal(w.grad, gradient, 1e-6)
    # the other function would raise if it was computed
    singular = func.jit(lambda a: func.cond(abs(np.linalg.det(a)) > 1e-9, np.linalg.inv, lambda a: a, a))
    equal(singular(np.zeros((2, 2))), host.zeros((2, 2)))
    equal(singular(2 * np.eye(2)), host.eye(2) / 2)


def test_a_cond_draws_and_takes_a_number_as_its_condition():
    draws = [func.cond(k, lambda: nd.random.uniform(shape=(3,)), lambda: nd.zeros((3,))).asnumpy() for k in (True, 1, 0.0)]
    assert abs(draws[0] - draws[1]).max() > 0
    assert not draws[2].any()


@pytest.mark.parametrize(
    ("program", "error", "message"),
    [
        (
            lambda x: func.cond(x > 0, np.sin, np.cos, x),
            ShapeError,
            "cond: pred has one element: given shape (2,); reduce it by all() or any(), or choose between elements by np.where",
        ),
        (
            lambda x: func.cond(True, lambda x: (x, x), np.cos, x),
            WrongArgument,
            "cond: the functions return different structures: given (*, *) and *; return arrays nested in the same way",
        ),
        (
            lambda x: func.cond(True, lambda x: "one", np.cos, x),
            WrongArgument,
            "cond: a function returns something that is no array: given str; return np.array(…) of it",
        ),
        (
            lambda x: func.cond(True, np.sum, np.cos, x),
            ShapeError,
            "cond: the functions return arrays of different types: given float64() and float64(2,); return the same shapes and dtypes; "
            "astype converts",
        ),
    ],
)
def test_a_cond_refuses(program, error, message):
    with pytest.raises(error) as found:
        program(np.array([1.0, -1.0]))
    assert str(found.value) == message


# kinds of numbers


@pytest.mark.parametrize("rows", [None, [1, 2, 3], [True, False, True], [1.0, 2.0, 3.0]])
def test_numbers_in_the_body_of_a_scan_keep_their_kind_whatever_the_slices_are(rows):
    xs = None if rows is None else np.array(rows)

    def total(start):
        return func.scan(lambda c, _: (c * 1.5 + 2 * c.astype("int64"), c / 4), start, xs, length=3)

    last, before = total(np.array(1.25))
    wanted = [1.25]
    for _ in range(3):
        wanted.append(wanted[-1] * 1.5 + 2 * int(wanted[-1]))
    equal(last, wanted[3])
    equal(before, [w / 4 for w in wanted[:3]])
    equal(func.grad(lambda start: total(start)[0])(np.array(1.25)), 1.5**3)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: func.scan(lambda c, x: (c, x), np.ones(2)), ShapeError, "length"),
        (lambda: func.scan(lambda c, x: (c, x[0]), np.ones(2), (np.ones(2), np.ones(3))), ShapeError, "number of steps"),
        (lambda: func.scan(lambda c, x: (c[:1], x), np.ones(2), np.ones(2)), ShapeError, "changes its type"),
        (lambda: func.scan(lambda c, x: ((c, c), x), np.ones(2), np.ones(2)), WrongArgument, "carry"),
        (lambda: func.scan(lambda c, x: c, np.ones(2), np.ones(2)), WrongArgument, "pair"),
        (lambda: func.scan(lambda c, x: (c if c > 0 else -c, x), np.ones(()), np.ones(2)), AutogradError, "value"),
    ],
)
def test_mistakes_with_scan(call, error, text):
    with pytest.raises(error, match=text):
        call()


# jit


def test_a_compiled_function_is_called_once_for_each_kind_of_arguments():
    kinds = []

    @func.jit
    def f(x, tree, power=2):
        kinds.append((x.shape, power))
        return {"y": x**power + tree["a"]}, power

    for _ in range(2):
        for shape, power in (((2,), 2), ((2,), 3), ((3,), 2)):
            found, same = f(np.ones(shape) * 2, {"a": np.ones(shape)}, power=power)
            equal(found["y"], host.full(shape, 2.0**power + 1))
            assert same == power
    assert kinds == [((2,), 2), ((2,), 3), ((3,), 2)]
    assert isinstance(f(nd.ones((2,)), {"a": nd.ones((2,))})[0]["y"], nd.NDArray)


def test_a_compiled_function_reads_arrays_from_outside_anew():
    w = np.array([1.0, 2.0])
    f = func.jit(lambda x: x * w + w)
    equal(f(np.ones(2)), [2, 4])
    w[:] = [5, 6]
    equal(f(np.ones(2)), [10, 12])
    net = mx.gluon.nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(mx.init.One())
    for run in (net, func.jit(lambda x: net(x))):
        equal(run(nd.array([[1, 2]])), [[3]])
    g = func.jit(lambda x: func.grad(lambda x: net(x).sum())(x))
    equal(g(nd.array([[1, 2]])), [[1, 1]])
    net.weight.set_data(nd.array([[2, 3]]))
    equal(g(nd.array([[1, 2]])), [[2, 3]])


def test_a_compiled_function_draws_anew_and_knows_the_training_mode():
    f = func.jit(lambda x: nd.random.uniform(shape=(3,)) + x)
    assert (f(nd.zeros((3,))) != f(nd.zeros((3,)))).asnumpy().all()
    layer = mx.gluon.nn.Dropout(0.5)
    layer.hybridize()
    g = func.jit(lambda x: layer(x))
    x = nd.ones((100,))
    equal(g(x), host.ones(100))
    with autograd.train_mode():
        a, b = g(x).asnumpy(), g(x).asnumpy()
    assert (a != b).any()
    assert (a == 0).any()


def test_compiled_functions_nest_with_transforms():
    x = np.array([0.5, 1.0])
    f = func.jit(lambda x: np.sin(x) * x)
    second = func.jit(func.vmap(func.grad(func.grad(f))))
    equal(second(x), (2 * np.cos(x) - x * np.sin(x)).asnumpy())
    x.attach_grad()
    with autograd.record():
        y = f(x).sum()
    y.backward()
    equal(x.grad, (np.sin(x) + x * np.cos(x)).asnumpy())


def test_mistakes_with_jit():
    with pytest.raises(AutogradError, match="value"):
        func.jit(lambda x: x if x > 0 else -x)(np.array(1.0))
    with pytest.raises(WrongArgument, match="hashable"):
        func.jit(lambda x, s: x)(np.ones(2), {1, 2})


# derivatives of the user's


@func.custom_jvp
def log1pexp(x):
    return np.log(1 + np.exp(x))


@log1pexp.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return log1pexp(x), t * (1 - 1 / (1 + np.exp(x)))


def test_a_tangent_of_the_users_serves_both_modes_and_higher_derivatives():
    x = np.array([-1.0, 0.5, 100.0])
    s = 1 / (1 + host.exp(-x.asnumpy()))

    def total(x):
        return log1pexp(x).sum()

    equal(func.grad(total)(x), s)
    equal(func.jvp(log1pexp, (x,), (np.ones(3),))[1], s)
    equal(func.vmap(func.grad(log1pexp))(x), s)
    equal(func.jacfwd(func.vmap(log1pexp))(x), host.diag(s))
    second = (s * (1 - s))[:2]
    for f in (func.hessian(total), func.jacrev(func.grad(total)), func.jacfwd(func.jacfwd(total))):
        equal(f(x[:2]), host.diag(second))
    third = func.grad(func.grad(func.grad(log1pexp)))
    equal(third(x[1]), second[1] * (1 - 2 * s[1]))
    x.attach_grad()
    with autograd.record():
        y = total(x)
    y.backward()
    equal(x.grad, s)


def test_a_rule_that_uses_the_function_itself_is_followed_four_deep():
    own_exp = func.custom_jvp(lambda x: np.exp(x))

    @own_exp.defjvp
    def _(primals, tangents):
        out = own_exp(primals[0])
        return out, out * tangents[0]

    g = own_exp
    for _ in range(4):
        g = func.grad(g)
        assert float(g(np.array(0.3))) == pytest.approx(host.exp(0.3))
    with pytest.raises(AutogradError, match="order 5"):
        func.grad(g)(np.array(0.3))


def test_one_rule_for_each_argument():
    @func.custom_jvp
    def product(x, y):
        return x * y

    product.defjvps(lambda t, out, x, y: 2 * t * y, None)
    assert [float(g) for g in func.grad(product, (0, 1))(np.array(3.0), np.array(4.0))] == [8, 0]
    assert float(func.jvp(product, (np.array(3.0), 4.0), (np.array(1.0), 1.0))[1]) == 8


@func.custom_vjp
def scaled(x, tree):
    return np.sin(x) * tree["a"]


scaled.defvjp(
    lambda x, tree: (scaled(x, tree), (np.cos(x), np.sin(x), tree, "text")),
    lambda kept, dout: (dout * kept[0] * kept[2]["a"] * 10, {"a": dout * kept[1], "b": None}),
)


def test_a_gradient_of_the_users():
    x, tree = np.array(0.7), {"a": np.array(2.0), "b": None}
    gx, ga = func.grad(scaled, (0, 1))(x, tree)
    assert float(gx) == pytest.approx(20 * host.cos(0.7))
    assert float(ga["a"]) == pytest.approx(host.sin(0.7))
    assert float(func.hessian(scaled)(x, tree)) == pytest.approx(-20 * host.sin(0.7))
    assert float(func.grad(func.grad(scaled))(x, tree)) == pytest.approx(-20 * host.sin(0.7))
    equal(func.vmap(func.grad(scaled), in_axes=(0, None))(np.array([0.7, 0.2]), tree), 20 * host.cos([0.7, 0.2]))
    equal(func.grad(lambda x: func.vmap(lambda v: scaled(v, tree))(x).sum())(np.array([0.7, 0.2])), 20 * host.cos([0.7, 0.2]))
    assert float(scaled(x, tree)) == pytest.approx(2 * host.sin(0.7))
    with pytest.raises(AutogradError, match="forward mode"):
        func.jvp(lambda x: scaled(x, tree), (x,), (x,))


def test_arguments_without_a_gradient():
    @partial(func.custom_vjp, nondiff_argnums=(0, 2))
    def apply(f, x, times):
        return f(x) * times

    limit = np.array([0.5, 0.5])
    apply.defvjp(lambda f, x, times: (f(x) * times, None), lambda f, times, kept, dout: (np.minimum(times * dout, limit),))
    equal(func.grad(lambda x: apply(np.sin, x, times=0.25).sum())(np.ones(2)), [0.25, 0.25])
    equal(func.grad(lambda x: apply(np.sin, x, 3).sum())(np.ones(2)), [0.5, 0.5])


def test_a_straight_through_estimator():
    rounded = func.custom_vjp(lambda x: np.rint(x))
    rounded.defvjp(lambda x: (np.rint(x), None), lambda kept, dout: (dout,))
    equal(func.grad(lambda x: (rounded(x) ** 2).sum())(np.array([0.6, 1.7])), [2, 4])


def _bad(fwd=lambda x: (x, None), bwd=lambda kept, g: (g,)):
    f = func.custom_vjp(lambda x: x * 1)
    f.defvjp(fwd, bwd)
    return lambda: func.grad(lambda x: f(x).sum())(np.ones(2))


def _bad_tangent(rule):
    f = func.custom_jvp(lambda x: x * 1)
    f.defjvp(rule)
    return lambda: func.grad(lambda x: f(x).sum())(np.ones(2))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: func.grad(func.custom_vjp(lambda x: x))(np.ones(())), ParameterError, "defvjp"),
        (lambda: func.grad(func.custom_jvp(lambda x: x))(np.ones(())), ParameterError, "defjvp"),
        (_bad(bwd=lambda kept, g: g), WrongArgument, "tuple of gradients"),
        (_bad(bwd=lambda kept, g: ((g, g),)), WrongArgument, "nested"),
        (_bad(bwd=lambda kept, g: (g[:1],)), ShapeError, "gradient of another shape"),
        (_bad(fwd=lambda x: (x[:1], None)), ShapeError, "fwd returns another shape"),
        (_bad(fwd=lambda x: ((x, x), None)), WrongArgument, "another structure"),
        (_bad_tangent(lambda p, t: (p[0], t[0][:1])), ShapeError, "another shape"),
        (_bad_tangent(lambda p, t: (p[0], t[0] ** 2)), AutogradError, "not linear"),
    ],
)
def test_mistakes_with_rules(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_numpys_scalars_are_arrays_of_a_compiled_function():
    calls = []

    @func.jit
    def double(x):
        calls.append(type(x))
        return x * 2

    values = np.array([1.0, 2.5, 4.0])
    assert [float(double(x)) for x in values] == [2, 5, 8]  # elements are NumPy's scalars
    assert len(calls) == 1


def test_a_function_of_leaves_keeps_the_structure():
    params = {"w": np.array([1.0, 2.0]), "more": [np.ones(1), None]}
    found = func.tree_map(lambda p, g: p - g, params, func.tree_map(lambda p: 2 * p, params))
    assert {name: str(part) for name, part in found.items()} == {"more": "[array([-1.]), None]", "w": "[-1. -2.]"}
    assert [leaf.shape for leaf in func.tree_leaves(params)] == [(1,), (2,)]
    with pytest.raises(WrongArgument, match=r"tree_map: the structures differ.*nest"):
        func.tree_map(lambda p, g: p - g, params, {"w": 1})


def test_symbols_of_a_hybridized_block_are_refused():
    class Inside(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return func.grad(lambda y: y.sum())(x)

    block = Inside()
    block.hybridize()
    with pytest.raises(WrongArgument) as found:
        block(nd.ones((2, 2)))
    assert str(found.value) == (
        "grad: an argument is a symbol, as a hybridized block gets: given <Symbol data>; hybridize the layers instead of the block "
        "around them; loops, choices and checkpoint take symbols"
    )


def test_numbers_that_functions_return_are_arrays():
    x = np.array([1.0, 2.0], dtype="float32")
    last, (rows, ones) = func.scan(lambda c, v: (0, (v, 1)), np.array(1.0), x)
    assert (last.dtype, last.item(), rows.tolist(), ones.tolist()) == ("float64", 0, [1, 2], [1, 1])
    assert func.cond(False, np.sum, lambda v: 0.5, x).dtype == "float32"
    assert func.grad(lambda v: func.cond(v.sum() > 0, np.sum, lambda v: 0, v))(x).tolist() == [1, 1]
    assert [part.item() for part in func.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, 7.0), (0, x.sum()))] == [3, 7]
    assert func.vmap(lambda v: (v, 1.0))(x)[1].tolist() == [1, 1]
    assert func.scan(lambda c, v: (c, v), 0.0, nd.ones(3))[0].dtype is host.float32


def test_functions_may_return_nothing():
    x = np.ones(2)
    for call in (
        lambda: func.scan(lambda c, v: (None, None), None, x),
        lambda: func.cond(True, lambda v: None, lambda v: None, x),
        lambda: func.jvp(lambda v: None, (x,), (x,)),
        lambda: func.vmap(lambda v: None)(x),
        lambda: func.jit(lambda v: None)(x),
    ):
        assert func.tree_leaves(call()) == []


@pytest.mark.parametrize(
    "call",
    [
        lambda f, x: func.jvp(f, (x,), (x,)),
        lambda f, x: func.vjp(f, x),
        lambda f, x: func.linearize(f, x),
        lambda f, x: func.jacfwd(f)(x),
        lambda f, x: func.jacrev(f)(x),
    ],
)
def test_a_number_that_has_left_the_arrays_has_no_derivative(call):
    with pytest.raises(
        ShapeError, match=r"the function must return arrays: given float 3\.0; compute with functions of mx\.np up to the end"
    ):
        call(lambda v: (v, float(v.sum())), np.array([1.0, 2.0]))


def test_examples_may_be_arrays_of_numpy():
    assert func.vmap(lambda a, b: a * b)(host.ones(3), np.array([1.0, 2.0, 3.0])).tolist() == [1, 2, 3]
