"""Symbols under MXNet's NumPy dialect: composed as MXNet composes them, and computing what arrays give."""

import importlib
import json
from pathlib import Path

import numpy
import pytest

import twofold as mx
from twofold import mxnet_numpy as np
from twofold.compat import mxnet_alias
from twofold.mxnet_numpy import extension as npx

from tests.alias import undone_at_the_end
from tests.cases import each
from tests.mxnet_numpy.compositions import COMPOSITIONS, DIFFERENT, comparable, nodes

WANTED = json.loads((Path(__file__).parent / "nodes.json").read_text(encoding="utf-8"))
#: Compositions that need operands of other shapes, draw, or whose symbols have results without a counterpart.
NOT_EVALUATED = ("random", "X.dropout", "embedding", "fully_connected", "batch_norm", "layer_norm", "shares_memory", "share_memory", "pick")


def test_nodes_are_mxnets():
    wrong = []
    for text in dict.fromkeys(COMPOSITIONS):
        wanted = WANTED[text]
        if wanted == "raises" or text in DIFFERENT:
            continue
        found = json.loads(json.dumps(nodes(text, mx)))
        if isinstance(wanted, str) or isinstance(found, str):
            if found != wanted:
                wrong.append(f"{text}: {found} for {wanted}")
        elif comparable(found) != comparable(wanted):
            wrong.append(f"{text}: {found} for {wanted}")
    assert wrong == []


def arrays_of(found):
    return list(found) if isinstance(found, (list, tuple)) else [found]


def test_symbols_compute_what_arrays_give():
    rng = numpy.random.default_rng(0)
    square = rng.uniform(0.5, 2.0, (3, 3)).astype("float32") + 2 * numpy.eye(3, dtype="float32")
    operands = {"x": square @ square.T, "y": square.T @ square}
    compared, wrong = 0, []
    for text in dict.fromkeys(COMPOSITIONS):
        if any(name in text for name in NOT_EVALUATED):
            continue
        arrays = {name: np.array(value) for name, value in operands.items()}
        symbols = {name: mx.sym.var(name).as_np_ndarray() for name in operands}
        try:
            want = eval(text, {"S": np, "X": npx, "onp": numpy, **arrays})
            symbol = eval(text, {"S": mx.sym.np, "X": mx.sym.npx, "onp": numpy, **symbols})
        except Exception:  # shapes that do not fit, or names that only one of the two has
            continue
        if not isinstance(arrays_of(want)[0], np.ndarray) or len(arrays_of(want)) != len(arrays_of(symbol)):
            continue
        for w, s in zip(arrays_of(want), arrays_of(symbol), strict=True):
            given = {name: mx.nd.array(operands[name]) for name in s.list_arguments()}
            found = s.eval(**given)[0]
            compared += 1
            if found.dtype != w.dtype or not numpy.allclose(found.asnumpy().reshape(w.shape), w.asnumpy(), 1e-3, 1e-4, equal_nan=True):
                wrong.append(f"{text}: {found.asnumpy()} for {w.asnumpy()}")
    assert wrong == []
    assert compared > 150


@each("number", [2, -0.5, True, numpy.float64(1.5), numpy.int32(3), numpy.nan])
def test_numbers_beside_symbols_are_what_they_are_beside_arrays(number):
    x, values = mx.sym.var("x").as_np_ndarray(), [1.0, 2.0]
    for name, of_symbols, of_arrays in (
        ("polyval", (x, number), (np.array(values), number)),
        ("dot", (number, x), (number, np.array(values))),
        ("dot", (number, number), (number, number)),
        ("sum", (number,), (number,)),
    ):
        symbol, want = getattr(mx.sym.np, name)(*of_symbols), getattr(np, name)(*of_arrays)
        (found,) = symbol.eval(**{n: mx.nd.array(values) for n in symbol.list_arguments()})
        assert (found.dtype, found.asnumpy().shape) == (want.dtype, want.shape)
        numpy.testing.assert_array_equal(found.asnumpy(), want.asnumpy())


