"""The programs of docs/tutorial/functions.md, written once for `mx.np` with `mx.func` and for `jax.numpy` with `jax`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

#: A program: how its compiled function and its arguments are made from the two modules, and a source of random numbers.
Program = Callable[[Any, Any, Any], tuple[Callable[..., Any], list[Any]]]


def _weights(np: Any, draw: Any, *before: int) -> list[dict[str, Any]]:
    shapes = ((1, 32), (32, 1))
    return [{"w": np.array(draw.normal(size=(*before, *s))), "b": np.zeros((*before, s[1]))} for s in shapes]


def _functions(np: Any, func: Any) -> tuple[Any, Any]:
    """A perceptron at one point, and its loss on many."""

    def network(layers: Any, x: Any) -> Any:
        hidden, last = layers
        return (np.tanh(np.dot(x, hidden["w"]) + hidden["b"]) @ last["w"] + last["b"])[0]

    def loss(layers: Any, x: Any, y: Any) -> Any:
        return ((func.vmap(network, in_axes=(None, 0))(layers, x) - y) ** 2).mean()

    return network, loss


def _stepped(layers: Any, change: Any) -> Any:
    return [{name: w[name] - 0.1 * g[name] for name in w} for w, g in zip(layers, change, strict=True)]


def per_sample(np: Any, func: Any, draw: Any) -> tuple[Any, list[Any]]:
    """Gradients of 500 single examples."""
    _, loss = _functions(np, func)
    one = lambda layers, x, y: loss(layers, x[None], y[None])  # noqa: E731
    arrays = [np.array(draw.normal(size=s)) for s in ((500, 1), (500,))]
    return func.jit(func.vmap(func.grad(one), in_axes=(None, 0, 0))), [_weights(np, draw), *arrays]


def ensemble(np: Any, func: Any, draw: Any) -> tuple[Any, list[Any]]:
    """A step of descent of 50 networks."""
    _, loss = _functions(np, func)
    step = lambda layers, x, y: _stepped(layers, func.grad(loss)(layers, x, y))  # noqa: E731
    arrays = [np.array(draw.normal(size=s)) for s in ((100, 1), (100,))]
    return func.jit(func.vmap(step, in_axes=(0, None, None))), [_weights(np, draw, 50), *arrays]


def maml(np: Any, func: Any, draw: Any) -> tuple[Any, list[Any]]:
    """The gradient of the loss after a step, over 25 tasks of 10 points."""
    _, loss = _functions(np, func)
    after = lambda layers, x, y: loss(_stepped(layers, func.grad(loss)(layers, x, y)), x, y)  # noqa: E731
    over_tasks = lambda layers, x, y: func.vmap(after, in_axes=(None, 0, 0))(layers, x, y).mean()  # noqa: E731
    arrays = [np.array(draw.normal(size=s)) for s in ((25, 10, 1), (25, 10))]
    return func.jit(func.grad(over_tasks)), [_weights(np, draw), *arrays]


def newton(np: Any, func: Any, draw: Any) -> tuple[Any, list[Any]]:
    """A Newton step of logistic regression: 1,000 examples of 20 numbers."""
    x, y = np.array(draw.normal(size=(1000, 20))), np.array(draw.integers(2, size=1000).astype(float))

    def likelihood(w: Any, x: Any, y: Any) -> Any:
        z = np.dot(x, w)
        return (np.logaddexp(0, z) - y * z).sum() + 0.05 * (w**2).sum()

    step = lambda w, x, y: w - np.linalg.solve(func.hessian(likelihood)(w, x, y), func.grad(likelihood)(w, x, y))  # noqa: E731
    return func.jit(step), [np.zeros(20), x, y]


def tangent_kernel(np: Any, func: Any, draw: Any) -> tuple[Any, list[Any]]:
    """A neural tangent kernel of 200 points."""
    network, _ = _functions(np, func)

    def kernel(layers: Any, x: Any) -> Any:
        rows = func.vmap(func.jacrev(network), in_axes=(None, 0))(layers, x)
        flat = [part.reshape((200, -1)) for layer in rows for part in layer.values()]
        return sum(np.dot(f, f.T) for f in flat)

    return func.jit(kernel), [_weights(np, draw), np.array(draw.normal(size=(200, 1)))]


def gaussian_process(np: Any, func: Any, draw: Any) -> tuple[Any, list[Any]]:
    """The marginal likelihood of 100 points and its gradient."""
    x = np.array(draw.normal(size=(100, 1)))

    def evidence(p: Any, x: Any, y: Any) -> Any:
        covariance = np.exp(2 * p["height"] - ((x - x.T) / np.exp(p["length"])) ** 2 / 2)
        factor = np.linalg.cholesky(covariance + np.exp(2 * p["noise"]) * np.eye(100))
        return (np.linalg.solve(factor, y) ** 2).sum() / 2 + np.log(np.diag(factor)).sum()

    p = {name: np.array(0.1) for name in ("height", "length", "noise")}
    return func.jit(func.value_and_grad(evidence)), [p, x, np.sin(3 * x[:, 0])]


PROGRAMS: dict[str, Program] = {f.__name__: f for f in (per_sample, ensemble, maml, newton, tangent_kernel, gaussian_process)}


def leaves(tree: Any) -> list[numpy.ndarray]:
    """All numbers of a result, which this waits for."""
    if isinstance(tree, dict):
        return [a for name in sorted(tree) for a in leaves(tree[name])]
    return [a for part in tree for a in leaves(part)] if isinstance(tree, (list, tuple)) else [numpy.asarray(tree)]


def ways(name: str) -> dict[str, Callable[[], Any]]:
    """A program by both libraries, in float64; their results must agree."""
    import jax

    import twofold as mx

    jax.config.update("jax_enable_x64", True)
    calls = {}
    for library, np, func in (("twofold", mx.np, mx.func), ("jax.jit", jax.numpy, jax)):
        call, args = PROGRAMS[name](np, func, numpy.random.default_rng(0))
        calls[library] = lambda call=call, args=args: [leaves(call(*args)) for _ in range(10)][-1]
    for ours, theirs in zip(*(call() for call in calls.values()), strict=True):
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)
    return calls
