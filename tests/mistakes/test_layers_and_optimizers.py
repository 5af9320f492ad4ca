"""Mistakes with the arguments of layers, losses, optimizers and loaders: values of another kind, or in another place."""

from __future__ import annotations

import numpy
import pytest

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.errors import ParameterError
from twofold.gluon import nn

from .table import Mistakes, message_of

mistake = Mistakes()


def called(net: gluon.Block, *shape: int) -> None:
    """Initialize the block and call it."""
    net.initialize()
    net(nd.ones(shape))


def step(options: dict[str, object], optimizer: str = "sgd") -> None:
    """One step of training: MXNet's constructors accept what its updates refuse."""
    trained = trainer(optimizer, options)
    trained.step(1, ignore_stale_grad=True)
    with autograd.record():
        losses = [p.data().sum() for p in trained._params]
    autograd.backward(losses)
    trained.step(1)


def trainer(*args: object, **options: object) -> gluon.Trainer:
    """A trainer of a small layer."""
    net = nn.Dense(8, in_units=5)
    net.initialize()
    return gluon.Trainer(net.collect_params(), *args, **options)


@mistake("SGD: learning_rate must be a number: given '0.1'; write learning_rate=0.1")
def a_rate_as_text():
    step({"learning_rate": "0.1"})


@mistake("Adam: wd must be a number: given '1e-4'; write wd=1e-4")
def a_decay_as_text():
    step({"wd": "1e-4"}, "adam")


@mistake("SGD: momentum must be a number: given '0.9'; write momentum=0.9")
def a_momentum_as_text():
    trainer("sgd", {"momentum": "0.9"})


@mistake("RMSProp: clip_weights must be a number: given '1'; write clip_weights=1")
def a_bound_as_text():
    mx.optimizer.create("rmsprop", clip_weights="1")


@mistake("Adam: beta1 must be a number: given '0.9'; write beta1=0.9")
def a_coefficient_of_an_object_as_text():
    trainer(mx.optimizer.Adam(beta1="0.9"))


@mistake("SGD: learning_rate must be a number: given FactorScheduler; pass a scheduler as lr_scheduler")
def a_scheduler_as_the_rate():
    step({"learning_rate": mx.lr_scheduler.FactorScheduler(10)})


@mistake("SGD: lr_scheduler must be a scheduler: given 'cosine'; pass one, such as mx.lr_scheduler.FactorScheduler(step=1000)")
def a_scheduler_alone_as_text():
    step({"lr_scheduler": "cosine"})


@mistake("SGD: lr_scheduler must be a scheduler: given 'step'; pass one, such as mx.lr_scheduler.FactorScheduler(step=1000)")
def a_scheduler_as_text():
    trainer("sgd", {"learning_rate": 0.1, "lr_scheduler": "step"})


@mistake("Trainer: optimizer_params must be a dict: given 0.1; write {'learning_rate': 0.1}")
def a_rate_in_place_of_a_dict():
    trainer("sgd", 0.1)


@mistake("init_optimizer: optimizer_params must be a dict: given 0.5; write {'learning_rate': 0.5}")
def a_rate_of_a_module_in_place_of_a_dict():
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3), name="softmax")
    module = mx.mod.Module(net)
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    module.init_params()
    module.init_optimizer(optimizer_params=0.5)


@mistake("Dense: units must be a positive integer: given -3; pass a number of values")
def a_negative_size():
    nn.Dense(-3)


@mistake("Conv2D: channels must be a positive integer: given 0; pass a number of values")
def a_convolution_without_channels():
    nn.Conv2D(0, 3)


@mistake("Conv2D: kernel_size must be 1 or more: given -3; pass positive integers")
def a_negative_kernel():
    nn.Conv2D(8, -3)


@mistake("MaxPool2D: strides must be 1 or more: given (2, 0); pass positive integers")
def a_stride_of_zero():
    nn.MaxPool2D(2, strides=(2, 0))


