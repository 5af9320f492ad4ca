"""Outputs, gradients of inputs, states, metrics and predictions."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from .samples import X, Y, batch, batches, bound, params, perceptron
from tests.oracle_programs import fails


def outputs_and_gradients_of_inputs(mx: Any) -> Any:
    module = bound(mx, inputs_need_grad=True)
    module.forward(batch(mx))
    found = [module.get_outputs(), module.get_outputs(merge_multi_context=False)]
    module.backward()
    return [*found, module.get_input_grads(), module.get_input_grads(merge_multi_context=False)]


def batches_of_another_size(mx: Any) -> Any:
    module, found = bound(mx), []
    for rows in ((0, 4), (4, 10), (0, 4), (9, 10)):
        module.forward_backward(batch(mx, *rows))
        found.append([module.get_outputs()[0].copy(), module.data_shapes, module.label_shapes, module.output_shapes])
    return [
        *found,
        module._exec_group.grad_arrays,
        fails(lambda: module.forward(mx.io.DataBatch([mx.nd.ones((4, 5))], [mx.nd.ones((4,))]))),
    ]


def batches_of_a_class_of_ones_own(mx: Any) -> Any:
    """A namedtuple of data alone, and one of data and labels."""
    batch = namedtuple("Batch", ["data"])
    module = mx.mod.Module(perceptron(mx))
    module.bind([("data", (4, 4))], for_training=False)
    module.init_params(arg_params=params(mx), aux_params={})
    module.forward(batch([mx.nd.array(X[:4])]))
    trained = bound(mx)
    trained.forward_backward(namedtuple("Batch", ["data", "label"])([mx.nd.array(X[:4])], [mx.nd.array(Y[:4])]))
    return [module.get_outputs(), trained.get_outputs()]


def reshape_by_hand(mx: Any) -> Any:
    module = bound(mx)
    module.reshape([("data", (2, 4))], [("softmax_label", (2,))])
    module.forward_backward(batch(mx, 0, 2))
    return [module.get_outputs(), module.data_shapes, module.label_shapes]


def head_gradients(mx: Any) -> Any:
    data = mx.sym.Variable("data")
    module = mx.mod.Module(mx.sym.Group([mx.sym.tanh(data), data * 2]), label_names=None)
    module.bind([("data", (2, 4))], inputs_need_grad=True)
    module.init_params()
    module.forward(mx.io.DataBatch([mx.nd.array(X[:2])]))
    module.backward([mx.nd.ones((2, 4)) * 3, mx.nd.array(X[2:4])])
    return [module.get_outputs(), module.get_input_grads()]


def modes(mx: Any) -> Any:
    module = mx.mod.Module(mx.sym.Dropout(mx.sym.Variable("data"), p=0.5, name="drop"), label_names=None)
    module.bind([("data", (10, 4))])
    module.init_params()
    given, found = mx.io.DataBatch([mx.nd.array(X)]), []
    for is_train in (None, True, False):
        module.forward(given, is_train=is_train)
        found.append(bool((module.get_outputs()[0].asnumpy() == 0).any()))
    return found


def states(mx: Any) -> Any:
    total = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc") + mx.sym.Variable("h")
    module = mx.mod.Module(mx.sym.Group([total, mx.sym.BlockGrad(total * 2)]), label_names=None, state_names=["h"])
    module.bind([("data", (2, 4))])
    module.init_params(mx.init.One())
    found = [[[s.copy() for s in each] for each in module.get_states(False)]]
    given = mx.io.DataBatch([mx.nd.ones((2, 4))])
    module.set_states(value=2)
    module.forward(given)
    found.append(module.get_outputs()[0].copy())
    module.set_states(states=[[module.get_outputs()[1].copy()]])
    module.forward(given)
    found += [module.get_outputs()[0], sorted(module.get_params()[0]), fails(module.get_states), fails(module.set_states)]
    return [*found, fails(lambda: module.set_states([[mx.nd.ones((2, 3))]], 3))]


def scores(mx: Any) -> Any:
    module, told = bound(mx), []

    def hear(param: Any) -> None:
        told.append([param.epoch, param.nbatch, param.eval_metric.get(), "self" in param.locals, "eval_metric" in param.locals])

    found = [module.score(batches(mx), "acc", batch_end_callback=hear, score_end_callback=[hear, hear], epoch=3)]
    found += [module.score(batches(mx), ["acc", "ce"], num_batch=2), module.score(batches(mx), mx.metric.Accuracy(), num_batch=0)]
    return [found, told, fails(lambda: mx.mod.Module(perceptron(mx)).score(batches(mx), "acc"))]


def predictions(mx: Any) -> Any:
    module = bound(mx)
    found = [module.predict(batches(mx)), module.predict(batches(mx), num_batch=2), module.predict(batches(mx), num_batch=0)]
    found += [module.predict(batches(mx), always_output_list=True), module.predict(batches(mx), merge_batches=False)]
    found += [[outputs[0].copy(), nbatch, given.pad] for outputs, nbatch, given in module.iter_predict(batches(mx))]
    found += [module.predict(mx.nd.array(X[:4])), module.predict(X[:4]), fails(lambda: module.predict([1]))]
    return found


def predictions_of_several_outputs(mx: Any) -> Any:
    inner = perceptron(mx).get_internals()
    module = mx.mod.Module(mx.sym.Group([inner["act_output"], inner["softmax_output"]]))
    module.bind([("data", (4, 4))], for_training=False)
    module.set_params(params(mx), {})
    return module.predict(batches(mx))


def parts_of_a_net(mx: Any) -> Any:
    module = mx.mod.Module(perceptron(mx).get_internals()["act_output"], label_names=None)
    module.bind([("data", (4, 4))], for_training=False)
    module.set_params(params(mx), {}, allow_extra=True)
    return [module.predict(batches(mx)), sorted(module.get_params()[0])]


def layouts(mx: Any) -> Any:
    symbol = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, flatten=False, name="fc", attr={"__layout__": "TNC"})
    module = mx.mod.Module(symbol, label_names=None, context=[mx.cpu(0), mx.cpu(1)])
    module.bind([mx.io.DataDesc("data", (2, 4, 3), layout="TNC")], inputs_need_grad=True)
    module.init_params(mx.init.One())
    module.forward(mx.io.DataBatch([mx.nd.arange(24).reshape((2, 4, 3))]))
    module.backward([mx.nd.arange(16).reshape((2, 4, 2))])
    return [module.get_outputs(), module.output_shapes, module.get_outputs(merge_multi_context=False), module.get_input_grads()]


def predictions_beside_a_module_with_labels(mx: Any) -> Any:
    """Without names of labels the label is a parameter, which the other module has as an input."""
    module = bound(mx)
    found: list[Any] = []
    for names in (None, []):
        beside = mx.mod.Module(perceptron(mx), label_names=names)
        beside.bind(module.data_shapes, for_training=False, shared_module=module)
        module.set_params({name: value * 2 for name, value in params(mx).items()}, {})
        beside.forward(mx.io.DataBatch(batch(mx).data, None))
        found += [beside.get_outputs(), beside._param_names, beside.params_initialized]
    return found


def an_iterator_of_noise(mx: Any) -> Any:
    """What an iterator does not define is None."""

    class Noise(mx.io.DataIter):
        left = 2

        def iter_next(self) -> bool:
            self.left -= 1
            return self.left >= 0

        def getdata(self) -> list[Any]:
            return [mx.nd.array(X[:4])]

    found = [[b.data, b.label, b.pad, b.index] for b in Noise(4)]
    base = mx.io.DataIter()
    found.append([base.getdata(), base.getlabel(), base.getpad(), base.getindex(), base.iter_next(), list(base)])
    module = bound(mx)
    module.forward(next(Noise(4)), is_train=False)
    return [*found, module.get_outputs()]
