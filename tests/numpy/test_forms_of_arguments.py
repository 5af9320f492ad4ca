"""Axes, sizes and counts in every form that NumPy takes: its scalars, arrays without axes, tuples; and what it refuses at the call."""

import numpy
import pytest

from twofold import autograd, np
from twofold.config import SETTINGS

SIZES = [1, 1 << 40]


@pytest.fixture(params=SIZES, ids=["deferred", "inline"])
def defer(request, monkeypatch):
    """Operations wait in the window, or run at once."""
    monkeypatch.setattr(SETTINGS, "defer_elements", request.param)


def operands_of(xp):
    generator = numpy.random.default_rng(0)
    m, t = generator.normal(size=(6, 8)), generator.normal(size=(3, 4, 5))
    return {
        "np": xp, "numpy": numpy, "m": xp.array(m), "t": xp.array(t), "z": xp.array(t + 1j * t[::-1]), "i": xp.array([[0, 2], [3, 1]]),
        "one": numpy.int64(1), "total": xp.array([0, 1, 1]).sum(),
    }  # fmt: skip


def found_and_wanted(text):
    """The results of an expression in ``twofold.np`` and in NumPy."""
    return eval(text, operands_of(np)), eval(text, operands_of(numpy))


AXES = [
    "np.expand_dims(m, one)",
    "np.flip(m, one)",
    "np.moveaxis(t, one, -one)",
    "np.moveaxis(t, [one], [0])",
    "np.squeeze(m[:, None], one)",
    "np.rot90(t, one, (0, one))",
    "np.split(m, 2, numpy.array(1))[1]",
    "np.array_split(m, one + 2, total - 1)[1]",
    "np.transpose(t, numpy.array([2, 0, 1]))",
    "t.transpose(numpy.array([2, 0, 1]))",
    "np.tensordot(m, m.T, one)",
    "np.tensordot(m, m, (one, one))",
    "np.tensordot(m, m, numpy.array([[0], [0]]))",
    "np.broadcast_to(m[0, :1], numpy.int64(5))",
    "np.broadcast_to(m[0], numpy.array([2, 8]))",
    "np.unstack(m, axis=one)[2]",
    "np.expand_dims(m, total - 1)",
    "np.moveaxis(t, total - 1, 0)",
    "np.flip(m, total - 1)",
    "np.array_split(m, total)[1]",
    "np.split(m, total)[1]",
    "np.array_split(m, 2.0)[0]",
    "np.hsplit(m, numpy.array([3]))[1]",
    "np.random.default_rng(0).permutation(total + 5)",
    "np.random.RandomState(0).permutation(total + 5)",
    "np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0], [0, 1]], size=total)",
]
NORMS = [
    "np.linalg.vector_norm(t, axis=(0, 1))",
    "np.linalg.vector_norm(t, axis=(2, 0), ord=3, keepdims=True)",
    "np.linalg.vector_norm(t, axis=(0, 1, 2), ord=1)",
    "np.linalg.vector_norm(t, ord=numpy.inf, keepdims=True)",
    "np.linalg.vector_norm(z, axis=(0, 2))",
    "np.linalg.vector_norm(i, axis=(-1, 0))",
    "np.linalg.vector_norm(t[:0], axis=(0, 1))",
    "np.linalg.vector_norm(m, axis=one)",
]
AVERAGES = [
    "np.average(m, (0,), [1, 2, 3, 4, 5, 6])",
    "np.average(m, one, np.arange(8))",
    "np.average(t, (0, 1), np.arange(12).reshape(3, 4))",
    "np.average(t, (2, 0), np.arange(15).reshape(5, 3), keepdims=True)",
    "np.average(t, (-1, 1), np.arange(20).reshape(5, 4), True)[1]",
    "np.average(z, (0, 1), np.arange(12).reshape(3, 4))",
    "np.var(m * 3, 0, int)",
]


@pytest.mark.usefixtures("defer")
@pytest.mark.parametrize("text", AXES + NORMS + AVERAGES)
def test_results_are_numpys(text):
    found, wanted = found_and_wanted(text)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    numpy.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-13)


REFUSED = [
    "np.pad(m, -1)",
    "np.pad(m, ((1, 2), (3, -4)))",
    "np.pad(m, 1.5)",
    "np.average(m, 1, np.zeros(8))",
    "np.average(m, 1, np.arange(8) * 0.0)",
    "np.average(m, weights=np.zeros((6, 8)))",
    "np.average(t, (0, 1), np.ones((4, 3)))",
    "np.average(m, (0, 0), np.ones((6, 6)))",
    "np.linalg.vector_norm(t, axis=(0, 0))",
    "np.expand_dims(m, 1.0)",
    "np.split(m, total + 2)",
    "np.hsplit(m[0, 0], 2)",
    "np.std(m, 0, int)",
    "np.linalg.norm(t[:0], 1, (0, 1, 2))",
    "np.linalg.norm(t[:0], numpy.inf, ())",
]


