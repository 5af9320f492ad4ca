"""Gathers and scatters of one element for each row, found by comparing: the bits of the gather and of the scatter."""

import math

import numpy as np
import pytest

from twofold.graph.build import G
from twofold.graph.ir import applications, leaf
from twofold.graph.rows import compared
from twofold.program.compile import Program

from .test_together import APART, Together

ODD = np.array([[1.5, -0.0, math.nan, math.inf], [-math.inf, 0.0, -2.0, -0.0], [-0.0, -0.0, -0.0, -0.0]], np.float32)


def bits(arrays):
    return [np.ascontiguousarray(a).view(np.uint8).tolist() for a in arrays]


def both(outputs, leaves, arrays, **options):
    """The programs arranged for few kernels and not, after they gave the same bits."""
    few, many = (Program(outputs, leaves, backend, big=1, **options) for backend in (Together(), APART))
    assert bits(few.run(list(arrays))) == bits(many.run(list(arrays)))
    return few, many


def rows_of(x):
    """A row computed of reductions over it, whose elements are the operand's own."""
    least = G.min(G.absolute(x) * 0.0 + 1.0, axis=-1, keepdims=True)
    return G.where(G.greater(least, 2.0), -x, x)


def drawn(n, c, places):
    return (np.arange(n * c, dtype=np.float32).reshape(n, c) ** 2 % 7 - 3), np.array(places, np.int64)


@pytest.mark.parametrize("places", [(0, 1, 2), (1, 3, 0), (2, 0, 1), (3, 2, 3)])
def test_a_gather_keeps_every_bit(places):
    x, at = leaf("x", (3, 4), "float32"), leaf("at", (3, 1), "int64")
    picked = G.take_along_axis(rows_of(x), at, axis=1)
    few, _ = both([picked, rows_of(x)], [x, at], [ODD, np.array(places).reshape(3, 1)])
    assert "take_along_axis" not in few.explain()


@pytest.mark.parametrize("value", [0.0, -0.0, math.nan, -3.5])
def test_a_scatter_keeps_every_bit(value):
    v, at = leaf("v", (3, 1), "float32"), leaf("at", (3, 1), "int64")
    rows = G.reshape(G.iota(size=3, dtype="int64"), shape=(3, 1))
    zeros = G.full(shape=(3, 4), value=0.0, dtype="float32")
    places = np.array([[3], [0], [2]])
    few, _ = both([G.index_add(zeros, v, rows, at, key=(0, 1))], [v, at], [np.full((3, 1), value, np.float32), places])
    assert "index_add" not in few.explain()
    full = G.negative(G.full(shape=(3, 1), value=value, dtype="float32"))
    both([G.index_add(zeros, full, rows, at, key=(0, 1))], [at], [places])


def test_what_is_no_such_scatter_stays():
    v, at = leaf("v", (3, 1), "float32"), leaf("at", (3, 1), "int64")
    rows = G.reshape(G.iota(size=3, dtype="int64"), shape=(3, 1))
    zeros, ones = (G.full(shape=(3, 4), value=n, dtype="float32") for n in (0.0, 1.0))
    other = leaf("other", (3, 1), "int64")
    for kept in (
        G.index_add(ones, v, rows, at, key=(0, 1)),
        G.index_add(zeros, v, other, at, key=(0, 1)),
        G.index_add(zeros, v, at, rows, key=(1, 0)),
    ):
        assert compared([kept]) == [kept]


def test_a_row_that_others_made_is_gathered_from():
    x, at = leaf("x", (3, 4), "float32"), leaf("at", (3, 1), "int64")
    for source in (x, G.exp(x), G.matmul(x, leaf("w", (4, 4), "float32"))):
        picked = G.take_along_axis(source, at, axis=1)
        assert compared([picked]) == [picked]


def test_cross_entropy_and_its_gradient_are_one_kernel():
    n, c = 6, 5
    x, label = leaf("x", (n, c), "float32"), leaf("label", (n,), "float32")
    shifted = x - G.max(x, axis=-1, keepdims=True)
    out = shifted - G.log(G.sum(G.exp(shifted), axis=-1, keepdims=True))
    at = G.reshape(G.clip(G.astype(label, dtype="int64"), 0, c - 1), shape=(n, 1))
    loss = G.reshape(G.negative(G.take_along_axis(out, at, axis=-1)), shape=(n,))
    rows = G.reshape(G.iota(size=n, dtype="int64"), shape=(n, 1))
    ones = G.full(shape=(n, 1), value=1.0, dtype="float32")
    dout = G.index_add(G.full(shape=(n, c), value=0.0, dtype="float32"), G.negative(ones), rows, at, key=(0, 1))
    gradient = dout - G.exp(out) * G.sum(dout, axis=-1, keepdims=True)
    draw = np.random.default_rng(0)
    arrays = [draw.normal(size=(n, c)).astype(np.float32), np.array([0, 4, 2, 9, -3, 1], np.float32)]
    few, _ = both([loss, gradient], [x, label], arrays)
    assert len(few.kernels) == 1
    assert sorted(few.explain().split("\n")) == sorted(["reshape", "iota", few.explain().split("\n")[2], "reshape"])
    assert {"sum", "max", "where", "astype"} <= {a.sig.op.name for a in applications(compared([loss, gradient]))}
