"""Large arrays of `twofold.np`: what NumPy computes at once, and how often a view is copied."""

import numpy
import pytest

import twofold as mx
from asv_benchmarks.timing import frames
from twofold import np
from twofold.imperative.array import ViewMixin
from twofold.imperative.counters import COUNTERS
from twofold.imperative.sites import ALONE, PROBE, SITES

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


def test_sort_refuses_an_unknown_kind(values):
    with pytest.raises(mx.MXNetError, match="kind"):
        np.sort(np.array(values), kind="unknown")


@pytest.mark.parametrize("reduce", ["sum", "max", "min", "prod", "mean", "any", "all", "argmax"])
@pytest.mark.parametrize("axis", [0, 1, -1, (0,), (1, 0), None])
def test_a_reduction_of_a_transposed_array_reads_its_memory(values, reduce, axis, monkeypatch):
    if reduce.startswith("arg") and not isinstance(axis, int):
        return  # counts the elements in their order
    view = np.array(values).T
    with monkeypatch.context() as patch:
        patch.setattr(ViewMixin, "_v", property(lambda self: pytest.fail("a copy")))
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
        patch.setattr(ViewMixin, "_v", property(lambda self: pytest.fail("a copy")))
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
    SITES.clear()
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
    SITES.clear()

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
    SITES.clear()
    COUNTERS.reset()
    for _ in range(3 * ALONE):
        (x * 2.0 + 1.0).wait_to_read()
    assert COUNTERS.windows == 3 * ALONE
    assert COUNTERS.inline == 0


@pytest.mark.parametrize(
    "text", ["x + y", "x.sum()", "np.exp(x)", "x.astype('float32')", "np.where(x > y, x, y)", "x.sum(0)", "np.sqrt(x)"]
)
def test_results_are_the_same_before_and_after_a_site_stops_waiting(values, text):
    env = {"np": np, "x": np.array(values), "y": np.array(values[::-1].copy())}
    SITES.clear()
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
