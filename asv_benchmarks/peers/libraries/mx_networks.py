"""Training steps as programs for MXNet 1.x, which the real one and Twofold run alike; ``mx`` is one or the other."""

from __future__ import annotations

from typing import Any

from asv_benchmarks.peers import inputs
from asv_benchmarks.peers.case import Case
from asv_benchmarks.peers.libraries.mx_programs import mean_cross_entropy


def perceptron_outputs(F: Any, x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    """The outputs of the two-layer perceptron."""
    h = F.relu(F.FullyConnected(x, w1, b1, num_hidden=32))
    return F.FullyConnected(h, w2, b2, num_hidden=10)


def perceptron_imperative(mx: Any, arrays: dict[str, Any]) -> Case:
    """Forward and backward with functions of ``mx.nd``."""
    x, label = mx.nd.array(arrays["x"]), mx.nd.array(arrays["label"])
    weights = [mx.nd.array(a) for a in inputs.parameters(arrays).values()]
    for w in weights:
        w.attach_grad()

    def call() -> None:
        with mx.autograd.record():
            loss = mean_cross_entropy(mx.nd, perceptron_outputs(mx.nd, x, *weights), label)
        loss.backward()
        loss.wait_to_read()
        for w in weights:
            w.grad.wait_to_read()

    return Case(call, lambda: [w.grad.asnumpy() for w in weights])


def perceptron_executor(mx: Any, arrays: dict[str, Any]) -> Case:
    """Forward and backward of a symbol bound to arrays."""
    learned = inputs.parameters(arrays)
    outputs = perceptron_outputs(mx.sym, mx.sym.var("x"), *[mx.sym.var(name) for name in learned])
    loss = mx.sym.MakeLoss(mean_cross_entropy(mx.sym, outputs, mx.sym.var("label")))
    values = {name: mx.nd.array(a) for name, a in arrays.items()}
    gradients = {name: mx.nd.zeros(a.shape) for name, a in learned.items()}
    bound = loss.bind(mx.cpu(), values, gradients, {name: "write" if name in learned else "null" for name in values})

    def call() -> None:
        (out,) = bound.forward(is_train=True)
        bound.backward()
        out.wait_to_read()
        for g in gradients.values():
            g.wait_to_read()

    return Case(call, lambda: [g.asnumpy() for g in gradients.values()])


def _with_loss(mx: Any, layers: list[Any]) -> Any:
    """Layers in sequence and the mean cross-entropy of their output: a single graph when hybridized."""

    class WithLoss(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.body = mx.gluon.nn.HybridSequential()
                self.body.add(*layers)

        def hybrid_forward(self, F: Any, x: Any, label: Any) -> Any:
            return mean_cross_entropy(F, self.body(x), label)

    return WithLoss()


def layers_of(mx: Any, work: str) -> list[Any]:
    """A network's Gluon layers."""
    nn = mx.gluon.nn
    if work == "perceptron":
        return [nn.Dense(32, activation="relu"), nn.Dense(10)]
    if work == "mlp":
        return [nn.Dense(128, activation="relu"), nn.Dense(64, activation="relu"), nn.Dense(10)]
    convolutions = [nn.Conv2D(20, 5, activation="tanh"), nn.MaxPool2D(), nn.Conv2D(50, 5, activation="tanh"), nn.MaxPool2D()]
    return [*convolutions, nn.Dense(500, activation="tanh"), nn.Dense(10)]


def gluon(mx: Any, work: str, hybrid: bool, arrays: dict[str, Any]) -> Case:
    """A network of Gluon layers: forward, backward and, except for the perceptron, ``Trainer.step``."""
    block = _with_loss(mx, layers_of(mx, work))
    block.initialize()
    if hybrid:
        block.hybridize(static_alloc=True, static_shape=True)
    x, label = mx.nd.array(arrays["x"]), mx.nd.array(arrays["label"])
    block(x, label)
    learned, collected = inputs.parameters(arrays), block.collect_params()
    parameters = list(collected.values())
    for p, value in zip(parameters, learned.values()):  # noqa: B905  (Python 3.9 reads this)
        p.set_data(mx.nd.array(value))
    trainer = None if work == "perceptron" else mx.gluon.Trainer(collected, "sgd", {"learning_rate": inputs.LEARNING_RATE})

    def call() -> None:
        with mx.autograd.record():
            loss = block(x, label)
        loss.backward()
        if trainer is not None:
            trainer.step(1)
        loss.wait_to_read()
        for p in parameters:
            (p.grad() if trainer is None else p.data()).wait_to_read()

    def result() -> list[Any]:
        if trainer is None:
            return [p.grad().asnumpy() for p in parameters]
        return [p.data().asnumpy() - old for p, old in zip(parameters, learned.values())]  # noqa: B905

    return Case(call, result)


def _symbol(mx: Any, work: str) -> Any:
    """The network with ``SoftmaxOutput``, with the parameter names of `inputs`."""
    sym = mx.sym

    def dense(x: Any, k: int, units: int) -> Any:
        return sym.FullyConnected(x, sym.var(f"w{k}"), sym.var(f"b{k}"), num_hidden=units)

    def convolved(x: Any, k: int, filters: int) -> Any:
        y = sym.Convolution(x, sym.var(f"w{k}"), sym.var(f"b{k}"), kernel=(5, 5), num_filter=filters)
        return sym.Pooling(sym.Activation(y, act_type="tanh"), pool_type="max", kernel=(2, 2), stride=(2, 2))

    x = sym.var("x")
    if work == "mlp":
        h = sym.Activation(dense(x, 1, 128), act_type="relu")
        y = dense(sym.Activation(dense(h, 2, 64), act_type="relu"), 3, 10)
    else:
        h = sym.Flatten(convolved(convolved(x, 1, 20), 2, 50))
        y = dense(sym.Activation(dense(h, 3, 500), act_type="tanh"), 4, 10)
    return sym.SoftmaxOutput(y, sym.var("label"), normalization="batch", name="softmax")


def module(mx: Any, work: str, arrays: dict[str, Any]) -> Case:
    """A network as ``Module``: ``forward_backward`` and ``update``."""
    learned = inputs.parameters(arrays)
    x, label = mx.nd.array(arrays["x"]), mx.nd.array(arrays["label"])
    mod = mx.mod.Module(_symbol(mx, work), data_names=["x"], label_names=["label"], context=mx.cpu())
    mod.bind(data_shapes=[("x", x.shape)], label_shapes=[("label", label.shape)])
    mod.init_params(arg_params={name: mx.nd.array(a) for name, a in learned.items()}, aux_params={})
    # without `rescale_grad` a Module divides by the batch size once more
    mod.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": inputs.LEARNING_RATE, "rescale_grad": 1.0, "wd": 0.0})
    batch = mx.io.DataBatch(data=[x], label=[label])

    def call() -> None:
        mod.forward_backward(batch)
        mod.update()
        mx.nd.waitall()

    def result() -> list[Any]:
        values = mod.get_params()[0]
        return [values[name].asnumpy() - old for name, old in learned.items()]

    return Case(call, result)


def lstm(mx: Any, hybrid: bool, arrays: dict[str, Any]) -> Case:
    """Gluon's fused LSTM: forward, backward and ``Trainer.step``."""
    net = mx.gluon.rnn.LSTM(inputs.UNITS, inputs.LAYERS, input_size=inputs.UNITS)
    net.initialize()
    if hybrid:
        net.hybridize(static_alloc=True, static_shape=True)
    x, learned = mx.nd.array(arrays["x"]), inputs.parameters(arrays)
    collected, names = net.collect_params(), {"wx": "i2h_weight", "wh": "h2h_weight", "bx": "i2h_bias", "bh": "h2h_bias"}
    ends = {name: f"l{name[2:]}_{names[name[:2]]}" for name in learned}
    by_name = {name: next(p for key, p in collected.items() if key.endswith(end)) for name, end in ends.items()}
    for name, value in learned.items():
        by_name[name].set_data(mx.nd.array(value))
    trainer = mx.gluon.Trainer(collected, "sgd", {"learning_rate": inputs.LEARNING_RATE})
    scale = 0.5 / x.shape[1]

    def call() -> None:
        with mx.autograd.record():
            loss = (net(x) ** 2).sum() * scale
        loss.backward()
        trainer.step(1)
        loss.wait_to_read()
        for p in by_name.values():
            p.data().wait_to_read()

    return Case(call, lambda: [by_name[name].data().asnumpy() - old for name, old in learned.items()])
