"""``twofold run``: scripts that import mxnet, old ones, and ones whose numpy is replaced, each in its own process."""

import subprocess
import sys

import pytest


@pytest.fixture
def run(tmp_path):
    """Run a script given as text; returns its output, or its error if it fails."""

    def execute(text, *options, arguments=(), fails=False):
        script = tmp_path / "script.py"
        script.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "twofold", "run", *options, str(script), *arguments]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert (result.returncode != 0) == fails, result.stderr
        return result.stderr if fails else result.stdout

    return execute


def test_every_form_of_importing_mxnet_imports_twofold(run):
    text = """
import mxnet as mx
import mxnet.ndarray as F
from mxnet import nd, gluon, autograd
from mxnet.gluon import nn
from mxnet.gluon.nn import Dense
from mxnet.gluon.utils import split_data
from mxnet.ndarray.ndarray import NDArray
from mxnet.base import MXNetError, string_types
import mxnet.optimizer.optimizer
import twofold
assert mx.nd is nd and F is nd
assert nn.Dense is Dense is twofold.gluon.nn.Dense and NDArray is twofold.nd.NDArray
assert MXNetError is twofold.MXNetError and mx.optimizer.optimizer.SGD is twofold.optimizer.SGD
x = nd.array([1, 2, 3])
x.attach_grad()
with autograd.record():
    y = (x * x).sum()
y.backward()
print(x.grad.asnumpy().tolist())
"""
    assert run(text) == "[2.0, 4.0, 6.0]\n"


def test_star_import_gives_public_names(run):
    assert run("from mxnet.ndarray import *\nprint(zeros((2,)).asnumpy().tolist())") == "[0.0, 0.0]\n"


def test_an_array_of_one_element_is_a_number_too(run):
    text = """
import math, pickle
import mxnet as mx, numpy as np
losses = np.zeros(3)
for x in (mx.nd.full((1,), 2.25).asnumpy(), mx.np.full((1, 1), 2.25).asnumpy()):
    losses[1] = x
    print(float(x), int(x), complex(x), "%.1f" % x, math.sqrt(x), losses, repr(x) == repr(np.array(x)), x.shape)
    made = (x + 1, np.exp(x), np.concatenate([x, x]), pickle.loads(pickle.dumps(x)), mx.nd.ones(2).asnumpy(), mx.np.ones(()).asnumpy())
    print({type(array) for array in made} == {np.ndarray}, isinstance(x, np.ndarray), type(x[..., 0].sum()) is np.float32)
try:
    float(mx.nd.ones(2).asnumpy())
except TypeError:
    print("refused")
"""
    lines = [f"2.25 2 (2.25+0j) 2.2 1.5 [0.   2.25 0.  ] True {shape}\nTrue True True\n" for shape in ("(1,)", "(1, 1)")]
    assert run(text) == "".join(lines) + "refused\n"


def test_version_is_the_one_that_scripts_compare(run):
    assert run("import mxnet\nprint(mxnet.__version__)") == "1.9.1\n"


def test_script_finds_its_arguments_its_name_and_its_neighbours(run, tmp_path):
    (tmp_path / "neighbour.py").write_text("import mxnet as mx\nvalue = mx.nd.ones((1,)).asscalar()\n", encoding="utf-8")
    text = "import sys, neighbour\nif __name__ == '__main__':\n    print(sys.argv[1:], neighbour.value, __file__ == sys.argv[0])"
    assert run(text, arguments=["--lr", "0.1"]) == "['--lr', '0.1'] 1.0 True\n"


def test_exit_status_is_the_scripts(run):
    assert run("raise SystemExit('stop')", fails=True).strip() == "stop"


@pytest.mark.parametrize("statement", ["import mxnet.nothing", "from mxnet import nothing", "from mxnet.gluon import nothing"])
def test_missing_import_says_which_name(run, statement):
    message = run(statement, fails=True)
    assert "nothing: Twofold does not have it" in message
    assert "MissingModule" in message


def test_missing_attribute_says_which_name(run):
    assert "mxnet.ndarray.nothing: Twofold does not have it" in run("import mxnet as mx\nmx.nd.nothing", fails=True)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("gluon.Trainr", "did you mean 'Trainer'?"),
        ("nd.conv2d", "use Convolution"),
        ("sym.contrib.dgl_subgraph", "sample with mx.nd.contrib"),
        ("base._LIB.MXNDArrayCreate", "use the Python interface"),
        ("libinfo.find_lib_path()", "use the Python interface"),
    ],
)
def test_what_is_not_there_has_a_replacement_and_a_page(run, name, advice):
    message = run(f"import mxnet as mx\nmx.{name}", fails=True).strip()
    assert message.endswith(f'; {advice}; the page "What runs" (docs/reference/mxnet-names.md) lists MXNet\'s names')


