"""Training and inference on two devices."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from .samples import X, Y, batch, batches, bound, normalized, params, perceptron
from tests.oracle_programs import fails

SGD = {"learning_rate": 0.5, "momentum": 0.9, "wd": 0.01}


def _two(mx: Any) -> Any:
    return [mx.cpu(0), mx.cpu(1)]


def rows_of_each(mx: Any) -> Any:
    found = []
    for size, loads in ((7, [1, 1]), (8, [1, 3]), (10, [1, 1, 1]), (5, [1, 2, 2]), (9, [2, 1]), (11, [1] * 4), (5, [1, 1]), (2, [1] * 3)):
        module = mx.mod.Module(perceptron(mx), context=[mx.cpu(k) for k in range(len(loads))], work_load_list=loads)
        if fails(lambda size=size, module=module: module.bind([("data", (size, 4))], [("softmax_label", (size,))])):
            found.append("fails")
            continue
        found.append([[s.start, s.stop] for s in module._exec_group.slices])
    return found


def fit(mx: Any) -> Any:
    found = []
    for kvstore in ("local", "device", None, mx.kv.create("local")):
        module = mx.mod.Module(perceptron(mx), context=_two(mx), work_load_list=[1, 3] if kvstore else None)
        module.fit(batches(mx), num_epoch=3, arg_params=params(mx), aux_params={}, kvstore=kvstore, optimizer_params=SGD)
        found.append([module.get_params()[0], module.score(batches(mx), ["acc", "ce"]), module._kvstore is None, module._update_on_kvstore])
    return found


def moving_statistics_agree_after_epochs(mx: Any) -> Any:
    module = mx.mod.Module(normalized(mx), context=_two(mx))
    module.fit(batches(mx), num_epoch=2, initializer=mx.init.One(), optimizer_params={"learning_rate": 0.1})
    return [module.get_params(), module._exec_group.aux_arrays]


def outputs_and_gradients(mx: Any) -> Any:
    module = bound(mx, size=5, context=_two(mx), inputs_need_grad=True)
    module.forward_backward(batch(mx, 0, 5))
    found = [module.get_outputs()[0].copy(), module.get_input_grads()[0].copy(), module.output_shapes]
    found += [[[part.shape for part in parts] for parts in module.get_outputs(False)], module._exec_group.grad_arrays]
    module.forward(batch(mx, 0, 10))
    return [*found, module.get_outputs(), module.output_shapes]


def batches_divided_before(mx: Any) -> Any:
    module, metric = bound(mx, context=_two(mx)), mx.metric.create("acc")
    halves = [batch(mx, 0, 2), batch(mx, 2, 4)]
    module.forward(halves, is_train=True)
    module.update_metric(metric, [half.label for half in halves], pre_sliced=True)
    return [module.get_outputs(), metric.get(), fails(lambda: module.forward([batch(mx, 0, 3), batch(mx, 3, 4)]))]


def keys_of_optimizer_states(mx: Any) -> Any:
    found = []
    for context, kvstore in ((mx.cpu(), "local"), (_two(mx), "local"), (_two(mx), None)):
        module = bound(mx, context=context)
        module.init_optimizer(kvstore=kvstore, optimizer_params=SGD)
        module.forward_backward(batch(mx))
        module.update()
        with tempfile.TemporaryDirectory() as folder:
            module.save_optimizer_states(os.path.join(folder, "s"))
            again = bound(mx, context=context)
            again.set_params(*module.get_params())
            again.init_optimizer(kvstore=kvstore, optimizer_params=SGD)
            again.load_optimizer_states(os.path.join(folder, "s"))
        again.forward_backward(batch(mx))
        again.update()
        found.append([module._optimizer.idx2name, again.get_params()[0]])
    return found


def labels_by_device(mx: Any) -> Any:
    seen = []
    module = bound(mx, size=10, context=_two(mx))
    metric = mx.metric.np(lambda label, pred: seen.append([label.shape, pred.shape]) or 0.0, name="seen")
    module.score(mx.io.NDArrayIter(X, Y, 10), metric)
    return seen
