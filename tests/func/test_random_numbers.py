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


generator = np.random.default_rng(0)


def shuffled(x):
    x = np.arange(40) + np.zeros(40) * x.sum()
    np.random.shuffle(x)
    return x


def written(x):
    out = np.zeros(3) + x
    return generator.random(out=out)


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
#: Where they are traced, these draw from the stream of `mx.random.seed`; else from NumPy's own.
NUMPYS = {
    "NumPy's numbers": lambda x: x + np.random.normal(size=(1,)),
    "a number of NumPy's": lambda x: x + np.random.uniform(),
    "a generator's": lambda x: x + generator.normal(size=1) + generator.random(),
    "parameters that are not known": lambda x: np.random.normal(x, 2.0, size=(3, 1)),
    "NumPy's in a loop": lambda x: func.scan(lambda c, _: (c + np.random.normal(size=1), None), x, length=2)[0],
    "NumPy's in a vmap": lambda x: rows(lambda y: y + np.random.exponential(2.0))(np.zeros((2, 1)) + x),
    "a choice": lambda x: np.random.choice(np.arange(1e6) + x[0], 2),
    "a permutation": lambda x: np.random.permutation(40) + x,
    "a shuffle": shuffled,
    "written to an array": written,
}
FUNCTIONS |= NUMPYS


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
    for call in (compiled, compiled, *([] if name in NUMPYS else [FUNCTIONS[name]])):
        mx.random.seed(5)
        found.append([str(call(np.ones(1)).tolist()) for _ in range(3)])
    assert found[0] == found[1] == found[-1]


def test_numbers_of_numpys_follow_the_distribution():
    mx.random.seed(3)
    found = func.jit(lambda x: func.scan(lambda c, _: (c, np.random.normal(10.0, 3.0, size=50)), x, length=200)[1])(np.zeros(1))
    assert abs(found.mean().item() - 10) < 0.1
    assert abs(found.std().item() - 3) < 0.1

    # a Metropolis sampler of the normal distribution: proposals that were frozen would not move it
    def step(x, _):
        proposed = x + np.random.normal()
        x = np.where(np.random.uniform() < np.exp((x**2 - proposed**2) / 2), proposed, x)
        return x, x

    chain = func.jit(lambda x: func.scan(step, x, length=4000)[1])(np.array(0.0))
    assert abs(chain.std().item() - 1) < 0.15


def test_a_function_that_runs_once_draws_numpys_own_numbers():
    np.random.seed(4)
    slope = func.grad(lambda x: x * np.random.normal())(np.array(1.0))
    np.random.seed(4)
    assert slope.item() == np.random.normal()


def test_examples_that_may_not_draw():
    with pytest.raises(mx.errors.ParameterError, match='the function draws random numbers; pass randomness="different"'):
        func.vmap(lambda x: x + np.random.normal(size=3))(np.zeros((2, 3)))
    same = func.vmap(lambda x: x + np.random.normal(size=3), randomness="same")(np.zeros((2, 3))).tolist()
    assert same[0] == same[1]


def test_parameters_of_numpys_numbers_have_no_gradient():
    with pytest.raises(mx.errors.AutogradError, match=r"the host function np.random.normal has no gradient"):
        func.grad(func.jit(lambda m: np.random.normal(m, 1.0)))(np.array(0.0))


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