@mistake("Conv2D: kernel_size must be a number or a list of 2 ints: given 3.0; pass 2 numbers")
def a_kernel_of_a_float():
    nn.Conv2D(8, 3.0)


@mistake(
    "Conv2D: padding must be a number or a list of 2 ints: given 'same'; pass 2 numbers: kernel_size // 2 keeps the sizes, for odd kernels "
    "and strides of 1"
)
def the_name_of_a_padding():
    nn.Conv2D(8, 3, padding="same")


@mistake("Conv2D: groups must divide channels: given groups 2, channels 3; pass a divisor as groups")
def groups_that_do_not_divide_the_channels():
    nn.Conv2D(3, 3, groups=2)


@mistake("Dense: in_units must be a positive integer: given -3; pass a number of values")
def a_negative_size_of_the_input():
    nn.Dense(4, in_units=-3)


@mistake("LSTM: num_layers must be a positive integer: given 0; pass a number of values")
def an_lstm_without_layers():
    gluon.rnn.LSTM(8, num_layers=0)


@mistake(
    "Cannot initialize Parameter 'dense0_weight' because it has invalid shape: (0, 3); specify sizes of 1 or more, such as units and "
    "in_units, in the layer"
)
def a_layer_without_units_that_is_called():
    called(nn.Dense(0), 2, 3)


@mistake("Conv2D: channels must be a positive integer: given 2.5; pass a number of values")
def half_a_channel():
    nn.Conv2D(2.5, 3)


@mistake("Embedding: output_dim must be a positive integer: given None; pass a number of values")
def an_embedding_without_a_size():
    nn.Embedding(10, None)


@mistake("dropout0: rate must be a number: given '0.5'; pass a fraction from 0 to 1")
def a_dropout_as_text():
    called(nn.Dropout("0.5"), 2, 3)


@mistake("dropout0: Dropout: p must be a probability: given 1.5; pass 0 <= p <= 1")
def a_dropout_above_one():
    with autograd.train_mode():
        called(nn.Dropout(1.5), 2, 3)


@mistake(
    "batchnorm0: the input has no axis 16: given an input of shape (2, 16, 4, 4); the first argument is the channel axis: omit it, as the "
    "channels are inferred, or pass in_channels=16"
)
def channels_in_place_of_an_axis():
    called(nn.BatchNorm(16), 2, 16, 4, 4)


@mistake(
    "layernorm0: the input has no axis 64: given an input of shape (2, 3, 64); the first argument is the axis: omit it, as its size is "
    "inferred, or pass in_channels=64"
)
def torchs_size_in_place_of_an_axis():
    called(nn.LayerNorm(64), 2, 3, 64)


@mistake(
    "conv0: the kernel is larger than the padded input: given kernel_size (3, 3), an input of shape (2, 28, 28, 1); the layout is NCHW: "
    "move the channels of the input in front with transpose"
)
def images_with_their_channels_last():
    called(nn.Conv2D(8, 3), 2, 28, 28, 1)


@mistake("view: a shape is no dtype: given -1; use reshape for a view of another shape")
def torchs_view():
    mx.np.ones((2, 3)).view(-1)


@mistake("sum: Cannot find argument: given dim; use axis")
def torchs_name_of_an_axis():
    nd.sum(nd.ones((2, 3)), dim=1)


@mistake("scan: the function does not return a pair: given ndarray; return (carry, y)")
def a_body_that_returns_its_carry_alone():
    mx.func.scan(lambda carry, x: carry + x, mx.np.zeros(()), mx.np.ones(3))


@mistake(
    "conv0: the kernel is larger than the padded input: given kernel_size (16, 16), an input of shape (2, 3, 8, 8); pass a smaller "
    "kernel_size, or pad the input; Conv2D takes channels, kernel_size, strides: the channels of its input are inferred"
)
def torchs_arguments_of_a_convolution():
    called(nn.Conv2D(3, 16, 3), 2, 3, 8, 8)


