"""Shape and dtype inference in both directions, and errors that name the node."""

import numpy as np
import pytest

import twofold as mx
from twofold.errors import DTypeError, ShapeError
from twofold.opdef.registry import OPS
from twofold.opdef.samples import samples_of
from twofold.symbol.compose import apply_op
from twofold.testing.op_conformance import eager, sig_of
from twofold.testing.operands import make_operands

from tests.cases import each, module_of, spread_in_ci

sym = mx.sym


@pytest.fixture(autouse=True)
def _fresh_names():
    with mx.name.NameManager():
        yield


def arguments_of(symbol, **shapes):
    return dict(zip(symbol.list_arguments(), symbol.infer_shape_partial(**shapes)[0], strict=True))


def test_an_unknown_batch_size_is_inferred_backward_through_a_layer():
    hidden = sym.FullyConnected(sym.var("state"), num_hidden=4, name="h2h") + sym.FullyConnected(sym.var("data"), num_hidden=4, name="i2h")
    assert arguments_of(hidden, data=(5, 3), state=(0, 4))["state"] == (5, 4)


def test_zeros_take_the_batch_size_of_their_readers():
    state = sym.zeros((0, 4))
    cell = sym.tanh(sym.FullyConnected(sym.var("data"), num_hidden=4, name="i2h") + sym.FullyConnected(state, num_hidden=4, name="h2h"))
    executor = cell.simple_bind(mx.current_context(), data=(5, 3))
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
def test_sizes_are_inferred_backward_through_operators_without_a_rule(symbol):
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


def test_undetermined_shapes_are_warned_about():
    with pytest.warns(UserWarning, match="Consider providing them as input:\n\ta"):
        assert sym.exp(sym.var("a")).infer_shape() == (None, None, None)


def test_dtypes_are_inferred_from_any_input():
    net = sym.FullyConnected(sym.var("a"), num_hidden=2, name="f") + sym.var("b")
    assert set(net.infer_type(b="float16")[0]) == {np.float16}


def test_indices_do_not_determine_the_dtype():
    take = sym.take(sym.var("a"), sym.var("i"))
    assert take.infer_type(a="float16", i="int32")[1] == [np.float16]


def test_statistics_of_half_precision_data_are_single_precision():
    arguments, outputs, states = sym.BatchNorm(sym.var("a")).infer_type(a="float16")
    assert (arguments, outputs, states) == ([np.float16, np.float32, np.float32], [np.float16], [np.float32, np.float32])


def test_single_precision_scales_do_not_tell_the_dtype_of_the_data():
    normalized = sym.BatchNorm(sym.var("a"), sym.var("gamma", dtype="float32"), name="n")
    with pytest.warns(UserWarning, match="Cannot decide type"):
        assert normalized.infer_type() == (None, None, None)
    net = sym.FullyConnected(normalized, sym.var("w", dtype="float16"), num_hidden=2, no_bias=True)
    assert net.infer_type()[0] == [np.float16, np.float32, np.float32, np.float16]
    assert net.infer_shape(a=(5, 3))[1] == [(5, 2)]


def test_operands_of_mixed_dtypes_raise_naming_the_node():
    with pytest.raises(DTypeError, match="node _plus0"):
        (sym.var("a") + sym.var("b")).infer_type(a="float32", b="float64")


def test_declared_shapes_and_dtypes_are_used():
    z = sym.var("z", shape=(2, 0), dtype="float64")
    total = z + sym.var("y", shape=(0, 3))
    assert total.infer_shape() == ([(2, 3), (2, 3)], [(2, 3)], [])
    assert total.infer_type()[1] == [np.float64]


def test_a_long_chain_is_inferred_without_recursion():
    x = sym.var("a")
    for _ in range(3000):
        x = sym.exp(x)
    assert x.infer_shape(a=(2,))[1] == [(2,)]


