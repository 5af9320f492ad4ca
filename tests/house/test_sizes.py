"""Files and functions keep their size."""

from __future__ import annotations

import textwrap

import pytest

from tests.house.sizes import function_lengths, long_files, long_functions
from tests.house.sources import Source, budgets, python_files
from tests.house.verdict import expect_none


def source(text: str, path: str = "src/twofold/opdef/spec.py") -> Source:
    return Source(path, textwrap.dedent(text))


def test_a_file_over_the_cap_is_found():
    assert long_files([source("a\n" * 5)], cap=4) == ["src/twofold/opdef/spec.py: 5 lines, the cap is 4: split it"]
    assert long_files([source("a\n" * 4)], cap=4) == []


def test_a_function_over_the_cap_is_found_with_its_line():
    text = """
    class A:
        def f(self):
            a = 1
            return a
    """
    assert long_functions([source(text)], cap=2) == ["src/twofold/opdef/spec.py:3 f: 3 lines, the cap is 2: split it"]
    assert long_functions([source(text)], cap=3) == []


def test_a_docstring_does_not_count_for_its_function():
    text = '''
    def f():
        """One.

        Two.
        """
        return 1
    '''
    assert list(function_lengths(source(text))) == [("src/twofold/opdef/spec.py:2 f", 2)]


def test_an_inner_function_counts_for_itself_and_for_the_outer_one():
    text = """
    def f():
        async def g():
            pass
        return g
    """
    assert [lines for _, lines in function_lengths(source(text))] == [4, 2]


def test_every_file_keeps_the_cap():
    expect_none(long_files(python_files(), budgets()["caps"]["file_lines"]))


@pytest.mark.ci
def test_every_function_keeps_the_cap():
    expect_none(long_functions(python_files(), budgets()["caps"]["function_lines"]))
