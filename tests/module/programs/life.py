"""A module's state before and after it is bound and given parameters and an optimizer."""

from __future__ import annotations

from typing import Any

from .samples import batch, bound, params, perceptron
from tests.oracle_programs import fails


def names_and_shapes(mx: Any) -> Any:
    module = mx.mod.Module(perceptron(mx))
    before = [module.data_names, module.label_names, module.output_names, module.binded, module.params_initialized]
    module.bind([("data", (4, 4))], [("softmax_label", (4,))])
    with_label = [module.data_shapes, module.label_shapes, module.output_shapes, module.binded, module.for_training]
    module.init_params()
    module.bind([("data", (2, 4))], for_training=False, force_rebind=True)
    return [before, with_label, module.data_shapes, module.label_shapes, module.output_shapes, module.for_training]


def binding_again_needs_force(mx: Any) -> Any:
    module = bound(mx)
    module.bind([("data", (2, 4))])
    first = module.data_shapes
    module.bind([("data", (2, 4))], force_rebind=True)
    return [first, module.data_shapes, module.get_params()[0]]


def what_needs_what(mx: Any) -> Any:
    module = mx.mod.Module(perceptron(mx))
    unbound = [lambda: module.data_shapes, lambda: module.forward(batch(mx)), module.init_params, module.get_params, module.update]
    unbound += [module.get_outputs, module.init_optimizer, lambda: module.save_params("nowhere/x"), module.get_input_grads]
    found = [fails(action) for action in unbound]
    module.bind([("data", (4, 4))], for_training=False)
    found += [fails(lambda: module.forward(batch(mx))), fails(module.get_outputs), fails(module.init_optimizer)]
    module.init_params()
    return [*found, fails(module.backward), fails(module.update), fails(module.get_input_grads)]


def names_that_are_not_there(mx: Any) -> Any:
    symbol, make = perceptron(mx), mx.mod.Module
    found = [fails(lambda: make(symbol, data_names=("x",))), fails(lambda: make(symbol, fixed_param_names=["x"]))]
    found += [fails(lambda: make(symbol, state_names=["x"])), fails(lambda: make(symbol, work_load_list=[1, 2]))]
    found += [make(symbol, label_names=None).label_names]
    module = make(symbol)
    found += [fails(lambda: module.bind([("x", (4, 4))])), fails(lambda: module.bind([("data", (4, 4)), ("x", (4, 4))]))]
    found += [fails(lambda: module.bind([("data", (4, 4))], [("x", (4,))])), fails(lambda: module.bind([("data", (4, 4))], [("x", (3,))]))]
    found += [fails(lambda: module.bind([("data", (4, 4))], for_training=False, inputs_need_grad=True)), module.binded]
    return found


def parameters_by_name_and_by_initializer(mx: Any) -> Any:
    module = mx.mod.Module(perceptron(mx))
    module.bind([("data", (4, 4))], [("softmax_label", (4,))])
    some = {"fc1_weight": params(mx)["fc1_weight"]}
    found = [fails(lambda: module.init_params(arg_params=some)), module.params_initialized]
    module.init_params(mx.init.One(), arg_params=dict(some, x=mx.nd.ones((1,))), allow_missing=True)
    found.append({k: v.copy() for k, v in module.get_params()[0].items()})
    module.init_params(mx.init.One())  # ignored
    found.append(module.get_params()[0]["fc1_weight"].copy())
    module.init_params(mx.init.One(), force_init=True)
    found.append(module.get_params()[0]["fc1_weight"].copy())
    found.append(fails(lambda: module.init_params(None, force_init=True)))
    found.append(fails(lambda: module.init_params(arg_params={"fc1_weight": mx.nd.ones((5, 5))}, allow_missing=True, force_init=True)))
    return found


