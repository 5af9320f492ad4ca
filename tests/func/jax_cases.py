"""Functions that JAX and `mx.func` compute alike, and transforms of them. `make_jax_answers` stores JAX's answers.

A function takes a namespace of NumPy's functions, one of others (`F`: scan, softmax …), and arrays of positive float64 numbers.
"""

import math
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as host


class Case(NamedTuple):
    """A function, and the shapes of its arguments."""

    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]


CASES: dict[str, Case] = {}


def add(name: str, function: Callable[..., Any], *shapes: tuple[int, ...]) -> None:
    """Add a case."""
    assert name not in CASES
    CASES[name] = Case(function, shapes)


def _unary(name: str, scale: float = 1.0, shift: float = 0.0) -> None:
    add(name, lambda np, F, x: getattr(np, name)(x * scale + shift), (3,))


for _name in [
    "sin",
    "cos",
    "tan",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "cbrt",
    "square",
    "abs",
    "negative",
    "reciprocal",
    "floor",
    "ceil",
    "rint",
    "trunc",
    "deg2rad",
    "rad2deg",
    "positive",
    "fabs",
    "sign",
    "conj",
    "real",
    "sinc",
    "nan_to_num",
    "degrees",
    "radians",
]:
    _unary(_name)
for _name in ("arcsin", "arccos", "arctanh"):
    _unary(_name, 0.3)
_unary("arccosh", 1.0, 1.0)


def _binary(name: str) -> None:
    add(name, lambda np, F, x, y: getattr(np, name)(x, y), (3,), (3,))
    add(f"{name} broadcast", lambda np, F, x, y: getattr(np, name)(x, y), (2, 1), (3,))


for _name in [
    "add",
    "subtract",
    "multiply",
    "divide",
    "power",
    "maximum",
    "minimum",
    "arctan2",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "fmax",
    "fmin",
    "remainder",
    "copysign",
]:
    _binary(_name)


def _reduction(name: str) -> None:
    add(name, lambda np, F, x: getattr(np, name)(x * 1.0), (2, 3))
    add(f"{name} axis", lambda np, F, x: getattr(np, name)(x, axis=0), (2, 3))
    add(f"{name} last axis kept", lambda np, F, x: getattr(np, name)(x, axis=-1, keepdims=True), (2, 3))


for _name in [
    "sum",
    "mean",
    "prod",
    "max",
    "min",
    "var",
    "std",
    "median",
    "nansum",
    "nanmean",
    "nanmax",
    "nanmin",
    "nanvar",
    "nanstd",
    "nanprod",
    "ptp",
]:
    _reduction(_name)
for _name in ("cumsum", "cumprod", "nancumsum"):
    add(_name, lambda np, F, x, name=_name: getattr(np, name)(x), (2, 3))
    add(f"{_name} axis", lambda np, F, x, name=_name: getattr(np, name)(x, axis=1), (2, 3))

