"""Values that are computed in the memory of the concatenation that reads them."""

import numpy as np
import pytest

from twofold.graph.build import G
from twofold.graph.ir import applies, topological
from twofold.ops.primitive_shape import FULL, concat

from .test_programs import BIGS, check, inputs

ROWS = 3


def bytes_of_buffers(program):
    return sum(n for n, _ in program.plan.buffers)


def concatenations(program):
    return [n for n in topological(program.outputs) if applies(n, concat)]


def joined(program):
    """Whether each concatenation is computed in place, those of operands first."""
    return [program.plan.is_in_place(n) for n in concatenations(program)]


@BIGS
@pytest.mark.parametrize("big_image", [8, 300])  # scratch that the program keeps, and that each run allocates
def test_each_layer_adds_to_what_earlier_ones_have_written(big, big_image):
    x = inputs((1, 2, big_image, big_image))[0]
    parts = G.exp(x * 0.1)
    sums = []
    for k in range(3):
        new = G.sum(parts * (k + 1.0), axis=(1,), keepdims=True) * 0.01
        sums.append(G.sum(new))
        parts = G.concat(parts, new, axis=1)

    def want(x):
        parts, sums = np.exp(x * np.float32(0.1)), []
        for k in range(3):
            new = (parts * np.float32(k + 1)).sum(1, keepdims=True) * np.float32(0.01)
            sums.append(new.astype("f8").sum())
            parts = np.concatenate([parts, new], 1)
        return [parts * 2, *sums]

    program = check([parts * 2, *sums], [x], lambda x: [a.astype("float32") for a in want(x)], big=big)
    assert joined(program) == [True] * 3
    # no copy of what is there already: the five channels once, and what layers need on the way
    assert bytes_of_buffers(program) <= 3.5 * parts.nbytes


def flat(x):
    return x.reshape(-1) if isinstance(x, np.ndarray) else G.reshape(x, shape=(x.size,))


@BIGS
@pytest.mark.parametrize("operand", ["an input", "twice the same", "a view", "numbers"])
def test_operands_that_others_own_are_copied(big, operand):
    x, y = inputs((2, ROWS), (2, ROWS))
    t, u = G.exp(x), G.exp(y)
    numbers = G.iota(size=6, dtype="float32")
    parts = {"an input": (x, t), "twice the same": (t, t), "a view": (G.flip(t, axis=1), u), "numbers": (t, numbers)}

    def want(x, y):
        t, u = np.exp(x), np.exp(y)
        arrays = {"an input": (x, t), "twice the same": (t, t), "a view": (t[:, ::-1], u), "numbers": (t, np.arange(6, dtype="f4"))}
        return [np.concatenate([flat(a) for a in arrays[operand]]) * 2]

    program = check([G.concat(*map(flat, parts[operand]), axis=0) * 2], [x, y], want, big=big)
    assert joined(program) == [False]


@BIGS
def test_results_of_the_program_are_not_joined(big):
    (x,) = inputs((2, ROWS))
    t, u = G.exp(x), x * 3
    whole = G.concat(t, u, axis=0)
    check([whole], [x], lambda x: [np.concatenate([np.exp(x), x * 3])], big=big)
    program = check([t, whole + 1], [x], lambda x: [np.exp(x), np.concatenate([np.exp(x), x * 3]) + 1], big=big)
    assert joined(program) == [False]


@BIGS
def test_operands_that_are_not_adjacent_in_the_result_are_copied(big):
    (x,) = inputs((2, ROWS))
    program = check([G.concat(G.exp(x), x * 3, axis=1) + 1], [x], lambda x: [np.concatenate([np.exp(x), x * 3], 1) + 1], big=big)
    assert joined(program) == [False]


