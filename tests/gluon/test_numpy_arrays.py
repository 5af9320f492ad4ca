"""Gluon with arrays of ``mx.np``: the outputs are such arrays too, with the values that arrays of ``mx.nd`` give.

The classes of results are those of the real MXNet 1.9.1, except where it raises because it lacks an np operator.
"""

import threading
from collections.abc import Iterator

import numpy
import pytest

import twofold as mx
from twofold import autograd, gluon, nd, np, npx
from twofold.errors import DTypeError, MXNetError, ParameterError

nn, loss = gluon.nn, gluon.loss
LAYERS = {
    "Dense": (lambda: nn.Dense(2, activation="relu"), (3, 5)),
    "Conv2D": (lambda: nn.Conv2D(3, 3), (2, 3, 8, 8)),
    "Conv2DTranspose": (lambda: nn.Conv2DTranspose(3, 3), (2, 3, 8, 8)),
    "BatchNorm": (nn.BatchNorm, (2, 3, 4)),
    "LayerNorm": (nn.LayerNorm, (2, 3)),
    "GroupNorm": (nn.GroupNorm, (2, 3, 4)),
    "InstanceNorm": (nn.InstanceNorm, (2, 3, 4)),
    "Dropout": (lambda: nn.Dropout(0.5), (2, 3)),
    "Flatten": (nn.Flatten, (2, 3, 4)),
    "MaxPool2D": (nn.MaxPool2D, (2, 3, 8, 8)),
    "GlobalAvgPool2D": (nn.GlobalAvgPool2D, (2, 3, 8, 8)),
    "PReLU": (nn.PReLU, (2, 3)),
    "GELU": (nn.GELU, (2, 3)),
    "HybridLambda": (lambda: nn.HybridLambda("relu"), (2, 3)),
    "Lambda": (lambda: nn.Lambda("relu"), (2, 3)),
    "Sequential": (lambda: stack(nn.Sequential()), (2, 3)),
    "HybridSequential": (lambda: stack(nn.HybridSequential()), (2, 3)),
    "LSTM": (lambda: gluon.rnn.LSTM(4), (3, 2, 3)),
    "GRU": (lambda: gluon.rnn.GRU(4), (3, 2, 3)),
}
LOSSES = {
    "L2Loss": 2,
    "L1Loss": 2,
    "SigmoidBCELoss": 2,
    "KLDivLoss": 2,
    "HuberLoss": 2,
    "HingeLoss": 2,
    "SquaredHingeLoss": 2,
    "LogisticLoss": 2,
    "PoissonNLLLoss": 2,
    "TripletLoss": 3,
}


def stack(net: gluon.Block) -> gluon.Block:
    net.add(nn.Dense(4), nn.Dense(2))
    return net


@pytest.fixture
def numpy_switched() -> Iterator[None]:
    """Runs the test under ``npx.set_np()``."""
    npx.set_np()
    yield
    npx.reset_np()


class Both(gluon.HybridBlock):
    """A block that is written for arrays of ``mx.np``, with a layer and a parameter of its own."""

    def __init__(self, **options):
        super().__init__(**options)
        self.dense = nn.Dense(5)
        self.w = self.params.get("w", shape=(5, 5))

    def hybrid_forward(self, F, x, w):
        return F.np.dot(self.dense(x), w) + F.npx.relu(x)


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_give_arrays_of_np_with_the_values_of_nd(name, hybridized):
    make, shape = LAYERS[name]
    layer = make()
    layer.initialize(mx.init.Normal(0.3))
    if hybridized and name != "Sequential":
        layer.hybridize()
    x = numpy.random.default_rng(0).normal(size=shape).astype("float32")
    expected = layer(nd.array(x))
    out = layer(np.array(x))
    assert isinstance(out, np.ndarray)
    numpy.testing.assert_array_equal(out.asnumpy(), expected.asnumpy())


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_losses_give_arrays_of_np_with_the_values_of_nd(name, hybridized):
    f = getattr(loss, name)()
    if hybridized:
        f.hybridize()
    arrays = list(numpy.random.default_rng(0).uniform(0.1, 0.9, size=(LOSSES[name], 2, 3)).astype("float32"))
    out = f(*map(np.array, arrays))
    assert isinstance(out, np.ndarray)
    numpy.testing.assert_array_equal(out.asnumpy(), f(*map(nd.array, arrays)).asnumpy())


