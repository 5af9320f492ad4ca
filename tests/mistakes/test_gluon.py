"""Mistakes with Gluon: names, layers' arguments, shapes, parameters, training and data."""

from __future__ import annotations

import numpy
import pytest

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.gluon import nn

from .table import Mistakes, message_of

mistake = Mistakes()


def ready(net: gluon.Block) -> gluon.Block:
    """The block, initialized."""
    net.initialize()
    return net


def trainer(*args: object) -> gluon.Trainer:
    """A trainer of a small layer."""
    return gluon.Trainer(ready(nn.Dense(8, in_units=5)).collect_params(), *args)


@mistake("module 'twofold.gluon.nn' has no attribute 'Linear'; use Dense")
def torchs_name_of_a_layer():
    nn.Linear(8)


@mistake("module 'twofold.gluon.nn' has no attribute 'Conv2d'; use Conv2D")
def torchs_spelling_of_a_layer():
    nn.Conv2d(8, 3)


@mistake("ParameterDict 'dense0_' has no 'weight'; did you mean 'dense0_weight'?")
def a_parameter_without_its_prefix():
    nn.Dense(8).collect_params()["weight"]


@mistake("module 'twofold.numpy_extension' has no attribute 'sofmax'; did you mean 'softmax'?")
def a_misspelt_function_of_npx():
    mx.npx.sofmax(mx.np.ones(3))


@mistake(
    "the activation must be given by name: given 10; pass a name such as 'relu'; the size of the input is inferred, or passed as in_units "
    "or in_channels"
)
def torchs_sizes_of_a_layer():
    nn.Dense(784, 10)


@mistake("LSTM: the number of states is wrong: given 1; pass 2 in a list, as begin_state makes them")
def one_state_for_an_lstm():
    ready(gluon.rnn.LSTM(4, input_size=3))(nd.ones((5, 2, 3)), nd.zeros((1, 2, 4)))


@mistake("module 'twofold.gluon.nn' has no attribute 'relu'; use Activation('relu')")
def a_function_as_a_layer():
    nn.relu(nd.ones(3))


@mistake("module 'twofold.gluon.loss' has no attribute 'MSELoss'; use L2Loss")
def torchs_name_of_a_loss():
    gluon.loss.MSELoss()


@mistake("module 'twofold.gluon.rnn' has no attribute 'LSTMCel'; did you mean 'LSTMCell'?")
def a_misspelt_cell():
    gluon.rnn.LSTMCel(5)


@mistake(
    "dense0_swish: Activation: parameter act_type must be one of 'relu', 'sigmoid', 'softrelu', 'softsign', 'tanh': given 'swish'; "
    "valid values are: relu, sigmoid, softrelu, softsign, tanh"
)
def an_activation_of_others():
    ready(nn.Dense(8, activation="swish", in_units=4))(nd.ones((2, 4)))


@mistake("Dense: there is no argument 'activaton'; did you mean 'activation'?")
def a_misspelt_argument_of_a_layer():
    nn.Dense(8, activaton="relu")


@mistake("Dense: units must be a positive integer: given '8'; pass a number of values")
def units_as_text():
    ready(nn.Dense("8"))(nd.ones((2, 4)))


@mistake(
    "conv0: the kernel is larger than the padded input: given kernel_size (9, 9), an input of shape (2, 3, 4, 4); pass a smaller "
    "kernel_size, or pad the input"
)
def a_kernel_larger_than_its_input():
    ready(nn.Conv2D(8, kernel_size=9))(nd.ones((2, 3, 4, 4)))


@mistake(
    "dense0: the input has rows of 4 values instead of 5: given an input of shape (2, 4); pass rows of 5 values, or make another "
    "layer for inputs of this size"
)
def inputs_of_another_size_than_in_units():
    ready(nn.Dense(8, in_units=5))(nd.ones((2, 4)))


@mistake(
    "conv0: the input has 4 channels instead of 3: given an input of shape (1, 4, 8, 8); pass images of 3 channels as NCHW, or make "
    "another layer for this input"
)
def images_with_another_number_of_channels():
    ready(nn.Conv2D(8, 3, in_channels=3))(nd.ones((1, 4, 8, 8)))


@mistake(
    "conv0: the input has 3 axes instead of 4: given an input of shape (3, 8, 8); pass NCHW: add the batch axis with expand_dims(axis=0)"
)
def an_image_without_its_batch():
    ready(nn.Conv2D(8, 3))(nd.ones((3, 8, 8)))


@mistake(
    "dense0: the input has rows of 5 values instead of 4: given an input of shape (2, 5); pass rows of 4 values, or make another "
    "layer for inputs of this size"
)
def a_second_batch_of_another_size():
    net = ready(nn.Dense(8))
    net(nd.ones((2, 4)))
    net(nd.ones((2, 5)))


