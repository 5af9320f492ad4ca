"""Gradients of complex numbers: of a real loss by both parts, dL/da + i dL/db. What has no right rule raises instead of being wrong."""

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import twofold as mx
from twofold import np
from twofold.config import SETTINGS
from twofold.errors import AutogradError

CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "a complex factor": (lambda x: np.abs(1j * x).sum(), lambda x: numpy.sign(x)),
    "a cast": (lambda x: (x.astype("complex128") ** 2).real.sum(), lambda x: 2 * x),
    "a ufunc with a dtype": (lambda x: np.abs(np.multiply(x, 2.0, dtype="complex128")).sum(), lambda x: 2 + 0 * x),
    "an element": (lambda x: np.abs(x[0] * 1j), lambda x: numpy.arange(x.size) == 0),
    "a part": (lambda x: np.abs(x[1:] * 1j).sum(), lambda x: numpy.arange(x.size) > 0),
    "joined with a complex array": (lambda x: np.abs(np.concatenate([x, np.array([1j])])).sum(), lambda x: 1 + 0 * x),
    "a list": (lambda x: np.abs(np.array([x[0], 1j])).sum(), lambda x: numpy.arange(x.size) == 0),
    "chosen": (lambda x: np.abs(np.where(x > 1.5, x, 1j)).sum(), lambda x: x > 1.5),
    "a transform": (lambda x: (np.abs(np.fft.fft(x)) ** 2).sum() / x.size, lambda x: 2 * x),  # Parseval's theorem
}


@pytest.mark.parametrize("size", [2, 100_000])
@pytest.mark.parametrize("name", CASES)
def test_a_real_array_that_becomes_complex_has_a_real_gradient(name, size):
    function, derivative = CASES[name]
    x = np.arange(1.0, size + 1)
    x.attach_grad()
    for _ in range(2):  # a known operation takes another way
        with mx.autograd.record():
            y = function(x)
        y.backward()
        assert x.grad.dtype == "float64"
        numpy.testing.assert_allclose(x.grad.asnumpy(), derivative(x.asnumpy()), rtol=1e-9)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_the_gradient_points_in_the_direction_of_steepest_ascent(dtype):
    z = np.array([3 + 4j, -2j], dtype=dtype)
    z.attach_grad()
    assert z.grad.dtype == dtype
    with mx.autograd.record():
        y = (np.abs(z) ** 2).sum() + (z * (1 - 1j)).real.sum()
    y.backward()
    numpy.testing.assert_allclose(z.grad.asnumpy(), 2 * z.asnumpy() + (1 + 1j), rtol=1e-6)


def test_the_gradient_of_a_magnitude_at_zero_is_zero():
    z = np.array([0j, 3 + 4j])
    z.attach_grad()
    with mx.autograd.record():
        y = np.abs(z).sum()
    y.backward()
    numpy.testing.assert_allclose(z.grad.asnumpy(), [0, 0.6 + 0.8j])


def test_a_head_gradient_is_that_of_a_loss_by_the_result():
    z = np.array([1 + 2j])
    z.attach_grad()
    with mx.autograd.record():
        y = z * z
    y.backward(np.array([1 - 2j]), retain_graph=True)  # L = Re(conj(1 - 2j) · y)
    numpy.testing.assert_allclose(z.grad.asnumpy(), (1 - 2j) * numpy.conj(2 * z.asnumpy()))


def test_gradients_are_added_and_differentiated_again():
    z, x = np.array([1 + 2j, 0.5 - 1j]), np.array([1.0, 2.0, 3.0, 4.0])
    z.attach_grad("add")
    for _ in range(2):
        with mx.autograd.record():
            y = (z * z).imag.sum()
        y.backward()
    # Im z² = 2ab has the gradient 2b + 2ai
    numpy.testing.assert_allclose(z.grad.asnumpy(), 2 * (2 * z.asnumpy().imag + 2j * z.asnumpy().real))
    x.attach_grad()
    with mx.autograd.record():
        y = (np.abs(np.fft.fft(x)) ** 4).sum()
        (first,) = mx.autograd.grad(y, x, create_graph=True)
        total = (first * first).sum()
    total.backward()
    step, direction = 1e-5, numpy.array([0.3, -1.0, 0.5, 0.2])
    sums = []
    for sign in (1, -1):
        moved = np.array(x.asnumpy() + sign * step * direction)
        moved.attach_grad()
        with mx.autograd.record():
            y = (np.abs(np.fft.fft(moved)) ** 4).sum()
        y.backward()
        sums.append(float((moved.grad * moved.grad).sum()))
    assert float((x.grad.asnumpy() * direction).sum()) == pytest.approx((sums[0] - sums[1]) / (2 * step), rel=1e-6)


