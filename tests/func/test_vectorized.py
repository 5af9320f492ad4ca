"""`mx.func.vmap`: functions of one example as functions of batches."""

from itertools import product

import numpy as host
import pytest

import twofold as mx
from twofold import autograd
from twofold.errors import AutogradError, ParameterError, ShapeError
from twofold.graph.batch import LOOPED

from .differentiable_cases import CASES

np, nd, func = mx.np, mx.nd, mx.func


def equal(found, expected, rtol=1e-10):
    assert found.shape == host.shape(expected)
    host.testing.assert_allclose(found.asnumpy(), expected, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("case", [c for c in CASES if c.name not in ("branches", "while")], ids=lambda case: case.name)
def test_a_batch_is_the_stack_of_its_examples(case):
    draw = host.random.default_rng(3)
    batches = [draw.uniform(0.3, 2.0, (3, *shape)) for shape in case.shapes]
    for flags in product((True, False), repeat=len(batches)):
        if any(flags):
            args = [np.array(b if f else b[0]) for b, f in zip(batches, flags, strict=True)]
            found = func.vmap(case.function, in_axes=tuple(0 if f else None for f in flags))(*args)
            rows = [[np.array(b[k] if f else b[0]) for b, f in zip(batches, flags, strict=True)] for k in range(3)]
            equal(found, host.stack([case.function(*row).asnumpy() for row in rows]))


def test_axes_pytrees_and_keywords():
    def f(tree, scale, shift=0):
        return {"y": tree["a"] * scale + shift, "same": scale}

    a = host.arange(6.0).reshape(2, 3)
    found = func.vmap(f, in_axes=({"a": 1}, None), out_axes={"y": -1, "same": None})(
        {"a": np.array(a)}, np.array(2.0), shift=np.arange(3.0)
    )
    equal(found["y"], a * 2 + host.arange(3))
    equal(found["same"], 2)
    equal(func.vmap(lambda x: np.ones(2) * 3, axis_size=2)(np.zeros((2, 1))), host.full((2, 2), 3))


def test_vmap_nests_with_itself_and_with_gradients():
    x, y = np.random.normal(size=(3, 2)), np.random.normal(size=(4, 2))
    outer = func.vmap(func.vmap(np.dot, in_axes=(None, 0)), in_axes=(0, None))
    equal(outer(x, y), (x @ y.T).asnumpy())
    per_sample = func.vmap(func.grad(lambda w, x: np.exp(w @ x)), in_axes=(None, 0))
    w = np.array([0.3, -0.2])
    equal(per_sample(w, x), (np.exp(x @ w)[:, None] * x).asnumpy())
    total = func.grad(lambda w: func.vmap(lambda x: np.exp(w @ x))(x).sum())
    equal(total(w), per_sample(w, x).sum(0).asnumpy())
    hessians = func.vmap(func.hessian(lambda x: (x**3).sum()))(x)
    equal(hessians, host.stack([host.diag(6 * row) for row in x.asnumpy()]))
    tangent = func.jvp(lambda w: func.vmap(lambda x: np.sin(w @ x))(x), (w,), (np.ones(2),))[1]
    equal(tangent, (np.cos(x @ w) * x.sum(1)).asnumpy())


def test_gradients_of_their_own_stay():
    x = nd.array([[-1.0, 0.0], [2.0, 3.0]])
    label = nd.array([1.0, 0.0])
    found = func.grad(lambda x: func.vmap(lambda a, b: nd.SoftmaxOutput(a.reshape((1, 2)), b.reshape((1,))))(x, label).sum())(x)
    marked = x.copy()
    marked.attach_grad()
    with autograd.record():
        y = nd.SoftmaxOutput(marked, label)
    y.backward()
    equal(found, marked.grad.asnumpy(), rtol=1e-6)


def test_random_numbers_need_a_decision():
    def f(x):
        return x + nd.random.uniform(shape=(2,))

    x = nd.zeros((50, 2))
    with pytest.raises(ParameterError, match="randomness"):
        func.vmap(f)(x)
    assert len({tuple(row) for row in func.vmap(f, randomness="same")(x).asnumpy().tolist()}) == 1
    assert len({tuple(row) for row in func.vmap(f, randomness="different")(x).asnumpy().tolist()}) == 50


def test_operators_without_a_rule_run_in_a_loop_and_warn_once():
    LOOPED.discard("convolve_full")
    a, v = np.random.normal(size=(3, 4)), np.random.normal(size=(2,))
    with pytest.warns(UserWarning, match="convolve_full"):
        found = func.vmap(lambda a: np.convolve(a, v))(a)
    equal(found, host.stack([host.convolve(row, v.asnumpy()) for row in a.asnumpy()]))
    assert "convolve_full" in LOOPED


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: func.vmap(lambda x: x if x > 0 else -x)(np.ones(2)), AutogradError, "value"),
        (lambda: func.vmap(lambda x: x)(np.ones(())), ShapeError, "no such axis"),
        (lambda: func.vmap(lambda x, y: x)(np.ones(2), np.ones(3)), ShapeError, "2, 3"),
        (lambda: func.vmap(lambda x: x, in_axes=None)(np.ones(2)), ShapeError, "axis_size"),
        (lambda: func.vmap(lambda x: x, in_axes=(0, 0))(np.ones(2)), ParameterError, "in_axes"),
        (lambda: func.vmap(lambda x: x, out_axes=None)(np.ones(2)), ParameterError, "out_axes"),
        (lambda: func.vmap(lambda x: x, randomness="some"), ParameterError, "randomness"),
    ],
)
def test_mistakes(call, error, text):
    with pytest.raises(error, match=text):
        call()
