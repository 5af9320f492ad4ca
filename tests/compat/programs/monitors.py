"""What monitors see of operators' inputs, outputs and gradients, and the hooks of blocks: names, order and values."""

from __future__ import annotations

from typing import Any

import numpy as np

#: MXNet shows memory that operators work in, the operands of backward, and zeros that it makes for outputs that nothing reads.
LEFT_OUT = ("workspace", "zeros_without_dtype_output", "maxidx", "tmp", "_backward_input")


def _filled(executor: Any) -> Any:
    for k, (_, array) in enumerate(sorted({**executor.arg_dict, **executor.aux_dict}.items())):
        array[:] = (np.arange(array.size) * 7 % 5 + k + 1).reshape(array.shape) / 8
    return executor


def _seen(mx: Any, out: Any, everything: bool = False, backward: bool = True, **requests: Any) -> Any:
    executor = _filled(out.simple_bind(mx.cpu(), data=(2, 2, 4, 4), **requests))
    monitor = mx.mon.Monitor(1, stat_func=lambda array: array.asnumpy().round(2), monitor_all=everything)
    monitor.install(executor)
    monitor.tic()
    outputs = executor.forward(is_train=True)
    if backward:
        executor.backward([mx.nd.ones(output.shape) / (k + 2) for k, output in enumerate(outputs)])
    mx.nd.waitall()
    return [[str(name), value] for _, name, value in monitor.queue if not str(name).endswith(LEFT_OUT) and LEFT_OUT[-1] not in str(name)]


def _network(sym: Any) -> Any:
    x = sym.Convolution(sym.var("data"), kernel=(3, 3), num_filter=2, name="conv")
    x = sym.Activation(sym.BatchNorm(x, fix_gamma=False, name="bn"), act_type="relu", name="act")
    x = sym.Flatten(sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="avg", name="pool"), name="flat")
    return sym.SoftmaxOutput(sym.FullyConnected(x, num_hidden=3, name="fc"), name="softmax")


def gradients_of_a_network(mx: Any) -> Any:
    return _seen(mx, _network(mx.sym))


def names_in_a_network(mx: Any) -> Any:
    return [name for name, _ in _seen(mx, _network(mx.sym), everything=True, backward=False)]


def gradients_of_some_arguments(mx: Any) -> Any:
    """Backward stops at the first layer that has one; an argument without one is passed memory that nothing has written."""
    requests = [{"fc_weight": "write"}, {"conv_weight": "write", "fc_weight": "add"}, {"softmax_label": "write"}]
    return [[name for name, _ in _seen(mx, _network(mx.sym), grad_req=request)] for request in requests]


def gradients_of_arithmetic(mx: Any) -> Any:
    x, w = mx.sym.var("data"), mx.sym.var("w", shape=(1, 2, 1, 4))
    with mx.name.NameManager():
        product = (mx.sym.broadcast_add(x * 2 + 1, w, name="sum") - x) * mx.sym.elemwise_mul(x, x, name="square")
        twice = mx.sym.tanh(product, name="bounded") + product
        return _seen(mx, mx.sym.Group([twice, mx.sym.BlockGrad(product, name="stopped"), x]))


def gradients_under_other_names(mx: Any) -> Any:
    x = mx.sym.var("data")
    parts = mx.sym.SliceChannel(mx.sym.SwapAxis(x, dim1=0, dim2=1, name="swapped"), num_outputs=2, name="parts")
    left, right = (mx.sym.Reshape(part, shape=(-3, 0, 0), name=f"flat{k}") for k, part in enumerate(parts))
    product = mx.sym.batch_dot(left, right, name="product")
    equal = mx.sym.broadcast_equal(x, mx.sym.var("like", shape=(1, 2, 4, 4)), name="equal")
    picked = mx.sym.pick(x, mx.sym.var("places", shape=(2, 2, 4)), name="picked")
    return [sorted(_seen(mx, out), key=lambda pair: pair[0]) for out in (product, equal, picked)]


