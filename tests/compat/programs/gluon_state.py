"""Private state of Gluon's objects, used as libraries use it: read, assigned, rebuilt, cleared."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracle_programs import fails


def _initialized(mx: Any, block: Any) -> Any:
    block.initialize(mx.init.One())
    return block


def state_of_a_parameter(mx: Any) -> Any:
    def state(p: Any) -> Any:
        return p._ctx_map, None if p._ctx_list is None else list(map(str, p._ctx_list)), len(p._deferred_init), p._data is None

    shaped = mx.gluon.Parameter("shaped", shape=(2,))
    found = [state(shaped)]
    shaped.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(1)])
    waiting = mx.gluon.Parameter("waiting", shape=(0, 2), allow_deferred_init=True)
    waiting.initialize(ctx=mx.cpu(1))
    found += [state(shaped), state(waiting), list(map(str, waiting._deferred_init[1]))]
    waiting._deferred_init = ()
    return [*found, len(waiting._deferred_init), fails(waiting.data)]


def one_of_the_arrays(mx: Any) -> Any:
    param = mx.gluon.Parameter("p", shape=(2,))
    param.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(1)])
    got = param._check_and_get(param._data, mx.cpu(1))
    return (
        str(got.context),
        got is param._data[1],
        param._check_and_get(param._data, list) is param._data,
        param._check_and_get(param._grad, mx.cpu(0)),
        fails(lambda: param._check_and_get(param._data, mx.cpu(2))),
        fails(lambda: mx.gluon.Parameter("q")._check_and_get(None, None)),
    )


def a_parameter_that_drops_weights(mx: Any) -> Any:
    """It shares the arrays of another one, and layers compute with what its `data` returns, also as a compiled graph."""

    class Halved(mx.gluon.Parameter):
        def __init__(self, p: Any) -> None:
            self._deferred_init = p._deferred_init
            super().__init__(
                name=p.name,
                grad_req=p.grad_req,
                shape=p._shape,
                dtype=p.dtype,
                lr_mult=p.lr_mult,
                wd_mult=p.wd_mult,
                init=p.init,
                allow_deferred_init=p._allow_deferred_init,
                differentiable=p._differentiable,
            )
            self._var, self._data, self._grad = p._var, p._data, p._grad
            self._ctx_list, self._ctx_map, self._trainer = p._ctx_list, p._ctx_map, p._trainer
            self.factor = 0.5

        def data(self, ctx: Any = None) -> Any:
            return self._check_and_get(self._data, ctx) * self.factor

    net = _initialized(mx, mx.gluon.nn.Dense(1, in_units=2, use_bias=False, prefix="d_"))
    halved = Halved(net.weight)
    net._params._params[halved.name] = halved
    net._reg_params["weight"] = halved
    super(mx.gluon.Block, net).__setattr__("weight", halved)
    x, found = mx.nd.array([[1, 2]]), []
    for hybridizes in (False, True):
        if hybridizes:
            net.hybridize()
        for factor in (0.5, 0.25):
            halved.factor = factor
            with mx.autograd.record():
                y = net(x)
            y.backward()
            found.append([y, halved.list_grad()[0].copy()])
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    trainer.step(1)
    return found, halved.list_data()[0], halved._data[0], list(map(str, halved.list_ctx())), halved.grad()


def a_value_in_place_of_a_weight(mx: Any) -> Any:
    """A result of a computation takes the place of a weight; gradients flow to what it was computed from."""
    net = _initialized(mx, mx.gluon.nn.Dense(1, in_units=2, use_bias=False))
    source = mx.nd.array([[3, 4]])
    source.attach_grad()
    with mx.autograd.record():
        value = source * 2
        param = net.weight
        place = param._ctx_map[value.context.device_typeid & 1][value.context.device_id]
        param._data[place] = value
        y = net(mx.nd.array([[1, 2]]))
    y.backward()
    return place, y, source.grad, net.weight.data()


def assigned_arrays(mx: Any) -> Any:
    a, b = mx.gluon.Parameter("a", shape=(2,)), mx.gluon.Parameter("b", shape=(2,))
    a.initialize(mx.init.One())
    b._data, b._grad, b._ctx_list, b._ctx_map = a._data, a._grad, a._ctx_list, a._ctx_map
    a.set_data(mx.nd.array([5, 6]))
    shared = b.data().copy()
    with mx.autograd.record():
        y = (b.data() * 3).sum()
    y.backward()
    gradient = a.grad().copy()
    b._data = None
    return shared, gradient, fails(b.data), a.data()


def created_arrays(mx: Any) -> Any:
    param = mx.gluon.Parameter("p", shape=(2,))
    param._init_impl(mx.nd.array([1, 2]), [mx.cpu(0), mx.cpu(1)])
    return list(map(str, param.list_ctx())), param.data(mx.cpu(1)), param.list_grad()[0]


def graph_of_a_block(mx: Any) -> Any:
    net = _initialized(mx, mx.gluon.nn.Dense(2, in_units=3, prefix="d_"))
    found: list[Any] = [len(net._cached_graph), net._cached_op is None, net._in_format, net._out_format]
    net.hybridize()
    net(mx.nd.ones((1, 3)))
    inputs, out = net._cached_graph
    found += [[s.name for s in inputs], out.list_arguments(), out.list_outputs(), net._cached_op is None, net._in_format, net._out_format]
    net._clear_cached_op()
    found += [len(net._cached_graph), net._cached_op is None]
    inputs, out = net._get_graph(mx.nd.ones((1, 3)))
    return [*found, [s.name for s in inputs], out.list_arguments()]


def graphs_that_are_cleared(mx: Any) -> Any:
    """Detectors change a setting after they were hybridized, and clear the graph."""

    class Scaled(mx.gluon.HybridBlock):
        factor = 2.0

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return x * self.factor

    net = Scaled()
    net.hybridize()
    found = [net(mx.nd.ones(2))]
    for names in ([], ["_cached_graph"], ["_cached_op"], ["_cached_graph", "_cached_op"]):
        net.factor += 1
        kept = net(mx.nd.ones(2))
        for name in names:
            setattr(net, name, () if name == "_cached_graph" else None)
        if not names:
            net._clear_cached_op()
        found.append([kept, net(mx.nd.ones(2)), len(net._cached_graph)])
    return found


def nesting_of_inputs_and_outputs(mx: Any) -> Any:
    class Swap(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any, y: Any) -> Any:
            return [x, [y[0], x]]

    net = Swap()
    net.hybridize()
    net(mx.nd.ones(2), [mx.nd.ones(1)])
    return net._in_format, net._out_format


def nesting_given_to_a_symbol_block(mx: Any) -> Any:
    """Forecasters store the formats beside the exported files, and set them after the import."""
    data = [mx.sym.var("data0"), mx.sym.var("data1")]
    net = mx.gluon.SymbolBlock(mx.sym.Group([data[0] + data[1], data[0] * 2, data[1] * 3]), data)
    before = net(mx.nd.ones(1), mx.nd.ones(1))
    net._in_format, net._out_format = [0, [0]], [0, [0, 0]]
    x, (y, z) = net(mx.nd.ones(1), [mx.nd.ones(1)])
    return len(before), x, y, z


def state_of_a_loader(mx: Any) -> Any:
    data = mx.gluon.data
    loader = data.DataLoader(list(range(5)), 2)
    found = [len(loader._batch_sampler), loader._pin_memory, loader._pin_device_id, loader._worker_pool is None, loader.auto_reload]
    same = loader._batchify_fn is data.dataloader.default_batchify_fn
    loader._batchify_fn = sum
    sums = list(loader)
    loader._batch_sampler = data.BatchSampler(data.SequentialSampler(5), 3, "keep")
    return found, same, sums, list(loader), len(loader)


def a_loader_of_ones_own(mx: Any) -> Any:
    """It overrides the iteration and keeps the base's state, as loaders with random transforms do."""

    class Transformed(mx.gluon.data.DataLoader):
        def __init__(self, dataset: Any, size: int) -> None:
            super().__init__(dataset, size, num_workers=0)
            self._pin_device_id = 1
            self._num_workers = 0
            self._worker_pool = None
            self._prefetch = 4
            self._batchify_fn = np.stack

        def __iter__(self) -> Any:
            return (self._batchify_fn([self._dataset[k] * 10 for k in batch]) for batch in self._batch_sampler)

    loader = Transformed(np.arange(5), 2)
    return [batch.tolist() for batch in loader], loader._pin_device_id, loader._prefetch, len(loader)


def state_of_a_trainer(mx: Any) -> Any:
    net = _initialized(mx, mx.gluon.nn.Dense(2, in_units=2, prefix="d_"))
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", kvstore="local", update_on_kvstore=True)
    found = [dict(trainer._kvstore_params), [p.name for p in trainer._params_to_init], trainer._kv_initialized, trainer._distributed]
    trainer._kvstore_params["update_on_kvstore"] = False
    trainer._init_kvstore()
    return (
        found,
        trainer._update_on_kvstore,
        [trainer._contains_sparse_weight, trainer._contains_sparse_grad, trainer._compression_params],
        list(map(str, trainer._check_contexts())),
    )


def parameters_that_are_not_sent(mx: Any) -> Any:
    net = mx.gluon.nn.Dense(2, in_units=3, prefix="d_")
    net.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", kvstore="device", update_on_kvstore=True)
    trainer._init_kvstore()
    waiting = sorted(p.name for p in trainer._params_to_init)
    trainer._init_params()
    return waiting, [p.name for p in trainer._params_to_init], trainer._update_on_kvstore, trainer._distributed
