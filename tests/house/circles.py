"""Finds import circles: modules that import themselves through others."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.house.sources import Source

IMPORTERS = frozenset({"import_module", "__import__"})


def module_name(path: str) -> str:
    """The dotted name of a file below `src` or `backends`."""
    parts = path.removesuffix(".py").split("/")[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def absolute(name: str, level: int, package: str) -> str:
    """The absolute name of a module imported with `level` leading dots from within the package."""
    if not level:
        return name
    parents = package.split(".")
    base = parents[: len(parents) - level + 1]
    return ".".join([*base, name] if name else base)


def imported_names(source: Source) -> Iterator[str]:
    """The dotted names that a file imports anywhere: in functions, for type checking and by literal string as well."""
    name = module_name(source.path)
    package = name if source.path.endswith("/__init__.py") else name.rpartition(".")[0]
    for node in ast.walk(source.tree):
        match node:
            case ast.Import(names=aliases):
                yield from (alias.name for alias in aliases)
            case ast.ImportFrom(module=module, names=aliases, level=level):
                base = absolute(module or "", level, package)
                yield from (f"{base}.{alias.name}" for alias in aliases)
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=[ast.Constant(value=str(text)), *_]) if (
                called in IMPORTERS
            ):
                target = text.lstrip(".")
                yield absolute(target, len(text) - len(target), package)


def import_graph(sources: Iterable[Source]) -> dict[str, set[str]]:
    """The modules of the sources that each of them imports. Importing a submodule does not count as importing its package."""
    files = {module_name(source.path): source for source in sources}
    graph: dict[str, set[str]] = {}
    for name, source in files.items():
        # `from a import b` imports the module a.b if there is one, otherwise the name b from the module a.
        found = {target if target in files else target.rpartition(".")[0] for target in imported_names(source)}
        graph[name] = found & files.keys() - {name}
    return graph


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The strongly connected components with more than one module, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    assigned: set[str] = set()

    def visit(module: str) -> Iterator[list[str]]:
        index[module] = low[module] = len(index)
        stack.append(module)
        for target in sorted(graph[module] - assigned):
            if target not in index:
                yield from visit(target)
            if target not in assigned:  # still on the stack
                low[module] = min(low[module], low[target])
        if low[module] == index[module]:
            at = stack.index(module)
            component = stack[at:]
            del stack[at:]
            assigned.update(component)
            if len(component) > 1:
                yield sorted(component)

    return list(chain.from_iterable(visit(module) for module in sorted(graph) if module not in index))
