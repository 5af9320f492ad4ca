"""Arrays themselves: conversion, exchange with NumPy, options of functions, operators in place, devices."""

import copy
import pickle
import warnings

import ml_dtypes
import numpy
import pytest

import twofold as mx
import twofold.numpy as np
from asv_benchmarks.timing import entered
from twofold.config import SETTINGS

from tests.numpy.expressions import listed, variables


def same(ours, numpys):
    got = ours.asnumpy()
    assert (got.shape, got.dtype) == (numpys.shape, numpys.dtype)
    numpy.testing.assert_array_equal(got, numpys)


def test_the_namespace_has_every_numpy_name():
    names = {}
    exec("from twofold.numpy import *", names)
    assert set(numpy.__all__) <= set(names)
    assert set(dir(numpy)) <= set(dir(np))


def test_shapes_are_broadcast_as_in_numpy():
    assert np.broadcast_shapes((2, 1), (1, 3), 3) == (2, 3)
    assert np.broadcast(np.ones(3), np.ones((2, 1))).shape == (2, 3)


def test_constants_and_dtypes_are_numpys_own():
    assert np.pi is numpy.pi
    assert np.newaxis is None
    assert np.float32 is numpy.float32
    assert np.zeros(2, np.int16).dtype == numpy.dtype("int16")


@pytest.mark.parametrize("name", ["f", "i1", "b", "u0", "none", "cube"])
def test_printing_matches_numpy(name):
    assert repr(variables(np)[name]) == repr(variables(numpy)[name])
    assert str(variables(np)[name]) == str(variables(numpy)[name])


def test_an_array_on_a_gpu_says_so_when_it_is_printed(fake_gpus):
    assert repr(np.ones(2, device=mx.gpu(0))) == "array([1., 1.], ctx=gpu(0))"


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))], ids=["copy", "deepcopy", "pickle"])
@pytest.mark.parametrize("name", ["f", "f0", "none", "b"])
def test_copies_and_pickles(name, again):
    a = variables(np)[name]
    for x in (a, a.T):
        b = again(x)
        assert isinstance(b, np.ndarray)
        assert b.base is None
        same(b, x.asnumpy())


def test_numpy_arrays_are_copied_in_and_out():
    host = numpy.ones(3)
    a = np.array(host)
    host[0] = 5
    out = numpy.asarray(a)
    out[1] = 7
    assert a.tolist() == [1, 1, 1]


def test_dlpack_shares_memory():
    a = np.ones((2, 3))
    seen = numpy.from_dlpack(a.T)
    a[0, 1] = 4
    assert seen[1, 0] == 4


def test_the_array_api_finds_its_namespace():
    a = np.ones(3)
    assert a.__array_namespace__() is np
    assert a.device == mx.cpu()
    assert a.to_device(mx.cpu(0)) is a
    assert np.astype(a, np.float32).dtype == np.float32
    assert np.isdtype(a.dtype, "real floating")


@pytest.mark.parametrize(
    "function", ["numpy.add(a, b)", "b + a", "a + b", "numpy.dot(b, a)", "numpy.concatenate([b, a])", "b * a", "b > a"]
)
def test_numpys_operators_and_functions_return_our_arrays(function):
    a, b = np.array([1.0, 2.0]), numpy.array([3.0, 4.0])
    got = eval(function, {"a": a, "b": b, "numpy": numpy})
    assert isinstance(got, np.ndarray)
    same(got, numpy.asarray(eval(function, {"a": a.asnumpy(), "b": b, "numpy": numpy})))


def test_results_can_be_written_into_numpy_arrays():
    host = numpy.ones(3)
    host += np.array([1.0, 2.0, 3.0])
    numpy.multiply(np.ones(3), 2, out=host[:])
    assert host.tolist() == [2, 2, 2]


def test_recorded_operations_can_be_called_by_numpys_names():
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = numpy.sum(numpy.exp(x) * numpy.array([1.0, 3.0]))
    y.backward()
    numpy.testing.assert_allclose(x.grad.asnumpy(), numpy.exp([1.0, 2.0]) * [1, 3])


