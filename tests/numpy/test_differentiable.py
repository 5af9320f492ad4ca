"""Gradients of NumPy's functions without an operator, and of complex numbers, agree with central differences of NumPy's results."""

import re
import warnings

import numpy
import pytest

import twofold as mx
import twofold.numpy as np
from twofold.config import SETTINGS
from twofold.errors import AutogradError

from tests.cases import each, spread_in_ci
from tests.numpy.expressions import listed
from tests.numpy.gradient_expressions import COMPLEX, MOVES, OTHERS, SIGNALS, STATISTICS, TRANSFORMS
from tests.numpy.test_gradients import FUNCTIONS, WRITES

TIES = numpy.array([0, 1, 1, 2, 0, 3])


def operands(text):
    """What is differentiated: the vectors, real and complex, that an expression names."""
    draw = numpy.random.default_rng(7)

    def distinct(size):
        return (draw.permutation(size) + 0.5) / size + 0.5071

    sizes = {"x": 24, "m": 9, "v": 7, "w": 4, "g": 15, "t": 4}
    found = {name: distinct(size) for name, size in sizes.items()}
    found |= {name: distinct(size) + 1j * (distinct(size) - 0.9) for name, size in {"z": 6, "u": 5, "q": 9}.items()}
    used = {"m" if name == "n" else name for name in re.findall(r"\b[a-z]\b", text)}
    return {name: v for name, v in found.items() if name in used}


def evaluated(text, values, module):
    """The expression, from vectors in the shapes that it expects, weighted and summed."""
    gaps = numpy.zeros((3, 5))
    gaps[[0, 1, 1], [2, 0, 4]] = numpy.nan
    shapes = {"x": (2, 3, 4), "m": (3, 3), "g": (3, 5), "z": (2, 3), "q": (3, 3)}
    names = {name: v.reshape(shapes[name]) if name in shapes else v for name, v in values.items()}
    if "m" in names:
        names["n"] = names["m"] + module.diag(module.arange(1.0, 4))
    if "g" in names:
        names["g"] = names["g"] + module.array(gaps)
    if "t" in names:
        names["t"] = names["t"][module.array(TIES)]
    return eval(text, names | {"np": module, "numpy": numpy})


def loss_of(found):
    weights = numpy.cos(numpy.arange(found.size)).reshape(found.shape)
    return (found * weights).sum()


def check(text):
    xs = {name: np.array(v) for name, v in operands(text).items()}
    for x in xs.values():
        x.attach_grad()
    with mx.autograd.record():
        found = evaluated(text, xs, np)
        loss = loss_of(found)
    assert isinstance(found, np.ndarray)
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want = numpy.asarray(evaluated(text, operands(text), numpy))
        assert (found.shape, found.dtype) == (want.shape, want.dtype)
        numpy.testing.assert_allclose(found.asnumpy(), want, rtol=1e-10, atol=1e-12)
        if found.size:
            loss.backward()
        draw, step = numpy.random.default_rng(8), 1e-6
        for name, value in operands(text).items():
            direction = draw.normal(size=value.shape) + (1j * draw.normal(size=value.shape) if value.dtype.kind == "c" else 0)
            ahead, behind = (
                float(numpy.nansum(loss_of(numpy.asarray(evaluated(text, operands(text) | {name: value + s * step * direction}, numpy)))))
                for s in (1, -1)
            )
            # the gradient of a complex number has the derivatives by both parts: its real product with the direction
            have = float((xs[name].grad.asnumpy() * direction.conj()).real.sum())
            assert have == pytest.approx((ahead - behind) / (2 * step), rel=2e-6, abs=2e-8), name


@each("text", STATISTICS)
def test_statistics(text):
    check(text)


@each("text", SIGNALS)
def test_signals(text):
    check(text)


@each("text", [*MOVES, *OTHERS])
def test_moves(text):
    check(text)


@each("text", TRANSFORMS)
def test_transforms(text):
    check(text)


@each("text", COMPLEX)
def test_complex_numbers(text):
    check(text)


@each("text", [*STATISTICS[::7], *SIGNALS[::7], *MOVES[::7], *TRANSFORMS[::7], *COMPLEX[::4]])
def test_deferred(monkeypatch, text):
    monkeypatch.setattr(SETTINGS, "defer_elements", 1)
    check(text)


#: Whose second derivatives are computed in ways of their own.
SECOND = (
    "np.sinc(v); np.sinc((v - 1) * 1e-3); np.i0(v); np.median(x, 1); np.interp(v, np.cumsum(w) / 3, w); np.convolve(v, w); np.corrcoef(m)"
)


