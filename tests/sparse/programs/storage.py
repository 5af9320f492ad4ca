"""Operators on operands of every storage type: the storage types and values of their results."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

STYPES = ("default", "csr", "row_sparse")
_NAMES = (
    "abs arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh degrees exp expm1 fix floor gamma gammaln log log10 log1p log2 "
    "make_loss negative radians relu rint round rsqrt sigmoid sign sin sinh sqrt square stop_gradient tan tanh trunc zeros_like"
)
UNARY = tuple(_NAMES.split())
_NAMES = "plus minus rminus mul div rdiv power rpower maximum minimum mod equal not_equal greater lesser greater_equal lesser_equal hypot"
SCALAR = tuple(_NAMES.split())


def _array(mx: Any, stype: str, shape: tuple[int, int] = (4, 3), seed: int = 0) -> Any:
    """A matrix in a storage type, about two fifths of which are zeros, and one row if it is row-sparse."""
    rng = np.random.RandomState(seed)
    x = rng.uniform(0.2, 0.9, shape) * (rng.rand(*shape) > 0.4)
    if stype == "row_sparse":
        x[1] = 0
    return mx.nd.array(x).tostype(stype)


def _result(call: Callable[[], Any]) -> Any:
    """The storage type and the elements, rounded, NaN and infinities as text; ``"raises"`` where MXNet has no such product."""
    try:
        found = call()
        values = found.asnumpy().astype("f8")
    except Exception:
        return "raises"
    return [found.stype, list(values.shape), [round(v, 4) if np.isfinite(v) else str(v) for v in values.ravel().tolist()]]


def unary(mx: Any) -> Any:
    functions = {name: getattr(mx.nd.sparse, name) for name in UNARY}
    functions |= {name: getattr(mx.nd, name) for name in ("ones_like", "softmax", "reciprocal", "erf", "softsign", "identity", "Flatten")}
    functions["clip"] = lambda x: mx.nd.sparse.clip(x, 0.0, 0.5)
    return {f"{n}({s})": _result(lambda f=f, s=s: f(_array(mx, s))) for n, f in functions.items() for s in STYPES}


def with_scalars(mx: Any) -> Any:
    out = {}
    for name, value, s in itertools.product(SCALAR, (0.0, 2.0, -1.0), STYPES):
        if value or name not in ("div", "mod"):
            function = getattr(mx.nd._internal, f"_{name}_scalar")
            out[f"{name} {value}({s})"] = _result(lambda function=function, s=s, value=value: function(_array(mx, s), scalar=value))
    return out


def reductions(mx: Any) -> Any:
    out = {}
    for s, axis, keep in itertools.product(STYPES, (None, 0, 1, (0, 1)), (False, True)):
        for name in ("sum", "mean"):
            function = getattr(mx.nd.sparse, name)
            out[f"{name} {axis} {keep}({s})"] = _result(
                lambda f=function, s=s, axis=axis, keep=keep: f(_array(mx, s), axis=axis, keepdims=keep)
            )
    square_sum = mx.nd._internal._square_sum
    for axis, keep in itertools.product((0, 1), (False, True)):
        out[f"square_sum {axis} {keep}"] = _result(
            lambda axis=axis, keep=keep: square_sum(_array(mx, "row_sparse"), axis=axis, keepdims=keep)
        )
    for s in STYPES:
        out[f"norm({s})"] = _result(lambda s=s: mx.nd.sparse.norm(_array(mx, s)))
        out[f"norm ord 1({s})"] = _result(lambda s=s: mx.nd.sparse.norm(_array(mx, s), ord=1))
        out[f"norm axis 1({s})"] = _result(lambda s=s: mx.nd.sparse.norm(_array(mx, s), axis=1))
    return out


def selection(mx: Any) -> Any:
    nd, out = mx.nd, {}
    for s in STYPES:
        cases = {
            "slice": lambda x: nd.sparse.slice(x, begin=(1,), end=(3,)),
            "slice of columns": lambda x: nd.sparse.slice(x, begin=(1, 0), end=(3, 2)),
            "slice with a step": lambda x: nd.sparse.slice(x, begin=(0,), end=(4,), step=(2,)),
            "slice_axis": lambda x: nd.slice_axis(x, axis=0, begin=0, end=2),
            "concat of one": lambda x: nd.sparse.concat(x, dim=0),
            "concat 0": lambda x, s=s: nd.sparse.concat(x, _array(mx, s, seed=1), dim=0),
            "concat 1": lambda x, s=s: nd.sparse.concat(x, _array(mx, s, seed=1), dim=1),
            "concat with a dense one": lambda x: nd.sparse.concat(x, _array(mx, "default", seed=1), dim=0),
            "where": lambda x, s=s: nd.sparse.where(x, _array(mx, s, seed=1), _array(mx, "default")),
        }
        if s != "row_sparse":
            cases["take"] = lambda x: nd.take(x, nd.array([2, 0]))
        if s != "csr":
            cases["Embedding"] = lambda x: nd.sparse.Embedding(nd.array([0, 2]), x, input_dim=4, output_dim=3)
        if s == "row_sparse":
            cases["retain"] = lambda x: nd.sparse.retain(x, nd.array([0, 2]))
        for target in ("default", s) if s != "default" else STYPES:
            cases[f"cast_storage {target}"] = lambda x, target=target: nd.cast_storage(x, target)
        out |= {f"{name}({s})": _result(lambda case=case, s=s: case(_array(mx, s))) for name, case in cases.items()}
    return out


def pairs(mx: Any) -> Any:
    nd, out = mx.nd, {}
    functions = {f"elemwise_{n}": getattr(nd.sparse, f"elemwise_{n}") for n in ("add", "sub", "mul", "div")}
    functions |= {f"broadcast_{n}": getattr(nd.sparse, f"broadcast_{n}") for n in ("add", "sub", "mul")}
    functions |= {n: getattr(nd, n) for n in ("broadcast_maximum", "broadcast_power", "broadcast_equal")}
    functions |= {n: getattr(nd._internal, n) for n in ("_hypot", "_maximum", "_grad_add")}
    functions |= {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / (b + 2),
        ">": lambda a, b: a > b,
        "**": lambda a, b: a**b,
        "sparse.multiply": nd.sparse.multiply,
        "sparse.subtract": nd.sparse.subtract,
        "LogisticRegressionOutput": nd.sparse.LogisticRegressionOutput,
        "add_n": nd.sparse.add_n,
        "add_n with a dense one": lambda a, b: nd.sparse.add_n(a, b, _array(mx, "default")),
    }
    for s, t in itertools.product(STYPES, STYPES):
        for name, function in functions.items():
            out[f"{name}({s}, {t})"] = _result(lambda f=function, s=s, t=t: f(_array(mx, s), _array(mx, t, seed=1)))
    for s, name, shape in itertools.product(STYPES, ("add", "sub", "mul", "div"), ((1, 3), (4, 1), (1,), (1, 1))):
        function = getattr(nd.sparse, f"broadcast_{name}")
        out[f"broadcast_{name} {shape}({s})"] = _result(
            lambda f=function, s=s, shape=shape: f(_array(mx, s), nd.array(np.full(shape, 0.5)))
        )
    return out


def fully_connected(mx: Any) -> Any:
    weight, bias = _array(mx, "default", (5, 3), 1), mx.nd.ones((5,))
    return {s: _result(lambda s=s: mx.nd.sparse.FullyConnected(_array(mx, s), weight, bias, num_hidden=5)) for s in STYPES}


def dot(mx: Any) -> Any:
    out = {}
    for s, t, a, b, forward in itertools.product(STYPES, STYPES, (False, True), (False, True), (None, *STYPES)):
        shape = ((5, 4) if b else (4, 5)) if a else (5, 3) if b else (3, 5)
        out[f"{s} {t} {a} {b} {forward}"] = _result(
            lambda s=s, t=t, a=a, b=b, forward=forward, shape=shape: mx.nd.sparse.dot(
                _array(mx, s), _array(mx, t, shape, 1), transpose_a=a, transpose_b=b, forward_stype=forward
            )
        )
    out["csr by a vector"] = _result(lambda: mx.nd.sparse.dot(_array(mx, "csr"), mx.nd.array([1, 2, 3])))
    return out