#: Shapes of arguments, in order, that follow from the result's: as the real MXNet infers them (all but `squeeze` and `SwapAxis`).
BACKWARDS = {
    "transpose": (sym.transpose(sym.var("a"), axes=(1, 2, 0)), (2, 3, 4), [(4, 2, 3)]),
    "SwapAxis": (sym.SwapAxis(sym.var("a"), dim1=0, dim2=1), (2, 3, 4), [(3, 2, 4)]),
    "expand_dims": (sym.expand_dims(sym.var("a"), axis=1), (2, 1, 3), [(2, 3)]),
    "squeeze": (sym.squeeze(sym.var("a"), axis=-1), (2, 3), [(2, 3, 1)]),
    "flip": (sym.flip(sym.var("a"), axis=0), (2, 3), [(2, 3)]),
    "Reshape to -1": (sym.Reshape(sym.var("a", shape=(0, 6)), shape=(-1, 3)), (4, 3), [(2, 6)]),
    "Reshape keeping": (sym.Reshape(sym.var("a", shape=(2, 0, 4)), shape=(0, -1)), (2, 12), [(2, 3, 4)]),
    "Reshape splitting": (sym.Reshape(sym.var("a", shape=(0, 3, 4)), shape=(-4, 1, 2, -2)), (0, 2, 3, 4), [(2, 3, 4)]),
    "Reshape reversed": (sym.Reshape(sym.var("a", shape=(0, 4)), shape=(-1, 0), reverse=True), (3, 4), [(3, 4)]),
    "Flatten": (sym.Flatten(sym.var("a", shape=(0, 2, 3))), (4, 6), [(4, 2, 3)]),
    "log_softmax": (sym.log_softmax(sym.var("a")), (2, 3), [(2, 3)]),
    "zeros_like": (sym.zeros_like(sym.var("a")), (2, 3), [(2, 3)]),
    "Concat": (sym.Concat(sym.var("a", shape=(2, 0)), sym.var("b", shape=(2, 3)), dim=1), (2, 5), [(2, 2), (2, 3)]),
    "stack": (sym.stack(sym.var("a"), sym.var("b"), axis=1), (2, 2, 5), [(2, 5), (2, 5)]),
    "sample_uniform": (sym.sample_uniform(sym.var("a"), sym.var("b"), shape=(3,)), (2, 3), [(2,), (2,)]),
    "LayerNorm": (sym.LayerNorm(sym.var("a"), name="l"), (2, 5), [(2, 5), (5,), (5,)]),
    "SoftmaxOutput": (sym.SoftmaxOutput(sym.var("a"), name="s"), (2, 5), [(2, 5), (2,)]),
    "pick": (sym.pick(sym.var("a", shape=(3, 0)), sym.var("i", shape=(0,))), (3,), [(3, 0), (3,)]),
    "Convolution": (
        sym.Convolution(sym.var("a", shape=(0, 3, 0, 0)), kernel=(3, 3), stride=(2, 1), pad=(1, 1), num_filter=4, no_bias=True, name="c"),
        (2, 4, 5, 6),
        [(2, 3, 0, 6), (4, 3, 3, 3)],
    ),
}


@pytest.mark.parametrize("name", BACKWARDS)
def test_shapes_are_inferred_backward_from_the_result(name):
    symbol, result, want = BACKWARDS[name]
    assert sym.elemwise_add(symbol, sym.var("z", shape=result)).infer_shape_partial()[0][: len(want)] == want


def test_sampler_parameters_share_one_shape():
    draws = sym.sample_normal(sym.var("a"), sym.var("s"), shape=(3,))
    assert draws.infer_shape(a=(2,)) == ([(2,), (2,)], [(2, 3)], [])


def test_a_recurrent_layer_is_inferred_without_the_batch_size():
    layer = sym.RNN(sym.var("a", shape=(5, 0, 3)), state_size=2, num_layers=1, mode="rnn_tanh")
    assert layer.infer_shape_partial() == ([(5, 0, 3), (14,), (1, 0, 2)], [(5, 0, 2)], [])