add("arithmetic", lambda np, F, x, y: x * y - x / y + x**3 - 2 / x + (-y) ** 2, (3,), (3,))
add("power of numbers", lambda np, F, x: x**2.5 + 2**x + x**-1 + x**0.5, (3,))
add("comparisons", lambda np, F, x, y: np.where(x > y, x * y, x - y) * (x <= 1), (3,), (3,))
add("sum of axes", lambda np, F, x: np.sum(x, axis=(0, 2)), (2, 3, 2))
add("average", lambda np, F, x, y: np.average(x, axis=0, weights=y), (3, 2), (3,))
add("quantile", lambda np, F, x: np.quantile(x, 0.3, axis=0), (4, 2))
add("percentile", lambda np, F, x: np.percentile(x, 60), (5,))
add("var ddof", lambda np, F, x: np.var(x, axis=0, ddof=1), (4, 2))
add("reshape", lambda np, F, x: (x.reshape(3, 2) @ x).reshape(-1), (2, 3))
add("transpose", lambda np, F, x: np.transpose(x, (2, 0, 1)) * x.T.sum(), (2, 3, 2))
add("swapaxes", lambda np, F, x: np.swapaxes(x, 0, 1) @ x, (2, 3))
add("moveaxis", lambda np, F, x: np.moveaxis(x, 0, -1) ** 2, (2, 3, 2))
add("expand and squeeze", lambda np, F, x: np.squeeze(np.expand_dims(x, 1), 1) * x[:, None, 0], (2, 2))
add("ravel", lambda np, F, x: np.ravel(x) * np.arange(6.0), (2, 3))
add("flips", lambda np, F, x: np.flip(x) * np.fliplr(x) + np.flipud(x), (2, 3))
add("roll", lambda np, F, x: np.roll(x, 1) * np.roll(x, -1, axis=1), (2, 3))
add("rot90", lambda np, F, x: np.rot90(x) @ x, (2, 2))
add("tile", lambda np, F, x: np.tile(x, (2, 2)) ** 2, (2,))
add("repeat", lambda np, F, x: np.repeat(x, 2, axis=1) ** 2, (2, 2))
add("concatenate", lambda np, F, x, y: np.concatenate([x, y * x[0], x]), (3,), (2,))
add("stack", lambda np, F, x, y: np.stack([x, x * y], axis=1), (3,), (3,))
add("stacks", lambda np, F, x: np.hstack([x, x]) @ np.vstack([x, x**2]), (2, 2))
add("dstack", lambda np, F, x: np.dstack([x, x**2]), (2, 2))
add("column_stack", lambda np, F, x, y: np.column_stack([x, y]), (3,), (3,))
add("split", lambda np, F, x: np.split(x, 2)[1] * np.split(x, [1])[0], (4,))
add("array_split", lambda np, F, x: np.array_split(x, 3)[0] * 2, (4,))
for _mode in ("constant", "edge", "reflect", "symmetric", "wrap"):
    add(f"pad {_mode}", lambda np, F, x, mode=_mode: np.pad(x, 1, mode=mode) ** 2, (3, 2))
