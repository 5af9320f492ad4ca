"""Complex numbers have no gradient: a recorded array that becomes complex raises, instead of counting as a constant."""

from collections.abc import Callable
from typing import Any

import pytest

import twofold as mx
from twofold import np
from twofold.errors import AutogradError

CASES: dict[str, Callable[[Any], Any]] = {
    "a complex factor": lambda x: x.sum() + np.abs(1j * x).sum(),
    "a cast": lambda x: x.sum() + (x.astype("complex128") ** 2).real.sum(),
    "a ufunc with a dtype": lambda x: x.sum() + np.abs(np.multiply(x, 2.0, dtype="complex128")).sum(),
    "a complex array": lambda x: x.sum() + np.abs(x + np.array([1j, 2.0])).sum(),
    "an element": lambda x: x.sum() + np.abs(x[0] * 1j),
    "a part": lambda x: x.sum() + np.abs(x[1:] * 1j).sum(),
    "joined with a complex array": lambda x: x.sum() + np.abs(np.concatenate([x, np.array([1j])])).sum(),
    "a list": lambda x: x.sum() + np.abs(np.array([x[0], 1j])).sum(),
    "chosen": lambda x: x.sum() + np.abs(np.where(x > 1.5, x, 1j)).sum(),
    "a transform": lambda x: x.sum() + np.fft.fft(x).real.sum(),
}


@pytest.mark.parametrize("size", [2, 100_000])
@pytest.mark.parametrize("name", [n for n in CASES if n != "a complex array"])
def test_a_recorded_array_that_becomes_complex_raises(name, size):
    x = np.arange(1.0, size + 1)
    x.attach_grad()
    for _ in range(2):  # a known operation takes another way
        with mx.autograd.record(), pytest.raises(AutogradError, match="no gradient"):
            CASES[name](x)
    with mx.autograd.record(), mx.autograd.pause():
        assert CASES[name](x).dtype == "float64"


def test_the_error_names_the_operator():
    x = np.ones(2)
    x.attach_grad()
    with mx.autograd.record():
        with pytest.raises(AutogradError, match="multiply"):
            1j * x
        with pytest.raises(AutogradError, match="detach"):
            CASES["a complex array"](x)


def test_an_assignment_to_a_complex_array_raises():
    x, c = np.ones(2), np.zeros(2, "complex128")
    x.attach_grad()
    with mx.autograd.record():
        with pytest.raises(AutogradError, match="complex"):
            c[:] = x
        with pytest.raises(AutogradError, match="complex"):
            c[0] = x[1]
        with pytest.raises(AutogradError, match="complex"):
            np.multiply(x, 2.0, out=c)
    assert c.tolist() == [0, 0]


def test_complex_constants_beside_recorded_arrays():
    x, c = np.array([1.0, 2.0]), np.array([3 + 4j, 1j])
    x.attach_grad()
    with mx.autograd.record():
        y = (x * np.abs(c * 2)).sum() + np.abs(x.detach() * 1j).sum()
    y.backward()
    assert x.grad.tolist() == [10, 2]
