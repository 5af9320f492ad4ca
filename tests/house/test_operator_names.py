"""Facts about operators are fields of `Op`, set in ``ops``: nothing outside it, or the adapters, knows an operator by name or identity.

The rules are mechanical, and have no list of exceptions. In every file of the package outside ``ops`` these are forbidden:

1. a string literal that is a registered name and can be nothing else: it begins with an underscore or has a capital letter;
2. an operator's name (``x.op.name``, ``op.title``, ``node.op_name``; ``step.op`` of kernels and cases) compared with registered names or
   looked up among them, also where either side is a variable, a loop's target or a module's constant;
3. a look-up of an operator by such a name: in ``OPS``, ``NAMES`` or ``primitives()``, by ``find``, or by ``getattr``;
4. an operator that ``ops`` declares as a side of ``is``, ``==``, ``in`` or ``match``, alone, among others or in a module's constant, and as
   a key of a dictionary. A pass says which nodes its pattern consists of by ``applies(node, op)``.

What they cannot see: a plain word such as ``"add"``, ``"sum"`` or ``"copy"`` that reaches no comparison and no look-up in its own file,
since it may be a mode, a method or a key; names put together at run time or passed between files; and a pattern of ``applies`` that
should be a declared fact. ``formats`` stands below the operators and may compare the ``op`` of a record with what a file says (2).
"""

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import twofold.graph.control_flow  # noqa: F401  (registers the operators of graphs)
from twofold.opdef.registry import NAMES, OPS
from twofold.opdef.spec import Op

from .sources import ROOT
from .verdict import expect_none
from tests.edits import parsed

PACKAGE = ROOT / "src/twofold"
FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if path.relative_to(PACKAGE).parts[0] != "ops"]
REGISTERED = {*NAMES, *OPS}
UNMISTAKABLE = {name for name in REGISTERED if name.startswith("_") or re.search("[A-Z]", name)}
#: How many assignments an expression is followed through.
DEPTH = 4


class Source:
    """A file's syntax tree, with what its names are bound to."""

    def __init__(self, path: Path) -> None:
        self.place = path.relative_to(ROOT)
        self.tree = parsed(path.read_text(encoding="utf-8"))
        self.module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
        self.bound: dict[str, list[ast.expr]] = defaultdict(list)
        for n in ast.walk(self.tree):
            for target, value in bindings(n):
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        self.bound[name.id].append(value)
        #: Where names that are imported from the package come from: the file, and the name there.
        self.imported: dict[str, tuple[Path, str]] = {}
        for n in ast.walk(self.tree):
            if isinstance(n, ast.ImportFrom) and n.module is not None:
                folder = path.parents[n.level - 1] if n.level else ROOT / "src"
                file = folder.joinpath(*n.module.split(".")).with_suffix(".py")
                if file.is_relative_to(ROOT / "src/twofold") and file.exists():
                    self.imported |= {alias.asname or alias.name: (file, alias.name) for alias in n.names}

    def value(self, n: ast.AST) -> object:
        """What a module's name, or an attribute of a module, is at run time; None for anything else."""
        if isinstance(n, ast.Name):
            return getattr(importlib.import_module(self.module), n.id, None)
        owner = self.value(n.value) if isinstance(n, ast.Attribute) else None
        return getattr(owner, n.attr, None) if isinstance(n, ast.Attribute) and isinstance(owner, ModuleType) else None

    def asks_for_a_name(self, n: ast.AST, depth: int = DEPTH) -> bool:
        """Whether an expression is an operator's name."""
        if isinstance(n, ast.Name) and depth:
            return any(self.asks_for_a_name(value, depth - 1) for value in self.bound[n.id])
        if not isinstance(n, ast.Attribute):
            return False
        owner = n.value.attr if isinstance(n.value, ast.Attribute) else n.value.id if isinstance(n.value, ast.Name) else ""
        is_text = n.attr == "op" and not self.module.startswith("twofold.formats.")  # of a step or case; elsewhere `op` is an operator
        return is_text or n.attr == "op_name" or (n.attr in ("name", "title") and owner in ("op", "operator"))

    def holds_names(self, n: ast.AST, depth: int = DEPTH) -> bool:
        """Whether an expression is registered names: a literal, a collection of them, or a name that is bound to one."""
        if isinstance(n, ast.Name):
            if n.id in self.imported:
                file, name = self.imported[n.id]
                return source_of(file).holds_names(ast.Name(name), depth - 1) if depth else False
            return depth > 0 and any(self.holds_names(value, depth - 1) for value in self.bound[n.id])
        if isinstance(n, ast.Call):  # `frozenset({…})`, `KINDS.items()`
            inner = n.func.value if isinstance(n.func, ast.Attribute) and n.func.attr in ("items", "keys") else None
            return any(self.holds_names(a, depth) for a in ([inner] if inner is not None else n.args if is_collection(n.func) else []))
        if isinstance(n, (ast.Tuple, ast.List, ast.Set)):
            return any(self.holds_names(item, depth) for item in n.elts)
        if isinstance(n, ast.Dict):
            return any(key is not None and self.holds_names(key, depth) for key in n.keys)
        if isinstance(n, (ast.MatchValue, ast.MatchOr)):
            return any(isinstance(c, ast.Constant) and c.value in REGISTERED for c in ast.walk(n))
        return isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value in REGISTERED

    def holds_operators(self, n: ast.AST) -> bool:
        """Whether an expression is operators that ``ops`` declares: one, a collection of them, or a module's constant that is one."""
        if isinstance(n, (ast.Tuple, ast.List, ast.Set)):
            return any(map(self.holds_operators, n.elts))
        if isinstance(n, ast.MatchValue):
            return self.holds_operators(n.value)
        found = self.value(n)
        several = found if isinstance(found, (set, frozenset, tuple, list, dict)) else [found]
        return any(isinstance(op, Op) and op.rule.__module__.startswith("twofold.ops.") for op in several)


