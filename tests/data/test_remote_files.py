"""Whatever takes the name of a file takes a URL: each public function, class and method is tried with a store in memory.

`ENTRY_POINTS` is held to what the package has: a new parameter that is the name of a file must be tried here, or be in `LOCAL` with a
reason.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import io
import pkgutil
import re
import struct
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import twofold as mx
import twofold.numpy
from twofold import gluon, nd, sym
from twofold.command import main
from twofold.formats.files import file_exists, folder_entries, read_file, write_file
from twofold.gluon.contrib.estimator import CheckpointHandler
from twofold.gluon.model_zoo import model_store
from twofold.profiler.cluster import merge_traces, read_trace

from tests.data.programs.images import _pixels, _png

pytest.importorskip("PIL")
pytest.importorskip("fsspec")

FILE_NAMES = re.compile(
    r"f?name_?file|fname|file(name)?|path(_\w+)?|\w+_path|(\w+_)?(prefix|root)|uri|(\w+_)?file|\w+_dir|\w+_(csv|libsvm)|imglist|mean_img"
)
#: Rooms without functions for users, apart from what they lend to public modules.
INNER = (
    "backend",
    "command",
    "executor",
    "formats",
    "graph",
    "imperative",
    "kvstore.transports",
    "numpy_folding",
    "opdef",
    "ops",
    "program",
)
#: NumPy's functions with such parameters.
NUMPYS = ("array2string", "fromfile", "fromregex", "genfromtxt", "load", "loadtxt", "save", "savetxt", "savez", "savez_compressed")
#: What takes the name of no file, or of one that cannot be anywhere.
LOCAL = {
    "assembled_code.KeptCode": "beside Python's compiled modules",
    "compat.data_hooks.FolderCalls": "the class tells what a subclass overrides; ImageFolderDataset reads",
    "contrib.onnx.values.NotConstant": "an error; path is of a graph",
    **{f"contrib.tensorboard.{k}": "its writer decides" for k in ("LogMetricsCallback", "LogParametersCallback", "SummaryWriter")},
    "gluon.data.vision.transforms.ToTensor": "prefix of parameters",
    **{f"gluon.model_files.{k}_model": f"Block.{k}" for k in ("load", "save")},
    **{f"gluon.block_files.{k}_parameters": f"Block.{k}_parameters" for k in ("load", "save")},
    "gluon.model_zoo.model_store.load_pretrained": "get_model_file",
    "gluon.parameter_dict.ParameterDict.load_dict": "the name is for errors",
    "gluon.parameter_dict.load_named_arrays": "Block.load_parameters",
    "gluon.scope.BlockScope.create": "prefix of parameters",
    **{f"image.record_parameters.{k}": "ImageRecordIter" for k in ("Normalizing", "RecordNormalizing")},
    "image.record_parameters.Reading": "ImageRecordIter",
    "kvstore.survivors.WorkerGroup.broadcast": "root is the rank of a worker",
    **{f"numpy.{k}": "NumPy's, which takes a prefix of its text or opens local files" for k in NUMPYS},
    **{f"numpy.archives.savez{k}": "NumPy's, which opens local files" for k in ("", "_compressed")},
    "numpy.archives.load": "NumPy's, which opens local files",
    "module.updates.Updates.load": "Module.load_optimizer_states",
    "module.updates.Updates.save": "Module.save_optimizer_states",
    "rnn.checkpoints.rnn_unroll": "prefix of inputs",
    "symbol.naming.Prefix": "prefix of names",
    "syntax_trees.syntax_tree": "the name is for errors",
    "testing.datasets.get_bz2_data": "unpacks to a folder of this machine",
    "testing.datasets.get_zip_data": "unpacks to a folder of this machine",
    "callback.Saved.save_checkpoint": "a protocol",
    "compat.operator_internals.cvimread": "image.imread",
    **dict.fromkeys(("compat.libinfo.find_conf_path", "compat.libinfo.find_lib_path", "compat.libinfo.load"), "there are none"),
    "compat.log.getLogger": "the logging module opens it",
    "compat.log.get_logger": "the logging module opens it",
    "contrib.onnx.files.load_model": "import_model",
    "contrib.text.embedding.WrongVectors": "an error",
    "errors.FormatError": "an error",
    "errors.FormatError.at_path": "an error",
    "gluon.rnn.containers.BidirectionalCell": "prefix of outputs",
    "gluon.utils.sha1_of": "check_sha1",
    "image.detection_records.DetectionNormalizing": "ImageRecordIter",
    "image.detection_records.DetectionReading": "ImageDetRecordIter",
    "checkpoint.note_checkpoint": "the name is for a record of checkpoints",
    "kvstore.server_store.ServerStore.load_optimizer_states": "as those of KVStore",
    "kvstore.server_store.ServerStore.save_optimizer_states": "as those of KVStore",
    "kvstore.base.TestStore.load_optimizer_states": "refuses",
    "kvstore.base.TestStore.save_optimizer_states": "refuses",
    "ndarray.saving.load_arrays": "load",
    "ndarray.saving.save_arrays": "save",
    "rnn.containers.BidirectionalCell": "prefix of outputs",
    "visualization.perfetto.perfetto_button": "the name under which a browser saves",
    **{f"gluon.model_zoo.vision.{name}": "get_model_file" for name in (
        "alexnet.alexnet", "densenet.get_densenet", "inception.inception_v3", "mobilenet.get_mobilenet", "mobilenet.get_mobilenet_v2",
        "resnet.get_resnet", "squeezenet.get_squeezenet", "vgg.get_vgg",
    )},
}  # fmt: skip
ENTRY_POINTS: dict[str, Callable[[str], None]] = {}


def tries(*names: str) -> Callable[[Callable[[str], None]], Callable[[str], None]]:
    """Decorate what tries entry points with the URL of an empty folder."""

    def add(function: Callable[[str], None]) -> Callable[[str], None]:
        ENTRY_POINTS.update(dict.fromkeys(names, function))
        return function

    return add


def same(one: object, other: object) -> None:
    np.testing.assert_array_equal(*(x.asnumpy() if isinstance(x, mx.nd.NDArray) else x for x in (one, other)))


def dense() -> gluon.nn.HybridSequential:
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(2, in_units=3))
    net.initialize()
    net.hybridize()
    net(nd.ones((1, 3)))
    return net


def fully_connected() -> tuple[sym.Symbol, dict[str, nd.NDArray]]:
    symbol = sym.FullyConnected(sym.Variable("data"), num_hidden=2, name="fc")
    return symbol, {"fc_weight": nd.ones((2, 3)), "fc_bias": nd.zeros((2,))}


def bound_module() -> mx.mod.Module:
    symbol = sym.SoftmaxOutput(fully_connected()[0], sym.Variable("softmax_label"), name="softmax")
    module = mx.mod.Module(symbol)
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    module.init_params()
    module.init_optimizer(optimizer_params={"momentum": 0.9})
    return module


# ---------------------------------------------------------------------------------------------------------- arrays and networks


@tries("ndarray.saving.save", "ndarray.saving.load")
def arrays(at: str) -> None:
    for name in ("a.params", "a.safetensors"):
        mx.nd.save(f"{at}/{name}", {"x": nd.ones((2,))})
        same(mx.nd.load(f"{at}/{name}")["x"], [1, 1])


@tries("numpy_extension.save", "numpy_extension.load")
def numpy_arrays(at: str) -> None:
    mx.npx.save(f"{at}/a", {"x": mx.np.ones(())})
    assert mx.npx.load(f"{at}/a")["x"].shape == ()


@tries("mxnet_numpy.extension.save", "mxnet_numpy.extension.load")
def arrays_of_mxnets_numpy(at: str) -> None:
    from twofold.mxnet_numpy import extension

    extension.save(f"{at}/a", {"x": mx.np.ones((2,))})
    assert extension.load(f"{at}/a")["x"].shape == (2,)


@tries("ndarray.torch_files.load_torch")
def tensors_of_torch(at: str) -> None:
    write_file(f"{at}/model.pt", [Path(__file__).parents[1].joinpath("formats", "torch_files", "archive.pt").read_bytes()])
    parameters = mx.load_torch(f"{at}/model.pt")["nested"]["model"]
    net = gluon.nn.Dense(2, in_units=1)
    gluon.load_weights(net, {name: parameters[name] for name in ("weight", "bias")})
    same(net.weight.data(), parameters["weight"])


@tries("symbol.symbol.Symbol.save", "symbol.functions.load")
def symbols(at: str) -> None:
    symbol, _ = fully_connected()
    symbol.save(f"{at}/net.json")
    assert mx.sym.load(f"{at}/net.json").tojson() == symbol.tojson()


@tries("checkpoint.save_checkpoint", "checkpoint.load_checkpoint", "checkpoint.load_params", "callback.do_checkpoint")
def checkpoints(at: str) -> None:
    symbol, params = fully_connected()
    mx.callback.do_checkpoint(f"{at}/net")(0, symbol, params, {})
    loaded, arguments, _ = mx.model.load_checkpoint(f"{at}/net", 1)
    assert loaded.list_arguments() == symbol.list_arguments()
    assert mx.model.load_params(f"{at}/net", 1)[0].keys() == arguments.keys() == params.keys()


@tries("rnn.checkpoints.save_rnn_checkpoint", "rnn.checkpoints.load_rnn_checkpoint", "rnn.checkpoints.do_rnn_checkpoint")
def recurrent_checkpoints(at: str) -> None:
    cell = mx.rnn.RNNCell(2, prefix="rnn_")
    symbol = mx.sym.Group(cell.unroll(1, inputs=[mx.sym.Variable("data")])[0])
    arguments = {name: nd.ones((2, 2) if "weight" in name else (2,)) for name in symbol.list_arguments() if name.startswith("rnn")}
    mx.rnn.do_rnn_checkpoint(cell, f"{at}/net")(0, symbol, arguments, {})
    assert mx.rnn.load_rnn_checkpoint(cell, f"{at}/net", 1)[1].keys() == arguments.keys()


@tries(
    "gluon.block.Block.save_parameters", "gluon.block.Block.load_parameters", "gluon.block.Block.save_params",
    "gluon.block.Block.load_params", "gluon.block.Block.save", "gluon.block.Block.load", "gluon.hybrid_block.HybridBlock.export",
    "gluon.symbol_block.SymbolBlock.imports",
    "gluon.parameter_dict.ParameterDict.save", "gluon.parameter_dict.ParameterDict.load",
)  # fmt: skip
def blocks(at: str) -> None:
    net, other = dense(), dense()
    weight = net[0].weight.data()
    ways = [
        (lambda: net.save_parameters(f"{at}/a"), lambda: other.load_parameters(f"{at}/a")),
        (lambda: net.collect_params().save(f"{at}/b"), lambda: other.collect_params().load(f"{at}/b")),
        (lambda: net.save(f"{at}/c"), lambda: other.load(f"{at}/c")),
    ]
    for save, load in ways:
        other.initialize(force_reinit=True)
        save()
        load()
        same(other[0].weight.data(), weight)
    net.export(f"{at}/net")
    imported = gluon.SymbolBlock.imports(f"{at}/net-symbol.json", ["data"], f"{at}/net-0000.params")
    same(imported(nd.ones((1, 3))), net(nd.ones((1, 3))))


@tries(
    "gluon.trainer.Trainer.save_states", "gluon.trainer.Trainer.load_states", "kvstore.base.KVStoreBase.save_optimizer_states",
    "kvstore.base.KVStoreBase.load_optimizer_states", "kvstore.local.KVStore.save_optimizer_states",
    "kvstore.local.KVStore.load_optimizer_states",
)  # fmt: skip
def states(at: str) -> None:
    net = dense()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    with mx.autograd.record():
        net(nd.ones((2, 3))).sum().backward()
    trainer.step(1)
    trainer.save_states(f"{at}/a")
    trainer.load_states(f"{at}/a")
    store = mx.kv.create("local")
    store.set_optimizer(mx.optimizer.SGD(momentum=0.9))
    store.init(0, nd.ones((2,)))
    store.push(0, nd.ones((2,)))
    store.save_optimizer_states(f"{at}/b")
    store.load_optimizer_states(f"{at}/b")


@tries(
    "module.module.Module.save_checkpoint", "module.module.Module.load", "module.module.Module.save_optimizer_states",
    "module.module.Module.load_optimizer_states", "module.base_module.BaseModule.save_params", "module.base_module.BaseModule.load_params",
    "callback.module_checkpoint",
)  # fmt: skip
def modules(at: str) -> None:
    module = bound_module()
    mx.callback.module_checkpoint(module, f"{at}/net", save_optimizer_states=True)(0)
    assert folder_entries(at) == ["net-0001.params", "net-0001.states", "net-symbol.json"]
    loaded = mx.mod.Module.load(f"{at}/net", 1, load_optimizer_states=True)
    loaded.bind([("data", (2, 3))], [("softmax_label", (2,))])
    loaded.init_optimizer(optimizer_params={"momentum": 0.9})
    same(loaded.get_params()[0]["fc_weight"], module.get_params()[0]["fc_weight"])
    module.save_params(f"{at}/p")
    module.load_params(f"{at}/p")


@tries("module.bucketing_module.BucketingModule.save_checkpoint", "module.bucketing_module.BucketingModule.load")
def bucketing(at: str) -> None:
    def of_bucket(key: int) -> tuple[sym.Symbol, list[str], list[str]]:
        symbol = sym.SoftmaxOutput(fully_connected()[0], sym.Variable("softmax_label"), name="softmax")
        return symbol, ["data"], ["softmax_label"]

    module = mx.mod.BucketingModule(of_bucket, default_bucket_key=1)
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    module.init_params()
    module.save_checkpoint(f"{at}/net", 1)
    loaded = mx.mod.BucketingModule.load(f"{at}/net", 1, of_bucket, default_bucket_key=1)
    loaded.bind([("data", (2, 3))], [("softmax_label", (2,))])
    same(loaded.get_params()[0]["fc_weight"], module.get_params()[0]["fc_weight"])


@tries("model.FeedForward.save", "model.FeedForward.load")
def feed_forward(at: str) -> None:
    symbol, params = fully_connected()
    mx.model.FeedForward(symbol, arg_params=params, aux_params={}).save(f"{at}/net", 1)
    same(mx.model.FeedForward.load(f"{at}/net", 1).arg_params["fc_weight"], params["fc_weight"])


@tries(
    "contrib.onnx.export.export_model", "contrib.onnx.importing.import_model", "contrib.onnx.importing.import_to_gluon",
    "contrib.onnx.importing.get_model_metadata",
)  # fmt: skip
def onnx(at: str) -> None:
    pytest.importorskip("onnx")
    symbol, params = fully_connected()
    symbol.save(f"{at}/net.json")
    mx.nd.save(f"{at}/net.params", {f"arg:{name}": array for name, array in params.items()})
    path = mx.onnx.export_model(f"{at}/net.json", f"{at}/net.params", [(1, 3)], onnx_file_path=f"{at}/net.onnx")
    assert path == f"{at}/net.onnx"
    assert mx.contrib.onnx.import_model(path)[1].keys() == params.keys()
    assert mx.contrib.onnx.get_model_metadata(path)["input_tensor_data"] == [("data", (1, 3))]
    same(mx.contrib.onnx.import_to_gluon(path, mx.cpu())(nd.ones((1, 3))), [[3, 3]])


@tries("gluon.contrib.estimator.checkpoints.CheckpointHandler")
def estimators(at: str) -> None:
    net = dense()
    loss = gluon.loss.L2Loss()
    batches = gluon.data.DataLoader(gluon.data.ArrayDataset(nd.ones((4, 3)), nd.ones((4, 2))), 2)
    for epochs in (1, 2):
        estimator = gluon.contrib.estimator.Estimator(net, loss, mx.metric.MAE(), trainer=gluon.Trainer(net.collect_params(), "sgd"))
        handler = CheckpointHandler(f"{at}/saved", max_checkpoints=1, resume_from_checkpoint=epochs == 2)
        estimator.fit(batches, epochs=epochs, event_handlers=[handler])
    assert [name for name in folder_entries(f"{at}/saved") if name.endswith("params")] == [
        "model-epoch0batch2.params",
        "model-epoch1batch4.params",
    ]
    handler = CheckpointHandler(f"{at}/saved", epoch_period=1, max_checkpoints=1)
    estimator.fit(batches, epochs=4, event_handlers=[handler])
    assert "model-epoch2batch6.params" not in folder_entries(f"{at}/saved")
    assert "model-epoch3batch8.params" in folder_entries(f"{at}/saved")


@tries("gluon.model_zoo.model_store.get_model_file", "gluon.model_zoo.model_store.purge")
def model_files(at: str) -> None:
    content = b"parameters"
    packed = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(model_store.CHECKSUMS, "alexnet", hashlib.sha1(content).hexdigest())
        name = f"alexnet-{model_store.short_hash('alexnet')}"
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(f"{name}.params", content)
        write_file(f"{at}/{name}.zip", [packed.getvalue()])
        for _ in range(2):
            assert read_file(model_store.get_model_file("alexnet", root=at)) == content
        model_store.purge(at)
        assert folder_entries(at) == [f"{name}.zip"]


# ------------------------------------------------------------------------------------------------------------ records and images


def write_records(at: str, count: int = 4) -> None:
    file = mx.recordio.MXIndexedRecordIO(f"{at}/a.idx", f"{at}/a.rec", "w")
    for k in range(count):
        file.write_idx(k, mx.recordio.pack_img(mx.recordio.IRHeader(0, float(k), k, 0), _pixels(8, 8, k), img_fmt=".png"))
    file.close()


def write_list(at: str) -> None:
    for k in range(4):
        write_file(f"{at}/images/{k}.png", [_png(_pixels(8, 8, k))])
    write_file(f"{at}/a.lst", [b"".join(b"%d\t%d\t%d.png\n" % (k, k, k) for k in range(4))])


def labels(batches: mx.io.DataIter) -> list[float]:
    return [float(x) for batch in batches for x in batch.label[0].asnumpy().ravel()]


@tries("recordio.files.MXRecordIO", "recordio.files.MXIndexedRecordIO", "gluon.data.dataset.RecordFileDataset")
def records(at: str) -> None:
    write_records(at)
    one = mx.recordio.MXRecordIO(f"{at}/a.rec", "r")
    assert len(list(iter(one.read, None))) == 4
    assert mx.recordio.unpack(gluon.data.RecordFileDataset(f"{at}/a.rec")[2])[0].label == 2


@tries(
    "gluon.data.vision.datasets.ImageRecordDataset",
    "image.iterator.ImageIter",
    "image.functions.imread",
    "image.iterator.ImageIter.read_image",
)
def images(at: str) -> None:
    write_records(at)
    write_list(at)
    same(gluon.data.vision.ImageRecordDataset(f"{at}/a.rec")[1][0], _pixels(8, 8, 1)[..., ::-1])
    same(mx.image.imread(f"{at}/images/1.png"), _pixels(8, 8, 1))
    assert labels(mx.image.ImageIter(2, (3, 8, 8), path_imgrec=f"{at}/a.rec", path_imgidx=f"{at}/a.idx")) == [0, 1, 2, 3]
    assert labels(mx.image.ImageIter(2, (3, 8, 8), path_imglist=f"{at}/a.lst", path_root=f"{at}/images")) == [0, 1, 2, 3]
    assert labels(mx.image.ImageIter(2, (3, 8, 8), imglist=[[5, f"{at}/images/1.png"]] * 2)) == [5, 5]
    for index in ({}, {"path_imgidx": f"{at}/a.idx"}):
        batches = mx.io.ImageRecordIter(
            path_imgrec=f"{at}/a.rec", path_imglist=f"{at}/a.lst", data_shape=(3, 8, 8), batch_size=2, mean_img=f"{at}/mean", **index
        )
        assert labels(batches) == [0, 1, 2, 3]
    assert file_exists(f"{at}/mean")


@tries("image.detection_iterator.ImageDetIter")
def detection(at: str) -> None:
    file = mx.recordio.MXRecordIO(f"{at}/a.rec", "w")
    for k in range(2):
        file.write(mx.recordio.pack_img((0, [2, 5, k, 0.1, 0.1, 0.5, 0.5], k, 0), _pixels(8, 8, k), img_fmt=".png"))
    file.close()
    assert mx.image.ImageDetIter(2, (3, 8, 8), path_imgrec=f"{at}/a.rec").next().label[0].shape == (2, 1, 5)
    batches = mx.io.ImageDetRecordIter(path_imgrec=f"{at}/a.rec", data_shape=(3, 8, 8), batch_size=2)
    assert len(list(batches)) == 1


@tries("gluon.data.vision.datasets.ImageListDataset", "gluon.data.vision.datasets.ImageFolderDataset")
def image_sets(at: str) -> None:
    write_list(at)
    write_file(f"{at}/images/b.lst", [read_file(f"{at}/a.lst")])
    same(gluon.data.vision.ImageListDataset(f"{at}/images", "b.lst")[3][0], _pixels(8, 8, 3))
    for k, name in enumerate(("cats", "dogs")):
        write_file(f"{at}/set/{name}/1.png", [_png(_pixels(8, 8, k))])
    found = gluon.data.vision.ImageFolderDataset(f"{at}/set")
    assert (found.synsets, [label for _, label in found]) == (["cats", "dogs"], [0, 1])


@tries("gluon.data.vision.datasets.MNIST", "gluon.data.vision.datasets.FashionMNIST", "io.file_iterators.MNISTIter")
def mnist(at: str) -> None:
    for name in ("train", "t10k"):
        write_file(f"{at}/{name}-images-idx3-ubyte", [struct.pack(">4I", 2051, 3, 28, 28), bytes(3 * 28 * 28)])
        write_file(f"{at}/{name}-labels-idx1-ubyte", [struct.pack(">2I", 2049, 3), bytes(range(3))])
    for kind in (gluon.data.vision.MNIST, gluon.data.vision.FashionMNIST):
        assert [int(label) for _, label in kind(at, train=False)] == [0, 1, 2]
    batches = mx.io.MNISTIter(f"{at}/train-images-idx3-ubyte", f"{at}/train-labels-idx1-ubyte", 3, shuffle=False, silent=True)
    assert labels(batches) == [0, 1, 2]


@tries("gluon.data.vision.datasets.CIFAR10", "gluon.data.vision.datasets.CIFAR100")
def cifar(at: str) -> None:
    row = bytes(3 * 32 * 32)
    write_file(f"{at}/test_batch.bin", [b"\3" + row])
    assert gluon.data.vision.CIFAR10(at, train=False)[0][1] == 3
    with tarfile.open(fileobj=(packed := io.BytesIO()), mode="w:gz") as archive:
        member = tarfile.TarInfo("cifar-100-binary/test.bin")
        member.size = len(row) + 2
        archive.addfile(member, io.BytesIO(b"\1\2" + row))
    write_file(f"{at}/cifar-100-binary.tar.gz", [packed.getvalue()])
    assert gluon.data.vision.CIFAR100(at, fine_label=True, train=False)[0][1] == 2


# ------------------------------------------------------------------------------------------------------------------- text and others


@tries("io.text_iterators.CSVIter", "io.text_iterators.LibSVMIter")
def rows(at: str) -> None:
    write_file(f"{at}/a.csv", [b"1,2\n3,4\n"])
    write_file(f"{at}/b.csv", [b"5\n6\n"])
    assert labels(mx.io.CSVIter(f"{at}/a.csv", (2,), f"{at}/b.csv")) == [5, 6]
    write_file(f"{at}/a.svm", [b"7 0:1\n8 1:1\n"])
    write_file(f"{at}/b.svm", [b"0 0:1\n0 0:2\n"])
    assert labels(mx.io.LibSVMIter(f"{at}/a.svm", (2,))) == [7, 8]
    batch = mx.io.LibSVMIter(f"{at}/a.svm", (2,), f"{at}/b.svm", (1,)).next()
    assert batch.label[0].asnumpy().tolist() == [[1]]


@tries("contrib.text.embedding.CustomEmbedding", "contrib.text.embedding.GloVe", "contrib.text.embedding.FastText")
def embeddings(at: str) -> None:
    text = mx.contrib.text
    content = b"cat 1 2\ndog 3 4\n"
    write_file(f"{at}/a.txt", [content])
    words = text.vocab.Vocabulary(Counter(["dog"]))
    same(text.embedding.CustomEmbedding(f"{at}/a.txt", vocabulary=words).get_vecs_by_tokens("dog"), [3, 4])
    for kind in (text.embedding.GloVe, text.embedding.FastText):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kind, "pretrained_file_name_sha1", {"a.txt": hashlib.sha1(content).hexdigest()})
            write_file(f"{at}/{kind.__name__.lower()}/a.txt", [content])
            same(kind("a.txt", embedding_root=at).get_vecs_by_tokens("dog"), [3, 4])


@tries("contrib.text.wiki_text.WikiText2", "contrib.text.wiki_text.WikiText103")
def wiki_text(at: str) -> None:
    write_file(f"{at}/wiki.test.tokens", [b" a b a \n \n c a \n"])
    for kind in (gluon.contrib.data.text.WikiText2, gluon.contrib.data.text.WikiText103):
        assert len(kind(at, "test", seq_len=2)) == 3


@tries("gluon.utils.download", "gluon.utils.check_sha1", "testing.datasets.download", "testing.datasets.download_model")
def downloads(at: str) -> None:
    write_file(f"{at}/a", [b"hi"])
    copy = gluon.utils.download(f"{at}/a", f"{at}/b")
    assert gluon.utils.check_sha1(copy, hashlib.sha1(b"hi").hexdigest())
    assert mx.test_utils.download(f"{at}/a", dirname=f"{at}/c") == f"{at}/c/a"
    known = {"net": {"symbol": f"{at}/a", "params": f"{at}/a"}}
    assert mx.test_utils.download_model("net", f"{at}/models", known) == (f"{at}/models/net", 0)
    assert folder_entries(f"{at}/models") == ["net-0000.params", "net-symbol.json"]


@tries(*[f"profiler.{k}" for k in ("control.profiler_set_config", "cluster.merge_traces", "cluster.read_trace", "profile.Profile.save")])
def profiles(at: str) -> None:
    mx.profiler.set_config(filename=f"{at}/profile.json", profile_all=True)
    try:
        mx.profiler.set_state("run")
        nd.ones((2,)).asnumpy()
        mx.profiler.set_state("stop")
        mx.profiler.dump()
        mx.profiler.report().save(f"{at}/profile.html")
    finally:
        mx.profiler.set_config(filename="profile.json")
    assert b"traceEvents" in read_file(f"{at}/profile.json")
    merge_traces([f"{at}/profile.json"] * 2, f"{at}/merged.json")
    assert read_trace(f"{at}/merged.json")["traceEvents"]


@tries("visualization.drawing.Svg.render")
def drawings(at: str) -> None:
    symbol, _ = fully_connected()
    drawing = mx.viz.plot_memory(symbol.simple_bind(mx.cpu(), data=(1, 3)))
    assert read_file(drawing.render(f"{at}/drawing")) == str(drawing).encode()


def test_im2rec_reads_and_writes_urls(store: str):
    for k in range(4):
        write_file(f"{store}/images/{k % 2}/{k}.png", [_png(_pixels(8, 8, k))])
    assert main(["im2rec", f"{store}/set", f"{store}/images", "--list", "--recursive", "--no-shuffle"]) == 0
    assert main(["im2rec", f"{store}/set", f"{store}/images", "--pass-through"]) == 0
    assert folder_entries(store) == ["images", "set.idx", "set.lst", "set.rec"]
    found = gluon.data.RecordFileDataset(f"{store}/set.rec")
    assert [mx.recordio.unpack(record)[0].label for record in found] == [0, 0, 1, 1]


# ------------------------------------------------------------------------------------------------------------------- all of them


@pytest.mark.filterwarnings("ignore:.* is not the published file")
@pytest.mark.parametrize("entry", dict.fromkeys(ENTRY_POINTS.values()), ids=lambda entry: entry.__name__)
def test_urls_are_names_of_files(entry: Callable[[str], None], store: str):
    entry(store)


#: Modules whose functions are public under the name of another one.
PUBLIC = {"twofold.formats.downloads": "gluon.utils", "twofold.formats.replacing": "gluon.utils"}


def callables() -> Iterator[tuple[str, Callable[..., object]]]:
    """The public functions, classes and methods of the package by the modules that define them."""
    for info in pkgutil.walk_packages(mx.__path__, "twofold."):
        name = info.name.removeprefix("twofold.")
        if name.startswith(INNER) or any(part.startswith("_") for part in name.split(".")):
            continue
        module = importlib.import_module(info.name)
        for each, found in list(vars(module).items()):
            place = PUBLIC.get(getattr(found, "__module__", ""), name)
            if each.startswith("_") or not callable(found) or getattr(found, "__module__", "") not in (info.name, *PUBLIC):
                continue
            yield f"{place}.{each}", found
            if inspect.isclass(found):
                members = dict.fromkeys(k for kind in found.__mro__ if kind.__module__ == info.name for k in vars(kind))
                yield from ((f"{place}.{each}.{k}", getattr(found, k)) for k in members if not k.startswith("_") and hasattr(found, k))


def test_every_parameter_that_names_a_file_is_tried():
    for module in (mx.np, twofold.numpy):
        assert all(getattr(module, k, None) is not None for k in NUMPYS)  # they are made when they are first used
    missing, seen = [], set()
    for name, found in callables():
        seen.add(name)
        try:
            parameters = inspect.signature(found).parameters
        except (TypeError, ValueError):  # not a method, or of a class in C
            continue
        names = [p for p in parameters if FILE_NAMES.fullmatch(p)]
        is_prefix_of_names = inspect.isclass(found) and names == ["prefix"]
        if names and not is_prefix_of_names and name not in ENTRY_POINTS and name not in LOCAL:
            missing.append(f"{name}({', '.join(names)})")
    assert not missing
    assert {*ENTRY_POINTS, *LOCAL} <= seen
