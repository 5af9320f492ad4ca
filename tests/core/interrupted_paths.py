"""Calls that change state, as generators: the first value is the call that is interrupted; what follows goes on and checks the results.

Every trial has a number, from which sizes are derived: each is compiled anew, so that caches are filled too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.gluon import nn

Path_ = Callable[[int], Iterator[Callable[[], object]]]
PATHS: dict[str, Path_] = {}


def path(function: Path_) -> Path_:
    PATHS[function.__name__] = function
    return function


def near(found: object, wanted: object, tolerance: float = 1e-4) -> None:
    """Check an array's values."""
    array = found.asnumpy() if hasattr(found, "asnumpy") else found
    np.testing.assert_allclose(array, wanted, rtol=tolerance, atol=tolerance)


def near_one_of(found: object, *wanted: object) -> None:
    """Check an array's values where an interrupted call may or may not have taken effect."""
    array = found.asnumpy() if hasattr(found, "asnumpy") else found
    assert any(np.allclose(array, w, rtol=1e-4, atol=1e-4) for w in wanted), f"{array} is none of {wanted}"


def numbers(*shape: int) -> np.ndarray:
    return np.linspace(-1, 1, int(np.prod(shape)), dtype="float32").reshape(shape)


def dense_of(layer: nn.Dense, x: np.ndarray) -> np.ndarray:
    return x @ layer.weight.data().asnumpy().T + layer.bias.data().asnumpy()


# networks


@path
def first_call(n: int) -> Iterator[Callable[[], object]]:
    layer, x = nn.Dense(3, in_units=0), numbers(2, n)
    layer.initialize()
    yield lambda: layer(nd.array(x))
    near(layer(nd.array(x)), dense_of(layer, x))


@path
def first_call_of_a_hybrid_network(n: int) -> Iterator[Callable[[], object]]:
    net, x = nn.HybridSequential(), numbers(2, n)
    net.add(nn.Dense(4), nn.Dense(3))
    net.initialize()
    net.hybridize()
    yield lambda: net(nd.array(x))
    near(net(nd.array(x)), dense_of(net[1], dense_of(net[0], x)))


@path
def first_training_step_of_a_hybrid_network(n: int) -> Iterator[Callable[[], object]]:
    net, x = nn.HybridSequential(), numbers(4, n)
    net.add(nn.Dense(4), nn.BatchNorm(), nn.Dense(1))
    net.initialize()
    net.hybridize()

    def step() -> None:
        with autograd.record():
            loss = net(nd.array(x)).sum()
        loss.backward()

    yield step
    step()
    assert not autograd.is_recording()
    near(net[2].bias.grad(), [4])
    near(net[1].beta.grad(), 4 * net[2].weight.data().asnumpy()[0])


@path
def convolution_that_infers_its_channels(n: int) -> Iterator[Callable[[], object]]:
    layer, x = nn.Conv2D(2, 1, use_bias=False), numbers(1, n, 2, 2)
    layer.initialize()
    yield lambda: layer(nd.array(x)).wait_to_read()
    near(layer(nd.array(x)), np.einsum("nchw,oc->nohw", x, layer.weight.data().asnumpy()[:, :, 0, 0]))


@path
def recurrent_layer(n: int) -> Iterator[Callable[[], object]]:
    layer, x = gluon.rnn.RNN(2, activation="relu"), numbers(1, 1, n)
    layer.initialize()
    yield lambda: layer(nd.array(x))
    found = layer(nd.array(x))[0]
    weight, first, second = (getattr(layer, f"l0_{name}").data().asnumpy() for name in ("i2h_weight", "i2h_bias", "h2h_bias"))
    near(found, np.maximum(x[0] @ weight.T + first + second, 0))


@path
def initialization(n: int) -> Iterator[Callable[[], object]]:
    parameter = gluon.Parameter("w", shape=(n, 2))
    yield lambda: parameter.initialize(mx.init.One())
    parameter.initialize(mx.init.One(), force_reinit=False)
    near(parameter.data(), np.ones((n, 2)))
    assert parameter.grad().shape == (n, 2)


@path
def reinitialization(n: int) -> Iterator[Callable[[], object]]:
    parameter = gluon.Parameter("w", shape=(n, 2))
    parameter.initialize(mx.init.One())
    yield lambda: parameter.initialize(mx.init.Zero(), force_reinit=True)
    near_one_of(parameter.data(), np.ones((n, 2)), np.zeros((n, 2)))
    assert parameter.grad().shape == (n, 2)


