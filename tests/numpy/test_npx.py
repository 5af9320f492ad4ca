"""``npx``: operators of ``nd`` on ``np`` arrays, files, MXNet's switches, draws from MXNet's streams."""

import threading

import numpy
import pytest

import twofold as mx
import twofold.numpy as np
from twofold import nd, npx
from twofold.errors import DTypeError, FormatError, OperatorError, ParameterError, ShapeError
from twofold.opdef.registry import NAMES
from twofold.opdef.samples import samples_of
from twofold.testing.operands import make_operands

from tests.numpy.expressions import listed

OPERATORS = [n for n in dir(npx) if n in npx.OTHERS or (f"_npx_{n}" in NAMES and not NAMES[f"_npx_{n}"].numpy)]


def is_in_nd(name):
    """Whether ``nd`` has the operator, and it gives the same each time; those of ``npx`` alone are compared with JAX's."""
    op = getattr_op(name)
    return not op.random and not op.variadic and not op.names[0].startswith("_npx_")


def getattr_op(name):
    return NAMES[npx.OTHERS.get(name) or f"_npx_{name}"]


def test_every_mxnet_operator_exists():
    wanted = """activation arange_like batch_dot batch_flatten batch_norm cast convolution deconvolution dropout embedding erf erfinv
        fully_connected gamma gammaln gather_nd layer_norm leaky_relu log_softmax one_hot pick pooling relu reshape reshape_like rnn
        sequence_mask shape_array sigmoid slice smooth_l1 softmax topk nonzero constraint_check save load waitall set_np reset_np cpu gpu
        num_gpus gpu_memory_info current_context is_np_array is_np_shape random"""
    assert [n for n in wanted.split() if n not in dir(npx) or not hasattr(npx, n)] == []


def nd_function(op):
    name = op.names[0]
    for prefix, module in (("_contrib_", nd.contrib), ("_image_", nd.image)):
        if name.startswith(prefix):
            return getattr(module, name.removeprefix(prefix))
    return getattr(nd, name)


@pytest.mark.parametrize("name", list(filter(is_in_nd, OPERATORS)))
def test_an_operator_matches_nd(name):
    op = getattr_op(name)
    for sample in samples_of(op):
        arrays = [a for a in make_operands(op, sample) if a is None or isinstance(a, numpy.ndarray)]
        ours = getattr(npx, name)(*[a if a is None else np.array(a) for a in arrays], **sample.params)
        legacy = nd_function(op)(*[a if a is None else nd.array(a, dtype=a.dtype) for a in arrays], **sample.params)
        for a, b in zip(*[r if isinstance(r, list) else [r] for r in (ours, legacy)], strict=True):
            assert isinstance(a, np.ndarray)
            numpy.testing.assert_array_equal(a.asnumpy().reshape(b.shape), b.asnumpy().astype(a.dtype))


def test_operators_keep_numpys_conventions():
    assert npx.relu(np.array(2.0)).shape == ()
    assert npx.relu(np.ones((0, 3))).shape == (0, 3)
    assert npx.softmax(np.ones(3)).dtype == np.float64
    with pytest.raises(DTypeError, match=r"use as_np_ndarray\(\)"):
        npx.relu(nd.ones(3))
    with pytest.raises(OperatorError, match="no attribute 'nothing'"):
        _ = npx.nothing


def test_results_can_be_written_into_an_array():
    out = np.zeros((2, 3))
    assert npx.softmax(np.ones((2, 3)), out=out) is out
    numpy.testing.assert_allclose(out.asnumpy(), 1 / 3)
    part = np.zeros((3, 2)).T
    npx.relu(np.ones((2, 3)), out=part)
    assert part.base.tolist() == [[1, 1]] * 3


@pytest.mark.parametrize(
    ("codes", "options", "shape"),
    [
        ((-2, -1), {}, (2, 12)),
        ((-5, -4), {}, (6, 4)),
        ((-6, 1, 2, -4), {}, (1, 2, 3, 4)),
        ((-6, -1, 2, -4), {}, (1, 2, 3, 4)),
        ((-2, -2, 2, 2), {}, (2, 3, 2, 2)),
        ((4, -1), {"reverse": True}, (4, 6)),
        (-1, {}, (24,)),
    ],
)
def test_reshape_codes(codes, options, shape):
    assert npx.reshape(np.arange(24).reshape(2, 3, 4), codes, **options).shape == shape


def test_invalid_reshape_codes_are_rejected():
    assert npx.reshape(np.ones((2, 1, 3)), (-2, -3, -2)).shape == (2, 3)
    for codes in ((-3, -4), (-5, -5, -5), (-6, 2)):
        with pytest.raises(ShapeError, match=r"npx\.reshape"):
            npx.reshape(np.ones((2, 3)), codes)


def test_nonzero_gives_the_indices_of_nonzero_elements():
    places = npx.nonzero(np.array([[1, 0], [0, 3]]))
    assert (places.tolist(), places.dtype) == ([[0, 0], [1, 1]], np.int64)


def test_a_constraint_is_checked():
    assert npx.constraint_check(np.array([True, True]), "fine")
    with pytest.raises(ParameterError, match="sigma must be positive"):
        npx.constraint_check(np.array([True, False]), "sigma must be positive")


# files


