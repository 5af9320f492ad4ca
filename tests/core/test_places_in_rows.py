"""Gathers and scatters of one element per row, done by comparing indices: the same bits as the gather and the scatter."""

import math

import numpy as np
import pytest

from twofold.graph.build import G
from twofold.graph.ir import applications, leaf
from twofold.graph.rows import compare_places, narrow_gathers, take_scattered_sums
from twofold.program.compile import Program

from .comparison import bits, on_both
from .test_horizontal_fusion import APART, Together

ODD = np.array([[1.5, -0.0, math.nan, math.inf], [-math.inf, 0.0, -2.0, -0.0], [-0.0, -0.0, -0.0, -0.0]], np.float32)


def both(outputs, leaves, arrays, **options):
    """The programs of a backend that wants the passes and of one that does not, after checking that both give the same bits."""
    return on_both((Together(), APART), outputs, leaves, arrays, big=1, **options)


def rows_of(x):
    """A row computed from reductions over it, element by element from the operand."""
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


def test_other_scatters_are_unchanged():
    v, at = leaf("v", (3, 1), "float32"), leaf("at", (3, 1), "int64")
    rows = G.reshape(G.iota(size=3, dtype="int64"), shape=(3, 1))
    zeros, ones = (G.full(shape=(3, 4), value=n, dtype="float32") for n in (0.0, 1.0))
    other = leaf("other", (3, 1), "int64")
    for kept in (
        G.index_add(ones, v, rows, at, key=(0, 1)),
        G.index_add(zeros, v, other, at, key=(0, 1)),
        G.index_add(zeros, v, at, rows, key=(1, 0)),
    ):
        assert compare_places([kept]) == [kept]


def scattered(value, at, n=3, c=4):
    rows = G.reshape(G.iota(size=n, dtype="int64"), shape=(n, 1))
    return G.index_add(G.full(shape=(n, c), value=0.0, dtype="float32"), value, rows, at, key=(0, 1))


@pytest.mark.parametrize("keepdims", [True, False])
@pytest.mark.parametrize("value", [0.0, -0.0, math.nan, math.inf, -3.5])
def test_the_sum_of_a_row_of_one_element_is_that_element(value, keepdims):
    v, at = leaf("v", (3, 1), "float32"), leaf("at", (3, 1), "int64")
    arrays, places = [np.full((3, 1), value, np.float32), np.array([[3], [0], [2]])], np.array([[3], [0], [2]])
    total = G.sum(scattered(v, at), axis=-1, keepdims=keepdims)
    assert "sum" not in Program([total], [v, at], APART).explain()
    want = np.zeros((3, 4), np.float32)
    want[[0, 1, 2], [3, 0, 2]] += np.float32(value)
    assert bits(Program([total], [v, at], APART).run([arrays[0], places])) == bits([want.sum(axis=-1, keepdims=keepdims)])
    full = G.full(shape=(3, 1), value=value, dtype="float32")
    known = Program([G.sum(scattered(full, at), axis=1, keepdims=keepdims)], [at], APART)
    assert bits(known.run([places])) == bits([want.sum(axis=-1, keepdims=keepdims)])


def test_other_sums_are_unchanged():
    v, at, wide = leaf("v", (3, 1), "float32"), leaf("at", (3, 1), "int64"), leaf("wide", (3, 2), "int64")
    rows = scattered(v, at)
    twice = G.index_add(
        G.full(shape=(3, 4), value=0.0, dtype="float32"),
        G.broadcast_to(v, shape=(3, 2)),
        G.reshape(G.iota(size=3, dtype="int64"), shape=(3, 1)),
        wide,
        key=(0, 1),
    )
    for kept in (G.sum(rows, axis=0, keepdims=True), G.sum(rows, axis=(0, 1), keepdims=False), G.sum(twice, axis=-1, keepdims=True)):
        assert take_scattered_sums([kept]) == [kept]


@pytest.mark.parametrize("places", [(0, 1, 2), (3, 2, 3)])
def test_a_gathered_element_is_computed_from_elements(places):
    x, at = leaf("x", (3, 4), "float32"), leaf("at", (3, 1), "int64")
    shifted = x - G.max(G.where(G.greater(x, -9.0), x, 0.0), axis=-1, keepdims=True)
    picked = G.take_along_axis(shifted * 2.0 - G.log(G.sum(G.exp(shifted), axis=-1, keepdims=True)), at, axis=-1)
    early = narrow_gathers([picked], lambda n: True)
    assert [a.inputs[0] for a in applications(early) if a.bound_op.op.name == "take_along_axis"] == [x]
    assert narrow_gathers([picked], lambda n: False) == [picked]
    arrays = [ODD, np.array(places).reshape(3, 1)]
    late, soon = Program([picked], [x, at], APART), Program(early, [x, at], APART)
    assert bits(late.run(arrays)) == bits(soon.run(arrays))


