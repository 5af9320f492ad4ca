"""Sloppy use of symbols and executors."""

from __future__ import annotations

import json
from typing import Any

import numpy as np


def _fc(mx: Any) -> Any:
    return mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")


def unknown_keyword_of_an_operator(mx: Any) -> Any:
    return mx.sym.sqrt(mx.sym.Variable("x"), foo=1, name="s").list_arguments()


def unknown_keyword_evaluated(mx: Any) -> Any:
    return mx.sym.sqrt(mx.sym.Variable("x"), foo=1).eval(x=mx.nd.array([4]))[0]


def unknown_keyword_in_attributes(mx: Any) -> Any:
    return mx.sym.sqrt(mx.sym.Variable("x"), foo=1, name="s").attr_dict()


def unknown_keyword_of_a_layer(mx: Any) -> Any:
    return mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, foo=1)


def unknown_symbol_keyword(mx: Any) -> Any:
    return mx.sym.FullyConnected(mx.sym.Variable("data"), wait=mx.sym.Variable("w"), num_hidden=3)


def unknown_symbol_keyword_of_a_unary(mx: Any) -> Any:
    return mx.sym.relu(mx.sym.Variable("data"), weight=mx.sym.Variable("w"))


def unknown_keyword_of_a_variable(mx: Any) -> Any:
    return mx.sym.Variable("x", foo=1)


def private_keyword_of_a_variable(mx: Any) -> Any:
    return mx.sym.Variable("x", __foo__="1").attr_dict()


def attributes_of_an_operator(mx: Any) -> Any:
    return mx.sym.relu(mx.sym.Variable("x"), attr={"__foo__": "1", "ctx_group": "dev1"}, name="r").attr_dict()


def bind_with_extra_arrays(mx: Any) -> Any:
    x = mx.sym.Variable("x")
    ex = (x * 2).bind(mx.cpu(), {"x": mx.nd.ones((2,)), "y": mx.nd.ones((2,))})
    return ex.forward()[0]


def bind_with_a_missing_array(mx: Any) -> Any:
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    return (x * y).bind(mx.cpu(), {"x": mx.nd.ones((2,))})


def bind_with_extra_gradients(mx: Any) -> Any:
    x = mx.sym.Variable("x")
    ex = (x * 2).bind(mx.cpu(), {"x": mx.nd.ones((2,))}, args_grad={"x": mx.nd.zeros((2,)), "z": mx.nd.zeros((2,))})
    ex.forward(is_train=True)
    ex.backward(mx.nd.ones((2,)))
    return ex.grad_dict["x"]


def bind_with_a_gradient_of_another_shape(mx: Any) -> Any:
    x = mx.sym.Variable("x")
    ex = (x * 2).bind(mx.cpu(), {"x": mx.nd.ones((2,))}, args_grad={"x": mx.nd.zeros((3,))})
    ex.forward(is_train=True)
    ex.backward(mx.nd.ones((2,)))
    return ex.grad_dict["x"]


def bind_with_a_short_list_of_requests(mx: Any) -> Any:
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    args = [mx.nd.ones((2,)), mx.nd.ones((2,))]
    ex = (x * y).bind(mx.cpu(), args, args_grad=[mx.nd.zeros((2,)), mx.nd.zeros((2,))], grad_req=["write"])
    return ex.forward()[0]


def bind_with_requests_of_unknown_names(mx: Any) -> Any:
    x = mx.sym.Variable("x")
    ex = (x * 2).bind(mx.cpu(), {"x": mx.nd.ones((2,))}, args_grad={"x": mx.nd.zeros((2,))}, grad_req={"x": "write", "w": "add"})
    ex.forward(is_train=True)
    ex.backward(mx.nd.ones((2,)))
    return ex.grad_dict["x"]


def simple_bind_with_an_unknown_shape(mx: Any) -> Any:
    ex = _fc(mx).simple_bind(mx.cpu(), data=(2, 2), other=(3, 3))
    return sorted(ex.arg_dict)


def simple_bind_with_an_unknown_type(mx: Any) -> Any:
    ex = _fc(mx).simple_bind(mx.cpu(), type_dict={"data": "float32", "other": "float32"}, data=(2, 2))
    return sorted(ex.arg_dict)