add("broadcast_to", lambda np, F, x: np.broadcast_to(x, (2, 3)) * np.arange(6.0).reshape(2, 3), (3,))
add("triangles", lambda np, F, x: np.tril(x) @ np.triu(x, 1), (3, 3))
add("diag", lambda np, F, x: np.diag(x) @ np.diag(np.diag(x)), (3,))
add("diagonal and trace", lambda np, F, x: np.diagonal(x) * np.trace(x), (3, 3))
add("kron", lambda np, F, x, y: np.kron(x, y), (2, 2), (2,))
add("outer", lambda np, F, x, y: np.outer(x, y) ** 2, (2,), (3,))
add("inner", lambda np, F, x, y: np.inner(x, y), (2, 3), (3,))
add("dot", lambda np, F, x, y: np.dot(x, y), (3,), (3,))
add("dot of matrices", lambda np, F, x, y: np.dot(x, y) @ x, (2, 3), (3, 2))
add("vdot", lambda np, F, x, y: np.vdot(x, y) ** 2, (2, 2), (2, 2))
add("matmul", lambda np, F, x, y: x @ y, (2, 3), (3, 2))
add("matmul vector", lambda np, F, x, y: (x @ y) * (y @ x.T), (2, 3), (3,))
add("matmul batches", lambda np, F, x, y: np.matmul(x, y), (2, 1, 2, 3), (3, 2))
add("tensordot", lambda np, F, x, y: np.tensordot(x, y, axes=([1], [0])), (2, 3), (3, 2, 2))
add("tensordot 2", lambda np, F, x, y: np.tensordot(x, y), (2, 3), (2, 3))
add("einsum product", lambda np, F, x, y: np.einsum("ij,kj->ik", x, y), (2, 3), (2, 3))
add("einsum trace", lambda np, F, x: np.einsum("ii->", x) * np.einsum("ii->i", x), (3, 3))
add("einsum three", lambda np, F, x, y, z: np.einsum("i,ij,j->j", x, y, z), (2,), (2, 3), (3,))
add("einsum batches", lambda np, F, x, y: np.einsum("bij,bjk->bik", x, y), (2, 2, 3), (2, 3, 2))
add("cross", lambda np, F, x, y: np.cross(x, y), (3,), (3,))
add("where", lambda np, F, x, y: np.where(np.array([True, False, True]), np.sin(x), y**2), (3,), (3,))
add("clip", lambda np, F, x: np.clip(x, 0.5, 1.5) ** 2, (5,))
add("take", lambda np, F, x: np.take(x, np.array([0, 2, 2]), axis=0) ** 2, (4, 2))
add("take_along_axis", lambda np, F, x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1) * np.arange(3.0), (2, 3))
add("index slices", lambda np, F, x: x[1:, ::2] * x[0, 0], (3, 4))
add("index backwards", lambda np, F, x: x[::-1] * x[-1], (4,))
add("index new axes", lambda np, F, x: x[None, ..., 0] * x[:, None, 1], (2, 2))
add("index arrays", lambda np, F, x: x[np.array([0, 1, 1]), np.array([2, 0, 0])] ** 2, (2, 3))
add("index array and slice", lambda np, F, x: x[:, np.array([2, 0])] ** 2, (2, 3))
add("index by argmax", lambda np, F, x: x[np.argmax(x)] * x, (4,))
add("index by results", lambda np, F, x: x[np.argsort(-x)[:2]] ** 2, (4,))
add("index rows by results", lambda np, F, x: x[np.argmin(x[:, 0]), 1:] ** 2, (3, 3))
add("sort", lambda np, F, x: np.sort(x) * np.arange(4.0), (4,))
add("sort axis", lambda np, F, x: np.sort(x, axis=0) ** 2, (4, 2))
add("diff", lambda np, F, x: np.diff(x) ** 2 + np.diff(x, n=2).sum(), (5,))
add("ediff1d", lambda np, F, x: np.ediff1d(x) ** 2, (4,))
add("gradient", lambda np, F, x: np.gradient(x) ** 2, (5,))
add("trapezoid", lambda np, F, x: np.trapezoid(x**2, dx=0.5), (5,))
add("interp", lambda np, F, x, y: np.interp(x, np.array([0.0, 0.7, 1.5, 3.0]), y), (3,), (4,))
add("convolve", lambda np, F, x, y: np.convolve(x, y), (4,), (2,))
add("correlate", lambda np, F, x, y: np.correlate(x, y), (4,), (2,))
add("convolve same", lambda np, F, x, y: np.convolve(x, y, mode="same"), (4,), (3,))
add("vander", lambda np, F, x: np.vander(x, 3), (3,))
add("meshgrid", lambda np, F, x, y: np.meshgrid(x, y)[0] * np.meshgrid(x, y)[1] ** 2, (2,), (3,))
add("insert and delete", lambda np, F, x: np.delete(np.insert(x, 1, x[0] ** 2), 2), (3,))
add("append", lambda np, F, x, y: np.append(x, y) ** 2, (3,), (2,))
add("polyval", lambda np, F, x, y: np.polyval(x, y), (3,), (2,))
add("polymul", lambda np, F, x, y: np.polymul(x, y), (3,), (2,))
add("cov", lambda np, F, x: np.cov(x), (2, 4))
add("corrcoef", lambda np, F, x: np.corrcoef(x), (2, 4))
add("select", lambda np, F, x: np.select([x > 1.2, x > 0.8], [x**2, np.sin(x)], 3 * x), (5,))
add("vecdot", lambda np, F, x, y: np.vecdot(x, y), (2, 3), (3,))
add("matrix_transpose", lambda np, F, x: np.matrix_transpose(x) @ x, (2, 2, 3))
add("full_like", lambda np, F, x: np.full_like(x, 2.0) * x + np.ones_like(x) + np.zeros_like(x), (3,))

