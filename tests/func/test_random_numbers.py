"""`mx.func`: functions that draw, in transforms of transforms: each run and each step of a loop draws anew."""

import pytest

import twofold as mx

np, nd, func = mx.np, mx.nd, mx.func


def draw():
    return nd.random.normal(shape=(1,)).as_np_ndarray()


def loop(x):
    return func.scan(lambda c, _: (c + draw(), None), x, length=2)[0]


def rows(function):
    return func.vmap(function, randomness="different")


def of_random(x):
    return mx.npx.dropout(np.broadcast_to(x, (40,)) + 1, p=0.5, mode="always")


FUNCTIONS = {
    "draw": lambda x: x + draw(),
    "only a draw": lambda x: draw(),
    "scan": loop,
    "scan of nothing": lambda x: func.scan(lambda c, _: (c, draw()), np.zeros(1), length=2)[1],
    "scan in a scan": lambda x: func.scan(lambda c, _: (loop(c), None), x, length=2)[0],
    "jit": func.jit(lambda x: x + draw()),
    "jit in a jit": func.jit(lambda x: func.jit(lambda y: y + draw())(x) + draw()),
    "jit in a scan": lambda x: func.scan(lambda c, _: (func.jit(lambda y: y + draw())(c), None), x, length=2)[0],
    "vmap": lambda x: rows(lambda y: y + draw())(np.zeros((2, 1)) + x),
    "vmap of nothing": lambda x: rows(lambda y: y + draw())(np.zeros((2, 1))),
    "one draw for all": lambda x: func.vmap(lambda y: draw(), randomness="same")(np.zeros((2, 1))),
    "scan in a vmap": lambda x: rows(loop)(np.zeros((2, 1)) + x),
    "jit in a vmap": lambda x: rows(func.jit(lambda y: y + draw()))(np.zeros((2, 1))),
    "gradient": func.grad(lambda x: (loop(x) * draw()).sum()),
    "checkpoint": func.grad(lambda x: func.checkpoint(lambda y: (loop(y) * y).sum())(x)),
    "cond": lambda x: func.cond(x.sum() > -100, loop, lambda y: y, x),
    "dropout": of_random,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_run_of_a_compiled_function_draws_anew(name):
    compiled = func.jit(FUNCTIONS[name])
    found = [str(compiled(np.ones(1)).tolist()) for _ in range(4)]
    assert len(set(found)) == 4


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_step_of_a_loop_draws_anew(name):
    _, found = func.scan(lambda c, _: (c, FUNCTIONS[name](c)), np.ones(1), length=4)
    assert len(set(map(str, found.tolist()))) == 4


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_seed_fixes_what_is_drawn(name):
    compiled, found = func.jit(FUNCTIONS[name]), []
    # in a function that is traced, in one that is compiled, and in one that is not
    for call in (compiled, compiled, FUNCTIONS[name]):
        mx.random.seed(5)
        found.append([str(call(np.ones(1)).tolist()) for _ in range(3)])
    assert found[0] == found[1] == found[2]


def test_examples_differ():
    first, second = rows(lambda x: func.scan(lambda c, _: (c, draw()), x, length=2)[1])(np.zeros((2, 1))).tolist()
    assert first != second


@pytest.mark.parametrize(
    "transform",
    [
        func.jit,
        lambda f: lambda x: func.scan(lambda c, _: (c, f(c)), x, length=2)[1],
        rows,
        lambda f: func.jit(func.grad(lambda x: f(x).sum())),
    ],
)
def test_a_drawn_number_is_not_known_while_a_function_is_traced(transform):
    with pytest.raises(mx.errors.AutogradError, match="the value of an array is not known"):
        transform(lambda x: x * draw().item())(np.ones(2))


def test_a_drawn_number_is_known_where_a_function_runs_once():
    value, slope = func.value_and_grad(lambda x: (x * draw().item()).sum())(np.ones(1))
    assert value.item() == slope.item()
