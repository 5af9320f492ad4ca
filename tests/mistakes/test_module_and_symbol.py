"""Mistakes with symbols, executors, modules, iterators and metrics."""

from __future__ import annotations

import numpy
import pytest

import twofold as mx
from twofold import nd, sym

from .table import Mistakes, message_of

mistake = Mistakes()


def classifier(**kwargs: object) -> mx.mod.Module:
    """A module of two classes."""
    return mx.mod.Module(sym.SoftmaxOutput(sym.FullyConnected(sym.Variable("data"), num_hidden=2, name="fc"), name="softmax"), **kwargs)


def bound(**kwargs: object) -> mx.mod.Module:
    """The module, bound to batches of four rows of three."""
    module = classifier(**kwargs)
    module.bind([("data", (4, 3))], [("softmax_label", (4,))])
    return module


def data(**kwargs: object) -> mx.io.NDArrayIter:
    """Two batches with labels."""
    return mx.io.NDArrayIter(numpy.ones((8, 3)), numpy.zeros(8), **{"batch_size": 4, **kwargs})


@mistake("module 'twofold.symbol' has no attribute 'Convolutoin'; did you mean 'Convolution'?")
def a_misspelt_operator():
    sym.Convolutoin(sym.Variable("data"))


@mistake("module 'twofold.ndarray' has no attribute 'conv2d'; use Convolution")
def torchs_name_of_an_operator():
    nd.conv2d(nd.ones((1, 3, 8, 8)))


@mistake("module 'twofold.ndarray' has no attribute 'fullyconnected'; did you mean 'FullyConnected'?")
def another_case_of_an_operator():
    nd.fullyconnected(nd.ones((2, 3)), num_hidden=2)


@mistake("module 'twofold.ndarray' has no attribute 'relu6'; use clip(x, 0, 6)")
def torchs_activation():
    nd.relu6(nd.ones(3))


@mistake("image.resize: needs images: given (2,); pass (h, w, c) or (n, h, w, c)")
def an_operator_of_a_module():
    nd.image.resize(nd.ones(2), size=4)


@mistake(
    "random.uniform: parameter shape must be a shape (an int or a tuple of ints) or None: given 'a'; this text is neither a number "
    "nor a tuple of numbers"
)
def a_sampler_of_a_shape_that_is_none():
    nd.random.uniform(shape="a")


@mistake("arg_dict has no 'fc_wieght'; did you mean 'fc_weight'?")
def a_misspelt_argument_of_an_executor():
    sym.FullyConnected(sym.Variable("data"), num_hidden=2, name="fc").simple_bind(mx.cpu(), data=(2, 4)).arg_dict["fc_wieght"]


@mistake("output_dict has no 'fc'; it has fc_output")
def a_node_as_an_output():
    sym.FullyConnected(sym.Variable("data"), num_hidden=2, name="fc").simple_bind(mx.cpu(), data=(2, 4)).output_dict["fc"]


@mistake("FullyConnected: Required parameter num_hidden of an int is not presented; pass num_hidden=…")
def a_layer_without_its_size():
    sym.FullyConnected(sym.Variable("data"))


@mistake("FullyConnected: Cannot find argument: given num_hiden; did you mean 'num_hidden'?")
def a_misspelt_parameter():
    sym.FullyConnected(sym.Variable("data"), num_hiden=2)


@mistake(
    "Activation: parameter act_type must be one of 'relu', 'sigmoid', 'softrelu', 'softsign', 'tanh': given 'rellu'; did you mean 'relu'?"
)
def a_misspelt_choice():
    sym.Activation(sym.Variable("data"), act_type="rellu")


@mistake("FullyConnected: parameter num_hidden must be an int: given 'many'; this text is neither a number nor a tuple of numbers")
def text_for_a_number():
    sym.FullyConnected(sym.Variable("data"), num_hidden="many")


@mistake(
    "FullyConnected: Argument data must be Symbol instances: given NDArray; pass symbols; arrays go to the function of this name in mx.nd"
)
def an_array_in_a_symbol():
    sym.FullyConnected(nd.ones((2, 3)), num_hidden=2)