@cache
def source_of(path: Path) -> Source:
    """A file, parsed once."""
    return Source(path)


def is_collection(function: ast.AST) -> bool:
    """Whether a function makes a collection of its argument's items."""
    return isinstance(function, ast.Name) and function.id in ("set", "frozenset", "tuple", "list", "sorted", "dict")


def bindings(n: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(target, value) of assignments, loops and comprehensions."""
    if isinstance(n, ast.Assign):
        yield from ((target, n.value) for target in n.targets)
    elif isinstance(n, (ast.AnnAssign, ast.NamedExpr)) and n.value is not None:
        yield n.target, n.value
    elif isinstance(n, (ast.For, ast.comprehension)):
        yield n.target, n.iter


def exports(tree: ast.AST) -> set[ast.AST]:
    """The nodes of a module's ``__all__``, which lists names of its own."""
    found = [
        n for n in ast.walk(tree) if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in n.targets)
    ]
    return {inner for n in found for inner in ast.walk(n)}


def literals(source: Source) -> Iterator[tuple[int, str]]:
    """Lines and texts of literals that are unmistakable names."""
    own = exports(source.tree)
    for n in ast.walk(source.tree):
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value in UNMISTAKABLE and n not in own:
            yield n.lineno, n.value


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


def comparisons(source: Source) -> Iterator[int]:
    """Lines in which an operator's name is compared with registered names, or looked up among them."""
    for n in ast.walk(source.tree):
        if any(source.asks_for_a_name(name) and source.holds_names(other) for name, other in pairs(n)):
            yield n.lineno  # type: ignore[attr-defined]


def table_and_key(n: ast.AST) -> tuple[ast.AST, ast.AST] | None:
    """The table and the key of a look-up that could be one of an operator."""
    if isinstance(n, ast.Subscript):
        return n.value, n.slice
    if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "get" and n.args:
        return n.func.value, n.args[0]
    if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "getattr":
        return n.args[0], n.args[1]
    return (n.func, n.args[0]) if isinstance(n, ast.Call) and n.args else None


def is_of_operators(table: ast.AST) -> bool:
    """Whether a table holds operators by name: ``OPS``, ``NAMES``, ``find``, ``primitives()``, the namespaces ``G`` and ``xp``."""
    called = table.func if isinstance(table, ast.Call) else None
    if isinstance(called, ast.Name) and called.id == "primitives":
        return True
    return isinstance(table, ast.Name) and table.id in ("OPS", "NAMES", "find", "G", "xp")


def lookups(source: Source) -> Iterator[int]:
    """Lines in which an operator is looked up by a literal, directly or by way of a variable."""
    for n in ast.walk(source.tree):
        found = table_and_key(n)
        if found is not None and is_of_operators(found[0]) and source.holds_names(found[1]):
            yield n.lineno  # type: ignore[attr-defined]


