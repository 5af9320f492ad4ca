"""Assignment of an array's part to another part of it: the values are read before any of them is written."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import twofold as mx
from twofold import mxnet_numpy

MAKERS = {"np": mx.np.array, "nd": mx.nd.array, "dialect": mxnet_numpy.array}
SLICES = [slice(*parts) for parts in product((None, 1, 5, -2), (None, 4, 7, -1), (None, 1, 2, 3, -1, -2))]
ROOTS = {"array": lambda x: x, "view": lambda x: x[2:14]}


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("kind", MAKERS)
def test_steps_of_any_two_sizes(kind, root):
    host, wrong, checked = np.arange(16, dtype="float32"), [], 0
    before = ROOTS[root](host)
    for to, source in product(SLICES, SLICES):
        if before[to].shape != before[source].shape:
            continue
        x = ROOTS[root](MAKERS[kind](host))
        x[to] = x[source]
        expected = before.copy()
        expected[to] = before.copy()[source]
        checked += 1
        if x.asnumpy().tolist() != expected.tolist():
            wrong.append((to, source))
    assert checked > 500
    assert wrong == []


@pytest.mark.parametrize("kind", MAKERS)
def test_large_arrays(kind):
    host = np.arange(200_000, dtype="float32")
    x = MAKERS[kind](host)
    x[::2] = x[:100_000]
    assert np.array_equal(x.asnumpy()[::2], host[:100_000])


def test_rows_and_columns():
    host = np.arange(16.0).reshape(4, 4)
    x = mx.np.array(host)
    x[:, 0] = x[0]
    assert x[:, 0].asnumpy().tolist() == host[0].tolist()
    x[:] = x.T
    assert x[0].asnumpy().tolist() == host[0].tolist()


#: Writers of values to places: functions of the package, the array and the values.
WRITERS = {
    "copyto": lambda xp, x, values: xp.copyto(x, values),
    "copyto with a mask": lambda xp, x, values: xp.copyto(x, values, where=xp.arange(x.size) % 2 == 0),
    "put": lambda xp, x, values: xp.put(x, xp.arange(x.size), values),
    "putmask": lambda xp, x, values: xp.putmask(x, xp.arange(x.size) % 3 > 0, values),
    "place": lambda xp, x, values: xp.place(x, xp.arange(x.size) >= 0, values),
    "put_along_axis": lambda xp, x, values: xp.put_along_axis(x, xp.arange(x.size), values, 0),
    "a mask": lambda xp, x, values: x.__setitem__(xp.arange(x.size) % 3 > 0, values[xp.arange(x.size) % 3 > 0]),
    "a mask of all": lambda xp, x, values: x.__setitem__(xp.arange(x.size) >= 0, values),
    "indices": lambda xp, x, values: x.__setitem__(xp.arange(x.size), values),
    "an ellipsis": lambda xp, x, values: x.__setitem__(..., values),
    "out": lambda xp, x, values: xp.negative(values, out=x),
    "out with a mask": lambda xp, x, values: xp.negative(values, out=x, where=xp.arange(x.size) % 2 == 0),
    "at": lambda xp, x, values: xp.add.at(x, xp.arange(x.size), values),
    "in place": lambda xp, x, values: x.__iadd__(values),
}
PARTS = [
    (slice(1, None), slice(None, -1)),
    (slice(None, -1), slice(1, None)),
    (slice(None, None, 2), slice(None, 0, -2)),
    (slice(None, None, -1), slice(None)),
    (slice(None, None, -1), None),
]


@pytest.mark.parametrize("size", [6, 5000, 100_000])
@pytest.mark.parametrize("writer", WRITERS)
def test_every_writer_reads_first(writer, size):
    wrong = []
    for to, source in [*PARTS, (slice(None, None, 2), slice(None, size // 2))]:
        host = np.arange(1, size + 1, dtype="float32")
        x = mx.np.array(host)
        WRITERS[writer](mx.np, x[to], x if source is None else x[source])
        WRITERS[writer](np, host[to], host.copy() if source is None else host[source].copy())
        if not np.array_equal(x.asnumpy(), host):
            wrong.append((to, source))
    assert wrong == []


@pytest.mark.parametrize("kind", MAKERS)
def test_an_index_in_a_tuple(kind):
    x = MAKERS[kind](np.arange(6, dtype="float32"))
    x[(slice(None, None, 2),)] = x[:3]
    assert x.asnumpy().tolist() == [0, 1, 1, 3, 2, 5]