add("inv", lambda np, F, x: np.linalg.inv(x + 3 * np.eye(3)), (3, 3))
add("det", lambda np, F, x: np.linalg.det(x + np.eye(3)), (3, 3))
add("slogdet", lambda np, F, x: np.linalg.slogdet(x + 2 * np.eye(3))[1], (3, 3))
add("solve", lambda np, F, x, y: np.linalg.solve(x + 3 * np.eye(3), y), (3, 3), (3, 2))
add("solve vector", lambda np, F, x, y: np.linalg.solve(x + 3 * np.eye(3), y), (3, 3), (3,))
add("cholesky", lambda np, F, x: np.linalg.cholesky(x @ x.T + np.eye(3)), (3, 3))
add("eigvalsh", lambda np, F, x: np.linalg.eigvalsh(x + x.T), (3, 3))
add("eigh", lambda np, F, x: np.linalg.eigh(x + x.T + np.diag(np.arange(3.0)))[1] ** 2, (3, 3))
add("svdvals", lambda np, F, x: np.linalg.svd(x, compute_uv=False), (3, 2))
add("qr", lambda np, F, x: np.linalg.qr(x + np.eye(3))[1] ** 2, (3, 3))
add("pinv", lambda np, F, x: np.linalg.pinv(x), (3, 2))
add("matrix_power", lambda np, F, x: np.linalg.matrix_power(x, 3), (2, 2))
add("norm", lambda np, F, x: np.linalg.norm(x) + np.linalg.norm(x, axis=0).sum(), (3, 2))
add("norms of matrices", lambda np, F, x: np.linalg.norm(x, ord=1) + np.linalg.norm(x, ord=np.inf), (3, 2))
add("norm p", lambda np, F, x: np.linalg.norm(x, ord=3), (4,))
add("multi_dot", lambda np, F, x, y, z: np.linalg.multi_dot([x, y, z]), (2, 3), (3, 2), (2, 2))
add("batch of inverses", lambda np, F, x: np.linalg.inv(x + 3 * np.eye(2)), (3, 2, 2))

add("fft", lambda np, F, x: np.abs(np.fft.fft(x)) ** 2, (4,))
add("rfft", lambda np, F, x: np.real(np.fft.rfft(x)) * np.imag(np.fft.rfft(x)), (5,))
add("irfft", lambda np, F, x: np.fft.irfft(np.fft.rfft(x) * np.array([1.0, 2.0, 0.5]), n=4), (4,))
add("fft2", lambda np, F, x: np.real(np.fft.ifft2(np.fft.fft2(x) ** 2)), (2, 3))
add("complex", lambda np, F, x, y: np.abs(np.exp(x + 1j * y) * (x - 2j)) ** 2, (3,), (3,))

