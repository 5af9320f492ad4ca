"""`func.scan`, `fori_loop`, `while_loop`, `cond` and `switch` inside hybridized blocks compute what they compute of arrays."""

import numpy as host
import pytest

import twofold as mx
from twofold import autograd, func, gluon, nd
from twofold.errors import ShapeError, WrongArgument
from twofold.gluon import nn


class Written(gluon.HybridBlock):
    """A block whose computation is a function of F and the inputs."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def hybrid_forward(self, F, *inputs):
        return self.function(F, *inputs)


def by_both(function, *inputs):
    """The results of a block that runs its layers one by one, and of a hybridized one, as lists of NumPy's arrays."""
    found = []
    for hybridized in (False, True):
        block = Written(function)
        block.hybridize(hybridized)
        found.append([leaf.asnumpy() for leaf in func.tree_leaves(block(*inputs))])
    return found


VECTOR = host.array([1, 2, 3], "float32")
SUMS, TRIANGLE = [1, 3, 6], [0, 1, 3]

#: Each: a computation of F and a vector, and the results.
COMPUTATIONS = {
    "a slice of a vector has no axes": (lambda F, x: func.scan(lambda c, v: (c + v, c + v), 0.0, x), [6, SUMS]),
    "reversed": (lambda F, x: func.scan(lambda c, v: (c + v, c), 0.0, x, reverse=True), [6, [5, 3, 0]]),
    "a number of steps": (lambda F, x: func.scan(lambda c, _: (c * 2, c), x, length=2), [VECTOR * 4, [VECTOR, VECTOR * 2]]),
    "slices and a number of steps": (lambda F, x: func.scan(lambda c, v: (c * v, c), 1.0, x, length=3), [6, [1, 1, 2]]),
    "without a carry": (lambda F, x: func.scan(lambda c, v: (c, v * 2), None, x)[1], [VECTOR * 2]),
    "without results": (lambda F, x: func.scan(lambda c, v: (c + v, None), 0.0, x), [6]),
    "a number as a result": (lambda F, x: func.scan(lambda c, v: (c + v, 0.5), 0.0, x), [6, [0.5, 0.5, 0.5]]),
    "a dictionary": (
        lambda F, x: func.tree_leaves(func.scan(lambda c, v: ({"a": c["b"], "b": c["a"] + v}, c["a"]), {"b": 0.0, "a": 10.0}, x)),
        [2, 14, [10, 0, 11]],
    ),
    "a scan in a scan": (
        lambda F, x: func.scan(lambda c, v: func.scan(lambda d, u: (d + u * v, None), c, x), 0.0, x),
        [36],
    ),
    "what is read from outside": (lambda F, x: func.scan(lambda c, _: (c + F.max(x), None), F.sum(x), x)[0], [[15]]),
    "a fixed number of steps": (lambda F, x: func.fori_loop(1, 4, lambda i, s: s * 2, x), [VECTOR * 8]),
    "the number of the step": (lambda F, x: func.fori_loop(1, 4, lambda i, s: (s[0], s[1] + i), (x, 0)), [VECTOR, 6]),
    "no step": (lambda F, x: func.fori_loop(3, 3, lambda i, s: s * 2, x), [VECTOR]),
    "a number of steps by value": (
        lambda F, x: func.fori_loop(0, F.cast(F.sum(x), "int32"), lambda i, s: s + 1, x),
        [VECTOR + 6],
    ),
    "while": (lambda F, x: func.while_loop(lambda s: s[0] < 100, lambda s: (s[0] * 2, s[1] + 1), (F.sum(x), 0)), [[192], 5]),
    "one of two": (lambda F, x: func.cond(F.sum(x) > 3, lambda a: (a, a * 2), lambda a: (a, -a), x), [VECTOR, VECTOR * 2]),
    "the other one": (lambda F, x: func.cond(F.sum(x) > 9, lambda a: a * 2, lambda a: -a, x), [-VECTOR]),
    "one of two arguments": (lambda F, x: func.cond(F.sum(x) > 3, lambda a, b: a, lambda a, b: b, x, x * 2), [VECTOR]),
    "a condition that is known": (lambda F, x: func.cond(True, lambda a: a * 2, lambda a: -a, x), [VECTOR * 2]),
    "one of three": (
        lambda F, x: func.switch(F.cast(F.sum(x) - 5, "int32"), [lambda a: a, lambda a: -a, lambda a: a * 3], x),
        [-VECTOR],
    ),
    "beyond the last": (lambda F, x: func.switch(F.cast(F.sum(x), "int32"), [lambda a: a, lambda a: -a, lambda a: a * 3], x), [VECTOR * 3]),
    "a place that is known": (lambda F, x: func.switch(7, [lambda a: a, lambda a: -a], x), [-VECTOR]),
    "a choice in a loop": (
        lambda F, x: func.scan(lambda c, v: (func.cond(v > 1.5, lambda a: a + v, lambda a: a * 2, c), c), 1.0, x),
        [7, [1, 2, 4]],
    ),
}


