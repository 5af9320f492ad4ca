"""Checks of size: lines of a file, of a function without its docstring, of a package."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.house.sources import Source

Function = ast.FunctionDef | ast.AsyncFunctionDef


def line_count(source: Source) -> int:
    """Lines of the file."""
    return len(source.text.splitlines())


def docstring_lines(function: Function) -> int:
    """Lines of the function's docstring; 0 where it has none."""
    first = function.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return (first.end_lineno or first.lineno) - first.lineno + 1 if is_docstring else 0


def function_lengths(source: Source) -> Iterator[tuple[str, int]]:
    """(place and name, lines from `def` to the end without the docstring) of every function, inner ones included."""
    for node in ast.walk(source.tree):
        if isinstance(node, Function):
            length = (node.end_lineno or node.lineno) - node.lineno + 1 - docstring_lines(node)
            yield f"{source.path}:{node.lineno} {node.name}", length


def long_files(sources: Iterable[Source], cap: int) -> list[str]:
    """The files of more lines than the cap."""
    counts = ((source.path, line_count(source)) for source in sources)
    return [f"{path}: {lines} lines, the cap is {cap}: split it" for path, lines in counts if lines > cap]


def long_functions(sources: Iterable[Source], cap: int) -> list[str]:
    """The functions of more lines than the cap."""
    lengths = (found for source in sources for found in function_lengths(source))
    return [f"{name}: {lines} lines, the cap is {cap}: split it" for name, lines in lengths if lines > cap]


def budget_of(path: str) -> str:
    """The row of budgets.toml that a file of src/ or backends/ counts for."""
    top, _, inner = path.partition("/")
    if top == "backends":
        return "backends"
    package, _, rest = inner.removeprefix("twofold/").partition("/")
    return package if rest else "modules"


def package_lines(sources: Iterable[Source]) -> dict[str, int]:
    """Lines of Python per row of budgets.toml."""
    lines: Counter[str] = Counter()
    for source in sources:
        lines[budget_of(source.path)] += line_count(source)
    return dict(lines)


def over_budget(lines: Mapping[str, int], ceilings: Mapping[str, int]) -> list[str]:
    """The packages that have no ceiling, or more lines than it."""
    unknown = [f"{name}: no ceiling in budgets.toml: place it" for name in lines if name not in ceilings]
    known = ((name, lines[name], ceilings[name]) for name in lines if name in ceilings)
    return unknown + [f"{name}: {count} lines, the ceiling is {ceiling}" for name, count, ceiling in known if count > ceiling]