def test_a_size_of_a_broadcast_result_is_unknown_where_an_operands_is():
    total = sym.broadcast_add(sym.var("a", shape=(2, 1)), sym.var("b", shape=(0, 5)))
    assert total.infer_shape_partial() == ([(2, 1), (0, 5)], [(0, 5)], [])


#: Inputs that may have either of two shapes; the usual one is inferred.
EITHER = {"pick": "index", "where": "condition"}
NAMED = [op for op in OPS.values() if op.names and op.outputs != 0]  # those without results give no symbols
SAMPLES = [pytest.param(op, k, s, id=f"{op.title}-{k}") for op in NAMED for k, s in enumerate(samples_of(op))]


def symbol_of(op, sample):
    """(symbol of an operator with a sample's parameters, its inputs' shapes by name)."""
    params = {k: v for k, v in sample.params.items() if v is not None or op.params[k].required}
    names = [f"x{k}" for k in range(len(sample.inputs))] if op.variadic else [i.name for i in op.arrays]
    shapes = {n: d.shape for n, d in zip(names, sample.inputs, strict=False) if d is not None}
    whole = {n: d.dtype for n, d in zip(names, sample.inputs, strict=False) if d is not None and d.dtype == "int32"}
    arrays = [sym.var(n, dtype=whole.get(n)) if n in shapes else None for n in names]
    return apply_op(op, "n", arrays, {**params, op.count_param: len(arrays)} if op.count_param else params), shapes


def agree(found, true):
    return found == () or (len(found) == len(true) and all(n in (0, m) for n, m in zip(found, true, strict=True)))


@each("op, number, sample", spread_in_ci(SAMPLES), by=module_of)
def test_inferred_shapes_are_never_wrong(op, number, sample):
    """With any input or any of its sizes unknown, and the results' shapes given or not, no wrong shape is inferred."""
    if op.dynamic_shape:
        pytest.skip("its shapes are those of the data's values")
    symbol, shapes = symbol_of(op, sample)
    results = symbol.infer_shape_partial(**shapes)[1]
    tied = sym.Group([sym.elemwise_add(symbol[k], sym.var(f"z{k}", shape=s)) for k, s in enumerate(results)])
    variants = [{n: (0,) * len(s)} for n, s in shapes.items()] + [{n: None} for n in shapes]
    variants += [{n: (*s[:k], 0, *s[k + 1 :])} for n, s in shapes.items() for k in range(len(s))]
    for variant in variants:
        given = {n: s for n, s in (shapes | variant).items() if s is not None}
        for graph in (symbol, tied):
            found = graph.infer_shape_partial(**given)
            names = dict(zip(graph.list_arguments() + graph.list_auxiliary_states(), found[0] + found[2], strict=True))
            for name, true in shapes.items():
                assert agree(names[name], true) or EITHER.get(op.title) == name, f"{name} of {given}"
            assert all(agree(f, r) for f, r in zip(found[1], results, strict=True)), f"results of {given}"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@each("op, number, sample", SAMPLES, by=module_of)
def test_inferred_dtypes_match_the_results(op, number, sample, dtype):
    if op.is_eager:
        pytest.skip("it is not typed before it runs")
    arrays = make_operands(op, sample, dtype)
    try:
        results, _ = eager(sig_of(op, sample), arrays)
    except DTypeError:
        pytest.skip(f"it does not take {dtype} beside the sample's other inputs")
    symbol, shapes = symbol_of(op, sample)
    given = dict(zip(shapes, [a.dtype for a, d in zip(arrays, sample.inputs, strict=False) if d is not None], strict=True))
    actual = [r.dtype for r in results[: sig_of(op, sample).visible]]
    assert symbol.infer_type(**given)[1] == actual