def test_gathers_from_values_that_are_not_rows_do_not_move():
    x, w, at = leaf("x", (3, 4), "float32"), leaf("w", (4,), "float32"), leaf("at", (3, 1), "int64")
    for source in (x + w, G.matmul(x, leaf("m", (4, 4), "float32")), x):
        picked = G.take_along_axis(source, at, axis=1)
        found = applications(narrow_gathers([picked], lambda n: True))
        assert [a.inputs[0] for a in found if a.bound_op.op.name == "take_along_axis"] == [source]
    chain = x
    for _ in range(40):
        chain = G.exp(chain)
    (found,) = narrow_gathers([G.take_along_axis(chain, at, axis=1)], lambda n: True)
    assert sum(a.bound_op.op.name == "exp" and a.shape == (3, 1) for a in applications([found])) == 8


def test_a_row_made_by_another_step_is_gathered_from():
    x, at = leaf("x", (3, 4), "float32"), leaf("at", (3, 1), "int64")
    for source in (x, G.exp(x), G.matmul(x, leaf("w", (4, 4), "float32"))):
        picked = G.take_along_axis(source, at, axis=1)
        assert compare_places([picked]) == [picked]


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
    assert {"sum", "max", "where", "astype"} <= {a.bound_op.op.name for a in applications(compare_places([loss, gradient]))}


def normalized(x):
    """Rows divided by their sums, the sums, and the maximum of another function of the rows, far above in the graph."""
    powers = G.exp(x)
    total = G.sum(powers, axis=-1, keepdims=True)
    wide = G.where(G.greater(x, 0.0), x - G.log(total), -9.0)
    far = G.max(wide, axis=-1, keepdims=True)
    for _ in range(3):
        far = G.negative(G.log(G.absolute(far) + 1.0))
    return powers / total, wide, far


DRAWN = np.random.default_rng(3).normal(size=(6, 4)).astype(np.float32)


def test_later_row_results_are_computed_with_the_rows():
    x, w = leaf("x", (6, 4), "float32"), leaf("w", (4, 4), "float32")
    near, _, far = normalized(x)
    few, _ = both(
        [G.matmul(near, w), G.matmul(w, G.reshape(G.sum(far, axis=0, keepdims=True) + w, shape=(4, 4)))], [x, w], [DRAWN, DRAWN[:4]]
    )
    assert len([k for k in few.kernels if "exp" in k.name]) == 1
    assert not any("max" in k.name and "exp" not in k.name for k in few.kernels)


def test_rows_with_other_readers_are_computed_only_when_needed():
    """Computed earlier, they would occupy memory from then on."""
    x, w = leaf("x", (6, 4), "float32"), leaf("w", (4, 4), "float32")
    near, wide, far = normalized(x)
    few, _ = both([G.matmul(near, w), G.matmul(wide, w), G.sum(far, axis=0, keepdims=True)], [x, w], [DRAWN, DRAWN[:4]])
    (first,) = [k for k in few.kernels if "exp" in k.name]
    assert "where" not in first.name


def test_readers_of_a_view_of_the_rows_run_after_them():
    x, w = leaf("x", (4, 4), "float32"), leaf("w", (4, 4), "float32")
    powers = G.exp(x)
    total = G.sum(powers, axis=-1, keepdims=True)
    turned = G.permute_dims(powers / total, axes=(1, 0))
    far = G.max(G.where(G.greater(turned, 0.1), turned - G.log(total), -9.0), axis=-1, keepdims=True)
    both([G.matmul(powers / total, w), far], [x, w], [DRAWN[:4], DRAWN[2:]])


def test_a_negative_zero_that_is_folded_keeps_its_sign():
    zeros, ones = (G.full(shape=(2,), value=v, dtype="float32") for v in (0, 1))
    folded = [G.negative(zeros), G.negative(ones) * 0]
    assert bits(Program(folded, [], APART).run([])) == bits([np.full(2, -0.0, np.float32)] * 2)
