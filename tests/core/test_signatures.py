"""Operators with their parameters fixed: what makes two of them one, and that those no longer used are freed."""

import gc

import numpy as np
import pytest

from twofold import nd, sym
from twofold.graph import ir, tables
from twofold.graph.build import apply
from twofold.imperative.invoke import invoke
from twofold.opdef import spec
from twofold.opdef.declare import build
from twofold.opdef.params import Static
from twofold.opdef.registry import NAMES, OPS
from twofold.opdef.spec import BoundOp

from .conftest import limit_nodes

EDGE = {"mode": "constant", "pad_width": (0, 0, 0, 0, 0, 0, 1, 1)}
ZEROS = [(-0.0, 0.0), (0.0, -0.0)]


@pytest.fixture
def unknown(monkeypatch):
    """As in a process that has not padded yet."""
    for op in (OPS["pad"], OPS["pad_array"], OPS["full"]):
        op.bound_ops.clear()
    tables.drop_generation()
    gc.collect()


def row(value):
    return np.array([value, 1, value], "float32")


@pytest.mark.parametrize("values", ZEROS)
@pytest.mark.parametrize("times", [1, 2])
def test_padding_keeps_the_sign_of_zero(unknown, values, times):
    for value in values * times:
        got = nd.pad(nd.ones((1, 1, 1, 1)), constant_value=value, **EDGE).asnumpy()[0, 0, 0]
        np.testing.assert_array_equal(np.signbit(got), np.signbit(row(value)))


@pytest.mark.parametrize("values", ZEROS)
def test_padding_in_symbols_keeps_the_sign_of_zero(unknown, values):
    for value in values:
        net = sym.Pad(sym.Variable("x"), constant_value=value, **EDGE)
        (got,) = net.eval(x=nd.ones((1, 1, 1, 1)))
        np.testing.assert_array_equal(np.signbit(got.asnumpy()[0, 0, 0]), np.signbit(row(value)))


@pytest.mark.parametrize("values", ZEROS)
def test_filling_keeps_the_sign_of_zero(unknown, values):
    for value in values:
        assert np.signbit(nd.full((3,), value).asnumpy()).all() == np.signbit(value)
        assert np.signbit(invoke(OPS["full"].bind(shape=(3,), value=value, dtype="float32"), ())[0]).all() == np.signbit(value)


def of_static():
    def rule(xp, x, *, value: Static):
        return x

    return build(rule, ("of_static",), (), {})


@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: (v,), lambda v: ("a", (None, v))])
def test_static_parameters_of_another_type_or_sign_are_others(wrap):
    op, values = of_static(), [1, 1.0, True, np.float32(1), 0, 0.0, -0.0, False]
    for _ in range(2):
        bound_ops = [op.bind(value=wrap(v)) for v in values]
        assert len(set(bound_ops)) == len(values)
        assert [repr(s.params["value"]) for s in bound_ops] == [repr(wrap(v)) for v in values]


def test_equal_parameters_are_one_signature_however_they_are_written():
    op = NAMES["LeakyReLU"]
    assert len({op.bind(slope=slope) for slope in (1, 1.0, True, "1", np.float64(1), np.float32(1))}) == 1
    assert len({op.bind(slope=slope) for slope in (0, 0.0, False, "0.0")}) == 1
    assert len({op.bind(slope=float("nan")) for _ in range(3)}) == 1


def test_a_signature_in_use_stays_the_only_one(monkeypatch):
    monkeypatch.setattr(spec, "MOST_BOUND_OPS", 8)
    op = OPS["leaky_relu"]
    kept = op.bind(slope=0.375)
    for k in range(40):
        op.bind(slope=float(k + 2))
    assert len(op.bound_ops) <= 8
    assert op.bind(slope=0.375) is kept


def live():
    gc.collect()
    return sum(isinstance(o, BoundOp) for o in gc.get_objects())


def test_indexing_keeps_a_bounded_number_of_signatures():
    count = 6 * spec.MOST_BOUND_OPS
    x, before = nd.zeros((count, 1)), live()
    for k in range(count):
        x[k].asnumpy()
    assert live() - before < 3 * spec.MOST_BOUND_OPS  # some tables keep the last ones


def test_signatures_without_use_are_freed_with_their_generation(monkeypatch):
    monkeypatch.setattr(spec, "MOST_BOUND_OPS", 16)
    tables.drop_generation()
    before = live()
    for k in range(100):
        apply(OPS["leaky_relu"].bind(slope=k + 0.5), (ir.leaf("x", (2, 3), "float32"), None))
    tables.drop_generation()
    assert live() < before + 40


def test_operations_without_tape_or_window_keep_the_tables_bounded(monkeypatch):
    limit_nodes(monkeypatch, 50)
    x = nd.ones((2, 3))
    for k in range(60):
        nd.LeakyReLU(x, slope=k + 0.25)
        assert tables.TABLES.count < 200
