"""Tracebacks of uncaught errors: the user's lines, with the library's frames as one line."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import twofold as mx
from twofold import suggestions
from twofold.advice import advise
from twofold.suggestions import attribute_here
from twofold.tracebacks import EXPLAINED, install
from twofold.wrong_arguments import explanation_of

from tests.alias import undone_at_the_end
from tests.cases import later_in_ci

NAMES = Path(suggestions.__file__).with_name("names_elsewhere.toml")

LAYER = """\
import twofold as mx

class Net(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.FullyConnected(x, num_hidden=2, no_bias=True)

def main():
    Net()(mx.nd.ones((2, 5)))

main()
"""
FOLDED = re.compile(r"… \d+ frames? of Twofold; TWOFOLD_TRACEBACK=full shows them")


def error_of(text, tmp_path, **variables):
    """What a script prints on standard error."""
    script = tmp_path / "script.py"
    script.write_text(text)
    kept = {name: value for name, value in os.environ.items() if name != "TWOFOLD_TRACEBACK"}
    found = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, env=kept | variables)
    assert found.returncode == 1
    return found.stderr.replace(str(tmp_path), "")


def test_a_traceback_has_the_users_lines(tmp_path):
    found = error_of(LAYER, tmp_path)
    lines = [line.strip() for line in found.splitlines() if set(line) - {" ", "^", "~"}]
    assert [FOLDED.sub("…", line) for line in lines] == [
        "Traceback (most recent call last):",
        'File "/script.py", line 10, in <module>',
        "main()",
        'File "/script.py", line 8, in main',
        "Net()(mx.nd.ones((2, 5)))",
        "…",
        'File "/script.py", line 5, in hybrid_forward',
        "return F.FullyConnected(x, num_hidden=2, no_bias=True)",
        "…",
        lines[-1],
    ]
    assert lines[-1].startswith("twofold.errors.")


def test_so_has_the_traceback_of_a_thread(tmp_path):
    in_thread = "import threading\nthread = threading.Thread(target=main, name='first')\nthread.start()\nthread.join()\nexit(1)\n"
    found = error_of(LAYER.removesuffix("main()\n") + in_thread, tmp_path)
    assert found.startswith("Exception in thread first:\nTraceback")
    assert "hybrid_block.py" not in found
    assert len(FOLDED.findall(found)) == 2
    wrong = LAYER.replace("Net()(mx.nd.ones((2, 5)))", "mx.gluon.nn.Dropout(p=0.5)").removesuffix("main()\n")
    assert "use rate" in error_of(wrong + in_thread, tmp_path)


@pytest.mark.ci
def test_all_frames_are_shown_on_demand(tmp_path):
    found = error_of(LAYER, tmp_path, TWOFOLD_TRACEBACK="full")
    assert "hybrid_block.py" in found
    assert not FOLDED.search(found)


def test_an_error_of_the_script_is_shown_as_python_shows_it(tmp_path):
    text = "import twofold as mx\nx = mx.nd.ones(3)\nsorted([x], key=lambda x: x.nothing)\n"
    assert error_of(text, tmp_path) == error_of(text, tmp_path, TWOFOLD_TRACEBACK="full")


@pytest.mark.ci
def test_an_inner_error_that_says_the_same_is_left_out(tmp_path):
    text = "import twofold as mx\nlayer = mx.gluon.nn.Conv2D(8, 9)\nlayer.initialize()\nlayer(mx.nd.ones((1, 3, 4, 4)))\n"
    assert error_of(text, tmp_path).count("Traceback") == 1
    assert error_of(text, tmp_path, TWOFOLD_TRACEBACK="full").count("Traceback") > 1


ONE_TRACEBACK = [
    ("mx.np.linalg.inv(mx.np.zeros((2, 2)))", "LinearAlgebraError: a matrix cannot be decomposed or inverted: Singular matrix; "),
    ("mx.np.linspace(0, 1, npoints=4)", "TypeError: linspace: there is no argument 'npoints'; use num"),
    ("y = mx.np.ones((2, 3)); y.sum(axs=1)", "TypeError: ndarray.sum: there is no argument 'axs'; did you mean 'axis'?"),
    ("mx.nd.load('no.params')", "MissingFileError: cannot read no.params: no such file or folder; "),
    ("mx.np.load('no.npy')", "FileNotFoundError: [Errno 2] No such file or directory: 'no.npy'"),
    ("mx.np.array([[1, 2], [3]])", "ValueError: setting an array element with a sequence. "),
    ("mx.np.fft.fft(mx.np.ones(3), n=-1)", "ValueError: Invalid number of FFT data points (-1) specified."),
]


@pytest.mark.parametrize(("program", "message"), later_in_ci(ONE_TRACEBACK, 3), ids=[program for program, _ in ONE_TRACEBACK])
def test_a_mistake_gives_one_traceback_with_the_users_line(tmp_path, program, message):
    found = error_of(f"import twofold as mx\n{program}\n", tmp_path).splitlines()
    lines = [line.strip() for line in found if set(line) - {" ", "^", "~"}]
    assert lines[:3] == ["Traceback (most recent call last):", 'File "/script.py", line 2, in <module>', program]
    assert FOLDED.fullmatch(lines[3])
    assert lines[4].removeprefix("twofold.errors.").startswith(message)
    assert len(lines) == 5


@pytest.mark.parametrize("reason", ["", " from error"])
def test_an_error_that_the_users_code_caught_is_shown_without_the_librarys_frames(tmp_path, reason):
    text = f"import twofold as mx\ntry:\n  mx.nd.load('no')\nexcept OSError as error:\n  raise ValueError('mine'){reason}\n"
    found = error_of(text, tmp_path)
    assert found.count("Traceback") == 2
    assert found.count("File ") == 2
    assert found.endswith("ValueError: mine\n")


def test_an_error_of_a_callback_is_shown_with_the_users_lines(tmp_path):
    found = error_of("import twofold as mx\ndata = mx.gluon.data.SimpleDataset([1]).transform(lambda x: {}[x], False)\n", tmp_path)
    assert found.count("File ") == 2
    assert len(re.findall(FOLDED, found)) == 1
    assert found.endswith("KeyError: 1\n")


def test_the_librarys_innermost_frames_are_shown_with_an_unexpected_error(tmp_path):
    text = "import twofold as mx\nfrom twofold import tracebacks\ntracebacks.line_of(None)\n"
    found = error_of(text, tmp_path)
    assert "tracebacks.py" in found
    assert not FOLDED.search(found)


def test_a_hook_that_was_there_before_stays(tmp_path):
    text = "import sys\nsys.excepthook = lambda *e: print('mine', e[1], file=sys.stderr)\nimport twofold as mx\nraise mx.MXNetError('oh')\n"
    assert error_of(text, tmp_path) == "mine oh\n"


def test_a_traceback_that_is_cut_is_not_folded(tmp_path):
    found = error_of("import sys\nsys.tracebacklimit = 1\n" + LAYER, tmp_path)
    assert not FOLDED.search(found)


def test_a_notebook_shows_the_users_lines(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shell = pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed").InteractiveShell()
    shell.run_line_magic("colors", "nocolor")
    with undone_at_the_end():
        shell.run_line_magic("load_ext", "twofold")
        shell.run_cell(LAYER)
        folded = capsys.readouterr()
        monkeypatch.setenv("TWOFOLD_TRACEBACK", "full")
        shell.run_cell(LAYER)
        full = capsys.readouterr()
        shell.run_cell("mx.gluon.nn.Conv2D(3, 3, stride=2)")
        keyword = capsys.readouterr()
        shell.run_line_magic("unload_ext", "twofold")
    assert "hybrid_forward(self, F, x)" in folded.out
    assert "hybrid_block.py" not in folded.out
    assert FOLDED.fullmatch(folded.err.strip())
    assert "hybrid_block.py" in full.out
    assert keyword.out.endswith("TypeError: Conv2D: there is no argument 'stride'; did you mean 'strides'?\n")
    assert shell.custom_exceptions == EXPLAINED  # what `import twofold` asks for


def test_importing_the_package_in_a_notebook_is_enough(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shell = pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed").InteractiveShell()
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: shell)
    shell.run_line_magic("colors", "nocolor")
    install(advise)
    shell.run_cell("import twofold as mx\nmx.gluon.nn.Conv2D(3, 3, stride=2)")
    assert capsys.readouterr().out.endswith("TypeError: Conv2D: there is no argument 'stride'; did you mean 'strides'?\n")


def test_a_handler_of_the_user_stays(monkeypatch):
    shell = pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed").InteractiveShell()
    shell.set_custom_exc((ValueError,), lambda *args, **options: None)
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: shell)
    install(advise)
    assert shell.custom_exceptions == (ValueError,)


def refused(name: str, attribute: str) -> str:
    """Python's message for setting an attribute that a class has no slot for, which from 3.13 on says more."""
    with pytest.raises(AttributeError) as raised:
        setattr(type(name, (), {"__slots__": ()})(), attribute, True)
    return str(raised.value)


ATTRIBUTES = [
    ("x = mx.nd.ones(2)\nx.requires_grad = True", refused("NDArray", "requires_grad"), "use attach_grad()"),
    ("mx.nd.ones(2).cuda()", "'NDArray' object has no attribute 'cuda'", "use as_in_context(mx.gpu())"),
    ("mx.np.ones(2)[1:].numel()", "'ndarray' object has no attribute 'numel'", "use size"),
    ("mx.np.ones(2).sum().requires_grad_()", "'ndarray' object has no attribute 'requires_grad_'", "use attach_grad()"),
    ("mx.nd.ones((2, 2))[0].to('cpu')", "'NDArray' object has no attribute 'to'", "use as_in_context(device) or astype(dtype)"),
    (
        "mx.np.ones(2).__array_interface__",  # as Pillow's Image.fromarray asks for
        "'ndarray' object has no attribute '__array_interface__'",
        "use asnumpy()",
    ),
    ("mx.gluon.nn.Dense(2).parameters()", "'Dense' object has no attribute 'parameters'", "use collect_params()"),
    ("mx.gluon.optim.SGD", "module 'twofold.gluon' has no attribute 'optim'", "use mx.optimizer, and mx.gluon.Trainer"),
    ("mx.lr_scheduler.StepLR(5)", "module 'twofold.lr_scheduler' has no attribute 'StepLR'", "use FactorScheduler"),
]


@pytest.mark.parametrize(("program", "message", "advice"), later_in_ci(ATTRIBUTES, 2), ids=[program for program, _, _ in ATTRIBUTES])
def test_an_attribute_of_another_library_is_followed_by_what_to_use(tmp_path, program, message, advice):
    assert error_of(f"import twofold as mx\n{program}\n", tmp_path).splitlines()[-2:] == [f"AttributeError: {message}", advice]


def test_a_misspelt_attribute_is_followed_by_the_nearest_one(tmp_path):
    found = error_of("import twofold as mx\nmx.nd.ones(2).shpae\n", tmp_path)
    assert found.splitlines()[-1] == "AttributeError: 'NDArray' object has no attribute 'shpae'. Did you mean: 'shape'?"


def test_attributes_of_other_libraries_objects_get_no_advice(tmp_path):
    assert (
        error_of("import twofold\nobject().cuda\n", tmp_path).splitlines()[-1] == "AttributeError: 'object' object has no attribute 'cuda'"
    )


KEYWORDS = [
    ("mx.gluon.nn.Conv2D(3, 3, stride=2)", "Conv2D: there is no argument 'stride'; did you mean 'strides'?"),
    ("mx.mod.Module(y, label_name=None)", "Module: there is no argument 'label_name'; did you mean 'label_names'?"),
    ("mx.mod.Module(y, ctx=mx.cpu())", "Module: there is no argument 'ctx'; use context"),
    (
        "m = mx.mod.Module(y, label_names=[])\nm.fit(None, num_epochs=3)",
        "Module.fit: there is no argument 'num_epochs'; did you mean 'num_epoch'?",
    ),
    ("mx.mod.Module(y, label_names=[]).fit(num_epochs=3)", "BaseModule.fit: there is no argument 'num_epochs'; did you mean 'num_epoch'?"),
    (
        "mx.gluon.Trainer({}, 'sgd', optimizer_parms={})",
        "Trainer: there is no argument 'optimizer_parms'; did you mean 'optimizer_params' or 'optimizer'?",
    ),
    ("mx.gluon.Trainer({}, 'sgd', lr=0.1)", "Trainer: there is no argument 'lr'; use optimizer_params={'learning_rate': …}"),
    ("mx.optimizer.SGD(learningrate=0.1)", "SGD: there is no argument 'learningrate'; did you mean 'learning_rate'?"),
    ("mx.optimizer.SGD(lr=0.1)", "SGD: there is no argument 'lr'; use learning_rate"),
    ("mx.io.NDArrayIter(x, batchsize=1)", "NDArrayIter: there is no argument 'batchsize'; did you mean 'batch_size'?"),
    ("mx.init.Xavier(rand_type='gaussian')", "Xavier: there is no argument 'rand_type'; did you mean 'rnd_type'?"),
    ("mx.gluon.data.DataLoader([1],\n  batchsize=1)", "DataLoader: there is no argument 'batchsize'; did you mean 'batch_size'?"),
    ("mx.np.zeros(3, dtyp='int8')", "zeros: there is no argument 'dtyp'; did you mean 'dtype'?"),
    ("mx.np.linspace(0, 1, steps=3)", "linspace: there is no argument 'steps'; use num"),
    ("mx.np.linspace(0, 1, endpont=False)", "linspace: there is no argument 'endpont'; did you mean 'endpoint'?"),
    ("mx.np.random.normal(scal=3)", "normal: there is no argument 'scal'; did you mean 'scale'?"),
    ("mx.np.interp(1, [1], [2], lft=3)", "interp: there is no argument 'lft'; did you mean 'left'?"),
    ("mx.np.ones(3).sum(axs=0)", "ndarray.sum: there is no argument 'axs'; did you mean 'axis'?"),
    ("mx.np.ones((2, 3)).T.mean(axs=0)", "ndarray.mean: there is no argument 'axs'; did you mean 'axis'?"),
    ("mx.np.ones((2, 3)).sum(dim=1)", "ndarray.sum: there is no argument 'dim'; use axis"),
    ("mx.np.concatenate([mx.np.ones(3)], dim=0)", "concatenate: there is no argument 'dim'; use axis"),
    (
        "mx.gluon.data.DataLoader([1], batch_size=1, drop_last=True)",
        "DataLoader: there is no argument 'drop_last'; use last_batch='discard'",
    ),
    ("mx.np.array([1.0], requires_grad=True)", "array: there is no argument 'requires_grad'; call attach_grad() on the array"),
    ("mx.np.stack([x], dim=0)", "stack: there is no argument 'dim'; use axis"),
    ("x.as_in_context(ctx=mx.cpu())", "NDArray.as_in_context: there is no argument 'ctx'; it takes context"),
    (
        "mx.contrib.quantization.quantize_model(y, {}, {}, calib_layer=None)",
        "quantize_model: there is no argument 'calib_layer'; use excluded_sym_names, the names of the layers that stay in float32",
    ),
    ("mx.gluon.nn.Conv2D(3, 3, **{'stride': 2})", "Conv2D: there is no argument 'stride'; did you mean 'strides'?"),
    # Python's text stays where what was called is unknown or the program's own
    ("[mx.gluon.nn.Conv2D][0](3, 3, stride=2)", ""),
    ("def zeros(shape): pass\nzeros(shap=3)", ""),
    ("class SGD(mx.optimizer.SGD):\n  def __init__(self):\n    super().__init__(lr=0.1)\nSGD()", ""),
]


@pytest.mark.parametrize(("program", "message"), later_in_ci(KEYWORDS, 2), ids=[program for program, _ in KEYWORDS])
def test_an_unexpected_keyword_is_explained_by_the_name_that_was_called_and_the_nearest_argument(program, message):
    with pytest.raises(TypeError, match="got an unexpected keyword argument") as found:
        exec(program, {"mx": mx, "x": mx.nd.ones(3), "y": mx.sym.relu(mx.sym.var("data"))})
    assert explanation_of(found.value, found.tb) == message


NET = "net = mx.gluon.nn.Dense(4, in_units=3)\nnet.initialize()\n"
POSITIONS = [
    ("mx.gluon.nn.Embedding(10)", "Embedding: 'output_dim' is missing; it takes input_dim, output_dim, dtype, weight_initializer, "),
    ("mx.gluon.nn.Conv2D(8)", "Conv2D: 'kernel_size' is missing; it takes channels, kernel_size, strides, padding, dilation, groups, "),
    (NET + "net(x, x)", "Dense: it takes 1 input; call it with x"),
    (NET + "net()", "Dense: 'x' is missing; call it with x"),
    ("mx.gluon.loss.SoftmaxCELoss()(x)", "SoftmaxCrossEntropyLoss: 'label' is missing; call it with pred, label"),
    ("mx.gluon.rnn.LSTMCell(4)(x)", "LSTMCell: 'states' is missing; call it with inputs, states"),
    ("mx.gluon.Trainer({}, 'sgd').step()", "Trainer.step: 'batch_size' is missing; it takes batch_size, ignore_stale_grad"),
    ("mx.metric.Accuracy().update(x)", "Accuracy.update: 'preds' is missing; it takes labels, preds"),
    ("mx.gluon.utils.split_data(x)", "split_data: 'num_slice' is missing; it takes data, num_slice, batch_axis, even_split"),
    ("mx.np.dot(mx.np.ones(3))", "dot: 'b' is missing; it takes a, b, out"),
    (
        "class Net(mx.gluon.HybridBlock):\n  def hybrid_forward(self, x): pass\nNet()(x)",
        "Net.hybrid_forward: its first parameter must be F, mx.nd or mx.sym; write def hybrid_forward(self, F, x)",
    ),
    ("class Net(mx.gluon.HybridBlock):\n  def hybrid_forward(self, F, x): pass\nNet()(x, x)", "Net: it takes 1 input; call it with x"),
    (
        "def f():\n  class Net(mx.gluon.Block):\n    def forward(self, x, y): pass\n  Net()(x)\nf()",
        "Net: 'y' is missing; call it with x, y",
    ),
    (
        "class Net(mx.gluon.HybridBlock):\n  def hybrid_forward(self, F, x, weight): pass\nNet()(x)",
        "Net: hybrid_forward takes 'weight', and the block has no parameter of this name; write self.weight = self.params.get('weight', "
        "shape=…) in __init__",
    ),
    (
        "class Net(mx.gluon.HybridBlock):\n  def __init__(self):\n    super().__init__()\n"
        "    self.scale = self.params.get('scale', shape=1)\n  def hybrid_forward(self, F, x, scael): pass\n"
        "net = Net()\nnet.initialize()\nnet(x)",
        "Net: hybrid_forward takes 'scael', and the block has no parameter of this name; did you mean 'scale'?",
    ),
    (
        "class Half(mx.init.Initializer):\n  def _init_weight(self, name): pass\nmx.gluon.nn.Dense(3, in_units=2).initialize(Half())",
        "Half._init_weight() takes 2 positional arguments but 3 were given; Twofold calls it with these: write its parameters as its base "
        "class has them, or as what it was passed to says",
    ),
    (
        "class Net(mx.gluon.HybridBlock):\n  def __init__(self):\n    super().__init__()\n"
        "    self.wieght = self.params.get('weight', shape=(2,))\n  def hybrid_forward(self, F, x, weight): pass\n"
        "net = Net()\nnet.initialize()\nnet(x)",
        "Net: hybrid_forward takes 'weight', and the block has no parameter of this name; did you mean 'wieght'?",
    ),
    (
        "mx.gluon.nn.HybridLambda(lambda x: 2 * x)(x)",
        "HybridLambda: the function cannot be called with F and the inputs; write its parameters as in lambda F, x: …",
    ),
    (
        NET + "net.apply(mx.init.Xavier())",
        "Block.apply: an initializer is no function of blocks; call initialize(init), or collect_params().initialize(init)",
    ),
    ("mx.func.vmap(abs, in_dims=0)", "vmap: there is no argument 'in_dims'; use in_axes"),
    ("mx.np.random.randint()", "randint: 'low' is missing; it takes low, high, size, dtype, device, ctx"),
    ("mx.np.fft.fft(mx.np.ones(3), nn=3)", "fft: there is no argument 'nn'; it takes a, n, axis, norm, out"),
    ("mx.np.arange()", "arange: 'start' is missing; it takes start, stop, step, dtype, device, ctx"),
    ("mx.np.tile()", "tile: 'A' and 'reps' are missing; it takes A, reps"),
    ("mx.np.interp(1, [1, 2])", "interp: 'fp' is missing; it takes x, xp, fp, left, right, period"),
    (
        "y = mx.np.ones((2, 3))\ny.mean(0, 0, 0, 0, 0)",
        "ndarray.mean: there are too many arguments; it takes axis, dtype, out, keepdims, where",
    ),
    ("mx.np.random.normal(0, 1, 2, 3, 4)", "normal: there are too many arguments; it takes loc, scale, size, device, ctx"),
    # the program's own functions
    ("def f(x): pass\nf()", ""),
]


@pytest.mark.parametrize(("program", "message"), POSITIONS, ids=[program for program, _ in POSITIONS])
def test_missing_and_superfluous_arguments_are_explained_by_what_was_called(program, message):
    with pytest.raises(TypeError) as found:
        exec(program, {"mx": mx, "x": mx.nd.ones((2, 3))})
    text = explanation_of(found.value, found.tb)
    assert text.startswith(message)
    assert bool(text) == bool(message)


@pytest.mark.parametrize(
    ("program", "note"),
    later_in_ci(
        [
            (
                "import json\njson.dumps({'loss': mx.np.ones(3).sum()})",
                "write float(x) or int(x) for an array of one element, and x.tolist() for others",
            ),
            ("with mx.autograd.record:\n  pass", "call it: with mx.autograd.record():"),
            (
                "class Net(mx.gluon.Block):\n  def __init__(self):\n    super().__init__()\n    self.w = self.params.get('w', shape=(3,))\n"
                "  def forward(self, x):\n    return x * self.w\nNet()(mx.nd.ones(3))",
                "write w.data() for the array of a Parameter w; hybrid_forward gets it as an argument of its name",
            ),
            ("x = mx.np.ones((2, 3))\nx.size(0)", "size is no method: write x.shape, or x.shape[0] for one size"),
            ("x = mx.np.ones((2, 3))\nx.shape()", "shape is no method: write x.shape, or x.shape[0] for one size"),
            ("x = mx.np.ones((2, 3))\nx.T()", "T is no method: write x.T"),
            ("w = mx.gluon.Parameter('w', shape=(2,))\nw.data.shape", "data is a method: write data().shape"),
            (
                "w = mx.gluon.Parameter('w', shape=(2,))\nw[0]",
                "write w.data() for the array of a Parameter w; hybrid_forward gets it as an argument of its name",
            ),
            ("x = mx.nd.ones(3)\nx.grad.asnumpy()", "x.grad is None without a call of x.attach_grad() in front of what is recorded"),
            ("x = mx.nd.ones(3)\nx - 0.1 * x.grad", "x.grad is None without a call of x.attach_grad() in front of what is recorded"),
            ("class X: grad = None\nX.grad.sum", "AttributeError: 'NoneType' object has no attribute 'sum'"),
            ("class X:\n  def f(self): pass\nX().f.shape", "AttributeError: 'function' object has no attribute 'shape'"),
            ("def size(): pass\nsize.size = 3\nsize.size(0)", "TypeError: 'int' object is not callable"),
            ("mx.device('cuda')", "twofold.errors.OperatorError: module 'twofold' has no attribute 'device'; use mx.gpu or mx.cpu"),
            ("mx.gluon.nn.Dense(2)\nmx.device('cuda')", "use mx.gpu or mx.cpu"),  # the layers have imported the module
            ("mx.jit", "twofold.errors.OperatorError: module 'twofold' has no attribute 'jit'; use mx.func.jit"),
            ("mx.func.select", "use mx.np.where"),
            ("with mx.cpu as device:\n  pass", "call it: with mx.cpu():"),
            (
                "next(mx.gluon.data.DataLoader([1, 2], 2))",
                "its first batch is next(iter(loader)); for all of them write for batch in loader:",
            ),
            ("mx.np.random.rand((2, 3))", "pass the sizes one by one: rand(2, 3)"),
            ("def rand(sizes): return range(sizes)\nrand((2, 3))", "TypeError: 'tuple' object cannot be interpreted as an integer"),
            ("import json\njson.dumps(object())", "TypeError: Object of type object is not JSON serializable"),
            ("def f(): pass\nwith f:\n  pass", "TypeError: 'function' object does not support the context manager protocol"),
        ],
        4,
    ),
)
def test_an_uncaught_error_of_python_is_followed_by_what_to_write(tmp_path, program, note):
    assert error_of(f"import twofold as mx\n{program}\n", tmp_path).splitlines()[-1] == note


def test_an_unexpected_keyword_of_an_uncaught_error_is_explained(tmp_path):
    found = error_of("import twofold as mx\nmx.gluon.nn.Conv2D(3, 3,\n  stride=2)\n", tmp_path)
    assert found.splitlines()[-1] == "TypeError: Conv2D: there is no argument 'stride'; did you mean 'strides'?"


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("mx.nd.ones(2).attach_grad(gradreq='add')", "Array.attach_grad: there is no argument 'gradreq'; did you mean 'grad_req'?"),
        ("mx.nd.ones(2).asnumpy(1)", "Array.asnumpy: there are too many arguments; it takes none"),
        ("mx.gluon.Parameter('a').data(cntx=1)", "Parameter.data: there is no argument 'cntx'; did you mean 'ctx'?"),
    ],
)
def test_code_without_a_file_gets_the_advice_too(program, message):
    found = subprocess.run([sys.executable, "-c", f"import twofold as mx; {program}"], capture_output=True, text=True, check=False)
    assert found.stderr.splitlines()[-1] == f"TypeError: {message}"


