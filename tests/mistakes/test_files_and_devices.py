"""Mistakes with files, data sets, records, images, stores and devices."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import twofold as mx
from twofold import gluon, nd
from twofold.gluon import nn

from .table import Mistakes, message_of

mistake = Mistakes()


def saved() -> nn.Dense:
    """A layer whose parameters are in ``dense.params``."""
    net = nn.Dense(8, in_units=4)
    net.initialize()
    net.save_parameters("dense.params")
    return net


@mistake("ctx must be a context: given 3; pass all sizes in one tuple, as in zeros((2, 3)); a context is mx.cpu() or mx.gpu(0)")
def sizes_as_two_arguments():
    nd.zeros(2, 3)


@mistake("Context: no such device: given 'gpuu', 0; did you mean 'gpu'?")
def a_misspelt_device():
    mx.Context("gpuu")


@mistake("ctx must be a context or a list of contexts: given 'cuda:0'; write mx.gpu(0)")
def torchs_device_of_a_network():
    nn.Dense(8, in_units=4).initialize(ctx="cuda:0")


@mistake("ctx must be a context or a list of contexts: given 'gpu'; write mx.gpu()")
def a_device_of_a_network_as_text():
    nn.Dense(8).initialize(ctx=["gpu"])


@mistake("ctx must be a context or a list of contexts: given 1; pass mx.cpu() or mx.gpu(0)")
def a_devices_number():
    nn.Dense(8).initialize(ctx=1)


@mistake("Context: no such device: given the function gpu; call it: mx.gpu()")
def a_device_that_is_not_called():
    nn.Dense(8).initialize(ctx=mx.gpu)


@mistake("initializer.create: initializer must be of string type: given cpu(0); pass a context by name: ctx=…")
def a_device_as_the_initializer():
    nn.Dense(8).initialize(mx.cpu())


@mistake("initializer.create: initializer must be of string type: given the class Xavier; call it: Xavier()")
def an_initializer_that_is_not_called():
    nn.Dense(8).initialize(mx.init.Xavier)


@mistake("context must be a context or a list of contexts: given 'cpu'; write mx.cpu()")
def a_device_of_a_module_as_text():
    mx.mod.Module(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3), context="cpu")


@mistake("ctx_list must be a context or a list of contexts: given 'cuda'; write mx.gpu()")
def devices_of_a_batch_as_text():
    gluon.utils.split_and_load(nd.ones((4, 2)), "cuda")


@mistake("Context: no such device: given 'cpu', -1; the kind is one of cpu, gpu, cpu_pinned, cpu_shared; numbers start at 0")
def a_negative_device():
    mx.cpu(-1)


@mistake(
    "Parameter 'dense0_weight' was not initialized on context cpu(1), but only on [cpu(0)]; copy the inputs "
    "with as_in_context, or move the parameters with reset_ctx"
)
def data_on_another_device_than_the_network():
    net = nn.Dense(8, in_units=4)
    net.initialize(ctx=mx.cpu(0))
    net(nd.ones((2, 4), ctx=mx.cpu(1)))


@mistake(
    "Parameter 'dense0_weight' was not initialized on context cpu(1), but only on [cpu(0)]; copy the inputs "
    "with as_in_context, or move the parameters with reset_ctx"
)
def data_on_another_device_than_a_hybridized_network():
    net = nn.Dense(8, in_units=4)
    net.initialize(ctx=mx.cpu(0))
    net.hybridize()
    net(nd.ones((2, 4), ctx=mx.cpu(1)))


@mistake("cannot read arrays.params: no such file or folder; check the path; the working folder is here")
def a_missing_file_of_arrays():
    nd.load("arrays.params")


@mistake(
    "notes.txt: byte 0: not an MXNet parameter file: it does not start with 0x112: given b'these ar'; pass a file that nd.save, "
    "save_parameters or MXNet wrote"
)
def a_text_file_as_arrays():
    Path("notes.txt").write_text("these are not arrays")
    nd.load("notes.txt")


@mistake("empty.params: byte 0: the file ends inside the list's magic number: given 0 of 8 bytes; the file is damaged or truncated")
def an_empty_file_as_arrays():
    Path("empty.params").write_bytes(b"")
    nd.load("empty.params")


@mistake(
    "arrays.params: byte 64: the file ends inside float32 elements of shape (10, 10): given 36 of 400 bytes; the file is damaged or "
    "truncated"
)
def half_a_file_of_arrays():
    nd.save("arrays.params", [nd.ones((10, 10))])
    Path("arrays.params").write_bytes(Path("arrays.params").read_bytes()[:100])
    nd.load("arrays.params")


@mistake("cannot write models/arrays.params: no such file or folder; check the path; the working folder is here")
def a_folder_that_does_not_exist():
    nd.save("models/arrays.params", [nd.ones(3)])


@mistake("save: data needs to either be a NDArray, dict of str, NDArray pairs or a list of NDarrays: given int; pass one of these")
def a_number_saved_as_arrays():
    nd.save("arrays.params", 3)


@mistake(".: no file *.safetensors; pass the folder of a model, or one of its files")
def a_folder_as_a_file():
    nd.load(".")


@mistake("cannot read dense.params: no such file or folder; check the path; the working folder is here")
def missing_parameters():
    nn.Dense(8).load_parameters("dense.params")


@mistake(
    "dense.params: these are not the states of a trainer: pickle: an opcode cannot be read: at position 0, opcode b'\\x12' unknown; "
    "pass a file that Trainer.save_states wrote"
)
def parameters_as_a_trainers_states():
    net = saved()
    gluon.Trainer(net.collect_params(), "adam").load_states("dense.params")


@mistake("cannot read trainer.states: no such file or folder; check the path; the working folder is here")
def missing_states_of_a_trainer():
    gluon.Trainer(saved().collect_params(), "adam").load_states("trainer.states")


@mistake("cannot read net-symbol.json: no such file or folder; check the path; the working folder is here")
def a_missing_checkpoint():
    mx.model.load_checkpoint("net", 3)


@mistake("cannot read net-0003.params: no such file or folder; check the path; the working folder is here")
def a_missing_epoch_of_a_checkpoint():
    mx.model.save_checkpoint("net", 1, mx.sym.Variable("a") + 1, {}, {})
    mx.model.load_checkpoint("net", 3)


@mistake("cannot read net-symbol.json: no such file or folder; check the path; the working folder is here")
def a_missing_graph():
    mx.sym.load("net-symbol.json")


@mistake(
    "dense.params: symbol is not UTF-8 text: 'utf-8' codec can't decode byte 0xc9 in position 24: invalid continuation byte; "
    "pass a JSON file, not one of parameters"
)
def parameters_as_a_graph():
    saved()
    mx.sym.load("dense.params")


@mistake(
    "Parameter 'softmax_label' is missing in file: classifier-0001.params: given input_names ['data']; a label is an input: pass ['data', "
    "'softmax_label'], or leave the loss out: SymbolBlock(mx.sym.load(file).get_internals()['fc1_output'], inputs), then "
    "collect_params().load(params_file)"
)
def a_checkpoint_with_a_loss_as_a_block_without_the_label():
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc1"), name="softmax")
    mx.model.save_checkpoint("classifier", 1, net, {"fc1_weight": nd.ones((2, 3)), "fc1_bias": nd.ones(2)}, {})
    gluon.SymbolBlock.imports("classifier-symbol.json", ["data"], "classifier-0001.params")


@mistake(
    "export_model: parameters of the graph are missing from params: given rnn_i2h_weight, rnn_i2h_bias, rnn_h2h_weight, rnn_h2h_bias; pass "
    "params that have them, or in_shapes for all of the inputs"
)
def an_export_without_the_parameters():
    outputs, _ = mx.rnn.RNNCell(4, prefix="rnn_").unroll(2, mx.sym.var("data"))
    mx.onnx.export_model(outputs[-1], {}, [(3, 2, 5)])


@mistake(
    "export_model: parameters of the graph are missing from params: given lstm_i2h_weight, lstm_i2h_bias, lstm_h2h_weight, lstm_h2h_bias; "
    "pass the symbol and the arrays that mx.rnn.load_rnn_checkpoint returns: the file has the weights of each gate"
)
def an_export_of_a_checkpoint_of_recurrent_cells():
    cell = mx.rnn.LSTMCell(4, prefix="lstm_")
    outputs, _ = cell.unroll(2, mx.sym.var("data"))
    names = outputs[-1].list_arguments()
    shapes, _, _ = outputs[-1].infer_shape(data=(3, 2, 5))
    params = {name: nd.ones(shape) for name, shape in zip(names, shapes, strict=True) if name != "data"}
    mx.rnn.do_rnn_checkpoint(cell, "lm")(2, outputs[-1], params, {})
    mx.onnx.export_model("lm-symbol.json", "lm-0003.params", [(3, 2, 5)])


@mistake(
    "export_model: node twice (Custom) cannot be written in ONNX: given the operation Custom(doubled); replace it by other operators, or "
    "export the part of the symbol in front of it"
)
def an_export_of_a_custom_operator():
    mx.operator.register("doubled")(mx.operator.CustomOpProp)
    mx.onnx.export_model(mx.sym.Custom(mx.sym.var("data"), op_type="doubled", name="twice"), {}, [(3,)])


@mistake("SymbolBlock.imports: the graph has no input 'dat': given input_names ['dat']; did you mean 'data'?")
def an_import_with_another_input():
    net = saved()
    net.hybridize()
    net(nd.ones((2, 4)))
    net.export("net")
    gluon.SymbolBlock.imports("net-symbol.json", ["dat"], "net-0000.params")


@mistake(
    "Parameter 'dense0_weight' has not been initialized; call initialize() of the block first; it knows "
    "the parameters of its layers, and those that self.params.get(name, …) makes"
)
def an_import_without_parameters():
    net = saved()
    net.hybridize()
    net(nd.ones((2, 4)))
    net.export("net")
    gluon.SymbolBlock.imports("net-symbol.json", ["data"])(nd.ones((2, 4)))


@mistake("cannot read net.onnx: no such file or folder; check the path; the working folder is here")
def a_missing_onnx_file():
    mx.contrib.onnx.import_model("net.onnx")


@mistake(
    "MNIST: no file train-images-idx3-ubyte or train-images-idx3-ubyte.gz: given folder mnist; get it from "
    "https://ossci-datasets.s3.amazonaws.com/mnist/, and put train-images-idx3-ubyte.gz (SHA-1 "
    "6c95f4b05d2bf285e1bfb0e7960c31bd3b3f8a7d) into this folder, or pass their folder as root"
)
def mnist_that_is_not_there():
    gluon.data.vision.MNIST(root="mnist")


@mistake(
    "CIFAR10: no file data_batch_1.bin, cifar-10-batches-bin/data_batch_1.bin or cifar-10-binary.tar.gz: given folder cifar10; get "
    "it from https://www.cs.toronto.edu/~kriz/cifar.html, and put cifar-10-binary.tar.gz, or data_batch_1.bin (SHA-1 "
    "aadd24acce27caa71bf4b10992e9e7b2d74c2540), into this folder, or pass their folder as root"
)
def cifar_that_is_not_there():
    gluon.data.vision.CIFAR10(root="cifar10")


@mistake("ImageFolderDataset: no such folder: given images/; pass the folder of the classes' folders")
def a_missing_folder_of_images():
    gluon.data.vision.ImageFolderDataset("images")


@mistake("cannot read images.rec: no such file or folder; check the path; the working folder is here")
def a_missing_record_file_of_images():
    gluon.data.vision.ImageRecordDataset("images.rec")


@mistake("cannot read data.rec: no such file or folder; check the path; the working folder is here")
def a_missing_record_file():
    mx.recordio.MXRecordIO("data.rec", "r")


@mistake("Invalid flag read; use 'r' or 'w'")
def a_misspelt_mode_of_a_record_file():
    mx.recordio.MXRecordIO("data.rec", "read")


@mistake("data.rec: not open for reading; open it with the flag 'r'")
def reading_from_a_record_file_that_is_written():
    mx.recordio.MXRecordIO("data.rec", "w").read()


@mistake("data.idx: no record of this key: given 7; see its attribute keys")
def a_record_that_does_not_exist():
    mx.recordio.MXIndexedRecordIO("data.idx", "data.rec", "w").close()
    mx.recordio.MXIndexedRecordIO("data.idx", "data.rec", "r").read_idx(7)


@mistake("notes.txt: byte 0: no record starts here: given b'these ar'; the file is damaged, or its index belongs to another one")
def a_text_file_as_records():
    Path("notes.txt").write_text("these are not records")
    mx.recordio.MXRecordIO("notes.txt", "r").read()


@mistake("cannot read cat.jpg: no such file or folder; check the path; the working folder is here")
def a_missing_image():
    mx.image.imread("cat.jpg")


@mistake("cat.jpg: not an image, or a damaged one: given data that start with b'this is '")
def a_text_file_as_an_image():
    Path("cat.jpg").write_text("this is not an image")
    mx.image.imread("cat.jpg")


@mistake("ImageIter: no images; pass path_imgrec, path_imglist or imglist")
def images_without_a_source():
    mx.image.ImageIter(4, (3, 8, 8))


@mistake("ImageRecordIter: needs data_shape; pass data_shape=(c, h, w)")
def records_without_a_shape():
    mx.io.ImageRecordIter(path_imgrec="images.rec", batch_size=4)


@mistake("cannot read images.rec: no such file or folder; check the path; the working folder is here")
def missing_records():
    mx.io.ImageRecordIter(path_imgrec="images.rec", data_shape=(3, 8, 8), batch_size=4)


@mistake("cannot read data.csv: no such file or folder; check the path; the working folder is here")
def a_missing_table():
    mx.io.CSVIter(data_csv="data.csv", data_shape=(3,), batch_size=4)


@mistake("data.csv: CSVIter: rows of length 2: given shape (3,), which needs 3; pass the shape of a row")
def a_table_with_other_columns():
    Path("data.csv").write_text("1,2\n3,4\n")
    list(mx.io.CSVIter(data_csv="data.csv", data_shape=(3,), batch_size=2))


@mistake("KVStore: key weight has not been inited; call init or broadcast with it first")
def a_key_that_was_not_initialized():
    mx.kv.create("local").push("weight", nd.ones(3))


@mistake("opening s3:// URLs needs a package that is not installed; pip install s3fs")
def a_file_on_a_server_that_cannot_be_opened():
    nd.load("s3://bucket/arrays.params")


@pytest.mark.parametrize(("program", "message"), mistake.rows)
def test_a_mistake_is_named_with_what_to_do(program, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message_of(program) == message


def test_data_sets_are_looked_for_in_the_folder_of_data(tmp_path, monkeypatch):
    monkeypatch.setenv("TWOFOLD_DATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with pytest.raises(mx.MXNetError, match=r"given folder ~/\.mxnet/datasets/mnist; .* or into the folder mnist of \$TWOFOLD_DATA"):
        gluon.data.vision.MNIST()
    (tmp_path / "mnist").mkdir()
    with pytest.raises(mx.MXNetError, match=f"given folder {tmp_path}/mnist; "):
        gluon.data.vision.MNIST()


#: Programs that need a GPU, and what they say on a machine with two.
ON_GPUS = {
    "nd.ones(3, ctx=mx.gpu(5))": "gpu(5): no such device: given 2 of that kind; see mx.context.num_gpus()",
    "nd.ones(3, ctx=mx.gpu(1)) + nd.ones(3)": (
        "add: operands are on different devices: given gpu(1) and cpu(0); copy one with as_in_context"
    ),
    "net(nd.ones((2, 4)))": (
        "Parameter 'dense0_weight' was not initialized on context cpu(0), but only on [gpu(1)]; "
        "copy the inputs with as_in_context, or move the parameters with reset_ctx"
    ),
    "net(nd.ones((2, 4), ctx=mx.gpu(0)))": (
        "Parameter 'dense0_weight' was not initialized on context gpu(0), but only on [gpu(1)]; "
        "copy the inputs with as_in_context, or move the parameters with reset_ctx"
    ),
}


@pytest.mark.ci
def test_mistakes_with_several_devices():
    text = (
        "import twofold as mx; from twofold import nd\n"
        "net = mx.gluon.nn.Dense(2, in_units=4)\n"
        "net.initialize(ctx=mx.gpu(1))\n"
        f"for program in {list(ON_GPUS)!r}:\n"
        "    try:\n        eval(program)\n"
        "    except mx.MXNetError as error:\n        print(error)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=True, env=os.environ | {"TWOFOLD_FAKE_GPUS": "2"}
    )
    assert found.stdout.splitlines() == list(ON_GPUS.values())


def test_a_setting_that_does_not_exist():
    text = "import twofold as mx; mx.nd.ones(3)"
    found = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False, env=os.environ | {"TWOFOLD_ENGINE": "nive"}
    )
    assert found.stderr.splitlines()[-1] == (
        "twofold.errors.ParameterError: setting TWOFOLD_ENGINE: invalid value: given 'nive'; use naive or window"
    )
