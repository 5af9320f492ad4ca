"""Expressions match NumPy in ``twofold.np``: values, dtypes, shapes, and errors of the same classes."""

import numpy
import pytest

import twofold.numpy as tnp
from twofold.config import SETTINGS
from twofold.imperative.array import Array

from tests.cases import each, later_in_ci
from tests.numpy.expressions import TABLES, variables
from tests.rounding import assert_rounded_alike

CASES = [pytest.param(text, id=f"{table}: {text}") for table, texts in TABLES.items() for text in dict.fromkeys(texts)]


def evaluated(np, text):
    """(value, None), or (None, the exception)."""
    try:
        with numpy.errstate(all="ignore"):
            return eval(text, {"np": np, "numpy": numpy} | variables(np)), None
    except Exception as error:  # compared with NumPy's exception
        return None, error


def assert_same(ours, numpys, text):
    if isinstance(numpys, (numpy.ndarray, numpy.generic)) and not isinstance(ours, (numpy.dtype, numpy.generic)):
        assert isinstance(ours, tnp.ndarray), f"{text}: {type(ours)}"
        got = ours.asnumpy()
        assert (got.shape, got.dtype) == (numpys.shape, numpys.dtype), text
        exact = got.dtype.kind in "biu"
        tolerance = 0 if exact else {"float16": 2e-3, "float32": 1e-5, "complex64": 1e-5}.get(got.dtype.name, 1e-12)
        numpy.testing.assert_allclose(got, numpys, rtol=tolerance, atol=tolerance, err_msg=text)
    elif isinstance(numpys, (list, tuple)):
        assert len(ours) == len(numpys), text
        for a, b in zip(ours, numpys, strict=True):
            assert_same(a, b, text)
    else:
        assert not isinstance(ours, Array), text
        assert type(ours) is type(numpys), text
        assert ours == numpys, text


@pytest.mark.filterwarnings("ignore")
@each("text", CASES, size=100)
def test_an_expression_matches_numpy(text):
    want, refused = evaluated(numpy, text)
    got, error = evaluated(tnp, text)
    if refused is not None:
        assert error is not None, f"{text}: NumPy raises {refused!r}, here it gives {got!r}"
        builtin = next(c for c in type(refused).__mro__ if c.__module__ == "builtins")
        assert isinstance(error, builtin), f"{text}: {error!r}, in NumPy {refused!r}"
    else:
        if error is not None:
            raise error
        assert_same(got, want, text)


MODES = {"naive": ("naive", 1), "deferred": ("window", 1), "deferred again": ("window", 1)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("table", later_in_ci([t for t in TABLES if t not in ("creation", "protocols")], 2))
def test_every_mode_gives_the_same_bits(monkeypatch, table):
    for text in dict.fromkeys(TABLES[table]):
        monkeypatch.setattr(SETTINGS, "defer_elements", 1 << 40)
        inline, refused = evaluated(tnp, text)
        for mode, (engine, defer) in MODES.items():
            monkeypatch.setattr(SETTINGS, "engine", engine)
            monkeypatch.setattr(SETTINGS, "defer_elements", defer)
            got, error = evaluated(tnp, text)
            assert type(error) is type(refused), f"{text}, {mode}"
            assert_same_bits(got, inline, f"{text}, {mode}")


def assert_same_bits(a, b, what):
    if isinstance(a, (list, tuple)):
        for x, y in zip(a, b, strict=True):
            assert_same_bits(x, y, what)
    elif isinstance(a, tnp.ndarray):
        if a.dtype == "float16" and a.ctx.device_type == "gpu":  # rounded once per kernel
            numpy.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2.0**-10, err_msg=what, strict=True)
        else:
            assert_rounded_alike(a.asnumpy(), b.asnumpy(), what)
    else:
        assert a == b, what
