"""Calls of NumPy that are faster than the obvious ones give the same bits."""

import numpy as np
import pytest

from twofold.backend.loader import backend_for
from twofold.device import CPU
from twofold.graph.build import G
from twofold.graph.ir import const, leaf
from twofold.graph.rewrite import simplify
from twofold.program.compile import Program
from twofold_numpy.calls import BLENDED, select

HOST = backend_for(CPU)
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.25, 1e-40]


def values(n, dtype, seed=0):
    draw = np.random.default_rng(seed)
    out = draw.normal(0, 10, n).astype(dtype)
    if np.dtype(dtype).kind == "f":
        with np.errstate(over="ignore"):
            out[draw.integers(0, n, n // 8)] = draw.choice(SPECIAL, n // 8).astype(dtype)
    return out


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "float16", "uint8", "bool"])
@pytest.mark.parametrize("n", [BLENDED - 1, BLENDED, BLENDED + 5])
def test_select_matches_where(dtype, n):
    a, b = values(n, dtype, 1), values(n, dtype, 2)
    for mask in (values(n, "float32", 3) > 0, np.arange(n) % 3, np.zeros(n, bool), np.ones(n, bool)):
        out = np.empty(n, dtype)
        select(mask, a, b, out)
        assert out.tobytes() == np.where(mask != 0, a, b).tobytes()


@pytest.mark.parametrize("which", ["a", "b", "mask", "both"])
def test_select_broadcasts(which):
    n = BLENDED
    a = np.array(np.nan, "float32") if which in ("a", "both") else values(n, "float32", 1)
    b = np.array(-0.0, "float32") if which in ("b", "both") else values(n, "float32", 2)
    mask = np.array(True) if which == "mask" else values(n, "float32", 3) > 0
    out = np.empty(n, "float32")
    select(mask, a, b, out)
    assert out.tobytes() == np.where(mask, a, b).astype("float32").tobytes()


@pytest.mark.parametrize("number", [0.5, -0.25, float("inf"), float("nan")])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_kernels_clip_by_a_scalar_as_numpy_does(name, number):
    x, s = leaf(0, (200_000,), "float32"), leaf(1, (), "weakf")
    data = values(200_000, "float32")
    want = getattr(np, name)(data * np.float32(2), np.float32(number))
    by_leaf = Program([getattr(G, name)(x * 2, s)], [x, s], HOST, big=1).run([data, number])[0]
    by_constant = Program([getattr(G, name)(x * 2, const(number))], [x], HOST, big=1).run([data])[0]
    assert by_leaf.tobytes() == by_constant.tobytes() == want.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_a_square_matches_the_power_of_two(dtype):
    x = leaf(0, (1000,), dtype)
    (simple,) = simplify([G.power(x, const(2))])
    assert simple.bound_op.op.name == "square"
    data = values(1000, dtype)
    with np.errstate(all="ignore"):
        assert Program([G.power(x, const(2))], [x], HOST).run([data])[0].tobytes() == np.power(data, 2).tobytes()


def test_integers_keep_the_general_power():
    (simple,) = simplify([G.power(leaf(0, (10,), "int32"), const(2))])
    assert simple.bound_op.op.name == "power"