@path
def setting_values(n: int) -> Iterator[Callable[[], object]]:
    parameter = gluon.Parameter("w", shape=(0, 2), allow_deferred_init=True)
    parameter.initialize(mx.init.One())
    yield lambda: parameter.set_data(nd.array(numbers(n, 2)))
    parameter.set_data(nd.array(numbers(n, 2)))
    near(parameter.data(), numbers(n, 2))
    assert parameter.grad().shape == (n, 2)


@path
def casting(n: int) -> Iterator[Callable[[], object]]:
    layer, x = nn.Dense(3, in_units=n), numbers(2, n)
    layer.initialize()
    before = dense_of(layer, x)
    yield lambda: layer.cast("float64")
    layer.cast("float64")
    near(layer(nd.array(x, dtype="float64")), before)


@path
def moving_to_another_device(n: int) -> Iterator[Callable[[], object]]:
    layer, x = nn.Dense(3, in_units=n), numbers(2, n)
    layer.initialize()
    before = dense_of(layer, x)
    yield lambda: layer.collect_params().reset_ctx(mx.cpu(1))
    layer.collect_params().reset_ctx(mx.cpu(1))
    near(layer(nd.array(x, ctx=mx.cpu(1))), before)


@path
def loading_parameters(n: int) -> Iterator[Callable[[], object]]:
    saved, layer, x = nn.Dense(3, in_units=n), nn.Dense(3), numbers(2, n)
    saved.initialize()
    with tempfile.TemporaryDirectory() as folder:
        saved.save_parameters(f"{folder}/a.params")
        yield lambda: layer.load_parameters(f"{folder}/a.params")
        layer.load_parameters(f"{folder}/a.params")
    near(layer(nd.array(x)), dense_of(saved, x))


@path
def saving_parameters(n: int) -> Iterator[Callable[[], object]]:
    layer, again = nn.Dense(3, in_units=n), nn.Dense(3, in_units=n)
    layer.initialize()
    with tempfile.TemporaryDirectory() as folder:
        layer.save_parameters(f"{folder}/a.params")
        yield lambda: layer.save_parameters(f"{folder}/a.params")
        assert [f.name for f in Path(folder).iterdir()] == ["a.params"]
        again.load_parameters(f"{folder}/a.params")
    near(again.weight.data(), layer.weight.data().asnumpy())


@path
def exported_network(n: int) -> Iterator[Callable[[], object]]:
    net, x = nn.HybridSequential(), numbers(2, n)
    net.add(nn.Dense(3))
    net.initialize()
    net.hybridize()
    net(nd.array(x))
    with tempfile.TemporaryDirectory() as folder:
        net.export(f"{folder}/net")
        yield lambda: gluon.SymbolBlock.imports(f"{folder}/net-symbol.json", ["data"], f"{folder}/net-0000.params")(nd.array(x))
        near(
            gluon.SymbolBlock.imports(f"{folder}/net-symbol.json", ["data"], f"{folder}/net-0000.params")(nd.array(x)), dense_of(net[0], x)
        )


# arrays and recording


@path
def new_programs(n: int) -> Iterator[Callable[[], object]]:
    x = numbers(n)
    yield lambda: (nd.array(x) * 2 + 1).exp().sum().asnumpy()
    near((nd.array(x) * 2 + 1).exp().sum(), [np.exp(x * 2 + 1).sum()])


@path
def writing_in_place(n: int) -> Iterator[Callable[[], object]]:
    x = nd.array(numbers(n))

    def write() -> None:
        x[1:] = 5
        x.wait_to_read()

    yield write
    near_one_of(x, numbers(n), [-1, *[5] * (n - 1)])
    write()
    near(x, [-1, *[5] * (n - 1)])


@path
def adding_in_place(n: int) -> Iterator[Callable[[], object]]:
    x = nd.zeros((n,))
    names = {"x": x}

    def add() -> None:
        names["x"] += 1
        x.wait_to_read()

    yield add
    near_one_of(x, np.zeros(n), np.ones(n))


@path
def recording_and_backward(n: int) -> Iterator[Callable[[], object]]:
    x = nd.array(numbers(n))
    x.attach_grad()

    def step() -> None:
        with autograd.record():
            y = (x * x).sum()
        y.backward()
        x.grad.wait_to_read()

    yield step
    step()
    assert not autograd.is_recording()
    assert not autograd.is_training()
    near(x.grad, 2 * numbers(n))