@pytest.mark.parametrize("ending", ["params", "safetensors"])
def test_arrays_of_any_shape_are_saved_and_loaded(tmp_path, ending):
    arrays = {"w": np.arange(6.0).reshape(2, 3).T, "s": np.array(3.5), "e": np.zeros((0, 2), "int8"), "b": np.array([True, False])}
    npx.save(tmp_path / f"x.{ending}", arrays)
    got = npx.load(tmp_path / f"x.{ending}")
    assert set(got) == set(arrays)
    for name, a in arrays.items():
        assert isinstance(got[name], np.ndarray)
        assert (got[name].shape, got[name].dtype) == (a.shape, a.dtype)
        numpy.testing.assert_array_equal(got[name].asnumpy(), a.asnumpy())


def test_saving_lists_and_single_arrays(tmp_path):
    npx.save(str(tmp_path / "x"), [np.ones(2), np.array(1)])
    assert [a.shape for a in npx.load(str(tmp_path / "x"))] == [(2,), ()]
    npx.save(str(tmp_path / "y"), np.ones(2))
    assert [a.tolist() for a in npx.load(str(tmp_path / "y"))] == [[1, 1]]
    (tmp_path / "z").write_bytes(b"nothing")
    with pytest.raises(FormatError):
        npx.load(str(tmp_path / "z"))


def test_mxnets_files_can_be_loaded(shared):
    want = numpy.load(shared / "fixtures" / "np_shape_semantics.expected.npz")
    got = npx.load(str(shared / "fixtures" / "np_shape_semantics.params"))
    assert set(got) == set(want.files)
    for name in want.files:
        numpy.testing.assert_array_equal(got[name].asnumpy(), want[name])
        assert got[name].shape == want[name].shape


# switches


def test_the_numpy_switches_are_stored_and_change_no_array():
    assert (npx.is_np_array(), npx.is_np_shape()) == (False, False)
    npx.set_np()
    try:
        assert (npx.is_np_array(), npx.is_np_shape()) == (True, True)
        assert isinstance(nd.ones(2), nd.NDArray)
        seen = []
        thread = threading.Thread(target=lambda: seen.append(npx.is_np_array()))
        thread.start()
        thread.join()
        assert seen == [False]
    finally:
        npx.reset_np()
    assert not npx.is_np_array()


def test_numpy_switches_as_scopes_and_decorators():
    with npx.np_array(True):
        assert (npx.is_np_array(), npx.is_np_shape()) == (True, False)
    with npx.np_shape():
        assert (npx.is_np_array(), npx.is_np_shape()) == (False, True)

    @npx.use_np
    def asked():
        return npx.is_np_array(), npx.is_np_shape()

    @npx.use_np
    class Asking:
        def ask(self):
            return asked() if npx.is_np_array() else None

    assert asked() == (True, True)
    assert Asking().ask() == (True, True)
    assert not npx.is_np_array()
    assert npx.set_np_shape(True) is False
    assert npx.set_np_shape(False) is True
    with pytest.raises(ParameterError, match="Shape semantics is required"):
        npx.set_np(shape=False)


# random numbers

DRAWS = listed("""
    npx.random.bernoulli(0.3, size=(400,)); npx.random.bernoulli(logit=np.zeros(400)); npx.random.uniform_n(2.0, np.array([3.0, 4.0]), 200)
    npx.random.normal_n(np.array([5.0, -5.0]), 0.5, (200,)); npx.dropout(np.ones(400), p=0.5, mode='always')
""")


@pytest.mark.parametrize("draw", DRAWS)
def test_draws_follow_mxnets_seed(draw):
    results = []
    for seed in (3, 3, 4):
        npx.random.seed(seed)
        results.append(eval(draw, {"npx": npx, "np": np}))
    first, second, other = (r.asnumpy() for r in results)
    numpy.testing.assert_array_equal(first, second)
    assert not numpy.array_equal(first, other)


def test_draws_have_the_right_distributions():
    npx.random.seed(1)
    assert float(npx.random.bernoulli(0.3, size=2000).mean()) == pytest.approx(0.3, abs=0.04)
    drawn = npx.random.normal_n(np.array([5.0, -5.0]), 0.5, 2000)
    assert drawn.shape == (2000, 2)
    numpy.testing.assert_allclose(drawn.asnumpy().mean(0), [5, -5], atol=0.05)
    low = npx.random.uniform_n(2.0, np.array([3.0, 4.0]), (500,), dtype="float64")
    assert low.dtype == np.float64
    assert (low >= 2).all()
    assert (low.max(0) < np.array([3.0, 4.0])).all()
    out = np.zeros(5)
    assert npx.random.bernoulli(np.ones(5), out=out) is out
    assert out.tolist() == [1] * 5
    with pytest.raises(ParameterError, match="either prob or logit"):
        npx.random.bernoulli()


def test_waitall_waits_for_everything():
    a = np.ones(100_000) + 1
    npx.waitall()
    assert a.sum() == 200_000
    assert npx.current_context() == mx.cpu()
    assert npx.cpu() == mx.cpu()
    assert npx.num_gpus() == mx.num_gpus()


def test_dir_shows_no_imports():
    imported = {"AbstractContextManager", "Any", "Callable", "ModuleType", "functools", "importlib", "os", "partial", "sys", "threading"}
    for module in (mx, mx.nd, mx.sym, mx.io, npx):
        assert imported.isdisjoint(dir(module)), module.__name__
    assert {"Any", "importlib"}.isdisjoint(dir(np))


def test_nd_converts_to_np_and_npx():
    assert (nd.np, nd.npx) == (np, npx)
    assert repr(mx.sym.np.exp(mx.sym.var("x").as_np_ndarray())).startswith("<_Symbol exp")