def test_a_second_gradient_of_a_complex_variable():
    z = np.array([1 + 2j, -0.5 + 1j])
    z.attach_grad()
    with mx.autograd.record():
        y = (np.abs(z * z) ** 2).sum()  # |z|⁴, with gradient 4 |z|² z
        (first,) = mx.autograd.grad(y, z, create_graph=True)
        total = (np.abs(first) ** 2).sum()  # 16 |z|⁶, with gradient 96 |z|⁴ z
    total.backward()
    host = z.asnumpy()
    numpy.testing.assert_allclose(first.asnumpy(), 4 * abs(host) ** 2 * host)
    numpy.testing.assert_allclose(z.grad.asnumpy(), 96 * abs(host) ** 4 * host)


@pytest.mark.parametrize("text", ["y", "np.fft.fft(x)", "y.sum()"])
def test_a_complex_loss_raises(text):
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = eval(text, {"np": np, "x": x, "y": x * 1j})
    with pytest.raises(AutogradError, match="a complex number cannot be a loss"):
        y.backward()


REFUSED = [
    "np.sign(z)",
    "np.max(z)",
    "np.sort(z).max()",
    "np.maximum(z, 1j)",
    "np.linalg.pinv(z)",
    "np.linalg.slogdet(z)[1]",
    "np.linalg.cholesky(z)",
    "np.linalg.svd(z)[1]",
    "np.clip(z, 0, 1)",
    "np.fmax(z, 0)",
    "np.linalg.eigvalsh(z)",
    "np.floor_divide(abs(z), z.real) * np.sign(z)",
]


@pytest.mark.parametrize("text", REFUSED)
def test_an_operation_without_a_rule_for_complex_numbers_raises(text):
    z = np.array([[1 + 1j, 2.0], [0.5j, 3.0]])
    z.attach_grad()
    for _ in range(2):
        with mx.autograd.record(), pytest.raises(AutogradError, match="no gradient"):
            eval(text, {"np": np, "z": z})


@pytest.mark.parametrize("elements", [1, 1 << 40], ids=["deferred", "at once"])
def test_complex_numbers_are_sorted_downwards_by_real_parts_first(monkeypatch, elements):
    monkeypatch.setattr(SETTINGS, "defer_elements", elements)
    z = np.array([1 + 2j, numpy.nan, 3 - 1j, 1 + 3j], dtype="complex64")
    order = [2, 3, 0, 1]
    assert np.argsort(z, descending=True).tolist() == order
    numpy.testing.assert_array_equal(np.sort(z, descending=True).asnumpy(), z.asnumpy()[order])


def test_the_error_names_the_operator():
    z = np.ones(2, dtype=complex)
    z.attach_grad()
    with mx.autograd.record():
        with pytest.raises(AutogradError, match="sign has no gradient for complex numbers"):
            np.sign(z * 2)
        with pytest.raises(AutogradError, match="detach"):
            np.maximum(z, 1j)


def test_assignments_to_complex_arrays_have_gradients():
    x, z = np.array([1.0, 2.0]), np.array([1j, 2 + 1j])
    x.attach_grad()
    z.attach_grad()
    with mx.autograd.record():
        c = np.zeros(4, "complex128")
        c[:2] = x
        c[2] = x[1] * 1j
        np.multiply(z[:1], 2.0, out=c[3:])
        c[1:3] *= z
        y = (np.abs(c) ** 2).sum()
    y.backward()
    # the loss is x0² + |x1 z0|² + |x1 z1|² + |2 z0|²
    numpy.testing.assert_allclose(x.grad.asnumpy(), [2, 4 * (1 + 5)])
    numpy.testing.assert_allclose(z.grad.asnumpy(), [2 * (4 + 4) * 1j, 2 * 4 * (2 + 1j)])


def test_complex_constants_beside_recorded_arrays():
    x, c = np.array([1.0, 2.0]), np.array([3 + 4j, 1j])
    x.attach_grad()
    with mx.autograd.record():
        y = (x * np.abs(c * 2)).sum() + np.abs(x.detach() * 1j).sum()
    y.backward()
    assert x.grad.tolist() == [10, 2]


def test_a_real_tape_continues_a_complex_one():
    x = np.array([1.0, 2.0, -1.0])
    x.attach_grad()
    with mx.autograd.record():
        c = np.fft.fft(x)
    with mx.autograd.record():
        y = (np.abs(c * np.array([1, 2j, 3])) ** 2).sum()
    y.backward()
    matrix = numpy.fft.fft(numpy.eye(3)) * numpy.array([1, 2j, 3])[:, None]
    numpy.testing.assert_allclose(x.grad.asnumpy(), 2 * (matrix.conj().T @ matrix).real @ x.asnumpy(), rtol=1e-12)


def test_a_bound_symbol_has_the_same_gradient():
    z = numpy.array([1 + 2j, 0.5 - 1j], "complex64")
    x = mx.sym.Variable("x")
    gradient = mx.nd.zeros((2,), dtype="complex64")
    bound = mx.sym.abs(mx.sym.square(x)).bind(mx.cpu(), {"x": mx.nd.array(z, dtype="complex64")}, args_grad={"x": gradient})
    bound.forward(is_train=True)
    bound.backward(mx.nd.ones((2,)))
    numpy.testing.assert_allclose(gradient.asnumpy(), 2 * z, rtol=1e-6)  # of |z|²


