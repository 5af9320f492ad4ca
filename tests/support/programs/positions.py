"""Positions in flattened arrays, and running sums."""

from __future__ import annotations

from typing import Any

from tests.oracle_programs import fails

X = [[1, 2, 3], [4, 5, 6]]


def unravelled(mx: Any) -> Any:
    nd, flat = mx.nd, mx.nd.array([22, 41, 37, -1, -7, -8, 10000])
    results = [nd.unravel_index(flat, shape=shape) for shape in ((7, 6), (-1, 6), (3, 7, 6), (2, 2), (5,))]
    others = [nd.unravel_index(flat.astype("int64"), shape=(7, 6)), nd.unravel_index(nd.array([3.7]), shape=(7, 6))]
    return results, others, nd.unravel_index(nd.array([3, 5]), shape=(0, 5))


def raveled(mx: Any) -> Any:
    nd, rows = mx.nd, mx.nd.array([[3, 6, 6], [4, 5, 1]])
    results = [nd.ravel_multi_index(rows, shape=shape) for shape in ((7, 6), (-1, 6), (2, 2))]
    others = [nd.ravel_multi_index(rows.astype("int32"), shape=(7, 6)), nd.ravel_multi_index(nd.array([[-1.5, 1.7], [4, 5]]), shape=(7, 6))]
    return results, others


def wrong_positions(mx: Any) -> Any:
    rows = mx.nd.array([[3, 6, 6], [4, 5, 1]])
    calls = (
        lambda: mx.nd.ravel_multi_index(rows, shape=(7, 6, 2)).asnumpy(),
        lambda: mx.nd.ravel_multi_index(rows).asnumpy(),
        lambda: mx.nd.unravel_index(rows[0]).asnumpy(),
    )
    return [fails(call) for call in calls]


def running_sums(mx: Any) -> Any:
    x = mx.nd.array(X)
    sums = [mx.nd.cumsum(x), mx.nd.cumsum(x, axis=0), mx.nd.cumsum(x, axis=1), mx.nd.cumsum(x, dtype="float64")]
    dtypes = [mx.nd.cumsum(x.astype(dtype), axis=1) for dtype in ("int8", "int32", "float16", "bool")]
    small = mx.nd.array([[100, 5], [100, 4]]).astype("int8")
    return sums, dtypes, mx.nd.cumsum(small, axis=0), mx.nd.cumsum(small, axis=0, dtype="int32")


def gradients(mx: Any) -> Any:
    x, found = mx.nd.array(X), []
    for axis in (None, 0, 1):
        x.attach_grad()
        with mx.autograd.record():
            y = mx.nd.cumsum(x, axis=axis)
        y.backward(mx.nd.array([1, 2, 4, 8, 16, 32]).reshape(y.shape))
        found.append(x.grad.asnumpy())
    return found


def symbols(mx: Any) -> Any:
    a, found = mx.sym.Variable("a"), []
    for symbol, shape in (
        (mx.sym.unravel_index(a, shape=(7, 6)), (3,)),
        (mx.sym.ravel_multi_index(a, shape=(7, 6)), (2, 3)),
        (mx.sym.cumsum(a), (2, 3)),
    ):
        found.append([symbol.name, symbol.infer_shape(a=shape)[1], [t.__name__ for t in symbol.infer_type(a="float16")[1]]])
    return found