def test_labels_may_have_another_dtype():
    pred, sparse = np.array(numpy.random.default_rng(0).normal(size=(2, 3)), dtype="float32"), np.array([2, 0])
    exponentials = numpy.exp(pred.asnumpy())
    expected = -numpy.log((exponentials / exponentials.sum(axis=1, keepdims=True))[[0, 1], [2, 0]])
    for labels in (sparse, sparse.astype("float64")):
        out = loss.SoftmaxCELoss()(pred, labels)
        assert out.dtype == "float32"
        numpy.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-5)
    out = loss.L2Loss()(pred, np.ones((2, 3), dtype="int64"))
    numpy.testing.assert_allclose(out.asnumpy(), ((pred.asnumpy() - 1) ** 2).mean(axis=1) / 2, rtol=1e-5)


def test_floats_are_cast_to_the_dtype_of_the_parameters_and_integers_are_not():
    layer = nn.Dense(2)
    layer.initialize()
    assert layer(np.ones((3, 5), dtype="float64")).dtype == "float32"
    layer.cast("float16")
    assert layer(np.ones((3, 5))).dtype == "float16"
    with pytest.raises(DTypeError, match=r'cast integers with astype\("float16"\)'):
        layer(np.ones((3, 5), dtype="int32"))
    table = nn.Embedding(4, 3)
    table.initialize()
    assert table(np.array([1, 3])).tolist() == table.weight.data()[[1, 3]].asnumpy().tolist()


@pytest.mark.parametrize("hybridized", [False, True])
def test_gradients_reach_inputs_and_parameters(hybridized):
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="tanh"), nn.Dense(1))
    net.initialize(mx.init.Normal(0.5))
    if hybridized:
        net.hybridize()
    values = numpy.random.default_rng(0).normal(size=(3, 5)).astype("float32")
    found = []
    for make in (nd.array, np.array):
        x = make(values)
        x.attach_grad()
        with autograd.record():
            out = (net(x) ** 2).sum()
        out.backward()
        found.append([x.grad.asnumpy(), *[p.grad().asnumpy() for p in net.collect_params().values()]])
    assert isinstance(x.grad, np.ndarray)
    for legacy, ours in zip(*found, strict=True):
        numpy.testing.assert_allclose(ours, legacy, rtol=1e-5, atol=1e-7)


def test_parameters_initialized_under_set_np_are_arrays_of_np(numpy_switched):
    layer = nn.Dense(2, in_units=3)
    layer.initialize()
    npx.reset_np()
    for array in (layer.weight.data(), layer.weight.grad(), layer.weight.list_data()[0], layer.weight.list_grad()[0]):
        assert isinstance(array, np.ndarray)
    with autograd.record():
        out = np.dot(np.ones((1, 3), dtype="float32"), layer.weight.data().T).sum()
    out.backward()
    assert layer.weight.grad().tolist() == [[1, 1, 1]] * 2
    assert layer.weight.data().grad.tolist() == [[1, 1, 1]] * 2
    layer.weight.data()[:] = 2
    layer.bias.set_data(np.array([1, 2]))
    assert layer(np.ones((1, 3))).tolist() == [[7, 8]]
    assert layer(nd.ones((1, 3))).asnumpy().tolist() == [[7, 8]]


def test_parameters_initialized_before_set_np_stay_arrays_of_nd(numpy_switched):
    npx.reset_np()
    layer = nn.Dense(2, in_units=3)
    layer.initialize()
    npx.set_np()
    assert isinstance(layer.weight.data(), nd.NDArray)