@mistake(
    "dense0: the input has rows of 5 values instead of 4: given an input of shape (2, 5); pass rows of 4 values, or make another "
    "layer for inputs of this size"
)
def a_hybridized_second_batch_of_another_size():
    net = nn.HybridSequential()
    net.add(nn.Dense(8), nn.Dense(2))
    ready(net).hybridize()
    net(nd.ones((2, 4)))
    net(nd.ones((2, 5)))


@mistake("LSTM: the input must have three axes: given shape (5, 4); pass it as TNC")
def a_sequence_without_its_batch():
    ready(gluon.rnn.LSTM(8))(nd.ones((5, 4)))


@mistake(
    "dense0: In HybridBlock, there must be one NDArray or one Symbol in the input: given numpy.ndarray; convert the inputs with mx.nd.array"
)
def a_numpy_array_as_input():
    ready(nn.Dense(8))(numpy.ones((2, 4)))


@mistake(
    "Parameter 'dense0_weight' has not been initialized; call initialize() of the block first; it knows "
    "the parameters of its layers, and those that self.params.get(name, …) makes"
)
def a_call_before_initialize():
    nn.Dense(8, in_units=4)(nd.ones((2, 4)))


@mistake(
    "Parameter 'dense0_weight' has not been initialized yet because initialization was deferred; pass one batch of data through the "
    "network first, or specify in_units, in_channels, etc. of the layers"
)
def weights_before_the_first_call():
    ready(nn.Dense(8)).weight.data()


@mistake("Cannot get gradient array for Parameter 'dense0_weight' because grad_req='null'; set grad_req to 'write'")
def a_gradient_of_a_frozen_parameter():
    net = nn.Dense(8, in_units=4)
    net.weight.grad_req = "null"
    ready(net).weight.grad()


@mistake("Expected shape (4, 8) is incompatible with given shape (8, 4): given (4, 8) for Parameter 'dense0_weight'; its shape is (8, 4)")
def weights_of_another_shape():
    ready(nn.Dense(8, in_units=4)).weight.set_data(nd.ones((4, 8)))


@mistake("initializer.create: xavierr is not registered; did you mean 'xavier'?")
def a_misspelt_initializer():
    nn.Dense(8).initialize("xavierr")


@mistake("Forgetful.__init__: the base class does not know the block yet: given layer = Dense(…); call super().__init__() first")
def a_constructor_that_forgets_its_base_class():
    class Forgetful(gluon.Block):
        def __init__(self) -> None:
            self.layer = nn.Dense(3)

    Forgetful()


@mistake("Sequential: layers are not arguments of its constructor: given Dense; add them by net.add(layer, …)")
def layers_as_arguments():
    nn.Sequential(nn.Dense(2), nn.Dense(3), nn.Dense(4))


@mistake("HybridSequential: layers are not arguments of its constructor: given list; add them by net.add(layer, …)")
def a_list_of_layers_as_an_argument():
    nn.HybridSequential([nn.Dense(2)])


@mistake("Empty has no forward method; define forward(self, x) in it")
def a_block_without_forward():
    class Empty(gluon.Block):
        pass

    Empty()(nd.ones((2, 4)))


