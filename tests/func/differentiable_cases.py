"""Functions of arrays of float64 for the tests of transforms, with arguments, and derivatives by finite differences."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as host

import twofold as mx

np, nd = mx.np, mx.nd


class Case(NamedTuple):
    """A function, and the shapes of its arguments, which are positive numbers."""

    name: str
    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]


def _written(x):
    y = np.zeros(5)
    y[1:4] = x
    y[0] += x[1]
    y *= 2
    return y * y


def _branches(x):
    return np.sin(x) if x.sum() > 0 else np.cos(x)


def _loop(x):
    y = x
    while (y * y).sum() < 100:
        y = y * 2 + x
    return y


def _views(x):
    first, rest = x[0], x[1:]
    rest = rest.reshape(-1).T
    return rest[::2] * first[0]


def _legacy(x):
    return nd.softmax(nd.FullyConnected(x.as_nd_ndarray(), x.as_nd_ndarray(), no_bias=True, num_hidden=2)).as_np_ndarray()


CASES = [
    Case("arithmetic", lambda x, y: x * y - x / y + x**3 - 2 / x, ((3,), (3,))),
    Case("broadcasting", lambda x, y: x * y + y, ((3, 1), (2,))),
    Case("power", lambda x, y: x**y, ((3,), (3,))),
    Case("exp", np.exp, ((3,),)),
    Case("log", lambda x: np.log(x) + np.log1p(x) + np.log2(x), ((3,),)),
    Case("trigonometry", lambda x: np.sin(x) * np.cos(x) + np.tan(x) + np.arctan2(x, 2), ((3,),)),
    Case("hyperbolic", lambda x: np.tanh(x) + np.sinh(x) / np.cosh(x) + np.arcsinh(x), ((3,),)),
    Case("roots", lambda x: np.sqrt(x) + np.cbrt(x) + np.hypot(x, 3), ((3,),)),
    Case("extremes", lambda x, y: np.maximum(x, y) + np.minimum(x, 2 * y) + abs(x), ((3,), (3,))),
    Case("where", lambda x, y: np.where(x > y, x * y, x + y), ((3,), (3,))),
    Case("clip", lambda x: np.clip(x, 0.5, 1.5), ((5,),)),
    Case("sum", lambda x: x.sum(axis=1) + x.mean(), ((2, 3),)),
    Case("prod", lambda x: np.prod(x, axis=0), ((3, 2),)),
    Case("max", lambda x: x.max(axis=1) + x.min(), ((2, 3),)),
    Case("var", lambda x: np.var(x, axis=0) + np.std(x), ((4, 2),)),
    Case("cumsum", lambda x: np.cumsum(x, axis=1) * x, ((2, 3),)),
    Case("matmul", lambda x, y: x @ y, ((2, 3), (3, 2))),
    Case("batches of products", lambda x, y: x @ y, ((2, 1, 2, 3), (4, 3, 2))),
    Case("einsum", lambda x, y: np.einsum("ij,kj->ik", x, y), ((2, 3), (4, 3))),
    Case("dot", lambda x, y: np.dot(x, y) * np.outer(x, y), ((3,), (3,))),
    Case("inverse", lambda x: np.linalg.inv(x + 3 * np.eye(3)), ((3, 3),)),
    Case("solve", lambda x, y: np.linalg.solve(x + 3 * np.eye(3), y), ((3, 3), (3, 2))),
    Case("determinant", lambda x: np.linalg.det(x + 2 * np.eye(3)) + np.linalg.slogdet(x + 2 * np.eye(3))[1], ((3, 3),)),
    Case("cholesky", lambda x: np.linalg.cholesky(x @ x.T + np.eye(3)), ((3, 3),)),
    Case("reshape", lambda x: x.reshape(3, 2) @ x, ((2, 3),)),
    Case("concatenate", lambda x, y: np.concatenate([x, y * x[0], x]), ((3,), (2,))),
    Case("stack", lambda x: np.stack([x, x * x], axis=1), ((3,),)),
    Case("flip and roll", lambda x: np.flip(x, 0) * np.roll(x, 1), ((4,),)),
    Case("pad", lambda x: np.pad(x, 1) * 3, ((2, 3),)),
    Case("tile", lambda x: np.tile(x, 2) * np.repeat(x, 2), ((3,),)),
    Case("take", lambda x: np.take(x, np.array([0, 2, 2]), axis=0) * x[:3], ((4, 2),)),
    Case("index arrays", lambda x: x[np.array([0, 1, 1]), np.array([2, 0, 0])] ** 2, ((2, 3),)),
    Case("sort", lambda x: np.sort(x) * np.arange(4.0), ((4,),)),
    Case("softmax", lambda x: mx.npx.softmax(x, axis=-1) * mx.npx.log_softmax(x), ((2, 3),)),
    Case(
        "convolution",
        lambda x, w: nd.Convolution(x.as_nd_ndarray(), w.as_nd_ndarray(), no_bias=True, kernel=(2, 2), num_filter=2).as_np_ndarray(),
        ((1, 1, 3, 3), (2, 1, 2, 2)),
    ),
    Case("legacy layers", _legacy, ((2, 4),)),
    Case("writes", _written, ((3,),)),
    Case("branches", _branches, ((3,),)),
    Case("while", _loop, ((3,),)),
    Case("views", _views, ((3, 4),)),
    Case("fourier", lambda x: abs(np.fft.fft(x)) ** 2, ((4,),)),
    Case("special", lambda x: mx.npx.erf(x) + mx.npx.gammaln(x) + mx.npx.relu(x - 1), ((3,),)),
]


def arguments(case):
    """Arguments of a case: positive, different numbers."""
    draw = host.random.default_rng(7)
    return [draw.uniform(0.3, 2.0, shape) for shape in case.shapes]


def directional(case, args, directions, step=1e-6):
    """The derivative in a direction by central differences."""
    there = [np.array(a + step * d) for a, d in zip(args, directions, strict=True)]
    back = [np.array(a - step * d) for a, d in zip(args, directions, strict=True)]
    return (case.function(*there).asnumpy() - case.function(*back).asnumpy()) / (2 * step)
