"""No module imports itself through others, not even inside a function or for type checking alone."""

from __future__ import annotations

import pytest

from tests.house.circles import circles, import_graph
from tests.house.sources import Source, python_files
from tests.house.verdict import expect_none


@pytest.mark.parametrize(
    "back",
    [
        "from . import low",
        "from .low import name",
        "import pkg.low",
        "from pkg.low import name",
        "if TYPE_CHECKING:\n    from .low import name",
        "def f():\n    from .low import name",
        "import_module('.low', __package__)",
        "importlib.import_module('pkg.low')",
    ],
)
def test_a_circle_is_found_however_the_import_is_written(back: str):
    sources = [Source("src/pkg/__init__.py", ""), Source("src/pkg/low.py", "from .high import x"), Source("src/pkg/high.py", back)]
    assert circles(import_graph(sources)) == [["pkg.high", "pkg.low"]]


def test_a_circle_through_the_names_of_a_package_is_found():
    sources = [Source("src/pkg/__init__.py", "from .a import x"), Source("src/pkg/a.py", "from . import y")]
    assert circles(import_graph(sources)) == [["pkg", "pkg.a"]]


def test_a_package_may_list_a_module_that_imports_its_neighbour():
    sources = [
        Source("src/pkg/__init__.py", "from .a import x"),
        Source("src/pkg/a.py", "from . import b\nfrom .b import y"),
        Source("src/pkg/b.py", "import os"),
    ]
    assert circles(import_graph(sources)) == []


def test_each_circle_is_listed_once_and_apart_from_the_others():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a", "d"}}
    assert sorted(circles(graph)) == [["a", "b", "c"], ["d", "e"]]


@pytest.mark.ci
def test_there_are_no_import_circles():
    expect_none(" <-> ".join(circle) for circle in circles(import_graph(python_files("src", "backends"))))
