"""Everything that the pages about the code mention exists: files, functions and classes in them, and the tests of the laws."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.house.sources import ROOT, text_files
from tests.house.verdict import expect_none

NAMED = re.compile(r"`([\w/]+\.py):([\w.]+)`")
FILE = re.compile(r"`([\w/]+\.py)`")
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
ABOUT_CODE = {s.path: s.text for s in text_files() if s.path.endswith(".md") and s.path.startswith("docs/")}
LAWS = (ROOT / "docs/inside/laws.md").read_text(encoding="utf-8")


def bound_names(body: list[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    """Names that statements bind, inside conditions too: functions, classes, assignments."""
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node
            case ast.Assign(targets=targets):
                yield from ((n.id, node) for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name, node
            case ast.If(body=inner):
                yield from bound_names(inner)


def defines(text: str, name: str) -> bool:
    """Whether a Python text defines a name; ``A.b`` is the ``b`` of a class ``A``."""
    body = ast.parse(text).body
    for part in name.split("."):
        found = dict(bound_names(body)).get(part)
        if found is None:
            return False
        body = found.body if isinstance(found, ast.ClassDef) else []
    return True


def file_named(path: str) -> str:
    """The text of a file named from the root or from src/twofold; empty if there is none."""
    found = [p for p in (ROOT / path, ROOT / "src/twofold" / path) if p.is_file()]
    return found[0].read_text(encoding="utf-8") if found else ""


def test_names_are_found_in_classes_and_assignments():
    text = "class A:\n    def b(self): ...\nc = 1\nif c:\n    d: int = 2\n"
    assert [defines(text, name) for name in ("A", "A.b", "c", "d", "b", "A.c", "e")] == [True, True, True, True, False, False, False]


def test_every_name_on_a_page_exists():
    named = ((page, *found) for page, text in ABOUT_CODE.items() for found in NAMED.findall(text))
    expect_none(f"{page}: {path}:{name}" for page, path, name in named if not defines(file_named(path), name))


def test_every_file_on_a_page_exists():
    named = ((page, path) for page, text in ABOUT_CODE.items() for path in FILE.findall(text) if "/" in path)
    expect_none(f"{page}: {path}" for page, path in named if not file_named(path))


def test_the_page_on_reading_names_what_it_walks_through():
    assert len(NAMED.findall(ABOUT_CODE["docs/inside/reading-the-code.md"])) > 40


@pytest.mark.parametrize("law", re.findall(r"^\*\*(\d+)\. .*?(?=^\*\*\d|^## |\Z)", LAWS, re.MULTILINE | re.DOTALL))
def test_a_law_names_tests_that_exist(law):
    text = re.search(rf"^\*\*{law}\. .*?(?=^\*\*\d|^## |\Z)", LAWS, re.MULTILINE | re.DOTALL)[0]
    tests = TEST.findall(text)
    assert tests
    expect_none(
        f"law {law}: {path}::{name}" for path, name in tests if not file_named(path) or (name and not defines(file_named(path), name))
    )