@mistake(
    "a Symbol cannot be combined with NDArray: type <class 'twofold.ndarray.array.NDArray'> not supported; combine symbols with "
    "symbols or numbers; bind arrays to variables, and declare those of a block by self.params.get_constant"
)
def a_symbol_plus_an_array():
    sym.Variable("data") + nd.ones((2, 3))


@mistake("relu: the operands must have NDArray type: given Symbol; call F.relu in hybrid_forward, and mx.sym.relu elsewhere")
def a_symbol_in_an_array_function():
    nd.relu(sym.Variable("data"))


def forward(batch: object) -> None:
    """Compute a batch of a module with parameters."""
    module = bound()
    module.init_params()
    module.forward(batch)


PAIRS = "; write [('data', (32, 10))], for example"


@mistake(f"the shapes of data must be a list of (name, shape): given 4{PAIRS}")
def a_shape_without_its_name():
    classifier().bind((4, 3))


@mistake(f"the shapes of data must be a list of (name, shape): given ('data', 4){PAIRS}")
def a_size_as_a_shape():
    classifier().bind([("data", 4)])


NO_BATCH = "; pass mx.io.DataBatch([x]), or mx.io.DataBatch([x], [label]), for an array x of mx.nd"


@mistake(f"module: expected a batch, whose attribute data is a list of arrays: given NDArray{NO_BATCH}")
def an_array_in_place_of_a_batch():
    forward(nd.ones((4, 3)))


@mistake(f"module: expected a batch, whose attribute data is a list of arrays: given ndarray{NO_BATCH}")
def an_array_of_numpy_in_place_of_a_batch():
    forward(numpy.ones((4, 3)))


@mistake(f"module: expected a batch, whose attribute data is a list of arrays: given tuple{NO_BATCH}")
def a_tuple_in_place_of_a_batch():
    forward((nd.ones((4, 3)), nd.ones(4)))


@mistake("Expect a string for variable `name`: given 3; pass the variable's name first")
def a_number_as_a_name():
    sym.Variable(3)


@mistake(
    "__bool__ (also known as 'bool') is not supported for Symbol; values exist only when a graph runs: compute with functions of F "
    "or mx.sym, or do not hybridize the block"
)
def the_truth_of_a_symbol():
    bool(sym.Variable("data") > 0)


@mistake(
    "asnumpy is not supported for Symbol; values exist only when a graph runs: compute with functions of F or mx.sym, or do not "
    "hybridize the block"
)
def values_of_a_symbol():
    sym.Variable("data").asnumpy()


@mistake("Cannot find output that matches name \"fc9_output\"; did you mean 'fc_output'?")
def an_internal_output_that_does_not_exist():
    classifier().symbol.get_internals()["fc9_output"]


@mistake(
    "node _plus0 (elemwise_add): input rhs has shape (2, 4), where (2, 3) is needed: given it reads lhs (2, 3) from a, rhs (2, 4) "
    "from b; pass shapes that agree, or use broadcast_add"
)
def shapes_that_do_not_match():
    (sym.Variable("a") + sym.Variable("b")).infer_shape(a=(2, 3), b=(2, 4))


@mistake(
    "node fc (FullyConnected): input weight has shape (3, 2), where (2, 3) is needed: given it reads data (4, 3) from data, weight "
    "(3, 2) from fc_weight, bias ? from fc_bias; pass shapes that agree"
)
def a_weight_of_another_shape():
    sym.FullyConnected(sym.Variable("data"), num_hidden=2, name="fc").infer_shape(data=(4, 3), fc_weight=(3, 2))


@mistake("simple_bind error: there is no argument 'dat': given dat=(4, 3); did you mean 'data'?")
def a_shape_for_an_unknown_argument():
    classifier().symbol.simple_bind(mx.cpu(), dat=(4, 3))