@BIGS
def test_what_is_read_later_is_not_overwritten(big):
    (x,) = inputs((2, ROWS))
    t, u = G.exp(x), x * 3
    whole = G.concat(t, u, axis=0)
    # the sum dies before the last reader of an operand, and the doubled operand has the size and dtype of both
    late = G.sum(whole * whole)
    program = check(
        [G.multiply(t, late), G.multiply(u, late), G.reshape(G.slice(whole, key=((1, 3, None), FULL)) - late, shape=(6,))],
        [x],
        lambda x: [
            np.exp(x) * (w := np.concatenate([np.exp(x), x * 3]), s := (w * w).sum())[1],
            x * 3 * s,
            (w[1:3] - s).reshape(-1),
        ],
        big=big,
    )
    assert joined(program) == [True]


@BIGS
def test_an_update_of_an_operand_leaves_the_operand(big):
    (x,) = inputs((2, ROWS))
    t = G.exp(x)
    changed = G.slice_update(t, x * 7, key=(FULL, FULL))
    changed = G.slice_update(changed, G.sum(x), key=((0, 1, None), FULL))
    whole = G.concat(t, changed, axis=0)

    def want(x):
        new = x * 7
        new[0] = x.sum()
        return [np.concatenate([np.exp(x), new]) * 2]

    program = check([whole * 2], [x], want, big=big)
    assert joined(program) == [True]


@BIGS
def test_an_update_of_a_view_of_another_operand_is_whole(big):
    """Both are in the first elements of the concatenation's memory."""
    (x,) = inputs((2, ROWS))
    t = G.exp(x)
    changed = G.slice_update(G.flip(t, axis=1), G.sum(x), key=((0, 1, None), FULL))

    def want(x):
        new = np.exp(x)[:, ::-1].copy()
        new[0] = x.sum()
        return [np.concatenate([new, np.exp(x)]) * 2]

    program = check([G.concat(changed, t, axis=0) * 2], [x], want, big=big)
    assert joined(program) == [True]


def updated(a, value):
    a = a.copy()
    a[:, :1] = value
    return a


def random_graph(draw):
    """A graph of small arrays with concatenations, some nested, of values with other readers; and what NumPy computes for it."""
    x, y = inputs((1, 2, 4), (1, 2, 4))
    values = [(x, lambda x, y: x), (y, lambda x, y: y)]
    for _ in range(draw.integers(4, 14)):
        node, of = values[draw.integers(len(values))]
        kind = draw.integers(6)
        if kind == 0:
            values.append((node * 0.5, lambda x, y, f=of: f(x, y) * np.float32(0.5)))
        elif kind == 1:
            total = G.sum(node, axis=(1,), keepdims=True)
            values.append((total, lambda x, y, f=of: f(x, y).sum(1, keepdims=True)))
        elif kind == 2:
            flipped = G.flip(node, axis=1)
            values.append((flipped, lambda x, y, f=of: f(x, y)[:, ::-1]))
        elif kind == 3:
            changed = G.slice_update(node, G.sum(x), key=(FULL, (0, 1, None), FULL))
            values.append((changed, lambda x, y, f=of: updated(f(x, y), x.sum())))
        else:
            chosen = [values[k] for k in draw.integers(len(values), size=draw.integers(2, 4))]
            whole = G.concat(*[n for n, _ in chosen], axis=1)
            values.append((whole, lambda x, y, fs=[f for _, f in chosen]: np.concatenate([f(x, y) for f in fs], 1)))
    kept = [values[k] for k in draw.integers(2, len(values), size=3)]
    outputs = [G.negative(n) for n, _ in kept]
    return outputs, [x, y], lambda x, y: [-f(x, y) for _, f in kept]


def test_random_graphs():
    draw, counts = np.random.default_rng(0), {True: 0, False: 0}
    for _ in range(400):
        outputs, leaves, want = random_graph(draw)
        program = check(outputs, leaves, want, big=int(draw.choice([1, 1 << 40])), runs=2)
        for is_joined in joined(program):
            counts[is_joined] += 1
    assert min(counts.values()) > 0.02 * sum(counts.values())
