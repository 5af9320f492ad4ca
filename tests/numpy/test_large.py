"""Large arrays of `twofold.np`: what NumPy computes at once, and how often a view is copied."""

import numpy
import pytest

import twofold as mx
from asv_benchmarks.timing import frames
from twofold import autograd, np
from twofold.config import SETTINGS
from twofold.imperative.counters import COUNTERS
from twofold.imperative.sites import ALONE, PROBE

from tests.probe import refuse_copies_of_views

SIDE = 400


@pytest.fixture
def values():
    return numpy.random.default_rng(0).random((SIDE, SIDE))


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("kind", [None, "stable", "heapsort"])
def test_sort_is_numpys_for_ready_pending_and_transposed_arrays(values, axis, kind):
    x = np.array(values)
    for own, base in ((x, values), (x * 2.0, values * 2.0), (x.T, values.T)):
        numpy.testing.assert_array_equal(np.sort(own, axis, kind).asnumpy(), numpy.sort(base, axis, kind))


def test_sort_has_a_gradient(values):
    x, weights = np.array(values), np.array(values[::-1].copy())
    x.attach_grad()
    with mx.autograd.record():
        y = (np.sort(x, 1) * weights).sum()
    y.backward()
    want = numpy.empty_like(values)
    numpy.put_along_axis(want, numpy.argsort(values, 1), values[::-1], 1)
    numpy.testing.assert_allclose(x.grad.asnumpy(), want)


@pytest.mark.parametrize("function", [np.sort, np.argsort])
def test_sort_refuses_an_unknown_kind(values, function):
    with pytest.raises(mx.MXNetError, match="kind"):
        function(np.array(values), kind="unknown")


@pytest.mark.parametrize("reduce", ["sum", "max", "min", "prod", "mean", "any", "all", "argmax"])
@pytest.mark.parametrize("axis", [0, 1, -1, (0,), (1, 0), None])
def test_a_reduction_of_a_transposed_array_reads_its_memory(values, reduce, axis, monkeypatch):
    if reduce.startswith("arg") and not isinstance(axis, int):
        return  # counts the elements in their order
    view = np.array(values).T
    with monkeypatch.context() as patch:
        refuse_copies_of_views(patch)
        found, kept = getattr(view, reduce)(axis), getattr(view, reduce)(axis, keepdims=True)
    numpy.testing.assert_allclose(found.asnumpy(), getattr(values.T, reduce)(axis))
    assert kept.shape == getattr(values.T, reduce)(axis, keepdims=True).shape
    numpy.testing.assert_array_equal(kept.asnumpy().ravel(), found.asnumpy().ravel())


def test_a_reduction_of_permuted_axes_that_are_left_in_another_order_is_right(values):
    cube = values.reshape(SIDE, 40, 10)
    for axes in ((2, 0, 1), (1, 2, 0), (2, 1, 0)):
        for axis in (0, 1, 2, (0, 2)):
            found = np.array(cube).transpose(axes).sum(axis)
            numpy.testing.assert_allclose(found.asnumpy(), cube.transpose(axes).sum(axis))


@pytest.mark.parametrize("text", ["A.T.sum(1)", "A.T.mean(0)", "A.T.sum()"])
def test_reductions_of_transposed_arrays_have_the_same_bits_in_every_mode(values, text):
    x = np.array(values)
    found = [eval(text, {"A": x}).asnumpy(), eval(text, {"A": x * 1.0}).asnumpy()]
    x.attach_grad()
    with mx.autograd.record():
        recorded = eval(text, {"A": x})
    recorded.backward()
    for other in (found[1], recorded.asnumpy()):
        numpy.testing.assert_array_equal(other, found[0])


@pytest.mark.parametrize("text", ["A.T + A", "A[1:, 1:] - A[:-1, :-1]", "A[::2] * 2.0", "A.T > 0.5", "-A[:, ::-1]", "1.0 - A.T", "A + A.T"])
def test_an_operation_reads_a_view_with_gaps_where_it_is(values, text, monkeypatch):
    with monkeypatch.context() as patch:
        refuse_copies_of_views(patch)
        found = eval(text, {"A": np.array(values)})
    numpy.testing.assert_array_equal(found.asnumpy(), eval(text, {"A": values}))
    assert found.asnumpy().flags.c_contiguous