@each("text", [*STATISTICS[::6], *SIGNALS[::6], *MOVES[::6], *TRANSFORMS[::6], *COMPLEX[::3], *listed(SECOND)])
def test_second_gradients(text):
    """Of the squared loss plus all squares, so that each has a second derivative and depends on each operand."""
    draw = numpy.random.default_rng(5)
    direction = {
        name: draw.normal(size=v.shape) + (1j * draw.normal(size=v.shape) if v.dtype.kind == "c" else 0)
        for name, v in operands(text).items()
    }

    def first(values, differentiate):
        xs = {name: np.array(v) for name, v in values.items()}
        for x in xs.values():
            x.attach_grad()
        with mx.autograd.record():
            found = evaluated(text, xs, np)
            loss = loss_of(found) ** 2 + sum((x * x.conj()).real.sum() for x in xs.values())
            gradients = mx.autograd.grad(loss, list(xs.values()), create_graph=True)
            total = sum((g * g.conj()).real.sum() for g in gradients)
        if differentiate:
            total.backward()
            return sum(float((xs[name].grad.asnumpy() * d.conj()).real.sum()) for name, d in direction.items())
        return float(total)

    step = 1e-5
    ahead, behind = (first({k: v + s * step * direction[k] for k, v in operands(text).items()}, False) for s in (1, -1))
    assert first(operands(text), True) == pytest.approx((ahead - behind) / (2 * step), rel=1e-4, abs=1e-4)


@each("text", spread_in_ci([*STATISTICS, *SIGNALS, *MOVES, *OTHERS, *TRANSFORMS, *COMPLEX], 3))
def test_results_and_gradients_in_single_precision(text):
    host = {name: v.astype("complex64" if v.dtype.kind == "c" else "float32") for name, v in operands(text).items()}
    xs = {name: np.array(v) for name, v in host.items()}
    for x in xs.values():
        x.attach_grad()
    with mx.autograd.record():
        found = evaluated(text, xs, np)
        loss = loss_of(found)
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want = numpy.asarray(evaluated(text, host, numpy))
    assert (found.shape, found.dtype) == (want.shape, want.dtype)
    numpy.testing.assert_allclose(found.asnumpy(), want, rtol=2e-3, atol=1e-4)
    if found.size:
        loss.backward()
        assert [x.grad.dtype for x in xs.values()] == [v.dtype for v in host.values()]


#: Calls with empty arrays, and with arguments that NumPy refuses.
UNUSUAL = listed("""
    np.median(v[:0]); np.median(x[:, :0], 1); np.median(x[:0], 1); np.quantile(v[:0], 0.5); np.nanmax(v[:0]); np.nanmin(x[:0], 1)
    np.nancumsum(v[:0]); np.nanvar(v[:0]); np.nanstd(x[:0], 1); np.var(x[:0], 1, where=True); np.cov(m[:, :0]); np.corrcoef(m[:0])
    np.trapezoid(v[:0]); np.bincount([], v[:0]); np.convolve(v[:0], w); np.correlate(w, v[:0]); np.interp(v[:0], [1, 2], w[:2])
    np.interp(v, [], []); np.gradient(v[:1]); np.unwrap(v[:0]); np.cross(m[:0], m[:0]); np.sinc(v[:0]); np.i0(v[:0])
    np.select([v[:0] > 1], [v[:0]]); np.piecewise(v[:0], [v[:0] > 1], [lambda s: s]); np.insert(v[:0], 0, w[0]); np.block([v[:0], w])
    np.partition(v[:0], 0); np.unique(v[:0]); np.union1d(v[:0], w); np.trim_zeros(v[:0]); np.trim_zeros(v * 0); np.ediff1d(v[:1])
    np.ediff1d(v[:0]); np.apply_along_axis(np.sum, 0, x[:, :0]); np.r_[v[:0], w]; np.vander(v[:0]); np.vander(w, 0)
    np.polyfit(v[:0], v[:0], 1); np.poly(v[:0]); np.roots(v[:0]); np.roots(v[:1]); np.polyadd(v[:0], w); np.polymul(v[:0], w)
    np.polyder(v[:1]); np.polyder(v[:2], 5); np.polyint(v[:0]); np.pad(v[:0], 2); np.pad(v[:0], 2, 'mean'); np.pad(v[:0], 2, 'edge')
    np.pad(m[:0], ((0, 0), (1, 1)), 'mean'); np.pad(v, 0, 'mean'); np.fft.fft(v[:0]); np.fft.rfft(x[:0]).real; np.fft.fftshift(v[:0])
    np.maximum.accumulate(v[:0]); np.logaddexp.accumulate(v[:0]); np.logaddexp.reduce(v[:0]); np.hypot.reduce(v[:0])
    np.add.reduceat(v, []); np.linspace(w[0], w[1], -1); np.quantile(v, []); np.percentile(v, 101); np.median(v, 3); np.median(v, (0, 0))
    np.quantile(v, 0.3, method='odd'); np.convolve(m, v); np.insert(v, 99, 1.0); np.choose([7], [v, v]); np.cross(m[:, :1], m)
    np.interp(v, [1, 2], [1, 2, 3.0]); np.select([], []); np.select([v], [v]); np.piecewise(v, [v > 1], [1, 2, 3])
    np.gradient(v, edge_order=3); np.gradient(m, 1, 2, 3); np.gradient(v, [1, 2]); np.fft.fft(v, 0); np.fft.fft(v, norm='odd')
    np.block([[m], [v]]); np.partition(v, 99); np.bincount([1], v); np.polyfit(v, w, 1); np.trapezoid(v, w); np.pad(v, -1, 'mean')
    np.pad(v, (1, 2, 3), 'mean'); np.pad(v, 1, 'odd'); np.pad(v, 1, 'mean', end_values=2); np.cov(m, fweights=[1, 2])
    np.cov(m, aweights=[-1, 2, 3]); np.vander(m); np.unwrap(v, axis=2)
    np.cross(v[:2], w[2:]); np.cross(v[:3], w[2:]); np.cross(m[:, :2].T, m[0], 0); np.linalg.cross(v[:2], w[2:])
    np.linalg.cross(m[:, :2], m)
""")