@mistake(
    "conv1: Convolution: the kernel is larger than the padded input: given kernel (9, 9), dilate (1, 1), input (4, 4) padded by (0, 0) on "
    "both sides; pad the input"
)
def a_large_kernel_inside_a_network():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3), nn.Conv2D(8, 9))
    net.hybridize()
    called(net, 2, 3, 6, 6)


@mistake(
    "dense0_swish: Activation: parameter act_type must be one of 'relu', 'sigmoid', 'softrelu', 'softsign', 'tanh': given 'swish'; valid "
    "values are: relu, sigmoid, softrelu, softsign, tanh"
)
def an_activation_of_others_before_shapes_are_known():
    called(nn.Dense(8, activation="swish"), 2, 3)


@mistake("Compose: transforms must be a list: given ToTensor; write Compose([ToTensor(…)])")
def one_transformation():
    transforms = gluon.data.vision.transforms
    transforms.Compose(transforms.ToTensor())


@mistake("DataLoader: batch_size must be an integer: given an array of shape (8,); pass data and labels as one: ArrayDataset(data, labels)")
def data_and_labels_of_a_loader():
    gluon.data.DataLoader(nd.ones((8, 3)), nd.ones(8), 4)


@mistake("softmaxcrossentropyloss0: label must be an NDArray: given an object of type numpy.ndarray; convert it with mx.nd.array")
def labels_of_numpy():
    gluon.loss.SoftmaxCrossEntropyLoss()(nd.ones((2, 3)), numpy.array([0, 1]))


@mistake("l2loss0: label must be an NDArray: given an object of type float; convert it with mx.nd.array")
def a_number_as_labels():
    gluon.loss.L2Loss()(nd.ones((2, 3)), 1.0)


@mistake(
    "dot: the operands must have NDArray type: given Parameter; write w.data() for the array of a Parameter w; hybrid_forward gets it as "
    "an argument of its name"
)
def a_parameter_as_an_array():
    nd.dot(nd.ones((2, 3)), gluon.Parameter("w", shape=(3,)))


@mistake(
    "dense0_swish: Activation: parameter act_type must be one of 'relu', 'sigmoid', 'softrelu', 'softsign', 'tanh': given 'swish'; valid "
    "values are: relu, sigmoid, softrelu, softsign, tanh"
)
def an_activation_of_others_of_a_hybridized_layer():
    net = nn.Dense(8, activation="swish")
    net.hybridize()
    called(net, 2, 3)


@mistake("dense0: x must be an NDArray: given 1 object in a list or tuple; pass arrays one by one")
def inputs_in_a_tuple():
    net = nn.Dense(8)
    net.hybridize()
    called(net, 2, 3)
    net((nd.ones((2, 3)),))


@mistake("dense0: x must be an NDArray: given 1 object in a list or tuple; pass arrays one by one")
def inputs_in_a_list_from_the_first_call_on():
    net = nn.Dense(8)
    net.initialize()
    net([nd.ones((2, 3))])


@mistake(
    "functional_call: the block does not take its inputs in a tuple: given a tuple of 1 object; pass them one by one: "
    "functional_call(net, params, x)"
)
def torchs_tuple_of_inputs():
    net = nn.Dense(8)
    net.hybridize()
    called(net, 2, 3)
    mx.func.functional_call(net, {}, (nd.ones((2, 3)),))


@mistake("module 'twofold.gluon.model_zoo.vision' has no attribute 'resnet18'; did you mean 'resnet18_v2' or 'resnet18_v1'?")
def a_model_without_its_version():
    _ = gluon.model_zoo.vision.resnet18


@pytest.mark.filterwarnings("ignore:Dense. units must be")
@pytest.mark.parametrize(("program", "message"), mistake.rows)
def test_a_mistake_is_named_with_what_to_do(program, message):
    assert message_of(program) == message