@mistake(
    "simple_bind error: shapes cannot be inferred from those given: given {}; unknown: data ?, fc_weight (2, ?), fc ?, softmax_label "
    "?, softmax ?; pass the shapes of more arguments"
)
def a_bind_without_shapes():
    classifier().symbol.simple_bind(mx.cpu())


@mistake("key `b` is missing in `args`: given keys a; pass a, b")
def a_bind_without_all_arguments():
    (sym.Variable("a") + sym.Variable("b")).bind(mx.cpu(), {"a": nd.ones(3)})


@mistake("key `data` is missing in `args`: given keys dta; did you mean 'data'?")
def a_bind_of_a_misspelt_argument():
    sym.relu(sym.Variable("data")).bind(mx.cpu(), {"dta": nd.ones(3)})


@mistake("key `data` is missing in `args`: given keys dat; did you mean 'data'?")
def an_evaluation_of_a_misspelt_argument():
    sym.relu(sym.Variable("data")).eval(dat=nd.ones(3))


@mistake("infer_shape: Keyword argument name dta not found; did you mean 'data'?")
def shapes_of_a_misspelt_argument():
    sym.relu(sym.Variable("data")).infer_shape(dta=(2, 3))


@mistake("Length of args does not match the number of arguments: given 1; pass a, b")
def a_bind_with_too_few_arrays():
    (sym.Variable("a") + sym.Variable("b")).bind(mx.cpu(), [nd.ones(3)])


@mistake("key `b` is missing in `args`: given keys a; pass a, b")
def an_evaluation_without_all_arguments():
    (sym.Variable("a") + sym.Variable("b")).eval(a=nd.ones(3))


@mistake("Unknown argument b; the arguments are a")
def a_forward_with_an_unknown_argument():
    (sym.Variable("a") * 2).bind(mx.cpu(), {"a": nd.ones(3)}).forward(b=nd.ones(3))


@mistake("Shape not match! Argument a, need: (3,): given (4,); reshape the executor")
def a_forward_with_another_shape():
    (sym.Variable("a") * 2).bind(mx.cpu(), {"a": nd.ones(3)}).forward(a=nd.ones(4))


@mistake("symbol: several variables have the same name: given a; use the same Variable, or give them different names")
def two_arguments_of_one_name():
    (sym.Variable("a") + sym.Variable("a")).simple_bind(mx.cpu(), a=(3,))


@mistake('Find name "fc9_weight" that is not in the arguments; pass allow_extra_params=True to ignore it')
def parameters_that_the_graph_lacks():
    classifier().symbol.simple_bind(mx.cpu(), data=(4, 3)).copy_params_from({"fc9_weight": nd.ones((2, 3))})


@mistake("Module: the symbol must be a Symbol: given Dense; compose one of mx.sym; a Gluon block is trained with gluon.Trainer")
def a_module_of_no_symbol():
    mx.mod.Module(mx.gluon.nn.Dense(3))


@mistake(
    "You created Module with Module(..., data_names=['dat']) but input with name 'dat' is not found in symbol.list_arguments(); did "
    "you mean one of data, softmax_label?"
)
def a_misspelt_data_name():
    classifier(data_names=["dat"])


@mistake("Module.forward: the module is not bound; call bind() first")
def a_forward_before_bind():
    classifier().forward(mx.io.DataBatch([nd.ones((4, 3))]))


@mistake("Module.init_params: the module is not bound; call bind() first")
def parameters_before_bind():
    classifier().init_params()


@mistake("Module.init_optimizer: the module has no parameters yet; call init_params() or set_params() first")
def an_optimizer_before_parameters():
    bound().init_optimizer()


@mistake("Module.forward: the module has no parameters yet; call init_params() or set_params() first")
def a_forward_before_parameters():
    bound().forward(mx.io.DataBatch([nd.ones((4, 3))], [nd.zeros(4)]))


@mistake(
    "Data provided by data_shapes don't match names specified by data_names: given x for data; make Module(data_names=…) and the "
    "iterator's provide_data agree"
)
def data_of_another_name():
    classifier().bind([("x", (4, 3))], [("softmax_label", (4,))])


