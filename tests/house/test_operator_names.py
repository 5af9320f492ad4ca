"""Facts about operators are fields of `Op`, set in ``ops``: nothing outside it, or the adapters, knows an operator by its name."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import twofold.graph.control_flow  # noqa: F401  (registers the operators of graphs)
from twofold.opdef.registry import NAMES, OPS

from .sources import ROOT
from .verdict import expect_none

PACKAGE = ROOT / "src/twofold"
FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if path.relative_to(PACKAGE).parts[0] != "ops"]
REGISTERED = {*NAMES, *OPS}
#: Registered names that can be nothing else, as ``pad`` and ``add`` can: with an underscore in front, or a capital letter.
UNMISTAKABLE = {name for name in REGISTERED if name.startswith("_") or re.search("[A-Z]", name)}


def exports(tree: ast.AST) -> set[ast.AST]:
    """The nodes of a module's ``__all__``, which lists names of its own."""
    found = [
        n for n in ast.walk(tree) if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in n.targets)
    ]
    return {inner for n in found for inner in ast.walk(n)}


def literals(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Lines and texts of literals that are unmistakable names."""
    own = exports(tree)
    for n in ast.walk(tree):
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value in UNMISTAKABLE and n not in own:
            yield n.lineno, n.value


def asks_for_a_name(n: ast.AST) -> bool:
    """Whether an expression is an operator's name: ``x.op.name``, ``op.name``, ``op.title``, ``node.op_name``."""
    if not isinstance(n, ast.Attribute):
        return False
    owner = n.value.attr if isinstance(n.value, ast.Attribute) else n.value.id if isinstance(n.value, ast.Name) else ""
    return n.attr == "op_name" or (n.attr in ("name", "title") and owner in ("op", "operator"))


def holds_names(n: ast.AST, module: str) -> bool:
    """Whether an expression is registered names: a literal, a collection of them, or a module's constant that is one."""
    if isinstance(n, ast.Name):
        value = getattr(importlib.import_module(module), n.id, None)
        texts = value if isinstance(value, (set, frozenset, tuple, list, dict)) else [value]
        return any(isinstance(text, str) and text in REGISTERED for text in texts)
    return any(isinstance(c, ast.Constant) and isinstance(c.value, str) and c.value in REGISTERED for c in ast.walk(n))


def pairs(n: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What an expression compares with what, or looks up in what."""
    if isinstance(n, ast.Compare):
        yield from ((n.left, right) for right in n.comparators)
        yield from ((right, n.left) for right in n.comparators)
    elif isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load):
        yield n.slice, n.value
    elif isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "get" and n.args:
        yield n.args[0], n.func.value
    elif isinstance(n, ast.Match):
        yield from ((n.subject, case.pattern) for case in n.cases)


def comparisons(tree: ast.AST, module: str) -> Iterator[int]:
    """Lines in which an operator's name is compared with registered names, or looked up among them."""
    for n in ast.walk(tree):
        if any(asks_for_a_name(name) and holds_names(other, module) for name, other in pairs(n)):
            yield n.lineno  # type: ignore[attr-defined]


def lookups(tree: ast.AST) -> Iterator[int]:
    """Lines in which an operator is looked up by a literal: ``OPS["add"]``, ``NAMES["add"]``, ``find("add")``."""
    for n in ast.walk(tree):
        if isinstance(n, ast.Subscript):
            table, name = n.value, n.slice
        elif isinstance(n, ast.Call) and n.args:
            table, name = n.func, n.args[0]
        else:
            continue
        is_known = isinstance(name, ast.Constant) and name.value in REGISTERED
        if is_known and isinstance(table, ast.Name) and table.id in ("OPS", "NAMES", "find"):
            yield n.lineno


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")


def offences(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    place = path.relative_to(ROOT)
    yield from (f"{place}:{line}: {name!r} names an operator: import it, or declare a field of it" for line, name in literals(tree))
    yield from (f"{place}:{line}: an operator's name is compared: declare a field of it" for line in comparisons(tree, module_of(path)))
    yield from (f"{place}:{line}: an operator is looked up by name: import it" for line in lookups(tree))


def test_no_operator_is_known_by_its_name():
    expect_none(offence for path in FILES for offence in offences(path))


WRONG = {
    'x = node.op.name == "reshape"': "compared",
    'x = node.op_name in ("Flatten", "Reshape")': "names an operator",
    'x = {"add": 1}[op.name]': "compared",
    'x = {"add": 1}.get(sig.op.name)': "compared",
    'x = OPS["add"]': "looked up",
    'x = find("relu")': "looked up",
    'x = "_plus_scalar"': "names an operator",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_name_is_found(text, tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    path = tmp_path / "src/twofold/device.py"
    path.parent.mkdir(parents=True)
    path.write_text(text + "\n", encoding="utf-8")
    assert any(WRONG[text] in offence for offence in offences(path))


def test_names_that_are_words_are_not_mistaken(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    path = tmp_path / "src/twofold/device.py"
    path.parent.mkdir(parents=True)
    path.write_text('x = request == "add" or op.name == label\n__all__ = ["BatchNorm"]\n', encoding="utf-8")
    assert not list(offences(path))