def test_a_parameter_may_be_0_d(numpy_switched, tmp_path):
    class Scaled(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.scale = self.params.get("scale", shape=())

        def hybrid_forward(self, F, x, scale):
            return x * scale

    block = Scaled()
    block.initialize(mx.init.One())
    scale = block.scale
    scale.set_data(np.array(3.0))
    assert (scale.data().shape, scale.list_data()[0].shape, scale.grad().shape) == ((), (), ())
    trainer = gluon.Trainer([scale], "sgd", {"learning_rate": 0.5})
    with autograd.record():
        out = block(np.array(2.0))
    out.backward()
    trainer.step(1)
    assert (out.shape, out.item(), scale.grad().item(), scale.data().item()) == ((), 6, 2, 2)
    block.save_parameters(tmp_path / "scaled")
    block.initialize(force_reinit=True)
    block.load_parameters(tmp_path / "scaled")
    assert (scale.data().shape, scale.data().item()) == ((), 2)
    scale.zero_grad()
    assert scale.grad().item() == 0


def test_parameters_are_one_array_of_exactly_that_class(numpy_switched):
    layer = nn.Dense(2, in_units=3)
    layer.initialize()
    for parameter in (layer.weight, layer.bias):
        assert type(parameter.data()) is type(np.ones(1))
        assert type(parameter.grad()) is type(np.ones(1))
        assert parameter.data() is parameter.data()
        assert parameter.data().grad is parameter.grad()


def test_layers_and_optimizers_see_what_is_written_to_a_parameter(numpy_switched):
    layer = nn.Dense(1, in_units=2, use_bias=False)
    layer.initialize(mx.init.One())
    weight, x = layer.weight.data(), np.array([[1, 2]], dtype="float32")
    trainer = gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 0.5})
    for shift in (0, 10):
        weight += shift
        before = weight.asnumpy()
        with autograd.record():
            y = layer(x)
        y.backward()
        trainer.step(1)
        # y = w · x, so dy/dw = x
        assert y.item() == before @ [1, 2]
        numpy.testing.assert_array_equal(weight, before - 0.5 * x.asnumpy())


def test_constants_are_arrays_of_np_under_set_np(numpy_switched):
    for value in (np.ones(3), [1, 2]):
        constant = gluon.Constant("c", value)
        constant.initialize()
        assert isinstance(constant.value, np.ndarray)
        assert isinstance(constant.data(), np.ndarray)


@pytest.mark.parametrize("hybridized", [False, True])
def test_a_block_written_for_np_gets_arrays_of_np(hybridized):
    block = Both()
    block.initialize(mx.init.Normal(0.5))
    if hybridized:
        block.hybridize()
    x = np.array(numpy.random.default_rng(0).normal(size=(3, 5)), dtype="float32")
    x.attach_grad()
    with autograd.record():
        out = block(x)
    out.backward()
    dense, w = block.dense.weight.data().asnumpy(), block.w.data().asnumpy()
    numpy.testing.assert_allclose(out.asnumpy(), x.asnumpy() @ dense.T @ w + numpy.maximum(x.asnumpy(), 0), rtol=1e-4, atol=1e-5)
    numpy.testing.assert_allclose(x.grad.asnumpy(), (w.sum(axis=1) @ dense) + (x.asnumpy() > 0), rtol=1e-4, atol=1e-5)


def test_a_users_subclass_of_a_layer_gets_arrays_of_np_in_its_own_forward():
    class Doubled(nn.Flatten):
        def hybrid_forward(self, F, x):
            assert isinstance(x, np.ndarray)
            return np.add(x, x)

    assert Doubled()(np.array([[1, 2]])).tolist() == [[2, 4]]


def test_a_sequence_may_hold_blocks_written_for_np():
    net = nn.HybridSequential()
    net.add(nn.Dense(5), Both(), nn.HybridLambda(lambda F, x: F.np.exp(x)))
    net.initialize()
    x = np.ones((2, 3))
    expected = net(x)
    net.hybridize()
    assert net(x).tolist() == expected.tolist()


