"""Attributes that are assigned by mistake, names that modules do not have, and arguments by other libraries' names."""

import re
from linecache import cache

import pytest

import twofold as mx
from twofold.advice import advise
from twofold.errors import OperatorError
from twofold.wrong_arguments import explanation_of


def layer_and_trainer():
    layer = mx.gluon.nn.Dense(2, in_units=2, prefix="dense_")
    layer.initialize(mx.init.One())
    return layer, mx.gluon.Trainer(layer.collect_params(), "sgd")


READ = [
    ("weight.data = ones", "Parameter.data is a method: given an object of type NDArray to assign; call set_data(array)"),
    (
        "weight.grad = ones",
        "Parameter.grad is a method: given an object of type NDArray to assign; write into the array: grad()[:] = array",
    ),
    (
        "trainer.learning_rate = 0.1",
        "Trainer.learning_rate can only be read: given an object of type float to assign; call set_learning_rate(rate)",
    ),
]


@pytest.mark.parametrize(("program", "message"), READ, ids=[program for program, _ in READ])
def test_what_is_no_attribute_to_set_cannot_be_assigned_to(program, message):
    layer, trainer = layer_and_trainer()
    with pytest.raises(OperatorError) as found:
        exec(program, {"weight": layer.weight, "trainer": trainer, "ones": mx.nd.ones((2, 2))})
    assert str(found.value) == message
    assert layer(mx.nd.ones((1, 2))).asnumpy().tolist() == [[2.0, 2.0]]


WITHOUT_EFFECT = [
    ("weight.requires_grad = False", "Parameter.requires_grad has no effect: given False to assign; set grad_req: 'null' for no gradient"),
    ("weight.grad_rq = 'null'", "Parameter.grad_rq has no effect: given 'null' to assign; did you mean 'grad_req'?"),
    ("weight.lr_mul = 0", "Parameter.lr_mul has no effect: given 0 to assign; did you mean 'lr_mult'?"),
    ("trainer.learningrate = 0.1", "Trainer.learningrate has no effect: given 0.1 to assign; did you mean 'learning_rate'?"),
]


@pytest.mark.parametrize(("program", "message"), WITHOUT_EFFECT, ids=[program for program, _ in WITHOUT_EFFECT])
def test_an_assigned_attribute_that_means_another_one_warns(program, message):
    layer, trainer = layer_and_trainer()
    with pytest.warns(UserWarning, match=re.escape(message)):
        exec(program, {"weight": layer.weight, "trainer": trainer})


@pytest.mark.filterwarnings("error")
def test_attributes_of_the_user_and_functions_in_place_of_methods_are_assigned():
    layer, trainer = layer_and_trainer()
    layer.weight.decay, layer.weight._mine, trainer.history = 2, 3, []
    layer.weight.lr_mult, layer.weight.grad_req, layer.weight.shape = 0.5, "add", (2, 2)
    layer.weight.data = lambda ctx=None: "replaced"
    assert (layer.weight.decay, layer.weight._mine, layer.weight.lr_mult, layer.weight.data()) == (2, 3, 0.5, "replaced")


IMPORTS = [
    ("from twofold.gluon.nn import Linear", "use Dense"),
    ("from twofold.gluon.loss import CrossEntropyLoss", "use SoftmaxCrossEntropyLoss"),
    ("from twofold import optim", "use mx.optimizer"),
    ("import twofold.nn", "use mx.gluon.nn"),
    ("from twofold.nd import catt", "did you mean 'cast'?"),
    ("from twofold import rtc", "write the operator with mx.operator.CustomOp; "),
    ("import twofold.contrib.tensorrt", "export the network with mx.onnx.export_model, which TensorRT reads; "),
]


@pytest.mark.parametrize(("program", "note"), IMPORTS, ids=[program for program, _ in IMPORTS])
def test_an_import_of_another_librarys_name_is_followed_by_what_to_use(program, note):
    with pytest.raises(ImportError) as found:
        exec(program, {})
    advise(found.value, found.tb)
    [text] = found.value.__notes__
    assert text.startswith(note)
    assert note.endswith(" ") == ("What runs" in text)


@pytest.mark.parametrize("program", ["import nosuch.package", "from json import nosuch", "from twofold.np import nosuch"])
def test_other_imports_get_no_advice(program):
    with pytest.raises(ImportError) as found:
        exec(program, {})
    advise(found.value, found.tb)
    assert not hasattr(found.value, "__notes__")


def test_a_name_that_mxnet_has_is_answered_as_under_its_name():
    with pytest.raises(OperatorError, match=r"^module 'twofold' has no attribute 'rtc'; write the operator with .*What runs"):
        _ = mx.rtc


NAMED = [
    ("mx.gluon.nn.Dropout(p=0.5)", "Dropout: there is no argument 'p'; use rate"),
    ("mx.gluon.nn.Dense(in_features=3,\n    out_features=2)", "Dense: there is no argument 'in_features'; use in_units"),
    ("mx.gluon.nn.Embedding(num_embeddings=5, embedding_dim=2)", "Embedding: there is no argument 'num_embeddings'; use input_dim"),
    ("mx.gluon.nn.Conv2D(in_channels=3, out_channels=8, kernel_size=3)", "Conv2D: there is no argument 'out_channels'; use channels"),
    ("mx.gluon.nn.Dense(flattn=1)", "Dense: there is no argument 'flattn'; did you mean 'flatten'?"),
    ("mx.gluon.nn.Dense(**{'units': 3}, flatten=True, in_unit=2)", "Dense: there is no argument 'in_unit'; did you mean 'in_units'?"),
]


@pytest.mark.parametrize(("program", "message"), NAMED, ids=[program for program, _ in NAMED])
def test_a_wrong_name_is_told_before_what_is_missing(program, message, monkeypatch):
    monkeypatch.setitem(cache, "program.py", (len(program), None, program.splitlines(keepends=True), "program.py"))
    with pytest.raises(TypeError) as found:
        exec(compile(program, "program.py", "exec"), {"mx": mx})
    # of those whose constructors take any keyword the error says so itself
    assert (explanation_of(found.value, found.tb) or str(found.value)) == message


def test_a_call_without_source_tells_what_is_missing():
    with pytest.raises(TypeError) as found:
        exec(compile("mx.gluon.nn.Dropout(p=0.5)", "<nowhere>", "exec"), {"mx": mx})
    assert explanation_of(found.value, found.tb).startswith("Dropout: 'rate' is missing; it takes rate, axes")