def step_with_store(devices: list[mx.Context], kvstore: str) -> None:
    """Train a parameter that is on several devices for one step."""
    weight = gluon.Parameter("w", shape=(2,))
    weight.initialize(ctx=devices)
    trained = gluon.Trainer([weight], "sgd", kvstore=kvstore)
    with autograd.record():
        losses = [copy.sum() for copy in weight.list_data()]
    autograd.backward(losses)
    trained.step(1)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: nn.Dense(0), "Dense: units"),
        (lambda: nn.Embedding(0, 3), "Embedding: input_dim"),
        (lambda: gluon.rnn.LSTM(0), "LSTM: hidden_size"),
    ],
)
def test_a_size_of_zero_that_mxnet_refuses_in_the_call_is_warned_of_where_it_is_written(make, what):
    with pytest.warns(UserWarning, match=rf"^{what} must be a positive integer: given 0; .* \(MXNet goes on"):
        make()


@pytest.mark.parametrize("unknown", [0, -1])
def test_an_unknown_number_of_channels_is_inferred(unknown):
    net = nn.Conv2D(4, numpy.int64(3), in_channels=unknown)
    called(net, 2, 3, 8, 8)
    assert net.weight.shape == (4, 3, 3, 3)


@pytest.mark.parametrize("devices", [[mx.cpu(0)], [mx.cpu(0), mx.cpu(1)]])
def test_a_misspelt_store_is_warned_of_once(devices):
    with pytest.warns(UserWarning, match="given 'devicee', created as 'device'; did you mean 'device'") as found:
        step_with_store(devices, "devicee")
    assert len(found) == 1


def test_a_misspelt_parameter_of_an_iterator_gets_a_suggestion():
    with (
        pytest.warns(UserWarning, match=r"^ImageRecordIter: there is no parameter: given suffle; did you mean 'shuffle'\? \(MXNet goes on"),
        pytest.raises(mx.MXNetError),
    ):
        mx.io.ImageRecordIter(path_imgrec="no.rec", data_shape=(3, 4, 4), batch_size=2, suffle=True)


class OwnForward(gluon.HybridBlock):
    """A block as torch's users write it."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.layer = nn.Dense(2)

    def forward(self, x):
        return self.layer(x) + 1


def test_a_forward_of_ones_own_is_not_compiled_and_hybridize_says_so(tmp_path):
    mistake = (
        "OwnForward has a forward of its own, which is not compiled: only its layers are: given forward(self, x); define "
        "hybrid_forward(self, F, x) instead, or call the block by mx.func.jit(block)"
    )
    net, x = OwnForward(), nd.ones((3, 4))
    net.initialize()
    with pytest.warns(UserWarning, match="^OwnForward") as found:
        net.hybridize()
    assert [str(w.message).partition(" (MXNet goes on")[0] for w in found] == [mistake]
    assert numpy.array_equal(net(x).asnumpy(), mx.func.jit(net)(x).asnumpy())
    assert net.layer._trace is not None
    assert message_of(lambda: net.export(str(tmp_path / "net"))) == f"export: {mistake}"


@pytest.mark.filterwarnings("error")
def test_a_forward_of_ones_own_is_compiled_in_the_graph_around_it():
    net = nn.HybridSequential()
    net.add(OwnForward())
    net.initialize()
    net.hybridize()
    assert numpy.allclose(net(nd.ones((3, 4))).asnumpy(), net[0](nd.ones((3, 4))).asnumpy())
    assert net._trace is not None


def test_a_forward_of_ones_own_inside_a_plain_block_is_not_compiled():
    net = nn.Sequential()
    net.add(OwnForward(), nn.Lambda(lambda x: x))
    with pytest.warns(UserWarning, match="OwnForward has a forward of its own"):
        net.hybridize()


def test_a_misspelt_activation_is_told_where_it_is_written():
    with pytest.warns(UserWarning, match=r"^no activation has that name: given 'rellu'; did you mean 'relu'\? \(MXNet goes on") as found:
        layer = nn.Dense(8, activation="rellu", in_units=4)
    assert found[0].filename == __file__
    layer.initialize()
    with pytest.raises(ParameterError, match=r"dense\d+_rellu: .* did you mean 'relu'\?"):
        layer(nd.ones((2, 4)))