@pytest.mark.parametrize(
    "text",
    [
        "np.copyto(a, b)",
        "np.copyto(a, 1.5, where=m)",
        "np.put(a, [0, -1], [5.0, 6.0])",
        "np.place(a, m, [7.0])",
        "np.putmask(a, m, b)",
        "np.fill_diagonal(a, 9.0)",
        "np.put_along_axis(a, np.array([[0], [1]]), 3.0, 1)",
        "np.add.at(a, ([0, 0], [1, 1]), 1.0)",
        "np.negative.at(a, [0])",
        "a.sort()",
        "a.sort(0)",
        "a.partition(1)",
        "a.put([1], 8.0)",
        "a.fill(2.5)",
        "np.nan_to_num(a, copy=False)",
        "np.multiply(a, b, a)",
        "np.add(a, 1, out=a, where=m)",
        "np.sum(a, 0, out=a[0])",
        "np.clip(a, 1, 2, out=a)",
        "np.round(a, 1, a)",
        "np.matmul(a, c, out=a)",
        "np.concatenate([a[:1], b[:1]], out=a)",
        "np.median(a, 0, out=a[1])",
        "np.divmod(a, 2, out=(a, b))",
        "np.cumsum(a, 1, out=a)",
        "a.T.sort()",
        "np.random.default_rng(3).shuffle(a)",
        "np.random.RandomState(3).shuffle(a)",
    ],
)
@pytest.mark.parametrize("defer", [1 << 40, 1], ids=["inline", "deferred"])
def test_functions_that_write_match_numpy(monkeypatch, text, defer):
    monkeypatch.setattr(SETTINGS, "defer_elements", defer)
    results = []
    for module in (np, numpy):
        draw = numpy.random.default_rng(0)
        names = {k: module.array(draw.normal(size=s)) for k, s in (("a", (2, 3)), ("b", (2, 3)), ("c", (3, 3)))}
        exec(text, names | {"np": module, "m": names["b"] > 0})
        results.append(names["a"])
    numpy.testing.assert_allclose(results[0].asnumpy(), results[1], rtol=1e-12)


@pytest.mark.parametrize("op", ["+=", "-=", "*=", "/=", "//=", "%=", "**=", "@="])
@pytest.mark.parametrize("operand", ["2", "1.5", "b", "b[0]", "a", "numpy.ones(3)", "numpy.float32(2)", "[1, 2, 3]", "i", "a.T.T"])
@pytest.mark.parametrize("defer", [1 << 40, 1], ids=["inline", "deferred"])
def test_operators_in_place(monkeypatch, op, operand, defer):
    monkeypatch.setattr(SETTINGS, "defer_elements", defer)
    results = []
    for module in (np, numpy):
        draw = numpy.random.default_rng(0)
        names = {"a": module.array(draw.uniform(1, 2, (3, 3))), "b": module.array(draw.uniform(1, 2, (3, 3)).astype("f"))}
        names |= {"i": module.array(draw.integers(1, 3, 3)), "numpy": numpy}
        names["alias"] = names["a"]
        try:
            exec(f"a {op} {operand}", names)
        except Exception as error:  # NumPy's and ours are compared
            results.append(error)
        else:
            assert names["a"] is names["alias"]
            results.append(names["a"])
    ours, numpys = results
    if isinstance(numpys, Exception):
        assert isinstance(ours, next(c for c in type(numpys).__mro__ if c.__module__ == "builtins"))
    else:
        numpy.testing.assert_allclose(ours.asnumpy(), numpys, rtol=1e-6)


def test_floating_point_warnings_of_small_arrays_are_numpys():
    a = np.array([0.0, 1.0])
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        1 / a
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        np.log(a)
    with numpy.errstate(divide="raise"), pytest.raises(FloatingPointError):
        1 / a


def test_arrays_of_strings_stay_numpy_arrays():
    a = np.array(["b", "a"])
    assert isinstance(a, numpy.ndarray)
    assert np.sort(a).tolist() == ["a", "b"]
    assert np.concatenate([a, a]).tolist() == ["b", "a", "b", "a"]
    assert np.array([1, 2]).astype(str).tolist() == ["1", "2"]


DRAWS = [
    "default_rng(5).normal(size=(2, 3))",
    "default_rng(5).integers(0, 10, 4)",
    "default_rng(5).permutation(a)",
    "default_rng(5).normal(a)",
    "default_rng(5).choice(a, 2)",
    "RandomState(5).rand(4)",
    "RandomState(5).randint(0, 10, 4)",
    "Generator(numpy.random.PCG64(3)).random(3)",
    "rand(3)",
    "normal(a)",
    "permutation(5)",
]


@pytest.mark.parametrize("draw", DRAWS)
def test_random_numbers_match_numpys_generators(draw):
    results = []
    for module in (np, numpy):
        module.random.seed(7)
        results.append(eval(f"module.random.{draw}", {"module": module, "numpy": numpy, "a": module.array([1.0, 2.0, 3.0])}))
    same(*results)


def test_generators_spawn_generators():
    made = np.random.default_rng(1)
    assert isinstance(made, np.random.Generator)
    assert [g.integers(9) for g in made.spawn(2)] == [g.integers(9) for g in numpy.random.default_rng(1).spawn(2)]


# devices


@pytest.fixture
def gpu(fake_gpus):
    return mx.gpu(1)