@path
def adding_to_gradients(n: int) -> Iterator[Callable[[], object]]:
    x = nd.array(numbers(n))
    x.attach_grad("add")

    def step() -> None:
        with autograd.record():
            y = (x * x).sum()
        y.backward()
        x.grad.wait_to_read()

    yield step
    near_one_of(x.grad, 0 * numbers(n), 2 * numbers(n))
    before = x.grad.asnumpy()
    step()
    near(x.grad, before + 2 * numbers(n))


@path
def backward_of_a_kept_graph(n: int) -> Iterator[Callable[[], object]]:
    x = nd.array(numbers(n))
    x.attach_grad()
    with autograd.record():
        y = (x * x * x).sum()
    yield lambda: y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    near(x.grad, 3 * numbers(n) ** 2)


class Cube(autograd.Function):
    """A function with a backward of its own."""

    def forward(self, x: nd.NDArray) -> nd.NDArray:
        self.save_for_backward(x)
        return x * x * x

    def backward(self, dy: nd.NDArray) -> nd.NDArray:
        (x,) = self.saved_tensors
        return 3 * x * x * dy


@path
def function_of_the_user(n: int) -> Iterator[Callable[[], object]]:
    x = nd.array(numbers(n))
    x.attach_grad()

    def step() -> None:
        with autograd.record():
            y = Cube()(x)
        y.backward()

    yield step
    step()
    near(x.grad, 3 * numbers(n) ** 2)


@path
def sparse_arrays(n: int) -> Iterator[Callable[[], object]]:
    x = numbers(n, 2)
    x[1:-1] = 0
    yield lambda: nd.array(x).tostype("row_sparse").retain(nd.array([0]))
    near(nd.array(x).tostype("row_sparse").retain(nd.array([0])).tostype("default"), x * (np.arange(n) == 0)[:, None])


@path
def random_numbers(n: int) -> Iterator[Callable[[], object]]:
    mx.random.seed(n)
    wanted = nd.random.uniform(shape=(n,)).asnumpy()

    def draw() -> nd.NDArray:
        mx.random.seed(n)
        return nd.random.uniform(shape=(n,))

    yield draw
    near(draw(), wanted, 0)


# symbols and modules


@path
def binding(n: int) -> Iterator[Callable[[], object]]:
    y = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, no_bias=True, name="fc")

    def run() -> nd.NDArray:
        executor = y.simple_bind(mx.cpu(), x=(2, n))
        executor.copy_params_from({"fc_weight": nd.full((3, n), 2)})
        out = executor.forward(is_train=True, x=nd.ones((2, n)))[0]
        executor.backward(nd.ones((2, 3)))
        near(executor.grad_dict["fc_weight"], np.full((3, n), 2))
        return out

    yield run
    near(run(), np.full((2, 3), 2 * n))


def module_of(n: int) -> tuple[mx.mod.Module, mx.io.DataBatch]:
    y = mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="fc"), name="y")
    module = mx.mod.Module(y, label_names=["y_label"])
    return module, mx.io.DataBatch([nd.ones((2, n))], [nd.ones((2, 1))])


@path
def module_that_starts(n: int) -> Iterator[Callable[[], object]]:
    module, batch = module_of(n)

    def start() -> None:
        if not module.binded:
            module.bind([("data", (2, n))], [("y_label", (2, 1))])
        if not module.params_initialized:
            module.init_params(mx.init.One())
        if not module.optimizer_initialized:
            module.init_optimizer(optimizer_params={"learning_rate": 0.5})
        module.forward(batch)

    yield start
    start()
    near(module.get_outputs()[0], np.full((2, 1), n))


@path
def module_that_updates(n: int) -> Iterator[Callable[[], object]]:
    module, batch = module_of(n)
    module.bind([("data", (2, n))], [("y_label", (2, 1))])
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.1, "momentum": 0.5})
    module.forward_backward(batch)
    yield module.update
    # the gradient of a weight is the sum of two errors n - 1, rescaled by the batch
    rate = 0.1 * (n - 1)
    near_one_of(module.get_params()[0]["fc_weight"], np.ones((1, n)), np.full((1, n), 1 - rate))
    before = module.get_params()[0]["fc_weight"].asnumpy()
    module.update()
    moved = rate if before[0, 0] == 1 else 1.5 * rate
    near_one_of(module.get_params()[0]["fc_weight"], before - moved, before - 1.5 * rate)