def test_python_names_the_function_of_a_caught_error():
    with pytest.raises(TypeError, match=r"^_ConvLayer\.__init__\(\) got an unexpected keyword argument 'stride'"):
        mx.gluon.nn.Conv2D(3, 3, stride=2)


@pytest.mark.parametrize(
    "place", [place for place in tomllib.loads(NAMES.read_text(encoding="utf-8")) if place.startswith("attributes of ")]
)
def test_what_is_advised_exists_and_what_is_not_found_does_not(place):
    net = mx.gluon.nn.Dense(2)
    net.initialize()
    shown = {
        "Array": [mx.nd.ones(2), mx.np.ones(2)],
        "Block": [net],
        "Parameter": [net.weight],
        "Trainer": [mx.gluon.Trainer(net.collect_params(), "sgd")],
    }
    things = shown[place.removeprefix("attributes of ")]
    for name, advice in tomllib.loads(NAMES.read_text(encoding="utf-8"))[place].items():
        # what one kind of arrays has needs no advice there
        assert not all(hasattr(thing, name) for thing in things), name
        assert all(attribute_here(thing, name) == advice for thing in things)
        used = re.match(r"use (\w+)(?: or (\w+))?", advice)
        methods = {*used.groups()} - {None, "mx", "x", "the"} if used else set()
        assert all(hasattr(thing, method) for thing in things for method in methods), name


@pytest.mark.parametrize("make", [lambda: mx.np.ones((2, 2))[0], lambda: mx.np.ones(2).sum(), lambda: mx.np.ones((2, 2)).T])
def test_users_see_one_class_of_arrays(make):
    assert repr(type(make())) == repr(mx.np.ndarray)
    assert type(make()).__name__ == "ndarray"
    assert type(mx.nd.ones((2, 2))[0]).__name__ == "NDArray"
