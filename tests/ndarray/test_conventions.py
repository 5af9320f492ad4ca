"""`mx.nd` and autograd behave like MXNet 1.9.1, row by row, except for differences listed with their reasons."""

import copy
import re

import numpy as np
import pytest

import twofold as mx
from twofold.errors import MXNetError
from twofold.imperative.array import Array

from .differences import DIFFERENCES
from tests.cases import each
from tests.devices import as_on_cpu
from tests.oracle_values.reader import load_conventions

SYMBOLIC = re.compile(r"\bsym\b|get_symbol")
ROWS = [r for r in load_conventions() if not SYMBOLIC.search(r.setup + r.expression)]


def difference_of(row):
    found = [d for d in DIFFERENCES if (d.topic, d.expression) == (row.topic, row.expression) and d.setup in row.setup]
    return found[0] if found else None


def as_parameter(row):
    return pytest.param(row, id=identity(row))


def identity(row):
    return f"{row.topic}: {row.expression}"


def described(value):
    """The compared properties of a value, in the form of the stored rows: NumPy's scalars and classes as printed by version 1."""
    if isinstance(value, (Array, np.ndarray)):
        host = value.asnumpy() if isinstance(value, Array) else value
        return {"shape": list(host.shape), "dtype": str(host.dtype), "values": host.tolist()}
    if isinstance(value, (list, tuple)):
        return {"items": [described(v) for v in value]}
    text = str(value) if isinstance(value, np.generic) else repr(value)
    return {"repr": as_on_cpu(text.replace("'numpy.bool'", "'numpy.bool_'"))}


def expected_of(result):
    """A stored result in the form of `described`."""
    if "items" in result:
        return {"items": [expected_of(i) for i in result["items"]]}
    return {k: result[k] for k in (("shape", "dtype", "values") if "shape" in result else ("repr",))}


def assert_same(got, expected):
    assert got.keys() == expected.keys(), (got, expected)
    if "items" in got:
        assert len(got["items"]) == len(expected["items"])
        for g, e in zip(got["items"], expected["items"], strict=True):
            assert_same(g, e)
    elif "values" in got:
        assert (got["shape"], got["dtype"]) == (expected["shape"], expected["dtype"])
        if expected["values"] is not None:
            dtype = expected["dtype"]
            np.testing.assert_allclose(np.array(got["values"], dtype), np.array(expected["values"]).astype(dtype), rtol=1e-6)
    else:
        assert got == expected


def evaluated(row):
    names = {"mx": mx, "nd": mx.nd, "autograd": mx.autograd, "np": np}
    exec(row.setup, names)
    return eval(row.expression, names)


@pytest.mark.filterwarnings("ignore")
@each("row", [as_parameter(r) for r in ROWS if difference_of(r) is None], by=lambda row: row.topic)
def test_as_in_mxnet(row):
    if row.exception is not None:
        with pytest.raises(Exception) as caught:  # noqa: PT011
            evaluated(row)
        assert isinstance(caught.value, MXNetError) or type(caught.value).__name__ == row.exception, repr(caught.value)
        return
    value = evaluated(row)
    assert_same(described(value), expected_of(row.result))
    if isinstance(value, mx.nd.NDArray) and described(value)["values"] == row.result["values"]:
        assert as_on_cpu(repr(value)) == row.result["repr"]


@each("row", [r for r in ROWS if difference_of(r) is not None], ids=identity)
def test_differs_as_documented(row):
    ours = difference_of(row).ours
    if ours.startswith("raises "):
        name = ours.removeprefix("raises ")
        with pytest.raises(Exception) as caught:  # noqa: PT011
            evaluated(row)
        assert name in [c.__name__ for c in type(caught.value).__mro__]
    else:
        assert_same(described(evaluated(row)), described(eval(ours, {"np": np, "mx": mx})))


def test_every_difference_is_a_row_of_the_conventions():
    used = [difference_of(r) for r in ROWS]
    assert [d for d in DIFFERENCES if d not in used] == []


def test_every_difference_is_documented(request):
    text = (request.config.rootpath / "docs/reference/compatibility.md").read_text()
    assert {d.title for d in DIFFERENCES} - set(re.findall(r"^\| \*\*(.+?)\*\* \|", text, re.MULTILINE)) == set()


def test_an_evaluation_leaves_the_modes_as_they_are():
    assert not mx.autograd.is_recording()
    assert not mx.autograd.is_training()
    assert copy.copy(mx.current_context()) == mx.cpu(0)
