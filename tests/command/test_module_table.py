"""The table of MXNet's modules against the inventory of MXNet 1.9.1."""

import json

import pytest

import twofold as mx
from twofold.advice import advise
from twofold.compat.mxnet_alias import ABSENT, ABSENT_NAMES, INTERNAL, MODULES, SAME, SOURCES, reason_for_absence, sources_of

#: Names that programs import most, by module: they must be there, each under the name MXNet gives it.
USED = {
    "": "nd sym gluon autograd cpu gpu Context MXNetError AttrScope init io kv lr_scheduler metric mod model mon name opt random viz",
    "autograd": "record pause train_mode predict_mode backward grad Function is_recording is_training",
    "base": "MXNetError string_types numeric_types py_str mx_real_t NotImplementedForSymbol NDArrayHandle SymbolHandle c_array check_call",
    "engine": "bulk set_bulk_size",
    "gluon": "Block HybridBlock SymbolBlock Parameter ParameterDict Constant Trainer nn loss utils",
    "gluon.block": "Block HybridBlock SymbolBlock Parameter ParameterDict DeferredInitializationError",
    "gluon.loss": "Loss L1Loss L2Loss SoftmaxCrossEntropyLoss SoftmaxCELoss HuberLoss",
    "gluon.nn": "Sequential HybridSequential Dense Conv2D MaxPool2D BatchNorm Dropout Embedding Flatten Activation Block HybridBlock",
    "gluon.nn.basic_layers": "Dense BatchNorm Dropout",
    "gluon.nn.conv_layers": "Conv2D MaxPool2D",
    "gluon.parameter": "Parameter ParameterDict Constant DeferredInitializationError",
    "gluon.utils": "split_data split_and_load clip_global_norm",
    "initializer": "Xavier Normal Uniform Zero One Constant InitDesc Initializer",
    "io": "DataIter DataBatch DataDesc NDArrayIter",
    "io.io": "DataIter DataBatch DataDesc NDArrayIter",
    "log": "get_logger INFO",
    "model": "load_checkpoint save_checkpoint BatchEndParam FeedForward",
    "module": "Module BaseModule BucketingModule SequentialModule PythonModule",
    "module.module": "Module",
    "module.base_module": "BaseModule",
    "ndarray": "NDArray array zeros ones concat dot FullyConnected waitall load save random linalg contrib",
    "ndarray.ndarray": "NDArray array zeros ones concatenate",
    "ndarray.utils": "load save zeros array",
    "optimizer": "Optimizer SGD Adam create register Updater get_updater",
    "optimizer.optimizer": "Optimizer SGD Adam",
    "profiler": "set_config set_state pause resume dump dumps Domain Task Frame Event Counter Marker set_kvstore_handle dump_profile",
    "runtime": "Feature Features feature_list",
    "symbol": "Symbol Variable var Group load load_json FullyConnected",
    "symbol.symbol": "Symbol Variable Group",
    "test_utils": "mx np os assert_almost_equal check_numeric_gradient check_symbolic_forward default_context rand_ndarray same retry",
    "util": "is_np_array is_np_shape np_shape np_array set_np reset_np use_np getenv setenv get_gpu_count set_module",
}

#: Modules that MXNet writes when it is built, which the inventory of its source leaves out.
GENERATED = {f"{parent}.{name}" for parent in ("ndarray", "symbol") for name in ("gen_contrib", "gen_op")}


@pytest.fixture(scope="module")
def modules(shared):
    found = json.loads((shared / "inventory" / "mxnet_api.json").read_text(encoding="utf-8"))["modules"]
    return {name.partition(".")[2] for name in found}


def test_every_row_is_a_module_of_mxnet(modules):
    rows = {*SOURCES, *ABSENT, *INTERNAL}
    assert rows <= modules | GENERATED
    assert not {*SOURCES} & {*ABSENT, *INTERNAL}


def test_second_names_are_of_modules_that_exist(modules):
    assert {*SAME.values()} <= modules


@pytest.mark.parametrize("module", USED)
def test_used_names_are_found(module):
    sources = sources_of(module)
    missing = [name for name in USED[module].split() if not any(hasattr(source, name) for source in sources)]
    # Second names of modules are found by the face, through the table.
    assert [name for name in missing if not sources_of(f"{module}.{name}" if module else name)] == []


def test_absent_modules_say_what_to_do():
    for module in ABSENT:
        reason, todo = reason_for_absence(f"{module}.anything") or ("", "")
        assert reason
        assert todo


@pytest.mark.parametrize(
    ("name", "todo"),
    [
        ("th.abs", "remove the import"),
        ("predict.Predictor", "use mx.gluon.SymbolBlock.imports or mx.mod.Module.load"),
        ("contrib.tensorrt", "export the network with mx.onnx.export_model, which TensorRT reads"),
    ],
)
def test_second_names_and_names_of_older_versions_say_what_to_do(name, todo):
    reason = reason_for_absence(name)
    assert reason is not None
    assert reason[1] == todo


def _refusal(root, path):
    """What an uncaught error says about the first part of a path that a module does not have; empty if all are there."""
    found = root
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            advise(error, None)
            return "\n".join([str(error), *getattr(error, "__notes__", [])])
    return ""


@pytest.mark.parametrize("path", [path for path in {**ABSENT, **ABSENT_NAMES} if path != "func"])
def test_absent_names_say_what_to_do_under_the_own_import_too(path):
    assert (ABSENT | ABSENT_NAMES)[path][1] in _refusal(mx, path)


def test_every_module_of_mxnet_that_is_elsewhere_says_where():
    refused = [text for name in {*SOURCES, *MODULES, *SAME, *INTERNAL} if name and (text := _refusal(mx, name))]
    assert len(refused) > 50
    assert [text for text in refused if "What runs" not in text] == []


@pytest.mark.parametrize(
    ("path", "todo"),
    [
        ("library", "`python -m twofold run` has it"),
        ("executor_manager", "`python -m twofold run` has it"),
        ("kvstore.kvstore", "use mx.kvstore; for what it lacks: call KVStore.push and pull"),
        ("np.multiarray", "use mx.np"),
        ("gluon.data.dataloader", "use mx.gluon.data; for what it lacks: use gluon.data.DataLoader"),
        ("gluon.data.Queue", "use gluon.data.DataLoader"),
        ("onnx.mx2onnx", "use mx.contrib.onnx"),
        ("th", "remove the import"),
        ("space", "use the public modules"),
    ],
)
def test_modules_of_mxnet_say_where_their_names_are(path, todo):
    assert todo in _refusal(mx, path)


def test_modules_that_scripts_see_list_their_names(modules):
    """Without a list, ``dir`` and a star import would show what the module itself has imported."""
    shown = {source for module in {*modules, *SOURCES, *SAME} if not reason_for_absence(module) for source in sources_of(module)}
    written = [source for source in shown if source.__spec__ is not None]  # not a namespace that is made of the operators
    assert [source.__name__ for source in written if not {"__all__", "__dir__"} & vars(source).keys()] == []