@path
def module_with_another_batch(n: int) -> Iterator[Callable[[], object]]:
    module, batch = module_of(n)
    module.bind([("data", (2, n))], [("y_label", (2, 1))])
    module.init_params(mx.init.One())
    longer = mx.io.DataBatch([nd.ones((3, n))], [nd.ones((3, 1))])
    yield lambda: module.forward(longer)
    module.forward(batch)
    near(module.get_outputs()[0], np.full((2, 1), n))
    module.forward(longer)
    near(module.get_outputs()[0], np.full((3, 1), n))


# training


def trained(n: int, optimizer: str, **settings: float) -> tuple[gluon.Parameter, gluon.Trainer, Callable[[], None]]:
    """A parameter of ones, its trainer, and a function that gives it the gradient 3."""
    parameter = gluon.Parameter("w", shape=(n,))
    parameter.initialize(mx.init.One())

    def backward() -> None:
        with autograd.record():
            loss = (3 * parameter.data()).sum()
        loss.backward()

    return parameter, gluon.Trainer({"w": parameter}, optimizer, settings), backward


def declare_steps(name: str, optimizer: str, settings: dict[str, float], after: Callable[[int], float], warm: int) -> None:
    """A path of a step of an optimizer; ``after(k)`` is a weight after k steps."""

    def steps(n: int) -> Iterator[Callable[[], object]]:
        parameter, trainer, backward = trained(n, optimizer, **settings)
        for _ in range(warm):
            backward()
            trainer.step(1)
        backward()
        yield lambda: trainer.step(1)
        near_one_of(parameter.data(), np.full(n, after(warm)), np.full(n, after(warm + 1)))
        backward()
        trainer.step(1)
        near_one_of(parameter.data(), np.full(n, after(warm + 1)), np.full(n, after(warm + 2)))

    steps.__name__ = name
    path(steps)


def after_momentum(steps: int) -> float:
    weight = 1.0
    momentum = 0.0
    for _ in range(steps):
        momentum = 0.5 * momentum - 0.1 * 3
        weight += momentum
    return weight


declare_steps("first_step_of_sgd", "sgd", {"learning_rate": 0.1}, lambda k: 1 - 0.3 * k, 0)
declare_steps("first_step_with_momentum", "sgd", {"learning_rate": 0.1, "momentum": 0.5}, after_momentum, 0)
declare_steps("third_step_with_momentum", "sgd", {"learning_rate": 0.1, "momentum": 0.5}, after_momentum, 2)


@path
def first_step_of_adam(n: int) -> Iterator[Callable[[], object]]:
    parameter, trainer, backward = trained(n, "adam", learning_rate=0.1)
    backward()
    yield lambda: trainer.step(1)
    # with equal gradients each step of Adam is one of the rate; a step that did not happen may have been counted
    before = parameter.data().asnumpy()
    assert np.allclose(before, 1, atol=1e-4) or np.allclose(before, 0.9, atol=1e-4)
    backward()
    trainer.step(1)
    moved = before - parameter.data().asnumpy()
    assert (moved > 0.05).all(), moved
    assert (moved < 0.2).all(), moved


@path
def first_step_on_two_devices(n: int) -> Iterator[Callable[[], object]]:
    parameter = gluon.Parameter("w", shape=(n,))
    parameter.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(1)])
    trainer = gluon.Trainer({"w": parameter}, "sgd", {"learning_rate": 0.1, "momentum": 0.5}, kvstore="device")

    def step() -> None:
        with autograd.record():
            autograd.backward([(x * 3).sum() for x in parameter.list_data()])
        trainer.step(2)

    yield step
    step()
    near_one_of(np.stack([x.asnumpy() for x in parameter.list_data()]), *[np.full((2, n), after_momentum(k)) for k in (1, 2)])


@path
def loading_states(n: int) -> Iterator[Callable[[], object]]:
    parameter, trainer, backward = trained(n, "sgd", learning_rate=0.1, momentum=0.5)
    backward()
    trainer.step(1)
    with tempfile.TemporaryDirectory() as folder:
        trainer.save_states(f"{folder}/t.states")
        yield lambda: trainer.load_states(f"{folder}/t.states")
        backward()
        trainer.step(1)
        near(parameter.data(), np.full(n, after_momentum(2)))


@path
def store_of_values(n: int) -> Iterator[Callable[[], object]]:
    store, out = mx.kv.create("local"), nd.zeros((n,))
    store.init("w", nd.ones((n,)))
    yield lambda: store.push("w", [nd.ones((n,)) * 2, nd.ones((n,))])
    store.pull("w", out=out)
    near_one_of(out, np.ones(n), np.full(n, 3))
    store.push("w", [nd.ones((n,)) * 4, nd.ones((n,))])
    store.pull("w", out=out)
    near(out, np.full(n, 5))


