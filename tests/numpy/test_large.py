"""Large arrays of `twofold.np`: what NumPy computes at once, and how often a view is copied."""

import numpy
import pytest

import twofold as mx
from twofold import np
from twofold.imperative.array import ViewMixin

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


@pytest.mark.parametrize("reduce", ["sum", "max", "mean"])
def test_a_large_view_is_read_once_by_a_reduction(values, reduce, monkeypatch):
    view = np.array(values).T
    reads, read = [], ViewMixin._read
    monkeypatch.setattr(ViewMixin, "_read", lambda self: (reads.append(self), read(self))[1])
    found = getattr(view, reduce)(1)
    assert len(reads) == 1
    numpy.testing.assert_allclose(found.asnumpy(), getattr(values.T, reduce)(1))
