"""Batches of sparse arrays: storage types, rows, padding."""

from __future__ import annotations

from typing import Any

import numpy as np

DENSE = np.array([[0, 1, 0], [0, 0, 0], [2, 0, 3]] * 2, "f")


def _batches(iterator: Any) -> Any:
    found = [[[x.stype, x.asnumpy().tolist()] for x in (*b.data, *b.label)] + [b.pad] for b in iterator]
    return [found, [list(d.shape) for d in iterator.provide_data]]


def of_csr(mx: Any) -> Any:
    x, y = mx.nd.array(DENSE).tostype("csr"), np.arange(6.0)
    out = {}
    out["whole"] = _batches(mx.io.NDArrayIter(x, y, 2, last_batch_handle="discard"))
    out["discarded"] = _batches(mx.io.NDArrayIter({"b": mx.nd.ones((6, 2)), "a": x}, y, 4, last_batch_handle="discard"))
    np.random.seed(0)  # noqa: NPY002  (what shuffles draw from)
    out["shuffled"] = _batches(mx.io.NDArrayIter(x, y, 2, shuffle=True, last_batch_handle="discard"))
    return out


def of_row_sparse(mx: Any) -> Any:
    return _batches(mx.io.NDArrayIter(mx.nd.array(DENSE).tostype("row_sparse"), np.arange(6.0), 4))
