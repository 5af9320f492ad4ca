"""Assembled functions: fragments are written in, known names decide, and tracebacks show the template."""

import inspect
import traceback

import pytest

from twofold.assembly import _names, assembled, assembled_text, inlined

from tests.core import assembled_functions as functions
from tests.core.assembled_functions import clashing, counted, failing, is_even, stepping, template


def test_fragments_are_written_in_and_known_names_decide():
    doubled, scaled = assembled(template, {}, doubles=True), assembled(template, {"scale": 10}, doubles=False)
    assert doubled(2) == scaled(2) == "small"
    assert doubled(8) == (8, True, 8)
    assert scaled(5) == (160, True, 160)
    called = {"is_even", "half_or_next", "return_if_small"}
    assert not called & _names(doubled.__code__)
    assert "scale" not in _names(doubled.__code__), "a branch that is ruled out is left out"
    assert scaled(0) == "small"


def test_a_value_is_no_test():
    assert assembled(template, {"scale": 0}, doubles=False)(8) == (0, True, None), "``m or None`` is None for 0"


def test_a_fragment_assigns_to_the_variable_that_it_is_given():
    function = assembled(stepping, {})
    assert (function(7, 8), function(7, 5), function(7, -1)) == ((7, 4), (7, 16), "negative")


def test_functions_that_differ_in_globals_are_compiled_once_and_own_their_code():
    # CPython's specialised instructions stand in the code object: two functions that share one slow each other down
    first, second = (assembled(template, {"scale": n}, doubles=False) for n in (1, 2))
    assert first.__code__ == second.__code__
    assert first.__code__ is not second.__code__
    assert (first(8)[0], second(8)[0]) == (4, 8)


def test_an_assignment_in_an_argument_is_evaluated_once():
    reads = []

    def read():
        reads.append(1)
        return "name"

    assert assembled(counted, {})(read) == (True, "name")
    assert len(reads) == 1


def test_a_variable_of_a_fragment_must_not_be_an_argument_of_it():
    with pytest.raises(AssertionError, match="return_clashing has a variable called as an argument of it: made"):
        assembled(clashing, {})


def test_tracebacks_show_the_lines_of_the_template():
    with pytest.raises(TypeError) as raised:
        assembled(failing, {})(None)
    last = traceback.extract_tb(raised.value.__traceback__)[-1]
    assert last.filename == functions.__file__
    assert last.line == "return is_even(n)"


def test_inlined_functions_keep_their_names_and_call_no_fragments():
    @inlined
    def parity(n, *, odd="odd"):
        """Even or odd."""
        return "even" if is_even(n) else odd

    assert (parity(2), parity(3), parity(3, odd="no")) == ("even", "odd", "no")
    assert (parity.__name__, parity.__doc__) == ("parity", "Even or odd.")
    assert "is_even" not in parity.__code__.co_names
    assert str(inspect.signature(parity)) == "(n, *, odd='odd')"


def test_text_becomes_a_function_whose_lines_tracebacks_show():
    function = assembled_text("def wrong(n):\n    return is_even(n) + nothing", "wrong", {"is_even": is_even})
    with pytest.raises(NameError) as raised:
        function(1)
    assert traceback.extract_tb(raised.value.__traceback__)[-1].line == "return is_even(n) + nothing"