add("relu", lambda np, F, x: F.relu(x - 1), (5,))
add("sigmoid", lambda np, F, x: F.sigmoid(x), (3,))
add("softmax", lambda np, F, x: F.softmax(x), (2, 3))
add("log_softmax", lambda np, F, x: F.log_softmax(x), (2, 3))
add("erf", lambda np, F, x: F.erf(x), (3,))
add("gammaln", lambda np, F, x: F.gammaln(x), (3,))
add("cross entropy", lambda np, F, x: -np.mean(F.log_softmax(x)[np.arange(3), np.array([1, 0, 2])]), (3, 4))
add("layer norm", lambda np, F, x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5), (2, 4))
add("attention", lambda np, F, q, k, v: F.softmax(q @ k.T / 2) @ v, (3, 2), (4, 2), (4, 3))
add("perceptron", lambda np, F, x, w, b, v: np.tanh(x @ w + b) @ v, (2, 3), (3, 4), (4,), (4, 1))
add("convolution", lambda np, F, x, w: F.conv(x, w), (1, 2, 4, 4), (3, 2, 3, 3))
add("power iteration", lambda np, F, x: _iterated(np, x), (3, 3))
add("Newton's square root", lambda np, F, x: _root(x), (3,))
add("recurrent", lambda np, F, w, x, h: F.scan(lambda c, row: (np.tanh(w @ c + row),) * 2, h, x)[1], (2, 2), (4, 2), (2,))
add("scan reverse", lambda np, F, x: F.scan(lambda c, r: (c * r, c + r), x[0], x, reverse=True)[1], (4,))
add("scan of trees", lambda np, F, x: F.scan(lambda c, r: ({"a": c["a"] + r, "b": c["b"] * r}, r), {"a": x[0], "b": x[1]}, x)[0]["b"], (3,))
add("scan length", lambda np, F, x: F.scan(lambda c, _: (np.sin(c) * x, None), x, None, length=3)[0], (3,))
add("Horner by scan", lambda np, F, c, x: F.scan(lambda y, a: (y * x + a, None), x * 0, c)[0], (4,), (2,))
add("cond", lambda np, F, x: F.cond(x[0] > 0, np.sin, lambda y: y * y, x), (3,))
add("cond of the other side", lambda np, F, x: F.cond(x[0] < 0, np.sin, lambda y: y * y, x), (3,))
add(
    "cond of trees",
    lambda np, F, x, w: F.cond(np.sum(x) > 1, lambda t: {"a": t[0] * w}, lambda t: {"a": t[1] / w}, (x, x * x))["a"],
    (2,),
    (2,),
)
add("cond for each row", lambda np, F, x: F.vmap(lambda r: F.cond(r[0] > r[1], lambda: r**3, lambda: np.exp(r)))(x - x.T), (3, 3))
add("cond in a scan", lambda np, F, x: F.scan(lambda c, r: (F.cond(r > c, np.tanh, np.sin, c * r),) * 2, x[0], x)[1], (4,))
add("scan in a cond", lambda np, F, x: F.cond(x[0] > 0, lambda y: F.scan(lambda c, r: (c * r, c), y[0], y)[0], np.sum, x), (3,))
add("fori_loop", lambda np, F, x: F.fori_loop(1, 4, lambda i, c: np.sin(c) * x + i, x), (3,))
add("fori_loop without steps", lambda np, F, x: F.fori_loop(2, 2, lambda i, c: c * i, x * x), (3,))
add(
    "fori_loop of trees",
    lambda np, F, x: F.fori_loop(0, 3, lambda i, c: {"a": c["b"], "b": c["a"] * x[i]}, {"a": x, "b": x + 1})["a"],
    (3,),
)
_BRANCHES = [lambda v: v**2, lambda v: v * 3.0, lambda v: v[::-1] * v]
for _place in (-1, 0, 1, 2, 5):
    add(f"switch {_place}", lambda np, F, x, place=_place: F.switch(np.argmin(x) * 0 + place, _BRANCHES, x), (3,))
