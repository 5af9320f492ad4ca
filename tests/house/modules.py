"""Checks of modules: docstrings, what a package's `__init__` holds, who imports CuPy."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.house.sources import Source

PUBLIC_CONSTANTS = frozenset({"__all__", "__version__"})
LAZY_HOOKS = frozenset({"__getattr__", "__dir__"})
DYNAMIC_IMPORTS = frozenset({"import_module", "__import__"})


def missing_docstrings(sources: Iterable[Source]) -> list[str]:
    """The files that do not say what they are responsible for."""
    return [f"{source.path}: no module docstring" for source in sources if ast.get_docstring(source.tree) is None]


def folders_without_init(sources: Iterable[Source], roots: Iterable[str]) -> list[str]:
    """The folders below the roots that hold Python files and are no package: neither imports nor contracts see them."""
    sources = list(sources)
    packages = {source.folder for source in sources if source.path.endswith("/__init__.py")}
    folders = {source.folder for source in sources} - packages - set(roots)
    return [f"{folder}: Python files and no __init__.py" for folder in sorted(folders)]


def is_literal(node: ast.expr) -> bool:
    """Whether the expression is data written out, with no call or name in it."""
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def names_in(target: ast.expr) -> set[str]:
    """The names that an assignment to the target sets."""
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def is_listing_assignment(node: ast.stmt) -> bool:
    """Whether the statement sets only `__all__`, lazy hooks, or a private table of data that these read."""
    if isinstance(node, ast.Assign):
        names, value = set(chain.from_iterable(map(names_in, node.targets))), node.value
    elif isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value is not None:
        names, value = names_in(node.target), node.value
    else:
        return False
    return names <= PUBLIC_CONSTANTS | LAZY_HOOKS or (all(name.startswith("_") for name in names) and is_literal(value))


def is_typing_block(node: ast.stmt) -> bool:
    """Whether the statement is `if TYPE_CHECKING:` over imports alone."""
    is_guard = isinstance(node, ast.If) and names_in(node.test) == {"TYPE_CHECKING"} and not node.orelse
    return is_guard and all(isinstance(inner, ast.Import | ast.ImportFrom) for inner in node.body)


def is_listing(node: ast.stmt) -> bool:
    """Whether a statement may stand in a package's `__init__`."""
    if isinstance(node, ast.FunctionDef):
        return node.name in LAZY_HOOKS
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or isinstance(node, ast.Import | ast.ImportFrom) or is_listing_assignment(node) or is_typing_block(node)


def busy_inits(sources: Iterable[Source]) -> list[str]:
    """Statements of `__init__` files that do more than list the package's names."""
    inits = [source for source in sources if source.path.endswith("__init__.py")]
    return [
        f"{source.path}:{node.lineno}: an __init__ holds a docstring, imports, __all__ and lazy attribute hooks; move this to a file"
        for source in inits
        for node in source.tree.body
        if not is_listing(node)
    ]


def imported_packages(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """(top-level package, line) of every absolute import, inside functions and by name as well."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                yield from ((alias.name.partition(".")[0], node.lineno) for alias in aliases)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0], node.lineno
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Constant(value=str(module)), *_]) if (
                name in DYNAMIC_IMPORTS
            ):
                yield module.partition(".")[0], node.lineno


def stray_imports(sources: Iterable[Source], package: str, home: str) -> list[str]:
    """The places outside its home folder that import the package."""
    outside = [source for source in sources if not source.path.startswith(f"{home}/")]
    found = ((source.path, name, line) for source in outside for name, line in imported_packages(source.tree))
    return [f"{path}:{line}: {package} is imported only below {home}" for path, name, line in found if name == package]