@pytest.mark.parametrize(("function", "expected"), COMPUTATIONS.values(), ids=COMPUTATIONS)
def test_both_kinds_of_blocks_compute(function, expected):
    for found in by_both(function, nd.array(VECTOR)):
        assert len(found) == len(expected)
        for one, wanted in zip(found, expected, strict=True):
            assert one.shape == host.shape(wanted)
            assert one.tolist() == host.asarray(wanted).tolist()


class Recurrent(gluon.HybridBlock):
    """A recurrent layer of a dense one: the last state, and all of them."""

    def __init__(self, **names):
        super().__init__(**names)
        with self.name_scope():
            self.cell = nn.Dense(4, activation="tanh")
            self.scale = self.params.get("scale", shape=(1, 4), init="ones")

    def hybrid_forward(self, F, x, state, scale):
        def step(carry, row):
            new = F.broadcast_mul(self.cell(F.concat(carry, row, dim=1)), scale)
            return new, new * 2

        return func.scan(step, state, x)


def recurrent(hybridized):
    block = Recurrent(prefix="recurrent_")
    block.initialize(mx.init.Constant(0.1))
    block.hybridize(hybridized)
    return block


ROWS = host.random.default_rng(3).normal(size=(5, 2, 3)).astype("float32")


def by_numpy(rows):
    """The states of `Recurrent`, times two."""
    state, found = host.zeros((2, 4)), []
    for row in rows:
        state = host.tanh(0.1 * host.concatenate([state, row], axis=1).sum(1, keepdims=True) * host.ones((1, 4)))
        found.append(2 * state)
    return host.array(found)


@pytest.mark.parametrize("hybridized", [False, True])
def test_parameters_and_inputs_have_gradients(hybridized):
    block, x = recurrent(hybridized), nd.array(ROWS)
    x.attach_grad()
    with autograd.record():
        _, rows = block(x, nd.zeros((2, 4)))
        total = (rows * rows).sum()
    total.backward()
    assert rows.asnumpy() == pytest.approx(by_numpy(ROWS), rel=1e-5, abs=1e-6)
    for place in ((0, 0, 0), (2, 1, 2), (4, 0, 1)):
        step = host.zeros_like(ROWS, dtype="float64")
        step[place] = 1e-4
        slope = ((by_numpy(ROWS + step) ** 2).sum() - (by_numpy(ROWS - step) ** 2).sum()) / 2e-4
        assert x.grad.asnumpy()[place] == pytest.approx(slope, rel=1e-3)
    # the states are of degree one in the last scale: its own share of the sum shows that it has a gradient, too
    assert abs(block.scale.grad().asnumpy()).min() > 0


def test_transforms_of_hybridized_blocks_with_loops():
    x, start = nd.array(ROWS), nd.zeros((2, 4))
    plain, hybridized = recurrent(False), recurrent(True)
    losses = [lambda v, b=b: (b(v, start)[1] ** 2).sum() for b in (plain, hybridized)]
    for transform in (
        func.grad,
        lambda f: func.jit(func.grad(f)),
        lambda f: lambda v: func.jvp(func.grad(f), (v,), (v,))[1],
        lambda f: lambda v: func.hvp(f, (v,), (v * v,))[0],
        lambda f: func.vmap(lambda row: func.grad(f)(nd.stack(row, row, axis=1)), in_axes=1),
        lambda f: func.grad(func.checkpoint(f)),
    ):
        one, other = [transform(loss)(x).asnumpy() for loss in losses]
        assert abs(one).max() > 0
        assert other == pytest.approx(one, rel=1e-4, abs=1e-6)