def test_views_of_large_arrays_enter_one_function(values):
    env = {"A": np.array(values), "x": np.array(values.ravel())}
    for text in ("x[1:-1]", "x[::2]", "A.T", "A[:, 0]", "A[1:-1, 1:-1]", "x.reshape(SIDE, SIDE)"):
        code = compile(text.replace("SIDE", str(SIDE)), "<text>", "eval")
        assert frames(lambda code=code: eval(code, env)) - 1 == 1, text
    assert frames(lambda: env["A"].T[3]) == 2


# operations that nothing joins


def test_what_is_read_after_every_operation_stops_waiting(values):
    x = np.array(values)
    COUNTERS.reset()
    for k in range(3 * ALONE):
        y = x * (k + 2.0)
        numpy.testing.assert_array_equal(y.asnumpy(), values * (k + 2.0))
    assert COUNTERS.windows == ALONE
    for _ in range(PROBE):
        (x * 3.0).wait_to_read()  # another site
    assert COUNTERS.windows == 2 * ALONE


def test_a_site_whose_operations_are_joined_again_waits_again(values):
    x = np.array(values)

    def scaled(v):
        return v * 3.0

    for _ in range(2 * ALONE):
        scaled(x).wait_to_read()
    COUNTERS.reset()
    for _ in range(2 * PROBE):
        y = scaled(x) + 1.0
        y.wait_to_read()
    assert COUNTERS.fused >= 2 * PROBE - 1 - (PROBE - ALONE)
    numpy.testing.assert_array_equal(y.asnumpy(), values * 3.0 + 1.0)


def test_chains_wait_however_often_they_run(values):
    x = np.array(values)
    COUNTERS.reset()
    for _ in range(3 * ALONE):
        (x * 2.0 + 1.0).wait_to_read()
    assert COUNTERS.windows == 3 * ALONE
    assert COUNTERS.inline == 0


def test_few_simple_operations_that_spare_little_stop_waiting(values):
    x, both = np.array(values), np.array(values > 0.0)
    much = np.array(numpy.tile(values, 40))
    much_of_both = np.array(numpy.tile(values > 0.0, 40))

    def between(x, m):
        return m & (x < 0.5)

    COUNTERS.reset()
    for _ in range(3 * ALONE):
        y = between(x, both)
        numpy.testing.assert_array_equal(y.asnumpy(), (values > 0.0) & (values < 0.5))
    assert COUNTERS.windows == ALONE
    COUNTERS.reset()
    y = between(much, much_of_both)
    numpy.testing.assert_array_equal(y.asnumpy(), numpy.tile((values > 0.0) & (values < 0.5), 40))
    assert COUNTERS.fused == 2  # what was counted for arrays of moderate size says nothing of larger ones


@pytest.mark.parametrize(
    "text",
    [
        "x + y", "x.sum()", "np.exp(x)", "x.astype('float32')", "np.where(x > y, x, y)", "x.sum(0)", "np.sqrt(x)", "x ** 2",
        "(x > y).any()",
    ],
)  # fmt: skip
def test_results_are_the_same_before_and_after_a_site_stops_waiting(values, text):
    env = {"np": np, "x": np.array(values), "y": np.array(values[::-1].copy())}
    code = compile(text, "<text>", "eval")
    found = [eval(code, env).asnumpy() for _ in range(2 * ALONE)]
    for other in found[1:]:
        numpy.testing.assert_array_equal(other, found[0])


def test_an_array_is_written_in_place_once_its_aliases_are_dead(values):
    x = np.array(values.ravel())
    COUNTERS.reset()
    want = values.ravel().copy()
    for _ in range(3):
        x[1:-1] = 0.5 * (x[:-2] + x[2:])
        want[1:-1] = 0.5 * (want[:-2] + want[2:])
    assert COUNTERS.copied == 0
    numpy.testing.assert_array_equal(x.asnumpy(), want)


# writes