@mistake(
    "asnumpy is not supported for Symbol; values exist only when a graph runs: compute with functions of F or mx.sym, or do not "
    "hybridize the block"
)
def values_inside_a_hybridized_block():
    class Peeking(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            print(x.asnumpy())
            return x

    net = Peeking()
    net.hybridize()
    net(nd.ones((2, 4)))


@mistake(
    "__bool__ (also known as 'bool') is not supported for Symbol; values exist only when a graph runs: compute with functions of F "
    "or mx.sym, or do not hybridize the block"
)
def a_condition_inside_a_hybridized_block():
    class Branching(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x if x.sum() > 0 else -x

    net = Branching()
    net.hybridize()
    net(nd.ones((2, 4)))


@mistake(
    "'Symbol' object has no attribute 'shape'; it is known only when a graph runs: use F.shape_array, sizes 0 and -1 in reshape, or "
    "infer_shape()"
)
def a_shape_inside_a_hybridized_block():
    class Flattening(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x.reshape((x.shape[0], -1))

    net = Flattening()
    net.hybridize()
    net(nd.ones((2, 4)))


@mistake(
    "Sequential: a child must be a Block: given [Dense(None -> 8, linear), Dense(None -> 2, linear)] of type list; pass each layer "
    "as an argument, as in add(*layers)"
)
def a_list_of_layers():
    nn.Sequential().add([nn.Dense(8), nn.Dense(2)])


@mistake(
    "Children of HybridBlock must also be HybridBlock: given [Dense(None -> 8, linear)] of type list; pass each layer as an argument, "
    "as in add(*layers)"
)
def a_list_of_layers_to_compile():
    nn.HybridSequential().add([nn.Dense(8)])


@mistake(
    "a Symbol cannot be combined with NDArray: type <class 'twofold.ndarray.array.NDArray'> not supported; combine symbols with "
    "symbols or numbers; bind arrays to variables, and declare those of a block by self.params.get_constant"
)
def an_array_of_a_block_that_is_compiled():
    class Scaled(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.factors = nd.ones(3)

        def hybrid_forward(self, F, x):
            return x * self.factors

    net = Scaled()
    net.hybridize()
    net(nd.ones((2, 3)))


@mistake(
    "Children of HybridBlock must also be HybridBlock: given the function relu; use HybridLambda for a function; if you are using "
    "Sequential, try HybridSequential instead"
)
def a_function_among_layers():
    nn.HybridSequential().add(nd.relu)


@mistake("sequential0: no such layer: given 3 of 1 layers; pass the position of a layer, from 0")
def a_layer_that_does_not_exist():
    net = nn.Sequential()
    net.add(nn.Dense(8))
    net[3]


@mistake("Adam: there is no argument 'lr'; use learning_rate")
def torchs_argument_of_an_optimizer():
    trainer("adam", {"lr": 0.1})


@mistake("SGD: there is no argument 'momentun'; did you mean 'momentum'?")
def a_misspelt_argument_of_an_optimizer():
    trainer("sgd", {"momentun": 0.9})


@mistake("Cannot find optimizer adamm; did you mean 'adam' or 'radam'?")
def a_misspelt_optimizer():
    trainer("adamm")


@mistake("First argument must be a list or dict of Parameters: given Dense; pass net.collect_params()")
def a_trainer_of_a_block():
    gluon.Trainer(ready(nn.Dense(8)), "sgd")


@mistake(
    "Gradient of Parameter `dense0_bias` on context cpu(0) has not been updated by backward since last `step`. This could mean a bug "
    "in your model that made it only use a subset of the Parameters (Blocks) for this iteration; if you are intentionally only using "
    "a subset, call step with ignore_stale_grad=True"
)
def a_step_without_backward():
    trainer("sgd").step(2)


@mistake(
    "backward: this array is not part of a recorded graph: given an array not computed from one with attach_grad() inside "
    "autograd.record(); compute it inside record(), from parameters of a block or arrays with attach_grad()"
)
def backward_of_what_was_not_recorded():
    ready(nn.Dense(8))(nd.ones((2, 4))).backward()


@mistake("this graph was already used by backward(); pass retain_graph=True to the first call")
def backward_twice():
    net = ready(nn.Dense(8))
    with autograd.record():
        loss = net(nd.ones((2, 4))).sum()
    loss.backward()
    loss.backward()


@mistake(
    "softmaxcrossentropyloss0: the labels have a value for each class, where class numbers are expected: given labels (4, 3) for "
    "predictions (4, 3); pass class numbers, or make the loss with sparse_label=False"
)
def one_hot_labels_for_a_loss_of_classes():
    gluon.loss.SoftmaxCrossEntropyLoss()(nd.ones((4, 3)), nd.ones((4, 3)))


@mistake(
    "softmaxcrossentropyloss0: the labels do not match the predictions: given labels (5,) for predictions (4, 3); pass as many "
    "labels as predictions"
)
def labels_of_another_batch():
    gluon.loss.SoftmaxCrossEntropyLoss()(nd.ones((4, 3)), nd.ones((5,)))


@mistake("l1loss0: the labels do not match the predictions: given labels (4,) for predictions (4, 2); pass as many labels as predictions")
def fewer_labels_than_predictions():
    gluon.loss.L1Loss()(nd.ones((4, 2)), nd.ones(4))


@mistake(
    "kldivloss0: the labels do not match the predictions: given labels (4,) for predictions (4, 2); pass as many labels as predictions"
)
def class_numbers_for_distributions():
    gluon.loss.KLDivLoss()(nd.ones((4, 2)), nd.ones(4))


@mistake("can only convert an array of size 1 to a Python scalar: given shape (4,); pass an index, or reduce it first, as mean() does")
def the_item_of_a_loss_per_sample():
    gluon.loss.L2Loss()(nd.ones((4, 2)), nd.ones((4, 2))).item()


@mistake("dense0: FullyConnected: operands must have the same dtype: given float64, float32, float32; cast one of them with astype")
def inputs_of_another_dtype():
    net = nn.Dense(2, in_units=3)
    net.initialize()
    net(nd.ones((2, 3), dtype="float64"))


@mistake("l2loss0: the labels do not match the predictions: given labels (4, 2) for predictions (4, 3); pass as many labels as predictions")
def targets_of_another_shape():
    gluon.loss.L2Loss()(nd.ones((4, 3)), nd.ones((4, 2)))


@mistake("batch_size must be specified unless batch_sampler is specified; pass batch_size")
def a_loader_without_a_batch_size():
    gluon.data.DataLoader(gluon.data.ArrayDataset(nd.ones((4, 3))))


@mistake("All arrays must have the same length: array[0] has length 4 while array[1] has 5; truncate the longer one")
def data_and_labels_of_different_lengths():
    gluon.data.ArrayDataset(nd.ones((4, 3)), nd.ones((5,)))


@mistake(
    "data with shape (5, 3) cannot be evenly split into 2 slices along axis 0; use a batch size that's multiple of 2 or set "
    "even_split=False to allow uneven partitioning of data"
)
def a_batch_that_does_not_divide_among_devices():
    gluon.utils.split_and_load(nd.ones((5, 3)), [mx.cpu(0), mx.cpu(1)])


@mistake("Model resnet51_v1 is not supported; did you mean 'resnet50_v1' or 'resnet18_v1'?")
def a_misspelt_model():
    gluon.model_zoo.vision.get_model("resnet51_v1")


@mistake(
    "export: there is no traced graph: given dense0; first call block.hybridize() and then run forward with this block at least "
    "once; blocks with F.np are not traced"
)
def an_export_before_the_first_call():
    net = ready(nn.Dense(8))
    net.hybridize()
    net.export("net")


@mistake(
    "Failed loading Parameter 'conv0_weight' from saved params: shape incompatible, expected (8, 0, 3, 3): given (8, 4); "
    "load the file of this model"
)
def parameters_of_another_network():
    ready(nn.Dense(8, in_units=4)).save_parameters("dense.params")
    nn.Conv2D(8, 3).load_parameters("dense.params")


@mistake(
    "file 'dense.params' is of another network: it has no parameter '0.weight': given the parameters 'weight', 'bias'; load the file that "
    "this network's save_parameters wrote"
)
def parameters_of_a_layer_in_a_network():
    ready(nn.Dense(8, in_units=4)).save_parameters("dense.params")
    net = nn.HybridSequential()
    net.add(nn.Dense(8, in_units=4))
    net.load_parameters("dense.params")


@mistake(
    "Parameter '1.weight' is missing in file 'small.params': given the parameters '0.weight', '0.bias'; load the file of this network, "
    "or set allow_missing=True to leave it as it is"
)
def parameters_of_a_smaller_network():
    net = nn.Sequential()
    net.add(nn.Dense(8, in_units=4))
    ready(net).save_parameters("small.params")
    net.add(nn.Dense(2, in_units=8))
    net.load_parameters("small.params")


@mistake(
    "Parameter '1.weight' loaded from file 'large.params' is not present in the block: given a block with '0.weight', '0.bias'; set "
    "ignore_extra=True to ignore it"
)
def parameters_of_a_larger_network():
    net = nn.Sequential()
    net.add(nn.Dense(8, in_units=4), nn.Dense(2, in_units=8))
    ready(net).save_parameters("large.params")
    smaller = nn.Sequential()
    smaller.add(nn.Dense(8, in_units=4))
    smaller.load_parameters("large.params")


@mistake('dense0: FullyConnected: operands must have the same dtype: given int32, float32, float32; cast integers with astype("float32")')
def integers_into_a_layer():
    ready(nn.Dense(8, in_units=4))(nd.ones((2, 4), dtype="int32"))


CHECKPOINT = "; with its symbol, this file is loaded by gluon.SymbolBlock.imports('net-symbol.json', ['data'], 'net-0001.params')"


def save_checkpoint() -> None:
    """A checkpoint of a module of one layer, `fc`."""
    module = mx.mod.Module(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="fc"), label_names=None)
    module.bind([("data", (2, 4))], for_training=False)
    module.init_params()
    module.save_checkpoint("net", 1)


@mistake(
    "Parameter 'weight' is missing in file: net-0001.params: given the parameters 'dense0_fc_weight', 'dense0_fc_bias'; make sure source "
    f"and target networks have the same prefix, or set allow_missing to True{CHECKPOINT}"
)
def a_modules_checkpoint_in_a_block():
    save_checkpoint()
    nn.Dense(8, in_units=4).load_parameters("net-0001.params")


@mistake(
    "Parameter 'fc_weight' loaded from file: net-0001.params is not present in ParameterDict, which has 'dense0_weight', "
    "'dense0_bias'; set ignore_extra to True to ignore, or make sure source and target networks have the same prefix"
    f"{CHECKPOINT}"
)
def a_modules_checkpoint_in_parameters():
    save_checkpoint()
    nn.Dense(8, in_units=4).collect_params().load("net-0001.params", allow_missing=True)


@pytest.mark.parametrize(("program", "message"), mistake.rows)
def test_a_mistake_is_named_with_what_to_do(program, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message_of(program) == message
