"""Modules have docstrings, packages only list their names, and CuPy is imported only in its adapter."""

from __future__ import annotations

import textwrap

import pytest

from tests.house.modules import busy_inits, folders_without_init, missing_docstrings, stray_imports
from tests.house.sources import Source, python_files
from tests.house.verdict import expect_none

CUPY_HOME = "backends/twofold_cupy"
LISTING = '''
"""The public names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .spec import OpSpec

if TYPE_CHECKING:
    from .params import Shape

__version__ = "0.1.0"
__all__ = ["OpSpec"]
__all__ += ["Shape"]
_HOMES: dict[str, str] = {"Shape": "params"}
__getattr__, __dir__, _ = attach(__name__, _HOMES)


def __getattr__(name):
    return load(_HOMES[name])
'''


def init(text: str) -> list[Source]:
    return [Source("src/twofold/opdef/__init__.py", text)]


def test_a_file_without_a_docstring_is_found():
    assert missing_docstrings([Source("a.py", "x = 1"), Source("b.py", '"""B."""')]) == ["a.py: no module docstring"]


def test_a_folder_that_is_no_package_is_found():
    sources = [Source("src/twofold/__init__.py", ""), Source("src/twofold/opdef/spec.py", "")]
    assert folders_without_init(sources, roots=["src"]) == ["src/twofold/opdef: Python files and no __init__.py"]


def test_an_init_that_lists_names_passes():
    assert not busy_inits(init(LISTING.replace("__dir__, _ =", "__dir__ =")))


@pytest.mark.parametrize(
    "statement",
    [
        "def helper(): pass",
        "class A: pass",
        "register('cpu')",
        "_TABLE = make()",
        "table = {}",
        "for name in names: pass",
        "if TYPE_CHECKING:\n    x = 1",
        "if sys.platform:\n    import a",
        "try:\n    import cupy\nexcept ImportError:\n    pass",
    ],
)
def test_an_init_that_does_something_else_is_found(statement: str):
    assert [line.partition(": ")[0] for line in busy_inits(init('"""A."""\n' + statement))] == ["src/twofold/opdef/__init__.py:2"]


@pytest.mark.parametrize(
    "statement",
    [
        "import cupy",
        "import numpy, cupy.cuda as c",
        "from cupy import cuda",
        "import_module('cupy')",
        "importlib.import_module('cupy.cuda')",
        "__import__('cupy')",
    ],
)
def test_an_import_of_cupy_is_found_inside_functions_too(statement: str):
    text = "def f():\n" + textwrap.indent(statement, "    ")
    assert stray_imports([Source("src/twofold/context.py", text)], "cupy", CUPY_HOME) == [
        f"src/twofold/context.py:2: cupy is imported only below {CUPY_HOME}"
    ]


def test_cupy_is_at_home_in_its_adapter_and_its_namesakes_anywhere():
    sources = [Source(f"{CUPY_HOME}/adapter.py", "import cupy"), Source("a.py", "from .cupy import x\nimport cupyx_like\nload('cupy')")]
    assert not stray_imports(sources, "cupy", CUPY_HOME)


@pytest.mark.ci
def test_every_file_has_a_docstring():
    expect_none(missing_docstrings(python_files()))


def test_every_folder_with_code_is_a_package():
    expect_none(folders_without_init(python_files("src", "backends"), roots=["src", "backends"]))


def test_every_init_only_lists_names():
    expect_none(busy_inits(python_files("src", "backends")))


def test_cupy_is_imported_only_in_its_adapter():
    expect_none(stray_imports(python_files("src", "backends"), "cupy", CUPY_HOME))
