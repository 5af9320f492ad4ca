"""Files, functions and packages keep their size."""

from __future__ import annotations

import textwrap

from tests.house.sizes import budget_of, function_lengths, long_files, long_functions, over_budget, package_lines
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


def test_lines_count_for_the_package_that_has_the_file():
    assert budget_of("src/twofold/gluon/nn/basic_layers.py") == "gluon"
    assert budget_of("src/twofold/errors.py") == "modules"
    assert budget_of("backends/twofold_numpy/adapter.py") == "backends"


def test_a_package_over_its_ceiling_and_one_without_any_are_found():
    sources = [source("a\nb\n"), source("a\n", "src/twofold/opdef/params.py"), source("a\n", "src/twofold/stray/new.py")]
    assert over_budget(package_lines(sources), {"opdef": 2}) == [
        "stray: no ceiling in budgets.toml: place it",
        "opdef: 3 lines, the ceiling is 2",
    ]


def test_every_file_keeps_the_cap():
    expect_none(long_files(python_files(), budgets()["caps"]["file_lines"]))


def test_every_function_keeps_the_cap():
    expect_none(long_functions(python_files(), budgets()["caps"]["function_lines"]))


def test_every_package_keeps_its_budget():
    expect_none(over_budget(package_lines(python_files("src", "backends")), budgets()["package_lines"]))