def test_fitting_a_filter_by_its_spectrum():
    draw = numpy.random.default_rng(0)
    signal, taps = draw.normal(size=64), draw.normal(size=5)
    want = numpy.fft.irfft(numpy.fft.rfft(signal) * numpy.fft.rfft(taps, 64), 64)
    spectrum = np.zeros(33, dtype="complex128")
    spectrum.attach_grad()
    for _ in range(300):
        with mx.autograd.record():
            loss = ((np.fft.irfft(np.fft.rfft(np.array(signal)) * spectrum, 64) - np.array(want)) ** 2).sum()
        loss.backward()
        spectrum -= 0.2 * spectrum.grad * 64 / (2 * np.abs(np.fft.rfft(np.array(signal))) ** 2 + 1e-3) / 2
    numpy.testing.assert_allclose(spectrum.asnumpy(), numpy.fft.rfft(taps, 64), atol=1e-4)


@pytest.mark.parametrize("size", [5, 300_000])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_the_operator_squares_complex_numbers_as_numpys(size, dtype):
    host = (numpy.random.default_rng(size).normal(size=(2, size)).T @ [1, 1j]).astype(dtype)
    z = np.array(host)
    z.attach_grad()
    for squared, wanted in ((z**2, host**2), (z[::2] ** 2, host[::2] ** 2), (z**2.0, host**2.0), (np.power(z, 2), numpy.power(host, 2))):
        assert squared.tolist() == wanted.tolist()
    with mx.autograd.record():
        y = (z**2).imag.sum()
    y.backward()
    assert numpy.allclose(z.grad, 2j * host.conj())


@pytest.mark.parametrize("text", ["nan_to_num(z)", "nan_to_num(z, nan=2, posinf=5)", "nansum(z)", "nanprod(z[:3])", "nanmean(z[:3])"])
@pytest.mark.parametrize("elements", [1, 1 << 40], ids=["deferred", "at once"])
def test_a_complex_number_of_which_a_part_is_missing_is_missing(monkeypatch, elements, text):
    monkeypatch.setattr(SETTINGS, "defer_elements", elements)
    z = numpy.array([1 + 2j, complex(numpy.nan, 1), 3, complex(4, numpy.inf)])
    found, want = [eval(f"np.{text}", {"np": module, "z": module.array(z)}) for module in (np, numpy)]
    numpy.testing.assert_array_equal(numpy.asarray(found), want)


def test_missing_complex_numbers_are_replaced_in_place():
    z = np.array([1 + 2j, complex(numpy.nan, 1)] * 50_000)
    assert np.nan_to_num(z, copy=False) is z
    assert (z.real.sum(), z.imag.sum()) == (50_000, 150_000)


@pytest.mark.parametrize(("dtype", "weights"), [("complex64", "int8"), ("complex64", "complex64"), ("int8", "complex64")])
@pytest.mark.parametrize("elements", [1, 1 << 40], ids=["deferred", "at once"])
def test_a_weighted_average_has_numpys_dtype(monkeypatch, elements, dtype, weights):
    monkeypatch.setattr(SETTINGS, "defer_elements", elements)
    x, w = numpy.array([1, 0, 3]).astype(dtype), numpy.array([1, 2, 1]).astype(weights)
    found, want = np.average(np.array(x), weights=np.array(w)), numpy.average(x, weights=w)
    assert (found.dtype, found.item()) == (want.dtype, want.item())


def test_the_gradient_of_nan_to_num_is_that_of_what_stays():
    z = np.array([1 + 1j, complex("nan"), 2 - 3j])
    z.attach_grad()
    with mx.autograd.record():
        total = (np.nan_to_num(z * 1).real * np.array([1.0, 2.0, 3.0])).sum()
    total.backward()
    assert z.grad.tolist() == [1, 0, 3]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize(
    "text", ["x + s", "s * x", "np.subtract(s, x)", "x / s", "np.where(m, x, s)", "np.where(m, s, x)", "x == s", "np.clip(x, s, None)"]
)
@pytest.mark.parametrize(
    "scalar", [0.3 + 1j, numpy.complex64(0.3 + 1j), numpy.complex128(0.3 + 1j)], ids=["Python", "complex64", "complex128"]
)
@pytest.mark.parametrize("elements", [1, 1 << 40], ids=["deferred", "at once"])
def test_complex_scalars_of_numpys_widen_arrays_and_pythons_do_not(monkeypatch, elements, scalar, text, dtype):
    monkeypatch.setattr(SETTINGS, "defer_elements", elements)
    x, m = numpy.array([0.0, 1.1, 3.0, 0.3]).astype(dtype), numpy.array([True, False, True, False])
    found, want = (eval(text, {"np": xp, "x": xp.array(x), "m": xp.array(m), "s": scalar}) for xp in (np, numpy))
    assert found.dtype == want.dtype
    numpy.testing.assert_allclose(found.asnumpy(), want, rtol=1e-6 if want.dtype == "complex64" else 1e-14)