@mistake(
    "Data provided by label_shapes don't match names specified by label_names: given y for softmax_label; make Module(label_names=…) "
    "and the iterator's provide_label agree"
)
def labels_of_another_name():
    classifier().fit(data(label_name="y"), num_epoch=1)


@mistake(
    "fit: train_data has no labels: given an iterator without labels for a module with softmax_label; pass labels too, as in "
    "NDArrayIter(data, label)"
)
def a_fit_without_labels():
    classifier().fit(mx.io.NDArrayIter(numpy.ones((8, 3)), batch_size=4), num_epoch=1)


@mistake("fit: please specify number of epochs; pass num_epoch")
def a_fit_without_a_number_of_epochs():
    classifier().fit(data())


@mistake("fit: train_data must be an iterator over batches: given ndarray; create an NDArrayIter")
def a_fit_of_an_array():
    classifier().fit(numpy.ones((8, 3)), num_epoch=1)


@mistake("metric.create: acuracy is not registered; did you mean 'accuracy'?")
def a_fit_with_a_misspelt_metric():
    classifier().fit(data(), eval_metric="acuracy", num_epoch=1)


@mistake("Cannot find optimizer sdg; did you mean 'sgd'?")
def a_fit_with_a_misspelt_optimizer():
    classifier().fit(data(), optimizer="sdg", num_epoch=1)


@mistake("SGD: there is no argument 'lr'; use learning_rate")
def a_fit_with_torchs_argument_of_an_optimizer():
    classifier().fit(data(), optimizer_params={"lr": 0.1}, num_epoch=1)


@mistake("fc_weight is not presented: given fc_bias; pass it, or allow_missing=True")
def parameters_without_a_weight():
    bound().set_params({"fc_bias": nd.zeros(2)}, {})


@mistake("Module: parameter fc_weight has the wrong shape: given (3, 2) for (2, 3); pass this symbol's parameters")
def parameters_of_another_shape():
    bound().set_params({"fc_bias": nd.zeros(2), "fc_weight": nd.ones((3, 2))}, {})


@mistake("Module.forward: the module is not bound; call bind() first")
def a_prediction_before_training():
    classifier().predict(data())


@mistake("metric: Shape of labels 4 does not match shape of predictions 3; pass one label per prediction")
def predictions_and_labels_of_different_sizes():
    mx.metric.Accuracy().update([nd.zeros(4)], [nd.ones((3, 2))])


@mistake("metric.create: acuracy is not registered; did you mean 'accuracy'?")
def a_misspelt_metric():
    mx.metric.create("acuracy")


@mistake("BucketingModule: there is no default bucket; pass default_bucket_key")
def a_bucketing_module_without_a_default():
    mx.mod.BucketingModule(lambda key: None)


@mistake(
    "Module.bind: fc_weight cannot be shared, as its shape or dtype is another one in shared_module, or in the default bucket: given (12, "
    "3) of float32 for (20, 3) of float32; let parameters' shapes not depend on the bucket"
)
def a_weight_of_other_shapes_in_other_buckets():
    def of_bucket(size: int) -> tuple[sym.Symbol, tuple[str], tuple[str]]:
        hidden = sym.FullyConnected(sym.Variable("data"), num_hidden=4 * size, name="fc")
        return sym.SoftmaxOutput(sym.FullyConnected(hidden, num_hidden=2), name="softmax"), ("data",), ("softmax_label",)

    module = mx.mod.BucketingModule(of_bucket, default_bucket_key=5)
    module.bind([("data", (4, 3))], [("softmax_label", (4,))])
    module.init_params()
    module.switch_bucket(3, [("data", (4, 3))], [("softmax_label", (4,))])


@mistake("byte 0: symbol is not JSON: Expecting value: given line 1; pass the text of a JSON file")
def no_json_of_a_graph():
    sym.load_json("network")


@pytest.mark.parametrize(("program", "message"), mistake.rows)
def test_a_mistake_is_named_with_what_to_do(program, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message_of(program) == message