@pytest.mark.usefixtures("defer")
@pytest.mark.parametrize("text", REFUSED)
def test_what_numpy_refuses_is_refused_at_the_call(text):
    with pytest.raises(Exception) as refused:  # noqa: PT011  # NumPy's error says which
        eval(text, operands_of(numpy))
    builtin = next(c for c in type(refused.value).__mro__ if c.__module__ == "builtins")
    with pytest.raises(builtin):
        eval(text, operands_of(np))


@pytest.mark.usefixtures("defer")
@pytest.mark.parametrize(
    "text",
    [
        "np.linalg.norm(t, 3 * one, 1)",
        "np.linalg.vector_norm(t, axis=(0, 2), ord=3)",
        "np.average(t, (2, 0), np.arange(15.0).reshape(5, 3))",
    ],
)
def test_norms_and_averages_have_gradients(text):
    names = operands_of(np)
    t, host = names["t"], operands_of(numpy)
    t.attach_grad()
    with autograd.record():
        y = eval(text, names)
        total = (y.reshape(-1) * np.arange(1.0, y.size + 1)).sum()
    total.backward()
    step, want = 1e-6, numpy.empty_like(host["t"])
    for place in numpy.ndindex(want.shape):
        ends = []
        for change in (step, -step):
            moved = host["t"].copy()
            moved[place] += change
            y = eval(text, host | {"t": moved})
            ends.append((y.reshape(-1) * numpy.arange(1.0, y.size + 1)).sum())
        want[place] = (ends[0] - ends[1]) / (2 * step)
    numpy.testing.assert_allclose(t.grad.asnumpy(), want, atol=1e-8)


HALVES = [
    "np.mean(h, where=h > 20)",
    "np.mean(h.reshape(2, -1), axis=1, where=h.reshape(2, -1) > 20)",
    "np.nanmean(h / 64)",
    "np.nanmean(np.where(h > 20, h / 64, np.nan))",
    "np.mean(h, where=h > 0, keepdims=True)",
]


@pytest.mark.parametrize("text", HALVES)
def test_means_of_many_halves_are_finite(text):
    # 70,000 elements: neither their sum nor their number is a finite half
    h = numpy.random.default_rng(0).uniform(10, 30, 70_000).astype("float16")
    found, wanted = eval(text, {"np": np, "h": np.array(h)}), eval(text, {"np": numpy, "h": h})
    assert found.dtype == wanted.dtype == "float16"
    numpy.testing.assert_allclose(found.asnumpy().astype(float), wanted.astype(float), rtol=2e-3)


WRITTEN = [
    "np.divmod(x, y, x, y)",
    "np.divmod(x, y, y, x)",
    "np.divmod(x[1:], y[1:], x[:-1], y[:-1])",
    "np.modf(x, x)",
    "np.modf(x, y, x)",
    "np.frexp(x, x)",
    "np.frexp(x, out=(x, None))",
]


@pytest.mark.parametrize("size", [5, 70_000])
@pytest.mark.parametrize("text", WRITTEN)
def test_one_of_several_results_may_take_the_place_of_an_operand(text, size):
    found, wanted = [eval(f"[{text}, x, y]", {"np": xp, "x": xp.arange(size) + 1.5, "y": xp.arange(size) % 7 + 2.0}) for xp in (np, numpy)]
    for got, want in zip([*found[0], *found[1:]], [*wanted[0], *wanted[1:]], strict=True):
        numpy.testing.assert_array_equal(got.asnumpy(), want)
    assert [r is x for r in found[0] for x in found[1:]] == [r is x for r in wanted[0] for x in wanted[1:]]


@pytest.mark.parametrize("shape", [(70000,), (3, 70000), (2, 500, 100)])
@pytest.mark.parametrize("function", [np.sum, np.add.reduce, np.ndarray.sum])
def test_a_sum_refuses_an_axis_that_the_array_lacks(shape, function):
    for lacking in (len(shape), -len(shape) - 1, (0, len(shape) + 1)):
        for x in (np.ones(shape), np.ones(shape) * 2.0):
            with pytest.raises(ValueError, match="axis"):
                function(x, axis=lacking)


@pytest.mark.parametrize("size", [4, 70000])
@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("float32", 0.1, "float64"), ("float32", "float64", 0.1), ("float32", 0.1, numpy.float64(0.7)), ("uint8", 300, "int64"),
        ("uint8", 300, numpy.int64(1000)), ("uint8", 300, 1000.0), ("int64", 10**20, 1e21), ("bool", -0.0, "float32"),
        ("bool", 1, "uint32"), ("int8", "uint8", "float16"),
    ],
)  # fmt: skip
def test_clip_compares_in_the_common_dtype_of_array_and_limits(size, kind, low, high):
    values = numpy.arange(size) % 2

    def clipped(xp):
        limits = [xp.array((values + 1).astype(v)) if isinstance(v, str) else v for v in (low, high)]
        return xp.clip(xp.array(values.astype(kind)), *limits)

    found, want = clipped(np), clipped(numpy)
    assert found.dtype == want.dtype
    numpy.testing.assert_array_equal(found.asnumpy(), want)