#: Result dtypes for data of a dtype, as inferred by the real MXNet.
RESULT_DTYPES = [
    (sym.topk(sym.var("a"), k=2, ret_typ="both"), "float16", ["float16", "float32"]),
    (sym.topk(sym.var("a"), k=2, ret_typ="both", dtype="int64"), "float16", ["float16", "int64"]),
    (sym.topk(sym.var("a"), k=2, ret_typ="mask", dtype="int64"), "float64", ["float64"]),
    (sym.BatchNorm(sym.var("a"), output_mean_var=True), "float16", ["float16", "float32", "float32"]),
    (sym.norm(sym.var("a"), out_dtype="float64"), "float32", ["float64"]),
    (sym.sample_multinomial(sym.var("a"), get_prob=True), "float64", ["int32", "float64"]),
    (sym.sample_normal(sym.var("a"), sym.var("s")), "float16", ["float32"]),
    (sym.sample_normal(sym.var("a"), sym.var("s"), dtype="float64"), "float16", ["float64"]),
    (sym.Embedding(sym.var("i"), sym.var("a"), input_dim=3, output_dim=2), "float16", ["float16"]),
    (sym.size_array(sym.var("a")), "float16", ["int64"]),
]


@pytest.mark.parametrize(("symbol", "given", "want"), RESULT_DTYPES)
def test_result_dtypes_other_than_the_datas(symbol, given, want):
    assert symbol.infer_type_partial(a=given)[1] == [np.dtype(d).type for d in want]


def numpy_where(condition):
    return sym.np.where(condition.as_np_ndarray(), sym.var("x").as_np_ndarray(), sym.var("y").as_np_ndarray())


#: Operands whose dtype decides nothing, as in the real MXNet: the dtypes of the other arguments and the result stay unknown.
APART = [
    (numpy_where(sym.var("c")), "c"),
    (sym.where(sym.var("c"), sym.var("x"), sym.var("y")), "c"),
    (sym.slice_like(sym.var("x"), sym.var("c")), "c"),
    (sym.broadcast_like(sym.var("x"), sym.var("c")), "c"),
    (sym.reshape_like(sym.var("x"), sym.var("c")), "c"),
]


@pytest.mark.parametrize(("symbol", "name"), APART)
def test_conditions_and_operands_read_for_their_shape_have_dtypes_of_their_own(symbol, name):
    arguments, outputs, _ = symbol.infer_type_partial(**{name: "int32"})
    found = dict(zip(symbol.list_arguments(), arguments, strict=True))
    assert found.pop(name) is np.int32
    assert {*found.values(), *outputs} == {None}


@each("op", [op for op in OPS.values() if op.symbolic.infer_rule is not None], by=module_of, ids=lambda op: op.title)
def test_rules_accept_unknown_shapes(op):
    """Shape completion does not fail if little is known, and invents no sizes if only numbers of axes are known."""
    for sample in samples_of(op):
        params = {k: v for k, v in sample.params.items() if k not in op.scalars}
        given = [None if d is None else d.shape for d in sample.inputs]
        bound_op = op.bind(True, **params)
        unknown = [None] * bound_op.visible
        for shapes in ([None] * len(given), [given[0], *[None] * (len(given) - 1)]):
            op.symbolic.completed(list(shapes), unknown, bound_op.params)
        completed, _ = op.symbolic.completed([s if s is None else (None,) * len(s) for s in given], unknown, bound_op.params)
        for got, true in zip(completed, given, strict=False):
            if got is not None and true is not None:
                assert len(got) == len(true)
                assert all(g in (None, t) for g, t in zip(got, true, strict=True)), f"{op.title}: {got} for {true}"


@pytest.mark.parametrize("layers", [1, 2])
def test_a_bidirectional_layer_infers_the_size_of_its_input(layers):
    """Two of the packed parameters have an unknown size, the input weights of both directions, as in MXNet."""
    layer = mx.gluon.rnn.GRU(3, num_layers=layers, bidirectional=True, prefix="gru_")
    result = layer(sym.var("data"))
    assert "gru__rnn_param_concat0_output" in result.get_internals().list_outputs()
    shapes = arguments_of(mx.sym.load_json(result.tojson()), data=(4, 2, 5))
    assert shapes["gru_l0_i2h_weight"] == shapes["gru_r0_i2h_weight"] == (9, 5)
    assert shapes.get("gru_r1_i2h_weight", (9, 6)) == (9, 6)
