"""`mx.sym` and executors behave like MXNet 1.9.1, row by row, except for differences listed with their reasons."""

import ast
import re

import numpy as np
import pytest

import twofold as mx

from .differences import DIFFERENCES
from tests.cases import each
from tests.devices import as_on_cpu
from tests.oracle_values.reader import load_conventions

ROWS = [r for r in load_conventions() if re.search(r"\bsym\b", r.setup + r.expression)]
OURS = {d.expression: d for d in DIFFERENCES}
MESSAGES = "ignore:Cannot decide"  # infer_shape warns about what it cannot determine


def evaluated(row):
    names = {"mx": mx, "nd": mx.nd, "sym": mx.sym, "autograd": mx.autograd, "np": np}
    with mx.name.NameManager():
        exec(row.setup.replace("mx.cpu()", "mx.current_context()"), names)
        return eval(row.expression.replace("mx.cpu()", "mx.current_context()"), names)


def described(value):
    """The compared properties of a value, in the form of the stored rows."""
    if isinstance(value, mx.nd.NDArray):
        host = value.asnumpy()
        return [list(host.shape), str(host.dtype), host.tolist()]
    if isinstance(value, (list, tuple)):
        return [described(v) for v in value]
    return value if isinstance(value, dict) and all(isinstance(v, (str, dict)) for v in value.values()) else as_on_cpu(repr(value))


def expected_of(result):
    """A stored result in the form of `described`; the order of dictionaries of strings is ignored."""
    if "items" in result:
        return [expected_of(i) for i in result["items"]]
    if "values" in result:
        return [result["shape"], result["dtype"], result["values"]]
    if result["type"] == "dict":
        try:
            return ast.literal_eval(result["repr"])
        except (SyntaxError, ValueError):  # dictionaries of arrays
            pass
    return result["repr"]


def identity(row):
    return f"{row.topic}: {row.expression}"


@pytest.mark.filterwarnings(MESSAGES)
@each("row", [r for r in ROWS if r.expression not in OURS], by=lambda row: row.topic, ids=identity)
def test_as_in_mxnet(row):
    if row.exception is not None:
        with pytest.raises(Exception) as caught:  # noqa: PT011
            evaluated(row)
        assert row.exception in [c.__name__ for c in type(caught.value).__mro__], repr(caught.value)
        return
    got, expected = described(evaluated(row)), expected_of(row.result)
    if isinstance(expected, dict) and not isinstance(got, dict):
        got = ast.literal_eval(got)
    assert got == expected


@pytest.mark.filterwarnings(MESSAGES)
@each("row", [r for r in ROWS if r.expression in OURS], ids=identity)
def test_differs_as_documented(row):
    assert evaluated(row) == ast.literal_eval(OURS[row.expression].ours)


def test_every_difference_is_documented(request):
    text = (request.config.rootpath / "docs/reference/compatibility.md").read_text()
    assert {d.title for d in DIFFERENCES} - set(re.findall(r"^\| \*\*(.+?)\*\* \|", text, re.MULTILINE)) == set()