def test_methods_of_arrays_are_those_of_np():
    class Sums(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            assert F is nd
            return x.sum(), (x > 1).dtype.name, x.T

    for active in (False, True):
        block = Sums()
        block.hybridize(active)
        total, kind, turned = block(np.arange(6.0).reshape(2, 3))
        assert (total.shape, kind, turned.shape) == ((), "bool", (3, 2))


def test_blocks_written_for_np_are_not_traced(tmp_path):
    block = Both()
    block.initialize()
    block.hybridize()
    block(np.ones((3, 5)))
    with pytest.raises(MXNetError, match=r"blocks with F\.np are not traced"):
        block.export(tmp_path / "both")
    with pytest.raises(DTypeError, match=r"pass symbols of as_np_ndarray"):
        block(mx.sym.var("x"))
    assert block(mx.sym.var("x").as_np_ndarray()).list_inputs()[0] == "x"


def test_shapes_of_parameters_are_not_inferred_from_np_code():
    class Late(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.w = self.params.get("w", shape=(4, 0), allow_deferred_init=True)

        def hybrid_forward(self, F, x, w):
            return F.npx.fully_connected(x, w, num_hidden=4, no_bias=True)

    block = Late()
    block.initialize()
    with pytest.raises(ParameterError, match="specify the full shapes of parameters"):
        block(np.ones((2, 3)))


def test_operators_of_nd_raise_for_arrays_of_np():
    class Legacy(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.relu(x)

    with pytest.raises(DTypeError, match="NDArray type"):
        Legacy()(np.ones(3))


def test_use_np_applies_to_inherited_methods_too():
    @npx.use_np
    class Model(gluon.Block):
        def __init__(self, **options):
            super().__init__(**options)
            self.dense = nn.Dense(2, in_units=3)

        def forward(self, x):
            return np.exp(self.dense(x)).sum(), npx.is_np_array(), npx.is_np_shape()

        @property
        def inside(self):
            return npx.is_np_array()

        @staticmethod
        def static():
            return npx.is_np_array()

    model = Model()
    model.initialize()
    out, *switches = model(np.ones((2, 3)))
    assert (out.shape, switches, model.inside, model.static()) == ((), [True, True], True, True)
    assert isinstance(model.dense.weight.data(), np.ndarray)
    assert (npx.is_np_array(), npx.is_np_shape()) == (False, False)


def test_a_graph_is_exported_and_imported(tmp_path):
    net = stack(nn.HybridSequential())
    net.initialize()
    net.hybridize()
    x = np.array(numpy.random.default_rng(0).normal(size=(2, 3)), dtype="float32")
    expected = net(x).tolist()
    net.export(tmp_path / "net")
    again = gluon.SymbolBlock.imports(tmp_path / "net-symbol.json", "data", tmp_path / "net-0000.params", ctx=mx.current_context())
    out = again(x)
    assert isinstance(out, np.ndarray)
    assert out.tolist() == expected


@pytest.mark.parametrize("make", [gluon.rnn.LSTMCell, gluon.rnn.GRUCell, lambda n: gluon.rnn.ZoneoutCell(gluon.rnn.RNNCell(n))])
def test_cells_step_and_unroll(make, numpy_switched):
    cell = make(4)
    cell.initialize()
    x = numpy.random.default_rng(0).normal(size=(2, 3, 5)).astype("float32")
    states = cell.begin_state(batch_size=2)
    assert all(isinstance(s, np.ndarray) for s in states)
    out, after = cell(np.array(x[:, 0]), states)
    assert all(isinstance(a, np.ndarray) for a in (out, *after))
    cell.reset()
    outputs, last = cell.unroll(3, np.array(x), merge_outputs=True, valid_length=np.array([1, 3]))
    legacy, _ = cell.unroll(3, nd.array(x), merge_outputs=True, valid_length=nd.array([1, 3]))
    assert all(isinstance(a, np.ndarray) for a in (outputs, *last))
    assert outputs.tolist() == legacy.asnumpy().tolist()


def test_layers_take_states_of_np():
    layer = gluon.rnn.LSTM(4)
    layer.initialize()
    out, states = layer(np.ones((3, 2, 5)), [np.zeros((1, 2, 4)), np.zeros((1, 2, 4))])
    assert out.shape == (3, 2, 4)
    assert all(isinstance(s, np.ndarray) for s in (out, *states))


def test_hooks_see_arrays_of_np():
    net = stack(nn.HybridSequential())
    net.initialize()
    seen = []
    net[0].register_forward_hook(lambda block, inputs, out: seen.extend([*inputs, out]))
    net(np.ones((2, 3)))
    assert [isinstance(a, np.ndarray) for a in seen] == [True, True]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", ["np", "switch"])
def test_loaders_give_arrays_of_np(kind, workers):
    values, labels = numpy.arange(8.0).reshape(4, 2), numpy.arange(4)
    arrays = np.array(values, ctx=mx.cpu()), np.array(labels, ctx=mx.cpu())  # worker processes cannot read GPUs
    data = gluon.data.ArrayDataset(*(arrays if kind == "np" else (values, labels)))
    loader = gluon.data.DataLoader(data, 2, num_workers=workers)
    with npx.np_array(kind == "switch"):
        batches = list(loader)
    assert all(isinstance(part, np.ndarray) for batch in batches for part in batch)
    assert [part.tolist() for part in batches[1]] == [[[4, 5], [6, 7]], [2, 3]]


def test_loaders_give_arrays_of_nd_otherwise():
    for batch in gluon.data.DataLoader(gluon.data.ArrayDataset(numpy.ones((4, 2)), nd.ones(4)), 2):
        assert all(isinstance(part, nd.NDArray) for part in batch)


def test_transforms_take_images_of_np():
    transform = gluon.data.vision.transforms.Compose(
        [gluon.data.vision.transforms.ToTensor(), gluon.data.vision.transforms.Normalize(0.5, 0.5)]
    )
    out = transform(np.full((4, 4, 3), 255, dtype="uint8"))
    assert isinstance(out, np.ndarray)
    assert out.tolist() == numpy.ones((3, 4, 4)).tolist()


@pytest.mark.parametrize("hybridized", [False, True])
def test_a_training_loop_gives_the_results_of_arrays_of_nd(hybridized):
    x = numpy.random.default_rng(0).normal(size=(16, 3)).astype("float32")
    y = (x @ numpy.array([[1.0], [-2.0], [0.5]])).astype("float32")

    def trained(make, switch):
        mx.random.seed(0)
        with npx.np_array(switch):
            net = stack(nn.HybridSequential(prefix="net_"))
            net.add(nn.Dense(1))
            net.initialize(mx.init.Normal(0.3))
            if hybridized:
                net.hybridize()
            trainer, l2, metric = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05}), loss.L2Loss(), mx.metric.MSE()
            for _ in range(5):
                for data, label in gluon.data.DataLoader(gluon.data.ArrayDataset(make(x), make(y)), 8):
                    with autograd.record():
                        out = net(data)
                        value = l2(out, label).mean()
                    value.backward()
                    trainer.step(8)
                    metric.update([label], [out])
            return value, metric.get()[1]

    (legacy, before), (ours, after) = trained(nd.array, False), trained(np.array, True)
    assert ours.shape == ()
    numpy.testing.assert_allclose([ours.item(), after], [legacy.asscalar(), before], rtol=1e-5)


def test_batches_are_split_and_gradients_clipped(numpy_switched):
    parts = gluon.utils.split_and_load(numpy.ones((4, 2)), [mx.cpu(0), mx.cpu(1)])
    assert [isinstance(p, np.ndarray) for p in parts] == [True, True]
    arrays = [np.array([3.0]), np.array([4.0])]
    assert gluon.utils.clip_global_norm(arrays, 1.0) == pytest.approx(5)
    numpy.testing.assert_allclose([a.item() for a in arrays], [0.6, 0.8])


def test_set_np_does_not_affect_other_threads(numpy_switched):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(npx.is_np_array()))
    thread.start()
    thread.join()
    assert seen == [False]


