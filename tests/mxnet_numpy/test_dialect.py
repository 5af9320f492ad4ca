"""MXNet's NumPy dialect against the real one, over stored results; and what its arrays are."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy
import pytest

import twofold as mx
from twofold import mxnet_numpy as np
from twofold import nd
from twofold.errors import MXNetError
from twofold.mxnet_numpy import extension as npx

from tests.mxnet_numpy.differences import REFUSED, VALUES
from tests.mxnet_numpy.evaluation import differs, namespace, result
from tests.mxnet_numpy.expressions import expressions

HERE = Path(__file__).parent
WANTED = json.loads((HERE / "values.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def _numpy_semantics():
    npx.set_np()
    yield
    npx.reset_np()


@pytest.mark.parametrize("group", expressions())
def test_results_are_mxnets(group):
    wrong = []
    for text in dict.fromkeys(expressions()[group]):
        wanted = VALUES.get(text, WANTED[text])
        if wanted == "raises":  # for lack of a kernel, mostly: `REFUSED` lists what must raise
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = json.loads(json.dumps(result(text, mx, np, npx)))
        if differs(found, wanted):
            wrong.append(f"{text}: {found} for {wanted}")
    assert wrong == []


def test_no_result_is_a_number_of_numpys_or_an_array_of_another_class():
    def classes(value):
        if isinstance(value, (list, tuple)):
            return {c for v in value for c in classes(v)}
        return {type(value)}

    for text in [*expressions()["unary"], *expressions()["reductions"], *expressions()["binary"]][::3]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = eval(text, namespace(mx, np, npx))
            except (MXNetError, TypeError):
                continue
        assert classes(found) <= {np.ndarray}, text


@pytest.mark.parametrize("text", REFUSED)
def test_what_mxnet_refuses_is_refused(text):
    names = namespace(mx, np, npx) | {"nd": nd.ones((2, 2))}
    with pytest.raises((MXNetError, TypeError, ValueError, IndexError, AttributeError)):
        eval(text, names)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_sparse_grids_broadcast_to_dense_ones(indexing):
    vectors = np.arange(3), np.arange(2)
    found = np.meshgrid(*vectors, sparse=True, indexing=indexing)
    wanted = numpy.meshgrid([0, 1, 2], [0, 1], sparse=True, indexing=indexing)
    assert [a.tolist() for a in found] == [a.tolist() for a in wanted]
    with pytest.raises(ValueError, match="pass 'xy' or 'ij'"):
        np.meshgrid(*vectors, indexing="yx")


def test_views_are_of_contiguous_memory_only():
    a = np.zeros((2, 3))
    for part in (a[0], a[0:1], a[1, 1:3], a[1, 2], a[None], a.detach(), a.reshape_view(6)):
        assert part.base is a
    for part in (a[:, 0], a.T, a.reshape(6), a.flatten(), a.squeeze(), a[[0]], a[a > 0], a.astype("float64")):
        assert type(part) is np.ndarray


def test_arrays_share_memory_with_those_of_nd():
    a = np.array([1, 2])
    other = a.as_nd_ndarray()
    other[:] = 5
    assert a.tolist() == [5, 5]
    assert isinstance(other, nd.NDArray)


def test_samples_have_the_moments_of_their_distributions():
    mx.random.seed(3)
    size = (20000,)
    moments = {
        "uniform": (np.random.uniform(1, 3, size), 2.0, 1 / 3),
        "normal": (np.random.normal(1, 2, size), 1.0, 4.0),
        "gamma": (np.random.gamma(2.0, 3.0, size), 6.0, 18.0),
        "beta": (np.random.beta(2.0, 3.0, size), 0.4, 0.04),
        "chisquare": (np.random.chisquare(3.0, size), 3.0, 6.0),
        "exponential": (np.random.exponential(2.0, size), 2.0, 4.0),
        "gumbel": (np.random.gumbel(1.0, 2.0, size), 1 + 2 * 0.5772157, 4 * 3.14159265**2 / 6),
        "logistic": (np.random.logistic(1.0, 2.0, size), 1.0, 4 * 3.14159265**2 / 3),
        "rayleigh": (np.random.rayleigh(2.0, size), 2 * (3.14159265 / 2) ** 0.5, 4 * (4 - 3.14159265) / 2),
        "weibull": (np.random.weibull(2.0, size), 0.8862269, 1 - 3.14159265 / 4),
        "pareto": (np.random.pareto(5.0, size), 0.25, 5 / (16 * 3)),
        "power": (np.random.power(3.0, size), 0.75, 3 / 80),
        "lognormal": (np.random.lognormal(0.0, 0.5, size), 2.718281828**0.125, (2.718281828**0.25 - 1) * 2.718281828**0.25),
        "randint": (np.random.randint(0, 4, size).astype("float32"), 1.5, 1.25),
        "bernoulli": (npx.random.bernoulli(0.3, size=size), 0.3, 0.21),
        "choice": (np.random.choice(3, size, p=np.array([0.2, 0.3, 0.5])).astype("float32"), 1.3, 0.61),
    }
    for name, (samples, mean, variance) in moments.items():
        assert samples.dtype == "float32" or name == "choice"
        assert abs(float(samples.mean()) - mean) < 0.05 * (1 + abs(mean)), name
        assert abs(float(samples.var()) - variance) < 0.12 * (1 + variance), name
    drawn = np.random.multivariate_normal(np.array([1.0, 2.0]), np.array([[2.0, 0.5], [0.5, 1.0]]), size)
    assert abs(drawn.mean(axis=0) - np.array([1.0, 2.0])).max() < 0.05
    assert sorted(np.random.choice(5, 5, replace=False).tolist()) == [0, 1, 2, 3, 4]
    x = np.arange(50)
    np.random.shuffle(x)
    assert x.tolist() != sorted(x.tolist()) == list(range(50))


def test_deviations_have_the_gradient_of_their_definition():
    x = np.array([1, 2, 6])
    x.attach_grad()
    with mx.autograd.record():
        y = x.std()
    y.backward()
    assert abs(x.grad - (x - 3) / (3 * y)).max() < 1e-6  # in MXNet it is 0


def test_samples_pass_gradients_to_their_parameters():
    loc, scale = np.zeros((3,)), np.ones((3,))
    loc.attach_grad()
    scale.attach_grad()
    with mx.autograd.record():
        drawn = np.random.normal(loc, scale, (4, 3))
    drawn.backward()
    assert loc.grad.tolist() == [4.0, 4.0, 4.0]
    assert abs(scale.grad - drawn.sum(axis=0)).max() < 1e-5


def test_a_script_gets_the_dialect():
    script = (
        "import mxnet as mx\nfrom mxnet import np, npx\nfrom mxnet.numpy import linalg\nnpx.set_np()\n"
        "x = mx.nd.ones((2,)).as_np_ndarray()\nprint(type(x).__module__, repr(np.array([1, 2]) / 2), repr(np.arange(3)))\n"
        "net = mx.gluon.nn.Dense(2)\nnet.initialize()\ny = net(np.ones((1, 3)))\nprint(isinstance(y, np.ndarray), npx.cpu())\n"
        "print(repr(linalg.norm(np.array([3, 4]))), repr(mx.np.random.uniform().shape), mx.nd.np is mx.nd.np)\n"
    )
    done = subprocess.run([sys.executable, "-m", "twofold", "run", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "twofold.mxnet_numpy.array array([0.5, 1. ]) array([0., 1., 2.])",
        "True cpu(0)",
        "array(5.) () True",
    ]


@pytest.mark.parametrize("part", [lambda x: x, lambda x: x[:1]])
def test_arrays_are_instances_of_both_classes(part):
    x = part(np.ones((2, 2)))
    assert isinstance(x, nd.NDArray)
    assert issubclass(type(x), np.ndarray)
    assert not isinstance(x.as_nd_ndarray(), np.ndarray)
    assert not isinstance(mx.np.ones(2), nd.NDArray)


@pytest.mark.parametrize(
    "call", ["exp(x)", "dot(x, x)", "maximum(x, x)", "add(x, y)", "add(y, x)", "concat(x, y)", "concatenate([x, y])", "stack(y, x)"]
)
def test_functions_of_the_other_kind_of_arrays_refuse_these(call):
    x, y = np.ones((2, 2)), nd.ones((2, 2))
    for a, b in ((x, y), (x[:], y[:])):
        with pytest.raises(TypeError if "concatenate" not in call else ValueError):
            eval(f"nd.{call}", {"nd": nd, "x": a, "y": b})


@pytest.mark.parametrize("operation", ["x + y", "y + x", "y[:] + x", "y[:] == x", "y < x[:1]", "y @ x", "x ** y"])
def test_operators_refuse_two_kinds_of_arrays(operation):
    with pytest.raises(TypeError):
        eval(operation, {"x": np.ones((2, 2)), "y": nd.ones((2, 2))})


def test_methods_that_mxnet_refuses_are_refused():
    x = np.ones((2, 2))
    for name in ("abs", "exp", "expand_dims", "slice_axis", "topk", "zeros_like", "split"):
        assert hasattr(x, name)
        with pytest.raises(AttributeError, match=f"mxnet.numpy.ndarray object has no attribute {name}"):
            getattr(x, name)()
    assert x.writable
    assert x.broadcast_to((3, 2, 2)).shape == (3, 2, 2)


def test_places_in_column_major_order():
    rows, columns = np.unravel_index(np.array([1, 2], dtype="int32"), (2, 3), order="F")
    assert [rows.tolist(), columns.tolist(), str(rows.dtype)] == [[1, 0], [0, 1], "int32"]


def test_views_share_memory_where_they_overlap():
    """As in MXNet: views of one array that have no element in common do not, nor do arrays without elements."""
    x, empty = np.arange(12).reshape(3, 4), np.zeros((0, 3))
    for a, b, shared in ((x, x[0], True), (x[:2], x[1:], True), (x[0], x[1], False), (x, x.copy(), False), (empty, empty, False)):
        assert np.shares_memory(a, b) is np.may_share_memory(b, a) is shared


@pytest.mark.parametrize("parts", [numpy.int64(2), numpy.uint8(2), numpy.array(2)])
@pytest.mark.parametrize(
    ("name", "shape"), [("split", (6, 2)), ("array_split", (5, 2)), ("vsplit", (6, 2)), ("hsplit", (2, 6)), ("dsplit", (1, 2, 6))]
)
def test_the_number_of_parts_may_be_numpys(name, shape, parts):
    x = numpy.arange(numpy.prod(shape), dtype="float32").reshape(shape)
    found = [part.asnumpy().tolist() for part in getattr(np, name)(np.array(x), parts)]
    assert found == [part.tolist() for part in getattr(numpy, name)(x, 2)]


@pytest.mark.parametrize("name", ["split", "hsplit", "dsplit", "array_split"])
def test_at_least_one_part_is_asked_for(name):
    with pytest.raises((MXNetError, ZeroDivisionError)):
        getattr(np, name)(np.ones((2, 2, 2)), 0)


@pytest.mark.parametrize("width", [numpy.int64(1), numpy.array([[1, 0], [0, 2]])])
@pytest.mark.parametrize("value", [numpy.float32(3), numpy.int64(3)])
def test_widths_and_values_of_pads_may_be_numpys(width, value):
    found = np.pad(np.ones((2, 2)), width, constant_values=value)
    assert found.asnumpy().tolist() == numpy.pad(numpy.ones((2, 2)), width, constant_values=3).tolist()


@pytest.mark.parametrize("value", [2, 2.5])
def test_an_array_of_numpys_without_axes_fills_like_its_number(value):
    found = np.full((2,), numpy.array(value))  # MXNet's is float32, too
    assert found.dtype == numpy.float32
    assert found.asnumpy().tolist() == [value, value]
