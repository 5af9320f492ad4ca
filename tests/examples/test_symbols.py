"""Graphs as things: written to a file and read, and shapes that follow from one another, or do not."""

import numpy as np
import pytest

import twofold as mx
from twofold import nd, sym
from twofold.errors import ShapeError


def perceptron():
    data = sym.Variable("data")
    hidden = sym.Activation(sym.FullyConnected(data, num_hidden=5, name="fc1"), act_type="tanh", name="tanh")
    return sym.SoftmaxOutput(sym.FullyConnected(hidden, num_hidden=3, name="fc2"), name="softmax")


def test_a_graph_that_was_saved_and_loaded_computes_the_same(tmp_path):
    net, file = perceptron(), str(tmp_path / "net-symbol.json")
    net.save(file)
    loaded = sym.load(file)
    assert loaded.list_arguments() == net.list_arguments()
    draw, outputs = np.random.RandomState(0), []
    values = {name: draw.normal(size=shape) for name, shape in zip(net.list_arguments(), net.infer_shape(data=(2, 4))[0], strict=True)}
    for symbol in (net, loaded):
        executor = symbol.bind(mx.cpu(), {name: nd.array(value) for name, value in values.items()})
        outputs.append(executor.forward()[0].asnumpy())
    np.testing.assert_array_equal(*outputs)
    hidden = np.tanh(values["data"] @ values["fc1_weight"].T + values["fc1_bias"])
    scores = np.exp(hidden @ values["fc2_weight"].T + values["fc2_bias"])
    np.testing.assert_allclose(outputs[0], scores / scores.sum(axis=1, keepdims=True), rtol=1e-5)


def test_json_text_of_a_graph_is_a_graph():
    net = perceptron()
    assert sym.load_json(net.tojson()).tojson() == net.tojson()


def test_shapes_of_weights_follow_from_that_of_the_data():
    arguments, outputs, states = perceptron().infer_shape(data=(100, 20))
    assert dict(zip(perceptron().list_arguments(), arguments, strict=True)) == {
        "data": (100, 20),
        "fc1_weight": (5, 20),
        "fc1_bias": (5,),
        "fc2_weight": (3, 5),
        "fc2_bias": (3,),
        "softmax_label": (100,),
    }
    assert (outputs, states) == ([(100, 3)], [])


def test_shapes_flow_backwards_through_unknown_sizes():
    a, b = sym.Variable("a"), sym.Variable("b")
    arguments, outputs, _ = (a + b).infer_shape(a=(2, 0), b=(0, 5))
    assert arguments == [(2, 5), (2, 5)]
    assert outputs == [(2, 5)]


def test_what_is_not_known_yet_is_empty():
    with pytest.warns(UserWarning, match="fc1"):
        assert perceptron().infer_shape() == (None, None, None)
    assert perceptron().infer_shape_partial()[0][0] == ()


def test_shapes_that_do_not_fit_name_the_layer_and_both_shapes():
    with pytest.raises(ShapeError, match=r"fc1.*"):
        perceptron().infer_shape(data=(100, 20), fc1_weight=(5, 21))


def test_binding_arrays_that_do_not_fit_names_the_layer():
    net = sym.FullyConnected(sym.Variable("data"), num_hidden=3, name="fc")
    arrays = {"data": nd.ones((2, 4)), "fc_weight": nd.ones((3, 5)), "fc_bias": nd.ones((3,))}
    with pytest.raises(ShapeError, match="fc"):
        net.bind(mx.cpu(), arrays)


def test_binding_without_shapes_names_what_is_missing():
    with pytest.raises(RuntimeError, match="data"):
        perceptron().simple_bind(mx.cpu())
