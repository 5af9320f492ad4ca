"""New arrays are in row-major order, whatever the order of what they were computed from, so that a reshaped view shows their memory.

Element-wise operations on large transposed arrays give transposed arrays.
"""

import numpy
import pytest

import twofold as mx
from twofold import autograd, cpu, np
from twofold.config import SETTINGS
from twofold.errors import ParameterError
from twofold.imperative.cell import is_view

FUNCTIONS = {
    "negative": lambda x: -x,
    "sum": lambda x: x + x,
    "comparison": lambda x: x < 3,
    "product": lambda x: np.swapaxes(x, -1, -2) @ x,
    "batched product": lambda x: np.swapaxes(np.stack([x, x], 1), 0, 1) @ np.ones((x.shape[-1], 2)),
    "sort": lambda x: np.sort(x, axis=0),
    "diff": lambda x: np.diff(x, axis=0),
    "rounded": lambda x: np.round(x),
    "gathered": lambda x: x[..., [1, 0]],
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("defer", [8, 1 << 40], ids=["deferred", "inline"])
def test_a_result_of_transposed_arrays_is_written_through_a_reshaped_view(monkeypatch, name, defer):
    monkeypatch.setattr(SETTINGS, "defer_elements", defer)
    x = np.array(numpy.arange(24.0).reshape(2, 3, 4)).transpose(1, 2, 0)
    y = FUNCTIONS[name](x)
    if y.context == cpu():  # NumPy reads no memory of GPUs
        assert numpy.from_dlpack(y).flags.c_contiguous
    flat = y.reshape(-1)
    flat[:2] = 0
    assert y.asnumpy().reshape(-1)[:2].tolist() == [0, 0]
    numpy.testing.assert_array_equal(y.asnumpy().reshape(-1)[2:], numpy.asarray(FUNCTIONS[name](x)).reshape(-1)[2:])


@pytest.mark.parametrize("function", [FUNCTIONS["sort"], FUNCTIONS["diff"]], ids=["sort", "diff"])
def test_a_large_result_too(function):
    y = function(np.array(numpy.random.default_rng(0).random((300, 400))).T)
    y.reshape(-1)[:3] = 100
    assert y.asnumpy().reshape(-1)[:3].tolist() == [100, 100, 100]


#: Operations on transposed arrays alone, whose results NumPy leaves in the order of their memory; others.
TRANSPOSED = [
    "a.T + 1",
    "1 - a.T",
    "a.T > 0.5",
    "np.sqrt(a.T) * 2",
    "a.T / b.T",
    "-c.transpose(1, 0, 2)",
    "c.swapaxes(0, 2) ** 2",
]
MIXED = [
    "a.T + b[:70].reshape(-1, 1)[:100] * 0 + a.T",
    "a.T + b[:, 0]",
    "c.transpose(1, 0, 2) * c.transpose(1, 0, 2)[:1]",
    "a.T * a[0, 0]",
    "a[::2].T + 1",
]


@pytest.mark.parametrize("text", TRANSPOSED + MIXED)
def test_operations_on_large_transposed_arrays_give_transposed_arrays(text):
    random = numpy.random.default_rng(0)
    values = {"a": random.random((70, 100)), "b": random.random((70, 100)), "c": random.random((20, 20, 20))}
    found, wanted = (eval(text, {"np": xp, **{name: xp.array(v) for name, v in values.items()}}) for xp in (np, numpy))
    if text in TRANSPOSED and found.context == cpu():  # GPUs compute on copies
        assert found.strides == wanted.strides
    result = found + 0  # before anything has asked for the elements
    for _ in range(2):
        numpy.testing.assert_allclose(numpy.asarray(result), wanted, rtol=4e-16)
        found[1] = wanted[1] = 1
        result = found


def test_operations_on_transposed_arrays_and_totals_are_transposed():
    x = np.array(numpy.random.default_rng(0).random((70, 100)))
    total, element = x.sum(), x[0, 0]
    want = [numpy.asarray(x).T - numpy.asarray(total), numpy.asarray(x).T / numpy.asarray(element)]
    for one, other in zip([x.T - total, x.T / element], want, strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(one), other)
        assert is_view(one)  # of an array in the order of ``x``, as NumPy's result


def test_operations_on_transposed_arrays_of_other_kinds():
    other = mx.nd.ones((70, 100)).as_np_ndarray()  # whose memory is an array of `mx.nd`
    for found in (other.T + 1, np.sqrt(other.T) * 2, (other.T > 0) * 2.0):
        assert (type(found), found.asnumpy().tolist()) == (np.ndarray, numpy.full((100, 70), 2.0).tolist())
    brain = np.ones((70, 100), "bfloat16")
    for result in (lambda x: x + 2.5, lambda x: 2.5 * x, lambda x: x / 2, lambda x: x > 1, lambda x: -x):
        assert result(brain.T).dtype == result(brain).dtype == result(brain[:2].T).dtype


def test_operations_on_transposed_arrays_have_gradients():
    x = np.array(numpy.random.default_rng(0).random((70, 100)))
    x.attach_grad()
    with autograd.record():
        y = x.T
        z = (x.T * x.T + y * 2).sum()
    z.backward()
    numpy.testing.assert_allclose(numpy.asarray(x.grad), 2 * numpy.asarray(x) + 2)


@pytest.mark.parametrize("n", [0, 1, 2, 4])
def test_differences_are_numpys(n):
    values = numpy.random.default_rng(0).integers(0, 9, (3, 4, 5))
    for axis in (-1, 0, 1):
        assert np.diff(np.array(values), n, axis).tolist() == numpy.diff(values, n, axis).tolist()


ORDERS = [
    "a.T.ravel('K')",
    "a.T.ravel('A')",
    "a.T.flatten('K')",
    "np.ravel(a.transpose(1, 0, 2), order='A')",
    "a.transpose(1, 0, 2).flatten('K')",
    "np.reshape(a.T, (4, -1), order='A')",
    "a.T[::2].ravel('A')",
    "a[:, ::-1].ravel('K')",
    "a[:1].T.ravel('K')",
    "[int(v) for v in np.nditer(a.T[:2])]",
    "[int(v) for v in np.nditer(a[::-1, :, 1:])]",
    "[int(v + w) for v, w in np.nditer([a[0].T, a[1].T])]",
    "[int(v) for v in np.nditer(a.T[:2], order='C')]",
]


@pytest.mark.parametrize("size", [2, 5000])
@pytest.mark.parametrize("text", ORDERS)
def test_elements_of_views_are_read_in_the_order_of_their_memory(text, size):
    found, wanted = (eval(text, {"np": xp, "a": xp.arange(6 * size).reshape(2, 3, size)}) for xp in (np, numpy))
    assert numpy.asarray(found).tolist() == numpy.asarray(wanted).tolist()


def test_flags_are_read_and_not_changed():
    plain = numpy.ones((2, 3))
    for x, expected in (
        (np.ones((2, 3)), plain),
        (np.ones((400, 400)), numpy.ones((400, 400))),
        (np.ones((2, 3)).T, plain.T),
        (np.broadcast_to(np.ones(3), (2, 3)), numpy.broadcast_to(plain[0], (2, 3))),
    ):
        flags, numpys = x.flags, expected.flags
        assert (flags.c_contiguous, flags["F"], flags.writeable) == (numpys.c_contiguous, numpys["F"], numpys.writeable)
        assert "C_CONTIGUOUS" in str(flags)
        assert flags == x.flags
        flags.writeable = flags.writeable
        with pytest.raises(ParameterError, match="an array's flags cannot be changed: given writeable="):
            flags.writeable = not flags.writeable
        with pytest.raises(ParameterError, match="WRITEABLE="):
            flags["WRITEABLE"] = not flags.writeable