def test_an_integer_that_a_float_does_not_hold_is_refused_beside_symbols():
    with pytest.raises(mx.MXNetError, match="not supported"):
        mx.sym.np.dot(mx.sym.var("x").as_np_ndarray(), numpy.int64(2**60 + 1))


def test_types_and_shapes_are_inferred():
    x = mx.sym.var("x").as_np_ndarray()
    assert x.sum().infer_shape(x=(2,)) == ([(2,)], [()], [])
    assert (x > 1).infer_type(x="float32")[1] == [numpy.bool_]
    assert mx.sym.np.argmax(x).infer_type(x="float32")[1] == [numpy.int64]
    assert (x / 2).infer_type(x="int32")[1] == [numpy.float32]


def test_classes_are_kept_and_not_mixed():
    x, legacy = mx.sym.var("x").as_np_ndarray(), mx.sym.var("y")
    with mx.name.NameManager():
        assert repr(x + 1) == "<_Symbol add_scalar0>"
    assert type((x + 1).as_nd_ndarray()) is mx.sym.Symbol
    for action in (lambda: x + legacy, lambda: x + None, lambda: x + "1", lambda: list(x), lambda: len(x), lambda: mx.sym.np.exp(legacy)):
        with pytest.raises(TypeError):
            action()
    with pytest.raises(IndexError):
        x[None]