def test_each_step_of_a_compiled_loop_draws_its_own_numbers():
    loops = [
        lambda F, x: func.scan(lambda c, _: (c, F.Dropout(c)), x, length=20)[1],
        lambda F, x: func.fori_loop(0, 20, lambda i, s: s + F.Dropout(x), F.zeros_like(x)),
        lambda F, x: func.while_loop(lambda s: s[0] < 20, lambda s: (s[0] + 1, s[1] + F.Dropout(x)), (0, F.zeros_like(x)))[1],
    ]
    for function in loops:
        block = Written(function)
        block.hybridize()
        mx.random.seed(7)
        with autograd.train_mode():
            first, second = (block(nd.ones((64,))).asnumpy() for _ in range(2))
        # 20 draws of 0 or 2: sums that differ from 0 and 40, and between runs
        sums = first.sum(0) if first.ndim == 2 else first
        assert 5 < sums.min() < sums.max() < 35
        assert (first != second).any()


def test_a_block_with_a_loop_is_exported(tmp_path):
    block, x, start = recurrent(True), nd.array(ROWS), nd.zeros((2, 4))
    expected = [part.asnumpy() for part in block(x, start)]
    block.export(str(tmp_path / "net"))
    loaded = gluon.SymbolBlock.imports(
        f"{tmp_path}/net-symbol.json", ["data0", "data1"], f"{tmp_path}/net-0000.params", mx.current_context()
    )
    for one, wanted in zip(loaded(x, start), expected, strict=True):
        assert one.asnumpy().tolist() == wanted.tolist()


def test_a_loop_without_a_limit_is_exported(tmp_path):
    block = Written(lambda F, x: func.while_loop(lambda s: F.sum(s) < 100, lambda s: s * 2, x))
    block.hybridize()
    assert block(nd.array(VECTOR)).asnumpy().tolist() == [32, 64, 96]
    block.export(str(tmp_path / "net"))
    loaded = gluon.SymbolBlock.imports(f"{tmp_path}/net-symbol.json", ["data"], ctx=mx.current_context())
    assert loaded(nd.array(VECTOR * 40)).asnumpy().tolist() == [40, 80, 120]


def test_symbols_of_numpys_dialect_have_loops():
    class Loops(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            last, rows = func.scan(lambda c, v: (F.np.add(c, v), F.np.multiply(c, v)), 0.0, x)
            return last, func.cond(last > 3, lambda a: a * 2, lambda a: -a, rows)

    block = Loops()
    block.hybridize()
    last, rows = block(mx.mxnet_numpy.array([1.0, 2.0, 3.0]))
    assert not isinstance(rows, nd.NDArray)
    assert (last.shape, last.item(), rows.tolist()) == ((), 6, [0, 4, 18])


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda F, x: func.scan(lambda c, v: (c, v), 0.0, x, length=4), ShapeError, r"steps.*3, 4"),
        (lambda F, x: func.scan(lambda c, v: (c, v), x, length=0), ShapeError, "at least one step"),
        (lambda F, x: func.scan(lambda c, v: (c, v), x), ShapeError, "neither xs nor length"),
        (lambda F, x: func.scan(lambda c, v: c, 0.0, x), WrongArgument, r"does not return a pair.*return \(carry, y\)"),
        (lambda F, x: func.scan(lambda c, v: ((c, c), v), 0.0, x), WrongArgument, r"new carry differs.*\(\*, \*\) for \*"),
        (
            lambda F, x: func.scan(lambda c, v: (F.tile(c, 2), v), x, x),
            ShapeError,
            r"scan: the carry changes.*\(3,\) becomes float32\(6,\)",
        ),
        (
            lambda F, x: func.scan(lambda c, v: (c, v), nd.ones(3), x),
            WrongArgument,
            "array in a hybridized block is no symbol: given NDArray",
        ),
        (lambda F, x: func.cond(x > 2, lambda a: a, lambda a: -a, x), ShapeError, "pred has one element"),
        (lambda F, x: func.cond(F.sum(x) > 2, lambda a: (a, a), lambda a: a, x), WrongArgument, "return different structures"),
        (lambda F, x: func.cond(F.sum(x) > 2, lambda a: a, lambda a: F.sum(a), x), ShapeError, "arrays of different types"),
        (lambda F, x: func.while_loop(lambda s: s < 3, lambda s: s + 1, x), ShapeError, "the condition has one element"),
        (lambda F, x: func.while_loop(lambda s: True, lambda s: s + 1, x), WrongArgument, "the condition is no array: given bool"),
    ],
)
def test_mistakes_in_hybridized_blocks(function, error, text):
    block = Written(function)
    block.hybridize()
    with pytest.raises(error, match=text):
        block(nd.array(VECTOR))