@pytest.mark.parametrize(
    "text",
    [
        "x *= 0.5", "x[1:] += x[:-1]", "x[::2] -= 1.0", "A[:, 0] += 1.0", "A.T[0] += A[0]", "A[1:] += A[:-1]", "A += A.T",
        "A[:, ::2] *= A[:, 1::2]",
        "np.add(x, y, out=z)", "np.multiply(x, 2.0, out=x)", "np.subtract(x[1:], x[:-1], out=z[1:])", "np.add(A, A.T, out=A)",
        "np.maximum(x, y, out=(z,))", "x[:] = y", "x[1:] = x[:-1]", "A[1:-1, 1:-1] = A.T[2:, 2:]",
    ],
)  # fmt: skip
def test_large_arrays_are_written_in_place(values, text):
    both = []
    for module in (np, numpy):
        env = {"np": module, "x": module.array(values.ravel()), "y": module.array(values.T.ravel()), "A": module.array(values)}
        env["z"] = module.zeros(values.size)
        before = {name: env[name] for name in "xyzA"}
        mx.nd.waitall()
        COUNTERS.reset()
        exec(text, env)
        if module is np:
            assert COUNTERS.copied == 0
            assert COUNTERS.deferred == 0
        assert all(env[name] is before[name] for name in "xyzA")
        both.append([numpy.array(env[name]) for name in "xyzA"])
    for own, theirs in zip(*both, strict=True):
        numpy.testing.assert_array_equal(own, theirs)


def test_writes_in_place_keep_what_others_still_see(values):
    x = np.array(values.ravel())
    doubled = x[1:] * 2.0  # waits, and reads the memory
    x[5:] += 1.0
    numpy.testing.assert_array_equal(doubled.asnumpy(), values.ravel()[1:] * 2.0)
    x.attach_grad()
    with mx.autograd.record():
        y = (x * x).sum()
    before = x.asnumpy()
    x[:100_000] *= 0.0
    y.backward()
    numpy.testing.assert_array_equal(x.grad.asnumpy(), 2 * before)


def test_the_target_of_a_ufunc_may_be_recorded_pending_or_of_another_dtype(values):
    x, z = np.array(values), np.array(values) * 2.0
    assert np.add(x, 1.0, out=z) is z
    numpy.testing.assert_array_equal(z.asnumpy(), values + 1.0)
    counts = np.zeros(values.shape, dtype="int64")
    with pytest.raises(mx.MXNetError, match="cast"):
        np.add(x, 1.0, out=counts)
    with pytest.raises(mx.MXNetError, match="shape"):
        np.add(x, 1.0, out=np.zeros(3))
    x.attach_grad()
    with mx.autograd.record():
        np.multiply(x, 3.0, out=z)
        total = z.sum()
    total.backward()
    numpy.testing.assert_array_equal(x.grad.asnumpy(), numpy.full(values.shape, 3.0))


# products


