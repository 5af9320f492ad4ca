"""Composing symbols: names, scopes, picking, replacing variables, attributes, methods."""

import copy
import pickle
import threading

import numpy as np
import pytest

import twofold as mx
from twofold.errors import NotImplementedForSymbol, ParameterError

sym = mx.sym


@pytest.fixture(autouse=True)
def _fresh_names():
    with mx.name.NameManager():
        yield


def test_composing_a_symbol_leaves_the_original_unchanged():
    a, b, x = sym.var("a"), sym.var("b"), sym.var("x")
    total = a + b
    assert total(a=sym.exp(x)).list_arguments() == ["x", "b"]
    assert total.list_arguments() == ["a", "b"]


def test_composition_replaces_an_auxiliary_state():
    bn = sym.BatchNorm(sym.var("a"), name="bn")
    assert bn(bn_moving_mean=sym.var("m")).list_auxiliary_states() == ["m", "bn_moving_var"]


def test_composition_renames_the_output():
    assert (sym.var("a") + 1)(a=sym.var("b"), name="out").name == "out"


def test_composition_refuses_an_unknown_name():
    with pytest.raises(ParameterError, match="it has a"):
        sym.exp(sym.var("a"))(z=sym.var("b"))


def test_outputs_are_picked_by_position_name_and_slice():
    parts = sym.split(sym.var("a"), num_outputs=3, name="s")
    assert [p.list_outputs() for p in parts] == [["s_output0"], ["s_output1"], ["s_output2"]]
    assert parts[-1].list_outputs() == parts["s_output2"].list_outputs() == ["s_output2"]
    assert parts[1:].list_outputs() == ["s_output1", "s_output2"]
    with pytest.raises(IndexError):
        parts[3]


def test_an_operator_takes_single_output_symbols():
    with pytest.raises(ParameterError, match="single value is required"):
        sym.exp(sym.split(sym.var("a"), num_outputs=2))


def test_a_prefix_applies_to_its_thread_only():
    seen = []
    with mx.name.Prefix("p_"):
        thread = threading.Thread(target=lambda: seen.append(sym.exp(sym.var("a")).name))
        thread.start()
        thread.join()
        assert sym.exp(sym.var("a"), name="e").name == "p_e"
    assert seen == ["exp0"]


def test_attributes_of_inner_scopes_override_outer_ones():
    with mx.AttrScope(__a__="1", __b__="1"), mx.AttrScope(__b__="2"):
        inner = sym.var("x")
    assert inner.list_attr() == {"__a__": "1", "__b__": "2"}
    assert sym.var("y").list_attr() == {}


def test_a_set_attribute_changes_what_the_operator_does():
    dropout = sym.sum(sym.var("a"), axis=0)
    dropout._set_attr(axis="1")
    assert dropout.infer_shape(a=(2, 3))[1] == [(2,)]


def test_variables_made_for_inputs_get_the_initializers_of_their_operator():
    attrs = sym.LeakyReLU(sym.var("a"), act_type="prelu", name="p").attr_dict()
    assert attrs["p_gamma"]["__init__"] == '["Constant", {"value": 0.25}]'


def test_an_input_excluded_by_the_parameters_is_rejected():
    with pytest.raises(ParameterError, match="no input bias"):
        sym.FullyConnected(sym.var("a"), sym.var("w"), sym.var("b"), num_hidden=2, no_bias=True)


@pytest.mark.parametrize("name", ["asnumpy", "asscalar", "backward", "copy", "detach", "wait_to_read"])
def test_array_methods_report_that_symbols_have_no_values(name):
    with pytest.raises(NotImplementedForSymbol, match=name):
        getattr(sym.var("a"), name)()


def test_a_symbol_has_no_hash():
    with pytest.raises(TypeError):
        hash(sym.var("a"))


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies_have_their_own_nodes(clone):
    original = sym.FullyConnected(sym.var("a"), num_hidden=2, name="fc")
    other = clone(original)
    other._set_attr(__mine__="1")
    assert other.tojson() != original.tojson()
    assert original.list_attr() == {"num_hidden": "2"}


def test_methods_compose_like_functions():
    a = sym.var("a")
    assert a.reshape((2, -1)).list_attr() == {"shape": "(2, -1)"}
    assert a.astype(np.float16).list_attr() == {"dtype": "float16"}
    assert a.sum(axis=1, keepdims=True).infer_shape(a=(2, 3))[1] == [(2, 1)]
    assert a.split_v2((1, 3), axis=1).list_attr()["indices"] == "[0, 1, 3]"


@pytest.mark.parametrize(("name", "numbers"), [("maximum", 3), ("minimum", 2), ("power", 8), ("pow", 8), ("hypot", np.hypot(2, 3))])
def test_binary_functions_take_symbols_and_numbers(name, numbers):
    function, x = getattr(sym, name), mx.nd.array([1.0, 4.0])
    host = {"pow": np.power}.get(name) or getattr(np, name)
    assert function(2, 3) == pytest.approx(numbers)
    for symbol, expected in ((function(sym.var("a"), 3), host([1, 4.0], 3)), (function(3, sym.var("a")), host(3, [1, 4.0]))):
        np.testing.assert_allclose(symbol.eval(a=x)[0].asnumpy(), expected, rtol=1e-6)


def test_an_operator_that_does_not_exist_is_an_attribute_error():
    assert not hasattr(sym, "no_such_operator")
    assert not hasattr(sym.linalg, "no_such_operator")


def test_an_array_among_symbols_is_named_by_its_class():
    with pytest.raises(ParameterError, match="Activation: Argument data must be Symbol instances: given NDArray") as caught:
        sym.Activation(mx.nd.ones((1,)), act_type="relu")
    assert isinstance(caught.value, AssertionError)  # what MXNet raises


def test_the_name_of_a_node_is_an_attribute_too():
    a = sym.var("a")
    assert a.attr("name") == "a"
    assert sym.split(a, num_outputs=2, name="parts")[1].attr("name") == "parts"
    assert sym.var("b", attr={"name": "other"}).attr("name") == "other"
    assert sym.Group([a, a + 1]).attr("name") is None
    assert a.list_attr() == {}


def test_the_last_positional_arguments_are_name_and_attributes():
    s = sym.relu(sym.var("a"), "activated", {"mine": "2"})
    assert s.name == "activated"
    assert s.list_attr() == {"mine": "2"}


def test_operators_without_arrays_keep_a_context_before_the_dtype():
    s = sym.random_uniform(0, 1, (2,), "cpu(0)", "float64")
    assert s.list_attr() == {"low": "0", "high": "1", "shape": "(2,)", "ctx": "cpu(0)", "dtype": "float64"}
    assert sym.load_json(s.tojson()).list_attr() == s.list_attr()
    assert s.eval()[0].dtype == np.float64
    assert mx.nd.random_uniform(0, 1, (2,), mx.cpu(), "float64").dtype == np.float64
    assert sym.zeros((2,), ctx="cpu(0)").eval()[0].shape == (2,)


def test_methods_accept_inplace_as_those_of_arrays_do():
    a = sym.var("a")
    assert a.expand_dims(0, True).list_attr() == {"axis": "0"}
    assert a.flatten(inplace=True).infer_shape(a=(2, 3, 4))[1] == [(2, 12)]
    assert a.squeeze(0, True).infer_shape(a=(1, 3))[1] == [(3,)]
    assert a.squeeze(name="less").name == "less"