@each("text", UNUSUAL)
def test_unusual_arguments_give_what_numpy_gives(text):
    xs = {name: np.array(v) for name, v in operands(text).items()}
    for x in xs.values():
        x.attach_grad()

    def outcome(values, module):
        try:
            return evaluated(text, values, module)
        except Exception as error:
            return error

    with warnings.catch_warnings(), numpy.errstate(all="ignore"), mx.autograd.record():
        warnings.simplefilter("ignore")
        found, want = outcome(xs, np), outcome(operands(text), numpy)
    if isinstance(want, Exception):
        classes = [c for c in (ValueError, TypeError, IndexError, RuntimeError) if isinstance(want, c)]
        assert isinstance(found, tuple(classes)), (found, want)
        return
    assert (found.shape, found.dtype) == (numpy.shape(want), numpy.asarray(want).dtype)
    numpy.testing.assert_array_equal(found.asnumpy(), want)


#: Functions of NumPy that have no gradient, by reason.
WITHOUT = {
    "integers, bools and text": """
        all allclose any argmax argmin argpartition argsort argwhere array2string array_equal array_equiv array_repr array_str
        base_repr binary_repr bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
        bitwise_xor can_cast common_type count_nonzero diag_indices diag_indices_from digitize einsum_path equal flatnonzero
        format_float_positional format_float_scientific gcd greater greater_equal indices invert isclose iscomplex iscomplexobj
        isdtype isfinite isfortran isin isinf isnan isnat isneginf isposinf isreal isrealobj isscalar issubdtype iterable ix_ lcm
        left_shift less less_equal lexsort logical_and logical_not logical_or logical_xor mask_indices matrix_rank may_share_memory
        min_scalar_type mintypecode nanargmax nanargmin ndim nonzero not_equal packbits promote_types ravel_multi_index result_type
        right_shift searchsorted shape shares_memory signbit size tril_indices tril_indices_from triu_indices triu_indices_from
        typename unpackbits unravel_index broadcast_shapes histogram_bin_edges histogram2d histogramdd""",
    "dates, files, settings, other data": """
        busday_count busday_offset datetime_as_string datetime_data from_dlpack frombuffer fromfile fromiter fromregex fromstring
        genfromtxt get_include get_printoptions getbufsize geterr geterrcall info is_busday load loadtxt nested_iters printoptions
        save savetxt savez savez_compressed set_printoptions setbufsize seterr seterrcall show_config show_runtime test""",
    "new arrays of constants": """
        bartlett blackman empty empty_like eye fftfreq fromfunction hamming hanning identity ones ones_like rfftfreq tri zeros
        zeros_like""",
    "NumPy's own classes": "asmatrix bmat",
    "functions of Python objects": "frompyfunc",
    "distances between numbers": "nextafter spacing",
    "results whose number depends on values that are differentiated": "arange",
}


def test_every_function_has_a_gradient_or_a_reason():
    tested = " ".join([*STATISTICS, *SIGNALS, *MOVES, *OTHERS, *TRANSFORMS, *COMPLEX, *FUNCTIONS, *WRITES])
    reasons = set(" ".join(WITHOUT.values()).split())
    for module in (numpy, numpy.linalg, numpy.fft):
        functions = [n for n in module.__all__ if callable(getattr(module, n)) and not isinstance(getattr(module, n), type)]
        missing = [n for n in functions if n not in reasons and not re.search(rf"\.{n}\b", tested)]
        assert not missing, f"{module.__name__}: {missing}"


@pytest.mark.parametrize("name", ["nextafter", "spacing"])
def test_a_result_of_floats_without_a_gradient_raises(name):
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record(), pytest.raises(AutogradError, match=f"{name} has no gradient"):
        getattr(np, name)(x * 2, *[0.0] * (name == "nextafter"))