def identities(source: Source) -> Iterator[int]:
    """Lines in which an operator of ``ops`` is compared, or is a key of a dictionary."""
    for n in ast.walk(source.tree):
        sides: list[ast.AST] = []
        if isinstance(n, ast.Compare):
            sides = [n.left, *n.comparators]
        elif isinstance(n, ast.Dict):
            sides = [key for key in n.keys if key is not None]
        elif isinstance(n, ast.Match):
            sides = [case.pattern for case in n.cases]
        if any(map(source.holds_operators, sides)):
            yield n.lineno  # type: ignore[attr-defined]


def offences(path: Path) -> Iterator[str]:
    source = source_of(path)
    place = source.place
    yield from (f"{place}:{line}: {name!r} names an operator: import it, or declare a field of it" for line, name in literals(source))
    yield from (f"{place}:{line}: an operator's name is compared: declare a field of it" for line in comparisons(source))
    yield from (f"{place}:{line}: an operator is looked up by name: import it" for line in lookups(source))
    yield from (f"{place}:{line}: an operator is told by identity: declare a field of it" for line in identities(source))


@pytest.mark.ci
def test_no_operator_is_known_by_its_name_or_identity():
    expect_none(offence for path in FILES for offence in offences(path))


IMPORT = "from twofold.ops import primitive_arithmetic as P\nfrom twofold.ops.primitive_shape import reshape\n"
WRONG = {
    'x = node.op.name == "reshape"': "name is compared",
    'x = node.op_name in ("Flatten", "Reshape")': "names an operator",
    'x = step.op == "astype"': "name is compared",
    'name = op.name\nx = name == "where"': "name is compared",
    'SHAPES = ("reshape", "slice")\nx = op.name in SHAPES': "name is compared",
    'for name in ("reshape", "slice"):\n    x = name == op.name': "name is compared",
    'match op.name:\n    case "add":\n        x = 1': "name is compared",
    'x = {"add": 1}[op.name]': "name is compared",
    'x = {"add": 1}.get(sig.op.name)': "name is compared",
    'x = OPS["add"]': "looked up",
    'x = NAMES.get("sum")': "looked up",
    'x = primitives()["sum"]': "looked up",
    'x = find("relu")': "looked up",
    'x = getattr(xp, "exp")': "looked up",
    'x = [OPS[name] for name in ("add", "subtract")]': "looked up",
    'KINDS = {"sum": 1, "max": 2}\nx = {OPS[name]: k for name, k in KINDS.items()}': "looked up",
    'x = "_plus_scalar"': "names an operator",
    IMPORT + "x = op is P.add": "by identity",
    IMPORT + "x = node.sig.op != reshape": "by identity",
    IMPORT + "x = op in (P.add, P.subtract)": "by identity",
    IMPORT + "MOVED = frozenset({reshape})\nx = op in MOVED": "by identity",
    IMPORT + "RULES = {reshape: 1}": "by identity",
    IMPORT + "match op:\n    case P.add:\n        x = 1": "by identity",
}


@pytest.fixture
def offences_of(tmp_path, monkeypatch):
    """The offences of a file of a copy of the package, which holds nothing else; its names are bound as if it were imported."""

    def found(text):
        monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
        path = tmp_path / "src/twofold/planted.py"
        path.parent.mkdir(parents=True)
        path.write_text(text + "\n", encoding="utf-8")
        module = ModuleType("twofold.planted")
        imports = [n for n in ast.parse(text).body if isinstance(n, ast.ImportFrom) or (isinstance(n, ast.Assign) and IMPORT in text)]
        constants = [n for n in imports if not (isinstance(n, ast.Assign) and n.targets[0].id == "x")]
        exec(compile(ast.Module(constants, []), str(path), "exec"), vars(module))
        monkeypatch.setitem(importlib.import_module("sys").modules, "twofold.planted", module)
        return list(offences(path))

    return found


@pytest.mark.parametrize("text", WRONG)
def test_a_planted_violation_is_found(text, offences_of):
    assert any(WRONG[text] in offence for offence in offences_of(text))


@pytest.mark.parametrize(
    "text",
    [
        'x = request == "add" or op.name == label',
        '__all__ = ["BatchNorm"]',
        'x = {"sum": 1}[mode]',
        'x = getattr(np, "add")',
        IMPORT + "x = applies(node, reshape)",
        "from twofold.graph.build import item\nx = op is item",
    ],
)
def test_words_and_patterns_are_not_mistaken(text, offences_of):
    assert not offences_of(text)