class MaskedLoss(gluon.loss.SoftmaxCrossEntropyLoss):
    """Prepares weights from lengths, then is the loss that it is derived from."""

    def forward(self, pred, label, lengths):
        weights = npx.sequence_mask(np.expand_dims(np.ones_like(label), axis=-1), lengths, True, axis=1)
        return super().forward(pred, label, weights)


@pytest.mark.parametrize("is_inner", [False, True])
def test_a_layer_whose_forward_is_extended_computes_as_the_layer_does(numpy_switched, is_inner):
    masked = MaskedLoss()
    if is_inner:
        around = gluon.nn.Sequential()
        around.loss = masked
        masked = around.loss
    found = masked(np.ones((3, 4, 10)), np.ones((3, 4)), np.array([4, 2, 0]))
    assert type(found) is type(np.ones(1))
    # each step costs ln 10
    numpy.testing.assert_allclose(found.asnumpy(), numpy.log(10) * numpy.array([1, 0.5, 0]), rtol=1e-6)


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("kind", [gluon.rnn.RNN, gluon.rnn.LSTM, gluon.rnn.GRU])
def test_states_that_are_not_detached_are_constants_of_the_next_step(numpy_switched, kind, hybridized):
    layer = kind(4)
    layer.initialize(mx.init.One())
    if hybridized:
        layer.hybridize()
    gradients = []
    for detached in (False, True):
        states = layer.begin_state(batch_size=2)
        for k in range(3):
            with autograd.record():
                outputs, states = layer(np.ones((3, 2, 5)) * 0.1 * k, states)
                loss_here = (outputs * outputs).mean()
            loss_here.backward()
            states = [s.detach() for s in states] if detached else states
        gradients.append([p.grad().asnumpy() for p in layer.collect_params().values()])
    for one, other in zip(*gradients, strict=True):
        numpy.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("hybridized", [False, True])
