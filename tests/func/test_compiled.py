"""`jit` from the third call on: small arrays run the program without other operations' frames, and all other calls are still right."""

import math

import numpy as host
import pytest

from twofold import autograd, func, gluon, initializer, nd, np
from twofold.config import SETTINGS

from tests.statements import frames_of

A = host.linspace(-1, 1, 6)


def warm(f, *args, **options):
    """The result of a compiled function, after the calls that compile it."""
    for _ in range(3):
        f(*args, **options)
    return f(*args, **options)


def equal(found, expected):
    host.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-12)


def test_a_gradient_of_a_small_array_takes_few_frames():
    step = func.jit(func.grad(lambda x: (x * x).sum()))
    x = np.array(A)
    warm(step, x)
    # the function, the program, and what runs it outside the caller's NumPy settings
    assert frames_of("step(x)", {"step": step, "x": x}) <= 3
    equal(step(x), 2 * A)


def test_trees_and_constants_keep_their_structure():
    @func.jit
    def f(tree, scale, name, shift=None):
        y = tree["a"] * scale + 3
        return {name: [y, (tree["b"][0], y if shift is None else y + shift)], "kept": 7}

    tree = {"b": [np.array(A)], "a": np.array(2 * A)}
    found = warm(f, tree, 1.5, "z", shift=np.array(A))
    assert (list(found), found["kept"], type(found["z"]), type(found["z"][1])) == (["kept", "z"], 7, list, tuple)
    equal(found["z"][1][1], 3 * A + 3 + A)
    # another constant, and no option, are other programs
    equal(warm(f, tree, 2, "z")["z"][1][1], 4 * A + 3)
    equal(warm(f, tree, 1.5, "z")["z"][1][1], 3 * A + 3)


def test_results_own_their_memory():
    same = func.jit(lambda x: x)
    twice = func.jit(lambda x: [x + 1] * 2)
    x = np.array(A)
    y = warm(same, x)
    y[0] = 5
    equal(x, A)
    x[1] = 7
    assert (float(y[0]), float(y[1])) == (5, A[1])
    first, second = warm(twice, np.array(A))
    first[0] = 9
    equal(second, A + 1)


def test_signs_of_zero_and_kinds_of_numbers_are_told_apart():
    f = func.jit(lambda x, s: np.copysign(x, s))
    for s in (0.0, -0.0):
        equal(warm(f, np.ones(2), s), host.copysign(1, [s, s]))
    g = func.jit(lambda x, s: np.full(2, s) + 0 * x)
    assert [warm(g, np.ones(2, "float32"), s).tolist() for s in (1, True, 1.0)] == [[1, 1]] * 3
    calls = []
    h = func.jit(lambda x, s: calls.append(s) or x + s)
    assert math.isnan(float(warm(h, np.ones(1), float("nan"))[0]))
    assert len(calls) == 1


@pytest.mark.parametrize("module", [np, nd], ids=["np", "nd"])
def test_classes_and_types_are_told_apart(module):
    f = func.jit(lambda x: x * 2)
    for dtype in ("float64", "float32"):
        found = warm(f, module.array(A, dtype=dtype))
        assert (type(found), str(host.dtype(found.dtype))) == (type(module.array(A)), dtype)
    assert warm(f, module.array(A[:2])).shape == (2,)


def test_views_large_arrays_and_recorded_ones_take_the_general_path():
    f = func.jit(lambda x: np.sin(x) * 2)
    x, large = np.array(A), host.linspace(0, 1, 1 << 20)
    warm(f, x)
    equal(f(x[::2].reshape(3)), 2 * host.sin(A[::2]))
    equal(warm(f, np.array(large)), 2 * host.sin(large))
    x.attach_grad()
    with autograd.record():
        y = f(x).sum()
    y.backward()
    equal(x.grad, 2 * host.cos(A))
    equal(func.grad(lambda x: f(x).sum())(x), 2 * host.cos(A))


def test_training_mode_and_arrays_from_outside_are_those_of_the_call():
    f = func.jit(lambda x: x + 1 if autograd.is_training() else x - 1)
    x = np.array(A)
    equal(warm(f, x), A - 1)
    with autograd.train_mode():
        equal(warm(f, x), A + 1)
    equal(f(x), A - 1)
    w = np.array([1.0, 2.0])
    g = func.jit(lambda x: x * w)
    equal(warm(g, np.ones(2)), [1, 2])
    w[:] = [3, 4]
    equal(g(np.ones(2)), [3, 4])


def test_a_changed_setting_reaches_compiled_functions(monkeypatch):
    f, x = func.jit(lambda x: np.exp(x)), np.array(A)
    warm(f, x)
    few = frames_of("f(x)", {"f": f, "x": x})
    monkeypatch.setattr(SETTINGS, "defer_elements", 1)  # no array is small now
    equal(f(x), host.exp(A))
    assert frames_of("f(x)", {"f": f, "x": x}) > few


def test_nested_lists_of_traced_and_known_numbers_become_an_array():
    def matrix(x):
        return np.array([[1.0, x], (x, 2)])

    x = np.array([3.0, -1.0])
    equal(func.jit(matrix)(x[0]), [[1, 3], [3, 2]])
    equal(func.vmap(matrix)(x), [[[1, v], [v, 2]] for v in (3, -1)])
    assert float(func.grad(lambda x: (matrix(x) ** 2).sum())(x[0])) == 12
    mixed = func.jit(lambda x: np.array([[x, 1], [2, 0.5]]))(np.array(2, dtype="int32"))
    assert (mixed.tolist(), mixed.dtype) == ([[2, 1], [2, 0.5]], "float64")


def test_a_parameter_that_is_initialized_again_is_read_anew():
    net = gluon.nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(initializer.One())
    calls = []
    compiled = func.jit(lambda x: calls.append(1) or net(x) + nd.ones((1, 1)))
    x = nd.ones((1, 2))
    assert [compiled(x).asscalar() for _ in range(3)] == [3, 3, 3]
    net.initialize(initializer.Constant(4), force_reinit=True)
    assert [compiled(x).asscalar() for _ in range(3)] == [9, 9, 9]
    assert len(calls) == 2
