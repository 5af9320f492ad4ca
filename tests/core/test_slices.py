"""Slices moved before element-wise nodes, and copies removed that only kernels read: the same bits, fewer steps, bounded work."""

import random
from dataclasses import replace

import numpy as np
import pytest

from twofold.graph import slices
from twofold.graph.build import G
from twofold.graph.ir import applications, leaf
from twofold.graph.recompute import distinct_view
from twofold.graph.slices import AGAIN, MOST, move_slices
from twofold.ops import pooling
from twofold_numpy import NumpyBackend

from .comparison import with_and_without


class Strided(NumpyBackend):
    """Kernels that claim to read strided inputs, as blocked ufuncs can."""

    @property
    def target(self):
        return replace(super().target, strided_kernels=True)


ALL = (None, None, None)


def anywhere(n):
    return True


def narrowed(outputs, fuses):
    return move_slices(outputs, fuses)


def both(outputs, leaves, arrays, **options):
    """The programs with and without the pass, after checking that both give the same bits."""
    return with_and_without("early slices", outputs, leaves, arrays, Strided(), big=1, **options)


def names(outputs):
    return sorted(n.bound_op.op.name for n in applications(outputs))


def x_of(*shape, name="x"):
    return leaf(name, shape, "float32")


def numbers(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


def taken(x, *keys):
    return G.slice(x, key=keys)


def test_a_slice_of_a_chain_moves_to_its_inputs():
    x, y = x_of(6, 8), x_of(8, name="y")
    picked = taken(G.exp(x + y), ALL, (1, None, 2)) * 2.0
    with_, without = both([picked], [x, y], [numbers(6, 8), numbers(8)])
    assert with_.explain() == "slice\nslice\nadd + exp + multiply"
    assert "add + exp\nslice" in without.explain()
    assert [len(p) for p in (with_.kernels, without.kernels)] == [1, 1]
    assert with_.kernels[0].shape == (6, 4)
    assert with_.plan.buffers == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((1, 9, 2), (0, 3, None)),
        ((None, None, -1), (2, None, 3)),
        ((8, None, -2), (None, None, -1)),
        ((2, 2, None), ALL),
        ((-4, None, None), (5, 9, 1)),
    ],
)
def test_nested_slices_merge(first, second):
    x = x_of(10, 3)
    found = taken(G.absolute(taken(G.negative(x), first, ALL)), second, ALL) + 1.0
    with_, _ = both([found], [x], [numbers(10, 3)])
    if found.size:
        assert names(with_.outputs) == ["absolute", "add", "negative", "slice"]


def test_broadcast_inputs_are_sliced_only_on_their_own_axes():
    x, row, column, number = x_of(4, 6), x_of(1, 6, name="row"), x_of(4, 1, name="column"), leaf("number", (), "float32")
    whole = (x + row) * column + number + G.full(shape=(4, 6), value=3.0, dtype="float32")
    found = taken(whole, (0, 4, 2), (1, 6, 2)) * taken(whole, (1, 4, 2), (0, 6, 2))
    with_, _ = both([found], [x, row, column, number], [numbers(4, 6), numbers(1, 6), numbers(4, 1), np.float32(2)])
    assert len(with_.kernels) == 1
    assert with_.kernels[0].shape == (2, 3)


def test_values_also_read_whole_are_computed_once():
    x = x_of(6, 6)
    whole = G.exp(x * 3.0)
    for other in (whole, G.sum(whole, axis=(0,), keepdims=False), G.matmul(x, whole)):
        found = narrowed([taken(whole, (0, 3, None), ALL) + 1.0, other], anywhere)
        assert names(found).count("exp") == 1


def test_slices_with_other_readers_are_kept():
    x = x_of(6, 6)
    part = taken(G.exp(x), (0, 3, None), ALL)
    for kept in (part, G.matmul(part, x), part + x_of(2, 3, 6, name="y"), G.reshape(part, shape=(18,)) + 1.0):
        assert narrowed([kept], anywhere) == [kept]


def test_recomputed_values_are_kept_separate():
    x = leaf("x", (4, 4), "float32")
    again = G.tanh(distinct_view(G.exp(x))) * 2.0
    assert narrowed([again], anywhere) == [again]


def test_repeated_work_is_bounded():
    x = x_of(40, 10)
    for function, times in ((G.exp, 1), (G.negative, AGAIN)):
        whole = function(x)
        fit = [taken(whole, (k, 40 - times + 1 + k, None), ALL) for k in range(times)]
        more = [taken(whole, (k, 37 + k, None), ALL) for k in range(times + 1)]
        name = names([whole])[0]
        assert names(narrowed([sum(p[1:], p[0] * 2.0) for p in [fit]], anywhere)).count(name) == times
        assert names(narrowed([sum(p[1:], p[0] * 2.0) for p in [more]], anywhere)).count(name) == 1
    lines = [taken(G.exp(x), (k, k + 1, None), ALL) for k in range(MOST + 1)]
    assert names(narrowed([sum(lines[1:], lines[0] * 2.0)], anywhere)).count("exp") == 1
    assert names(narrowed([sum(lines[1:MOST], lines[0] * 2.0)], anywhere)).count("exp") == MOST


def test_only_kernels_are_split():
    x = x_of(6, 6)
    found = taken(G.exp(x), (0, 3, None), ALL) + 1.0
    for alone in ("exp", "add"):
        (kept,) = narrowed([found], lambda n, alone=alone: n.bound_op.op.name != alone)
        assert [n.shape for n in applications([kept]) if n.bound_op.op.name == "exp"] == [(6, 6)]