add("switch for each row", lambda np, F, x: F.vmap(lambda r: F.switch(np.argmax(r), _BRANCHES, r))(x), (3, 3))
add("switch in a scan", lambda np, F, x: F.scan(lambda c, r: (F.switch(np.argmax(r), _BRANCHES, c * r), c), x[0], x)[0], (4, 3))
add("scan in a scan", lambda np, F, x: F.scan(lambda c, r: (F.scan(lambda d, s: (np.sin(d * s), d), c, r)[0],) * 2, x[0, 0], x)[1], (3, 2))
add("scan that reads from outside", lambda np, F, x, w: F.scan(lambda c, r: (np.tanh(w @ c) * r, c @ w), x[0], x)[1], (3, 2), (2, 2))
add("inner gradient", lambda np, F, x: F.grad(lambda y: np.sum(np.sin(y) * x))(x * 2), (3,))
add("inner vmap", lambda np, F, x, y: F.vmap(lambda row: np.tanh(row * y).sum())(x), (3, 2), (2,))
add("inner jvp", lambda np, F, x: F.jvp(lambda y: y**3, (x,), (np.ones_like(x),))[1], (3,))
add("checkpoint", lambda np, F, x: F.checkpoint(lambda y: np.sin(np.sin(y)))(x) * x, (3,))
add("jit", lambda np, F, x: F.jit(lambda y: np.sin(y) * y)(x) ** 2, (3,))
add("per-sample index", lambda np, F, x: F.vmap(lambda row, k: row[k] ** 2)(x, np.array([2, 0, 1])), (3, 3))
add("table by index", lambda np, F, t: F.vmap(lambda k: t[k] * 2)(np.array([2, 0, 0, -1])), (3, 2))
add("column by index", lambda np, F, t: F.vmap(lambda k: t[:, k].sum())(np.array([1, 0, 1])) * t[0, 0], (3, 2))
add("rows and slices by index", lambda np, F, t: F.vmap(lambda k: t[k, 1:] ** 2)(np.array([1, 0, 1])), (3, 3))
# results that depend on values only as indices, counts and tests do
add("searchsorted", lambda np, F, x, y: y[np.searchsorted(np.sort(x), y)] * x[0], (3,), (4,))
add("searchsorted right", lambda np, F, x: np.searchsorted(np.arange(3.0), x, side="right") * x, (4,))
add("digitize", lambda np, F, x: x * np.digitize(x, np.array([0.5, 1.0, 1.5])), (4,))
add("histogram", lambda np, F, x: np.histogram(x, bins=4, range=(0, 2))[0] * x, (4,))
add("histogram of bins", lambda np, F, x: np.histogram(x, bins=np.array([0.0, 0.5, 0.9, 3.0]))[0] * x[:3], (4,))
add("histogram of weights", lambda np, F, x, w: np.histogram(x, bins=3, range=(0.5, 2), weights=w)[0] ** 2, (5,), (5,))
add("histogram density", lambda np, F, x, w: np.histogram(x, bins=2, range=(0, 2), weights=w, density=True)[0], (5,), (5,))
add("bincount", lambda np, F, x: np.bincount(np.floor(x * 2).astype(int), minlength=5, **_length(np, 5))[1:] * x, (4,))
add("bincount of weights", lambda np, F, x, w: np.bincount(np.floor(x).astype(int), w, 3, **_length(np, 3)) ** 2, (4,), (4,))
add("isin", lambda np, F, x: np.where(np.isin(np.floor(x), np.array([0, 2])), x**2, x), (5,))
add("allclose", lambda np, F, x, y: np.where(np.allclose(x, y), x, x * y), (3,), (3,))
add("array_equal", lambda np, F, x: np.where(np.array_equal(x, x + 0), x**2, x) * np.array_equiv(x, x[:1]), (3,))
add("polyfit", lambda np, F, x, y: np.polyfit(x, y, 2), (5,), (5,))
add("polyfit weighted", lambda np, F, x, y, w: np.polyfit(x, y, 1, w=w), (4,), (4,), (4,))
add("lstsq", lambda np, F, x, y: np.linalg.lstsq(x, y, rcond=None)[0], (4, 2), (4,))
add("lstsq residuals", lambda np, F, x, y: np.linalg.lstsq(x, y, rcond=None)[1], (4, 2), (4, 2))
add("matrix_rank", lambda np, F, x: np.linalg.matrix_rank(x) * x, (3, 2))
add("nanmedian", lambda np, F, x: np.nanmedian(np.where(x > 1.8, np.nan, x), axis=0), (4, 2))
add("nanquantile", lambda np, F, x: np.nanquantile(np.where(x > 1.5, np.nan, x), np.array([0.3, 0.7])), (6,))
add("nanargmax", lambda np, F, x: x[np.nanargmax(np.where(x > 1.5, np.nan, x))] * x + x[np.nanargmin(x)], (5,))
add("partition", lambda np, F, x: np.partition(x, 2)[2] * x, (5,))
add("lexsort", lambda np, F, x, y: x[np.lexsort((x, np.floor(y)))] * np.arange(4.0), (4,), (4,))
add("unwrap", lambda np, F, x: np.unwrap(x * 4) ** 2, (5,))
add("unwrap axis", lambda np, F, x: np.unwrap(x * 7, axis=0, period=3.0) ** 2, (4, 2))
add("piecewise", lambda np, F, x: np.piecewise(x, [x < 0.8, x > 1.5], [lambda v: v**2, lambda v: 2 * v, lambda v: np.sin(v)]), (5,))
add("choose", lambda np, F, x, y: np.choose(np.floor(x).astype(int) % 2, [x * y, y**2], mode="wrap"), (4,), (4,))
add("ldexp and frexp", lambda np, F, x: np.ldexp(x, np.floor(x).astype(int)) * np.frexp(x)[0], (4,))
add("signs", lambda np, F, x: x * np.signbit(x - 1) + x * np.isposinf(x) + x * np.isreal(x), (4,))
add("integers", lambda np, F, x: x * np.gcd(np.floor(x * 9).astype(int), 6) * np.lcm(np.floor(x * 3).astype(int), 4), (4,))
add("unravel_index", lambda np, F, x: x[np.unravel_index(np.argmax(x), (2, 3))] * x, (2, 3))
add("ravel_multi_index", lambda np, F, x: x * np.ravel_multi_index((np.argmax(x) % 2, 2), (2, 3), mode="clip"), (2, 3))
add("ix_", lambda np, F, x: x[np.ix_(np.argsort(x[0]), np.array([0, 1]))] ** 2, (3, 3))
add("triangle of a matrix", lambda np, F, x: x[np.tril_indices_from(x)] ** 2, (3, 3))
add("logsumexp", lambda np, F, x: F.logsumexp(x, axis=0) * F.logsumexp(x), (2, 3))
for _name in ("softplus", "log_sigmoid", "silu", "digamma"):
    add(_name, lambda np, F, x, name=_name: getattr(F, name)(x), (3,))
