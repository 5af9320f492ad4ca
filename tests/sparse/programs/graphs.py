"""Symbols with sparse variables: the storage types of outputs and gradients, and their values, operator by operator and in models."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.oracle_programs import fails

DENSE = np.array([[0, 1, 0], [0, 0, 0], [2, 0, 3]], "f")
STYPES = ("default", "csr", "row_sparse")


def _parts(array: Any) -> Any:
    rows = array.indices.asnumpy().tolist() if array.stype == "row_sparse" else None
    return [array.stype, rows, array.asnumpy().tolist()]


def _of_pairs(mx: Any, expressions: dict[str, Callable[[Any, Any], Any]], stypes: Any = STYPES) -> Any:
    """Outputs, before and after forward, and the gradient of w, for each storage type of x and of w."""
    out = {}
    for (name, made), x, w in itertools.product(expressions.items(), stypes, stypes):
        try:
            out[f"{name}, {x} and {w}"] = _run(mx, made(mx.sym.Variable("x", stype=x), mx.sym.Variable("w", stype=w)), x, w)
        except Exception:
            out[f"{name}, {x} and {w}"] = "raises"
    return out


def _run(mx: Any, symbol: Any, x: str, w: str) -> Any:
    names = symbol.list_arguments()
    shapes = {n: (3, 3) for n in names if n in "xw"}
    executor = symbol.simple_bind(mx.cpu(), grad_req={n: "write" if n == "w" else "null" for n in names}, **shapes)
    blank = [o.stype for o in executor.outputs]
    given = {"x": mx.nd.array(DENSE).tostype(x), "w": mx.nd.array(DENSE.T).tostype(w), "i": mx.nd.array([0, 2]), "j": mx.nd.array([2, 1])}
    for n in names:
        executor.arg_dict[n][:] = given[n]
    outputs = [_parts(o) for o in executor.forward(is_train=True)]
    heads = [mx.nd.array(np.arange(1, 1 + np.prod(o.shape)).reshape(o.shape)).tostype(o.stype) for o in executor.outputs]
    executor.backward(heads)
    return [blank, outputs, _parts(executor.grad_dict["w"])]


def _indices(mx: Any, name: str = "i") -> Any:
    return mx.sym.Variable(name, shape=(2,))


def products(mx: Any) -> Any:
    dot = mx.sym.sparse.dot
    return _of_pairs(
        mx,
        {
            "product": dot,
            "transposed": lambda x, w: dot(x, w, transpose_a=True),
            "activated": lambda x, w: mx.sym.sigmoid(dot(x, w)),
            "twice": lambda x, w: dot(x, w) + dot(x, w),
            "and its sum": lambda x, w: mx.sym.broadcast_add(dot(x, w), mx.sym.sum(w)),
            "a regression": lambda x, w: mx.sym.LinearRegressionOutput(dot(x, w), mx.sym.BlockGrad(dot(x, x * 0 + 1))),
        },
    )


def embeddings(mx: Any) -> Any:
    sizes = {"input_dim": 3, "output_dim": 3}
    return _of_pairs(
        mx,
        {
            "rows": lambda x, w: mx.sym.Embedding(_indices(mx), w, sparse_grad=True, **sizes),
            "dense": lambda x, w: mx.sym.Embedding(_indices(mx), w, **sizes),
            "twice": lambda x, w: (
                mx.sym.Embedding(_indices(mx), w, sparse_grad=True, **sizes)
                + mx.sym.Embedding(_indices(mx, "j"), w, sparse_grad=True, **sizes)
            ),
            "both": lambda x, w: (
                mx.sym.Embedding(_indices(mx), w, sparse_grad=True, **sizes) + mx.sym.Embedding(_indices(mx, "j"), w, **sizes)
            ),
            "former": lambda x, w: mx.sym.contrib.SparseEmbedding(_indices(mx), w, **sizes),
            "taken": lambda x, w: mx.sym.take(w, _indices(mx)),
        },
        ("default", "row_sparse"),
    )


def sums(mx: Any) -> Any:
    square_sum = mx.sym._internal._square_sum
    return _of_pairs(
        mx,
        {
            "of squares by columns": lambda x, w: square_sum(w, axis=0),
            "of squares by rows": lambda x, w: square_sum(w, axis=1),
            "of squares, kept": lambda x, w: square_sum(w, axis=1, keepdims=True),
            "all": lambda x, w: mx.sym.sum(w),
            "columns": lambda x, w: mx.sym.sum(w, axis=0),
            "rows": lambda x, w: mx.sym.sum(w, axis=1),
            "mean": lambda x, w: mx.sym.mean(w, axis=0),
            "norm": lambda x, w: mx.sym.norm(w),
        },
    )


def functions(mx: Any) -> Any:
    s = mx.sym
    return _of_pairs(
        mx,
        {
            "double": lambda x, w: w * 2,
            "half": lambda x, w: w / 2,
            "one more": lambda x, w: w + 1,
            "square": lambda x, w: s.square(w),
            "negative": lambda x, w: s.negative(w),
            "abs": lambda x, w: s.abs(w),
            "relu": lambda x, w: s.relu(w),
            "sigmoid": lambda x, w: s.sigmoid(w),
            "identity": lambda x, w: s.identity(w),
            "stopped": lambda x, w: s.BlockGrad(w),
            "clipped": lambda x, w: s.clip(w, a_min=-1, a_max=1),
            "transposed": lambda x, w: s.transpose(w),
            "softmax": lambda x, w: s.softmax(w),
            "zeros": lambda x, w: s.zeros_like(w),
        },
    )


def pairs(mx: Any) -> Any:
    s = mx.sym
    return _of_pairs(
        mx,
        {
            "sum": lambda x, w: s.elemwise_add(x, w),
            "difference": lambda x, w: x - w,
            "product": lambda x, w: s.elemwise_mul(x, w),
            "broadcast product": lambda x, w: s.broadcast_mul(x, w),
            "all": lambda x, w: s.add_n(x, w, w),
            "joined": lambda x, w: s.concat(x, w, dim=0),
            "layer": lambda x, w: s.FullyConnected(x, w, no_bias=True, num_hidden=3),
        },
    )


def storage(mx: Any) -> Any:
    return _of_pairs(
        mx,
        {
            "csr": lambda x, w: mx.sym.cast_storage(w, stype="csr"),
            "rows": lambda x, w: mx.sym.cast_storage(w, stype="row_sparse"),
            "dense": lambda x, w: mx.sym.cast_storage(w, stype="default"),
            "retained": lambda x, w: mx.sym.sparse.retain(w, _indices(mx)),
            "slice": lambda x, w: mx.sym.slice(w, begin=(0, 0), end=(2, 3)),
        },
    )


def fed_again(mx: Any) -> Any:
    """Matrices of other numbers of elements, by forward's keywords and by assignment."""
    symbol = mx.sym.dot(mx.sym.Variable("x", stype="csr"), mx.sym.Variable("w"))
    executor = symbol.simple_bind(mx.cpu(), grad_req={"w": "write"}, x=(3, 3), w=(3, 2))
    executor.arg_dict["w"][:] = np.arange(6).reshape(3, 2)
    out = []
    for matrix in (DENSE, DENSE * 0, np.eye(3, dtype="f"), DENSE + 1):
        executor.forward(is_train=True, x=mx.nd.array(matrix).tostype("csr"))
        executor.backward(mx.nd.ones((3, 2)))
        out.append([_parts(executor.outputs[0]), _parts(executor.grad_dict["w"])])
    executor.arg_dict["x"][:] = mx.nd.array(DENSE)
    out.append([executor.arg_dict["x"].stype, _parts(executor.forward()[0])])
    return out