class Net(mx.gluon.HybridBlock):
    """A block written with NumPy's functions."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = mx.gluon.nn.Dense(3, activation="relu")
        self.scale = self.params.get("scale", shape=(3,), init="ones")

    def hybrid_forward(self, F, x, scale):
        h = self.dense(x) * scale + F.np.sum(x)
        return F.npx.softmax(h), F.np.concatenate([h, h[:, 0:1]], axis=1), h.mean()


@pytest.fixture
def as_mxnet():
    """What the alias ``mxnet`` changes."""
    with undone_at_the_end():
        mxnet_alias.install()
        npx.set_np()
        yield
        npx.reset_np()


def test_symbols_have_the_dialect_in_a_program_that_runs_as_mxnet(as_mxnet):
    sym = importlib.import_module("mxnet").sym
    assert sym.np.exp(sym.var("x").as_np_ndarray()).list_inputs() == ["x"]
    assert sym.npx.relu(sym.var("x")).list_inputs() == ["x"]
    assert sym.np.random.normal(size=(2,)).list_inputs() == []


def test_a_block_of_numpys_functions_is_traced_exported_and_imported(as_mxnet, tmp_path):
    net = Net()
    net.initialize()
    x = np.arange(8).reshape(2, 4)
    plain = net(x)
    net.hybridize()
    compiled = net(x)
    for a, b in zip(plain, compiled, strict=True):
        assert isinstance(b, np.ndarray)
        assert abs(a - b).max() < 1e-6
    assert compiled[2].shape == ()
    assert net._trace is not None
    net.export(str(tmp_path / "net"))
    text = json.loads((tmp_path / "net-symbol.json").read_text())
    assert [n["op"] for n in text["nodes"] if n["op"] != "null"] == [
        "FullyConnected",
        "Activation",
        "_npi_multiply",
        "_np_sum",
        "_npi_add",
        "softmax",
        "slice",
        "_npi_concatenate",
        "_npi_mean",
    ]
    assert text["attrs"]["is_np_shape"] == ["int", 1]
    loaded = mx.gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params"))
    for a, b in zip(plain, loaded(x), strict=True):
        assert abs(a - b).max() < 1e-6
    with mx.autograd.record():
        loss = net(x)[0][:, 0].sum()
    loss.backward()
    assert net.dense.weight.grad().shape == (3, 4)


def test_parameters_of_unknown_shape_are_inferred(as_mxnet):
    class Product(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.weight = self.params.get("weight", shape=(0, 2), allow_deferred_init=True)

        def infer_shape(self, x):
            self.weight.shape = (x.shape[1], 2)

        def hybrid_forward(self, F, x, weight):
            return F.np.dot(x, weight)

    for hybridized in (False, True):
        net = Product()
        net.initialize()
        if hybridized:
            net.hybridize()
        assert net(np.ones((3, 5))).shape == (3, 2)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_histograms_count_in_bins_by_number_and_by_edges(dtype):
    values, edges = [0, 1, 2, 4, 5], [0, 1, 2, 4]
    a, b = mx.sym.var("a").as_np_ndarray(), mx.sym.var("b").as_np_ndarray()
    counts, bounds = mx.sym.np.histogram(a, bins=3, range=(0, 4))
    given = mx.nd.array(values, dtype=dtype)
    # as MXNet gives them: edges have the dtype of the values
    wanted = numpy.linspace(0, 4, 4).astype(dtype)
    assert bounds.eval(a=given)[0].asnumpy().tolist() == wanted.tolist()
    assert counts.eval(a=given)[0].asnumpy().tolist() == numpy.histogram(values, wanted)[0].tolist()
    for found in (mx.sym.np.histogram(a, b), mx.sym.histogram(mx.sym.var("a"), bins=mx.sym.var("b"))):
        counts, bounds = found
        given_both = {"a": given, "b": mx.nd.array(edges, dtype=dtype)}
        assert mx.sym.Group([counts]).eval(**given_both)[0].asnumpy().tolist() == [1, 1, 2]
    with pytest.raises(TypeError, match="range"):
        mx.sym.np.histogram(a)


def test_constraints_are_checked_when_they_are_computed():
    checked = mx.sym.npx.constraint_check(mx.sym.var("a").as_np_ndarray() > 0, msg="must be positive")
    assert checked.eval(a=mx.nd.array([1, 2]))[0].asnumpy().all()
    with pytest.raises(ValueError, match="must be positive"):
        checked.eval(a=mx.nd.array([1, 0]))


def test_a_symbol_is_resized():
    # MXNet composes a custom operator that calls NumPy
    x = mx.sym.var("x").as_np_ndarray()
    for shape in ((4, 4), (2,), 5, (0, 2)):
        found = mx.sym.np.resize(x, shape)
        value = numpy.arange(6, dtype="float32").reshape(2, 3)
        assert found.infer_shape(x=(2, 3))[1] == [numpy.resize(value, shape).shape]
        (result,) = found.eval(x=np.array(value))
        assert numpy.array_equal(result.asnumpy(), numpy.resize(value, shape))


def test_functions_of_the_dialect_in_a_block_are_traced():
    class Block(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            y = np.exp(x) + np.sum(x, axis=1, keepdims=True) * 2
            z = np.concatenate([y, np.maximum(x, 0.5)], axis=0)
            z = np.where(z > 1, z, np.zeros_like(z))
            parts = np.split(z, 2, axis=0)
            return np.dot(z, np.transpose(x)), *parts, 1 + np.square(x), np.clip(x, 0, 1), np.reshape(x, (-1,)), np.var(x), np.resize(x, 3)

    npx.set_np()
    try:
        x = np.array([[1.0, 2.0], [3.0, 4.0]])
        plain, compiled = Block(), Block()
        compiled.hybridize()
        for one, other in zip(plain(x), compiled(x), strict=True):
            numpy.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6)
        assert compiled._trace is not None
    finally:
        npx.reset_np()


@pytest.mark.parametrize("call", ["np.meshgrid(x, x)", "np.shape(x)", "np.add(x, a)"])
def test_functions_that_need_arrays_refuse_symbols_in_words(call):
    with pytest.raises(TypeError, match=r"symbol|Symbol"):
        eval(call, {"np": np, "x": mx.sym.var("x").as_np_ndarray(), "a": np.ones(2)})