add("logit", lambda np, F, x: F.logit(x / 2.1), (3,))


def _length(np: Any, size: int) -> dict[str, int]:
    """JAX's name for the size of counts whose numbers are not known."""
    return {"length": size} if np.__name__.startswith("jax") else {}


def _iterated(np: Any, x: Any) -> Any:
    v = np.ones(3)
    for _ in range(4):
        v = x @ v
        v = v / np.linalg.norm(v)
    return v @ x @ v


def _found_by(np: Any, x: Any, found: Any) -> Any:
    values, places, numbers, counts = found
    return x[places] * values * counts + x[numbers[:4]]


def _written(np: Any, x: Any) -> Any:
    """Whole numbers written into a copy of an array: JAX's arrays cannot be written to."""
    if hasattr(x, "at"):
        return x.at[0].set(2).at[host.array([1])].add(3)
    y = x * 1
    y[0] = 2
    np.add.at(y, host.array([1]), 3)
    return y


def _root(x: Any) -> Any:
    y = x
    for _ in range(4):
        y = 0.5 * (y + x / y)
    return y


# selections of a fixed number of elements

add("nonzero of a size", lambda np, F, x: x[np.nonzero(x > 0.6, size=3, fill_value=0)] * 2, (5,))
add("nonzero of two axes", lambda np, F, x: x[np.nonzero(x > x.mean(), size=7, fill_value=(1, 0))] ** 2, (3, 4))
add("too few places", lambda np, F, x: x[np.flatnonzero(x < 5, size=2)] * x[0], (4,))
add("argwhere of a size", lambda np, F, x: np.argwhere(x > 0.6, size=5, fill_value=3) * x.sum(), (2, 3))
add("unique of a size", lambda np, F, x: np.unique(np.concatenate([x, x[::2]]), size=4), (3,))
add("unique of a few", lambda np, F, x: np.unique(np.concatenate([x, x]), size=2) * x.sum(), (3,))
add("unique with a fill", lambda np, F, x: np.unique(np.concatenate([x, x]), size=5, fill_value=7) ** 2, (3,))
add("unique with places", lambda np, F, x: _found_by(np, x, np.unique(np.floor(x * 3), True, True, True, size=4)), (6,))

# numbers that loops and choices return

add("numbers of a scan", lambda np, F, x: sum(F.scan(lambda c, r: (c * r, (0.5, c)), 1.0, x)[1]) * x, (3,))
add("a number of a cond", lambda np, F, x: F.cond(x.sum() > 0, lambda v: v.sum(), lambda v: 0.0, x), (3,))
add("written numbers", lambda np, F, x: _written(np, x) * x, (3,))

# functions made of others