ON_A_DEVICE = listed("""
    a + 1; a.T; a.sum(); a[0]; a[[0, 1]]; a[a > 2]; np.exp(a); np.where(a > 1, a, 0); np.concatenate([a, [[1, 2, 3]]]); np.median(a)
    np.zeros_like(a); np.sort(a); np.take(a, [0]); np.std(a, 0); a @ a.T; np.linalg.inv(a @ a.T); np.pad(a, 1); a.astype('f')
    np.fmax(a, 1); [1, 2, 3] * a; np.average(a, 1, [1, 2, 3]); np.add(1, a, where=a > 2); np.inner(a, [1, 2, 3]); a == None; a.copy()
""")
MADE = listed("""
    np.array([1]); np.zeros(2); np.arange(3); np.random.default_rng(0).normal(size=2); np.linspace(0, 1, 3); np.hanning(3); np.eye(2)
    np.full(2, 3); np.empty(2); np.meshgrid([1], [2])[0]; np.add(1, 2); npx.random.bernoulli(0.5, size=3); np.sum([1, 2]); np.tri(3)
""")


@pytest.mark.parametrize("text", ON_A_DEVICE)
def test_functions_run_where_their_arrays_are(gpu, text):
    assert eval(text, {"np": np, "a": np.arange(1.0, 7.0, device=gpu).reshape(2, 3)}).context == gpu


@pytest.mark.parametrize("text", MADE)
def test_arrays_are_created_on_the_current_device(gpu, text):
    with gpu:
        assert eval(text, {"np": np, "npx": mx.npx}).context == gpu


def test_a_device_is_chosen_by_either_name(gpu):
    assert np.ones(2, device=gpu).context == gpu
    assert np.ones(2, ctx=gpu).as_in_ctx(mx.cpu()).context == mx.cpu()
    with gpu:
        assert np.ones(2, device="cpu").context == mx.cpu()


def test_views_and_writes_work_on_a_device(gpu):
    a, host = np.arange(6.0, device=gpu).reshape(2, 3), numpy.arange(6.0).reshape(2, 3)
    for x in (a, host):
        x.T[1] = 7
        x[:, ::-1][0] += 1
        x[x > 6] *= 2
        x[[0, 1], [2, 2]] = -1
        x += x.T[0].reshape(2, 1)
    same(a, host)


def test_recorded_results_stay_on_their_device(gpu):
    x = np.ones(3, device=gpu)
    x.attach_grad()
    for _ in range(3):
        with mx.autograd.record():
            y = x * 0.5
            y.wait_to_read()
            z = (1 - y * y) + np.tanh(y)
            z.wait_to_read()
        z.backward()
        assert [v.context for v in (y, z, x.grad)] == [gpu] * 3


def test_nan_to_num_replaces_an_infinity_by_the_largest_bfloat16():
    largest = float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)
    assert np.nan_to_num(np.array([numpy.inf, -numpy.inf], "bfloat16")).astype("float32").tolist() == [largest, -largest]


@pytest.mark.parametrize(("text", "most"), [("x + x", 1), ("x * 2", 1), ("2 - x", 1), ("-x", 1), ("np.exp(x)", 2)])
def test_an_operation_on_a_small_array_is_a_frame_or_two(text, most):
    code, names = compile(text, "<text>", "eval"), {"x": np.ones((2, 2), "float32"), "np": np}
    eval(code, names)
    called = [f for f in entered(lambda: eval(code, names)) if f != "<module>"]
    assert len(called) <= most, called


def test_draws_are_written_to_out():
    for name, options in (("random", {}), ("standard_normal", {}), ("standard_exponential", {"method": "inv"})):
        for dtype in ("float64", "float32"):
            theirs, ours = numpy.zeros((2, 3), dtype), np.zeros((2, 3), dtype)
            getattr(numpy.random.default_rng(0), name)(dtype=dtype, out=theirs, **options)
            assert getattr(np.random.default_rng(0), name)(dtype=dtype, out=ours, **options) is ours
            assert ours.tolist() == theirs.tolist()
    for size in (5, 70_000):
        shapes, x = numpy.arange(1.0, size + 1), np.zeros(size)
        assert np.random.default_rng(0).standard_gamma(np.array(shapes), None, "float64", x) is x
        assert x.tolist() == numpy.random.default_rng(0).standard_gamma(shapes).tolist()
        assert np.random.default_rng(0).random(None, "float64", x) is x
        assert x.tolist() == numpy.random.default_rng(0).random(size).tolist()
    x = np.zeros((3, 2))
    np.random.default_rng(0).random(out=x[1])
    assert x[1].tolist() == numpy.random.default_rng(0).random(2).tolist()
    assert x[::2].tolist() == [[0, 0], [0, 0]]
    with pytest.raises(ValueError, match="match"):
        np.random.default_rng(0).random(5, out=x[1])
    columns, theirs = np.zeros((3, 2)), numpy.zeros((3, 2))
    numpy.random.default_rng(0).random(out=theirs.T)
    assert np.random.default_rng(0).random(out=columns.T).tolist() == theirs.T.tolist()
    assert columns.tolist() == theirs.tolist()