def test_a_float16_network_that_begins_with_batch_normalization_stays_float16(hybridized):
    for array in (np.ones, nd.ones):
        net = nn.HybridSequential()
        net.add(nn.BatchNorm(), nn.Conv2D(2, 3), nn.BatchNorm())
        net.initialize()
        net.cast("float16")
        net.hybridize(hybridized)
        assert numpy.dtype(net(array((2, 3, 5, 5), dtype="float16")).dtype) == "float16"
        assert numpy.dtype(net[0].gamma.data().dtype) == "float32"


def test_batch_normalization_keeps_16_bits_and_casts_the_other_floats():
    layer = nn.BatchNorm(in_channels=3)
    layer.initialize()
    net = nn.HybridSequential()
    net.add(layer, nn.Activation("relu"))
    for block in (layer, net):
        dtypes = [str(block(np.ones((2, 3), dtype=dtype)).dtype) for dtype in ("float16", "float32", "float64")]
        assert dtypes == ["float16", "float32", "float32"]


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize(
    "layer",
    [nn.Swish(), nn.SELU(), nn.GELU(), nn.ELU(), nn.LeakyReLU(0.1), nn.Dropout(0.5), nn.Activation("tanh"), nn.HybridLambda("relu")],
    ids=lambda layer: type(layer).__name__,
)
def test_the_result_of_an_array_without_axes_has_none(layer, hybridized):
    layer.hybridize(hybridized)
    x = np.array(2.0)
    x.attach_grad()
    with autograd.record(train_mode=False):
        y = layer(x)
    y.backward()
    assert y.shape == x.grad.shape == ()
    assert float(y) == pytest.approx(float(layer(np.array([2.0]))[0]))