_STEPS: dict[str, Callable[..., Any]] = {
    "sin": lambda np, F, x: np.sin(x),
    "exp": lambda np, F, x: np.exp(-x),
    "tanh": lambda np, F, x: np.tanh(x),
    "square": lambda np, F, x: x * x,
    "softmax": lambda np, F, x: F.softmax(x),
    "cumsum": lambda np, F, x: np.cumsum(x, axis=0),
    "flip": lambda np, F, x: x[::-1] * 0.5,
    "transpose": lambda np, F, x: x.T + 0.1,
    "matmul": lambda np, F, x: x @ x.T @ x * 0.1,
    "mean": lambda np, F, x: x - x.mean(axis=0),
    "log": lambda np, F, x: np.log1p(x * x),
    "where": lambda np, F, x: np.where(x > 0.1, x, 0.3 * x**2),
    "vmap": lambda np, F, x: F.vmap(lambda r: np.sin(r) * r.sum())(x),
    "grad": lambda np, F, x: F.grad(lambda y: np.sum(np.cos(y) * y * x))(x),
    "jvp": lambda np, F, x: F.jvp(lambda y: np.tanh(y) @ y.T, (x,), (x * x,))[1] @ x,
    "scan": lambda np, F, x: F.scan(lambda c, r: (np.sin(c + r), c * r), x[0], x)[1],
    "roll": lambda np, F, x: np.roll(x, 1, axis=0) * x,
    "take": lambda np, F, x: np.take(x, np.array([2, 0, 1]), axis=0),
    "index": lambda np, F, x: F.vmap(lambda k: x[k] ** 2)(np.array([1, 2, 1])),
    "inverse": lambda np, F, x: np.linalg.inv(np.eye(3) * 3 + x),
    "checkpoint": lambda np, F, x: F.checkpoint(lambda y: np.sin(y) * y)(x),
}


def _composition(steps: list[str]) -> Callable[..., Any]:
    def composed(np: Any, F: Any, x: Any) -> Any:
        for step in steps:
            x = _STEPS[step](np, F, x)
        return x

    return composed


def _add_compositions(count: int) -> None:
    draw = random.Random(20)
    while count:
        steps = draw.sample(sorted(_STEPS), draw.choice((2, 3, 4)))
        name = " of ".join(reversed(steps))
        if name not in CASES:
            add(name, _composition(steps), (3, 3))
            count -= 1


_add_compositions(60)

# transforms: of a function of arrays to a function of arrays; `loss` makes a number of its result

Transform = Callable[[Any, Any, Callable[..., Any], tuple[Any, ...]], Any]


def loss_of(np: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """A weighted sum of a function's result."""

    def loss(*args: Any) -> Any:
        out = function(*args)
        return np.sum(out * np.cos(np.arange(float(math.prod(out.shape)))).reshape(out.shape))

    return loss


def _gradients(np: Any, F: Any, f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return F.grad(loss_of(np, f), tuple(range(len(args))))(*args)


def directions(np: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """A direction for each argument."""
    return tuple(np.sin(np.arange(float(math.prod(a.shape))) + 1.0).reshape(a.shape) for a in args)


def _jvp(np: Any, F: Any, f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return F.jvp(f, args, directions(np, args))


def _hvp(np: Any, F: Any, f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return F.jvp(lambda *a: _gradients(np, F, f, a), args, directions(np, args))[1]


def _gradient_of_norm(np: Any, F: Any, f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return F.grad(lambda *a: sum(np.sum(g**2) for g in _gradients(np, F, f, a)), tuple(range(len(args))))(*args)


def _batch(np: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(np.stack([a, a * 1.1 + 0.01]) for a in args)


def _mapped(inner: Transform) -> Transform:
    return lambda np, F, f, args: F.vmap(lambda *a: inner(np, F, f, a))(*_batch(np, args))


TRANSFORMS: dict[str, Transform] = {
    "value": lambda np, F, f, args: f(*args),
    "grad": _gradients,
    "jvp": _jvp,
    "vmap": _mapped(lambda np, F, f, args: f(*args)),
    "vmap of grad": _mapped(_gradients),
    "jvp of grad": _hvp,
    "grad of grad": _gradient_of_norm,
    "vmap of jvp of grad": _mapped(_hvp),
    "grad of vmap": lambda np, F, f, args: F.grad(lambda *a: np.sum(np.sin(F.vmap(f)(*_batch(np, a)))), 0)(*args),
    "jacfwd of jacrev": lambda np, F, f, args: F.jacfwd(F.jacrev(loss_of(np, f)))(*args),
}


def arguments(case: Case) -> list[host.ndarray]:
    """The arguments of a case: distinct numbers in (0.3, 2)."""
    draw = host.random.default_rng(7)
    return [draw.uniform(0.3, 2.0, shape) for shape in case.shapes]