def test_an_array_without_axes_stays_a_scalar_when_it_is_read():
    x, large = np.ones(3), np.ones((600, 600))
    for total in (x.sum(), x[:1].sum(), large.sum() + 1.0, np.array(5.0)):
        found = [np.isscalar(total)]
        for look in (str, repr, float, hash, lambda v: v.copy(), lambda v: v.attach_grad()):
            look(total)
            found.append(np.isscalar(total))
        assert found == [True] * 7
    assert [np.isscalar(v) for v in (x, large, [1.0], None, 2, "a", numpy.float32(1), numpy.array(1))] == [False] * 4 + [True] * 3 + [False]


@pytest.mark.parametrize("shape", [(3,), (2, 3), (300, 300)])
@pytest.mark.parametrize("name", ["concatenate", "stack", "vstack", "hstack", "dstack", "column_stack"])
def test_arrays_to_join_without_a_list(name, shape):
    a, b = np.ones(shape), numpy.ones(shape)
    for pair in ((a, a), (a, b)):
        with pytest.raises(TypeError, match=f"pass the arrays as one list or tuple: {name}"):
            getattr(np, name)(*pair)


@pytest.mark.parametrize("call", ["zeros(3, 4)", "ones(3, 4)", "empty(3, 4)", "full(3, 4, 5)"])
def test_sizes_without_a_tuple(call):
    with pytest.raises(TypeError, match=r"as a data type: .*; pass the shape as a tuple: \w+\(\(3, 4\)"), mx.cpu(0):
        eval(f"np.{call}")
    with pytest.raises(TypeError, match="as a data type"):
        eval(f"numpy.{call}")


ORDERING = {
    "partition": lambda np, x: np.partition(x, 2),
    "argpartition": lambda np, x: np.sort(np.argpartition(x, 3)[:4]),
    "argpartition, method": lambda np, x: np.sort(x.argpartition(3)[:4]),
    "lexsort": lambda np, x: np.lexsort((x,)),
    "searchsorted": lambda np, x: np.searchsorted(np.sort(x), x),
    "searchsorted, method": lambda np, x: np.sort(x).searchsorted(x),
    "digitize": lambda np, x: np.digitize(x, np.sort(x[~np.isnan(x)])),
    "median": lambda np, x: np.median(x),
    "percentile": lambda np, x: np.percentile(x, 40),
    "nanmedian": lambda np, x: np.nanmedian(x),
    "nanquantile": lambda np, x: np.nanquantile(x, 0.5),
    "unique": lambda np, x: np.unique(x),
    "unique, counted": lambda np, x: np.unique(x, return_counts=True)[1],
    "unique_inverse": lambda np, x: np.unique_inverse(x).inverse_indices,
    "union1d": lambda np, x: np.union1d(x, x + 1),
    "setdiff1d": lambda np, x: np.setdiff1d(x, x[:2]),
    "isin": lambda np, x: np.isin(x, x[:3]),
}


@pytest.mark.parametrize("name", ORDERING)
def test_bfloat16_with_nan_is_ordered_as_float32(name):
    """NumPy orders bfloat16 by a comparison that leaves NaN anywhere."""
    values = numpy.array([3, numpy.nan, 1, 2, numpy.nan, 0, 4, -1], numpy.float32)
    found = ORDERING[name](np, np.array(values, dtype="bfloat16"))
    want = ORDERING[name](numpy, values)
    numpy.testing.assert_allclose(found.asnumpy().astype(want.dtype), want, rtol=2**-8)
    assert found.dtype.name == ("bfloat16" if want.dtype == numpy.float32 else want.dtype.name)


@pytest.mark.parametrize("name", ["add", "sqrt", "divmod", "matmul", "hypot"])
def test_a_ufunc_describes_itself_as_numpys(name):
    ours, numpys = getattr(np, name), getattr(numpy, name)
    for attribute in ("nin", "nout", "nargs", "ntypes", "types", "signature", "identity"):
        assert getattr(ours, attribute) == getattr(numpys, attribute), attribute
    dtypes = (numpy.dtype("float32"),) * numpys.nin + (None,) * numpys.nout
    assert ours.resolve_dtypes(dtypes) == numpys.resolve_dtypes(dtypes)