def bound_to_sparse_arrays(mx: Any) -> Any:
    x, w = mx.nd.array(DENSE).tostype("csr"), mx.nd.array([[1.0, 2], [0, 0], [3, 4]])
    symbol = mx.sym.dot(mx.sym.Variable("x"), mx.sym.Variable("w"))
    out = []
    for own in ("default", "row_sparse"):
        grad = mx.nd.sparse.zeros("row_sparse", (3, 2))
        executor = symbol.bind(mx.cpu(), {"x": x, "w": w.tostype(own)}, {"w": grad})
        executor.forward(is_train=True)
        executor.backward(mx.nd.array([[1.0, 2], [3, 4], [5, 6]]))
        out.append([_parts(executor.outputs[0]), _parts(grad), executor.grad_dict["w"] is grad])
    return out


def inner_values(mx: Any) -> Any:
    """Groups of sparse and dense outputs, one of which is an inner value too."""
    x, w = mx.sym.Variable("x", stype="csr"), mx.sym.Variable("w", stype="row_sparse")
    squares = mx.sym.square(x, name="squares")
    symbol = mx.sym.Group([squares, mx.sym.dot(squares, w, name="a"), mx.sym.dot(x, w, transpose_a=True, name="b")])
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", x=(3, 3), w=(3, 3))
    executor.arg_dict["x"][:] = mx.nd.array(DENSE).tostype("csr")
    executor.arg_dict["w"][:] = mx.nd.array(DENSE).tostype("row_sparse")
    return [[_parts(o) for o in executor.forward()], symbol.list_outputs()]


def declared(mx: Any) -> Any:
    """What a variable's storage type is in attributes and files, and what arguments get."""
    x = mx.sym.Variable("x", stype="csr", shape=(3, 3))
    symbol = mx.sym.dot(x, mx.sym.Variable("w", stype="row_sparse", shape=(3, 2)), name="product")
    again = mx.sym.load_json(symbol.tojson())
    executor = again.simple_bind(mx.cpu())
    overridden = again.simple_bind(mx.cpu(), stype_dict={"w": "default"})
    return [
        {n: a.get("__storage_type__") for n, a in sorted(again.attr_dict().items())},
        {n: a.stype for n, a in executor.arg_dict.items()},
        {n: a.stype for n, a in overridden.arg_dict.items()},
        [executor.grad_dict["w"].stype, overridden.grad_dict["w"].stype],
    ]


def rows_that_are_missing(mx: Any) -> Any:
    """Weights that do not store every row that is read."""
    w = mx.sym.Variable("w", stype="row_sparse", shape=(3, 2))
    stored = mx.nd.sparse.row_sparse_array(([[1.0, 2]], [2]), shape=(3, 2))
    out = []
    for symbol in (
        mx.sym.dot(mx.sym.Variable("x", stype="csr", shape=(3, 3)), w),
        mx.sym.Embedding(mx.sym.Variable("i", shape=(2,)), w, input_dim=3, output_dim=2, sparse_grad=True),
    ):
        executor = symbol.simple_bind(mx.cpu(), grad_req={"w": "write"})
        for value in ("empty", "stored"):
            if value == "stored":
                executor.arg_dict["w"][:] = stored
            if "x" in executor.arg_dict:
                executor.arg_dict["x"][:] = mx.nd.array(DENSE).tostype("csr")
            else:
                executor.arg_dict["i"][:] = mx.nd.array([2, 0])

            def run(executor: Any = executor) -> Any:
                result = executor.forward(is_train=True)[0]
                executor.backward(mx.nd.ones(result.shape))
                return result.asnumpy()

            refused = fails(run)
            out.append("raises" if refused else [_parts(executor.outputs[0]), _parts(executor.grad_dict["w"])])
    return out