def simple_bind_with_an_unknown_request(mx: Any) -> Any:
    ex = _fc(mx).simple_bind(mx.cpu(), grad_req={"data": "null", "fc_weight": "write", "other": "write"}, data=(2, 2))
    return sorted(k for k, v in ex.grad_dict.items() if v is not None)


def simple_bind_with_a_float_shape(mx: Any) -> Any:
    return _fc(mx).simple_bind(mx.cpu(), data=(4 / 2, 2)).arg_dict["fc_weight"].shape


def simple_bind_with_a_list(mx: Any) -> Any:
    return _fc(mx).simple_bind(mx.cpu(), data=[2, 2]).arg_dict["fc_weight"].shape


def forward_with_unknown_name(mx: Any) -> Any:
    ex = _fc(mx).simple_bind(mx.cpu(), data=(2, 2))
    ex.forward(other=mx.nd.ones((2, 2)))
    return ex.outputs[0]


def forward_with_another_shape(mx: Any) -> Any:
    ex = _fc(mx).simple_bind(mx.cpu(), data=(2, 2))
    ex.forward(data=mx.nd.ones((4, 2)))
    return ex.outputs[0]


def forward_with_numpy(mx: Any) -> Any:
    ex = _fc(mx).simple_bind(mx.cpu(), data=(2, 2))
    ex.arg_dict["fc_weight"][:] = 1
    ex.forward(data=np.ones((2, 2)))
    return ex.outputs[0]


def copy_params_with_extra(mx: Any) -> Any:
    ex = _fc(mx).simple_bind(mx.cpu(), data=(2, 2))
    ex.copy_params_from({"fc_bias": mx.nd.ones((3,)), "zzz": mx.nd.ones((3,))})


def copy_params_with_extra_allowed(mx: Any) -> Any:
    ex = _fc(mx).simple_bind(mx.cpu(), data=(2, 2))
    ex.copy_params_from({"fc_bias": mx.nd.ones((3,)), "zzz": mx.nd.ones((3,))}, allow_extra_params=True)
    return ex.forward()[0]


def reshape_with_unknown_name(mx: Any) -> Any:
    ex = _fc(mx).simple_bind(mx.cpu(), data=(2, 2))
    return ex.reshape(data=(1, 2), other=(3,)).arg_dict["data"].shape


def infer_shape_of_unknown_name(mx: Any) -> Any:
    return _fc(mx).infer_shape(data=(2, 2), other=(3,))


def infer_shape_of_too_little(mx: Any) -> Any:
    return _fc(mx).infer_shape()


def infer_shape_of_a_list(mx: Any) -> Any:
    return _fc(mx).infer_shape(data=[2, 2])


def infer_shape_of_floats(mx: Any) -> Any:
    return _fc(mx).infer_shape(data=(4 / 2, 2))


def infer_type_of_text(mx: Any) -> Any:
    return [[np.dtype(t).name for t in ts] for ts in _fc(mx).infer_type(data="float64")]


def evaluation_with_unknown_name(mx: Any) -> Any:
    return _fc(mx).eval(data=mx.nd.ones((1, 1)), fc_weight=mx.nd.ones((3, 1)), fc_bias=mx.nd.ones((3,)), other=mx.nd.ones((1,)))[0]


def composition_with_unknown_name(mx: Any) -> Any:
    return _fc(mx)(other=mx.sym.Variable("z"))


def composition_by_name(mx: Any) -> Any:
    return _fc(mx)(data=mx.sym.Variable("z")).list_arguments()


def output_of_an_unknown_name(mx: Any) -> Any:
    return _fc(mx).get_internals()["no_such_output"]


def duplicated_names(mx: Any) -> Any:
    x = mx.sym.Variable("x")
    y = mx.sym.relu(x, name="a") + mx.sym.relu(x + 1, name="a")
    return y.eval(x=mx.nd.array([1]))[0]


def duplicated_arguments(mx: Any) -> Any:
    y = mx.sym.Variable("x") + mx.sym.Variable("x")
    return y.list_arguments()


