"""Shape and dtype inference in both directions, and errors that name the node."""

import numpy as np
import pytest

import twofold as mx
from twofold.errors import DTypeError, ShapeError
from twofold.op.registry import OPS

sym = mx.sym


@pytest.fixture(autouse=True)
def _fresh_names():
    with mx.name.NameManager():
        yield


def arguments_of(symbol, **shapes):
    return dict(zip(symbol.list_arguments(), symbol.infer_shape_partial(**shapes)[0], strict=True))


def test_an_unknown_batch_size_flows_back_through_a_layer():
    hidden = sym.FullyConnected(sym.var("state"), num_hidden=4, name="h2h") + sym.FullyConnected(sym.var("data"), num_hidden=4, name="i2h")
    assert arguments_of(hidden, data=(5, 3), state=(0, 4))["state"] == (5, 4)


def test_zeros_take_the_batch_size_of_what_reads_them():
    state = sym.zeros((0, 4))
    cell = sym.tanh(sym.FullyConnected(sym.var("data"), num_hidden=4, name="i2h") + sym.FullyConnected(state, num_hidden=4, name="h2h"))
    executor = cell.simple_bind(mx.cpu(), data=(5, 3))
    executor.arg_dict["h2h_bias"][:] = 1
    np.testing.assert_allclose(executor.forward()[0].asnumpy(), np.full((5, 4), np.tanh(1)), rtol=1e-6)


@pytest.mark.parametrize(
    ("symbol", "shape", "output"),
    [
        (sym.Convolution(sym.var("a"), kernel=(3, 3), num_filter=2), (0, 3, 8, 8), (0, 2, 6, 6)),
        (sym.Reshape(sym.var("a"), shape=(0, -1)), (0, 3, 4), (0, 12)),
        (sym.SliceChannel(sym.var("a"), num_outputs=2)[0], (0, 4), (0, 2)),
        (sym.transpose(sym.var("a")), (0, 4), (4, 0)),
        (sym.sum(sym.var("a"), axis=1), (0, 4), (0,)),
        (sym.Pooling(sym.var("a"), kernel=(2, 2), stride=(2, 2)), (0, 3, 8, 8), (0, 3, 4, 4)),
        (sym.slice(sym.var("a"), begin=(0,), end=(5,)), (0, 4), (0, 4)),
    ],
    ids=lambda v: v.name if isinstance(v, sym.Symbol) else None,
)
def test_what_does_not_depend_on_an_unknown_size_is_known(symbol, shape, output):
    assert symbol.infer_shape_partial(a=shape)[1] == [output]


def test_sizes_that_must_agree_do_not_hide_the_others():
    convolution = sym.Convolution(sym.var("a"), kernel=(3, 3), num_filter=2, name="c")
    assert convolution.infer_shape_partial(a=(2, 0, 8, 8)) == ([(2, 0, 8, 8), (2, 0, 3, 3), (2,)], [(2, 2, 6, 6)], [])


@pytest.mark.parametrize(
    "symbol",
    [
        sym.transpose(sym.var("a"), axes=(1, 0)) + sym.var("b"),
        sym.SwapAxis(sym.var("a"), dim1=0, dim2=1) * sym.var("b"),
        sym.dot(sym.var("a"), sym.var("c", shape=(6, 3)), transpose_a=True, transpose_b=False) + sym.var("d", shape=(5, 3)),
    ],
    ids=["transpose", "SwapAxis", "dot"],
)
def test_sizes_flow_back_through_operators_without_a_rule_for_it(symbol):
    given = {"b": (5, 6)} if "b" in symbol.list_arguments() else {}
    assert arguments_of(symbol, a=(6, 0), **given)["a"] == (6, 5)


def test_an_error_names_the_node_and_what_it_reads():
    net = sym.FullyConnected(sym.var("data"), num_hidden=4, name="fc")
    with pytest.raises(ShapeError) as caught:
        net.infer_shape(data=(2, 3), fc_weight=(5, 3))
    for word in ("node fc", "FullyConnected", "(5, 3)", "(4, 3)", "data (2, 3) from data", "from fc_weight"):
        assert word in str(caught.value)


def test_an_error_of_a_typed_node_names_the_node():
    with pytest.raises(ShapeError, match="node product") as caught:
        sym.dot(sym.var("a"), sym.var("b"), name="product").infer_shape(a=(2, 3), b=(4, 4))
    assert "(2, 3)" in str(caught.value)


def test_what_cannot_be_decided_is_warned_of():
    with pytest.warns(UserWarning, match="Consider providing them as input:\n\ta"):
        assert sym.exp(sym.var("a")).infer_shape() == (None, None, None)


def test_dtypes_flow_back_from_any_input():
    net = sym.FullyConnected(sym.var("a"), num_hidden=2, name="f") + sym.var("b")
    assert set(net.infer_type(b="float16")[0]) == {np.float16}


def test_indices_do_not_decide_the_dtype():
    take = sym.take(sym.var("a"), sym.var("i"))
    assert take.infer_type(a="float16", i="int32")[1] == [np.float16]


def test_statistics_of_half_precision_data_are_single_precision():
    arguments, outputs, states = sym.BatchNorm(sym.var("a")).infer_type(a="float16")
    assert (arguments, outputs, states) == ([np.float16, np.float32, np.float32], [np.float16], [np.float32, np.float32])


def test_operands_of_two_dtypes_are_refused_naming_the_node():
    with pytest.raises(DTypeError, match="node _plus0"):
        (sym.var("a") + sym.var("b")).infer_type(a="float32", b="float64")


def test_declared_shapes_and_dtypes_count():
    z = sym.var("z", shape=(2, 0), dtype="float64")
    total = z + sym.var("y", shape=(0, 3))
    assert total.infer_shape() == ([(2, 3), (2, 3)], [(2, 3)], [])
    assert total.infer_type()[1] == [np.float64]


def test_a_long_chain_is_inferred_without_recursion():
    x = sym.var("a")
    for _ in range(3000):
        x = sym.exp(x)
    assert x.infer_shape(a=(2,))[1] == [(2,)]


@pytest.mark.parametrize("op", [op for op in OPS.values() if op.infer_rule is not None], ids=lambda op: op.title)
def test_rules_accept_what_is_unknown(op):
    """Completion of shapes does not fail where little is known, and invents no sizes where only numbers of axes are."""
    from twofold.op.samples import samples_of

    for sample in samples_of(op):
        params = {k: v for k, v in sample.params.items() if k not in op.scalars}
        given = [None if d is None else d.shape for d in sample.inputs]
        sig = op.sig(True, **params)
        unknown = [None] * sig.visible
        for shapes in ([None] * len(given), [given[0], *[None] * (len(given) - 1)]):
            op.completed(list(shapes), unknown, sig.params)
        completed, _ = op.completed([s if s is None else (None,) * len(s) for s in given], unknown, sig.params)
        for got, true in zip(completed, given, strict=False):
            if got is not None and true is not None:
                assert len(got) == len(true)
                assert all(g in (None, t) for g, t in zip(got, true, strict=True)), f"{op.title}: {got} for {true}"