def parameters_are_set(mx: Any) -> Any:
    module = bound(mx)
    some = {"fc1_bias": mx.nd.ones((5,)) * 7}
    found = [fails(lambda: module.set_params(some, {}))]
    module.set_params(some, {}, allow_missing=True)
    found.append({k: v.copy() for k, v in module.get_params()[0].items()})
    extra = {"fc1_bias": mx.nd.ones((5,)) * 8, "x": mx.nd.ones((1,))}
    found.append(fails(lambda: module.set_params(extra, {}, allow_missing=True)))
    module.set_params(extra, {}, allow_missing=True, allow_extra=True)
    found.append(module.get_params()[0]["fc1_bias"].copy())
    module.set_params({"fc1_bias": mx.nd.zeros((5,))}, {}, allow_missing=True, force_init=False)  # ignored
    return [*found, module.get_params()[0]["fc1_bias"], module.get_params()[0]["fc1_bias"] is module.get_params()[0]["fc1_bias"]]


def attributes_go_before_the_initializer(mx: Any) -> Any:
    weight = mx.sym.Variable("w", init=mx.init.Constant(3), lr_mult=0.5)
    symbol = mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), weight, num_hidden=2, name="fc"), name="lro")
    module = mx.mod.Module(symbol, label_names=["lro_label"])
    module.bind([("data", (2, 3))], [("lro_label", (2, 2))])
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    module.forward_backward(mx.io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.ones((2, 2))]))
    module.update()
    return module.get_params()[0]


def optimizers(mx: Any) -> Any:
    module = bound(mx)
    module.init_optimizer()
    found = [module._optimizer.rescale_grad, module._optimizer.lr, module._kvstore is None, module._update_on_kvstore]
    module.init_optimizer(optimizer="adam")  # ignored
    found.append(type(module._optimizer).__name__)
    module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.5, "rescale_grad": 2.0}, force_init=True)
    found += [type(module._optimizer).__name__, module._optimizer.rescale_grad, module._optimizer.lr, module._optimizer.idx2name]
    module.init_optimizer(optimizer=mx.optimizer.SGD(learning_rate=0.2), force_init=True)
    found += [module._optimizer.rescale_grad, module._optimizer.idx2name]
    for kwargs in ({"optimizer": 3}, {"optimizer": "nothing"}, {"kvstore": 3}):
        found.append(fails(lambda kwargs=kwargs: module.init_optimizer(force_init=True, **kwargs)))
    return found


def requests_of_gradients(mx: Any) -> Any:
    found = []
    for request in ("write", "add", "null", {"fc1_weight": "null", "data": "write"}, ["write"] * 6, ["write"] * 2, "other"):
        module = mx.mod.Module(perceptron(mx), fixed_param_names=["fc1_bias"])
        if fails(lambda request=request, module=module: module.bind([("data", (4, 4))], [("softmax_label", (4,))], grad_req=request)):
            found.append("fails")
            continue
        module.init_params(arg_params=params(mx), aux_params={})
        for _ in range(2):
            module.forward_backward(batch(mx))
        executor = module._exec_group.execs[0]
        found.append({name: None if grad is None else grad.copy() for name, grad in executor.grad_dict.items()})
    return found


def fixed_parameters_stay(mx: Any) -> Any:
    module = mx.mod.Module(perceptron(mx), fixed_param_names=["fc1_weight", "fc1_bias"])
    module.bind([("data", (4, 4))], [("softmax_label", (4,))])
    module.init_params(arg_params=params(mx), aux_params={})
    module.init_optimizer(optimizer_params={"learning_rate": 1.0, "momentum": 0.5})
    for _ in range(2):
        module.forward_backward(batch(mx))
        module.update()
    return module.get_params()[0]


def modules_share_parameters(mx: Any) -> Any:
    first = bound(mx)
    first.init_optimizer(optimizer_params={"learning_rate": 0.5, "momentum": 0.5})
    second = mx.mod.Module(perceptron(mx))
    second.bind([("data", (2, 4))], [("softmax_label", (2,))], shared_module=first)
    found = [second.params_initialized, second.optimizer_initialized]
    for module, rows in ((first, (0, 4)), (second, (4, 6)), (first, (6, 10))):
        module.forward_backward(batch(mx, *rows))
        module.update()
    found += [first.get_params()[0], second.get_params()[0], fails(lambda: second.borrow_optimizer(bound(mx)))]
    return found