def duplicated_arguments_bound(mx: Any) -> Any:
    y = mx.sym.Variable("x") + mx.sym.Variable("x")
    return y.bind(mx.cpu(), {"x": mx.nd.ones((1,))}).forward()[0]


def file_with_unknown_attributes(mx: Any) -> Any:
    graph = json.loads(_fc(mx).tojson())
    for node in graph["nodes"]:
        if node["op"] == "null":
            node["attrs"] = {"foo": "bar"}
    return mx.sym.load_json(json.dumps(graph)).list_arguments()


def file_with_unknown_parameters(mx: Any) -> Any:
    graph = json.loads(_fc(mx).tojson())
    for node in graph["nodes"]:
        if node["op"] != "null":
            node["attrs"]["foo"] = "bar"
    return mx.sym.load_json(json.dumps(graph)).list_arguments()


def file_with_unknown_parameters_of_a_unary(mx: Any) -> Any:
    graph = json.loads(mx.sym.sqrt(mx.sym.Variable("x"), name="s").tojson())
    for node in graph["nodes"]:
        if node["op"] != "null":
            node["attrs"] = {"foo": "bar"}
    s = mx.sym.load_json(json.dumps(graph))
    return [s.attr_dict(), s.eval(x=mx.nd.array([9]))[0]]


def monitor_without_tic(mx: Any) -> Any:
    mon = mx.mon.Monitor(1)
    return mon.toc()


def group_of_one(mx: Any) -> Any:
    return mx.sym.Group([_fc(mx)]).list_outputs()


def summary_with_unknown_shape(mx: Any) -> Any:
    mx.viz.print_summary(_fc(mx), shape={"data": (1, 2), "other": (3,)})


def backward_without_training(mx: Any) -> Any:
    x = mx.sym.Variable("x")
    ex = (x * 2).bind(mx.cpu(), {"x": mx.nd.ones((2,))}, args_grad={"x": mx.nd.zeros((2,))})
    ex.forward(is_train=False)
    ex.backward(mx.nd.ones((2,)))
    return ex.grad_dict["x"]


def backward_with_surplus_heads(mx: Any) -> Any:
    x = mx.sym.Variable("x")
    ex = (x * 2).bind(mx.cpu(), {"x": mx.nd.ones((2,))}, args_grad={"x": mx.nd.zeros((2,))})
    ex.forward(is_train=True)
    ex.backward([mx.nd.ones((2,)), mx.nd.ones((2,))])
    return ex.grad_dict["x"]


def module_backward_with_surplus_heads(mx: Any) -> Any:
    x = mx.sym.Variable("x")
    module = mx.mod.Module(mx.sym.Group([x * 2, x * 3]), data_names=["x"], label_names=None)
    module.bind([("x", (2, 3))], inputs_need_grad=True)
    module.init_params()
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 3))]), is_train=True)
    module.backward([mx.nd.ones((2, 3)), mx.nd.ones((2, 3)) * 10, mx.nd.ones((2, 1))])
    return module.get_input_grads()[0]


def backward_on_two_devices_with_surplus_heads(mx: Any) -> Any:
    x = mx.sym.Variable("x")
    module = mx.mod.Module(x * 2, data_names=["x"], label_names=None, context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("x", (2, 3))], inputs_need_grad=True)
    module.init_params()
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 3))]), is_train=True)
    module.backward([mx.nd.array([[1, 2, 3], [4, 5, 6]]), mx.nd.ones((1, 1))])
    return module.get_input_grads()[0]


def module_backward_of_a_loss_without_heads(mx: Any) -> Any:
    module = mx.mod.Module(mx.sym.MakeLoss(mx.sym.Variable("x").sum()), data_names=["x"], label_names=None)
    module.bind([("x", (2, 3))], inputs_need_grad=True)
    module.init_params()
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 3))]), is_train=True)
    module.backward([])
    return module.get_input_grads()[0]


def load_of_extra_params(mx: Any) -> Any:
    net = mx.gluon.SymbolBlock(_fc(mx), mx.sym.Variable("data"), params={"other": mx.nd.ones((1,))})
    return sorted(net.collect_params().keys())
