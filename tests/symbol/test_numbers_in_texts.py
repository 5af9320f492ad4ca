"""Numbers in texts, of symbols and of settings, are spelled in the digits 0 to 9, as MXNet reads them."""

import pytest

import twofold as mx
from twofold.config import PARSERS
from twofold.errors import ParameterError

NOT_NUMBERS = ["1_0", "\u0661", "\uff11"]  # Python reads them as 10, 1 and 1


@pytest.mark.parametrize("text", [*NOT_NUMBERS, "1L0", "L1"])
def test_a_shape_in_other_spellings_is_refused(text):
    x = mx.sym.var("x", attr={"__shape__": f"({text},)"})
    with pytest.raises(ParameterError, match="__shape__ must be a shape"):
        x.infer_shape()


def test_long_integers_of_python_2_are_read():
    assert mx.sym.var("x", attr={"__shape__": "(2L, 30L)"}).infer_shape()[0] == [(2, 30)]


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_parameters_of_operators_and_settings_in_other_spellings_are_refused(text):
    x = mx.sym.var("x")
    for make in (lambda: mx.sym.Dropout(x, p=text), lambda: mx.sym.FullyConnected(x, num_hidden=text), lambda: mx.sym.sum(x, axis=text)):
        with pytest.raises(ParameterError, match=r"parameter \w+ must be"):
            make()
    for kind in (int, float):
        with pytest.raises(ValueError, match="use "):
            PARSERS[kind](text)
        assert PARSERS[kind](" 10 ") == 10