@pytest.mark.parametrize(
    "text", ["A.T @ B", "A @ B.T", "A.T @ B.T", "A.T @ A", "A @ A.T", "C @ C.mT", "np.matmul(A.T, B)", "np.dot(A, B.T)"]
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_products_read_transposed_matrices_where_they_are(values, dtype, text, monkeypatch):
    def arrays(module):
        big = module.array((values * 10).astype(dtype))
        return {"np": module, "A": big, "B": big[::-1] + 1, "C": big.reshape(10, 40, SIDE)}

    env, base = arrays(np), arrays(numpy)
    mx.nd.waitall()
    with monkeypatch.context() as patch:
        refuse_copies_of_views(patch)
        inline = eval(text, env)
    tolerance = {"rtol": 1e-5} if dtype == "float32" else {"rtol": 1e-12}
    numpy.testing.assert_allclose(inline.asnumpy(), eval(text, base), **tolerance)
    pending = eval(text, {"np": np} | {name: env[name] * 1 for name in "ABC"})
    numpy.testing.assert_array_equal(pending.asnumpy(), inline.asnumpy())
    if dtype != "int64":
        for name in "ABC":
            env[name].attach_grad()
        with mx.autograd.record():
            recorded = eval(text, env)
        numpy.testing.assert_array_equal(recorded.asnumpy(), inline.asnumpy())
        recorded.backward()


# what moves, compares and counts elements


@pytest.mark.parametrize(
    "text",
    [
        "np.argsort(x)", "np.argsort(k)", "A.argsort(0)", "np.take(x, [3, 1, -1])", "A.take([0, 2], axis=1)", "np.repeat(x, 2)",
        "np.roll(x, 3)", "np.roll(A, 1, axis=0)", "np.concatenate([x, y])", "np.vstack([A, A.T])", "np.stack([x, y], axis=1)",
        "np.tile(x, 2)", "np.pad(A, 1)",
        "np.diff(x)", "np.diff(A, axis=0)", "(x > 0.5).any()", "x.max()", "A.T.min(0)", "A[::2].argmax(1)", "np.count_nonzero(x > 0.5)",
        "A.T.copy()", "A.T.flatten()", "x.astype('float32')", "np.searchsorted(x[:50], y)", "np.unique(k)", "np.nonzero(x > 0.5)",
        "np.tril(A)", "np.array(A.T)", "np.delete(x, 3)", "np.append(x, y)", "np.resize(x, 7)",
    ],
)  # fmt: skip
def test_what_moves_elements_of_a_large_array_is_numpys_at_once(values, text):
    def arrays(module):
        keys = module.array((values.ravel() * 50).astype("int64"))
        return {"np": module, "x": module.array(values.ravel()), "y": module.array(values.T.ravel()), "A": module.array(values), "k": keys}

    found, want = eval(text, arrays(np)), eval(text, arrays(numpy))
    for own, theirs in zip(*[v if isinstance(v, tuple) else (v,) for v in (found, want)], strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(own), theirs)
        assert numpy.asarray(own).dtype == theirs.dtype
    pending = eval(text, {name: v if name == "np" else v * 1 for name, v in arrays(np).items()})
    for own, other in zip(*[v if isinstance(v, tuple) else (v,) for v in (found, pending)], strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(own), numpy.asarray(other))


def test_results_do_not_share_the_memory_of_large_arguments(values):
    x = np.array(values)
    for result in (np.concatenate([x]), np.array(x), x.copy(), x.astype("float64"), np.roll(x, 0), np.repeat(x, 1).reshape(SIDE, SIDE)):
        result[0, 0] = -1.0
        assert x[0, 0] == values[0, 0]
    for result in (x.T, x.reshape(-1), np.ravel(x)):
        result[(0,) * result.ndim] = -1.0
        assert x[0, 0] == -1.0
        x[0, 0] = values[0, 0]


@pytest.mark.parametrize("shape", [(3, 4), (70, 80), (300, 310)])
@pytest.mark.parametrize(
    "text", ["sum(0)", "sum(1)", "sum(-1)", "max(1)", "min(-2)", "mean(0)", "any(1)", "prod(1)", "cumsum(0)", "argmax(1)"]
)
def test_reductions_of_transposed_matrices_have_the_same_bits_in_every_mode(shape, text):
    host = numpy.random.default_rng(5).normal(size=shape) * 0.1 + 1.0
    A = np.array(host)
    now = numpy.asarray(eval(f"A.T.{text}", {"A": A}))
    numpy.testing.assert_allclose(now, eval(f"A.T.{text}", {"A": host}), rtol=1e-13)
    if shape[0] == 70 and text != "cumsum(0)":
        numpy.testing.assert_array_equal(now, eval(f"A.T.{text}", {"A": host}))
    numpy.testing.assert_array_equal(now, numpy.asarray(eval(f"A.T.{text}", {"A": A + 0.0})))
    A.attach_grad()
    with mx.autograd.record():
        recorded = eval(f"A.T.{text}", {"A": A})
    numpy.testing.assert_array_equal(now, recorded.asnumpy())


def test_reductions_of_transposed_blocks_are_numpys():
    host = numpy.random.default_rng(6).normal(size=(20, 30, 40))
    A = np.array(host)
    for axis in (0, 1, 2, -1):
        numpy.testing.assert_allclose(numpy.asarray(A.T.sum(axis)), host.T.sum(axis), rtol=1e-12)
        numpy.testing.assert_array_equal(numpy.asarray(A.T.max(axis)), host.T.max(axis))


@pytest.mark.parametrize("shape", [(400, 300), (1024, 1024), (4, 200, 96), (2, 3, 130, 90)], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8"])
def test_transposed_views_are_numpys(shape, dtype):
    draw = numpy.random.default_rng(0)
    a = (draw.random(shape) * 100).astype(dtype)
    x = np.array(a)
    axes = (0, *range(2, len(shape)), 1) if len(shape) > 2 else (1, 0)
    for view in (lambda v: v.transpose(axes), lambda v: v.transpose(axes)[::-1], lambda v: v.transpose(axes)[..., ::2], lambda v: v.T[1:]):
        want, have = view(a), view(x)
        for function in (
            lambda v: v + v,
            lambda v: v * 2,
            lambda v: v.copy(),
            lambda v: v.reshape(-1),
            lambda v: v > 3,
        ):
            numpy.testing.assert_array_equal(function(have).asnumpy(), function(want))
        numpy.testing.assert_array_equal(np.ascontiguousarray(have).asnumpy(), want)
        copied = have.copy()
        copied[...] = 0
        numpy.testing.assert_array_equal(x.asnumpy(), a)


@pytest.mark.parametrize("weights", ["int8", "float32", "bool"])
@pytest.mark.parametrize("dtype", ["int8", "bool", "float32", "float16"])
def test_a_weighted_average_has_numpys_dtype(monkeypatch, dtype, weights):
    monkeypatch.setattr(SETTINGS, "defer_elements", 1)
    x, w = numpy.array([1, 0, 3]).astype(dtype), numpy.array([1, 2, 1]).astype(weights)
    found, want = np.average(np.array(x), weights=np.array(w)), numpy.average(x, weights=w)
    assert (found.dtype, found.item()) == (want.dtype, want.item())


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint64"])
@pytest.mark.parametrize("text", ["x / k", "k / x", "x + k", "k - x", "x * k", "x // k", "x < k", "k == x", "x & k", "np.add(x, k)"])
def test_integers_out_of_range_are_numpys_after_others_have_waited(text, dtype):
    given = (numpy.arange(100_000) % 5 + 1).astype(dtype)
    x = np.array(given)
    for number in (3, 1, 2, 128, 256, -1, 70_000, 1 << 40, 1 << 63, 1 << 64, 3):
        try:
            want = eval(text, {"np": numpy, "x": given, "k": number})
        except OverflowError:
            with pytest.raises(OverflowError):
                eval(text, {"np": np, "x": x, "k": number})
            continue
        found = eval(text, {"np": np, "x": x, "k": number})
        assert found.dtype == want.dtype
        numpy.testing.assert_array_equal(found.asnumpy(), want)


@pytest.mark.parametrize("size", [4, 100_000])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "options",
    [
        {"nan": numpy.float64(1.5)},
        {"nan": numpy.int64(300), "posinf": numpy.float32(2)},
        {"nan": numpy.inf, "posinf": 5.0},
        {"nan": -numpy.inf, "neginf": 7, "posinf": -numpy.inf},
    ],
)
def test_replacements_of_nan_keep_the_dtype_and_are_not_replaced(options, dtype, size):
    given = numpy.resize(numpy.array([numpy.nan, numpy.inf, -numpy.inf, 1], dtype), size)
    want = numpy.nan_to_num(given, **options)
    found = [np.nan_to_num(np.array(given), **options)]
    x = np.array(given)
    x.attach_grad()
    with autograd.record():
        found.append(np.nan_to_num(x, **options))
    for result in found:
        assert result.dtype == want.dtype
        numpy.testing.assert_array_equal(result.asnumpy(), want)


@pytest.mark.parametrize(
    "text", ["x * 2.5", "x + 1.5", "2.5 - x", "np.multiply(x, 2.5)", "np.maximum(0.5, x)", "x == 0.1", "x ** 1.5", "x + x"]
)
@pytest.mark.parametrize("size", [5, 5000, 70_000])
def test_bfloat16_beside_numbers_stays_what_it_is(text, size):
    env = {"np": np, "x": np.full(size, 0.1).astype("bfloat16")}
    code = compile(text, "<text>", "eval")
    found = [eval(code, env) for _ in range(2 * ALONE)]
    assert {a.dtype.name for a in found} == {"bool" if "==" in text else "bfloat16"}
    assert len({a.asnumpy().tobytes() for a in found}) == 1
    if "==" in text:
        assert bool(found[0].all())
