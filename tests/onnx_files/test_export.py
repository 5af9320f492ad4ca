"""What a file contains, sizes that vary, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.errors import MissingDependency, OperatorError, ParameterError, ShapeError


def perceptron():
    hidden = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1"), act_type="relu", name="relu1")
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=3, name="fc2"), name="softmax")
    rng = np.random.default_rng(0)
    shapes = dict(zip(net.list_arguments(), net.infer_shape(data=(1, 5))[0], strict=True))
    params = {n: nd.array(rng.normal(size=s)) for n, s in shapes.items() if n not in ("data", "softmax_label")}
    return net, params


def load(path):
    import onnx

    return onnx.load(path)


def test_a_file_has_the_names_of_the_symbol_and_no_label(path):
    net, params = perceptron()
    assert mx.onnx.export_model(net, params, [(2, 5)], np.float32, path) == path
    graph = load(path).graph
    assert [v.name for v in graph.input] == ["data"]
    assert [v.name for v in graph.output] == ["softmax"]
    assert {t.name for t in graph.initializer} == set(params)
    assert [(n.op_type, n.output[0]) for n in graph.node] == [("Gemm", "fc1"), ("Relu", "relu1"), ("Gemm", "fc2"), ("Softmax", "softmax")]
    assert mx.contrib.onnx.get_model_metadata(path) == {
        "input_tensor_data": [("data", (2, 5))],
        "output_tensor_data": [("softmax", (2, 3))],
    }


def test_files_and_prefixed_names_are_accepted_as_mxnet_writes_them(path, tmp_path, run):
    net, params = perceptron()
    net.save(str(tmp_path / "net-symbol.json"))
    nd.save(str(tmp_path / "net-0000.params"), {f"arg:{n}": a for n, a in params.items()})
    mx.onnx.export_model(str(tmp_path / "net-symbol.json"), str(tmp_path / "net-0000.params"), [(1, 5)], onnx_file_path=path)
    x = np.ones((1, 5), np.float32)
    want = net.eval(data=nd.array(x), softmax_label=nd.zeros((1,)), **params)[0].asnumpy()
    np.testing.assert_allclose(run(path, {"data": x})[0], want, rtol=1e-5)


def test_files_of_a_network_without_parameters_are_accepted(path, tmp_path, run):
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Flatten(), mx.gluon.nn.Activation("relu"))
    net.hybridize()
    x = np.array([[[-1, 2], [3, -4]]], np.float32)
    net(nd.array(x))
    net.export(str(tmp_path / "net"))
    mx.onnx.export_model(str(tmp_path / "net-symbol.json"), str(tmp_path / "net-0000.params"), [(1, 2, 2)], onnx_file_path=path)
    np.testing.assert_array_equal(run(path, {"data": x})[0], [[0, 2, 3, 0]])


def test_older_names_of_the_arguments_and_several_dicts(path):
    net, params = perceptron()
    halves = [{n: params[n] for n in names} for names in (list(params)[:2], list(params)[2:])]
    mx.onnx.export_model(net, halves, onnx_file_path=path, input_shape=[(1, 5)], input_type=np.float32)
    assert len(load(path).graph.initializer) == 4


@pytest.mark.parametrize("opset", [13, 17, 21])
def test_the_version_of_the_operators_is_the_one_asked_for(opset, path):
    net, params = perceptron()
    mx.onnx.export_model(net, params, [(1, 5)], onnx_file_path=path, opset_version=opset)
    assert [o.version for o in load(path).opset_import] == [opset]


def test_the_version_of_mxnet_is_the_default(path):
    net, params = perceptron()
    mx.onnx.export_model(net, params, [(1, 5)], onnx_file_path=path)
    assert [o.version for o in load(path).opset_import] == [13]


def test_inferred_shapes_are_stored_on_request(path):
    net, params = perceptron()
    mx.onnx.export_model(net, params, [(1, 5)], onnx_file_path=path, run_shape_inference=True)
    assert {"fc1", "relu1", "fc2"} <= {v.name for v in load(path).graph.value_info}


def convolutional():
    x = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), pad=(1, 1), num_filter=4, name="conv")
    x = mx.sym.Pooling(mx.sym.BatchNorm(x, name="bn"), global_pool=True, kernel=(1, 1), pool_type="avg", name="pool")
    net = mx.sym.FullyConnected(x, num_hidden=2, name="fc")
    shapes, _, states = net.infer_shape(data=(1, 3, 8, 8))
    rng = np.random.default_rng(1)
    params = {n: nd.array(rng.normal(size=s)) for n, s in zip(net.list_arguments(), shapes, strict=True) if n != "data"}
    return net, params, {n: nd.array(rng.uniform(0.5, 1, s)) for n, s in zip(net.list_auxiliary_states(), states, strict=True)}


def check_sizes(path, run, net, params, states, shapes):
    for shape in shapes:
        x = np.random.default_rng(2).normal(size=shape).astype(np.float32)
        want = net.bind(mx.cpu(), {**params, "data": nd.array(x)}, aux_states=states).forward()[0].asnumpy()
        np.testing.assert_allclose(run(path, {"data": x})[0], want, rtol=1e-4, atol=1e-5)


def test_all_sizes_that_the_network_leaves_free_may_vary(path, run):
    net, params, states = convolutional()
    mx.onnx.export_model(net, {**params, **states}, [(1, 3, 8, 8)], onnx_file_path=path, dynamic=True)
    assert mx.contrib.onnx.get_model_metadata(path)["input_tensor_data"] == [("data", (0, 3, 0, 0))]
    check_sizes(path, run, net, params, states, [(1, 3, 8, 8), (5, 3, 6, 9)])


def test_two_axes_of_one_input_are_not_both_its_samples(path):
    net = mx.sym.dot(mx.sym.Variable("a"), mx.sym.Variable("b"))
    mx.onnx.export_model(net, {}, [(3, 3), (3, 4)], onnx_file_path=path, dynamic=True)
    sizes = [[d.dim_param for d in given.type.tensor_type.shape.dim] for given in load(path).graph.input]
    assert sizes[0][1] == sizes[1][0]
    assert len({*sizes[0], *sizes[1]}) == 3


def test_sizes_that_may_vary_have_the_given_names(path, run):
    net, params, states = convolutional()
    options = {"dynamic": True, "dynamic_input_shapes": [("samples", 3, None, 8)]}
    mx.onnx.export_model(net, {**params, **states}, [(1, 3, 8, 8)], onnx_file_path=path, **options)
    graph = load(path).graph
    assert [d.dim_param for d in graph.input[0].type.tensor_type.shape.dim] == ["samples", "", "data_2", ""]
    assert [d.dim_param for d in graph.output[0].type.tensor_type.shape.dim] == ["samples", ""]
    check_sizes(path, run, net, params, states, [(4, 3, 5, 8)])


def test_a_file_with_varying_sizes_is_read_back(path):
    net, params, states = convolutional()
    mx.onnx.export_model(net, {**params, **states}, [(1, 3, 8, 8)], onnx_file_path=path, dynamic=True)
    symbol, args, aux = mx.contrib.onnx.import_model(path)
    x = nd.array(np.random.default_rng(3).normal(size=(2, 3, 10, 6)))
    want = net.bind(mx.cpu(), {**params, "data": x}, aux_states=states).forward()[0].asnumpy()
    found = symbol.bind(mx.cpu(), {**args, "data": x}, aux_states=aux).forward()[0].asnumpy()
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


def test_reshapes_and_views_of_varying_sizes(path, run):
    x = mx.sym.Variable("data")
    part = mx.sym.expand_dims(mx.sym.slice(x, begin=(None, 0, 1), end=(None, 1, 2)), axis=1)
    net = mx.sym.broadcast_mul(mx.sym.transpose(mx.sym.reshape(x, shape=(0, -4, 2, -1, 0)), axes=(0, 2, 1, 3)), part)
    net = mx.sym.L2Normalization(mx.sym.reshape(net, shape=(0, -1)))
    mx.onnx.export_model(net, {}, [(2, 6, 3)], onnx_file_path=path, dynamic=True, dynamic_input_shapes=[(None, 6, 3)])
    check_sizes(path, run, net, {}, {}, [(2, 6, 3), (7, 6, 3)])


def test_sizes_that_inputs_share_vary_together(path, run):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    net = mx.sym.concat(a, mx.sym.broadcast_mul(b, mx.sym.sum(a, axis=1, keepdims=True)), dim=1)
    # the first axis of b has by chance the size of its second one
    for options in ({}, {"dynamic_input_shapes": [(None, None), (None, None)]}, {"dynamic_input_shapes": [("n", None), (None, 2)]}):
        mx.onnx.export_model(net, {}, [(2, 3), (2, 2)], onnx_file_path=path, dynamic=True, **options)
        x, y = np.ones((5, 4), np.float32), np.arange(10, dtype=np.float32).reshape(5, 2)
        np.testing.assert_allclose(run(path, {"a": x, "b": y})[0], np.concatenate([x, 4 * y], 1))
        sizes = [[d.dim_param for d in i.type.tensor_type.shape.dim] for i in load(path).graph.input]
        assert sizes[0][0] == sizes[1][0] != sizes[0][1]


def test_the_samples_may_be_other_axes_of_other_inputs(path, run):
    # relu(x[t] + h) with weights of one: the state, of shape (1, n, 1), has the samples on axis 1
    parameters = nd.array([1, 1, 0, 0])
    state = mx.sym.Variable("state")
    step = mx.sym.RNN(
        mx.sym.swapaxes(mx.sym.Variable("data"), 0, 1), mx.sym.Variable("p"), state, mode="rnn_relu", state_size=1, num_layers=1
    )
    shapes = {"in_shapes": [(2, 4, 1), (1, 2, 1)], "dynamic_input_shapes": [(None, None, 1), (1, None, 1)]}
    mx.onnx.export_model(step, {"p": parameters}, onnx_file_path=path, dynamic=True, **shapes)
    x, h = np.ones((3, 5, 1), np.float32), np.array([[[1], [2], [3]]], np.float32)
    np.testing.assert_allclose(run(path, {"data": x, "state": h})[0][-1, :, 0], [6, 7, 8])


def test_a_size_that_the_network_depends_on_cannot_vary(path):
    net, params = perceptron()
    with pytest.raises((OperatorError, ShapeError), match="fc1"):
        mx.onnx.export_model(net, params, [(1, 5)], onnx_file_path=path, dynamic=True, dynamic_input_shapes=[(None, None)])
    table = mx.sym.broadcast_add(mx.sym.Variable("data"), mx.sym.arange(4).reshape((2, 2)).tile((2, 2)), name="total")
    with pytest.raises((OperatorError, ShapeError)):
        mx.onnx.export_model(table, {}, [(4, 4)], onnx_file_path=path, dynamic=True, dynamic_input_shapes=[(None, 4)])


def test_an_operation_without_a_counterpart_is_named_with_its_node(path):
    net = mx.sym.erfinv(mx.sym.Variable("data"), name="inverse")
    with pytest.raises(OperatorError, match=r"node inverse \(erfinv\) cannot be written in ONNX.*replace it"):
        mx.onnx.export_model(net, {}, [(2,)], onnx_file_path=path)


def test_random_numbers_of_which_onnx_knows_the_distribution_are_drawn_by_the_runtime(path, run):
    mx.onnx.export_model(mx.sym.random.uniform(2, 3, shape=(50,), name="noise"), {}, [], onnx_file_path=path)
    (first,) = run(path, {})
    assert first.shape == (50,)
    assert 2 <= first.min() < first.max() <= 3
    with pytest.raises(OperatorError, match="node noise"):
        mx.onnx.export_model(mx.sym.random.gamma(2, 3, shape=(2,), name="noise"), {}, [], onnx_file_path=path)


def test_shapes_that_depend_on_values_are_refused(path):
    net = mx.sym.contrib.boolean_mask(mx.sym.Variable("data"), mx.sym.Variable("mask"), name="kept")
    with pytest.raises(OperatorError, match="kept"):
        mx.onnx.export_model(net, {}, [(2, 2), (2,)], onnx_file_path=path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"in_shapes": None}, "one shape is needed for each input: given 0 shapes for data"),
        ({"in_shapes": [(1, 5), (1,), (1,)]}, "3 shapes for data, softmax_label"),
        ({"in_shapes": [(1, 5)], "in_types": [np.float32, np.float32]}, "2 dtypes for data"),
        ({"in_shapes": [(1, 5)], "opset_version": 12}, "opset_version=12; pass a version from 13"),
        ({"in_shapes": [(1, 5)], "opset_version": 99}, "opset_version=99"),
        ({"in_shapes": [(1, 5)], "dynamic": True, "dynamic_input_shapes": [(None,)]}, "must have the dimensions of the inputs"),
        ({"in_shapes": [(1, 5)], "dynamic": True, "dynamic_input_shapes": [(None, 6)]}, "is not that of in_shapes"),
    ],
)
def test_arguments_that_do_not_fit_are_explained(options, message, path):
    net, params = perceptron()
    with pytest.raises(ParameterError, match=message):
        mx.onnx.export_model(net, params, onnx_file_path=path, **options)


def test_a_missing_parameter_is_named(path):
    net, params = perceptron()
    del params["fc2_weight"]
    with pytest.raises(ParameterError, match="fc2_weight"):
        mx.onnx.export_model(net, params, [(1, 5)], onnx_file_path=path)


def test_without_the_package_the_error_names_what_to_install(path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "onnx", None)
    net, params = perceptron()
    with pytest.raises(MissingDependency, match=r"pip install 'twofold\[onnx\]'"):
        mx.onnx.export_model(net, params, [(1, 5)], onnx_file_path=path)


def test_the_operators_with_a_form_of_their_own_are_listed():
    names = mx.onnx.get_operator_support()
    assert {"Convolution", "BatchNorm", "FullyConnected", "RNN", "softmax"} <= set(names)


def test_windows_that_reach_over_the_edge_hold_for_every_size(path, run):
    net = mx.sym.Pooling(mx.sym.Variable("data"), kernel=(3, 3), stride=(2, 2), pooling_convention="full", name="pool")
    mx.onnx.export_model(net, {}, [(1, 2, 8, 8)], onnx_file_path=path, dynamic=True)
    check_sizes(path, run, net, {}, {}, [(1, 2, 8, 8), (2, 2, 7, 9), (1, 2, 10, 5)])
    padded = mx.sym.Pooling(mx.sym.Variable("data"), kernel=(3, 3), stride=(2, 2), pad=(1, 1), pooling_convention="full", name="pool")
    with pytest.raises(OperatorError, match="node pool"):
        mx.onnx.export_model(padded, {}, [(1, 2, 8, 8)], onnx_file_path=path, dynamic=True)


def test_a_broadcast_to_a_size_that_varies_is_refused_and_one_that_keeps_it_is_not(path, run):
    x = mx.sym.Variable("data")
    kept = mx.sym.broadcast_axis(mx.sym.expand_dims(x, axis=1), axis=1, size=3)
    mx.onnx.export_model(kept, {}, [(1, 4)], onnx_file_path=path, dynamic=True)
    check_sizes(path, run, kept, {}, {}, [(1, 4), (3, 2)])
    grown = mx.sym.broadcast_like(mx.sym.Variable("bias"), x, name="grown")
    with pytest.raises(OperatorError, match="node grown"):
        mx.onnx.export_model(grown, {"bias": nd.ones((1, 4))}, [(1, 4)], onnx_file_path=path, dynamic=True)