def test_copies_read_only_by_kernels_are_removed():
    x, y = x_of(5, 7), x_of(7, 5, name="y")
    copy = G.contiguous(G.permute_dims(x, axes=(1, 0)))
    with_, without = both([G.exp(copy * 2.0 + y)], [x, y], [numbers(5, 7), numbers(7, 5)])
    assert with_.explain() == "permute_dims\nmultiply + add + exp"
    assert "contiguous" in without.explain()
    for other in (copy, G.matmul(copy, x), G.sum(copy, axis=(1,), keepdims=True)):
        assert names(narrowed([copy * 2.0 + y, other], anywhere)).count("contiguous") == 1


def test_a_large_copy_is_made_once_for_several_kernels(monkeypatch):
    x, y = x_of(5, 7), x_of(7, 5, name="y")
    copy = G.contiguous(G.permute_dims(x, axes=(1, 0)))
    several = [G.exp(copy * 2.0 + y), G.tanh(copy)]
    assert "contiguous" not in names(narrowed(several, anywhere))
    monkeypatch.setattr(slices, "COPIED", 35)
    assert names(narrowed(several, anywhere)).count("contiguous") == 1
    assert "contiguous" not in names(narrowed(several[:1], anywhere))


def test_a_donated_input_is_not_overwritten_while_views_read_it():
    x = x_of(6, 6)
    turned = G.contiguous(G.permute_dims(x, axes=(1, 0))) * 2.0 + x
    with_, _ = both([turned], [x], [numbers(6, 6)], donated=[x])
    assert with_.plan.donated == {}


#: LeNet's, ResNet's, Inception's, and a one-dimensional one.
WINDOWS = [((2, 2), (2, 2), (0, 0)), ((3, 3), (2, 2), (1, 1)), ((3, 3), (1, 1), (1, 1)), ((2,), (2,), (0,))]


def pool(x, kernel, stride, pad, kind, convention="valid"):
    windows = pooling._windows(x.shape, kernel, stride, pad, False, convention)
    return pooling._pool(G, x, windows, kind, None, True)


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize(
    ("kernel", "stride", "pad"), [((2, 2), (2, 2), (0, 0)), ((3, 3), (2, 2), (1, 1)), ((3, 3), (1, 1), (1, 1)), ((2,), (2,), (0,))]
)
def test_pooling_is_one_kernel(kind, kernel, stride, pad):
    shape = (2, 3, 9, 8)[: len(kernel) + 2]
    x = x_of(*shape)
    with_, without = both([pool(x, kernel, stride, pad, kind)], [x], [numbers(*shape)])
    steps = [line for line in with_.explain().splitlines() if line not in ("slice", "pad")]
    assert len(steps) == 1
    assert len(without.explain().splitlines()) >= 3
    assert with_.plan.nbytes <= without.plan.nbytes


def random_graph(seed):
    """A graph of element-wise nodes, slices, transposes, copies, reductions and concatenations; its leaves and their arrays."""
    draw = random.Random(seed)
    leaves = [leaf(k, (6, 5), "float32") for k in range(2)] + [leaf(2, (5,), "float32")]
    known = list(leaves[:2])
    for _ in range(draw.randrange(4, 18)):
        x = draw.choice(known[-6:])
        same = [y for y in known if y.shape == x.shape]
        kind = draw.random()
        if kind < 0.35 and all(x.shape):
            keys = []
            for n in x.shape:
                step = draw.choice([1, 1, 2, -1])
                low, high = sorted(draw.sample(range(n + 1), 2)) if draw.random() < 0.4 else (0, n)
                keys.append((low, high, step) if step > 0 else (high - 1, low - 1 if low else None, step))
            known.append(G.slice(x, key=tuple(keys)))
        elif kind < 0.45:
            known.append(draw.choice([lambda v: v, G.contiguous])(G.permute_dims(x, axes=(1, 0))))
        elif kind < 0.5:
            known.append(G.concat(x, draw.choice(same), axis=0))
        elif kind < 0.55:
            known.append(G.sum(x, axis=(1,), keepdims=True) * x)
        elif kind < 0.6 and x.shape[-1] == 5:
            known.append(x + leaves[2])
        elif kind < 0.8:
            known.append(draw.choice([G.add, G.multiply, G.maximum, G.subtract])(x, draw.choice(same)))
        else:
            known.append(draw.choice([G.negative, G.absolute, G.sqrt, lambda v: v * 2.0])(x))
    outputs = list(dict.fromkeys([known[-1], *draw.sample(known[2:], min(2, len(known) - 2))]))
    return outputs, leaves, [np.abs(numbers(6, 5)), np.abs(numbers(6, 5)) + 1, np.abs(numbers(5))]


@pytest.mark.parametrize("seed", range(150))
def test_random_graphs_are_bitwise_unchanged(seed):
    both(*random_graph(seed))


def test_random_graphs_exercise_the_pass():
    changed = sum(names(narrowed(g[0], anywhere)) != names(g[0]) for g in map(random_graph, range(150)))
    assert changed > 10


def test_distant_slices_do_not_reread_their_source():
    x = leaf("x", (8, 48), "float32")
    columns = G.maximum(G.slice(x, key=(ALL, (0, None, 4))), G.slice(x, key=(ALL, (1, None, 4))))
    rows = [G.slice(columns, key=((k, None, 2), ALL)) for k in range(2)]
    assert names(narrowed([G.maximum(*rows)], anywhere)).count("maximum") == 2
    near = G.maximum(G.slice(x, key=(ALL, (0, None, 2))), G.slice(x, key=(ALL, (1, None, 2))))
    rows = [G.slice(near, key=((k, None, 2), ALL)) for k in range(2)]
    assert names(narrowed([G.maximum(*rows)], anywhere)).count("maximum") == 3