def test_module_without_counterpart_says_why(run):
    assert "write the operator with mx.operator.CustomOp" in run("import mxnet.rtc", fails=True)


def test_scripts_can_test_whether_a_name_exists(run):
    assert run("import mxnet as mx\nprint(hasattr(mx, 'nothing'), hasattr(mx.nd, 'dot'))") == "False True\n"


def test_a_name_that_is_there_is_found_without_a_search_for_similar_ones(run):
    """The search takes milliseconds, and libraries look up dozens of operators while a network is traced."""
    run("""
import sys
import mxnet as mx
F = mx.sym
F.broadcast_add, F.contrib.foreach, mx.nd.linalg.gemm2, mx.gluon.nn.Dense, mx.metric.Accuracy, mx.random.uniform
assert "difflib" not in sys.modules
hasattr(F, "broadcast_ad")
assert "difflib" in sys.modules
""")


def test_names_removed_from_numpy_are_restored(run):
    text = """
import collections, inspect, time
import numpy as np
assert np.zeros(1, np.float).dtype == float and np.int is int
assert isinstance([], collections.Iterable) and time.clock() >= 0
assert inspect.getargspec(lambda a, b=1: 0)[:1] == (["a", "b"],)
assert np.asscalar(np.ones(1)) == 1 and np.product([2, 3]) == 6
print(np.fromstring(b"ab", np.uint8).tolist(), np.fromstring("1 2", sep=" ").tolist())
"""
    assert run(text) == "[97, 98] [1.0, 2.0]\n"


def test_rows_of_different_lengths_make_an_array_of_objects(run):
    text = """
import io, warnings
import numpy as np
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    rows = np.array([np.ones((2, 4)), np.ones((3, 4))])
print(rows.dtype, rows.shape, rows[1].shape, caught[0].category.__name__, caught[0].filename == __file__)
warnings.simplefilter("ignore")
file = io.BytesIO()
np.save(file, [np.ones(2), np.ones(3)])
file.seek(0)
print(np.load(file, allow_pickle=True)[1].shape, np.asarray([[1], [2, 3]]).tolist())
try:
    np.array([[1], [2, 3]], dtype="float32")
except ValueError as error:
    print("inhomogeneous" in str(error))
"""
    assert run(text) == "object (2,) (3, 4) VisibleDeprecationWarning True\n(3,) [[1], [2, 3]]\nTrue\n"


NUMPY_SCRIPT = """
import numpy as np
import numpy.random as npr
from numpy import ones
x = np.arange(3.0) + ones(3)
large = np.zeros((300, 300))
kinds = type(x) is np.ndarray, type(large) is np.ndarray, large.__array_priority__ > 0, isinstance(large, np.ndarray)
print(x.tolist(), *kinds, npr.rand(2).shape)
"""


def test_numpy_of_the_script_is_replaced_on_demand(run):
    assert run(NUMPY_SCRIPT, "--numpy") == "[1.0, 2.0, 3.0] True True True True (2,)\n"


def test_arrays_of_twofold_can_take_the_place_of_numpys(run):
    text = "import numpy as np, numpy.testing\nfrom numpy import linalg\nx = np.ones(3)\nprint(type(x).__module__, linalg.norm(x * 2) > 3)"
    assert run(text, "--numpy", "--arrays", "twofold") == "twofold.numpy.array True\n"