@path
def store_that_is_initialized(n: int) -> Iterator[Callable[[], object]]:
    store, out = mx.kv.create("local"), nd.zeros((n,))
    yield lambda: store.init(["v", "w"], [nd.ones((n,)), nd.ones((n,))])
    for key in "vw":
        try:
            store.pull(key, out=out)
        except mx.base.MXNetError:  # the interrupted call has not come to it
            store.init(key, nd.ones((n,)))
            store.pull(key, out=out)
        near(out, np.ones(n))


@path
def store_that_updates(n: int) -> Iterator[Callable[[], object]]:
    store, out = mx.kv.create("device"), nd.zeros((n,))
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1, momentum=0.5))
    store.init(0, nd.ones((n,)))
    yield lambda: store.push(0, nd.full((n,), 3))
    store.pull(0, out=out)
    near_one_of(out, np.full(n, after_momentum(0)), np.full(n, after_momentum(1)))
    store.push(0, nd.full((n,), 3))
    store.pull(0, out=out)
    near_one_of(out, np.full(n, after_momentum(1)), np.full(n, after_momentum(2)))


# iterators and measures


@path
def batches(n: int) -> Iterator[Callable[[], object]]:
    data = mx.io.NDArrayIter(numbers(6, n), numbers(6), batch_size=2)
    yield data.next
    left = [b.data[0].asnumpy() for b in data]
    assert len(left) in (2, 3)
    near(np.concatenate(left), numbers(6, n)[-2 * len(left) :])
    data.reset()
    near(np.concatenate([b.data[0].asnumpy() for b in data]), numbers(6, n))


@path
def shuffled_batches(n: int) -> Iterator[Callable[[], object]]:
    data = mx.io.NDArrayIter(np.arange(6 * n, dtype="float32"), batch_size=2, shuffle=True, last_batch_handle="roll_over")
    data.next()
    yield data.reset
    data.reset()
    seen = np.concatenate([b.data[0].asnumpy() for b in data])
    assert len({*seen.tolist()}) == len(seen)


@path
def resized_batches(n: int) -> Iterator[Callable[[], object]]:
    data = mx.io.ResizeIter(mx.io.NDArrayIter(numbers(6, n), batch_size=2), 5)
    yield data.next
    assert len([*data]) in (4, 5)
    data.reset()
    assert len([*data]) == 5


@path
def prefetched_batches(n: int) -> Iterator[Callable[[], object]]:
    data = mx.io.PrefetchingIter(mx.io.NDArrayIter(numbers(6, n), batch_size=2))
    yield data.next
    left = [b.data[0].asnumpy() for b in data]
    assert len(left) in (2, 3)
    near(np.concatenate(left), numbers(6, n)[-2 * len(left) :])
    data.reset()
    near(np.concatenate([b.data[0].asnumpy() for b in data]), numbers(6, n))


@path
def loader(n: int) -> Iterator[Callable[[], object]]:
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(numbers(6, n)), batch_size=2)
    yield lambda: [*data]
    near(np.concatenate([b.asnumpy() for b in data]), numbers(6, n))


@path
def measure(n: int) -> Iterator[Callable[[], object]]:
    accuracy = mx.metric.Accuracy()
    labels, scores = [nd.zeros((n,))], [nd.array([[1.0, 0.0]] * n)]
    yield lambda: accuracy.update(labels, scores)
    assert accuracy.get()[1] == 1 or np.isnan(accuracy.get()[1])
    accuracy.update(labels, scores)
    assert accuracy.get()[1] == 1


@path
def records(n: int) -> Iterator[Callable[[], object]]:
    with tempfile.TemporaryDirectory() as folder:
        writer = mx.recordio.MXIndexedRecordIO(f"{folder}/a.idx", f"{folder}/a.rec", "w")
        writer.write_idx(0, b"a" * n)
        yield lambda: writer.write_idx(1, b"b" * n)
        writer.write_idx(2, b"c" * n)
        writer.close()
        reader = mx.recordio.MXIndexedRecordIO(f"{folder}/a.idx", f"{folder}/a.rec", "r")
        assert reader.read_idx(0) == b"a" * n
        assert reader.read_idx(2) == b"c" * n
        if 1 in reader.keys:
            assert reader.read_idx(1) == b"b" * n
