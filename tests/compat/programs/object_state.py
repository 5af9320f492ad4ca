"""Private state and methods of arrays, executors, modules, optimizers and recurrent layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracle_programs import fails


def rows_of_arrays(mx: Any) -> Any:
    x = mx.nd.arange(6).reshape((3, 2))
    part = x._slice(1, 3)
    part[:] = 7
    x._at(0)[:] = 5
    found = [x.copy(), x._slice(0, 9).shape, x._slice(-9, 2).shape, x._slice(-2, None).shape, x._slice(1, 1).shape]
    x._sync_copyfrom(np.ones((3, 2), "float32"))
    again = x.copy()
    x._full(2)
    return found, again, x, fails(lambda: x._slice(2, 1)), fails(lambda: x._sync_copyfrom(np.ones(3)))


def indices_of_sparse_arrays(mx: Any) -> Any:
    arrays = [mx.nd.sparse.csr_matrix((2, 3)), mx.nd.sparse.row_sparse_array((2, 3))]
    return [[array._num_aux, [np.dtype(kind).name for kind in array._aux_types]] for array in arrays]


def _network(mx: Any) -> Any:
    fc = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(fc, name="softmax")


def device_of_an_executor(mx: Any) -> Any:
    return str(_network(mx).simple_bind(mx.cpu(1), data=(2, 4))._ctx)


def group_of_a_module(mx: Any) -> Any:
    module = mx.mod.Module(_network(mx), context=[mx.cpu(0), mx.cpu(1)], fixed_param_names=["fc_bias"])
    module.bind([("data", (4, 2))], [("softmax_label", (4,))], inputs_need_grad=True)
    module.init_params(mx.init.One())
    group = module._exec_group

    def rows(arrays: Any) -> Any:
        return [[(part.start, part.stop, list(array.shape)) for part, array in each] for each in arrays]

    names = [group.param_names, group.arg_names, group.aux_names, group.data_names, group.label_names, group.output_names]
    return (
        [*names, group.state_names, group.fixed_param_names],
        [group.for_training, group.inputs_need_grad, group.workload, group.batch_size, group.num_outputs],
        [group.data_layouts, group.label_layouts, group.output_layouts],
        rows(group.data_arrays),
        rows(group.label_arrays),
        [[list(array.shape) for array in each] for each in group.input_grad_arrays],
        group.grad_req,
        [str(executor._ctx) for executor in group.execs],
    )


def a_module_that_is_bound_anew(mx: Any) -> Any:
    module = mx.mod.Module(_network(mx))
    module.bind([("data", (4, 2))], [("softmax_label", (4,))], grad_req="add")
    module.init_params(mx.init.One())
    found = [module._grad_req, module._params_dirty]
    module._reset_bind()
    dropped = [module.binded, module._exec_group is None, module._data_shapes, module._label_shapes]
    module.bind([("data", (2, 2))], [("softmax_label", (2,))], for_training=False)
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 2))], None))
    return found, dropped, module.get_outputs()[0], module.get_params()[0]["fc_weight"]


def hooks_of_optimizers(mx: Any) -> Any:
    """A subclass's hook is called for each update, and may call the base's."""
    found = []
    for base in (mx.optimizer.SGD, mx.optimizer.NAG, mx.optimizer.Signum, mx.optimizer.LAMB):

        class Doubled(base):
            def __init__(self, **options: Any) -> None:
                super().__init__(**options)
                self.calls: list[Any] = []

            def _update_impl(self, index: Any, weight: Any, grad: Any, state: Any, **options: Any) -> None:
                self.calls.append(options)
                doubled = [g * 2 for g in grad] if isinstance(grad, (list, tuple)) else grad * 2
                super()._update_impl(index, weight, doubled, state, **options)

        for dtype in ("float32", "float16"):
            optimizer = Doubled(learning_rate=0.5, multi_precision=True)
            update = mx.optimizer.get_updater(optimizer)
            weight = mx.nd.ones(2, dtype=dtype)
            for _ in range(2):
                update(0, mx.nd.ones(2, dtype=dtype), weight)
            found.append([weight.astype("float32"), optimizer.calls])
    return found


def layers_as_stacks_of_cells(mx: Any) -> Any:
    rnn = mx.gluon.rnn
    layers = [
        rnn.LSTM(3, 2, dropout=0.2, bidirectional=True, prefix="a_"),
        rnn.LSTM(3, 2, input_size=4, prefix="b_"),
        rnn.GRU(3, prefix="c_"),
        rnn.RNN(3, 2, activation="tanh", prefix="d_"),
    ]
    found = []
    for layer in layers:
        stack = layer._unfuse()
        layer.initialize(mx.init.One())
        x = mx.nd.arange(8).reshape((2, 1, 4)) / 8
        whole = layer(x)
        steps, _ = stack.unroll(2, x, layout="TNC", merge_outputs=True)
        same = all(layer.collect_params()[name] is param for name, param in stack.collect_params().items())
        found.append([repr(stack), same, list(stack.collect_params()) == list(layer.collect_params()), whole, steps])
    return found