def test_missing_script_is_named(capfd):
    result = subprocess.run([sys.executable, "-m", "twofold", "run", "nowhere.py"], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode != 0
    assert "there is no such script: given nowhere.py" in result.stderr


def test_private_functions_that_scripts_import(run):
    """Expected values are those of MXNet 1.9.1."""
    text = """
import mxnet as mx
from mxnet.gluon.loss import Loss, _apply_weighting
from mxnet.io.io import _init_data
from mxnet.libinfo import __version__
print(__version__, mx.io._init_data is _init_data)
x = mx.nd.ones((2, 3))
print(_apply_weighting(mx.nd, x, 2.0, mx.nd.array([[1], [3]])).asnumpy().tolist(), _apply_weighting(mx.nd, x) is x)
print(_apply_weighting(mx.sym, mx.sym.var("x"), 2.0, mx.sym.var("y")).list_arguments())
ones = x.asnumpy()
print([[name for name, _ in _init_data(given, True, "data")] for given in (None, ones, [ones, ones], {"b": ones, "a": ones})])
for wrong in (lambda: _apply_weighting(mx.nd, x, "a"), lambda: _init_data(None, False, "data")):
    try:
        wrong()
    except AssertionError as error:
        print(error)
"""
    assert run(text) == (
        "1.9.1 True\n[[2.0, 2.0, 2.0], [6.0, 6.0, 6.0]] True\n['x', 'y']\n[[], ['data'], ['_0_data', '_1_data'], ['a', 'b']]\n"
        "weight must be a number: given 'a'; pass weights of samples as sample_weight\n"
        "an iterator needs data: given no array; pass at least one\n"
    )


def test_private_functions_of_training_loops_are_mxnets(run):
    """Expected values are those of MXNet 1.9.1."""
    text = """
import mxnet as mx
from mxnet.base import MXNetError
from mxnet.gluon.block import _BlockScope, _flatten, _regroup
from mxnet.gluon.parameter import tensor_types
from mxnet.gluon.rnn.rnn_cell import _format_sequence
from mxnet.gluon.utils import _indent
from mxnet.model import _create_kvstore, _initialize_kvstore, _update_params, _update_params_on_kvstore
from mxnet.module.base_module import _check_input_names, _parse_data_desc
a, b = mx.nd.ones((2,)), mx.nd.zeros((2,))
for given in (a, [a], (a, [b, None])):
    flat, form = _flatten(given, "input")
    print(len(flat), form, type(_regroup(flat, form)).__name__)
x = mx.nd.ones((2, 3, 4))
for arguments in ((3, x, "NTC", False), (2, x, "TNC", False), (3, x, "TNC", True, "NTC"), (2, [a, b], "NTC", True)):
    values, axis, F, size = _format_sequence(*arguments)
    print([v.shape for v in values] if isinstance(values, list) else values.shape, axis, size)
print(repr(_indent("a\\nb", 2)), isinstance(a, tensor_types), _create_kvstore("local", 1, {}))
store, on_store = _create_kvstore("device", 2, {"w": a})
weights = [[b.copy(), b.copy()]]
_initialize_kvstore(store, weights, {"w": a}, ["w"], on_store)
store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
_update_params_on_kvstore(weights, [[a, a]], store, ["w"])
print(on_store, [w.asnumpy().tolist() for w in weights[0]])
found = []
def updater(*columns):
    found.append([columns[0], [g.asnumpy().tolist() for g in columns[1]]])
summing = mx.kv.create("local")
summing.init("w", b)
_update_params([[b, b], [b, b]], [[a.copy(), a * 2], [None, None]], updater, 2, summing, ["w", "v"])
print([[list(places), grads] for places, grads in found])
symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2)
print(_check_input_names(symbol, ["data"], "data", True), _parse_data_desc(["data"], [], [("data", (2, 3))], None)[1])
try:
    _check_input_names(symbol, ["dato"], "data", True)
except ValueError as error:
    print("ValueError")
"""
    assert run(text) == (
        "1 0 NDArray\n1 [0] list\n3 [0, [0, -1]] list\n"
        "[(2, 4), (2, 4), (2, 4)] 1 2\n[(3, 4), (3, 4)] 0 3\n(3, 2, 4) 0 3\n(2, 2) 1 2\n"
        "'a\\n  b' True (None, False)\nTrue [[0.0, 0.0], [0.0, 0.0]]\n"
        "[[[0], [[3.0, 3.0]]], [[1], [[3.0, 3.0]]]]\nNone None\nValueError\n"
    )


def test_layers_derive_from_mxnets_private_bases(run):
    """Expected values are those of MXNet 1.9.1."""
    text = """
import mxnet as mx
from mxnet.gluon.nn.conv_layers import _Conv, _infer_weight_shape, _Pooling
class Doubled(_Conv):
    def __init__(self, channels, kernel_size, in_channels=0, **kwargs):
        super().__init__(channels, kernel_size, (1, 1), (0, 0), (1, 1), 1, "NCHW", in_channels, "relu", True, None, "zeros", **kwargs)
    def hybrid_forward(self, F, x, weight, bias=None):
        return super().hybrid_forward(F, x, weight * 2, bias)
layer = Doubled(2, (3, 3), prefix="my_")
layer.initialize(mx.init.One())
layer.hybridize()
print(layer(mx.nd.ones((1, 3, 4, 4))).asnumpy()[0, 1].tolist(), layer, [p.name for p in layer.collect_params().values()])
print(_Conv(4, (3, 3), (1, 1), (1, 1), (1, 1), 1, "NCHW", 0, op_name="Deconvolution", adj=(0, 0)).weight.shape)
print([isinstance(make(2, 3), _Conv) for make in (mx.gluon.nn.Conv2D, mx.gluon.nn.Conv2DTranspose)], issubclass(mx.gluon.nn.Dense, _Conv))
print(_infer_weight_shape("Convolution", (1, 3, 8, 8), {"kernel": (3, 3), "num_filter": 4}))
pool = _Pooling((2, 2), (2, 2), (0, 0), False, False, "max", "NCHW")
print(pool(mx.nd.arange(16).reshape((1, 1, 4, 4))).asnumpy().tolist())
"""
    assert run(text) == (
        "[[54.0, 54.0], [54.0, 54.0]] Doubled(3 -> 2, kernel_size=(3, 3), stride=(1, 1), Activation(relu)) ['my_weight', 'my_bias']\n"
        "(0, 4, 3, 3)\n[True, True] False\n[(1, 3, 8, 8), (4, 3, 3, 3), (4,)]\n[[[[5.0, 7.0], [13.0, 15.0]]]]\n"
    )


def test_what_modules_of_mxnet_had_imported_is_found(run):
    """Expected values are those of MXNet 1.9.1."""
    text = """
import mxnet as mx
import mxnet.ndarray.numpy._internal as _npi
from mxnet.base import _Null
from mxnet.gluon.data.vision.transforms import *
print(_Null, mx.nd._internal._Null is _Null, mx.nd.sum(mx.nd.ones((2, 2)), axis=_Null, keepdims=_Null).asscalar())
print([HybridBlock.__name__, HybridSequential.__name__, Block.__name__])
print(mx.initializer.registry is mx.registry, mx.metric.ndarray is mx.nd, mx.image.nd is mx.nd, hasattr(mx.metric, "recordio"))
print(_npi.add_scalar(_npi.zeros(shape=(2,), ctx="cpu(0)"), scalar=3.0), [n in dir(_npi) for n in ("add", "where", "nothing")])
print([n for n in dir(mx.gluon.contrib.cnn) if n[0] != "_"])
net = mx.gluon.nn.Dense(2, in_units=2)
net.initialize()
trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
print(trainer._update_on_kvstore, trainer._kv_initialized)
"""
    assert run(text) == (
        "_Null True 4.0\n['HybridBlock', 'HybridSequential', 'Block']\nTrue True True False\n[3. 3.] [True, True, False]\n"
        "['DeformableConvolution', 'ModulatedDeformableConvolution']\nNone False\n"
    )


def test_internal_names_of_image_decoding_are_found(run, tmp_path):
    """Expected values are those of MXNet 1.9.1."""
    image = pytest.importorskip("PIL.Image")
    pixels = bytes(range(24))
    image.frombytes("RGB", (4, 2), pixels).save(tmp_path / "a.png")
    text = f"""
import mxnet as mx
from mxnet.ndarray.numpy import _internal as npi
name = {str(tmp_path / "a.png")!r}
data = mx.nd.array(list(open(name, "rb").read()), dtype="uint8")
for found in (mx.nd._internal._cvimdecode(data, flag=0), mx.nd._internal._cvimdecode(data, 1, 0), mx.nd._internal._cvimread(name)):
    print(found.shape, found.dtype.__name__, found.asnumpy().ravel()[:4].tolist())
print(type(npi.cvimdecode(data.as_np_ndarray())).__module__ == mx.np.ndarray.__module__, npi.cvimread(name)[0, 1].tolist())
"""
    assert run(text) == ("(2, 4, 1) uint8 [0, 3, 6, 9]\n(2, 4, 3) uint8 [2, 1, 0, 5]\n(2, 4, 3) uint8 [0, 1, 2, 3]\nTrue [3, 4, 5]\n")


def test_private_names_of_quantization_collect_histograms_and_choose_thresholds(run):
    """Expected values are those of MXNet 1.9.1."""
    text = """
import numpy as np
import mxnet as mx
from mxnet.contrib import quantization as q
np.random.seed(0)
small = np.random.randn(4, 5).astype("float32")
collector = q._LayerHistogramCollector(num_bins=21, include_layer=["fc_output"])
for x in (small, small * 1.7, small * -0.3):
    collector.collect("fc_output", mx.nd.array(x))
collector.collect("other", mx.nd.ones((2,)))
counts, edges, low, high, bound = collector.hist_dict["fc_output"]
print(list(collector.hist_dict), counts.tolist(), round(float(low), 5), round(float(high), 5), round(float(bound), 5))
large = np.random.randn(4000).astype("float32")
for x in (large, abs(large)):
    collector = q._LayerHistogramCollector(num_bins=2001, include_layer=["fc_output"])
    collector.collect("fc_output", mx.nd.array(x))
    for dtype in ("int8", "uint8", "auto"):
        low, high, threshold, divergence = q._get_optimal_threshold(collector.hist_dict["fc_output"], dtype)
        print(dtype, round(float(threshold[0]), 4), round(float(divergence[0]), 4), threshold.shape)
ranges = q._get_optimal_thresholds(collector.hist_dict, "int8")
print({k: [round(float(v[0]), 4) for v in pair] for k, pair in ranges.items()}, collector.hist_dict)
ends = q._LayerOutputMinMaxCollector("int8", include_layer=["a"])
ends.collect("a", mx.nd.array([-1, 2]))
ends.collect("a", mx.nd.array([-3, 1]))
print(ends.min_max_dict)
"""
    counts = [0] * 10 + [1, 1, 0, 1, 1, 2, 4, 10, 8, 7, 5, 3, 3, 1, 1, 2, 3, 1, 1, 0, 2, 0, 1, 1, 0, 0, 1]
    thresholds = [(2.8479, 0.0816), (2.8479, 0.0816), (2.8479, 0.0816), (3.3153, 0.0561), (3.4407, 0.0432), (3.4407, 0.0432)]
    lines = [f"{dtype} {a} {b} (1,)" for dtype, (a, b) in zip(["int8", "uint8", "auto"] * 2, thresholds, strict=True)]
    first = f"['fc_output'] {counts} -1.66137 3.80952 3.94824"
    last = ["{'fc_output': [-3.3153, 3.3153]} {}", "{'a': (-3.0, 2.0)}"]
    assert run(text) == "\n".join([first, *lines, *last, ""])


def test_a_failed_import_changes_nothing(run):
    text = """
import importlib, pydoc
import mxnet as mx

array = mx.nd.array
for name in ("mxnet.nd.array", "mxnet.ndarray.array", "mxnet.gluon.loss.L2Loss", "mxnet.metric.base", "mxnet.nd.functions"):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        print(error.name == name)
print(pydoc.locate("mxnet.nd.array") is array is mx.nd.array, pydoc.locate("mxnet.gluon.loss.L2Loss"), pydoc.locate("mxnet.nothing"))
print(hasattr(mx.nd, "functions"), hasattr(mx.metric, "base"))
"""
    assert run(text).split("\n")[:-1] == [
        *["True"] * 5,
        "True <class 'twofold.gluon.loss.regression.L2Loss'> None",
        "False False",
    ]


def test_importing_a_name_as_a_module_says_how_to_import_it(run):
    assert "mxnet.nd.array: it is not a module; write `from mxnet.nd import array`" in run("import mxnet.nd.array", fails=True)


def test_what_blocks_compute_with_is_the_programs_own_module(run):
    text = """
from mxnet.gluon import nn, rnn
import mxnet as mx

class Block(nn.HybridBlock):
    def hybrid_forward(self, F, x):
        print(F is mx.nd, F is mx.sym, F.__name__)
        return F.relu(x)

block = Block()
block(mx.nd.ones((2,)))
block.hybridize()
block(mx.nd.ones((2,)))
cell = rnn.BidirectionalCell(rnn.LSTMCell(2, input_size=3), rnn.LSTMCell(2, input_size=3))
cell.initialize()
print(cell.unroll(2, mx.nd.ones((1, 2, 3)), merge_outputs=True)[0].shape)
print(cell.unroll(2, mx.sym.var("x"), merge_outputs=True)[0].infer_shape(x=(1, 2, 3))[1])
"""
    assert run(text).splitlines() == ["True False mxnet.ndarray", "False True mxnet.symbol", "(1, 2, 4)", "[(1, 2, 4)]"]