def names_of_inputs(mx: Any) -> Any:
    sym, x = mx.sym, mx.sym.var("data")
    made = [
        sym.LeakyReLU(x, act_type="leaky", name="leaky"),
        sym.softmax(x, name="soft"),
        sym.softmin(x, name="min"),
        sym.add_n(x, x, name="all"),
        sym.sum(x, name="total"),
        sym.transpose(x, name="turned"),
        sym.squeeze(x, name="squeezed"),
        sym.tile(x, reps=(1, 2), name="tiled"),
        sym.slice_like(x, sym.var("like", shape=(1, 1, 1, 1)), name="cut"),
        sym.Embedding(x, input_dim=9, output_dim=2, name="embedded"),
        sym.sort(x, axis=1, name="sorted"),
        sym.topk(x, k=2, ret_typ="value", name="largest"),
        sym.topk(x, k=2, ret_typ="both", name="both")[0],
        sym.topk(x, k=2, name="places"),
        sym.make_loss(x, name="loss"),
        sym.Cast(x, dtype="float64", name="cast"),
    ]
    return [[name for name, _ in _seen(mx, out, everything=True, backward=False)] for out in made]


def orders_that_sorting_makes(mx: Any) -> Any:
    x = mx.sym.var("data")
    made = [mx.sym.sort(x, axis=3, name="sorted"), mx.sym.topk(x, axis=2, k=2, ret_typ="value", is_ascend=True, name="smallest")]
    distinct = np.random.RandomState(0).permutation(64).reshape((2, 2, 4, 4))
    found = []
    for out in made:
        executor = out.simple_bind(mx.cpu(), data=(2, 2, 4, 4))
        monitor = mx.mon.Monitor(1, stat_func=lambda array: [str(array.dtype), array.asnumpy()])
        monitor.install(executor)
        monitor.tic()
        executor.forward(data=mx.nd.array(distinct))
        mx.nd.waitall()
        found.append([[str(name), value] for _, name, value in monitor.queue])
    return found


def names_in_hooks(mx: Any) -> Any:
    class Mixed(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            joined = F.concat(F.relu(x), F.broadcast_add(x, x), dim=1)
            return F.topk(joined, k=2, ret_typ="both", axis=1)[0] * 2

    net, found = mx.gluon.nn.HybridSequential(prefix="net_"), []
    with net.name_scope():
        net.add(mx.gluon.nn.Conv2D(2, 3), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Activation("relu"), mx.gluon.nn.Dense(3), Mixed(prefix="m_"))
    net.initialize()
    net.hybridize()
    net(mx.nd.ones((1, 1, 6, 6)))
    for everything in (False, True):
        seen: list[list[str]] = []

        def hook(name: Any, op: Any, array: object, seen: list[list[str]] = seen) -> None:
            seen.append([name.decode(), op.decode()])

        net.register_op_hook(hook, everything)
        net(mx.nd.ones((1, 1, 6, 6)))
        mx.nd.waitall()
        found.append(list(seen))
        with mx.autograd.record():
            net(mx.nd.ones((1, 1, 6, 6)))
        mx.nd.waitall()
        found.append(list(seen)[len(found[-1]) :])
    return found


def names_around_a_users_operator(mx: Any) -> Any:
    class Product(mx.operator.CustomOp):
        def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            self.assign(out_data[0], req[0], in_data[0] * in_data[1])

        def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
            self.assign(in_grad[0], req[0], in_data[1] * out_grad[0])
            self.assign(in_grad[1], req[1], in_data[0] * out_grad[0])

    class Property(mx.operator.CustomOpProp):
        def list_arguments(self) -> list[str]:
            return ["left", "right"]

        def list_outputs(self) -> list[str]:
            return ["result"]

        def infer_shape(self, in_shape: Any) -> Any:
            return in_shape, in_shape[:1], []

        def create_operator(self, ctx: object, shapes: object, dtypes: object) -> Any:
            return Product()

    mx.operator.register("monitored_product")(Property)
    x = mx.sym.var("data")
    out = mx.sym.Custom(mx.sym.relu(x, name="first"), x, op_type="monitored_product", name="product")
    forward = _seen(mx, out, everything=True, backward=False)
    return [name for name, _ in forward], [name for name, _ in _seen(mx, out)]
